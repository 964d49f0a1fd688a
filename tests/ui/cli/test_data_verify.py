"""`weaklink data verify`: verdicts as lines or JSON, kept and rejected rows, groups, and exit codes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Run
from weaklink.inspector.dataset.rows import read_file

TOOLS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]


def call(city: str) -> str:
    return f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}\n</tool_call>'


def row(city: str, prompt: str = "p1", **more: Any) -> dict[str, Any]:
    asked = {"role": "user", "content": "How is the weather in Oslo?"}
    return {"prompt_id": prompt, "prompt": [asked], "completion": call(city), "tools": TOOLS, **more}


def write(path: Path, *rows: Any) -> str:
    path.write_text(
        "".join((data_row if isinstance(data_row, str) else json.dumps(data_row)) + "\n" for data_row in rows),
        encoding="utf-8",
    )
    return str(path)


def read(path: Path) -> list[dict[str, Any]]:
    return [dict(file.value) for file in read_file(str(path))]


def test_verdicts_are_json_lines_of_the_stable_keys(weaklink: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", {"id": "x", **row("Oslo")}, row("Rome"))
    done = weaklink("data", "verify", file, "--json")
    assert done.returncode == 1
    good, bad = (json.loads(line) for line in done.stdout.splitlines())
    assert list(good)[:5] == ["id", "record", "verifier", "passed", "diagnostics"]
    assert (good["id"], good["record"], good["verifier"], good["passed"], good["diagnostics"]) == (
        "x", "line 1", "tool-use", True, [],
    )  # fmt: skip
    (diagnostic,) = bad["diagnostics"]
    text = call("Rome")
    assert (diagnostic["code"], diagnostic["turn"], diagnostic["part"]) == ("V904", 2, "text")
    assert text[diagnostic["start"] : diagnostic["end"]] == '"Rome"'
    assert weaklink("data", "verify", file, "--ignore", "V904").returncode == 0


@pytest.mark.parametrize(("kept", "jobs"), [("kept.jsonl", "1"), ("kept.parquet", "2")])
def test_every_row_is_kept_or_rejected_and_the_input_stays(weaklink: Run, tmp_path: Path, kept: str, jobs: str) -> None:
    file = write(tmp_path / "a.jsonl", row("Oslo"), "{broken", row("Rome"), row("Oslo", "p2", score=0.5), {"a": 1})
    before = Path(file).read_bytes()
    done = weaklink(
        "data",
        "verify",
        file,
        "--kept",
        str(tmp_path / kept),
        "--rejected",
        str(tmp_path / "bad.jsonl"),
        "--jobs",
        jobs,
    )
    assert done.returncode == 1
    assert b"a.jsonl:2:2" in done.stderr
    assert Path(file).read_bytes() == before
    good, bad = read(tmp_path / kept), read(tmp_path / "bad.jsonl")
    assert [record["prompt_id"] for record in good] == ["p1", "p2"]
    assert all(record["verification"]["passed"] for record in good)
    assert [record.get("line") or record["verification"]["codes"] for record in bad] == [2, ["V904"], 5]


def test_the_best_of_each_group_are_kept_and_groups_without_signal_are_named(weaklink: Run, tmp_path: Path) -> None:
    rows = [row("Oslo", score=0.1, n=1), row("Rome", n=2), row("Oslo", score=0.9, n=3), row("Rome", "p2", n=4)]
    rows += [row("Rome", "p2", n=5), row("Oslo", "p3", n=6), row("Oslo", "p3", n=7)]
    file = write(tmp_path / "a.jsonl", *rows)
    kept, report, groups = (tmp_path / name for name in ("kept.jsonl", "report.json", "groups.jsonl"))
    words = ("--best-of", "1", "--k", "1,2,3", "--kept", str(kept), "--report", str(report), "--groups", str(groups))
    first = weaklink("data", "verify", file, *words, "--seed", "3")
    assert [record["n"] for record in read(kept)][:1] == [3]
    assert len(read(kept)) == 2
    (told,) = read(report)
    assert {record["group"]: record["passed"] for record in told["without_signal"]} == {"p2": 0, "p3": 2}
    assert [record["groups"] for record in told["pass_at_k"]] == [3, 3, 1]
    assert told["pass_at_k"][1]["value"] == pytest.approx(2 / 3)
    assert b"2 groups without signal: p2 (none passed), p3 (all passed)" in first.stderr
    assert [record["scores"] for record in read(groups)] == [[1.0, 0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    written = kept.read_bytes()
    assert weaklink("data", "verify", file, *words, "--seed", "3").stderr == first.stderr
    assert kept.read_bytes() == written


def test_the_rollouts_of_an_atropos_group_are_its_candidates(weaklink: Run, tmp_path: Path) -> None:
    messages = [[*row(city)["prompt"], {"role": "assistant", "content": call(city)}] for city in ("Oslo", "Rome")]
    group = {"tokens": [[1], [2]], "masks": [[1], [2]], "scores": [0.5, 0.5], "messages": messages, "tools": TOOLS}
    file = write(tmp_path / "groups.jsonl", group)
    again = tmp_path / "scored.jsonl"
    done = weaklink("data", "verify", file, "--json", "--groups", str(again), "--scores", "1,-1")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(record["record"], record["passed"]) for record in told] == [
        ("line 1, rollout 1", True),
        ("line 1, rollout 2", False),
    ]
    (scored,) = read(again)
    assert scored == {"tokens": [[1], [2]], "masks": [[1], [2]], "scores": [1.0, -1.0], "messages": messages}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--verifier", "tool-usage"), b"unknown verifier `tool-usage`"),
        (("--k", "0"), b"expected numbers from 1"),
        (("--select", "Z9"), b"Z9"),
        (("--format", "hermess"), b"hermess"),
        (("--scores", "1"), b"expected two numbers"),
    ],
)
def test_what_cannot_run_ends_with_2_and_says_why(
    weaklink: Run, tmp_path: Path, words: tuple[str, ...], said: bytes
) -> None:
    done = weaklink("data", "verify", write(tmp_path / "a.jsonl", row("Oslo")), *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_rows_that_cannot_be_read_alone_end_with_2(weaklink: Run, tmp_path: Path) -> None:
    assert weaklink("data", "verify", write(tmp_path / "a.jsonl", "{x", {"a": 1})).returncode == 2


@pytest.mark.parametrize("command", ["lint", "score", "report", "verify", "inject", "negatives", "render"])
@pytest.mark.parametrize("text", ["", "[]"])
def test_files_without_a_row_are_named(weaklink: Run, tmp_path: Path, command: str, text: str) -> None:
    (tmp_path / "none.json").write_text(text)
    done = weaklink("data", command, str(tmp_path / "none.json"))
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == f"weaklink: there is no row in {tmp_path / 'none.json'}"
    assert b"pass@" not in done.stderr


def test_without_a_schema_it_is_said_what_schema_adherence_asked(weaklink: Run, tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Oslo?"}, {"role": "assistant", "content": '{"city": "Oslo"}'}]
    function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    asked = [talk[0], {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]}]
    file = write(tmp_path / "a.jsonl", {"messages": talk}, {"messages": asked})
    verify = ("data", "verify", "--verifier", "schema-adherence")
    done = weaklink(*verify, file)
    (line,) = done.stdout.decode().splitlines()
    assert line.endswith("J101 malformed-json: The answer is a call; expected JSON as its text.")
    notice = "weaklink: no row has a schema (`schema`, `response_format`, or `<schema>` in the system prompt)"
    assert notice in done.stderr.decode()
    with_schema = write(tmp_path / "b.jsonl", {"messages": talk}, {"messages": talk, "schema": {"type": "object"}})
    assert (
        b"no row has a schema" not in weaklink("data", "verify", with_schema, "--verifier", "schema-adherence").stderr
    )


def test_a_secret_of_a_candidate_is_in_no_verdict(weaklink: Run, tmp_path: Path) -> None:
    secret = "ghp_" + "A1b2C3d4" * 4
    file = write(tmp_path / "a.jsonl", row(secret))
    for options in ((), ("--json",)):
        done = weaklink("data", "verify", file, *options)
        assert done.returncode == 1
        assert b"V904" in done.stdout
        assert secret[8:].encode() not in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["score", "report", "inject", "render", "negatives"])
def test_a_row_that_cannot_be_read_ends_a_data_command_with_1(weaklink: Run, tmp_path: Path, command: str) -> None:
    good = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": call("Oslo")}]}
    file = write(tmp_path / "a.jsonl", {**good, "tools": TOOLS}, '{"messages": [{"role": "us')
    done = weaklink("data", command, file)
    assert b"line 2: the JSON is truncated" in done.stderr
    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize("command", ["lint", "score", "report", "verify"])
def test_standard_input_is_refused_by_its_name(weaklink: Run, command: str) -> None:
    done = weaklink("data", command, "-")
    assert done.returncode == 2
    assert b"standard input is read once only; write its rows to a file first" in done.stderr


def test_a_named_pipe_is_refused_at_once(weaklink: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    folder = tmp_path / "set"
    folder.mkdir()
    os.mkfifo(folder / "state.json")
    write(folder / "a.jsonl", row("Oslo"))
    refused = weaklink("data", "verify", str(pipe))
    assert refused.returncode == 2
    assert b"named pipe (FIFO)" in refused.stderr
    assert weaklink("data", "verify", str(folder)).returncode == 0
