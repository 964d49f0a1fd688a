"""Hostile text: nothing that a view gives can be obeyed by a terminal."""

import sys
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate, one_in
from tests.strategies import texts, traces
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.segmentation import segment
from weaklink.ui.cli.segment import segmented_lines
from weaklink.ui.views.diagnostic import diagnostic_lines
from weaklink.ui.views.minimap import minimap
from weaklink.ui.views.styled_text import Line, Run, Style, plain, visible, visible_line, visible_runs
from weaklink.ui.views.trace import trace_lines

INVISIBLE = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
EVERY_CODE_POINT = "".join(map(chr, range(sys.maxunicode + 1)))
SELECTORS = frozenset((*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))


def is_harmless(text: str) -> bool:
    return all(
        unicodedata.category(character) not in INVISIBLE and ord(character) not in SELECTORS for character in set(text)
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain é 東 😀", "plain é 東 😀"),
        ("\x1b]8;;http://x\x07", "␛]8;;http://x␇"),
        ("\x00\r\x7f", "␀␍␡"),
        ("\x9b31m\x85", "\\u009b31m\\u0085"),
        ("a\u202eb\u2066\u200f", "a\\u202eb\\u2066\\u200f"),
        ("\u200b\ufeff\u2028\u00ad", "\\u200b\\ufeff\\u2028\\u00ad"),
        ("\udcff\ud83d", "\\xff\\ud83d"),
        ("\U000e0041", "\\U000e0041"),
        ("👩\u200d🚀", "👩\\u200d🚀"),
        ("❤\ufe0f\U000e0100", "❤\\ufe0f\\U000e0100"),
        ("\u3164\u115f\u034f\u2800", "\\u3164\\u115f\\u034f\\u2800"),
        ("می\u200cخواهم", "می\\u200cخواهم"),
    ],
)
def test_what_cannot_be_seen_is_written_out(raw: str, shown: str) -> None:
    assert visible(raw) == visible_line(raw) == plain(visible_runs(raw)) == shown


@pytest.mark.campaign
def test_no_character_of_an_invisible_class_is_left() -> None:
    """The gate takes the planes that have characters (0 to 3, and the beginning of 14) and one in 16 of the others."""
    blocks = [EVERY_CODE_POINT[start : start + 4096] for start in range(0, len(EVERY_CODE_POINT), 4096)]
    assigned = [*blocks[:0x40], blocks[0xE0]]
    for block in (*assigned, *one_in(16, (*blocks[0x40:0xE0], *blocks[0xE1:]))):
        assert is_harmless(visible(block).replace("\n", "").replace("\t", ""))
        assert is_harmless(visible_line(block))
        assert is_harmless(plain(visible_runs(block)))


def test_line_feeds_and_tabs_stay_or_become_glyphs_on_one_line() -> None:
    assert visible("a\n\tb") == "a\n\tb"
    assert visible_line("a\n\tb") == plain(visible_runs("a\n\tb")) == "a⏎→   b"


def test_what_stands_for_something_else_is_styled_so() -> None:
    assert visible_runs("a\x1bb", Style.TEXT) == (Run("a", Style.TEXT), Run("␛", Style.CONTROL), Run("b", Style.TEXT))


@given(text=st.text() | texts())
def test_any_text_becomes_harmless(text: str) -> None:
    assert is_harmless(visible(text).replace("\n", "").replace("\t", ""))
    assert is_harmless(visible_line(text))
    assert plain(visible_runs(text)) == visible_line(text)


@given(text=texts(max_size=30), width=st.integers(40, 100), full=st.booleans())
def test_any_segmented_text_is_shown_harmlessly(text: str, width: int, full: bool) -> None:
    segmentation = segment(text)
    lines = list(segmented_lines(segmentation, name=text[:20], width=width, full=full))
    for diagnostic in segmentation.diagnostics:
        lines += diagnostic_lines(diagnostic, text, width=width)
    assert_harmless(lines)


@given(text=texts(max_size=20), name=texts(), width=st.integers(40, 100))
def test_any_trace_is_shown_harmlessly(text: str, name: str, width: int) -> None:
    turns = (Turn(Role.USER, (Part("text", name),)), Turn(Role.ASSISTANT, (Part("text", text),)))
    trace = Trace(turns, name=name, model=name)
    inspection = inspect_trace(trace)
    assert_harmless(trace_lines(trace, inspection, id=1, width=width))
    assert_harmless([minimap(trace, inspection, width)])


@in_the_gate(20, most=200)  # each draws a whole trace
@given(trace=traces(), width=st.integers(40, 140), full=st.booleans())
def test_any_recorded_trace_is_shown_harmlessly(trace: Trace, width: int, full: bool) -> None:
    inspection = inspect_trace(trace, format="hermes")
    assert_harmless(trace_lines(trace, inspection, id=1, width=width, full=full))


def assert_harmless(lines: Iterable[Line]) -> None:
    for line in lines:
        assert is_harmless(plain(line)), repr(plain(line))
