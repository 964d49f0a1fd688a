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


def open_turns_of(turns: Mapping[int, Turn], trace: Trace, inspection: Inspection) -> tuple[OpenTurn, ...]:
    """Open turns by number, read in the format of their trace, as far as it has one; else in what their text shows."""
    has_answers = any(turn.generation is not None for turn in trace.turns)
    format = inspection.format if has_answers else trace.format
    return tuple(_read(number, turn, replace(trace, format=format)) for number, turn in sorted(turns.items()))


def continued(trace: Trace, inspection: Inspection, begun: Mapping[int, Turn]) -> tuple[Trace, Inspection]:
    """A trace with the turns that have begun, which follow those that have ended, and what is sure of them."""
    added = [one for one in open_turns_of(begun, trace, inspection) if one.number > len(trace.turns)]
    longer = replace(trace, turns=_joined(trace.turns, tuple(one.turn for one in added)))
    parts = _joined(inspection.parts, tuple(part for one in added for part in one.parts))
    found = _joined(inspection.diagnostics, tuple(fault for one in added for fault in one.faults))
    return longer, replace(inspection, parts=parts, diagnostics=found)


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
