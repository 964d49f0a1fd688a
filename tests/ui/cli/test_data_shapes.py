"""Rows of public shapes: a broken call is one fault and is repaired in its place, and rows are converted."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Run

TOOL: dict[str, Any] = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
QUESTION = "How is the weather in Oslo?"
ARGUMENTS, BROKEN = '{"city": "Oslo"}', '{"city": "Oslo",}'
RESULT = {"celsius": 17}
ASKED = {"role": "user", "content": QUESTION}
ANSWER = {"role": "assistant", "content": "It is 17 degrees in Oslo."}


def call(arguments: str) -> str:
    return f'{{"name": "get_weather", "arguments": {arguments}}}'


def rows_with(arguments: str) -> dict[str, dict[str, Any]]:
    """A row of each shape whose call has these arguments."""
    text, tags = call(arguments), f"<tool_call>\n{call(arguments)}\n</tool_call>"
    structured = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    result = {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)}
    openai_tools = [{"type": "function", "function": TOOL}]
    answers = [{"message": {"role": "assistant", "content": None, "tool_calls": [structured]}}, {"message": ANSWER}]
    blocks = [{"type": "tool_call", "value": text}]
    return {
        "xlam": {"query": QUESTION, "answers": f"[{text}]", "tools": json.dumps([TOOL])},
        "glaive": {
            "system": f"SYSTEM: You have these functions -\n{json.dumps(TOOL)}",
            "chat": f"USER: {QUESTION}\n\n\nASSISTANT: <functioncall> "
            f'{{"name": "get_weather", "arguments": \'{arguments}\'}} <|endoftext|>\n\n\n',
        },
        "when2call": {
            "messages": [ASKED],
            "tools": [json.dumps(TOOL)],
            "chosen_response": {"role": "assistant", "content": f"<TOOLCALL>[{text}]</TOOLCALL>"},
        },
        "art": {"messages_and_choices": [ASKED, answers[0], result, answers[1]], "tools": openai_tools},
        "llama-factory": {
            "conversations": [
                {"from": "human", "value": QUESTION},
                {"from": "function_call", "value": text},
                {"from": "observation", "value": json.dumps(RESULT)},
                {"from": "gpt", "value": ANSWER["content"]},
            ],
            "tools": json.dumps([TOOL]),
        },
        "llama-factory blocks": {
            "messages": [
                {"role": "user", "content": [{"type": "text", "value": QUESTION}]},
                {"role": "assistant", "content": blocks},
                {"role": "tool", "content": [{"type": "text", "value": json.dumps(RESULT)}]},
                {"role": "assistant", "content": [{"type": "text", "value": ANSWER["content"]}]},
            ],
            "tools": json.dumps([TOOL]),
        },
        "llama-factory ranking": {
            "conversations": [{"from": "human", "value": QUESTION}],
            "chosen": {"from": "gpt", "value": tags},
            "rejected": {"from": "gpt", "value": "No."},
            "tools": json.dumps([TOOL]),
        },
        "ms-swift": {
            "messages": [
                ASKED,
                {"role": "tool_call", "content": text},
                {"role": "tool_response", "content": json.dumps(RESULT)},
                ANSWER,
            ],
            "tools": json.dumps(openai_tools),
        },
        "smoltalk2": {
            "messages": [ASKED, {"role": "assistant", "content": tags}, result, ANSWER],
            "chat_template_kwargs": {"xml_tools": [json.dumps(TOOL)]},
        },
        "verifiers": {
            "prompt": [ASKED],
            "completion": [{"role": "assistant", "content": "", "tool_calls": [structured]}, result, ANSWER],
            "info": {"oai_tools": openai_tools},
        },
        "instruction": {"instruction": QUESTION, "input": "", "output": tags, "tools": [TOOL]},
        "trl": {"prompt": [ASKED], "completion": [{"role": "assistant", "content": tags}], "tools": openai_tools},
    }


def write(path: Path, row: dict[str, Any]) -> str:
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("shape", rows_with(BROKEN))
def test_a_broken_call_is_one_fault_and_is_repaired_in_its_place(weaklink: Run, tmp_path: Path, shape: str) -> None:
    path = write(tmp_path / "a.jsonl", rows_with(BROKEN)[shape])
    linted = weaklink("data", "lint", path, "--no-config", "--output", "json")
    payload = json.loads(linted.stdout)["diagnostics"]
    assert [record["code"] for record in payload if record["severity"] != "info"] == ["J104"]
    done = weaklink("data", "fix", path, "--output", str(tmp_path / "b.jsonl"))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "b.jsonl").read_text()) == rows_with(ARGUMENTS)[shape]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shape", rows_with(ARGUMENTS))
def test_a_row_of_every_shape_is_converted(weaklink: Run, tmp_path: Path, shape: str) -> None:
    done = weaklink("data", "convert", "--to", "llama3", write(tmp_path / "a.jsonl", rows_with(ARGUMENTS)[shape]))
    assert done.returncode == 0, done.stdout
    again = tmp_path / "b.jsonl"
    again.write_bytes(done.stdout)
    scored = weaklink("data", "report", str(again), "--json")
    assert json.loads(scored.stdout)["tools_by_frequency"] == {"get_weather": 1}


def test_a_raw_completion_under_another_name_is_converted(weaklink: Run, tmp_path: Path) -> None:
    row = {"completion": f"<tool_call>\n{call(ARGUMENTS)}\n</tool_call>", "tools": [TOOL]}
    done = weaklink("data", "convert", "--to", "mistral", write(tmp_path / "a.jsonl", row))
    assert json.loads(done.stdout)["completion"].startswith("[TOOL_CALLS]")


PROMPTS: dict[str, dict[str, Any]] = {
    "bfcl": {
        "question": [[ASKED]],
        "function": [{**TOOL, "parameters": {**TOOL["parameters"], "type": "dict"}}],
        "ground_truth": [{"get_weather": {"city": ["Oslo"]}}],
    },
    "verl": {
        "prompt": [ASKED],
        "reward_model": {"ground_truth": f"[{call(ARGUMENTS)}]"},
        "extra_info": {"tools": [{"type": "function", "function": TOOL}]},
    },
}


@pytest.mark.parametrize("command", ["lint", "score", "verify"])
@pytest.mark.parametrize("shape", PROMPTS)
def test_a_set_of_prompts_is_named_as_such(weaklink: Run, tmp_path: Path, shape: str, command: str) -> None:
    done = weaklink("data", command, write(tmp_path / "a.jsonl", PROMPTS[shape]))
    assert b"no row has an answer: the set has prompts only" in done.stderr
    assert b"another wire format" not in done.stderr
