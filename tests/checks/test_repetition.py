"""Loops within one text are reported once, with their count, in every format."""

import random

import pytest

from tests.checks.attempted.shapes import TOOLS, made_up_call
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import ToolCall
from weaklink.inspector.segmentation import Segmenter, segment
from weaklink.inspector.text import Range

NAMES = [dialect.name for dialect in formats() if dialect.name not in ("openai", "claude", "gemini")]


@pytest.mark.parametrize("name", NAMES)
def test_a_loop_of_identical_calls_is_reported_once(name: str) -> None:
    dialect = next(candidate for candidate in formats() if candidate.name == name)
    seed = random.Random(name)
    called, arguments = made_up_call(seed)
    calls = [ToolCall(called, arguments, "", valid=True, range=Range(0, 0))] * 20
    text = dialect.write_calls(calls)
    segmentation = segment(text, name, tools=TOOLS)
    assert len(segmentation.calls) == 20
    loops = [diagnostic.fault.message for diagnostic in segmentation.diagnostics if diagnostic.rule.code == "T408"]
    assert loops == [f"`{called}` is called 20 times in this turn with the same arguments."]


@pytest.mark.parametrize("name", NAMES)
def test_other_arguments_are_no_loop(name: str) -> None:
    dialect = next(candidate for candidate in formats() if candidate.name == name)
    calls = [ToolCall("search", {"query": str(number)}, "", valid=True, range=Range(0, 0)) for number in range(20)]
    segmentation = segment(dialect.write_calls(calls), name, tools=TOOLS)
    assert not [diagnostic for diagnostic in segmentation.diagnostics if diagnostic.rule.code == "T408"]


def test_the_same_call_in_turns_of_its_own_is_no_loop() -> None:
    call = '<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call><|im_end|>\n'
    result = "<|im_start|>tool\n<tool_response>\n1\n</tool_response><|im_end|>\n"
    assert not [
        diagnostic
        for diagnostic in segment((call + result) * 5, "hermes").diagnostics
        if diagnostic.rule.code == "T408"
    ]
    assert [
        diagnostic.rule.code for diagnostic in segment(call * 5, "hermes").diagnostics if diagnostic.rule.code == "T408"
    ] == ["T408"]


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
    diagnostics = segment(text, name).diagnostics
    assert [diagnostic.rule.code for diagnostic in diagnostics] == [code]
    assert f" {count} times in a row" in diagnostics[0].fault.message
    assert (diagnostics[0].range.start, diagnostics[0].range.end) == (2, len(text))
    pieces = Segmenter(name)
    for character in text:
        pieces.feed(character)
    pieces.close()
    assert pieces.segmentation(text).diagnostics == diagnostics


@pytest.mark.parametrize("text", ["<b><b><b>", "a <|x|> b <|x|> c <|x|>", "- <s>old</s>\n- <s>old</s>\n- <s>old</s>"])
def test_other_markup_is_no_run(text: str) -> None:
    assert not [
        diagnostic for diagnostic in segment(text, "hermes").diagnostics if "in a row" in diagnostic.fault.message
    ]
