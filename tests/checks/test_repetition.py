"""Loops within one text are reported once, with their count, in every format."""

import random

import pytest

from tests.checks.attempted.shapes import TOOLS, made_up_call
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import ToolCall
from weaklink.inspector.segmentation import Segmenter, segment
from weaklink.inspector.text import Range

NAMES = [one.name for one in formats() if one.name not in ("openai", "claude", "gemini")]


@pytest.mark.parametrize("name", NAMES)
def test_a_loop_of_identical_calls_is_reported_once(name: str) -> None:
    one = next(one for one in formats() if one.name == name)
    seed = random.Random(name)
    called, arguments = made_up_call(seed)
    calls = [ToolCall(called, arguments, "", valid=True, range=Range(0, 0))] * 20
    text = one.write_calls(calls)
    found = segment(text, name, tools=TOOLS)
    assert len(found.calls) == 20
    loops = [one.fault.message for one in found.diagnostics if one.rule.code == "T408"]
    assert loops == [f"`{called}` is called 20 times in this turn with the same arguments."]


@pytest.mark.parametrize("name", NAMES)
def test_other_arguments_are_no_loop(name: str) -> None:
    one = next(one for one in formats() if one.name == name)
    calls = [ToolCall("search", {"query": str(number)}, "", valid=True, range=Range(0, 0)) for number in range(20)]
    found = segment(one.write_calls(calls), name, tools=TOOLS)
    assert not [one for one in found.diagnostics if one.rule.code == "T408"]


def test_the_same_call_in_turns_of_its_own_is_no_loop() -> None:
    one = '<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call><|im_end|>\n'
    result = "<|im_start|>tool\n<tool_response>\n1\n</tool_response><|im_end|>\n"
    assert not [one for one in segment((one + result) * 5, "hermes").diagnostics if one.rule.code == "T408"]
    assert [one.rule.code for one in segment(one * 5, "hermes").diagnostics if one.rule.code == "T408"] == ["T408"]


@pytest.mark.parametrize(
    ("name", "token", "code"),
    [
        ("hermes", "<|im_end|>", "F310"),
        ("hermes", "<|begin_of_text|>", "F310"),
        ("hermes", "</tool_call>", "F302"),
        ("llama3", "<|eot_id|>", "F310"),
        ("llama3", "<|end_header_id|>", "F310"),
        ("qwen", "<|endoftext|>", "F310"),
        ("mistral", "<unk>", "F310"),
    ],
)
@pytest.mark.parametrize("gap", ["", "\n"])
@pytest.mark.parametrize("count", [3, 40])
def test_a_run_of_one_token_is_reported_once(name: str, token: str, code: str, gap: str, count: int) -> None:
    text = f"Hi{token}" + f"{gap}{token}" * (count - 1)
    found = segment(text, name).diagnostics
    assert [one.rule.code for one in found] == [code]
    assert f" {count} times in a row" in found[0].fault.message
    assert (found[0].range.start, found[0].range.end) == (2, len(text))
    pieces = Segmenter(name)
    for character in text:
        pieces.feed(character)
    pieces.close()
    assert pieces.segmentation(text).diagnostics == found


@pytest.mark.parametrize("text", ["<b><b><b>", "a <|x|> b <|x|> c <|x|>", "- <s>old</s>\n- <s>old</s>\n- <s>old</s>"])
def test_other_markup_is_no_run(text: str) -> None:
    assert not [one for one in segment(text, "hermes").diagnostics if "in a row" in one.fault.message]
