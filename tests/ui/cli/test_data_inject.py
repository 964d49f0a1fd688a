"""`weaklink data inject`: the share, the copies, what is skipped, and that a seed decides everything."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Run
from weaklink.inspector.dataset.lint.engine_faults import TWINS
from weaklink.inspector.dataset.rows import read_file

TOOLS = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    }
]


def row(number: int) -> dict[str, Any]:
    call = json.dumps({"name": "get_weather", "arguments": {"city": f"Town{number}", "days": 3}})
    texts = (
        f"Weather in Town{number}?",
        f"<tool_call>\n{call}\n</tool_call>",
        '{"temperature": 22}',
        "It is 22 degrees.",
    )
    roles = ("user", "assistant", "tool", "assistant")
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    return {"id": f"r{number}", "messages": messages, "tools": TOOLS}


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(data_row) + "\n" for data_row in rows), encoding="utf-8")
    return str(path)


def read(path: Path) -> list[dict[str, Any]]:
    return [dict(file.value) for file in read_file(str(path))]


def test_the_share_of_injected_rows_is_met_and_the_copies_stay(weaklink: Run, tmp_path: Path) -> None:
    rows = [row(number) for number in range(60)]
    file, out = write(tmp_path / "a.jsonl", rows), tmp_path / "out.jsonl"
    done = weaklink("data", "inject", file, "--share", "0.25", "--seed", "5", "--output", str(out))
    assert done.returncode == 0
    written = read(out)
    injected = [data_row for data_row in written if "injected" in data_row]
    assert [data_row for data_row in written if "injected" not in data_row] == rows
    assert len(injected) == 20
    assert b"20 rows injected (25.0 % of 80)" in done.stderr
    checked = weaklink("check", str(out), "--output", "json")
    collected = [(diagnostic["record"], diagnostic["code"]) for diagnostic in json.loads(checked.stdout)["diagnostics"]]
    twins = {rule.code: twin.code for rule, twin in TWINS.items()}  # `check` has the engine's rules
    codes = {*collected, *((record, twins.get(code, code)) for record, code in collected)}
    for number, written_row in enumerate(written, 1):
        if "injected" in written_row:
            assert (f"line {number}", written_row["injected"]["code"]) in codes


def test_a_seed_decides_whatever_the_number_of_processes(weaklink: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", [row(number) for number in range(12)])
    words = ("data", "inject", file, "--only-injected", "--seed")
    first = weaklink(*words, "5").stdout
    assert weaklink(*words, "5", "--jobs", "2").stdout == first
    assert weaklink(*words, "6").stdout != first
    assert len(first.splitlines()) == 12


def test_parquet_holds_the_provenance_and_the_kinds_can_be_chosen(weaklink: Run, tmp_path: Path) -> None:
    plain = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
    file, out = write(tmp_path / "a.jsonl", [row(1), plain, row(2)]), tmp_path / "out.parquet"
    done = weaklink(
        "data", "inject", file, "--only-injected", "--rates", "wrong-type=2,timeout=0", "--output", str(out)
    )
    assert [record["injected"]["rule"] for record in read(out)] == ["wrong-type"] * 2
    assert [record["injected"]["parent"] for record in read(out)] == ["r1", "r2"]
    assert b"1 row skipped: it has no call" in done.stderr


@pytest.mark.parametrize("rates", ["typo=1", "timeout=-1", "timeout=0", "timeout=x"])
def test_unknown_kinds_and_rates_end_with_2(weaklink: Run, tmp_path: Path, rates: str) -> None:
    assert weaklink("data", "inject", write(tmp_path / "a.jsonl", [row(1)]), "--rates", rates).returncode == 2
