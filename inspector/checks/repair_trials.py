"""Tries fixes: what repairs nothing is dropped, and a fix stays safe only if nothing is wrong with the repaired text.

Theory of operation. A check offers a fix for the fault that it sees, and marks it as safe if the text can mean nothing
else. What the whole text means afterwards depends on everything around the place: another marker, a second fault, the
end of the stream. So each safe fix is applied alone, and the text is parsed again. It stays safe if its fault is gone,
no other fault of the payloads or markers appeared, and every valid call is there with the same name and arguments. Then
all of them are applied together; those that conflict are not safe.

Where the call that they edit cannot be read even then, they are not safe; and no fix at all is offered where the call
cannot be read with all fixes, suggestions included, nor with this one alone. Its hint goes too if the fix leaves its
fault, or brings new ones.

Cost: a text without fixes is not parsed again. Else it is parsed once for each, up to `_MOST_WORK` code points or
`_LEAST_TRIALS` trials, whichever is more. If that is not enough for every fix, groups of them are tried, and a group
that fails is tried in halves; a fix without a trial is not safe.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix, edited, without_clashes
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import ToolCall
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range

_MOST_WORK = 250_000
_LEAST_TRIALS = 8
_SYNTAX = ("J", "F", "C")


class TrialResult(Struct, frozen=True):
    """The faults and calls found by parsing a text."""

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

    `read` parses a repaired text under the same conditions as the first; it must not raise. Without `has_calls`, the
    first parse found no call that a repair could change. `before` is the result of `read` for `text`, if known.
    """
    fixes = [fault for fault in faults if fault.fix is not None and fault.fix.edits]
    if not fixes:
        return list(faults)
    trials = _Trials(text, read, has_calls, before)
    sound = trials.sound([fault for fault in fixes if fault.fix is not None and fault.fix.safe])
    safe = set(map(id, trials.repairing(sound)))
    useless = trials.useless(fixes)
    without_fix, without_hint = set(map(id, useless)), trials.harmful(useless)
    return [
        structs.replace(fault, fix=None, hint=None if id(fault) in without_hint else fault.hint)
        if id(fault) in without_fix
        else fault
        if id(fault) in safe
        else _suggested(fault)
        for fault in faults
    ]


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
        """The unchanged text: the number of faults of each relevant rule, and the valid calls."""
        if self._before is None:
            found = self.known or self.read(self.text)
            self._before = _codes(found.faults), _valid(found.calls)
        return self._before

    def sound(self, safe: list[Fault]) -> list[Fault]:
        """The faults whose fixes may be applied, each alone and all together.

        Of fixes that clash, only one is applied at a time, so they need not be sound together.
        """
        if len(safe) * 2 >= self.left:
            return self._sound_together(without_clashes(safe))
        alone = [fault for fault in safe if self._is_sound([fault])]
        if len(alone) < 2:
            return alone
        kept = self._sound_together(without_clashes(alone))
        for fault in alone:
            together = without_clashes([*kept, fault])
            if fault not in kept and (fault not in together or self._is_sound(together)):
                kept.append(fault)
        return kept

    def repairing(self, sound: list[Fault]) -> list[Fault]:
        """Those of the sound fixes after which their calls are valid, if all of them are applied."""
        broken = self._in_broken_calls(sound) if sound else set()
        return [fault for fault in sound if id(fault) not in broken]

    def useless(self, fixes: list[Fault]) -> list[Fault]:
        """The faults whose fixes leave a call that cannot be read, applied together with all others, and alone."""
        broken = self._in_broken_calls(fixes)
        return [one for one in fixes if id(one) in broken and (len(fixes) == 1 or self._in_broken_calls([one]))]

    def harmful(self, useless: list[Fault]) -> set[int]:
        """The ids of those of the useless fixes that leave their fault, or bring new ones."""
        return {id(one) for one in useless if self.left > 0 and not self._is_sound([one])}

    def _in_broken_calls(self, group: list[Fault]) -> set[int]:
        """The ids of the faults whose fixes edit a call that is not valid after the whole group's edits."""
        if self.left <= 0:
            return set()
        self.left -= 1
        edits = [(edit, id(one)) for one in without_clashes(group) if one.fix is not None for edit in one.fix.edits]
        edits.sort(key=_edit_place)
        calls = sorted(self.read(edited(self.text, [edit for edit, _ in edits])).calls, key=_call_start)
        starts = list(map(_call_start, calls))
        broken, distance = set[int](), 0
        for edit, owner in edits:
            index = bisect_right(starts, edit.range.start + distance) - 1
            distance += len(edit.text) - len(edit.range)
            if index >= 0 and not calls[index].valid:
                broken.add(owner)
        return broken

    def _sound_together(self, group: list[Fault]) -> list[Fault]:
        """As many of a group as are sound together: a part that is not is tried in halves."""
        kept: list[Fault] = []
        todo = [group]
        while todo:
            part = todo.pop()
            if part and self._is_sound([*kept, *part]):
                kept += part
            elif len(part) > 1:
                half = len(part) // 2
                todo += [part[half:], part[:half]]
        return kept

    def _is_sound(self, group: list[Fault]) -> bool:
        """Whether these faults are gone after their fixes, and nothing is worse; False if no trial is left."""
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


def _edit_place(owned: tuple[Edit, int]) -> Range:
    return owned[0].range


def _call_start(call: ToolCall) -> int:
    return call.range.start


def _codes(faults: Sequence[Fault]) -> Counter[str]:
    """The number of faults of each relevant rule."""
    return Counter(fault.rule.code for fault in faults if _counts(fault))


def _counts(fault: Fault) -> bool:
    """Whether a fault is relevant, that is about syntax: a repair may allow the first schema check, or cause notes."""
    return fault.rule.code.startswith(_SYNTAX) and fault.rule.severity is not Severity.INFO


def _valid(calls: Sequence[ToolCall]) -> list[ToolCall]:
    return [call for call in calls if call.valid]


def _in_order(before: Sequence[ToolCall], after: Sequence[ToolCall]) -> bool:
    """Whether all earlier calls are still there, in their order."""
    rest = iter(after)
    return all(any(_is_same(call, other) for other in rest) for call in before)


def _is_same(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls mean the same, regardless of their spelling."""
    if one.name != other.name:
        return False
    return one.raw_arguments == other.raw_arguments or write_json(one.arguments) == write_json(other.arguments)
