"""The seven invariants of the core, over every registered format."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import in_the_gate
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.api.parser import ApiOrText
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.model import Json, Role, SpanKind, ToolCall
from weaklink.inspector.rules.conversation import REPEATED_CALL
from weaklink.inspector.segmentation import Segmentation, Segmenter, segment
from weaklink.inspector.segmenter.events import ParseEvent, SpanClosed, SpanExtended, SpanOpened
from weaklink.inspector.segmenter.machine import Machine

pytestmark = pytest.mark.invariants

FRAGMENTS = (
    "<", "</", "<t", "<tool_", "tool_call>", "[", "[/", "<|", "|>", "{", "}", "]", ":", ",", '"', "'", "\\", "\n", " ",
    '{"name": "f", "arguments": {', '"a": "', '"}}', "'name': 'f'", "True", "null", "-1.5e3", "1e999", "a", "name",
    "😀", "é", "\ud83d", "\udc80", "\x00", "\x1b[31m", "\u2028", "“", "\\u00e9", "\\ud800",
)  # fmt: skip
MORE_FRAGMENTS = (
    "<|im_start|>system\n", "<|im_start|>tool\n", "<|start_header_id|>user<|end_header_id|>\n\n", "Goal:",
)  # fmt: skip
EXAMPLES = (
    make_call("f", {}), make_call("get_weather", {"city": "Tromsø", "days": 2}), make_call("f.g", {"a": [{"b": "]}"}]}),
)  # fmt: skip


def markers_of(name: str) -> list[str]:
    """Every marker of a format, where a table of markers drives it."""
    parser = find_format(name).new_parser()
    parser = parser.text_side if isinstance(parser, ApiOrText) else parser
    return sorted(parser.markers) if isinstance(parser, Machine) else []


@cache
def hostile(name: str, most: int = 40) -> st.SearchStrategy[str]:
    """Texts of at most `most` of a format's markers and calls, whole and cut, and all that is lethal in JSON."""
    dialect, markers = find_format(name), markers_of(name)
    written = [dialect.write_calls([call]) for call in EXAMPLES if dialect.expresses(call)]
    halves = [whole_text[: len(whole_text) // 2] for whole_text in (*markers, *written)]
    mentioned = [
        mention.format(marker) for marker in markers for mention in ("Write `{}` first", "the tag {} and then.")
    ]
    pieces = [*markers, *written, *halves, *mentioned, *FRAGMENTS, *MORE_FRAGMENTS]
    return st.lists(st.sampled_from(pieces) | st.text(max_size=3), max_size=most).map("".join)


PROMPTS = st.sampled_from(
    (
        "",
        "<think>\n",
        "<|im_start|>assistant\n",
        "<|im_start|>assistant\n<think>\n",
        "<|im_start|>tool\n",
        "[THINK]",
        ">>>",
        "<|recipient|>",
        "<|start|>assistant",
        "<|channel|>",
        "<｜Assistant｜>",
        "<｜tool▁calls▁begin｜>",
    )
)
# There are many formats: before landing, each gets fewer texts than the readers that they share.
FEW = in_the_gate(12)
FORMATS = pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)


def cut(text: str, places: Sequence[int]) -> list[str]:
    """`text` in pieces, cut at these places."""
    edges = [0, *sorted(min(position, len(text)) for position in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def read_in_pieces(dialect: Format, pieces: Sequence[str], prompt: str, role: Role) -> Segmentation:
    segmenter = Segmenter(dialect, prompt=prompt, role=role)
    for piece in pieces:
        segmenter.feed(piece)
    segmenter.close()
    return segmenter.segmentation("".join(pieces))


@FORMATS
@FEW
@given(prompt=PROMPTS, role=st.sampled_from(Role), data=st.data())
def test_every_text_is_read_as_the_invariants_say(
    dialect: Format, prompt: str, role: Role, data: st.DataObject
) -> None:
    text = data.draw(hostile(dialect.name))  # takes longer than to read it, so all that reads it does so here
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    whole = read_in_pieces(dialect, [text], prompt, role)
    check_that_spans_tile(text, whole)
    assert read_in_pieces(dialect, cut(text, places), prompt, role) == whole
    assert read_in_pieces(dialect, list(text), prompt, role) == whole
    check_what_is_taken(dialect, cut(text, places), prompt, role)
    check_what_is_taken(dialect, list(text), prompt, role)
    check_what_is_held_back(dialect, text, prompt)
    check_diagnostics(text, segment(text, dialect.name))
    if isinstance(dialect.new_parser(), Machine):  # the brackets and keys of an API's JSON are markup too
        check_markup(dialect, text, segment(text, dialect.name, prompt=prompt))


def check_that_spans_tile(text: str, segmentation: Segmentation) -> None:
    """Nothing raises, and the spans tile the text."""
    assert "".join(span.range.of(text) for span in segmentation.spans) == text
    assert all(first.range.end == two.range.start for first, two in pairwise(segmentation.spans))
    for span in segmentation.spans:
        assert span.range.covers(span.inner)
        assert all(span.inner.covers(child.range) for child in span.children)


def check_what_is_taken(dialect: Format, pieces: Sequence[str], prompt: str, role: Role) -> None:
    """What `take` returns in time is never withdrawn: the whole text has it too, and all of it at the end."""
    text = "".join(pieces)
    final = read_in_pieces(dialect, [text], prompt, role)
    known = Counter(map(untried, final.diagnostics))
    segmenter = Segmenter(dialect, prompt=prompt, role=role)
    calls: list[ToolCall] = []
    told: Counter[Diagnostic] = Counter()
    for piece in pieces:
        segmenter.feed(piece)
        new_calls, diagnostics = segmenter.take()
        calls += new_calls
        told += Counter(map(untried, diagnostics))
        assert calls == list(final.calls[: len(calls)])
        assert told <= known, "a diagnostic that was told is not in the result"
    segmenter.close()
    new_calls, diagnostics = segmenter.take()
    assert [*calls, *new_calls] == list(final.calls)
    told += Counter(map(untried, diagnostics))
    assert told == Counter(
        {diagnostic: count for diagnostic, count in known.items() if diagnostic.rule is not REPEATED_CALL}
    )


@FORMATS
def test_a_fault_of_a_marker_that_prose_mentions_is_not_told_before_it_is_certain(dialect: Format) -> None:
    for marker in markers_of(dialect.name):
        check_what_is_taken(dialect, list(f"Write `{marker}` first."), "", Role.ASSISTANT)
        check_what_is_taken(dialect, list(marker * 4), "", Role.ASSISTANT)


def untried(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic without its fix and hint: fixes are tried, and dropped, only on a whole text."""
    return replace(diagnostic, fault=replace(diagnostic.fault, fix=None, hint=None))


def check_what_is_held_back(dialect: Format, text: str, prompt: str) -> None:
    """No more than a marker is held back, unless a closer is in doubt."""
    parser = dialect.new_parser(prompt)
    told: list[ParseEvent] = []
    for character in text:
        told += parser.feed(character)
        assert not isinstance(parser, Machine) or parser.held < parser.longest_marker or parser.is_ambiguous
    told += parser.close()
    opened = [event for event in told if isinstance(event, SpanOpened)]
    closed = [event for event in told if isinstance(event, SpanClosed)]
    assert len(opened) == len(closed)
    assert all(event.end <= len(text) for event in told if isinstance(event, SpanExtended))


def check_diagnostics(text: str, segmentation: Segmentation) -> None:
    """Every recovery is a diagnostic with a place."""
    for diagnostic in segmentation.diagnostics:
        assert 0 <= diagnostic.range.start <= diagnostic.range.end <= len(text)
        assert len(diagnostic.range)
        assert diagnostic.fault.message
    for call in segmentation.calls:
        span = segmentation.spans[call.span]
        # A fault of at least three spans in a row is one diagnostic of them all.
        inside = [
            diagnostic
            for diagnostic in segmentation.diagnostics
            if span.range.covers(diagnostic.range) or diagnostic.range.covers(span.range)
        ]
        assert span.range.covers(call.range)
        assert call.valid or any(diagnostic.rule.code[0] in "JF" for diagnostic in inside)
        assert not (call.valid and call.recovered)
        if call.decoded is not None:
            assert call.decoded.text == call.raw_arguments
            assert all(literal.range.of(text) == literal.raw for literal in call.decoded.literals)
            assert call.arguments_range == call.decoded.range
        elif call.arguments_range is not None:
            assert call.arguments_range.of(text) == call.raw_arguments
    for span in segmentation.spans:
        assert span.closed or any(
            diagnostic.rule.code in {"F301", "F306", "F312"} for diagnostic in segmentation.diagnostics
        )


def check_markup(dialect: Format, text: str, segmentation: Segmentation) -> None:
    """Markup holds nothing but markers."""
    for span in segmentation.spans:
        if span.kind is SpanKind.MARKUP and span.label != "turn_header":
            assert not without_markers(dialect.name).sub("", span.range.of(text)).strip()


HOSTILE = hostile("hermes", 8)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | HOSTILE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | HOSTILE, inner, max_size=3),
    max_leaves=6,
)


@FORMATS
@FEW
@example(name=":", arguments={})
@example(name="{", arguments={"": "<tool_response>"})
@example(name="0", arguments={"0=": None, "=": 1, "a=b": "x"})
@given(name=st.text(min_size=1), arguments=st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=4))
def test_what_is_written_reads_back(dialect: Format, name: str, arguments: dict[str, Json]) -> None:
    call = make_call(name, arguments)
    if not dialect.expresses(call):
        return
    text = dialect.write_calls([call, call])
    calls = segment(text, dialect.name).calls
    assert [(call_.name, call_.arguments, call_.valid) for call_ in calls] == [(name, arguments, True)] * 2


@in_the_gate(100)
@given(value=JSON_VALUES, indent=st.none() | st.integers(0, 3), ascii_only=st.booleans())
def test_valid_json_reads_as_the_standard_library_reads_it(value: Json, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    reading = read_json(text)
    assert reading.strict
    assert reading.nodes[0].value() == json.loads(text)


@cache
def without_markers(name: str) -> re.Pattern[str]:
    parser = find_format(name).new_parser()
    assert isinstance(parser, Machine)
    return re.compile("|".join(map(re.escape, sorted(parser.markers, key=lambda marker: (-len(marker), marker)))))
