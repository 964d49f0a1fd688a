"""The times of answers: the longest gap, found piece by piece, and long answers gone through once."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunks, Generation, Part, Role, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect import timing as timing_view
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.timing import answer_times, are_cheap_to_compute, longest_gap, timing
from weaklink.ui.views.styled_text import plain

TIMES = st.lists(st.none() | st.integers(0, 40).map(lambda tenths: tenths / 10), min_size=1, max_size=12)


def chunked(times: Sequence[float | None], first: int = 0) -> Part:
    ends, sequences = tuple(range(1, len(times) + 1)), tuple(range(first, first + len(times)))
    return Part("text", "x" * len(times), Chunks(ends, sequences, tuple(times)))


def answered(*answers: Sequence[float | None]) -> Trace:
    asked = Turn(Role.USER, (Part("text", "go"),))
    return Trace((asked, *(Turn(Role.ASSISTANT, (chunked(answer),), generation=Generation()) for answer in answers)))


def lines(trace: Trace, *, gone_through: bool) -> list[str]:
    dissection = Dissection(trace, inspect_trace(trace, format="hermes"))
    shown = timing(dissection, answer_times(trace) if gone_through else None)
    return [plain(shown.line(index, 100)) for index in range(shown.count)]


@given(TIMES, st.integers(1, 5))
def test_the_longest_gap_is_found_however_the_times_are_cut_into_pieces(times: list[float | None], piece: int) -> None:
    part = chunked(times, first=7)
    assert part.chunks is not None
    gaps = enumerate(pairwise(times), 8)
    known = [(after - before, number) for number, (before, after) in gaps if before is not None and after is not None]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(timing_view, "_PIECE", piece)
        assert longest_gap(part.chunks) == max(known, default=None)


@given(st.lists(TIMES, max_size=4))
def test_answers_that_were_gone_through_once_are_told_as_those_that_are_looked_at(
    answers: list[list[float | None]],
) -> None:
    trace = answered(*answers)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(timing_view, "_LONG", 3)
        assert lines(trace, gone_through=True) == lines(trace, gone_through=False)
        result = answer_times(trace)
        assert result is not None
        assert set(result.long) == {number for number, answer in enumerate(answers, 2) if len(answer) > 3}


def test_nobody_goes_on_looking_where_nobody_waits() -> None:
    trace = answered([0.0, 0.1], [0.2])
    assert answer_times(trace, lambda: True) is None
    assert answer_times(trace, lambda: False) is not None


def test_a_trace_is_gone_through_at_once_where_it_has_few_turns_and_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert are_cheap_to_compute(answered([0.0] * 40))
    assert not are_cheap_to_compute(answered(*[[0.0]] * 201))
    monkeypatch.setattr(timing_view, "_LONG", 39)
    assert not are_cheap_to_compute(answered([0.0] * 40))


def test_the_line_of_the_answer_that_is_looked_at_is_the_nearest() -> None:
    trace = answered([0.0], [0.1], [0.2])
    shown = timing(Dissection(trace, inspect_trace(trace, format="hermes")))
    collected = [shown.nearest(Location(turn, "text", Range(1, 1))) for turn in range(1, 6)]
    assert collected == [None, 0, 1, 2, None]
