"""A tool's `parameters`, repaired and bounded once per schema, and ready to check arguments."""

from functools import lru_cache

from msgspec import Struct

from weaklink.inspector.checks import json_schema
from weaklink.inspector.checks.json_schema import Violation
from weaklink.inspector.checks.schema_complexity import SchemaWork, TooMuchWorkError
from weaklink.inspector.checks.schema_repairs import (
    DefinitionFault,
    as_object_schema,
    repair_schema,
    screen_schema,
    takes_objects,
)
from weaklink.inspector.checks.wording import type_of
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.rules import schema as rules

MAX_VIOLATIONS = 50
"""The maximum number of violations reported for one call."""

_MAX_EXPLAINED_STEPS = 10_000  # reasons copy parts of the schema
_VERDICT_STEPS = 2_000_000  # about 0.1 us each
_RECURSIVE_STEPS = 100_000  # recursive schemas multiply with the depth of the value
_REASON_STEPS = 20_000  # a reason costs about 15 us, and the library collects all of them before it returns the first
_RECURSIVE_WORK = "the schema refers to itself in a way that multiplies with the depth of the arguments"
_TOO_MUCH_WORK = f"checking arguments of this size by a schema of this size takes more than {_VERDICT_STEPS:,} steps"
_FORMAT = '"format": "'  # in the text of every schema that names a format


class UncheckedValue(Struct, frozen=True):
    """A value was not checked: the reason, in words that follow "was not checked: "."""

    why: str


class PreparedSchema(Struct, frozen=True):
    """A tool's `parameters`, ready to check values; `faults` are what is wrong with the schema itself.

    `takes_objects` is true for a usual tool schema, whose arguments are an object. `schema` is the schema for checks:
    `parameters` with its faults repaired; None if nothing can be checked.
    """

    faults: tuple[DefinitionFault, ...]
    takes_objects: bool
    schema: Json = None
    _validator: json_schema.Validator | None = None
    _formats: json_schema.Validator | None = None
    _work: SchemaWork | None = None

    def violations(self, value: Json) -> tuple[Violation, ...] | UncheckedValue:
        """How `value` violates the schema; empty if it does not. `value` must be safe (see `unsafe_part`)."""
        if self._validator is None or self._work is None:
            return ()
        try:
            self._work.check(value, _RECURSIVE_STEPS if self._work.is_recursive else _VERDICT_STEPS)
            if self._validator.is_valid(value):
                return ()
            if not self._is_explainable(self._work, value):
                return (Violation("schema", (), None),)
            violations = tuple(json_schema.violations(self._validator, value, self.schema, MAX_VIOLATIONS))
        except TooMuchWorkError:
            return UncheckedValue(_RECURSIVE_WORK if self._work.is_recursive else _TOO_MUCH_WORK)
        except ValueError as error:
            return UncheckedValue(f"the schema library rejected it ({error})")
        return violations or (Violation("schema", (), None),)

    def format_mismatches(self, value: Json) -> tuple[Violation, ...]:
        """Strings that do not have the format that the schema names for them."""
        if self._formats is None or self._work is None or self._work.is_recursive:
            return ()
        try:
            self._work.check(value, _VERDICT_STEPS)
            if self._formats.is_valid(value) or not self._is_explainable(self._work, value):
                return ()
            violations = json_schema.violations(self._formats, value, self.schema, MAX_VIOLATIONS)
            return tuple(violation for violation in violations if violation.keyword == "format")
        except (TooMuchWorkError, ValueError):
            return ()

    @staticmethod
    def _is_explainable(work: SchemaWork, value: Json) -> bool:
        """Whether the library's reasons for a value that does not fit stay within bounds."""
        try:
            work.check(value, _REASON_STEPS)
        except TooMuchWorkError:
            return False
        return work.size <= _MAX_EXPLAINED_STEPS


def prepared_schema(parameters: Json) -> PreparedSchema:
    """The schema ready for use. Cached: by identity first, then by content."""
    return _by_identity(_CacheKey(parameters))


class _CacheKey:
    """A schema as a key: equal by its JSON text if that is given, else by identity, which takes a fiftieth."""

    __slots__ = ("schema", "text")

    def __init__(self, schema: Json, text: str = "") -> None:
        self.schema, self.text = schema, text

    def __hash__(self) -> int:
        return hash(self.text) if self.text else id(self.schema)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _CacheKey):
            return NotImplemented
        return other.text == self.text if self.text else other.schema is self.schema


@lru_cache(maxsize=512)
def _by_identity(key: _CacheKey) -> PreparedSchema:
    return _by_content(_CacheKey(key.schema, write_json(key.schema)))


@lru_cache(maxsize=256)
def _by_content(key: _CacheKey) -> PreparedSchema:
    return _prepare(key.schema, key.text)


def _prepare(parameters: Json, text: str) -> PreparedSchema:
    if parameters is None:
        return PreparedSchema((), takes_objects=True)
    refusal = screen_schema(parameters)
    if refusal is not None:
        return PreparedSchema((DefinitionFault(rules.SCHEMA_NOT_CHECKED, (), refusal),), takes_objects=False)
    if not isinstance(parameters, dict | bool):
        message = f"`parameters` is {type_of(parameters)}, not a schema; weaklink cannot check arguments against it."
        fault = DefinitionFault(rules.INVALID_TOOL_SCHEMA, (), message, "Write a JSON Schema with `type: object`.")
        return PreparedSchema((fault,), takes_objects=True)
    schema, faults = as_object_schema(parameters) if isinstance(parameters, dict) else (parameters, [])
    repaired = repair_schema(schema, len(text))
    faults += repaired.faults
    is_named = repaired.validator is not None and _FORMAT in text
    formats = json_schema.build(repaired.schema, formats=True) if is_named else None
    return PreparedSchema(
        tuple(faults), takes_objects(schema), repaired.schema, repaired.validator, formats, repaired.work
    )
