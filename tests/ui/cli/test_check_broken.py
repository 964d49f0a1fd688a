"""`check --fail-on broken`: a broken chain fails the check by default, also if no diagnostic is an error."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from tests.ui.cli.test_check_outputs import SCHEMA
from tests.ui.conftest import Run

ASKED = {"role": "user", "content": "Read a.txt"}
ANSWERED = {"role": "assistant", "content": "It says hello."}
NEVER_ANSWERED = "`read` never got a result, and the conversation continued without it."
COMMA = '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt",}}\n</tool_call>'


def call(id: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": '{"path": "a.txt"}'}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def result(id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


FAILED = (call("1"), result("1", "Error: disk failure"))
SESSIONS = {
    "healthy": [ASKED, call("1"), result("1", "hello"), ANSWERED],
    "recovered": [ASKED, *FAILED, call("2"), result("2", "hello"), ANSWERED],
    "reported": [ASKED, *FAILED, {"role": "assistant", "content": "I could not read a.txt: disk failure."}],
    "unanswered": [ASKED, call("1"), {"role": "user", "content": "And?"}, ANSWERED],
    "malformed": [ASKED, {"role": "assistant", "content": COMMA}],
    "rewritten": [
        *(ASKED, {"role": "assistant", "content": COMMA}, result("", "Error: bad JSON")),
        *({"role": "assistant", "content": COMMA.replace(",}}", "}}")}, result("", "hello"), ANSWERED),
    ],
}


def write(path: Path, *names: str) -> None:
    rows = [{"id": name, "messages": SESSIONS[name]} for name in names]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of a healthy session and one that broke although no diagnostic of it is an error."""
    write(tmp_path / "log.jsonl", "healthy", "unanswered")
    return tmp_path / "log.jsonl"


def checked(run: Run, *words: str, code: int = 1) -> dict[str, Any]:
    done = run("check", "--output", "json", "log.jsonl", *words)
    assert done.returncode == code, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("healthy", ()),
        ("recovered", ("warning", "info")),
        ("rewritten", ("error", "warning", "info")),
        ("reported", ("broken", "error", "warning", "info")),
        ("unanswered", ("broken", "error", "warning", "info")),
        ("malformed", ("broken", "error", "warning", "info")),
    ],
)
def test_a_broken_chain_fails_from_broken_up(weaklink: Run, log: Path, name: str, failing: tuple[str, ...]) -> None:
    write(log, name)
    codes = {word: weaklink("check", "log.jsonl", "--fail-on", word).returncode for word in WORDS}
    assert codes == {word: int(word in failing) for word in WORDS}
    assert weaklink("check", "log.jsonl").returncode == codes["error"]


WORDS = ("never", "broken", "error", "warning", "info")


def test_text_names_the_file_the_record_the_step_and_the_reason(weaklink: Run, log: Path) -> None:
    done = weaklink("check", "log.jsonl")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "log.jsonl:2 unanswered"
    assert " ".join(line.strip() for line in lines[1:3]) == f"✖ broke at step 1 (turn 2): {NEVER_ANSWERED}"
    assert "2 traces in 1 file: 1 warning, 1 broken chain" in lines


def test_json_lists_it_with_its_place(weaklink: Run, log: Path) -> None:
    value = checked(weaklink)
    assert (value["totals"]["errors"], value["totals"]["broken_chains"]) == (0, 1)
    (broken,) = value["broken_chains"]
    assert {key: broken[key] for key in ("path", "record", "trace", "step", "tool", "outcome", "code", "message")} == {
        "path": "log.jsonl",
        "record": "line 2",
        "trace": "unanswered",
        "step": 1,
        "tool": "read",
        "outcome": "unanswered",
        "code": "T404",
        "message": NEVER_ANSWERED,
    }
    location = (broken["turn"], broken["part"], broken["start"], broken["end"], broken["line"], broken["column"])
    assert location == (2, "call:0", 0, len('{"path": "a.txt"}'), 1, 1)


def test_sarif_has_an_error_at_its_characters(weaklink: Run, log: Path) -> None:
    done = weaklink("check", "--output", "sarif", "log.jsonl")
    value = json.loads(done.stdout)
    jsonschema.validate(value, SCHEMA, format_checker=jsonschema.FormatChecker())
    results = value["runs"][0]["results"]
    assert [(record["ruleId"], record["level"]) for record in results] == [("T404", "error"), ("T404", "warning")]
    assert results[0]["message"]["text"] == f"Broke at step 1: {NEVER_ANSWERED}"
    region = results[0]["locations"][0]["physicalLocation"]["region"]
    text = log.read_text(encoding="utf-8").splitlines()[region["startLine"] - 1]
    assert json.loads(f'"{text[region["startColumn"] - 1 : region["endColumn"] - 1]}"') == '{"path": "a.txt"}'
    prints = [record["partialFingerprints"]["weaklinkFault/v1"] for record in results]
    assert prints[0] != prints[1]


def test_junit_has_a_failure(weaklink: Run, log: Path) -> None:
    root = ET.fromstring(weaklink("check", "--output", "junit", "log.jsonl").stdout)
    (failure,) = root.iter("failure")
    assert (root.get("failures"), failure.get("type")) == ("1", "T404 call-without-result")
    assert failure.get("message") == f"Broke at step 1: {NEVER_ANSWERED}"
    assert (failure.text or "").startswith("error[T404] call-without-result: Broke at step 1:")
    quiet = ET.fromstring(weaklink("check", "--output", "junit", "--fail-on", "never", "log.jsonl").stdout)
    assert (quiet.get("failures"), len(list(quiet.iter("system-out")))) == ("0", 1)


def test_github_has_an_error_and_the_reason_in_the_summary(weaklink: Run, log: Path) -> None:
    done = weaklink("check", "--output", "github", "log.jsonl")
    lines = done.stdout.decode().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning"]
    assert lines[0].startswith("::error file=log.jsonl,line=2,")
    assert f"::Broke at step 1: {NEVER_ANSWERED}" in lines[0]
    assert done.stderr.decode() == "weaklink: 2 traces in 1 file: 1 warning, 1 broken chain\n"


@pytest.mark.parametrize("output", ["sarif", "github", "gitlab"])
def test_a_break_that_an_error_shows_is_one_result(weaklink: Run, log: Path, output: str) -> None:
    write(log, "malformed")
    text = weaklink("check", "--output", output, "log.jsonl", "--select", "J104").stdout.decode()
    results = {"sarif": lambda: json.loads(text)["runs"][0]["results"], "gitlab": lambda: json.loads(text)}
    count = len(results.get(output, text.splitlines)())
    assert count == 1
    assert len(checked(weaklink)["broken_chains"]) == 1


def test_its_rule_can_be_ignored(weaklink: Run, log: Path) -> None:
    assert checked(weaklink, "--ignore", "T404", code=0)["broken_chains"] == []
    assert checked(weaklink, "--select", "J", code=0)["broken_chains"] == []
    assert checked(weaklink, "--select", "call-without-result")["totals"]["broken_chains"] == 1


@pytest.mark.parametrize("name", ["unanswered", "reported", "malformed"])
def test_a_break_of_the_baseline_does_not_fail_again_and_one_more_does(weaklink: Run, log: Path, name: str) -> None:
    write(log, "healthy", name)
    assert weaklink("check", "log.jsonl", "--write-baseline", "known.json").returncode == 0
    again = ("--baseline", "known.json")
    value = checked(weaklink, *again, code=0)
    assert (value["diagnostics"], value["broken_chains"], value["totals"]["broken_chains"]) == ([], [], 0)
    assert b"nothing new is wrong" in weaklink("check", "log.jsonl", *again).stdout
    write(log, name, "healthy", name)
    assert checked(weaklink, *again)["totals"]["broken_chains"] == 1
    write(log, "healthy")
    assert checked(weaklink, *again, code=0)["totals"]["gone"] == value["totals"]["known"]


@pytest.mark.parametrize(("before", "now"), [("recovered", "reported"), ("rewritten", "malformed")])
def test_a_known_fault_that_breaks_the_chain_now_is_new(weaklink: Run, log: Path, before: str, now: str) -> None:
    write(log, before)
    weaklink("check", "log.jsonl", "--write-baseline", "known.json")
    write(log, now)
    assert len(checked(weaklink, "--baseline", "known.json")["broken_chains"]) == 1
    text = weaklink("check", "log.jsonl", "--baseline", "known.json").stdout.decode()
    assert text.startswith(f"log.jsonl:1 {now}\n✖ broke at step 1 (turn 2): ")


def test_a_baseline_without_severities_knows_an_error_and_its_break(weaklink: Run, log: Path) -> None:
    write(log, "malformed")
    known = log.parent / "known.json"
    weaklink("check", "log.jsonl", "--write-baseline", "known.json")
    value = json.loads(known.read_text(encoding="utf-8"))
    value["faults"] = [{key: entry[key] for key in entry if key != "severity"} for entry in value["faults"]]
    known.write_text(json.dumps(value), encoding="utf-8")
    assert checked(weaklink, "--baseline", "known.json", code=0)["broken_chains"] == []


def test_blocks_in_other_processes_count_the_same(weaklink: Run, log: Path) -> None:
    write(log, *SESSIONS, *SESSIONS)
    alone = weaklink("check", "--output", "json", "log.jsonl")
    in_blocks = weaklink("check", "--output", "json", "log.jsonl", "--jobs", "2")
    assert json.loads(alone.stdout)["totals"]["broken_chains"] == 6
    assert (in_blocks.returncode, in_blocks.stdout) == (1, alone.stdout), in_blocks.stderr


def test_a_configuration_names_it_and_lint_which_judges_rows_fails_for_errors(weaklink: Run, log: Path) -> None:
    (log.parent / "weaklink.toml").write_text('[check]\nfail-on = "broken"\n', encoding="utf-8")
    assert weaklink("check", "log.jsonl", "--ignore", "T404").returncode == 0
    assert weaklink("check", "log.jsonl").returncode == 1
    write(log, "malformed")
    lint = weaklink("data", "lint", "log.jsonl", "--output", "json", "--select", "J")
    assert lint.returncode == 1, lint.stderr
    assert "broken_chains" not in json.loads(lint.stdout)["totals"]
    refused = weaklink("data", "lint", "log.jsonl", "--fail-on", "broken")
    assert (refused.returncode, refused.stdout) == (2, b"")
