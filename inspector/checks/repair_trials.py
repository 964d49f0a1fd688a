"""Tries repairs: a fix is called safe only where the repaired text was read again and nothing is wrong with it.

Theory of operation. A check offers a fix for the fault that it sees, and calls it safe where the text can mean nothing
else. What the whole text means afterwards depends on everything around the place: another marker, a second fault, the
end of the stream. So each safe fix is applied alone, and the text is read again. It stays safe if its fault is gone, no
other fault of the payloads or markers appeared, and every valid call is there with the same name and arguments. Then
all of them are applied together; those that spoil one another are not safe.

Cost: a text without safe fixes is not read again. Else it is read once for each, up to `_MOST_WORK` code points or
`_LEAST_TRIALS` readings, whichever is more. Where that is not enough for every fix, groups of them are tried, a group
that fails in halves; a fix that no trial has reached is not safe.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct, structs

from inspector.diagnostics import Fault, Fix, edited, without_clashes
from inspector.json_text import write_json
from inspector.model import ToolCall
from inspector.rules.rule import Severity

_MOST_WORK = 250_000
_LEAST_TRIALS = 8
_SYNTAX = ("J", "F", "C")


class TrialResult(Struct, frozen=True):
    """What a reading of a text found: faults, and calls."""

    faults: Sequence[Fault]
    calls: Sequence[ToolCall]


def with_tried_fixes(
    text: str,
    faults: Sequence[Fault],
    read: Callable[[str], TrialResult],
    *,
    has_calls: bool = True,
    before: TrialResult | None = None,
) -> list[Fault]:
    """The faults found in `text`, with every safe fix that fails its trial turned into a suggestion.

    `read` reads a repaired text in the same circumstances as the first; it must not raise. Without `has_calls`, the
    first reading found no call that a repair could change. `before` is what `read` gives for `text`, where known.
    """
    safe = [fault for fault in faults if fault.fix is not None and fault.fix.safe and fault.fix.edits]
    sound = set(map(id, _Trials(text, read, has_calls, before).sound(safe))) if safe else set()
    return [_suggested(fault) if fault.fix is not None and id(fault) not in sound else fault for fault in faults]


def _suggested(fault: Fault) -> Fault:
    return structs.replace(fault, fix=Fix(fault.fix.edits, safe=False)) if fault.fix is not None else fault


@dataclass(slots=True)
class _Trials:
    text: str
    read: Callable[[str], TrialResult]
    has_calls: bool
    known: TrialResult | None
    left: int = field(init=False)
    _before: tuple[Counter[str], list[ToolCall]] | None = None

    def __post_init__(self) -> None:
        self.left = max(_LEAST_TRIALS, _MOST_WORK // max(len(self.text), 1))

    @property
    def before(self) -> tuple[Counter[str], list[ToolCall]]:
        """What the text holds as it is: how many faults of each rule that matters, and the valid calls."""
        if self._before is None:
            found = self.known or self.read(self.text)
            self._before = _codes(found.faults), _valid(found.calls)
        return self._before

    def sound(self, safe: list[Fault]) -> list[Fault]:
        """Those of these faults whose fixes may be made, each alone and all together.

        Of fixes that clash, only one is made at a time, so that they need not hold with each other.
        """
        if len(safe) * 2 >= self.left:
            return self._hold_together(without_clashes(safe))
        alone = [fault for fault in safe if self._holds([fault])]
        if len(alone) < 2:
            return alone
        kept = self._hold_together(without_clashes(alone))
        for fault in alone:
            together = without_clashes([*kept, fault])
            if fault not in kept and (fault not in together or self._holds(together)):
                kept.append(fault)
        return kept

    def _hold_together(self, group: list[Fault]) -> list[Fault]:
        """As many of a group as hold with one another: a part that does not is tried in halves."""
        kept: list[Fault] = []
        todo = [group]
        while todo:
            part = todo.pop()
            if part and self._holds([*kept, *part]):
                kept += part
            elif len(part) > 1:
                half = len(part) // 2
                todo += [part[half:], part[:half]]
        return kept

    def _holds(self, group: list[Fault]) -> bool:
        """Whether these faults are gone once their fixes are made, and nothing is worse; False without a trial left."""
        if self.left <= 0:
            return False
        self.left -= 1
        edits = (edit for fault in group if fault.fix is not None for edit in fault.fix.edits)
        after = self.read(edited(self.text, edits))
        remaining = _codes(after.faults)
        if not remaining and not self.has_calls:
            return True
        codes, valid = self.before
        return remaining <= codes - _codes(group) and _in_order(valid, _valid(after.calls))


def _codes(faults: Sequence[Fault]) -> Counter[str]:
    """How many faults there are of each rule that matters."""
    return Counter(fault.rule.code for fault in faults if _counts(fault))


def _counts(fault: Fault) -> bool:
    """Whether a fault tells of the syntax: a schema may be checked only now, and what is no fault may be noted."""
    return fault.rule.code.startswith(_SYNTAX) and fault.rule.severity is not Severity.INFO


def _valid(calls: Sequence[ToolCall]) -> list[ToolCall]:
    return [call for call in calls if call.valid]


def _in_order(before: Sequence[ToolCall], after: Sequence[ToolCall]) -> bool:
    """Whether all calls that were there are still there, in their order."""
    rest = iter(after)
    return all(any(_is_same(call, other) for other in rest) for call in before)


def _is_same(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls mean the same, however it is spelled."""
    if one.name != other.name:
        return False
    return one.raw_arguments == other.raw_arguments or write_json(one.arguments) == write_json(other.arguments)
