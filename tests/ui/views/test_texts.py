"""Cells, rows, folding, words and tables."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, SpanKind, Trace, Turn, Usage
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range
from weaklink.ui.views.marked_text import Folding, caret_place, cut_rows, shown_ranges
from weaklink.ui.views.status import GLYPHS
from weaklink.ui.views.styled_text import (
    Run,
    Style,
    cell_width,
    clipped,
    counted,
    fitting,
    folded_middle,
    padded,
    plain,
    quoted,
    right_aligned,
    style_of,
    table_lines,
    visible_line,
    width_of,
    wrapped,
    wrapped_words,
)
from weaklink.ui.views.trace import trace_lines

ROOM = 20


@pytest.mark.parametrize(("text", "cells"), [("", 0), ("abc", 3), ("東京", 4), ("e\u0301", 1), ("😀", 2), ("é", 1)])
def test_width_counts_cells(text: str, cells: int) -> None:
    assert cell_width(text) == cells


@given(text=texts(), room=st.integers(0, 30))
def test_what_fits_fits_and_the_next_does_not(text: str, room: int) -> None:
    shown = visible_line(text)
    end = fitting(shown, room)
    assert cell_width(shown[:end]) <= room
    assert end == len(shown) or cell_width(shown[: end + 1]) > room


@given(text=texts(max_size=40), room=st.integers(4, 30))
def test_wrapped_words_keep_every_word(text: str, room: int) -> None:
    shown = visible_line(text)
    rows = list(wrapped_words(shown, room))
    assert all(cell_width(row) <= room for row in rows)
    assert "".join(rows).replace(" ", "") == shown.replace(" ", "")


@given(text=texts(max_size=40), room=st.integers(4, 30))
def test_rows_hold_every_character_but_line_feeds(text: str, room: int) -> None:
    rows = list(cut_rows(text, Range(0, len(text)), room))
    assert "".join(row.of(text) for row in rows) == text.replace("\n", "")
    assert all(cell_width(visible_line(row.of(text))) <= room or len(row) == 1 for row in rows)


@given(
    text=st.lists(st.sampled_from(["line\n", "\n", "word ", "x" * 50, "東"]), max_size=80).map("".join),
    faults=st.lists(st.integers(0, 2_000), max_size=4),
)
def test_folding_never_leaves_out_a_fault(text: str, faults: list[int]) -> None:
    if not text:
        return
    places = [Range(start, min(start + 3, len(text))) for start in sorted(faults) if start < len(text)]
    shown = shown_ranges(text, Range(0, len(text)), places, ROOM, Folding(3, 2))
    assert (shown[0].start, shown[-1].end) == (0, len(text))
    assert all(first.end < two.start for first, two in pairwise(shown))
    assert all(any(piece.start <= range_.start < piece.end for piece in shown) for range_ in places)


def test_folding_bounds_what_is_shown_of_a_long_text() -> None:
    text = "line\n" * 100_000
    (head, tail) = shown_ranges(text, Range(0, len(text)), [], ROOM, Folding(3, 2))
    assert (head.of(text), tail.of(text)) == ("line\n" * 3, "line\n" * 2)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(Range(2, 4), (6, 8)), (Range(2, 2), (6, 1)), (Range(9, 20), (19, 1)), (Range(0, 9), (0, 19))],
)
def test_carets_stand_under_what_is_seen(fault: Range, expected: tuple[int, int]) -> None:
    text = "東\t\t\tbcdefg"  # 2 cells, three times 4, six letters
    assert caret_place(text, Range(0, 10), fault) == expected


@given(text=texts(max_size=20), width=st.integers(1, 30))
def test_lines_are_cut_and_filled_to_a_width(text: str, width: int) -> None:
    line = (Run(visible_line(text)), Run("end", Style.DIM))
    assert width_of(clipped(line, width)) <= width
    assert width_of(padded(line, width)) == width_of(right_aligned(line, width))
    assert width - 1 <= width_of(padded(line, width)) <= width


def test_sentences_are_wrapped_with_their_styles() -> None:
    line = (Run("error: ", Style.ERROR), *quoted("a `quoted word` in the middle"))
    rows = list(wrapped(line, 20, indent=2))
    assert [plain(row) for row in rows] == ["error: a `quoted", "  word` in the", "  middle"]
    assert rows[1][1] == Run("word`", Style.KEY)


def test_a_sentence_with_an_odd_backtick_is_left_as_it_is() -> None:
    assert quoted("a ` b") == (Run("a ` b"),)


def test_long_values_lose_their_middle_and_say_how_much() -> None:
    folded = folded_middle("a" * 500 + "b" * 500, 60)
    left_out = 1_000 - folded.count("a") - folded.count("b")
    assert f"…{left_out:,} more…" in folded
    assert len(folded) <= 60
    assert folded_middle("short", 60) == "short"


@pytest.mark.parametrize(("number", "said"), [(0, "0 calls"), (1, "1 call"), (1_204, "1,204 calls")])
def test_numbers_are_said_with_their_noun(number: int, said: str) -> None:
    assert counted(number, "call") == said


def test_tables_line_up_and_the_last_column_goes_on_below() -> None:
    rows = [
        [(Run("1"),), (Run("東"),), (Run("one two three four five six"),)],
        [(Run("10"),), (Run("b"),), (Run("x"),)],
    ]
    shown = [plain(line) for line in table_lines(rows, width=24, heads=("n", "name", "words"), numbers=(0,))]
    assert shown == [
        " n  name  words",
        " 1  東    one two three",
        "          four five six",
        "10  b     x",
    ]


def test_a_table_without_rows_has_no_lines() -> None:
    assert list(table_lines([], width=80)) == []


def test_each_kind_and_severity_has_a_style() -> None:
    assert {style_of(kind).value for kind in SpanKind} == {kind.value for kind in SpanKind}
    assert {style_of(severity).value for severity in Severity} == {severity.value for severity in Severity} == {*GLYPHS}


def test_one_token_is_one_token() -> None:
    turn = Turn(Role.ASSISTANT, (Part("text", "Hi"),), generation=Generation(usage=Usage(output_tokens=1)))
    trace = Trace((turn,))
    lines = map(plain, trace_lines(trace, inspect_trace(trace), id=1, width=80))
    assert "── 1 assistant 1 token ─" in "\n".join(lines)
