"""`check`: what is wrong in files, for people and machines, and the exit code for CI."""

import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import START, Run, environment

FULL_KEYS = [
    *("path", "record", "trace", "turn", "part", "code", "name", "severity", "start", "end", "line", "column"),
    *("message", "hint", "fix", "call", "layer", "owner", "against"),
    *("path_in_arguments", "fingerprint", "related"),
]
GOOD = [{"from": "human", "value": "Hello."}, {"from": "gpt", "value": "Hello to you."}]
ASKED = {"from": "human", "value": "Weather?"}
ERROR = [ASKED, {"from": "gpt", "value": '<tool_call>\n{"name": "f", "arguments": {"city": "Rome",}}\n</tool_call>'}]
WARNING = [ASKED, {"from": "gpt", "value": '<tool_call>\n{"name": "f", "parameters": {"city": "Rome"}}\n</tool_call>'}]


def write(path: Path, *conversations: object) -> None:
    lines = [
        json.dumps({"id": f"t{number}", "conversations": conversation})
        for number, conversation in enumerate(conversations, 1)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a sound file, one with an error behind a sound record and a junk line, and one with a warning."""
    folder = tmp_path / "logs"
    folder.mkdir()
    write(folder / "good.jsonl", GOOD)
    write(folder / "warning.jsonl", WARNING)
    write(folder / "error.jsonl", GOOD, ERROR)
    with (folder / "error.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("{junk\n")
    (folder / "README.md").write_text("No trace.\n", encoding="utf-8")
    return folder


def checked(run: Run, *words: str, code: int) -> dict[str, Any]:
    done = run("check", "--output", "json", *words)
    assert done.returncode == code, done.stderr
    assert done.stdout.isascii()
    value: dict[str, Any] = json.loads(done.stdout)
    assert list(value) == ["files", "diagnostics", "broken_chains", "totals"]
    return value


def test_text_goes_by_file_and_trace_with_carets(weaklink: Run, logs: Path) -> None:
    done = weaklink("check", "logs")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        "logs/error.jsonl:2 t2",
        "✖ broke at step 1 (turn 2): The call of `f` is not valid as written.",
        "error[J104] trailing-comma: A comma appears before `}`, but nothing",
        "      follows it.",
        " --> turn 2, text, line 2 column 43",
        "  |",
        '2 | {"name": "f", "arguments": {"city": "Rome",}}',
        "  |                                           ^",
        "help: Delete the comma.",
        '2 - {"name": "f", "arguments": {"city": "Rome",}}',
        '2 + {"name": "f", "arguments": {"city": "Rome"}}',
        "",
        "error[C511] unreadable-record: This record could not be read: invalid",
        "      JSON: expecting property name enclosed in double quotes at column 2.",
        " --> logs/error.jsonl:3:2",
        "  |",
        "3 | {junk",
        "  |  ^",
        "",
        "logs/warning.jsonl:1 t1",
        "warning[J113] wrong-arguments-key: The arguments are under `parameters`;",
        "      this format uses `arguments`.",
        " --> turn 2, text, line 2 column 15",
        "  |",
        '2 | {"name": "f", "parameters": {"city": "Rome"}}',
        "  |               ^^^^^^^^^^^^",
        "help: Rename it to `arguments`.",
        '2 - {"name": "f", "parameters": {"city": "Rome"}}',
        '2 + {"name": "f", "arguments": {"city": "Rome"}}',
        "",
        "4 traces in 3 files: 2 errors, 1 warning, 1 broken chain",
        "      1 C511 unreadable-record",
        "      1 J104 trailing-comma",
        "      1 J113 wrong-arguments-key",
    ]
    (said,) = done.stderr.decode().splitlines()
    assert said.startswith("weaklink: logs/README.md: ")


def test_json_says_the_same(weaklink: Run, logs: Path) -> None:
    result = checked(weaklink, "logs", code=1)
    assert [file["path"].removeprefix("logs/") for file in result["files"]] == [
        *("README.md", "error.jsonl", "good.jsonl", "warning.jsonl")
    ]
    assert result["files"][0]["refused"].startswith("logs/README.md: ")
    assert [record["record"] for record in result["files"][1]["skipped_records"]] == ["line 3"]
    assert all(list(diagnostic) == FULL_KEYS for diagnostic in result["diagnostics"])
    error = result["diagnostics"][0]
    assert (error["path"], error["record"], error["trace"]) == ("logs/error.jsonl", "line 2", "t2")
    assert (error["turn"], error["part"], error["code"], error["line"], error["column"]) == (2, "text", "J104", 2, 43)
    assert ERROR[1]["value"][error["start"] : error["end"]] == ","
    assert error["fix"] == {"edits": [{"start": error["start"], "end": error["end"], "text": ""}], "safe": True}
    numbers = {"files": 4, "refused": 1, "traces": 4, "skipped": 1, "errors": 2, "warnings": 1, "infos": 0}
    numbers |= {"broken_chains": 1, "known": 0, "gone": 0}
    assert result["totals"] == numbers | {"diagnostics": {"C511": 1, "J104": 1, "J113": 1}}


def test_nothing_wrong_is_said_and_is_0(weaklink: Run, logs: Path) -> None:
    done = weaklink("check", "logs/good.jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "1 trace in 1 file: ✔ nothing is wrong\n"
    assert checked(weaklink, "logs/good.jsonl", code=0)["diagnostics"] == []


@pytest.mark.parametrize(
    ("file", "fail_on", "code"),
    [
        *(("error", "error", 1), ("error", "warning", 1), ("error", "info", 1), ("error", "never", 0)),
        *(("warning", "error", 0), ("warning", "warning", 1), ("warning", "info", 1), ("warning", "never", 0)),
        *(("error", "broken", 1), ("warning", "broken", 0), ("good", "broken", 0)),
    ],
)
def test_fail_on_decides_the_exit_code(weaklink: Run, logs: Path, file: str, fail_on: str, code: int) -> None:
    assert weaklink("check", "--fail-on", fail_on, f"logs/{file}.jsonl").returncode == code


@pytest.mark.parametrize(
    ("options", "codes", "code"),
    [
        (("--select", "J104"), ["J104", "C511"], 1),
        (("--select", "J113,T4"), ["C511", "J113"], 1),
        (("--select", "J113,T4", "--ignore", "C511"), ["J113"], 0),
        (("--select", "wrong-arguments-key", "--select", "J104"), ["J104", "C511", "J113"], 1),
        (("--ignore", "J104"), ["C511", "J113"], 1),
        (("--ignore", "J104,C5"), ["J113"], 0),
        (("--select", "C511"), ["C511"], 1),
        (("--select", "J", "--ignore", "trailing-comma J113 unreadable-record"), [], 0),
    ],
)
def test_rules_are_selected_and_ignored(
    weaklink: Run, logs: Path, options: tuple[str, ...], codes: list[str], code: int
) -> None:
    assert [diagnostic["code"] for diagnostic in checked(weaklink, *options, "logs", code=code)["diagnostics"]] == codes


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--select", "trailing-coma"), "did you mean `trailing-comma`?"),
        (("--format", "hermse"), "hermse"),
        (("--output", "xml"), "xml"),
    ],
)
def test_what_it_does_not_know_is_refused_before_anything_is_read(
    weaklink: Run, logs: Path, options: tuple[str, ...], said: str
) -> None:
    done = weaklink("check", *options, "logs")
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()


def test_nothing_read_is_2_and_still_reported(weaklink: Run, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert checked(weaklink, "empty", code=2)["files"] == []
    assert weaklink("check", "empty").stderr == b"weaklink: there are no files in empty\n"
    assert checked(weaklink, "logs/README.md", code=2)["totals"]["refused"] == 1


def test_a_path_that_is_not_there_fails_whatever_else_is(weaklink: Run, logs: Path) -> None:
    result = checked(weaklink, "logs/good.jsonl", "logs/gone.jsonl", code=1)
    assert [diagnostic["code"] for diagnostic in result["diagnostics"]] == ["C513"]
    assert result["files"][1]["refused"] == "logs/gone.jsonl: there is no such file"


def test_what_a_file_holds_before_it_breaks_off_is_reported(weaklink: Run, logs: Path) -> None:
    write(logs / "long.jsonl", *[ERROR] * 300)
    packed = gzip.compress((logs / "long.jsonl").read_bytes())
    (logs / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    result = checked(weaklink, "logs/cut.jsonl.gz", code=1)
    (file,) = result["files"]
    assert (file["source"], file["skipped"]) == ("sharegpt", 1)
    *errors, unread = result["diagnostics"]
    assert 0 < file["traces"] == len(errors) < 300
    assert (unread["code"], unread["record"], unread["line"]) == ("C511", "end of file", len(errors) + 1)


def test_hostile_names_and_texts_are_made_visible(weaklink: Run, tmp_path: Path) -> None:
    hostile = [ASKED, {"from": "gpt", "value": "<tool_call>\n{'na\x1b[31mme': 1}\n</tool_call>"}]
    write(tmp_path / "a\x1b[2J.jsonl", hostile)
    done = weaklink("check", "a\x1b[2J.jsonl")
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout
    assert "a␛[2J.jsonl:1 t1".encode() in done.stdout


def test_the_same_input_gives_the_same_report_and_no_database(weaklink: Run, logs: Path, tmp_path: Path) -> None:
    first, second = (weaklink("check", "logs", "--output", "json").stdout for _ in range(2))
    assert first == second
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs"]


@pytest.mark.slow
@pytest.mark.parametrize(("times", "most_kib"), [(2_500, 6_500), (15_000, 40_000)])
def test_many_diagnostics_take_bounded_memory(tmp_path: Path, times: int, most_kib: int) -> None:
    write(tmp_path / "few.jsonl", *[ERROR] * 300)
    write(tmp_path / "many.jsonl", *[ERROR] * times)
    few, many = (_peak_kib(tmp_path, name) for name in ("few.jsonl", "many.jsonl"))
    assert many - few < most_kib


def _peak_kib(folder: Path, name: str) -> int:
    measure = "import atexit, sys; from benchmarks.measuring import peak_kib\n"
    measure += "atexit.register(lambda: sys.stderr.write(str(peak_kib())))"
    words = [*START[:-1], f"{measure}\n{START[-1]}", "check", "--output", "json", name]
    done = subprocess.run(words, capture_output=True, cwd=folder, env=environment(folder), check=False)
    assert done.returncode == 1
    return int(done.stderr)


def test_faults_of_one_cause_are_one_finding_with_the_others_in_related(weaklink: Run, tmp_path: Path) -> None:
    def said(role: str, text: str) -> dict[str, str]:
        return {"from": role, "value": text}

    call = '<tool_call>\n{"name": "get", "arguments": {"n": 1}}\n</tool_call>'
    failed = [said("gpt", call), said("tool", "<tool_response>\nError: no\n</tool_response>")]
    row = {"conversations": [said("human", "Try."), *(failed * 5), said("gpt", "It is done.")]}
    (tmp_path / "loop.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    result = checked(weaklink, "loop.jsonl", code=1)
    errors = [diagnostic for diagnostic in result["diagnostics"] if diagnostic["code"] == "T406"]
    assert [len(error["related"]) for error in errors] == [4]
    assert errors[0]["message"].endswith("(and 4 more of this kind)")
    assert [record["turn"] for record in errors[0]["related"]] == [5, 7, 9, 11]
    assert {record["code"] for record in errors[0]["related"]} == {"T406"}
    assert result["totals"]["diagnostics"]["T406"] == 5
    text = weaklink("check", "loop.jsonl").stdout.decode()
    assert text.count("error-result:") == 1
    for output in ("text", "sarif", "junit", "github", "gitlab", "markdown"):
        report = weaklink("check", "--output", output, "loop.jsonl").stdout.decode()
        assert len(re.findall(r"and\s+4\s+more\s+of\s+this\s+kind", report)) == 1, output
    weaklink("check", "loop.jsonl", "--write-baseline", "known.json")
    row["conversations"][-1:-1] = failed
    (tmp_path / "loop.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (new,) = [
        diagnostic
        for diagnostic in checked(weaklink, "loop.jsonl", "--baseline", "known.json", code=0)["diagnostics"]
        if diagnostic["code"] == "T406"
    ]
    assert new["related"] == []
