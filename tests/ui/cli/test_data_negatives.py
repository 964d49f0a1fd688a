"""`weaklink data negatives`: the share that is reached, the balance over tools, and that a seed decides."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.ui.conftest import Run

NAMES = ("get_weather", "create_invoice", "set_alarm", "play_music")


def row(number: int) -> dict[str, Any]:
    name = NAMES[0] if number % 10 else NAMES[1 + number // 10 % 3]
    tools = [
        {"name": record, "parameters": {"type": "object", "properties": {record[-4:]: {"type": "string"}}}}
        for record in NAMES
    ]
    subject = name.partition("_")[2]
    call = json.dumps({"name": name, "arguments": {name[-4:]: "x"}})
    texts = (f"What is the {subject} for x?", f"<tool_call>\n{call}\n</tool_call>", "fine", "It is fine.")
    roles = ("user", "assistant", "tool", "assistant")
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    return {"id": f"r{number}", "messages": messages, "tools": tools}


def write(path: Path, count: int) -> str:
    path.write_text("".join(json.dumps(row(number)) + "\n" for number in range(count)), encoding="utf-8")
    return str(path)


def test_the_share_is_reached_and_rare_tools_are_not_drowned(weaklink: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", 70)
    done = weaklink("data", "negatives", file, "--share", "0.3", "--seed", "2")
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    made = [record["negative"] for record in rows if "negative" in record]
    assert len(made) == 30
    assert [data_row for data_row in rows if "negative" not in data_row] == [row(number) for number in range(70)]
    by_tool = Counter(record["tool"] for record in made)
    assert set(by_tool) == set(NAMES)
    assert {record["kind"] for record in made} == {"tool-removed", "already-given"}
    assert b"30 negatives" in done.stderr
    assert b"30.0 % of 100 rows without a call" in done.stderr


def test_a_seed_decides_whatever_the_number_of_processes(weaklink: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", 12)
    words = ("data", "negatives", file, "--only-negatives", "--kind", "tool-removed", "--seed")
    first = weaklink(*words, "5").stdout
    assert weaklink(*words, "5", "--jobs", "2").stdout == first
    assert weaklink(*words, "6").stdout != first
    assert len(first.splitlines()) == 12
