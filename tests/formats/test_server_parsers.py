"""What servers' parsers return for a text, by the measured table: its sentences, and no sentence without a row."""

import pytest
from hypothesis import given

from tests.examples import in_the_gate
from tests.mutations import mutated_texts
from tests.strategies import texts
from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.server_parsers import (
    Prediction,
    formats_of_parser,
    predictions,
    sentences,
    text_kind,
    wrong_predictions,
)
from weaklink.inspector.segmentation import Segmentation, segment

GOOD = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
BAD = "<tool_call>\n{'name': 'get_time', 'arguments': {'zone': 'UTC'}}\n</tool_call>"

CODER = "<function=get_time>\n</function>"
M3 = "]<]minimax[>["
PADDED = (
    f'{M3}<tool_call>\n{M3}<invoke name=" add_note">{M3}<text>{M3}</text>{M3}<tags>{M3}<item>a{M3}</item>{M3}</tags>'
    f'{M3}</invoke>\n{M3}<invoke name="get_time">{M3}</invoke>\n{M3}</tool_call>'
)


def _found(text: str, format: str) -> tuple[Segmentation, dict[str, Prediction]]:
    segmentation = segment(text, format)
    made = predictions(
        text,
        format,
        segmentation.spans,
        segmentation.calls,
        [diagnostic.fault for diagnostic in segmentation.diagnostics],
    )
    return segmentation, {
        f"{prediction.parser.server}:{prediction.parser.name}:{prediction.parser.reasoning or ''}": prediction
        for prediction in made
    }


def test_one_bad_call_of_three_loses_all_with_hermes_and_itself_with_qwen25() -> None:
    _, made = _found(f"{GOOD}\n{BAD}\n{GOOD}", "hermes")
    assert [name for name, _ in made["vLLM:hermes:"].calls] == []
    assert sentences([made["vLLM:hermes:"]])[0].startswith("The parser of vLLM 0.33.0 (`hermes`) returns no call here")
    assert "J103" in made["vLLM:hermes:"].reason
    assert [name for name, _ in made["SGLang:qwen25:"].calls] == ["get_weather", "get_weather"]


def test_parsers_that_do_the_same_share_a_sentence() -> None:
    text = f"{GOOD}\n{BAD}\n{GOOD}"
    inspection, _ = _found(text, "hermes")
    faults = [diagnostic.fault for diagnostic in inspection.diagnostics]
    wrong = wrong_predictions(text, "hermes", inspection.spans, inspection.calls, faults)
    said = sentences(wrong)
    assert len(said) < len(wrong)
    assert len({prediction.behaviour for prediction in wrong}) == len(said)
    assert all(sum(f"`{prediction.parser.name}`" in sentence for sentence in said) for prediction in wrong)
    assert sentences([]) == []


def test_a_call_in_open_reasoning_is_what_the_reasoning_parser_makes_of_it() -> None:
    _, made = _found(f"<think>\nI look it up. {GOOD}\n{GOOD}", "hermes")
    assert made["vLLM:hermes:qwen3"].calls == (("get_weather", '{"city": "Oslo"}'),) * 2
    assert all(prediction.parser.reasoning for prediction in made.values())
    _, kept = _found('<think>I look. <longcat_tool_call>{"name": "f", "arguments": {}}</longcat_tool_call>', "longcat")
    assert kept["vLLM:longcat:deepseek_r1"].calls == ()


def test_a_draft_in_closed_reasoning_is_returned_where_the_reasoning_ends_at_it() -> None:
    text = f"<think>Maybe {GOOD} no.</think>\nHello."
    inspection, made = _found(text, "hermes")
    assert made["vLLM:hermes:qwen3"].calls == (("get_weather", None),)
    assert made["vLLM:hermes:holo2"].calls == ()
    assert "those drafted in the reasoning" in made["vLLM:hermes:qwen3"].behaviour
    faults = [diagnostic.fault for diagnostic in inspection.diagnostics]
    assert [
        kind.drafts for kind in [text_kind(text, "hermes", inspection.spans, inspection.calls, faults)] if kind
    ] == [("get_weather",)]


def test_reasoning_that_the_prompt_opened_is_reasoning() -> None:
    _, made = _found(f"I look it up.</think>\n\n{GOOD}", "hermes")
    assert all(prediction.parser.reasoning for prediction in made.values())
    assert made["vLLM:hermes:qwen3"].calls == (("get_weather", '{"city": "Oslo"}'),)


def test_one_fault_decides_for_a_text_with_several() -> None:
    text = "<tool_call>\n{'name': 'get_time', \"arguments\": {\"zone\": True,}}\n<tool_call>\n"
    inspection, made = _found(text, "hermes")
    assert {diagnostic.rule.code for diagnostic in inspection.diagnostics} == {"F301", "J103", "J104", "J105"}
    assert made["vLLM:hermes:"].calls == ()
    assert "J103 with or without other faults" in made["vLLM:hermes:"].reason


def test_a_healthy_call_of_mistral_is_returned() -> None:
    text = '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}'
    segmentation, made = _found(text, "mistral")
    assert made["vLLM:mistral:"].calls == (("get_weather", '{"city": "Oslo"}'),)
    assert wrong_predictions(text, "mistral", segmentation.spans, segmentation.calls, ()) == ()


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("hermes", f"[THINK]I look. {GOOD}"),
        ("hermes", f"{GOOD}<|im_end|>\n<|im_start|>user\n"),
        ("hermes", GOOD.replace("<tool_call>", "<tool_cal>")),
        ("react", "Action: f\nAction Input: {}"),
        ("qwen3_coder", f"<think>I look. <tool_call>\n{CODER}\n</tool_call>\n{CODER}\n</tool_call>"),
        ("minimax_m3", PADDED),
        ("glm45", "<tool_call>\nf\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>"),
        ("hermes", '<tool_call>\n{"name": "get_weather", "city": "Oslo"}\n</tool_call>'),
    ],
)
def test_nothing_is_said_of_what_was_not_measured(format: str, text: str) -> None:
    assert _found(text, format)[1] == {}


def test_a_parser_is_named_with_or_without_its_server() -> None:
    assert formats_of_parser("sglang:qwen25") == formats_of_parser("qwen25") == ("hermes", "qwen")
    assert formats_of_parser("kimi_k2") == ("kimi_k2",)
    with pytest.raises(UnknownFormatError, match="vllm:hermes"):
        formats_of_parser("vllm:no_such")


@pytest.mark.invariants
@in_the_gate(30, most=100)
@given(text=texts())
def test_no_text_makes_a_prediction_fail(text: str) -> None:
    for format in ("hermes", "mistral", "pythonic", "glm45"):
        for prediction in _found(text, format)[1].values():
            assert sentences([prediction])
            assert prediction.reason


def test_no_damaged_output_makes_a_prediction_fail() -> None:
    for text in mutated_texts(7, 150):
        for prediction in _found(text.text, text.format)[1].values():
            assert sentences([prediction])
            assert prediction.reason
