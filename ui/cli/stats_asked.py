"""What `weaklink stats` was asked: which keys group the traces, and which groups are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypedDict

import click

from inspector.chain.metrics_comparing import MeasureComparison, compared
from inspector.chain.metrics_groups import GroupFigures, GroupKey, check_keys

_NAMES = tuple(key.value for key in GroupKey)


@dataclass(frozen=True, slots=True)
class Sides:
    """The groups that were named to be compared, by the values of the same keys; the first is the baseline."""

    by: tuple[GroupKey, ...]
    values: tuple[tuple[str, ...], ...]


def keys_named(words: Sequence[str]) -> tuple[GroupKey, ...]:
    """The keys that `--by` names, with commas or repeated. UsageError for any other word."""
    by = tuple(_key(word.strip()) for given in words for word in given.split(",") if word.strip())
    try:
        check_keys(by)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error
    return by


def sides_named(words: Sequence[str]) -> Sides | None:
    """The groups that words like `model=a` or `model=a,reasoning=on` name; None where there are none.

    UsageError where they are not of the same keys, or there is only one.
    """
    if not words:
        return None
    sides = [[pair.partition("=") for pair in word.split(",")] for word in words]
    keys = [tuple(_key(name.strip()) for name, _, _ in pairs) for pairs in sides]
    if len(set(keys)) > 1:
        raise click.UsageError("groups that are compared are named by the same keys: `model=a model=b`.")
    if len(words) < 2:
        raise click.UsageError(f"`{words[0]}` wants another group to be compared with.")
    by = keys_named([key.value for key in keys[0]])
    return Sides(by, tuple(tuple(value.strip() for _, _, value in pairs) for pairs in sides))


def is_side(word: str) -> bool:
    """Whether a word names a group, and no path."""
    return word.partition("=")[0].strip() in _NAMES and "=" in word


class Shown(TypedDict):
    """The members of `Statistics` that tell of groups."""

    groups: list[GroupFigures]
    baseline: GroupFigures | None
    comparisons: list[MeasureComparison]


def shown_groups(groups: Sequence[GroupFigures], sides: Sides | None, *, compares: bool, fewest: int) -> Shown:
    """The groups to show, compared if so wished: with the first that was named, else with that of the most traces.

    UsageError where no trace is in a group that was named.
    """
    found = list(groups) if sides is None else _sides_among(groups, sides)
    if not compares or len(found) < 2:
        return {"groups": found, "baseline": None, "comparisons": []}
    return {"groups": found, "baseline": found[0], "comparisons": compared(found, found[0], fewest)}


def _sides_among(groups: Sequence[GroupFigures], sides: Sides) -> list[GroupFigures]:
    there = {group.keys: group for group in groups}
    for values in sides.values:
        if values not in there:
            named = ",".join(f"{key.value}={value}" for key, value in zip(sides.by, values, strict=True))
            raise click.UsageError(f"no trace has {named}{_nearest(values, there)}")
    return [there[values] for values in dict.fromkeys(sides.values)]


def _key(word: str) -> GroupKey:
    try:
        return GroupKey(word)
    except ValueError:
        nearest = get_close_matches(word.lower(), _NAMES, n=1)
        hint = f"did you mean `{nearest[0]}`?" if nearest else f"there are {', '.join(_NAMES)}."
        raise click.UsageError(f"traces are not grouped by `{word}`; {hint}") from None


def _nearest(values: tuple[str, ...], there: dict[tuple[str, ...], GroupFigures]) -> str:
    near = get_close_matches(",".join(values), [",".join(one) for one in there], n=1)
    return f"; did you mean `{near[0]}`?" if near else "; `--by` lists the groups there are."
