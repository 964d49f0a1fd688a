"""What a user does with a recorded story: read it, pass it on, measure it, run it again."""

import json

from tests.journeys.model_server import ANSWER, CALLS
from tests.journeys.story import (
    WEAKLINK,
    Recorded,
    Trace,
    agent_command,
    questions,
    sections,
    variables,
    weaklink,
)
from tests.ui.tui.terminals import terminal

_OBJECTS = ("google_genai", "ollama_chat")
"""On these wires, arguments are JSON objects: there is no text that the model wrote."""


_TALL = (200, 100)  # cells of a terminal that shows the traces of all stories before
_SHOWN = 25  # characters of a title that a list shows whatever else it has


def read_it(recorded: Recorded) -> None:
    """`show` has the question, the answer and the arguments as the server sent them."""
    arguments: list[str] = []
    for trace in recorded.traces:
        id_ = str(trace["id"])
        _is_whole(recorded, recorded.weaklink("show", id_, "--full"), trace)
        shown = json.loads(recorded.weaklink("show", id_, "--json"))
        assert shown["status"] == recorded.expected.status
        arguments += [
            part["text"] for turn in shown["turns"] for part in turn["parts"] if part["part"].startswith("call:")
        ]
    if recorded.sdk not in _OBJECTS and recorded.expected.calls:
        sent = [call.arguments for calls in CALLS[_model(recorded.story)] for call in calls]
        assert arguments == sent * len(recorded.ids)


def measure_it(recorded: Recorded) -> None:
    """The database is whole, and `stats` counts the traces."""
    recorded.weaklink("db", "check")
    expected = recorded.expected
    measured = json.loads(recorded.weaklink("stats", "--json", " or ".join(f"id:{id_}" for id_ in recorded.ids)))
    assert measured["traces"] == expected.traces
    assert measured["measures"][expected.status]["hits"] == expected.traces


def export_it_to_read(recorded: Recorded) -> None:
    """HTML, Markdown and JSON hold the traces."""
    for kind in ("html", "markdown", "json"):
        _is_whole(recorded, recorded.weaklink("export", *recorded.ids, "--as", kind), *recorded.traces)


def pass_it_on(recorded: Recorded) -> None:
    """A trace file says the same elsewhere: to `check`, and in another database; other tools' formats hold the text."""
    file, other = recorded.home / "exported.jsonl", recorded.home / f"{recorded.story}.db"
    file.unlink(missing_ok=True)
    recorded.weaklink("export", *recorded.ids, "-o", str(file))
    checked = weaklink(recorded.home, "check", str(file))
    assert checked.returncode == _check_status(recorded), (checked.stdout, checked.stderr)
    imported = weaklink(recorded.home, "import", str(file), "--db", str(other))
    assert imported.returncode == 0, imported.stderr
    listed = weaklink(recorded.home, "list", "--json", "--db", str(other))
    assert sorted(map(_facts, listed.stdout.splitlines())) == sorted(
        _facts(json.dumps(trace)) for trace in recorded.traces
    )
    for kind in ("otlp", "messages"):
        text = recorded.weaklink("export", *recorded.ids, "--to", kind)
        assert all(question in text for question in questions(recorded.story))


def replay_it(recorded: Recorded) -> None:
    """The agent runs again without a server, and says the same; a run is repeated whole, a trace for itself."""
    first = recorded.traces[0]
    run = first["external_ids"].get("run", "")
    told = recorded.stories if run else (recorded.story,)
    command = agent_command(recorded.sdk, *told)
    said = {story: sections(recorded.agent.stdout)[story] for story in told}
    if not run and recorded.expected.traces > 1:  # one trace has the requests of one question
        command = [word for word in command if word == first["title"] or word not in questions(recorded.story)]
        index = questions(recorded.story).index(first["title"])
        said = {recorded.story: recorded.said.splitlines(keepends=True)[index]}
    done = weaklink(recorded.home, "replay", run or str(first["id"]), "--db", str(recorded.database), "--", *command)
    assert sections(done.stdout) == said, done.stderr
    assert done.returncode == (0 if all(said.values()) else 1), done.stderr
    assert "diverged" not in done.stderr, done.stderr


def run_it_again(recorded: Recorded) -> None:
    """`doctor -n 2` finds two equal runs."""
    words = ("doctor", "-n", "2", "--json", "--upstream", recorded.upstream)
    report = json.loads(recorded.weaklink(*words, "--", *agent_command(recorded.sdk, recorded.story)))
    assert report["equal"]["runs"] == report["equal"]["of"] == 2, report
    assert report["broken"]["runs"] == (2 if recorded.expected.status == "broken" else 0), report


def open_in_terminal(recorded: Recorded) -> None:
    """The terminal opens a trace; the list behind it has them all."""
    tui = [WEAKLINK, "tui", recorded.ids[0], "--db", str(recorded.database)]
    with terminal(recorded.home, tui, variables(recorded.home), _TALL) as screen:
        screen.shows(recorded.expected.status, recorded.traces[0]["title"])
        screen.press("q")
        listed = screen.shows("title", recorded.expected.status)
        assert all(trace["title"][:_SHOWN] in listed for trace in recorded.traces), listed
        screen.press("q")
        screen.ends()


def _is_whole(recorded: Recorded, text: str, *traces: Trace) -> None:
    """A text of whatever kind has the question, the answer, and what went wrong."""
    expected = recorded.expected
    flat = " ".join(text.split())
    for trace in traces:
        assert trace["title"] in flat, text
    if expected.is_answered:
        assert flat.count(ANSWER) >= len(traces), text
    assert expected.code in flat, text


def _model(story: str) -> str:
    return "answered" if story == "unreachable" else story


def _check_status(recorded: Recorded) -> int:
    return 0 if recorded.expected.status == "ok" or recorded.expected.code == "C504" else 1


def _facts(line: str) -> tuple[object, ...]:
    trace = json.loads(line)
    code = trace["break"] and trace["break"]["code"]
    return (
        trace["title"],
        trace["status"],
        trace["turns"],
        trace["tool_calls"],
        code or "",
        trace["abort_message"] or "",
    )
