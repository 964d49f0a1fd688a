"""The times of a trace as a picture: a bar an answer, with the wait for its first chunk and its longest gaps."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from inspector.model import Trace, Turn
from ui.views.amounts import short_duration
from ui.views.dissect.lanes import STALL_S
from ui.views.palette import Style
from ui.views.wording import counted
from ui.web.shapes import Group, Picture, SvgElement

_MOST_TURNS = 200
_ROW, _LEFT, _WIDTH = 22, 90, 820


def timing_picture(trace: Trace) -> Picture | None:
    """A row an answer whose time is known, on one scale; None where no time was kept. A row's key is its turn."""
    rows = list(_answers(trace))[:_MOST_TURNS]
    if not rows:
        return None
    first = min(answer.start for answer in rows)
    whole = max(max(answer.end for answer in rows) - first, 0.001)
    scale = _WIDTH / whole
    groups = tuple(_row(answer, index * _ROW + 4, first, scale) for index, answer in enumerate(rows))
    label = (
        f"{counted(len(rows), 'answer')} in {short_duration(whole)}; light: waiting for the first chunk, marks: stalls"
    )
    return Picture(_LEFT + _WIDTH + 80, len(rows) * _ROW + 8, groups, label)


class _TimedTurn(NamedTuple):
    """An assistant's turn whose times are known, in seconds since 1970."""

    number: int
    turn: Turn
    start: float
    end: float


def _answers(trace: Trace) -> Iterator[_TimedTurn]:
    for number, turn in enumerate(trace.turns, 1):
        generation = turn.generation
        if generation is not None and generation.started is not None and generation.ended is not None:
            yield _TimedTurn(number, turn, generation.started.at_s, generation.ended.at_s)


def _row(answer: _TimedTurn, top: float, first: float, scale: float) -> Group:
    left, took = _LEFT + (answer.start - first) * scale, answer.end - answer.start
    wait = first_chunk_s(answer.turn)
    shapes = [
        SvgElement("text", {"x": 8, "y": top + 13}, Style.DIM, f"turn {answer.number}"),
        _bar(left, top + 2, took * scale, 14, f"{Style.INFO} faint"),
    ]
    if wait is not None:
        shapes.append(_bar(left + wait * scale, top + 2, (took - wait) * scale, 14, Style.INFO))
    shapes += (_bar(left + at * scale, top, gap * scale, 18, Style.WARNING) for at, gap in _stalls(answer.turn))
    shapes.append(SvgElement("text", {"x": left + took * scale + 6, "y": top + 13}, Style.DIM, short_duration(took)))
    said = f"turn {answer.number}: {took:.2f} s" + (f", first chunk after {wait:.3f} s" if wait is not None else "")
    return Group(tuple(shapes), said, str(answer.number))


def _bar(x: float, y: float, width: float, height: float, style: str) -> SvgElement:
    return SvgElement("rect", {"x": round(x, 1), "y": y, "width": round(max(width, 1), 1), "height": height}, style)


def first_chunk_s(turn: Turn) -> float | None:
    """How long the first chunk of a turn took; None without times."""
    known = [part.chunks.offsets_s[0] for part in turn.parts if part.chunks is not None and part.chunks.offsets_s]
    return min((at for at in known if at is not None), default=None)


def _stalls(turn: Turn) -> Iterator[tuple[float, float]]:
    """Where the stream stood still: since when, in seconds from the turn's start, and for how long."""
    for part in turn.parts:
        times = part.chunks.offsets_s if part.chunks is not None else None
        for before, after in pairwise(times or ()):
            if before is not None and after is not None and after - before >= STALL_S:
                yield before, after - before
