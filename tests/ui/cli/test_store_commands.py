"""`import`, `list`, `show` and `demo`: what goes into the database comes out again."""

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.storage.samples import BAD_CALL, inspected, trace
from tests.ui.conftest import START, Run, environment
from weaklink.storage.store import open_store
from weaklink.ui.cli.demo import demo

GOOD = [
    {"from": "human", "value": "What is the weather in Oslo?"},
    {"from": "gpt", "value": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'},
    {"from": "tool", "value": '<tool_response>\n{"name": "get_weather", "content": "cold"}\n</tool_response>'},
    {"from": "gpt", "value": "It is cold."},
]
BROKEN = [
    {"from": "human", "value": "What is the weather in Rome?"},
    {"from": "gpt", "value": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome",}}\n</tool_call>'},
]
LIST_KEYS = [
    *("id", "name", "source", "file", "record", "external_ids", "model", "format", "started_at", "turns"),
    *("tool_calls", "errors", "warnings", "status", "break", "marked", "note", "running", "idle", "open_turns"),
    *("outcome", "project", "branch", "parent", "damaged", "title", "tokens", "duration_s", "layers"),
    *("abort_message", "codes", "certainty"),
]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a log of two sessions and a junk line, an empty file, a hidden one, and one deeper down."""
    folder = tmp_path / "logs"
    (folder / "deep").mkdir(parents=True)
    lines = [
        json.dumps({"id": "good", "conversations": GOOD}),
        "{junk",
        json.dumps({"id": "bad", "conversations": BROKEN}),
    ]
    (folder / "run.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / ".hidden.jsonl").write_bytes(b"{}")
    (folder / "deep" / "one.jsonl").write_text(
        json.dumps({"id": "deep", "conversations": GOOD}) + "\n", encoding="utf-8"
    )
    return folder


def report(run: Run, *paths: str, code: int = 0) -> dict[str, Any]:
    done = run("import", "--json", "--db", "t.db", *paths)
    assert done.returncode == code, done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


def listed(run: Run, *options: str) -> list[dict[str, Any]]:
    done = run("list", "--json", "--db", "t.db", *options)
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_folder_is_walked_and_each_file_reported(weaklink: Run, logs: Path) -> None:
    result = report(weaklink, "logs")
    assert [file["path"] for file in result["files"]] == ["logs/empty.jsonl", "logs/run.jsonl", "logs/deep/one.jsonl"]
    empty, log, _ = result["files"]
    assert (empty["source"], empty["refused"]) == (None, "logs/empty.jsonl: the file is empty")
    assert (log["source"], log["refused"]) == ("sharegpt", None)
    assert (log["traces"], log["tool_calls"], log["tools"]) == (2, 2, {"get_weather": 2})
    assert [skipped["record"] for skipped in log["skipped"]] == ["line 2"]
    assert log["diagnostics"]["J104"] == 1
    assert result["totals"]["traces"] == 3


def test_importing_again_changes_nothing(weaklink: Run, logs: Path) -> None:
    report(weaklink, "logs")
    before = listed(weaklink)
    report(weaklink, "logs")
    assert listed(weaklink) == before
    again = weaklink("import", "--db", "t.db", "logs").stdout.decode()
    assert "3 traces (3 unchanged)" in again


def test_nothing_readable_exits_with_2_and_still_reports(weaklink: Run, logs: Path) -> None:
    result = report(weaklink, "logs/empty.jsonl", "no-such-file", code=2)
    assert [file["refused"] for file in result["files"]] == [
        "logs/empty.jsonl: the file is empty",
        "no-such-file: there is no such file",
    ]


@pytest.mark.parametrize("path", ["missing", "none-*.jsonl"])
def test_paths_without_a_readable_file_make_no_database(weaklink: Run, tmp_path: Path, path: str) -> None:
    assert weaklink("import", path, "--db", "none.db").returncode == 2
    assert not (tmp_path / "none.db").exists()


def test_an_empty_folder_exits_with_2_and_says_so(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = weaklink("import", "--db", "t.db", "empty")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"weaklink: there are no files in empty\n"


def test_a_database_that_is_none_is_refused_in_a_sentence(weaklink: Run, logs: Path) -> None:
    done = weaklink("import", "--db", "logs/run.jsonl", "logs/run.jsonl")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"weaklink: ")
    assert done.stderr.count(b"\n") == 1


def test_an_unknown_source_is_refused_in_a_sentence(weaklink: Run, logs: Path) -> None:
    result = report(weaklink, "--source", "sharegtp", "logs/run.jsonl", code=2)
    assert "did you mean `sharegpt`?" in result["files"][0]["refused"]


def test_people_get_a_table(weaklink: Run, logs: Path) -> None:
    done = weaklink("import", "--db", "t.db", "logs")
    shown = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "▲ skipped logs/run.jsonl line 2: " in shown
    assert "✖ refused logs/empty.jsonl: the file is empty" in shown
    assert "2 files read: 3 traces, " in shown


def test_lists_have_every_key_and_the_break(weaklink: Run, logs: Path) -> None:
    report(weaklink, "logs")
    traces = listed(weaklink)
    assert all(sorted(trace) == sorted(LIST_KEYS) for trace in traces)
    (bad,) = (trace for trace in traces if trace["external_ids"]["id"] == "bad")
    assert (bad["status"], bad["record"], bad["format"], bad["turns"]) == ("broken", "line 3", "hermes", 2)
    assert bad["break"]["code"] == "J104"
    assert bad["certainty"] == "high"
    assert list(bad["break"]) == ["step", "turn", "tool", "code", "outcome", "message"]


def test_filters_and_limits(weaklink: Run, logs: Path) -> None:
    report(weaklink, "logs")
    assert [trace["external_ids"]["id"] for trace in listed(weaklink, "--filter", "status:broken")] == ["bad"]
    assert [trace["external_ids"]["id"] for trace in listed(weaklink, "--filter", "Rome")] == ["bad"]
    assert len(listed(weaklink, "--limit", "2")) == 2
    assert listed(weaklink, "--filter", "nowhere") == []
    done = weaklink("list", "--db", "t.db", "--filter", "status:")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"weaklink: filter, character ") == 1


@pytest.mark.parametrize("columns", ["40", "80", "120", "200"])
def test_the_table_fits_the_screen(weaklink: Run, logs: Path, columns: str) -> None:
    report(weaklink, "logs")
    done = weaklink("list", "--db", "t.db", "--color", "always", COLUMNS=columns)
    lines = re.sub("\x1b\\[[0-9;]*m", "", done.stdout.decode()).splitlines()
    assert len(lines) == 4
    assert all(len(line) <= int(columns) for line in lines)
    assert ("✖ broken" if int(columns) >= 100 else "✖") in done.stdout.decode()


def test_in_a_pipe_values_are_whole_between_tabs(weaklink: Run, logs: Path) -> None:
    report(weaklink, "logs")
    done = weaklink("list", "--db", "t.db", "--columns", "id,status,title,break", "--header", COLUMNS="40")
    head, *rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
    assert head == ["id", "status", "title", "break"]
    traces = {str(record["id"]): record for record in listed(weaklink)}
    assert [row[0] for row in rows] == list(traces)
    for id_, status, title, broken in rows:
        assert (status, title) == (traces[id_]["status"], traces[id_]["title"])
        assert broken == ("" if traces[id_]["break"] is None else "#1 J104 trailing-comma get_weather")
    done = weaklink("list", "--db", "t.db", "--columns", "id,colour")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"there is no column `colour`; the columns are status, id, when" in done.stderr


def test_a_trace_is_named_by_its_place_in_the_last_list_by_latest_and_by_the_beginning_of_an_id(
    weaklink: Run, logs: Path
) -> None:
    report(weaklink, "logs")
    done = weaklink("show", "@1", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"`weaklink list` has not shown one yet" in done.stderr
    ids = [record["id"] for record in listed(weaklink, "--sort", "broken")]
    shown = [
        json.loads(weaklink("show", f"@{index}", "--json", "--db", "t.db").stdout) for index in range(1, len(ids) + 1)
    ]
    assert [record["id"] for record in shown] == ids
    assert shown[0]["status"] == "broken"
    assert json.loads(weaklink("show", "#2", "--json", "--db", "t.db").stdout) == shown[1]
    assert b"the last list showed 3 traces" in weaklink("show", "@4", "--db", "t.db").stderr
    newest = listed(weaklink)[0]["id"]
    assert json.loads(weaklink("show", "latest", "--json", "--db", "t.db").stdout)["id"] == newest
    assert json.loads(weaklink("show", "--json", "--db", "t.db").stdout)["id"] == newest
    assert json.loads(weaklink("show", "--last-broken", "--json", "--db", "t.db").stdout)["id"] == ids[0]
    assert b"leave out ID" in weaklink("show", "good", "--last-broken", "--db", "t.db").stderr


@pytest.mark.parametrize(
    "words", [("show", "latest"), ("show", "3"), ("diff", "1", "2"), ("replay", "latest", "--", "x")]
)
def test_a_database_without_traces_says_how_to_get_some(weaklink: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    with open_store(tmp_path / "t.db"):
        pass
    done = weaklink(*words, WEAKLINK_DB="t.db")
    assert b"the database contains no traces yet; `weaklink import PATH` or `weaklink run" in done.stderr


def test_a_database_that_is_not_there_is_not_made_by_looking(weaklink: Run, tmp_path: Path) -> None:
    for command in (("list",), ("show", "1")):
        done = weaklink(*command, "--db", "none.db")
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"there is no database yet; `weaklink run -- COMMAND` or `weaklink import` (`" in done.stderr
        assert b"`weaklink demo` keeps its traces in a database of its own" in done.stderr
    assert not (tmp_path / "none.db").exists()


def test_the_variable_names_the_database(weaklink: Run, logs: Path) -> None:
    report(weaklink, "logs")
    assert len(weaklink("list", "--json", WEAKLINK_DB="t.db").stdout.splitlines()) == 3


def test_a_trace_is_shown_from_its_verdict_to_its_turns(weaklink: Run, logs: Path) -> None:
    report(weaklink, "logs")
    done = weaklink("show", "bad", "--db", "t.db")
    shown = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    head, _, turns = shown.partition("── 1 user")
    assert "Rome?" in head.splitlines()[0]  # the title: this trace has no name of its own
    assert "Rome?" in turns.partition("── 2 assistant")[0]
    order = [
        "✖ broken at step 1 of 1",
        "✖ broke at",
        "^",
        "help: ",
        "chain",
        "── 1 user",
        "── 2 assistant",
        "error[J104]",
    ]
    places = [shown.index(words) for words in order]
    assert places == sorted(places)


def test_a_trace_as_json_holds_text_spans_and_diagnostics(weaklink: Run, logs: Path) -> None:
    report(weaklink, "logs")
    done = weaklink("show", "bad", "--json", "--db", "t.db")
    assert done.stdout.isascii()
    payload = json.loads(done.stdout)
    assert payload["id"] == next(trace["id"] for trace in listed(weaklink) if trace["status"] == "broken")
    (part,) = payload["turns"][1]["parts"]
    assert part["text"] == BROKEN[1]["value"]
    assert [span["kind"] for span in part["spans"]] == ["tool_call"]
    assert part["tool_calls"][0]["recovered"] is True
    (diagnostic,) = (record for record in payload["diagnostics"] if record["code"] == "J104")
    assert (diagnostic["turn"], diagnostic["part"], diagnostic["line"]) == (2, "text", 2)
    assert payload["chain"][0]["outcome"] == "malformed"


@pytest.mark.slow
def test_ctrl_c_keeps_the_files_that_are_finished(weaklink: Run, logs: Path, tmp_path: Path) -> None:
    many = "\n".join(json.dumps({"id": f"t{number}", "conversations": GOOD}) for number in range(60_000))
    (tmp_path / "many.jsonl").write_text(many, encoding="utf-8")
    command = subprocess.Popen(
        [*START, "import", "--json", "--db", "t.db", "logs/run.jsonl", "many.jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    while command.poll() is None:
        done = weaklink("list", "--json", "--db", "t.db")
        if done.returncode == 0 and done.stdout:
            break
    command.send_signal(signal.SIGINT)
    report_text, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert said.startswith(b"weaklink: interrupted; 1 file of 2 is in the database, nothing of the rest.")
    assert said.count(b"\n") == 1
    assert json.loads(report_text)["totals"]["traces"] == 2
    assert len(listed(weaklink)) == 2


@pytest.mark.parametrize(
    ("ranges", "numbers"), [("1", ["1"]), ("2-3", ["2", "3"]), ("1,3-", ["1", "3", "4"]), ("4-99", ["4"])]
)
def test_show_prints_only_the_turns_that_are_selected(
    weaklink: Run, logs: Path, ranges: str, numbers: list[str]
) -> None:
    report(weaklink, "logs/run.jsonl")
    done = weaklink("show", "good", "--turns", ranges, "--db", "t.db")
    assert done.returncode == 0
    assert re.findall(r"^── (\d+) ", done.stdout.decode(), re.MULTILINE) == numbers


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ranges", ["x", "0", "5", "3-2", "1,,2", "-2", "", "2-3-4"])
def test_turns_that_do_not_exist_are_refused(weaklink: Run, logs: Path, ranges: str) -> None:
    report(weaklink, "logs/run.jsonl")
    done = weaklink("show", "good", "--turns", ranges, "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--turns" in done.stderr


def test_demo_shows_what_broke_and_every_command_it_names_works(weaklink: Run) -> None:
    done = weaklink("demo")
    shown = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"^✖ .*\[✖\].*#1 J104", shown, re.MULTILINE)
    commands = [shlex.split(command) for command in re.findall(r"^  weaklink (.*)$", shown, re.MULTILINE)]
    screens = {"tui", "web"}  # these run until their user ends them; that they open this database is tested beside them
    assert len(commands) == 5
    assert screens <= {command[0] for command in commands}
    for command in commands:
        assert command[0] in screens or weaklink(*command).returncode == 0


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("prefix", "begin"),
    [
        ("/home/a/.cache/uv/archive-v0/x1", "uvx --from 'weaklink[all]"),
        ("/home/a/.local/pipx/.cache/x1", "pipx run --spec 'weaklink[all]"),
        ("/home/a/.local/share/uv/tools/weaklink", None),
        ("/home/a/.local/pipx/venvs/weaklink", None),
    ],
)
def test_demo_of_an_environment_for_one_run_names_commands_that_install_it_again(
    prefix: str, begin: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    done = CliRunner().invoke(demo, ["--db", str(tmp_path / "t.db")])
    tried = done.output.partition("Try next:\n")[2].splitlines()
    assert len(tried) == 5
    installs = ["--from" in line or "--spec" in line for line in tried]
    assert installs == [begin is not None] * 5
    assert begin is None or all(line.startswith(f"  {begin}") and " weaklink " in line for line in tried)


def test_demo_begins_anew_each_time(weaklink: Run) -> None:
    assert weaklink("demo").stdout == weaklink("demo").stdout


def test_demo_keeps_its_traces_out_of_the_database_of_the_environment(weaklink: Run, tmp_path: Path) -> None:
    done = weaklink("demo", WEAKLINK_DB="mine.db")
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (tmp_path / "mine.db").exists()
    assert b"mine.db" not in done.stdout


def test_demo_takes_a_database_of_ones_own(weaklink: Run, tmp_path: Path) -> None:
    done = weaklink("demo", "--db", "my demo.db")
    assert "--db 'my demo.db'" in done.stdout.decode()
    assert (tmp_path / "my demo.db").exists()


def test_marked_and_shown_name_several_traces(weaklink: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        store.save(inspected(*(trace(f"s{number}", BAD_CALL) for number in range(4))))
        none = weaklink("export", "@marked", "--db", "t.db")
        store.marks.put(2)
        store.marks.put(4, step=1)
    assert none.returncode == 2
    assert b"no trace is marked" in none.stderr
    assert weaklink("export", "@shown", "--db", "t.db").returncode == 2
    marked = weaklink("export", "@marked", "2", "--as", "json", "--db", "t.db")
    assert [json.loads(line)["name"] for line in marked.stdout.splitlines()] == ["s1", "s3"]
    weaklink("list", "-n", "3", "--db", "t.db")
    shown = weaklink("export", "@shown", "--as", "json", "--db", "t.db")
    assert len(shown.stdout.splitlines()) == 3
    compared = json.loads(weaklink("diff", "@marked", "--json", "--db", "t.db").stdout)
    assert [run["called"] for run in compared["runs"]] == ["2", "4"]
