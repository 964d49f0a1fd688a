"""`weaklink data render`: rows a scenario, what is skipped, layouts, tokens, and rows that hold no conversation."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from tests.ui.conftest import Run
from weaklink.inspector.dataset.rendering import FORMATS

TOOLS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
ANSWER = '<think>\nI look.\n</think>\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def write(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def scenario(answer: str = ANSWER) -> dict[str, Any]:
    said = (("user", "Weather in Oslo?"), ("assistant", answer), ("tool", "4 degrees"), ("assistant", "4 degrees."))
    return {"id": "s1", "messages": [{"role": role, "content": text} for role, text in said], "tools": TOOLS}


def test_a_scenario_is_a_row_in_each_of_the_eleven_formats(weaklink: Run, tmp_path: Path) -> None:
    done = weaklink("data", "render", write(tmp_path / "a.jsonl", scenario()))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["format"] for row in rows] == list(FORMATS)
    assert len(rows) == 11
    assert {row["scenario"] for row in rows} == {"s1"}
    assert b"1 scenario as 11 rows" in done.stderr


@pytest.mark.parametrize("has_call", [True, False])
def test_what_is_rendered_is_clean_in_each_format(weaklink: Run, tmp_path: Path, has_call: bool) -> None:
    row = scenario(ANSWER.rpartition("</think>")[2])
    tool = {"description": "Weather of a city.", **TOOLS[0]}
    annotation = {"should_call_tool": has_call}
    row |= {"tools": [tool], "type": "single_tool_call" if has_call else "no_tool_call", "annotation": annotation}
    if not has_call:
        row["messages"] = [row["messages"][0], {"role": "assistant", "content": "I cannot look that up."}]
    file = write(tmp_path / "a.jsonl", row)
    rendered = tmp_path / "b.jsonl"
    assert weaklink("data", "render", file, "--output", str(rendered)).returncode == 0
    done = weaklink("data", "lint", str(rendered), "--ignore", "D714,D715", "--output", "json")
    reported = [diagnostic for diagnostic in json.loads(done.stdout)["diagnostics"] if diagnostic["code"][0] == "D"]
    assert [(record["record"], record["code"]) for record in reported if record["severity"] != "info"] == []


def test_what_a_format_cannot_hold_is_said_or_skipped(weaklink: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", scenario())
    (kept,) = map(json.loads, weaklink("data", "render", file, "--format", "llama3").stdout.splitlines())
    assert any("reasoning" in note for note in kept["dropped"])
    done = weaklink("data", "render", file, "--format", "hermes,llama3", "--on-loss", "skip")
    assert [json.loads(line)["format"] for line in done.stdout.splitlines()] == ["hermes"]
    assert b"1 row skipped, since the format cannot express everything: 1 llama3" in done.stderr


def test_tokens_are_counted_by_the_given_tokenizer(weaklink: Run, tmp_path: Path) -> None:
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))  # no secret
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    words = ("--format", "qwen", "--tokenizer", str(tmp_path / "tokenizer.json"))
    (row,) = map(
        json.loads, weaklink("data", "render", write(tmp_path / "a.jsonl", scenario()), *words).stdout.splitlines()
    )
    assert row["tokens"] == len(tokenizer.encode(row["text"]).ids) > 20


@pytest.mark.parametrize(
    ("layout", "key"), [("trl", "messages"), ("axolotl", "messages"), ("llama-factory", "conversations")]
)
def test_a_trainer_s_layout_is_one_row(weaklink: Run, tmp_path: Path, layout: str, key: str) -> None:
    done = weaklink("data", "render", write(tmp_path / "a.jsonl", scenario()), "--as", layout)
    (row,) = map(json.loads, done.stdout.splitlines())
    assert row[key]
    assert row["tools"]
    assert weaklink("data", "render", str(tmp_path / "a.jsonl"), "--as", layout, "--format", "qwen").returncode == 2


def test_a_row_without_a_conversation_is_rejected(weaklink: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    done = weaklink("data", "render", write(tmp_path / "a.jsonl", {"x": 1}), "--rejected", str(bad))
    assert done.returncode == 2
    assert json.loads(bad.read_text())["error"].startswith("the row has no conversation among `x`; the nearest")
