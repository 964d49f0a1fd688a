"""Which branch of `anyOf` or `oneOf` was most likely meant by a value that fits none."""

from collections.abc import Sequence

from inspector.checks.schema_problems import Path
from inspector.checks.violation import Violation
from inspector.model import Json


def meant_instead(one: Violation) -> Sequence[Violation]:
    """The violations to tell in the place of `one`, which has alternatives: those of the branch that was meant.

    Branches that all fail by their type, or all by their constant, become one violation with their limits put together.
    Empty where no branch is likelier than the others.
    """
    branches = distinct_branches(one)
    if len(branches) == 1:
        return branches[0]
    if any(_backtracks(branch) for branch in branches):
        return (Violation("backtracking", one.path, None),)
    here = [branch for branch in branches if _fails_at(branch, one.path)]
    deeper = [branch for branch in branches if not _fails_at(branch, one.path)]
    if not deeper and all(_is_only(branch, ("type",), one.path) for branch in branches):
        types = [name for branch in branches for name in _listed(branch[0].limit)]
        return (Violation("type", one.path, list(dict.fromkeys(map(str, types))), one.schema),)
    if not deeper and all(_is_only(branch, ("const", "enum"), one.path) for branch in branches):
        return (Violation("enum", one.path, [value for (only,) in branches for value in _allowed(only)], one.schema),)
    left = deeper or [branch for branch in here if not _is_only(branch, ("type",), one.path)] or here
    fewest = min(map(len, left), default=0)
    best = [branch for branch in left if len(branch) == fewest]
    return best[0] if len(best) == 1 else ()


def distinct_branches(one: Violation) -> list[tuple[Violation, ...]]:
    """The alternatives of a violation, each only once; told apart by their text, as there may be thousands."""
    return list({repr(branch): branch for branch in one.alternatives}.values())


def _allowed(one: Violation) -> list[Json]:
    return one.limit if one.keyword == "enum" and isinstance(one.limit, list) else [one.limit]


def _listed(limit: Json) -> list[Json]:
    return limit if isinstance(limit, list) else []


def _backtracks(branch: Sequence[Violation]) -> bool:
    return any(one.keyword == "backtracking" or any(map(_backtracks, one.alternatives)) for one in branch)


def _is_only(branch: Sequence[Violation], keywords: tuple[str, ...], path: Path) -> bool:
    return len(branch) == 1 and branch[0].path == path and branch[0].keyword in keywords


def _fails_at(branch: Sequence[Violation], path: Path) -> bool:
    """Whether a branch rules itself out at the value: by its type, or by a constant that tells branches apart."""
    return any(
        (one.path == path and one.keyword in ("type", "const", "enum", "falseSchema"))
        or (len(one.path) == len(path) + 1 and one.keyword in ("const", "enum"))
        for one in branch
    )
