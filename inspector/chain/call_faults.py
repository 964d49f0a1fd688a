"""The errors on and beside each call, and the rule that a failed step breaks where there is none."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

from inspector.chain.steps import StepOutcome
from inspector.diagnostics import Diagnostic, Location
from inspector.rules.conversation import CALL_WITHOUT_RESULT, ERROR_RESULT, UNKNOWN_TOOL
from inspector.rules.json_syntax import MALFORMED_JSON
from inspector.rules.rule import Severity
from inspector.rules.schema import CONSTRAINT_VIOLATED
from inspector.text import Range

_SYNTAX = ("J", "F")
_MOST = 64  # how many diagnostics before a call are looked at for one that reaches into it

OUTCOME_RULES = {
    StepOutcome.MALFORMED: MALFORMED_JSON,
    StepOutcome.UNKNOWN_TOOL: UNKNOWN_TOOL,
    StepOutcome.INVALID: CONSTRAINT_VIOLATED,
    StepOutcome.ERROR_RESULT: ERROR_RESULT,
    StepOutcome.UNANSWERED: CALL_WITHOUT_RESULT,
}
"""The rule that a failed step breaks by its outcome, where no diagnostic on its call names a more exact one."""


class CallFaults:
    """Errors by place, looked up in logarithmic time."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        found: defaultdict[tuple[int, str], list[Diagnostic]] = defaultdict(list)
        syntax: defaultdict[tuple[int, str], list[Diagnostic]] = defaultdict(list)
        for diagnostic in diagnostics:
            place = diagnostic.location.turn, diagnostic.location.part
            if diagnostic.rule.severity is Severity.ERROR:
                found[place].append(diagnostic)
            if diagnostic.rule.code.startswith(_SYNTAX):
                syntax[place].append(diagnostic)
        self._syntax = {place: sorted(one, key=_order) for place, one in syntax.items()}
        self._by_place = {place: sorted(one, key=_order) for place, one in found.items()}
        self._starts = {place: [fault.range.start for fault in one] for place, one in self._by_place.items()}
        self._reach = {
            place: list(accumulate((fault.range.end for fault in one), max)) for place, one in self._by_place.items()
        }

    def on(self, call: Location) -> list[Diagnostic]:
        """The errors that overlap a call, in the order of the text."""
        return [fault for fault in self._near(call) if _overlap(fault.range, call.range)]

    def cause(self, call: Location, prefix: str | tuple[str, ...] = "") -> Diagnostic | None:
        """The first error on a call whose code begins with `prefix`, else the first beside it."""
        near = [fault for fault in self._near(call) if fault.rule.code.startswith(prefix)]
        return next((fault for fault in near if _overlap(fault.range, call.range)), near[0] if near else None)

    def cause_of_malformed(self, call: Location) -> Diagnostic | None:
        """Why a call is malformed: the error on it or beside it, else the fault of its part's syntax nearest to it.

        A fault of several calls, such as single quotes, is reported once for all of them.
        """
        cause = self.cause(call, _SYNTAX)
        faults = self._syntax.get((call.turn, call.part), [])
        if cause is not None or not faults:
            return cause
        at = bisect_right(faults, call.range.start, key=_start)
        errors = [one for one in faults[max(at - _MOST, 0) : at + _MOST] if one.rule.severity is Severity.ERROR]
        near = errors or faults[max(at - 1, 0) : at + 1]
        return min(near, key=lambda one: max(call.range.start - one.range.end, one.range.start - call.range.end))

    def _near(self, call: Location) -> list[Diagnostic]:
        place = call.turn, call.part
        if place not in self._by_place:
            return []
        faults, reach = self._by_place[place], self._reach[place]
        last = bisect_right(self._starts[place], call.range.end)
        first = last
        while first and reach[first - 1] >= call.range.start and last - first < _MOST:
            first -= 1
        return [fault for fault in faults[first:last] if fault.range.end >= call.range.start]


def _start(fault: Diagnostic) -> int:
    return fault.range.start


def _order(fault: Diagnostic) -> tuple[Range, str]:
    """The order of the text; at one place the markers' faults (F) come before those of what is between them (J)."""
    return fault.range, fault.rule.code


def _overlap(fault: Range, call: Range) -> bool:
    if not len(fault) or not len(call):
        return fault.start <= call.end and call.start <= fault.end
    return fault.start < call.end and call.start < fault.end
