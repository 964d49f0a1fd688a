"""Groups a broken trace's diagnostics by cause: the first of each cause is reported, with the others below it."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Chain, Status
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.rules import conversation
from weaklink.inspector.scanning import lazy_pattern

# Rules whose messages quote the tool first.
_ABOUT_A_TOOL = frozenset(
    rule.code
    for rule in (
        conversation.UNKNOWN_TOOL,
        conversation.CALL_WITHOUT_RESULT,
        conversation.RESULT_OUT_OF_ORDER,
        conversation.ERROR_RESULT,
        conversation.EMPTY_RESULT,
        conversation.REPEATED_CALL,
    )
)
_QUOTED = lazy_pattern(r"`([^`]*)`")
_INDEX = lazy_pattern(r"/\d+(?=/|$)")
_Item = TypeVar("_Item")


class DiagnosticGroup(Struct, frozen=True):
    """The first diagnostic of a cause, and the later ones of the same cause in their order."""

    first: Diagnostic
    more: tuple[Diagnostic, ...] = ()

    @property
    def shown(self) -> Diagnostic:
        """The first diagnostic; its message includes the number of the others."""
        return with_count(self.first, len(self.more))


def grouped(diagnostics: Iterable[Diagnostic], chain: Chain) -> list[DiagnosticGroup]:
    """The diagnostics of a trace by their cause, in the order of the first of each.

    A trace that is not broken has no groups of several. Linear in the number of diagnostics.
    """
    groups = by_cause(tuple(diagnostics), lambda diagnostic: diagnostic, is_broken=chain.status is Status.BROKEN)
    return [DiagnosticGroup(first, tuple(more)) for first, *more in groups]


def by_cause(
    items: Sequence[_Item], diagnostic_of: Callable[[_Item], Diagnostic], *, is_broken: bool
) -> list[list[_Item]]:
    """Items with a diagnostic each, in the same groups; one item per group if the trace is not broken."""
    if not is_broken:
        return [[item] for item in items]
    groups: dict[tuple[str, str], list[_Item]] = {}
    for item in items:
        groups.setdefault(cause_of(diagnostic_of(item)), []).append(item)
    return list(groups.values())


class Causes:
    """Which diagnostics share a cause, by index; a few bytes per diagnostic.

    `firsts` has the index of the first diagnostic of each cause, in order, `more` the number of others of each cause,
    and `row_of` the position in `firsts` of each diagnostic's cause.
    """

    __slots__ = ("_rows", "firsts", "more", "row_of")

    def __init__(self) -> None:
        self.firsts, self.more, self.row_of = array("L"), array("L"), array("L")
        self._rows: dict[tuple[str, str], int] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        """Add the next diagnostic of the trace."""
        row = self._rows.setdefault(cause_of(diagnostic), len(self._rows))
        if row == len(self.firsts):
            self.firsts.append(len(self.row_of))
            self.more.append(0)
        else:
            self.more[row] += 1
        self.row_of.append(row)


def causes_of(diagnostics: Iterable[Diagnostic]) -> Causes:
    """The causes of the diagnostics of a broken trace, found in one pass."""
    causes = Causes()
    for diagnostic in diagnostics:
        causes.add(diagnostic)
    return causes


def cause_of(diagnostic: Diagnostic) -> tuple[str, str]:
    """The key of a diagnostic's cause: the rule, and the tool or the argument that it is about.

    Arguments that differ only in list indices share a cause.
    """
    fault = diagnostic.fault
    if fault.path is not None:
        return fault.rule.code, _INDEX.sub("/*", fault.path)
    if fault.rule.code in _ABOUT_A_TOOL:
        tool = _QUOTED.search(fault.message)
        return fault.rule.code, tool[1] if tool else ""
    return fault.rule.code, ""


def with_count(diagnostic: Diagnostic, more: int) -> Diagnostic:
    """The diagnostic with `more` others of its cause added to its message; unchanged if there are none."""
    if not more:
        return diagnostic
    message = f"{diagnostic.fault.message} (and {more:,} more of this kind)"
    return structs.replace(diagnostic, fault=structs.replace(diagnostic.fault, message=message))
