"""Repairs the texts of a trace by the fixes of its diagnostics, and takes back what would make anything worse."""

from bisect import bisect_left, insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct, structs

from inspector.diagnostics import Diagnostic, Edit, edited
from inspector.inspected import Inspection
from inspector.model import Trace, Turn
from inspector.model.columns import Entries
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Rule, Severity
from inspector.text import Range

_ROUNDS = 16
_TRIALS = 64
_SYNTAX = ("J", "F")

PartPlace = tuple[int, str]
"""A turn, counted from 1, and the name of one of its parts."""


class RepairInput(Struct, frozen=True):
    """What an inspection says of a trace, as far as a repair needs it: diagnostics, and how many calls are valid.

    `inspection` is for who needs more of it afterwards; no repair looks at it.
    """

    diagnostics: Entries[Diagnostic]
    valid_calls: int
    inspection: Inspection | None = None


class AppliedRepair(Struct, frozen=True):
    """One repair that was made: the diagnostic that asked for it, and the text of its part just before.

    The diagnostic's place and edits count in that text. Repairs of a part follow one another in `round`s, from 1.
    """

    diagnostic: Diagnostic
    text: str
    round: int

    @property
    def place(self) -> PartPlace:
        """Which part it changes."""
        return self.diagnostic.location.turn, self.diagnostic.location.part

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What was replaced by what."""
        fix = self.diagnostic.fault.fix
        return fix.edits if fix is not None else ()


class Repair(Struct, frozen=True):
    """A trace with its repairs made, in their order, and the diagnostics whose repairs were not taken.

    A repair is not taken where fewer calls would be valid with it, or more would be wrong. `inspection` is that of the
    repaired trace, None where `examine` kept none.
    """

    trace: Trace
    changes: tuple[AppliedRepair, ...]
    refused: tuple[Diagnostic, ...] = ()
    inspection: Inspection | None = None


def repair_trace(
    trace: Trace, examine: Callable[[Trace], RepairInput], *, rules: Container[Rule] = RULES, unsafe: bool = False
) -> Repair:
    """Make every safe fix, or with `unsafe` every fix, of what `examine` finds of `rules`, until none is left.

    Fixes that touch one another are made one after the other, each in the text that the one before it left, in 16
    rounds at most. `examine` is asked once a round, and once more for each fix while it is found out which one does
    harm.
    """
    work = _Work(trace, examine, rules, unsafe)
    for number in range(1, _ROUNDS + 1):
        if not work.round(number):
            break
    return Repair(work.trace, tuple(work.changes), tuple(work.refused.values()), work.now.inspection)


@dataclass(slots=True)
class _Work:
    trace: Trace
    examine: Callable[[Trace], RepairInput]
    rules: Container[Rule]
    unsafe: bool
    changes: list[AppliedRepair] = field(default_factory=list)
    refused: dict[tuple[object, ...], Diagnostic] = field(default_factory=dict)
    now: RepairInput = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.examine(self.trace)

    def round(self, number: int) -> bool:
        """Make all fixes that can be made together; whether there were any."""
        wanted = list(_together(self._fixable()))
        if not wanted:
            return False
        if not self._take(wanted, number):
            self._take_one_by_one(wanted, number)
        return True

    def _fixable(self) -> Iterator[Diagnostic]:
        for one in self.now.diagnostics:
            fix = one.fault.fix
            if fix is None or not fix.edits or one.rule not in self.rules:
                continue
            if (fix.safe or self.unsafe) and _known_by(one) not in self.refused:
                yield one

    def _take(self, wanted: Sequence[Diagnostic], number: int) -> bool:
        """Make these fixes, unless that makes anything worse; whether they are made."""
        repaired = _with_fixes(self.trace, wanted)
        after = self.examine(repaired)
        if _is_worse(self.now, after):
            return False
        self.changes += (AppliedRepair(one, _text(self.trace, one), number) for one in wanted)
        self.trace, self.now = repaired, after
        return True

    def _take_one_by_one(self, wanted: Sequence[Diagnostic], number: int) -> None:
        """Try each fix alone, from the last to the first, so that the places of the others stay."""
        for trial, one in enumerate(reversed(wanted)):
            if trial >= _TRIALS or not self._take([one], number):
                self.refused[_known_by(one)] = one


def _known_by(one: Diagnostic) -> tuple[object, ...]:
    """What a refused fix is known again by after others have moved its place."""
    edits = tuple((edit.text, len(edit.range)) for edit in one.fault.fix.edits) if one.fault.fix is not None else ()
    return one.rule.code, one.location.turn, one.location.part, one.fault.message, len(one.range), edits


def _together(fixable: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The fixes that touch no edit of one before them."""
    taken: dict[PartPlace, list[Edit]] = {}
    for one in sorted(fixable, key=_first_edit):
        mine = taken.setdefault((one.location.turn, one.location.part), [])
        edits = one.fault.fix.edits if one.fault.fix is not None else ()
        if not any(_clashes(edit, mine) for edit in edits):
            for edit in edits:
                insort(mine, edit, key=_range)
            yield one


def _clashes(edit: Edit, taken: Sequence[Edit]) -> bool:
    """Whether an edit stands in the same place as one of those taken, or overlaps one; these are in order."""
    at = bisect_left(taken, edit.range, key=_range)
    return any(
        edit.range == other.range or (edit.range.start < other.range.end and other.range.start < edit.range.end)
        for other in taken[max(at - 1, 0) : at + 1]
    )


def _range(edit: Edit) -> Range:
    return edit.range


def _first_edit(one: Diagnostic) -> tuple[int, str, int]:
    fix = one.fault.fix
    return one.location.turn, one.location.part, fix.edits[0].range.start if fix is not None else 0


def _is_worse(before: RepairInput, after: RepairInput) -> bool:
    """Whether fewer calls are valid, or more is wrong with the syntax, or with anything and no more calls are valid.

    A call that can be read at last may turn out to break its schema: that is no harm done.
    """
    if after.valid_calls < before.valid_calls or _errors(after, _SYNTAX) > _errors(before, _SYNTAX):
        return True
    return after.valid_calls == before.valid_calls and _errors(after) > _errors(before)


def _errors(examined: RepairInput, families: tuple[str, ...] = ("",)) -> int:
    return sum(
        one.rule.severity is Severity.ERROR and one.rule.code.startswith(families) for one in examined.diagnostics
    )


def _text(trace: Trace, one: Diagnostic) -> str:
    part = trace.turns[one.location.turn - 1].part(one.location.part)
    return part.text if part is not None else ""


def _with_fixes(trace: Trace, wanted: Iterable[Diagnostic]) -> Trace:
    edits: dict[PartPlace, list[Edit]] = {}
    for one in wanted:
        if one.fault.fix is not None:
            edits.setdefault((one.location.turn, one.location.part), []).extend(one.fault.fix.edits)
    for together in edits.values():
        together.sort(key=_range)
    turns = list(trace.turns)
    for number in {turn for turn, _ in edits}:
        turns[number - 1] = _edited_turn(turns[number - 1], number, edits)
    return structs.replace(trace, turns=tuple(turns))


def _edited_turn(turn: Turn, number: int, edits: Mapping[PartPlace, Sequence[Edit]]) -> Turn:
    """The turn with its parts edited; an edited part keeps no chunks, since it never arrived."""
    parts = (
        structs.replace(part, text=edited(part.text, edits[number, part.name]), chunks=None)
        if (number, part.name) in edits
        else part
        for part in turn.parts
    )
    return structs.replace(turn, parts=tuple(parts))
