"""What spoils training: faults planted into good rows, each with the rule that finds it and its severity."""

import json
from typing import Any

import pytest

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.samples import read_sample

TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
USER = {"role": "user", "content": "How is the weather in Oslo?"}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
CALLED = {"role": "assistant", "content": CALL}
RESULT = {"role": "tool", "content": "rain"}
ANSWER = {"role": "assistant", "content": "It rains."}
TOKENS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>", "<|im_start|>", "</s>", "<｜end▁of▁sentence｜>")


def said(text: str | None) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


PLANTED: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "good": ([USER, CALLED, RESULT, ANSWER], []),
    "good, ends with the call": ([USER, CALLED], []),
    "good, html": ([USER, CALLED, RESULT, said("It <s>snows</s> rains.")], []),
    **{f"{token} in the answer": ([USER, CALLED, RESULT, said(f"Rain.{token}")], ["D713 error"]) for token in TOKENS},
    "token in the user's message": ([{**USER, "content": "Oslo <|endoftext|>"}, ANSWER], ["D713 error"]),
    "empty answer": ([USER, CALLED, RESULT, said("")], ["D701 error"]),
    "blank answer in the middle": ([USER, said(" "), USER, CALLED, RESULT, ANSWER], ["D701 error"]),
    "no answer after the result": ([USER, CALLED, RESULT], ["D706 warning"]),
    "ends with the user": ([USER, CALLED, RESULT, ANSWER, USER], ["D706 warning"]),
    "prompt alone": ([USER], []),
    "two user turns": ([USER, USER, CALLED, RESULT, ANSWER], ["D706 info"]),
    "two answers": ([USER, CALLED, RESULT, ANSWER, ANSWER], ["D706 info"]),
    "unmentioned argument": (
        [USER, said(CALL.replace('"Oslo"', '"Oslo", "mood": "good"')), RESULT, ANSWER],
        ["S203 info"],
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_fault_is_found_and_a_good_row_has_none(case: str) -> None:
    messages, expected = PLANTED[case]
    row: dict[str, Any] = {"messages": messages, "tools": [TOOL]}
    found = lint_sample(read_sample(DataRow("a", "line 1", 1, json.loads(json.dumps(row)))))
    assert [f"{one.rule.code} {one.rule.severity.value}" for one in found] == expected


@pytest.mark.parametrize("extra", [True, {}, {"type": "string"}])
def test_a_schema_that_allows_other_arguments_has_none_unmentioned(extra: Any) -> None:
    parameters = {**TOOL["parameters"], "additionalProperties": extra}  # type: ignore[dict-item]  # an object
    text = CALL.replace('"Oslo"', '"Oslo", "mood": "good"')
    row: dict[str, Any] = {"messages": [USER, said(text)], "tools": [{**TOOL, "parameters": parameters}]}
    assert lint_sample(read_sample(DataRow("a", "line 1", 1, row))) == []
