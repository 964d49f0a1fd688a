"""Reads the turns of a running trace that have not ended; faults that may yet be mended are left out."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from inspector.diagnostics import Diagnostic
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace, Turn
from inspector.model.columns import Column, Entries
from inspector.segmentation import Segmenter
from inspector.wire.events import PROMPT_PART
from ui.views.open_turn import OpenTurn

_Entry = TypeVar("_Entry")
_MOST_LATE = 200  # turns that are read although they are many: the others before them wait for the recorder


def open_turns_of(turns: Mapping[int, Turn], trace: Trace, inspection: Inspection) -> tuple[OpenTurn, ...]:
    """Open turns by number, read in the format of their trace, as far as it has one; else in what their text shows."""
    has_answers = any(turn.generation is not None for turn in trace.turns)
    format = inspection.format if has_answers else trace.format
    return tuple(_read(number, turn, replace(trace, format=format)) for number, turn in sorted(turns.items()))


def continued(trace: Trace, inspection: Inspection, begun: Mapping[int, Turn]) -> tuple[Trace, Inspection]:
    """A running trace with the turns that have begun, which follow those that have ended, and what is sure of them.

    Of a wide one whose inspection lags behind, the last of the turns that have ended are read too, each by itself.
    """
    ended = len(trace.turns)
    open_ = {number: turn for number, turn in begun.items() if number > ended}
    read = open_turns_of(_late(trace, inspection) | open_, trace, inspection)
    longer = replace(trace, turns=_joined(trace.turns, tuple(one.turn for one in read if one.number > ended)))
    parts = _joined(inspection.parts, tuple(part for one in read for part in one.parts))
    found = _joined(inspection.diagnostics, tuple(fault for one in read for fault in one.faults))
    return longer, replace(inspection, parts=parts, diagnostics=found)


def _late(trace: Trace, inspection: Inspection) -> dict[int, Turn]:
    """The last turns, by number, of those that a column holds and nobody has inspected."""
    if not isinstance(trace.turns, Column):
        return {}
    known, count = inspection.parts[-1].turn if inspection.parts else 0, len(trace.turns)
    return {number: trace.turns[number - 1] for number in range(max(known, count - _MOST_LATE) + 1, count + 1)}


class _Joined(Column[_Entry]):
    """The entries of a column, and a few more."""

    __slots__ = ("_first", "_more")

    def __init__(self, first: Column[_Entry], more: tuple[_Entry, ...]) -> None:
        self._first, self._more = first, more

    def __len__(self) -> int:
        return len(self._first) + len(self._more)

    def __iter__(self) -> Iterator[_Entry]:
        return chain(self._first, self._more)

    def _at(self, index: int) -> _Entry:
        behind = index - len(self._first)
        return self._first[index] if behind < 0 else self._more[behind]


def _joined(first: Entries[_Entry], more: tuple[_Entry, ...]) -> Entries[_Entry]:
    return (*first, *more) if isinstance(first, tuple) else _Joined(first, more)


def _read(number: int, turn: Turn, trace: Trace) -> OpenTurn:
    found = inspect_trace(replace(trace, turns=(turn,)))
    parts = tuple(replace(part, turn=number) for part in found.parts)
    return OpenTurn(number, turn, parts, tuple(_certain(number, turn, found.format)))


def _certain(number: int, turn: Turn, format: str) -> list[Diagnostic]:
    """The faults of the words that are known although the text may go on."""
    text, prompt = turn.part("text"), turn.part(PROMPT_PART)
    tools = turn.generation.tools if turn.generation is not None else ()
    segmenter = Segmenter(format, prompt=prompt.text if prompt else "", tools=tools, role=turn.role, turn=number)
    segmenter.feed(text.text if text else "")
    return segmenter.take()[1]
