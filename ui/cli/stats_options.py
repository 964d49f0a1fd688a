"""The options of `weaklink stats`: grouping keys, compared groups, and a file of expected calls."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeAlias, TypedDict

import click
from msgspec import Struct, structs

from weaklink.inspector.chain import metrics_groups
from weaklink.inspector.chain.expected_calls import ExpectedCall, agreement, expected_of
from weaklink.inspector.chain.metrics_figures import TraceFigures
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.inspected import Inspection
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.files import open_binary
from weaklink.ui.views.styled_text import POSITION_IDS

_MEASURES = ("tool_selection", "parameter_accuracy")
_MAX_IDS = 5
_KEY_NAMES = tuple(key.value for key in metrics_groups.GroupKey)


class ComparedGroups(Struct, frozen=True):
    """The groups to compare, by their values of the same keys; the first is the baseline."""

    by: tuple[metrics_groups.GroupKey, ...]
    values: tuple[tuple[str, ...], ...]


def parse_group_keys(words: Sequence[str]) -> tuple[metrics_groups.GroupKey, ...]:
    """The keys that `--by` names, with commas or repeated. Raises UsageError for any other word."""
    by = tuple(_key(word.strip()) for option in words for word in option.split(",") if word.strip())
    try:
        metrics_groups.check_keys(by)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error
    return by


def parse_compared_groups(words: Sequence[str]) -> ComparedGroups | None:
    """The groups that words like `model=a` or `model=a,reasoning=on` name; None if there are no words.

    Raises UsageError if their keys differ, or if there is only one group.
    """
    if not words:
        return None
    sides = [[pair.partition("=") for pair in word.split(",")] for word in words]
    keys = [tuple(_key(name.strip()) for name, _, _ in pairs) for pairs in sides]
    if len(set(keys)) > 1:
        raise click.UsageError("compared groups must use the same keys: `model=a model=b`.")
    if len(words) < 2:
        raise click.UsageError(f"`{words[0]}` requires another group to compare with.")
    by = parse_group_keys([key.value for key in keys[0]])
    return ComparedGroups(by, tuple(tuple(value.strip() for _, _, value in pairs) for pairs in sides))


def is_compared_group(word: str) -> bool:
    """Whether a word names a group, and not a path."""
    return word.partition("=")[0].strip() in _KEY_NAMES and "=" in word


class ShownGroups(TypedDict):
    """The members of `Statistics` about groups."""

    groups: list[metrics_groups.GroupFigures]
    baseline: metrics_groups.GroupFigures | None
    comparisons: list[metrics_groups.MeasureComparison]


def select_groups(
    groups: Sequence[metrics_groups.GroupFigures], sides: ComparedGroups | None, *, compares: bool, fewest: int
) -> ShownGroups:
    """The groups to show; with `compares` also their comparison with the first of `sides`, else of `groups`.

    Raises UsageError if a group of `sides` has no trace.
    """
    listed = list(groups) if sides is None else _compared_among(groups, sides)
    if not compares or len(listed) < 2:
        return {"groups": listed, "baseline": None, "comparisons": []}
    return {
        "groups": listed,
        "baseline": listed[0],
        "comparisons": metrics_groups.compared_groups(listed, listed[0], fewest),
    }


def _compared_among(
    groups: Sequence[metrics_groups.GroupFigures], sides: ComparedGroups
) -> list[metrics_groups.GroupFigures]:
    there = {group.keys: group for group in groups}
    for values in sides.values:
        if values not in there:
            named = ",".join(f"{key.value}={value}" for key, value in zip(sides.by, values, strict=True))
            near = get_close_matches(",".join(values), map(",".join, there), n=1)
            hint = f"did you mean `{near[0]}`?" if near else "`--by` lists all groups."
            raise click.UsageError(f"no trace has {named}; {hint}")
    return [there[values] for values in dict.fromkeys(sides.values)]


def _key(word: str) -> metrics_groups.GroupKey:
    try:
        return metrics_groups.GroupKey(word)
    except ValueError:
        nearest = get_close_matches(word.lower(), _KEY_NAMES, n=1)
        hint = f"did you mean `{nearest[0]}`?" if nearest else f"expected one of {', '.join(_KEY_NAMES)}."
        raise click.UsageError(f"cannot group by `{word}`; {hint}") from None


Expected: TypeAlias = Mapping[str, Sequence[ExpectedCall]]
"""The expected calls of traces, by external id."""


def read_expected(path: str | None) -> Expected:
    """Read the expected calls of a file of JSON lines; none if there is no file. Reports and skips lines without any.

    Raises UnreadableFileError, also if no line has any.
    """
    expected: dict[str, tuple[ExpectedCall, ...]] = {}
    if path is None:
        return expected
    bad = 0
    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                id_, calls = expected_of(parse_json_bytes(line))
            except ValueError as error:
                bad += 1
                if bad <= _MAX_IDS:
                    print_notice(f"{path}, line {number}: {error}")
                continue
            expected[id_] = calls
    if bad > _MAX_IDS:
        print_notice(f"{path}: {bad - _MAX_IDS:,} more lines have no expected calls")
    if not expected:
        raise UnreadableFileError(f"{path}: no line contains expected calls")
    return expected


def id_among(external_ids: Iterable[tuple[str, str]], expected: Expected) -> str | None:
    """The first id of a trace that has expected calls; `external_ids` are names and values. Positions are no ids."""
    return next((value for name, value in external_ids if name not in POSITION_IDS and value in expected), None)


def with_expected(figures: TraceFigures, inspection: Inspection, expected: Sequence[ExpectedCall]) -> TraceFigures:
    """The figures of a trace, with the agreement of its calls with the expected ones."""
    calls = [step.call for step in inspection.chain.steps]
    return structs.replace(figures, expected=agreement(expected, calls))


def with_agreement(
    groups: Sequence[metrics_groups.GroupFigures], expected_groups: metrics_groups.FigureGroups
) -> list[metrics_groups.GroupFigures]:
    """The groups, with the measures that need expected calls taken from `expected_groups`."""
    agreeing = {group.keys: group for group in expected_groups.all()}
    return [
        structs.replace(
            group, tallies={**group.tallies, **{name: agreeing[group.keys].tally(name) for name in _MEASURES}}
        )
        if group.keys in agreeing
        else group
        for group in groups
    ]
