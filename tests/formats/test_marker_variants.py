"""Special tokens whose bars or joints are others, or several: each is read or reported, in every format with bars."""

import re
from collections.abc import Iterator
from itertools import permutations

import pytest

from weaklink.inspector.formats.detection import detect_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.markers import markers_of
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.model import ToolCall
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

CALL = ToolCall("f", {"city": "Oslo"}, "", valid=True, range=Range(0, 0))
BARS = ("||", "｜", "｜｜", "‖", "¦", "│", "∣")


def written() -> Iterator[tuple[Format, str]]:
    for known in formats():
        text = known.write_calls([CALL]) if known.expresses(CALL) else ""
        if text.startswith("<") and {"|", "｜"} & {*text.partition(">")[0]}:
            yield known, text


CASES = [
    (known.name, re.sub("[|｜]", bars, text))
    for known, text in written()
    for bars in (*BARS, "|")
    if bars not in text
]  # fmt: skip
CASES += [
    (known.name, text.translate(str.maketrans(of, to)))
    for known, text in written()
    for of, to in ("▁_", "_▁")
    if of in text and "tool" in text  # gigachat3's opener is the token that separates any messages
]


@pytest.mark.parametrize(("format", "text"), CASES)
def test_other_bars_are_read_or_reported(format: str, text: str) -> None:
    segmentation = segment(text, format)
    assert segmentation.calls or segmentation.diagnostics
    near = [diagnostic for diagnostic in segmentation.diagnostics if diagnostic.rule.code == "F314"]
    assert len(near) <= 1, "one cause, one diagnostic"


def test_many_formats_have_bars() -> None:
    assert {"cohere", "deepseek_v3", "deepseek_v4", "gemma4", "k2_horizon", "kimi_k2", "step3"} <= {
        name for name, _ in CASES
    }


@pytest.mark.parametrize("bars", ["|", "｜｜", "‖"])
@pytest.mark.parametrize("name", ["deepseek_v3", "deepseek_v31", "deepseek_v32", "deepseek_v4"])
def test_other_bars_are_reported_without_a_model(name: str, bars: str) -> None:
    text = find_format(name).write_calls([CALL]).replace("｜", bars)
    assert detect_format(text).confidence > 0.5
    assert segment(text).diagnostics


@pytest.mark.parametrize(("own", "other"), [*permutations(("deepseek_v32", "deepseek_v4", "deepseek_v41"), 2)])
def test_the_block_of_another_version_is_reported_once(own: str, other: str) -> None:
    text = find_format(other).write_calls([CALL])
    segmentation = segment(text, own)
    assert [call.arguments for call in segmentation.calls] == [CALL.arguments]
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["F315"]


@pytest.mark.parametrize("name", ["hy_v3", "claude", "minimax_m2", "deepseek_v4", "granite", "kimi_k2"])
def test_a_stream_that_ends_after_what_opens_calls_is_reported(name: str) -> None:
    opener = find_format(name).write_calls([CALL]).partition(">")[0] + ">"
    segmentation = segment(f"I look it up.\n{opener}", name)
    assert not segmentation.calls
    assert any(opener in diagnostic.fault.message for diagnostic in segmentation.diagnostics)


@pytest.mark.parametrize("sentence", ["The call begins with <tool_calls>", "I mean `<tool_calls>`"])
def test_a_sentence_that_ends_with_what_opens_calls_is_no_call(sentence: str) -> None:
    assert not segment(sentence, "hy_v3").diagnostics


IN_CAPITALS = [
    (known.name, text.replace(opener, opener.upper(), 1))
    for known in formats()
    if known.expresses(CALL)
    for text in [known.write_calls([CALL])]
    for opener in markers_of(known).call_openers
    if text.startswith(opener) and opener[0] in "<[]" and opener.upper() != opener
]


@pytest.mark.parametrize(("format", "text"), IN_CAPITALS)
def test_an_opener_in_capitals_is_read_or_reported(format: str, text: str) -> None:
    segmentation = segment(text, format)
    assert segmentation.calls or segmentation.diagnostics


def test_an_opener_in_capitals_is_compared_with_the_one_that_is_meant() -> None:
    text = find_format("kimi_k3").write_calls([CALL])
    segmentation = segment(text.replace("<|open|>", "<|OPEN|>"), "kimi_k3")
    near = [diagnostic.fault.message for diagnostic in segmentation.diagnostics if diagnostic.rule.code == "F314"]
    assert [message.partition(",")[0] for message in near] == [
        "`<|OPEN|>tools<|sep|>` is nearly `<|open|>tools<|sep|>`"
    ]


@pytest.mark.parametrize(
    ("format", "text", "cut"),
    [
        ("functionary", "all\nI look.>>>get_wea", ">>>get_wea"),
        ("functionary", "I look.<function=get_wea", "<function=get_wea"),
        ("claude", 'I look.\n<invoke name="get_wea', '<invoke name="get_wea'),
        ("pythonic", "[get_weather(ci", "[get_weather(ci"),
    ],
)
def test_a_calls_header_that_the_stream_cuts_off_is_reported(format: str, text: str, cut: str) -> None:
    segmentation = segment(text, format)
    assert [(diagnostic.rule.code, diagnostic.fault.range.of(text)) for diagnostic in segmentation.diagnostics] == [
        ("F314", cut)
    ]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("functionary", "all\nWrite a >>> b"),
        ("functionary", "all\nThe line `>>>f"),
        ("claude", "Use <invoke> and name= here"),
        ("pythonic", "[a list] of f(x)"),
    ],
)
def test_words_that_only_look_like_a_header_are_no_fault(format: str, text: str) -> None:
    assert not segment(text, format).diagnostics
