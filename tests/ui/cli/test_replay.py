"""`weaklink replay`, also with `--serve`: a recording answers, and what differs from it is named at its characters."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Received, running_upstream
from tests.ui.conftest import START, environment, run_text
from weaklink.storage.store import open_store

_AGENT = """
import concurrent.futures, json, os, sys, urllib.error, urllib.request
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
def ask(messages, **more):
    body = {"model": "m", "messages": messages, **more}
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.headers['x-should-retry']} {error.read().decode()}"
"""
_TWO_TURNS = """
import secrets
messages = [{"role": "system", "content": "It is 2026-01-0%d 10:00."}, {"role": "user", "content": sys.argv[1]}]
print(ask(messages, user=secrets.token_hex(4)))
messages += [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": sys.argv[2]}]
print(ask(messages, user=secrets.token_hex(4), **json.loads(sys.argv[3])))
"""
_TIMEOUT_S = 60.0


def weaklink(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The command, with its database in the folder."""
    return run_text(folder, *words, WEAKLINK_DB="t.db")


def _agent(day: int = 1) -> tuple[str, ...]:
    return (sys.executable, "-c", _AGENT + _TWO_TURNS % day)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the recording of an agent of two turns, and what the agent printed."""
    folder = tmp_path_factory.mktemp("recording")
    with running_upstream(scripted.chat_stream("Hello"), scripted.chat_stream("Warm", " there")) as upstream:
        done = weaklink(folder, "run", "--upstream", upstream.url, "--", *_agent(), "Is it warm?", "Where?", "{}")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_recording_answers_the_same_command_with_the_same_bytes(recording: tuple[Path, str]) -> None:
    folder, said = recording
    done = weaklink(folder, "replay", "latest", "--", *_agent(day=2), "Is it warm?", "Where?", "{}")
    assert (done.returncode, done.stdout) == (0, said), done.stderr
    first, *rest = done.stderr.splitlines()
    assert first == "weaklink: replayed 2 of 2 recorded requests."
    assert rest[0] == "weaklink: ignored 4 differences:"
    assert sum("/messages/0/content, message 1, characters 15 to 16" in line for line in rest) == 2
    assert sum("/user, characters" in line for line in rest) == 2


def test_a_changed_request_is_named_at_its_characters(recording: tuple[Path, str]) -> None:
    folder, _ = recording
    done = weaklink(folder, "replay", "latest", "--json", "--", *_agent(), "Is it warm?", "When?", '{"tools": []}')
    report = json.loads(done.stderr)
    (divergence,) = report["divergences"]
    text, tools = divergence["differences"]
    assert (done.returncode, report["exit_code"], divergence["turn"]) == (3, 3, 5)
    recorded, live = (str(report["traces"][name]) for name in ("recorded", "live"))
    beside = weaklink(folder, "diff", recorded, live, "--requests", "5,5").stdout
    assert re.search(r"^-   Where\? +│ \+   When\?$", beside, re.MULTILINE)
    said = weaklink(folder, "replay", "latest", "--", *_agent(), "Is it warm?", "When?", '{"tools": []}').stderr
    assert f"  weaklink diff {recorded} {live} --requests 5,5 --db " in said
    assert f"  weaklink tui {recorded} --against {live} --db " in said
    assert (text["pointer"], text["message"], text["live_range"]) == ("/messages/3/content", 4, [3, 4])
    assert (text["recorded"], text["live"]) == ("Where?", "When?")
    assert (tools["kind"], tools["pointer"], tools["live"]) == ("added", "/tools", "[]")
    status, retries, body = done.stdout.rstrip().splitlines()[-1].split(" ", 2)
    error = json.loads(body)["error"]
    assert (status, retries, error["code"]) == ("400", "false", "replay_diverged")
    assert '/messages/3/content, message 4, characters 3 to 4: recorded "Where?", now "When?"' in error["message"]


def test_requests_that_are_extra_or_never_made_are_divergences(recording: tuple[Path, str]) -> None:
    folder, _ = recording
    asks = """
system = {"role": "system", "content": "It is 2026-01-01 10:00."}
print(ask([system, {"role": "user", "content": "Is it warm?"}]))
"""
    once = (sys.executable, "-c", _AGENT + asks)
    never = weaklink(folder, "replay", "latest", "--", *once)
    assert never.returncode == 3
    assert "recorded request 2 (POST /v1/chat/completions), turn 5 was never made." in never.stderr
    assert "`--allow-unused` accepts recorded requests that are never made." in never.stderr
    assert weaklink(folder, "replay", "latest", "--allow-unused", "--", *once).returncode == 0
    thrice = (sys.executable, "-c", _AGENT + _TWO_TURNS % 1 + "print(ask(messages))")
    extra = weaklink(folder, "replay", "latest", "--", *thrice, "Is it warm?", "Where?", "{}")
    assert extra.returncode == 3
    assert "request 3 (POST /openai/v1/chat/completions) has no counterpart in the recording." in extra.stderr


def test_of_many_requests_that_are_never_made_the_first_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    asks = 'for number in range(25): ask([{"role": "user", "content": f"How warm is it in {number} hours?"}])'
    with running_upstream(*[scripted.chat_stream("Hello")] * 25) as upstream:
        weaklink(tmp_path, "run", "--upstream", upstream.url, "--", sys.executable, "-c", _AGENT + asks)
    done = weaklink(tmp_path, "replay", "latest", "--", "true")
    assert done.returncode == 3
    assert len(re.findall("^✖ .* was never made", done.stderr, re.MULTILINE)) == 3
    assert "  and 22 more recorded requests, never made" in done.stderr.splitlines()


def test_strict_ignores_nothing_and_nearest_answers_all_the_same(recording: tuple[Path, str]) -> None:
    folder, said = recording
    words = (*_agent(day=3), "Is it warm?", "Where?", "{}")
    strict = weaklink(folder, "replay", "latest", "--strict", "--", *words)
    assert strict.returncode == 3
    nearest = weaklink(folder, "replay", "latest", "--strict", "--on-divergence", "nearest", "--", *words)
    assert (nearest.returncode, nearest.stdout) == (3, said)


def test_live_goes_on_with_the_upstream(recording: tuple[Path, str]) -> None:
    folder, _ = recording
    with running_upstream(scripted.chat_stream("Live")) as upstream:
        words = ("--on-divergence", "live", "--upstream", upstream.url, "--", *_agent(), "Is it warm?", "When?", "{}")
        done = weaklink(folder, "replay", "latest", *words)
    assert done.returncode == 3
    assert "Live" in done.stdout
    assert [json.loads(request.body)["messages"][-1]["content"] for request in upstream.requests] == ["When?"]


def test_several_processes_retries_and_parallel_requests_replay(tmp_path: Path) -> None:
    parallel = """
def one(number):
    said = [ask([{"role": "user", "content": f"Question {number}"}]) for _ in range(2)]
    return said[-1]
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(list(pool.map(one, range(12))))
if len(sys.argv) == 1:
    import subprocess
    subprocess.run([sys.executable, __file__, "child"])
"""
    (tmp_path / "agent.py").write_text(_AGENT + parallel)
    asked: dict[str, int] = {}

    def answer(request: Received) -> Answer:
        words = json.loads(request.body)["messages"][0]["content"] if request.is_whole else ""
        if request.is_whole:
            asked[words] = asked.get(words, 0) + 1
        return scripted.error(429, "Slow") if asked.get(words, 0) % 2 else scripted.chat_stream(words, " answered")

    with running_upstream(answer) as upstream:
        done = weaklink(tmp_path, "run", "--upstream", upstream.url, "--", sys.executable, "agent.py")
    again = weaklink(tmp_path, "replay", "latest", "--", sys.executable, "agent.py")
    assert again.returncode == 0, again.stderr
    assert "replayed 48 of 48 recorded requests" in again.stderr
    assert sorted(again.stdout) == sorted(done.stdout)


def test_what_cannot_be_replayed_is_refused(tmp_path: Path, recording: tuple[Path, str]) -> None:
    with running_upstream(scripted.chat_stream("Hello")) as upstream:
        words = ("--upstream", upstream.url, "--", *_agent(), "a", "b", "{}")
        weaklink(tmp_path, "run", "--no-content", *words)
    done = weaklink(tmp_path, "replay", "latest", "--", "true")
    assert (done.returncode, "--no-content" in done.stderr) == (125, True)
    assert weaklink(recording[0], "replay", "nothing", "--", "true").returncode == 125
    assert weaklink(recording[0], "replay", "latest", "--", "./no-such-command").returncode == 127


def test_answers_that_are_not_the_servers_bytes_are_announced(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "aB3" * 31 + "AA"
    asks = 'print(ask([{"role": "user", "content": "Is it warm?"}]))'
    once = (sys.executable, "-c", _AGENT + asks)
    with running_upstream(scripted.chat_answer(f"Yes, with {key}.")) as upstream:
        done = weaklink(tmp_path, "run", "--upstream", upstream.url, "--", *once)
    assert key in done.stdout
    again = weaklink(tmp_path, "replay", "latest", "--", *once)
    assert again.stderr.splitlines()[0] == (
        "weaklink: 1 recorded answer contained secrets; the replay sends them redacted."
    )
    assert key not in again.stdout
    assert "*" * 40 in again.stdout
    assert again.returncode == 0


def test_a_recording_replays_from_its_exported_file_and_where_that_is_imported(
    tmp_path: Path, recording: tuple[Path, str]
) -> None:
    folder, said = recording
    assert weaklink(folder, "export", "1", "--output", str(tmp_path / "run.jsonl")).returncode == 0
    assert weaklink(tmp_path, "import", "run.jsonl").returncode == 0
    with open_store(folder / "t.db") as first, open_store(tmp_path / "t.db") as second:
        kept = first.exchanges.of("latest")
        assert second.exchanges.of("latest") == second.exchanges.of(kept.run) == kept
        assert len(kept.traces[1]) == 2
        assert second.trace(1) == first.trace(1)
    for word in ("run.jsonl", "latest"):
        done = weaklink(tmp_path, "replay", word, "--", *_agent(), "Is it warm?", "Where?", "{}")
        assert (done.returncode, done.stdout) == (0, said), done.stderr


def test_an_import_redacts_what_it_keeps_of_exchanges(tmp_path: Path, recording: tuple[Path, str]) -> None:
    """Patterns of the importer's own; an answer whose turn held one is rebuilt from the redacted turn."""
    folder, _ = recording
    assert weaklink(folder, "export", "1", "--output", str(tmp_path / "run.jsonl")).returncode == 0
    assert weaklink(tmp_path, "import", "--redact", "Hello|warm", "run.jsonl").returncode == 0
    with open_store(tmp_path / "t.db") as store:
        first, second = store.exchanges.of("latest").traces[1]
    assert (first.answer, first.is_redacted) == (None, True)
    assert b"Hello" not in (second.request or b"")
    assert b"Is it ****?" in (first.request or b"")
    assert b" there" in (second.answer or b"")
    done = weaklink(
        tmp_path, "replay", "latest", "--redact", "Hello|warm", "--", *_agent(), "Is it warm?", "Where?", "{}"
    )
    assert done.returncode == 0, done.stderr
    assert "*****" in done.stdout
    assert done.stderr.splitlines()[:2] == [
        "weaklink: 1 recorded answer contained secrets; the replay sends them redacted.",
        "weaklink: the bytes of 1 answer of 2 were not recorded; the replay sends them whole, rebuilt from the trace.",
    ]


def test_an_imported_session_replays_whole_answers_and_says_so(tmp_path: Path) -> None:
    words = [("user", "Is it warm?"), ("assistant", "Hello"), ("user", "Where?"), ("assistant", "Over there.")]
    messages = [{"role": role, "content": content} for role, content in words]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    assert weaklink(tmp_path, "import", "log.jsonl").returncode == 0
    done = weaklink(tmp_path, "replay", "latest", "--", *_agent(), "Is it warm?", "Where?", "{}")
    assert done.returncode == 0, done.stderr
    contents = [json.loads(line)["choices"][0]["message"]["content"] for line in done.stdout.splitlines()]
    assert contents == ["Hello", "Over there."]
    assert done.stderr.splitlines()[0] == (
        "weaklink: the bytes of 2 answers of 2 were not recorded; the replay sends them whole, rebuilt from the trace."
    )


@contextmanager
def _serving(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, str]]]:
    process = subprocess.Popen(
        [*START, "replay", "latest", "--serve", "--port", "0"],
        cwd=folder,
        env=environment(folder, WEAKLINK_DB="t.db"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(9)]
        yield process, dict(line.split("=", 1) for line in lines)
    finally:
        process.kill()
        process.communicate(timeout=_TIMEOUT_S)


def test_serve_answers_until_it_is_interrupted(recording: tuple[Path, str]) -> None:
    folder, said = recording
    with _serving(folder) as (process, variables):
        done = subprocess.run(
            [*_agent(), "Is it warm?", "Where?", "{}"],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=_TIMEOUT_S)
    assert done.stdout == said
    assert process.returncode == 0
    assert re.search(r"replayed 2 of 2 recorded requests", stderr)
