"""A marker written twice in a row, in every format: the call is read as meant, and the repetition is reported."""

import re
from collections.abc import Iterator

import pytest

from tests.servers.texts import TOOLS
from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.json_text import write_json
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmentation import Segmentation, segment
from weaklink.ui.cli.files import tool_definitions

MARKER = re.compile(
    r"(?:\]<\]minimax\[>\[)?</?[^<>\n\s]+(?: [^<>\n]*)?>|<\|\"\|>|\[/?[A-Z_]+\]|```json\n?|✿[A-Z]+✿: ?"
    r"|^Action(?: Input)?: ?|>>>\w+| to=[\w.]+|functools|call:\w+",
    re.MULTILINE,
)
CALLS = (make_call("get_weather", {"city": "Oslo"}), make_call("add_note", {"text": "a b", "tags": ["x"]}))
OFFERED = tool_definitions(TOOLS)
HARMLESS = {
    "beam": {"<|call|>"},
    "gigachat3": {"<|message_sep|>"},
    "inkling": {"<|message_model|>", "<|end_message|>"},
    "kimi_k3": {"<|sep|>", "<|close|>"},
}
"""Tokens of which a second one begins or ends nothing, and that no reader counts."""
NESTED = {"]<]minimax[>[<item>", "]<]minimax[>[</item>"}
"""Tags within a value: which of the two is one too many is unknown."""


def _meaning(segmentation: Segmentation) -> list[tuple[str | None, str]]:
    return [(call.name, write_json(call.arguments)) for call in segmentation.calls]


def _texts(dialect: Format) -> Iterator[tuple[str, str, list[tuple[str | None, str]]]]:
    """A marker of written calls, the text with the marker twice, and the calls."""
    for calls in (CALLS[:1], CALLS):
        if all(map(dialect.expresses, calls)):
            text = dialect.write_calls(calls)
            meant = _meaning(segment(text, dialect.name, tools=OFFERED))
            for marker in MARKER.finditer(text):
                yield marker[0], text[: marker.end()] + marker[0] + text[marker.end() :], meant


@pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)
def test_a_marker_that_follows_itself_is_told_and_its_call_is_read(dialect: Format) -> None:
    for marker, text, meant in _texts(dialect):
        if marker in NESTED:
            continue
        segmentation = segment(text, dialect.name, tools=OFFERED)
        repaired = apply_fixes(text, [diagnostic.fault for diagnostic in segmentation.diagnostics], only_safe=False)
        read = [*_meaning(segmentation), *_meaning(segment(repaired, dialect.name, tools=OFFERED))]
        assert all(call in read for call in meant), text
        is_told = any(diagnostic.rule.severity is not Severity.INFO for diagnostic in segmentation.diagnostics)
        assert is_told or marker in HARMLESS.get(dialect.name, ()), text


VALUES = [
    ("glm45", "<tool_call>f<arg_key>a</arg_key><arg_value><arg_value>x</arg_value></arg_value></tool_call>"),
    (
        "qwen3_coder",
        "<tool_call>\n<function=f>\n<parameter=a>\n<parameter=a>\nx\n</parameter>\n</parameter>\n</function>\n</tool_call>",
    ),
    ("gemma4", '<|tool_call>call:f{a:<|"|><|"|>,b:<|"|>x<|"|>}<tool_call|>'),
    ("mistral", '[TOOL_CALLS]f[ARGS]{"a": "[ARGS][ARGS]"}'),
]
"""Texts in which markers follow each other as data: as many end as begin, a string is empty, or contains them."""


@pytest.mark.parametrize(("name", "text"), VALUES, ids=[name for name, _ in VALUES])
def test_markers_that_follow_each_other_as_data_are_no_slip(name: str, text: str) -> None:
    segmentation = segment(text, name)
    assert all(call.valid for call in segmentation.calls)
    assert not [diagnostic for diagnostic in segmentation.diagnostics if diagnostic.rule.severity is Severity.ERROR]


@pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)
def test_ranges_of_a_call_with_a_doubled_marker_are_those_of_the_text(dialect: Format) -> None:
    for _, text, _ in _texts(dialect):
        for call in segment(text, dialect.name).calls:
            if call.name_range is not None:
                assert call.name_range.of(text).strip('"') == call.name, text
            if call.arguments_range is not None and call.decoded is None:
                assert call.arguments_range.of(text) == call.raw_arguments, text


def test_many_markers_in_a_row_are_read_in_one_step() -> None:
    text = "[TOOL_CALLS]f" + "[ARGS]" * 900 + '{"a": 1}'
    assert _meaning(segment(text, "mistral")) == [("f", '{"a": 1}')]
