"""The calls that were expected, read from a file and held against the traces that they are about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from inspector.chain.metrics_expected import ExpectedCall, agreement, expected_of
from inspector.chain.metrics_figures import TraceFigures
from inspector.chain.metrics_groups import GroupFigures, Groups
from inspector.errors import UnreadableFileError
from inspector.importers.rows import parse_json
from inspector.inspection import Inspection
from ui.cli.inputs import open_binary
from ui.cli.upkeep import say
from ui.views.external_ids import PLACES

Expected: TypeAlias = Mapping[str, Sequence[ExpectedCall]]
"""The expected calls by the external id of the traces that they are about."""
_MEASURES = ("tool_selection", "parameter_accuracy")
_MOST_SAID = 5


def read_expected(path: str | None) -> Expected:
    """The expected calls of a file of JSON lines, none without a file; a line that tells none is said and left out.

    Raises UnreadableFileError, also where no line tells any.
    """
    found: dict[str, tuple[ExpectedCall, ...]] = {}
    if path is None:
        return found
    bad = 0
    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                id_, calls = expected_of(parse_json(line))
            except ValueError as error:
                bad += 1
                if bad <= _MOST_SAID:
                    say(f"{path}, line {number}: {error}")
                continue
            found[id_] = calls
    if bad > _MOST_SAID:
        say(f"{path}: {bad - _MOST_SAID:,} more lines tell no expected calls")
    if not found:
        raise UnreadableFileError(f"{path}: no line tells expected calls")
    return found


def id_among(external_ids: Iterable[tuple[str, str]], expected: Expected) -> str | None:
    """The first id of a trace, by name and value, whose calls are expected; its place in a file is no id."""
    return next((value for name, value in external_ids if name not in PLACES and value in expected), None)


def with_expected(figures: TraceFigures, inspection: Inspection, expected: Sequence[ExpectedCall]) -> TraceFigures:
    """The figures of a trace, with how its calls agree with those that were expected."""
    made = [step.call for step in inspection.chain.steps]
    return replace(figures, expected=agreement(expected, made))


def with_agreement(groups: Sequence[GroupFigures], told: Groups) -> list[GroupFigures]:
    """The groups, with the measures that only expected calls tell, from the groups of those traces alone."""
    agreeing = {group.keys: group for group in told.all()}
    return [
        replace(group, tallies={**group.tallies, **{name: agreeing[group.keys].tally(name) for name in _MEASURES}})
        if group.keys in agreeing
        else group
        for group in groups
    ]
