"""Turns a schema violation into a fault: what was expected, what was found, and the smallest repair."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from weaklink.inspector.checks.json_schema import Path, Violation, value_at
from weaklink.inspector.checks.tools import nearest_word
from weaklink.inspector.checks.wording import either, listed, pointer, quoted, shown, type_of
from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_text import list_of, object_of, properties_of, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.rules import schema as rules
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range

_MAX_EXTRAS = 20
_MAX_TRIALS = 8  # of hints in one call; each checks all of its arguments
_SIZED = (str, list, dict)

_LIMITS = {
    "minimum": "{got}{where} is too small; expected at least {limit}.",
    "maximum": "{got}{where} is too large; expected at most {limit}.",
    "exclusiveMinimum": "{got}{where} is too small; expected more than {limit}.",
    "exclusiveMaximum": "{got}{where} is too large; expected less than {limit}.",
    "multipleOf": "{got}{where} is not a multiple of {limit}.",
    "minLength": "{got}{where} is too short: {size} characters, expected at least {limit}.",
    "maxLength": "{got}{where} is too long: {size} characters, expected at most {limit}.",
    "pattern": "{got}{where} does not match the pattern {limit}.",
    "minItems": "{got}{where} has too few items: {size}, expected at least {limit}.",
    "maxItems": "{got}{where} has too many items: {size}, expected at most {limit}.",
    "additionalItems": "{got}{where} has too many items: {size}, expected at most {limit}.",
    "uniqueItems": "{got}{where} contains the same item twice.",
    "contains": "{got}{where} does not contain the items that the schema requires (`contains`).",
    "minProperties": "{got}{where} has too few members: {size}, expected at least {limit}.",
    "maxProperties": "{got}{where} has too many members: {size}, expected at most {limit}.",
    "unevaluatedItems": "{got}{where} contains items that the schema does not allow.",
    "falseSchema": "{got}{where} is not allowed: the schema allows no value here.",
    "not": "{got}{where} is excluded by the schema (`not`).",
    "schema": "The value{where} does not match the schema; the schema is too large to say where.",
}

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,40})")


class ArgumentLocator(Protocol):
    """Locates the values and keys of the arguments."""

    def of(self, path: Sequence[str | int]) -> Range:
        """The characters of a value."""
        ...

    def key(self, path: Sequence[str | int]) -> Range:
        """The characters of a key."""
        ...

    @property
    def are_exact(self) -> bool:
        """Whether an edit can replace these characters."""
        ...


def violation_faults(
    violations: Sequence[Violation], value: Json, locator: ArgumentLocator, check: Callable[[Json], Sequence[Violation]]
) -> Iterator[Fault]:
    """The faults for these violations of `value`, each only once.

    `check` returns the violations of a value: what a hint would write, or omit, has to fit.
    """
    seen, trials = set(), _HintTrials(value, check)
    for violation in violations:
        for fault in _ViolationWording(violation, value, locator, trials).faults():
            key = (fault.rule, fault.range, "" if fault.rule is rules.UNEXPECTED_PROPERTY else fault.message)
            if key not in seen:
                seen.add(key)
                yield fault


class _HintTrials:
    """Whether the arguments `value` fit with another value at a path, or without it; False once there were too many."""

    def __init__(self, value: Json, check: Callable[[Json], Sequence[Violation]]) -> None:
        self._value, self._check, self._left = value, check, _MAX_TRIALS

    def fits(self, path: Path, text: str, *, is_listed: bool) -> bool:
        """Whether the JSON of a text fits at the path; as a list of one item, with that item."""
        wrong = {path, (*path, 0)} if is_listed else {path}
        return self._left > 0 and not any(
            violation.path in wrong for violation in self._of(_with(self._value, path, [json.loads(text)]))
        )

    def may_omit(self, path: Path) -> bool:
        """Whether nothing requires the member at the path."""
        if self._left <= 0:
            return False
        violations = self._of(_with(self._value, path, []))
        return not any(
            (violation.keyword, violation.path, violation.limit) == ("required", path[:-1], path[-1])
            for violation in violations
        )

    def _of(self, value: Json) -> Sequence[Violation]:
        self._left -= 1
        return self._check(value)


def _with(value: Json, path: Path, new: list[Json]) -> Json:
    """The value with the only item of `new` at the path, or without the member there."""
    if not path:
        return new[0] if new else None
    step, inner = path[0], [_with(value_at(value, path[:1]), path[1:], new)] if len(path) > 1 else new
    if isinstance(value, dict):
        return {**{key: member for key, member in value.items() if key != step}, **{str(step): item for item in inner}}
    assert isinstance(value, list)
    return [*value[: int(step)], *inner, *value[int(step) + 1 :]]


class _ViolationWording:
    """A violation of `value`, with the value `got` that violates, and the words for it."""

    def __init__(self, violation: Violation, value: Json, locator: ArgumentLocator, trials: _HintTrials) -> None:
        self.violation, self.value, self.locator, self.trials = violation, value, locator, trials
        self.path, self.limit = violation.path, violation.limit
        self.got = value_at(value, violation.path)

    def faults(self) -> Iterator[Fault]:
        """The faults of the violation."""
        match self.violation.keyword:
            case "required":
                yield self._missing()
            case "type":
                yield self._type()
            case "additionalProperties" | "unevaluatedProperties":
                yield from (
                    self._unexpected((*self.path, name)) for name in map(str, list_of(self.limit)[:_MAX_EXTRAS])
                )
            case "falseSchema" if self.path and isinstance(self.path[-1], str):
                yield self._unexpected(self.path)
            case "enum" | "const":
                yield self._not_allowed()
            case "anyOf" | "oneOf" if self.violation.alternatives and all(self.violation.alternatives):
                yield from self._no_alternative()
            case "format":
                message = f"{shown(self.got)}{argument_clause(self.path)} does not have the format `{self.limit}`."
                yield self._fault(rules.FORMAT_MISMATCH, message)
            case "backtracking":
                message = f"A pattern backtracks too much on {shown(self.got)}, so weaklink did not check it."
                yield self._fault(rules.SCHEMA_NOT_CHECKED, message)
            case _:
                yield self._fault(rules.CONSTRAINT_VIOLATED, limit_message(self.violation, self.got))

    def _fault(self, rule: Rule, message: str, hint: str | None = None, repair: str | None = None) -> Fault:
        value_range = self.locator.of(self.path)
        fix = Fix((Edit(value_range, repair),), safe=False) if repair is not None and self.locator.are_exact else None
        return Fault(rule, value_range, message, hint, fix, pointer(self.path))

    def _missing(self) -> Fault:
        name = str(self.limit)
        where = f"The object at `{pointer(self.path)}` lacks" if self.path else "The arguments lack"
        properties = properties_of(self.violation.schema)
        kind = object_of(properties.get(name)).get("type")
        kind_clause = f" ({kind})" if isinstance(kind, str) else ""
        slip = nearest_word(name, [key for key in object_of(self.got) if key not in properties])
        hint = f"Rename {quoted(slip)} if you meant that." if slip else f"Add {quoted(name)}."
        return self._fault(rules.MISSING_REQUIRED, f"{where} {quoted(name)}{kind_clause}, which is required.", hint)

    def _type(self) -> Fault:
        types = list(map(str, list_of(self.limit)))
        if not self.path and "object" in types and not isinstance(self.got, dict):
            message = f"The arguments are {type_of(self.got)}; expected an object with one member per parameter."
            return self._fault(rules.ARGUMENTS_NOT_AN_OBJECT, message)
        message = f"Expected {either(types)}{argument_clause(self.path)}, got {type_of(self.got)}: {shown(self.got)}."
        repair = coerced(self.got, types, object_of(self.violation.schema).get("items"))
        is_listed = repair is not None and repair.startswith("[") and repair != str(self.got).strip()
        if repair is not None and not self.trials.fits(self.path, repair, is_listed=is_listed):
            repair = None
        hint = f"Write {quoted(repair)}." if repair is not None else None
        if self.got is None and self.path and repair is None and self.trials.may_omit(self.path):
            hint = f"Omit {quoted(str(self.path[-1]))} if it has no value."
        return self._fault(rules.WRONG_TYPE, message, hint, repair)

    def _unexpected(self, path: Path) -> Fault:
        name, holder = str(path[-1]), object_of(value_at(self.value, path[:-1]))
        known = list(properties_of(self.violation.schema))
        only = f"; it has {listed_names(known)}" if known else ""
        where = f"The object at `{pointer(path[:-1])}`" if len(path) > 1 else "The tool"
        message = f"{where} has no parameter {quoted(name)}{only}."
        slip = nearest_word(name, [key for key in known if key not in holder])
        key_range = self.locator.key(path)
        if slip is None:
            return Fault(rules.UNEXPECTED_PROPERTY, key_range, message, f"Omit {quoted(name)}.", path=pointer(path))
        fix = (
            Fix((Edit(key_range, write_json(slip, ascii_only=False)),), safe=False) if self.locator.are_exact else None
        )
        return Fault(rules.UNEXPECTED_PROPERTY, key_range, message, f"Did you mean {quoted(slip)}?", fix, pointer(path))

    def _not_allowed(self) -> Fault:
        allowed = _allowed(self.violation)
        nearest = nearest_value(self.got, allowed)
        expected = shown(allowed[0]) if len(allowed) == 1 else f"one of {listed(allowed)}"
        message = f"{shown(self.got)} is not allowed{argument_clause(self.path) or ' here'}; expected {expected}."
        if nearest is None:
            return self._fault(rules.VALUE_NOT_IN_ENUM, message)
        repair = write_json(nearest[0], ascii_only=False)
        return self._fault(rules.VALUE_NOT_IN_ENUM, message, f"Did you mean {shown(nearest[0])}?", repair)

    def _no_alternative(self) -> Iterator[Fault]:
        meant = intended_violations(self.violation)
        for violation in meant:
            yield from _ViolationWording(violation, self.value, self.locator, self.trials).faults()
        if meant:
            return
        branches = distinct_branches(self.violation)
        closest = _ViolationWording(min(branches, key=len)[0], self.value, self.locator, self.trials)
        reason = next(closest.faults()).message
        got = f"{shown(self.got)}{argument_clause(self.path)}"
        message = f"{got} matches none of the {len(branches)} alternatives; the closest one: {reason}"
        yield self._fault(rules.CONSTRAINT_VIOLATED, message)


def listed_names(names: Sequence[str], most: int = 8) -> str:
    """Names in backticks, joined by commas."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def intended_violations(chosen: Violation) -> Sequence[Violation]:
    """The violations to report instead of `chosen`, which has alternatives: those of the branch that was meant.

    Branches that all fail by their type, or all by their constant, become one violation with their limits combined.
    Empty if no branch is likelier than the others.
    """
    branches, path = distinct_branches(chosen), chosen.path
    if len(branches) == 1:
        return branches[0]
    if any(_backtracks(branch) for branch in branches):
        return (Violation("backtracking", path, None),)
    here = [branch for branch in branches if _fails_at(branch, path)]
    deeper = [branch for branch in branches if not _fails_at(branch, path)]
    if not deeper and all(_is_only(branch, ("type",), path) for branch in branches):
        types = dict.fromkeys(str(name) for branch in branches for name in list_of(branch[0].limit))
        return (Violation("type", path, list(types), chosen.schema),)
    if not deeper and all(_is_only(branch, ("const", "enum"), path) for branch in branches):
        allowed = [value for (violation,) in branches for value in _allowed(violation)]
        return (Violation("enum", path, allowed, chosen.schema),)
    left = deeper or [branch for branch in here if not _is_only(branch, ("type",), path)] or here
    fewest = min(map(len, left), default=0)
    best = [branch for branch in left if len(branch) == fewest]
    return best[0] if len(best) == 1 else ()


def distinct_branches(violation: Violation) -> list[tuple[Violation, ...]]:
    """The alternatives of a violation, each only once; compared by their text, as there may be thousands."""
    return list({repr(branch): branch for branch in violation.alternatives}.values())


def _allowed(violation: Violation) -> list[Json]:
    return violation.limit if violation.keyword == "enum" and isinstance(violation.limit, list) else [violation.limit]


def _backtracks(branch: Sequence[Violation]) -> bool:
    return any(
        violation.keyword == "backtracking" or any(map(_backtracks, violation.alternatives)) for violation in branch
    )


def _is_only(branch: Sequence[Violation], keywords: tuple[str, ...], path: Path) -> bool:
    return len(branch) == 1 and branch[0].path == path and branch[0].keyword in keywords


def _fails_at(branch: Sequence[Violation], path: Path) -> bool:
    """Whether a branch rules itself out at the value: by its type, or by a constant that distinguishes branches."""
    return any(
        (violation.path == path and violation.keyword in ("type", "const", "enum", "falseSchema"))
        or (len(violation.path) == len(path) + 1 and violation.keyword in ("const", "enum"))
        for violation in branch
    )


def limit_message(violation: Violation, got: Json) -> str:
    """The sentence for a violation of a limit by the value `got`, which names the argument."""
    limit, where = violation.limit, argument_clause(violation.path)
    words = _LIMITS.get(violation.keyword)
    if words is not None:
        size = len(got) if isinstance(got, _SIZED) else 0
        return words.format(got=shown(got), where=where, limit=shown(limit), size=size)
    if violation.keyword == "propertyNames" and violation.alternatives:
        return f"The name {shown(limit)}{where} is not an allowed member name of this object."
    if violation.keyword in ("oneOf", "anyOf"):
        return f"{shown(got)}{where} matches several alternatives of `oneOf`; expected exactly one."
    return f"{shown(got)}{where} does not match the schema (`{violation.keyword}`)."


def argument_clause(path: Path) -> str:
    """The argument at a path as a clause after its value; empty if the path is that of the arguments themselves."""
    return f" for `{pointer(path)}`" if path else ""


def coerced(got: Json, types: Sequence[str], items: Json = None) -> str | None:
    """JSON text with the meaning of `got` in one of these types, None if there is none.

    `items` is the schema of an array's items.
    """
    if isinstance(got, str):
        text = got.strip()
        if ("integer" in types and _INTEGER.fullmatch(text)) or ("number" in types and _NUMBER.fullmatch(text)):
            return text
        if "boolean" in types and text.lower() in ("true", "false"):
            return text.lower()
        if "null" in types and text.lower() in ("null", "none"):
            return "null"
        return _unquoted(text, types, items)
    if isinstance(got, int | float) and "string" in types:
        return f'"{write_json(got)}"'
    if "array" in types and got is not None and not isinstance(got, list | dict) and len(types) == 1:
        return _list_of(got, items)
    return None


def _list_of(item: Json, items: Json) -> str:
    """JSON text of the list of one item, in the type that its schema states if it can be."""
    stated = object_of(items).get("type")
    types = [stated] if isinstance(stated, str) else list(map(str, list_of(stated)))
    return f"[{coerced(item, types) or write_json(item, ascii_only=False)}]"


def nearest_value(got: Json, allowed: Sequence[Json]) -> tuple[Json] | None:
    """The allowed value that `got` most likely misspells, in a tuple because it may be null; None if there is none."""
    as_text = {
        value if isinstance(value, str) else write_json(value): value
        for value in allowed[:500]
        if not isinstance(value, dict | list)
    }
    if isinstance(got, dict | list | None):
        return None
    word = got if isinstance(got, str) else write_json(got)
    if word in as_text:
        return (as_text[word],)
    nearest = nearest_word(word, list(as_text)) if isinstance(got, str) else None
    return (as_text[nearest],) if nearest is not None else None


def _unquoted(text: str, types: Sequence[str], items: Json) -> str | None:
    openers = {"object": "{", "array": "["}
    if len(text) < 100_000 and any(text.startswith(openers[name]) for name in types if name in openers):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return None
        return text
    if "array" in types and len(types) == 1 and len(text) < 1_000:
        return _list_of(text, items)
    return None
