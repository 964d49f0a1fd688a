"""Groups trace figures by model, tool, prompt and the like, and compares the groups."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from weaklink.inspector.chain.intervals import NOISE, Difference, holm
from weaklink.inspector.chain.metrics import BY_NAME, FEWEST, Measure, Tally, added, difference, tallies_of
from weaklink.inspector.chain.metrics_figures import TraceFigures
from weaklink.inspector.rules.layers import RULES

COMPARED = (
    *("broken", "multi_step_success", "well_formed", "schema_compliance", "tool_selection"),
    *("parameter_accuracy", "error_results", "error_recovery", "calls_per_turn"),
)
"""The measures that are compared, by name; those left out follow from them or are not about a model."""


class GroupKey(StrEnum):
    """What traces are grouped by.

    A trace is in one group of each key, except that it is in one group for every tool that it called, for every code
    that was found in it, for every layer at which it differs, and for every owner of such a difference. A tool's group
    counts only the calls of that tool.
    """

    MODEL = "model"
    TOOL = "tool"
    FORMAT = "format"
    SOURCE = "source"
    REASONING = "reasoning"
    PROMPT = "prompt"
    CODE = "code"
    LAYER = "layer"
    OWNER = "owner"
    DAY = "day"


MANY_VALUED = (GroupKey.TOOL, GroupKey.CODE, GroupKey.LAYER, GroupKey.OWNER)
"""The keys of which a trace may have several values; only one of them can be used at once."""

VALUES_OF_CODES: Mapping[GroupKey, Mapping[str, str]] = {
    GroupKey.LAYER: {rule.code: rule.layer for rule in RULES},
    GroupKey.OWNER: {rule.code: rule.owner for rule in RULES},
}
"""The keys whose values follow from rule codes, with the value of each code; other codes have none."""


class Aspect(StrEnum):
    """A property of a break, or of the end of an aborted trace.

    `code` is the rule that explains why a chain broke, or the step's outcome if that is the explanation
    (`error-result`).
    """

    STEP = "step"
    CODE = "code"
    TOOL = "tool"
    OUTCOME = "outcome"
    REACTION = "reaction"
    ABORT = "abort"


class TraceKeys(Struct, frozen=True):
    """The values that one trace is grouped by; `""` if a value is not known.

    `reasoning` is `on`, `off`, `mixed` or `""`; `prompt` the hash of its system prompt and tools; `day` the day in UTC
    on which it started (`2026-11-21`).
    """

    model: str = ""
    format: str = ""
    source: str = ""
    reasoning: str = ""
    prompt: str = ""
    day: str = ""


class GroupFigures(Struct, frozen=True):
    """The sums over the traces of one group: `tallies` by the name of the measure, `keys` in the requested order.

    A measure whose counts the group lacks has no tally.
    """

    keys: tuple[str, ...]
    tallies: Mapping[str, Tally]

    @property
    def traces(self) -> int:
        """The number of traces in the group."""
        return self.tallies["broken"].trials

    def tally(self, name: str) -> Tally:
        """The tally of a measure; an empty one if there is none."""
        return self.tallies.get(name, Tally())


class Slice(Struct, frozen=True):
    """How many traces of a group have one value of an aspect."""

    keys: tuple[str, ...]
    value: str
    traces: int


def check_keys(by: Sequence[GroupKey]) -> None:
    """Raise ValueError if traces cannot be grouped by all of these at once."""
    if GroupKey.TOOL in by and GroupKey.CODE in by:
        raise ValueError("cannot group by both tool and code: a code belongs to a trace, not to a tool")
    if sum(key in MANY_VALUED for key in set(by)) > 1:
        raise ValueError("can group by only one of tool, code, layer and owner")
    if len(set(by)) < len(by):
        raise ValueError("duplicate key to group by")


class FigureGroups:
    """Adds up the figures of traces, group by group. Raises ValueError as `check_keys` does."""

    def __init__(self, by: Sequence[GroupKey] = ()) -> None:
        check_keys(by)
        self._by = tuple(by)
        self._sums: dict[tuple[str, ...], dict[str, Tally]] = {}

    def add(self, keys: TraceKeys, figures: TraceFigures) -> None:
        """Count one more trace."""
        for values, numbers in self._members(keys, figures):
            self._sums[values] = added([self._sums.get(values, {}), tallies_of(numbers)])

    def merge(self, other: "FigureGroups") -> None:
        """Add the sums of other traces, grouped by the same keys. The order of merging changes nothing."""
        for values, sums in other._sums.items():  # noqa: SLF001  # of the same class
            self._sums[values] = added([self._sums.get(values, {}), sums])

    def all(self) -> list[GroupFigures]:
        """The groups, those with the most traces first."""
        return in_order(GroupFigures(keys, sums) for keys, sums in self._sums.items())

    def _members(self, keys: TraceKeys, figures: TraceFigures) -> Iterator[tuple[tuple[str, ...], Mapping[str, int]]]:
        if GroupKey.TOOL in self._by:
            for tool in figures.tools:
                yield key_values(self._by, keys, tool=tool), figures.numbers_of(tool)
        elif (key := next((group_key for group_key in self._by if group_key in MANY_VALUED), None)) is not None:
            values = VALUES_OF_CODES.get(key)
            of_codes = (values[code] for code in figures.codes if code in values) if values else figures.codes
            for value in dict.fromkeys(of_codes):
                yield key_values(self._by, keys, code=value), figures.numbers()
        else:
            yield key_values(self._by, keys), figures.numbers()


class FigureSlices:
    """Counts one aspect of traces, group by group. Raises ValueError as `check_slices` does."""

    def __init__(self, aspect: Aspect, by: Sequence[GroupKey] = ()) -> None:
        check_slices(by)
        self._aspect, self._by = aspect, tuple(by)
        self._counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)

    def add(self, keys: TraceKeys, figures: TraceFigures) -> None:
        """Count one more trace."""
        value = aspect_of(figures, self._aspect)
        if value is not None:
            self._counts[key_values(self._by, keys)][value] += 1

    def merge(self, other: "FigureSlices") -> None:
        """Add the counts of other traces, of the same aspect and keys."""
        for keys, counts in other._counts.items():  # noqa: SLF001  # of the same class
            self._counts[keys].update(counts)

    def all(self) -> list[Slice]:
        """The slices: steps in their order, anything else by how many traces they have."""
        slices = [Slice(keys, value, n) for keys, counts in self._counts.items() for value, n in counts.items()]
        return sorted_slices(slices, self._aspect)


def check_slices(by: Sequence[GroupKey]) -> None:
    """Raise ValueError if breaks cannot be grouped by all of these."""
    check_keys(by)
    if any(key in MANY_VALUED for key in by):
        raise ValueError("a break has one tool and one code: use the aspect `tool` or `code` instead of grouping")


def aspect_of(figures: TraceFigures, aspect: Aspect) -> str | None:
    """The value of a trace's aspect; None if the trace did not break, or was not aborted."""
    broken = figures.broken
    if aspect is Aspect.ABORT:
        return figures.abort_reason
    if broken is None:
        return None
    return {
        Aspect.STEP: str(broken.step),
        Aspect.CODE: broken.code,
        Aspect.TOOL: broken.tool or "",
        Aspect.OUTCOME: broken.outcome.value,
        Aspect.REACTION: broken.reaction.value if broken.reaction else "",
    }[aspect]


def in_order(groups: Iterator[GroupFigures]) -> list[GroupFigures]:
    """The groups, those with the most traces first."""
    return sorted(groups, key=lambda group: (-group.traces, group.keys))


def sorted_slices(slices: Sequence[Slice], aspect: Aspect) -> list[Slice]:
    """The slices in the order of lists: steps by number, anything else by how many traces they have."""
    if aspect is Aspect.STEP:
        return sorted(slices, key=lambda slice_: (slice_.keys, int(slice_.value)))
    return sorted(slices, key=lambda slice_: (slice_.keys, -slice_.traces, slice_.value))


def key_values(by: Sequence[GroupKey], keys: TraceKeys, *, tool: str = "", code: str = "") -> tuple[str, ...]:
    """The values of the keys in `by`, in order."""
    values = {GroupKey.TOOL: tool, GroupKey.CODE: code, GroupKey.LAYER: code, GroupKey.OWNER: code}
    return tuple(values[key] if key in values else getattr(keys, key.value) for key in by)


class MeasureComparison(Struct, frozen=True):
    """One measure of one group, compared with the baseline's.

    `difference` is the group's value minus the baseline's, None if either has too few traces for an interval.
    `adjusted_p` is its p-value, adjusted by Holm's method for all comparisons that are made together.
    """

    measure: Measure
    group: GroupFigures
    baseline: GroupFigures
    difference: Difference | None
    adjusted_p: float | None

    @property
    def is_more_than_noise(self) -> bool:
        """Whether the groups differ in this measure, with at most one error in twenty such sets of comparisons."""
        return self.adjusted_p is not None and self.adjusted_p < NOISE


def compared_groups(
    groups: Sequence[GroupFigures], baseline: GroupFigures, fewest: int = FEWEST
) -> list[MeasureComparison]:
    """Every other group compared with the baseline, measure by measure, where both have a value."""
    pairs = [
        (BY_NAME[name], group, difference(BY_NAME[name], group.tally(name), baseline.tally(name), fewest))
        for group in groups
        if group is not baseline
        for name in COMPARED
        if group.tally(name).trials and baseline.tally(name).trials
    ]
    adjusted = iter(holm([compared.p for _, _, compared in pairs if compared is not None]))
    return [
        MeasureComparison(measure, group, baseline, compared, None if compared is None else next(adjusted))
        for measure, group, compared in pairs
    ]
