"""Turns a schema violation into a fault: what was expected, what was found, and the smallest repair."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from weaklink.inspector.checks.json_schema import Path, Violation
from weaklink.inspector.checks.tools import nearest_word
from weaklink.inspector.checks.wording import listed, pointer, quoted, shown
from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_text import list_of, properties_of, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.rules import schema as rules
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range

_MOST_EXTRAS = 20
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


def violation_faults(violations: Sequence[Violation], value: Json, places: ArgumentLocator) -> Iterator[Fault]:
    """The faults for these violations of `value`, each only once."""
    seen = set()
    for violation in violations:
        for fault in _ViolationWording(value, places).faults(violation):
            key = (fault.rule, fault.range, "" if fault.rule is rules.UNEXPECTED_PROPERTY else fault.message)
            if key not in seen:
                seen.add(key)
                yield fault


class _ViolationWording(Struct, frozen=True):
    value: Json
    places: ArgumentLocator

    def faults(self, one: Violation) -> Iterator[Fault]:
        """The faults of one violation."""
        match one.keyword:
            case "required":
                yield self._missing(one)
            case "type":
                yield self._type(one)
            case "additionalProperties" | "unevaluatedProperties":
                for name in _names(one.limit)[:_MOST_EXTRAS]:
                    yield self._unexpected(one, (*one.path, name))
            case "falseSchema" if one.path and isinstance(one.path[-1], str):
                yield self._unexpected(one, one.path)
            case "enum" | "const":
                yield self._not_allowed(one)
            case "anyOf" | "oneOf" if one.alternatives and all(one.alternatives):
                yield from self._no_alternative(one)
            case "format":
                got = self._at(one.path)
                message = f"{shown(got)}{argument_clause(one.path)} does not have the format `{one.limit}`."
                yield self._fault(rules.FORMAT_MISMATCH, one.path, message)
            case "backtracking":
                message = f"A pattern backtracks too much on {shown(self._at(one.path))}, so weaklink did not check it."
                yield self._fault(rules.SCHEMA_NOT_CHECKED, one.path, message)
            case _:
                yield self._fault(rules.CONSTRAINT_VIOLATED, one.path, limit_message(one, self._at(one.path)))

    def _fault(self, rule: Rule, path: Path, message: str, hint: str | None = None, repair: str | None = None) -> Fault:
        place = self.places.of(path)
        fix = Fix((Edit(place, repair),), safe=False) if repair is not None and self.places.are_exact else None
        return Fault(rule, place, message, hint, fix, pointer(path))

    def _at(self, path: Path) -> Json:
        here: Json = self.value
        for step in path:
            if isinstance(here, dict):
                here = here.get(str(step))
            elif isinstance(here, list) and isinstance(step, int) and step < len(here):
                here = here[step]
            else:
                return None
        return here

    def _missing(self, one: Violation) -> Fault:
        name, got = str(one.limit), self._at(one.path)
        where = f"The object at `{pointer(one.path)}` lacks" if one.path else "The arguments lack"
        properties = properties_of(one.schema)
        kind = properties.get(name)
        kind_clause = f" ({_kind_of(kind)})" if isinstance(kind, dict) and _kind_of(kind) else ""
        present = [key for key in got if key not in properties] if isinstance(got, dict) else []
        slip = nearest_word(name, present)
        hint = f"Rename {quoted(slip)} if you meant that." if slip else f"Add {quoted(name)}."
        return self._fault(
            rules.MISSING_REQUIRED, one.path, f"{where} {quoted(name)}{kind_clause}, which is required.", hint
        )

    def _type(self, one: Violation) -> Fault:
        got = self._at(one.path)
        types = [str(name) for name in one.limit] if isinstance(one.limit, list) else []
        if not one.path and "object" in types and not isinstance(got, dict):
            message = f"The arguments are {type_of(got)}; expected an object with one member per parameter."
            return self._fault(rules.ARGUMENTS_NOT_AN_OBJECT, (), message)
        message = f"Expected {either(types)}{argument_clause(one.path)}, got {type_of(got)}: {shown(got)}."
        repair = coerced(got, types)
        hint = f"Write {quoted(repair)}." if repair is not None else None
        if got is None and one.path and repair is None:
            hint = f"Omit {quoted(str(one.path[-1]))} if it has no value."
        return self._fault(rules.WRONG_TYPE, one.path, message, hint, repair)

    def _unexpected(self, one: Violation, path: Path) -> Fault:
        name = str(path[-1])
        holder = self._at(path[:-1])
        allowed = [key for key in properties_of(one.schema) if not isinstance(holder, dict) or key not in holder]
        known = list(properties_of(one.schema))
        only = f"; it has {listed_names(known)}" if known else ""
        where = f"The object at `{pointer(path[:-1])}`" if len(path) > 1 else "The tool"
        message = f"{where} has no parameter {quoted(name)}{only}."
        slip = nearest_word(name, allowed)
        place = self.places.key(path)
        if slip is None:
            return Fault(rules.UNEXPECTED_PROPERTY, place, message, f"Omit {quoted(name)}.", path=pointer(path))
        fix = Fix((Edit(place, write_json(slip, ascii_only=False)),), safe=False) if self.places.are_exact else None
        return Fault(rules.UNEXPECTED_PROPERTY, place, message, f"Did you mean {quoted(slip)}?", fix, pointer(path))

    def _not_allowed(self, one: Violation) -> Fault:
        got = self._at(one.path)
        allowed = one.limit if one.keyword == "enum" and isinstance(one.limit, list) else [one.limit]
        nearest = nearest_value(got, allowed)
        expected = shown(allowed[0]) if len(allowed) == 1 else f"one of {listed(allowed)}"
        message = f"{shown(got)} is not allowed{argument_clause(one.path) or ' here'}; expected {expected}."
        if nearest is None:
            return self._fault(rules.VALUE_NOT_IN_ENUM, one.path, message)
        repair = write_json(nearest[0], ascii_only=False)
        return self._fault(rules.VALUE_NOT_IN_ENUM, one.path, message, f"Did you mean {shown(nearest[0])}?", repair)

    def _no_alternative(self, one: Violation) -> Iterator[Fault]:
        meant = intended_violations(one)
        for violation in meant:
            yield from self.faults(violation)
        if meant:
            return
        branches = distinct_branches(one)
        reason = next(iter(self.faults(min(branches, key=len)[0])))
        value = f"{shown(self._at(one.path))}{argument_clause(one.path)}"
        message = f"{value} matches none of the {len(branches)} alternatives; the closest one: {reason.message}"
        yield self._fault(rules.CONSTRAINT_VIOLATED, one.path, message)


def listed_names(names: Sequence[str], most: int = 8) -> str:
    """Names in backticks, joined by commas."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def _names(limit: Json) -> list[str]:
    return [str(name) for name in limit] if isinstance(limit, list) else []


def _kind_of(schema: dict[str, Json]) -> str:
    named = schema.get("type")
    return named if isinstance(named, str) else ""


def intended_violations(one: Violation) -> Sequence[Violation]:
    """The violations to report instead of `one`, which has alternatives: those of the branch that was meant.

    Branches that all fail by their type, or all by their constant, become one violation with their limits combined.
    Empty if no branch is likelier than the others.
    """
    branches = distinct_branches(one)
    if len(branches) == 1:
        return branches[0]
    if any(_backtracks(branch) for branch in branches):
        return (Violation("backtracking", one.path, None),)
    here = [branch for branch in branches if _fails_at(branch, one.path)]
    deeper = [branch for branch in branches if not _fails_at(branch, one.path)]
    if not deeper and all(_is_only(branch, ("type",), one.path) for branch in branches):
        types = [name for branch in branches for name in list_of(branch[0].limit)]
        return (Violation("type", one.path, list(dict.fromkeys(map(str, types))), one.schema),)
    if not deeper and all(_is_only(branch, ("const", "enum"), one.path) for branch in branches):
        return (Violation("enum", one.path, [value for (only,) in branches for value in _allowed(only)], one.schema),)
    left = deeper or [branch for branch in here if not _is_only(branch, ("type",), one.path)] or here
    fewest = min(map(len, left), default=0)
    best = [branch for branch in left if len(branch) == fewest]
    return best[0] if len(best) == 1 else ()


def distinct_branches(one: Violation) -> list[tuple[Violation, ...]]:
    """The alternatives of a violation, each only once; compared by their text, as there may be thousands."""
    return list({repr(branch): branch for branch in one.alternatives}.values())


def _allowed(violation: Violation) -> list[Json]:
    return violation.limit if violation.keyword == "enum" and isinstance(violation.limit, list) else [violation.limit]


def _backtracks(branch: Sequence[Violation]) -> bool:
    return any(one.keyword == "backtracking" or any(map(_backtracks, one.alternatives)) for one in branch)


def _is_only(branch: Sequence[Violation], keywords: tuple[str, ...], path: Path) -> bool:
    return len(branch) == 1 and branch[0].path == path and branch[0].keyword in keywords


def _fails_at(branch: Sequence[Violation], path: Path) -> bool:
    """Whether a branch rules itself out at the value: by its type, or by a constant that distinguishes branches."""
    return any(
        (one.path == path and one.keyword in ("type", "const", "enum", "falseSchema"))
        or (len(one.path) == len(path) + 1 and one.keyword in ("const", "enum"))
        for one in branch
    )


def limit_message(one: Violation, got: Json) -> str:
    """The sentence for a violation of a limit by the value `got`, which names the argument."""
    limit, where = one.limit, argument_clause(one.path)
    words = _LIMITS.get(one.keyword)
    if words is not None:
        size = len(got) if isinstance(got, _SIZED) else 0
        return words.format(got=shown(got), where=where, limit=shown(limit), size=size)
    if one.keyword == "propertyNames" and one.alternatives:
        return f"The name {shown(limit)}{where} is not an allowed member name of this object."
    if one.keyword in ("oneOf", "anyOf"):
        return f"{shown(got)}{where} matches several alternatives of `oneOf`; expected exactly one."
    return f"{shown(got)}{where} does not match the schema (`{one.keyword}`)."


def argument_clause(path: Path) -> str:
    """The argument at a path as a clause after its value; empty if the path is that of the arguments themselves."""
    return f" for `{pointer(path)}`" if path else ""


def type_of(value: Json) -> str:
    """A value's JSON type with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case int():
            return "an integer"
    return "a number"


def either(types: Sequence[str]) -> str:
    """Types with their articles, joined by "or"."""
    named = [f"an {name}" if name[:1] in "aio" else name if name == "null" else f"a {name}" for name in types]
    return " or ".join(named) or "another type"


def coerced(got: Json, types: Sequence[str]) -> str | None:
    """JSON text with the meaning of `got` in one of these types, None if there is none."""
    if isinstance(got, str):
        text = got.strip()
        if ("integer" in types and _INTEGER.fullmatch(text)) or ("number" in types and _NUMBER.fullmatch(text)):
            return text
        if "boolean" in types and text.lower() in ("true", "false"):
            return text.lower()
        if "null" in types and text.lower() in ("null", "none"):
            return "null"
        return _unquoted(text, types)
    if isinstance(got, int | float) and "string" in types:
        return f'"{write_json(got)}"'
    if "array" in types and got is not None and not isinstance(got, list | dict) and len(types) == 1:
        return f"[{write_json(got, ascii_only=False)}]"
    return None


def nearest_value(got: Json, allowed: Sequence[Json]) -> tuple[Json] | None:
    """The allowed value that `got` most likely misspells, in a tuple because it may be null; None if there is none."""
    as_text = {
        one if isinstance(one, str) else write_json(one): one
        for one in allowed[:500]
        if not isinstance(one, dict | list)
    }
    if isinstance(got, dict | list | None):
        return None
    word = got if isinstance(got, str) else write_json(got)
    if word in as_text:
        return (as_text[word],)
    nearest = nearest_word(word, list(as_text)) if isinstance(got, str) else None
    return (as_text[nearest],) if nearest is not None else None


def _unquoted(text: str, types: Sequence[str]) -> str | None:
    openers = {"object": "{", "array": "["}
    if len(text) < 100_000 and any(text.startswith(openers[name]) for name in types if name in openers):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return None
        return text
    if "array" in types and len(types) == 1 and len(text) < 1_000:
        return f"[{write_json(text, ascii_only=False)}]"
    return None
