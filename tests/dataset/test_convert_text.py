"""Raw outputs rewritten from one format into another: what survives, and what is told where it does not."""

import pytest

from weaklink.inspector.dataset.convert import convert_text
from weaklink.inspector.formats.completion import (
    CompletionCalls,
    CompletionReasoning,
    CompletionText,
    tidy,
    write_completion,
)
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.formats.templates.registry import TEMPLATES
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import ToolCall, ToolDefinition
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

HERMES = find_format("hermes")
ELEVEN = frozenset(TEMPLATES)
MARKERS = (
    "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[/TOOL_RESULTS]", "<|python_tag|>", ">>>all\n", "<function=f>",
    "</function>", "</parameter>", "</invoke>", "```", "```tool_code", "Action: f\nAction Input: x", "\nObservation: y",
    "<|im_end|>", "</s>", "<think>", "</think>", "[f(a=1)]",
)  # fmt: skip
AWKWARD = {
    "quotes": "say \"hi\" and 'hi' and ''' \"\"\"",
    "backslashes": "C:\\new\\table \\\\ \\u0041 \\",
    "lines": "one\ntwo\r\n\tthree\n",
    "brackets": "{[(<>)]} }}]] {{ </ />",
    "emoji": "😀 é ø \u2028",
    "empty": "",
    "spaces": "  both ends  ",
    "looks_like_json": '{"a": 1}',
    "looks_like_a_number": "05",
    "nested": {"empty": {}, "list": [], "deep": [{"a": {}}, [[]], None, True, -1.5, "x"]},
    "number": 7,
    "none": None,
    "yes": True,
} | {f"marker_{index}": f"before {marker} after" for index, marker in enumerate(MARKERS)}
TYPES = {"nested": "object", "number": "integer", "none": "null", "yes": "boolean"}
TOOL = ToolDefinition(
    "do_it", "", {"type": "object", "properties": {name: {"type": TYPES.get(name, "string")} for name in AWKWARD}}
)
FORMATS = pytest.mark.parametrize("target", formats(), ids=lambda form: form.name)


def hermes_call(name: str, arguments: object) -> str:
    return f"<tool_call>\n{write_json({'name': name, 'arguments': arguments})}\n</tool_call>"


@FORMATS
def test_every_awkward_character_survives_from_hermes_into_each_format(target: Format) -> None:
    converted = convert_text(hermes_call("do_it", AWKWARD), HERMES, target, tools=(TOOL,))
    back = segment(converted.text, target.name, prompt=converted.prompt, tools=(TOOL,))
    assert [(call.name, call.valid) for call in back.calls] == [("do_it", True)]
    if target.name in ELEVEN:
        assert back.calls[0].arguments == AWKWARD
        assert converted.dropped == ()
    else:  # some of the further formats cannot tell a number within an object from a text: that is told
        assert (back.calls[0].arguments == AWKWARD) is (converted.dropped == ())


@pytest.mark.one_in(4)
@FORMATS
@pytest.mark.parametrize("key", sorted(AWKWARD))
def test_an_awkward_value_alone_survives(target: Format, key: str) -> None:
    arguments = {key: AWKWARD[key]}
    converted = convert_text(hermes_call("do_it", arguments), HERMES, target, tools=(TOOL,))
    back = segment(converted.text, target.name, prompt=converted.prompt, tools=(TOOL,))
    assert [call.arguments for call in back.calls] == [arguments] or (converted.dropped and target.name not in ELEVEN)


@FORMATS
def test_words_reasoning_and_calls_come_back_from_hermes_over_each_format(target: Format) -> None:
    text = f"<think>\nTwo of them.\n</think>\nI look.\n{hermes_call('f', {'a': 'x'})}\n{hermes_call('g', {})}"
    there = convert_text(text, HERMES, target)
    back = convert_text(there.text, target, HERMES, prompt=there.prompt)
    segmentation = segment(back.text, "hermes")
    assert [(call.name, call.arguments) for call in segmentation.calls] == [("f", {"a": "x"}), ("g", {})]
    told = " ".join(there.dropped)
    assert "I look." in back.text or "The text next to the calls" in told
    assert (
        segmentation.reasoning.strip() == "Two of them." or "reasoning" in told or "The text next to the calls" in told
    )


@FORMATS
def test_words_alone_stay_words(target: Format) -> None:
    converted = convert_text("It is 4 degrees, and clear.", HERMES, target)
    back = segment(converted.text, target.name, prompt=converted.prompt)
    assert back.calls == ()
    assert back.content.strip() == "It is 4 degrees, and clear."


def test_what_is_in_its_own_format_is_written_as_that_format_writes_it() -> None:
    text = f"<think>\nTwo.\n</think>\nI look.\n{hermes_call('f', {'a': 1})}\n{hermes_call('g', {})}"
    assert convert_text(text, HERMES, HERMES).text == text
    assert convert_text("  words \n", HERMES, HERMES).text == "  words \n"


def test_a_repaired_call_is_written_and_told() -> None:
    converted = convert_text('<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>', HERMES, HERMES)
    assert segment(converted.text, "hermes").calls[0].valid
    assert converted.dropped == ("The call at 12..49 was malformed (J104) and was repaired.",)


def test_an_unreadable_call_stays_as_its_text_and_is_told() -> None:
    raw = "<tool_call>\nget the weather\n</tool_call>"
    converted = convert_text(f"Hm.\n{raw}", HERMES, find_format("phi4"))
    assert raw in converted.text
    assert any("could not be parsed" in sentence and "raw text" in sentence for sentence in converted.dropped)


def test_an_id_that_the_target_cannot_hold_is_told() -> None:
    call = ToolCall("f", {}, "", valid=True, range=Range(0, 0), id="abc")
    assert not HERMES.expresses(call)
    text = '<tool_call>\n{"name": "f", "arguments": {}, "id": "abc"}\n</tool_call>'
    read = segment(text, "hermes").calls[0]
    converted = convert_text(text, HERMES, find_format("phi4"))
    assert (read.id is None) or converted.dropped == ("The id `abc`: `phi4` has no ids.",)


def test_an_invented_result_is_left_out_and_told() -> None:
    text = f"{hermes_call('f', {})}\n<tool_response>\n4\n</tool_response>"
    converted = convert_text(text, HERMES, HERMES)
    assert "tool_response" not in converted.text
    assert any(sentence.startswith("The tool result at ") for sentence in converted.dropped)


def test_words_that_quote_the_targets_markers_are_told() -> None:
    text = 'Phi writes functools[{"name": "f", "arguments": {}}] like this.'
    converted = convert_text(text, HERMES, find_format("phi4"))
    assert any("parsed as `phi4`, this text has 1 call instead of 0" in sentence for sentence in converted.dropped)


def test_what_the_prompt_opened_belongs_to_the_text() -> None:
    converted = convert_text("Hm.\n</think>\nYes.", HERMES, HERMES, prompt="<think>\n")
    assert converted.text == "<think>\nHm.\n</think>\nYes."


def test_a_transcript_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one model output"):
        convert_text("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHi", HERMES, HERMES)


def test_white_space_between_pieces_is_the_formats_own() -> None:
    call = CompletionCalls((ToolCall("f", {}, "", valid=True, range=Range(0, 0)),))
    assert tidy([CompletionReasoning("\na\n"), CompletionText("\n\n"), call, CompletionText("\n"), call]) == (
        CompletionReasoning("a"),
        CompletionCalls(call.calls + call.calls),
    )
    assert tidy([CompletionText(" a"), CompletionText("b ")]) == (CompletionText(" ab "),)
    assert tidy([]) == ()


def test_nothing_said_is_nothing_written() -> None:
    assert write_completion((), HERMES).text == ""
