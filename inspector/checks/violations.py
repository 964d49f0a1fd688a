"""Words a violation of a schema as a fault: what was expected, what came, and the smallest repair."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from inspector.checks.alternatives import distinct_branches, meant_instead
from inspector.checks.limit_words import argument_words, either, limit_words, type_of
from inspector.checks.schema_problems import Path
from inspector.checks.tools import nearest_word
from inspector.checks.value_repairs import coerced, nearest_value
from inspector.checks.violation import Violation
from inspector.checks.wording import listed, pointer, quoted, shown
from inspector.diagnostics import Edit, Fault, Fix
from inspector.json_text import write_json
from inspector.model import Json
from inspector.rules import schema as rules
from inspector.rules.rule import Rule
from inspector.text import Range

_MOST_EXTRAS = 20


class ArgumentLocator(Protocol):
    """Where values and keys of the arguments stand."""

    def of(self, path: Sequence[str | int]) -> Range:
        """The characters of a value."""
        ...

    def key(self, path: Sequence[str | int]) -> Range:
        """The characters of a key."""
        ...

    @property
    def are_exact(self) -> bool:
        """Whether an edit of these characters can be told."""
        ...


def told(violations: Sequence[Violation], value: Json, places: ArgumentLocator) -> Iterator[Fault]:
    """The faults for these violations of `value`, the same one only once."""
    seen = set()
    for violation in violations:
        for fault in _ViolationWording(value, places).faults(violation):
            key = (fault.rule, fault.range, "" if fault.rule is rules.UNEXPECTED_PROPERTY else fault.message)
            if key not in seen:
                seen.add(key)
                yield fault


@dataclass(frozen=True, slots=True)
class _ViolationWording:
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
                message = f"{shown(got)}{argument_words(one.path)} is not of the format `{one.limit}`."
                yield self._fault(rules.FORMAT_MISMATCH, one.path, message)
            case "backtracking":
                message = (
                    f"A pattern backtracks without end on {shown(self._at(one.path))}, so that it was not checked."
                )
                yield self._fault(rules.SCHEMA_NOT_CHECKED, one.path, message)
            case _:
                yield self._fault(rules.CONSTRAINT_VIOLATED, one.path, limit_words(one, self._at(one.path)))

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
        properties = _properties(one.schema)
        kind = properties.get(name)
        wanted = f" ({_kind_of(kind)})" if isinstance(kind, dict) and _kind_of(kind) else ""
        present = [key for key in got if key not in properties] if isinstance(got, dict) else []
        slip = nearest_word(name, present)
        hint = f"Rename {quoted(slip)}, if that is what was meant." if slip else f"Add {quoted(name)}."
        return self._fault(
            rules.MISSING_REQUIRED, one.path, f"{where} {quoted(name)}{wanted}, which is required.", hint
        )

    def _type(self, one: Violation) -> Fault:
        got = self._at(one.path)
        types = [str(name) for name in one.limit] if isinstance(one.limit, list) else []
        if not one.path and "object" in types and not isinstance(got, dict):
            message = f"The arguments are {type_of(got)}; expected an object with one member a parameter."
            return self._fault(rules.ARGUMENTS_NOT_AN_OBJECT, (), message)
        message = f"Expected {either(types)}{argument_words(one.path)}, got {type_of(got)}: {shown(got)}."
        repair = coerced(got, types)
        hint = f"Write {quoted(repair)}." if repair is not None else None
        if got is None and one.path and repair is None:
            hint = f"Leave {quoted(str(one.path[-1]))} out if it has no value."
        return self._fault(rules.WRONG_TYPE, one.path, message, hint, repair)

    def _unexpected(self, one: Violation, path: Path) -> Fault:
        name = str(path[-1])
        holder = self._at(path[:-1])
        allowed = [key for key in _properties(one.schema) if not isinstance(holder, dict) or key not in holder]
        known = list(_properties(one.schema))
        only = f"; it has {listed_names(known)}" if known else ""
        where = f"The object at `{pointer(path[:-1])}`" if len(path) > 1 else "The tool"
        message = f"{where} has no parameter {quoted(name)}{only}."
        slip = nearest_word(name, allowed)
        place = self.places.key(path)
        if slip is None:
            return Fault(rules.UNEXPECTED_PROPERTY, place, message, f"Leave {quoted(name)} out.", path=pointer(path))
        fix = Fix((Edit(place, write_json(slip, ascii_only=False)),), safe=False) if self.places.are_exact else None
        return Fault(rules.UNEXPECTED_PROPERTY, place, message, f"Did you mean {quoted(slip)}?", fix, pointer(path))

    def _not_allowed(self, one: Violation) -> Fault:
        got = self._at(one.path)
        allowed = one.limit if one.keyword == "enum" and isinstance(one.limit, list) else [one.limit]
        nearest = nearest_value(got, allowed)
        expected = shown(allowed[0]) if len(allowed) == 1 else f"one of {listed(allowed)}"
        message = f"{shown(got)} is not allowed{argument_words(one.path) or ' here'}; expected {expected}."
        if nearest is None:
            return self._fault(rules.VALUE_NOT_IN_ENUM, one.path, message)
        repair = write_json(nearest[0], ascii_only=False)
        return self._fault(rules.VALUE_NOT_IN_ENUM, one.path, message, f"Did you mean {shown(nearest[0])}?", repair)

    def _no_alternative(self, one: Violation) -> Iterator[Fault]:
        meant = meant_instead(one)
        for violation in meant:
            yield from self.faults(violation)
        if meant:
            return
        branches = distinct_branches(one)
        reason = next(iter(self.faults(min(branches, key=len)[0])))
        value = f"{shown(self._at(one.path))}{argument_words(one.path)}"
        message = f"{value} fits none of the {len(branches)} alternatives; one of them: {reason.message}"
        yield self._fault(rules.CONSTRAINT_VIOLATED, one.path, message)


def listed_names(names: Sequence[str], most: int = 8) -> str:
    """Names in backticks, joined by commas."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def _properties(schema: Json) -> dict[str, Json]:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _names(limit: Json) -> list[str]:
    return [str(name) for name in limit] if isinstance(limit, list) else []


def _kind_of(schema: dict[str, Json]) -> str:
    named = schema.get("type")
    return named if isinstance(named, str) else ""
