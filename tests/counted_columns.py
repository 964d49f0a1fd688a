"""Columns that make their entries anew at every look, and count the looks: what is said of a wide trace costs few."""

from copy import copy
from typing import TypeVar

from msgspec.structs import replace

from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.inspector.model.columns import Column, Entries

_Entry = TypeVar("_Entry")


class Looks:
    """How many entries were looked at so far, of all the columns that were given this count."""

    def __init__(self) -> None:
        self.count = 0


class Counted(Column[_Entry]):
    """The entries of a tuple, none of them the same twice."""

    __slots__ = ("_entries", "_looks")

    def __init__(self, entries: Entries[_Entry], looks: Looks) -> None:
        self._entries, self._looks = entries, looks

    def __len__(self) -> int:
        return len(self._entries)

    def _at(self, index: int) -> _Entry:
        self._looks.count += 1
        return copy(self._entries[index])


def counted(trace: Trace, inspection: Inspection) -> tuple[Trace, Inspection, Looks]:
    """A trace and its inspection in columns, and how often somebody looked into one of them."""
    looks = Looks()
    parts = tuple(
        replace(
            part,
            spans=Counted(part.spans, looks),
            calls=Counted(part.calls, looks),
            results=Counted(part.results, looks),
        )
        for part in inspection.parts
    )
    in_columns = replace(
        inspection,
        parts=Counted(parts, looks),
        diagnostics=Counted(inspection.diagnostics, looks),
        chain=replace(inspection.chain, steps=Counted(inspection.chain.steps, looks)),
    )
    return replace(trace, turns=Counted(trace.turns, looks)), in_columns, looks
