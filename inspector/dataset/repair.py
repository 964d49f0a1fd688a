"""Repairs the texts of a trace with the fixes of its diagnostics, and discards fixes that would make it worse.

Theory of operation. A round applies all fixes that do not overlap, and inspects the result; the next round has the
diagnostics of that. It ends when no fix is left, or after 16 rounds:

    text       {"name": "f", "arguments": {"a": True,}}
    round 1    python-literal 33..37 -> true, trailing-comma 37..38 -> deleted: two fixes that do not overlap
    text       {"name": "f", "arguments": {"a": true}}
    round 2    no fix is left

If a round makes the trace worse (fewer valid calls, more syntax errors, or more errors at all), nothing of it counts,
and its fixes are tried alone, from the last to the first; those that make it worse alone are refused, and recognised
by their words and edits when later rounds propose them again. The inspection is the caller's (`examine`).
"""

from bisect import insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Diagnostic, Edit, clashes, edit_range, edited
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace, Turn
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.rule import Rule, Severity

_MAX_ROUNDS = 16
_MAX_TRIALS = 64
_SYNTAX = ("J", "F")

PartKey = tuple[int, str]
"""A turn, counted from 1, and the name of one of its parts."""


class RepairInput(Struct, frozen=True):
    """The results of an inspection that a repair needs: the diagnostics, and the number of valid calls.

    `inspection` is for callers that need more of it afterwards; the repair does not use it.
    """

    diagnostics: tuple[Diagnostic, ...]
    valid_calls: int
    inspection: Inspection | None = None


class AppliedRepair(Struct, frozen=True):
    """One repair that was made: the diagnostic that has the fix, and the text of its part just before.

    The diagnostic's range and edits refer to that text. Repairs of a part are made in `round`s, counted from 1.
    """

    diagnostic: Diagnostic
    text: str
    round: int

    @property
    def part_key(self) -> PartKey:
        """The part that the repair changes."""
        return self.diagnostic.location.turn, self.diagnostic.location.part

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that were made."""
        fix = self.diagnostic.fault.fix
        return fix.edits if fix is not None else ()


class Repair(Struct, frozen=True):
    """A repaired trace, its repairs in order, and the diagnostics whose fixes were refused.

    A fix is refused if fewer calls would be valid, or more errors would be found. `inspection` is that of the repaired
    trace, or None if `examine` kept none.
    """

    trace: Trace
    changes: tuple[AppliedRepair, ...]
    refused: tuple[Diagnostic, ...] = ()
    inspection: Inspection | None = None


def repair_trace(
    trace: Trace, examine: Callable[[Trace], RepairInput], *, rules: Container[Rule] = RULES, unsafe: bool = False
) -> Repair:
    """Apply every safe fix (with `unsafe`, every fix) that `examine` finds for `rules`, until none is left.

    Overlapping fixes are applied one after another, each to the text that the previous one left, in at most 16 rounds.
    `examine` is called once per round; if a round makes the trace worse, also once for each fix (at most 64) to find
    the harmful ones.
    """
    work = _Work(trace, examine, rules, unsafe)
    for number in range(1, _MAX_ROUNDS + 1):
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
        """Apply all fixes that do not overlap. Returns whether there were any."""
        diagnostics = list(_without_overlaps(self._fixable()))
        if not diagnostics:
            return False
        if not self._apply(diagnostics, number):
            self._apply_one_by_one(diagnostics, number)
        return True

    def _fixable(self) -> Iterator[Diagnostic]:
        for diagnostic in self.now.diagnostics:
            fix = diagnostic.fault.fix
            if fix is None or not fix.edits or diagnostic.rule not in self.rules:
                continue
            if (fix.safe or self.unsafe) and _fix_key(diagnostic) not in self.refused:
                yield diagnostic

    def _apply(self, diagnostics: Sequence[Diagnostic], number: int) -> bool:
        """Apply these fixes unless the result is worse. Returns whether they were applied."""
        repaired = _with_fixes(self.trace, diagnostics)
        after = self.examine(repaired)
        if _is_worse(self.now, after):
            return False
        self.changes += (AppliedRepair(diagnostic, _text(self.trace, diagnostic), number) for diagnostic in diagnostics)
        self.trace, self.now = repaired, after
        return True

    def _apply_one_by_one(self, diagnostics: Sequence[Diagnostic], number: int) -> None:
        """Try each fix alone, from the last to the first, so that the positions of the others stay valid."""
        for trial, diagnostic in enumerate(reversed(diagnostics)):
            if trial >= _MAX_TRIALS or not self._apply([diagnostic], number):
                self.refused[_fix_key(diagnostic)] = diagnostic


def _fix_key(diagnostic: Diagnostic) -> tuple[object, ...]:
    """The key by which a refused fix is recognised after other fixes have moved it."""
    edits = (
        tuple((edit.text, len(edit.range)) for edit in diagnostic.fault.fix.edits)
        if diagnostic.fault.fix is not None
        else ()
    )
    return (
        diagnostic.rule.code,
        diagnostic.location.turn,
        diagnostic.location.part,
        diagnostic.fault.message,
        len(diagnostic.range),
        edits,
    )


def _without_overlaps(fixable: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The fixes whose edits do not overlap those of an earlier one."""
    taken: dict[PartKey, list[Edit]] = {}
    for diagnostic in sorted(fixable, key=_first_edit):
        part_edits = taken.setdefault((diagnostic.location.turn, diagnostic.location.part), [])
        edits = diagnostic.fault.fix.edits if diagnostic.fault.fix is not None else ()
        if not any(clashes(edit, part_edits) for edit in edits):
            for edit in edits:
                insort(part_edits, edit, key=edit_range)
            yield diagnostic


def _first_edit(diagnostic: Diagnostic) -> tuple[int, str, int]:
    fix = diagnostic.fault.fix
    return diagnostic.location.turn, diagnostic.location.part, fix.edits[0].range.start if fix is not None else 0


def _is_worse(before: RepairInput, after: RepairInput) -> bool:
    """Whether fewer calls are valid, or there are more syntax errors, or more errors and as many valid calls.

    A call that becomes readable may turn out to violate its schema: that is not worse.
    """
    if after.valid_calls < before.valid_calls or _errors(after, _SYNTAX) > _errors(before, _SYNTAX):
        return True
    return after.valid_calls == before.valid_calls and _errors(after) > _errors(before)


def _errors(examined: RepairInput, families: tuple[str, ...] = ("",)) -> int:
    return sum(
        diagnostic.rule.severity is Severity.ERROR and diagnostic.rule.code.startswith(families)
        for diagnostic in examined.diagnostics
    )


def _text(trace: Trace, diagnostic: Diagnostic) -> str:
    part = trace.turns[diagnostic.location.turn - 1].part(diagnostic.location.part)
    return part.text if part is not None else ""


def _with_fixes(trace: Trace, diagnostics: Iterable[Diagnostic]) -> Trace:
    edits: dict[PartKey, list[Edit]] = {}
    for diagnostic in diagnostics:
        if diagnostic.fault.fix is not None:
            edits.setdefault((diagnostic.location.turn, diagnostic.location.part), []).extend(
                diagnostic.fault.fix.edits
            )
    for part_edits in edits.values():
        part_edits.sort(key=edit_range)
    turns = list(trace.turns)
    for number in {turn for turn, _ in edits}:
        turns[number - 1] = _edited_turn(turns[number - 1], number, edits)
    return structs.replace(trace, turns=tuple(turns))


def _edited_turn(turn: Turn, number: int, edits: Mapping[PartKey, Sequence[Edit]]) -> Turn:
    """The turn with its parts edited; an edited part has no chunks, because it was never received."""
    parts = (
        structs.replace(part, text=edited(part.text, edits[number, part.name]), chunks=None)
        if (number, part.name) in edits
        else part
        for part in turn.parts
    )
    return structs.replace(turn, parts=tuple(parts))
