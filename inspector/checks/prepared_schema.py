"""A tool's `parameters` made ready to check arguments, once for each schema, and the checking within bounds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from inspector.checks.json_schema import Validator, build_for_formats
from inspector.checks.schema_problems import Problem
from inspector.checks.schema_reading import mended, screened
from inspector.checks.schema_work import SchemaWork, TooMuchWorkError
from inspector.checks.violation import Violation, violation_of
from inspector.json_text import write_json
from inspector.model import Json
from inspector.rules import schema as rules

MOST_VIOLATIONS = 50
"""How many violations of one call are told."""

_LARGEST_SCHEMA = 100_000  # steps that a schema may take on a single value
_LARGEST_EXPLAINED = 10_000  # reasons copy parts of the schema
_VERDICT_STEPS = 2_000_000  # about 0.1 us each
_RECURSIVE_STEPS = 100_000  # recursive schemas multiply with the depth of the value
_REASON_STEPS = 20_000  # a reason costs about 15 us, and the library collects all of them before it gives the first
_RECURSIVE_WORK = "the schema refers to itself in a way that multiplies with the depth of the arguments"
_TOO_MUCH_WORK = f"checking arguments of this size by a schema of this size takes more than {_VERDICT_STEPS:,} steps"
_FORMAT = '"format": "'  # stands in the text of every schema that names a format


@dataclass(frozen=True, slots=True)
class UncheckedValue:
    """A value was not checked: why, in words that follow "was not checked: "."""

    why: str


@dataclass(frozen=True, slots=True)
class PreparedSchema:
    """A tool's `parameters`, ready to check values; `problems` are what is wrong with the schema itself.

    `takes_objects` says that it is a usual tool schema, whose arguments are an object. `schema` is what is checked
    against: `parameters` with its problems mended; None where nothing can be checked.
    """

    problems: tuple[Problem, ...]
    takes_objects: bool
    schema: Json
    _validator: Validator | None = None
    _formats: Validator | None = None
    _work: SchemaWork | None = None

    def violations(self, value: Json) -> tuple[Violation, ...] | UncheckedValue:
        """How `value` breaks the schema; empty where it does not. `value` must be safe (see `unsafe_part`)."""
        if self._validator is None or self._work is None:
            return ()
        try:
            self._work.check(value, _RECURSIVE_STEPS if self._work.is_recursive else _VERDICT_STEPS)
            if self._validator.is_valid(value):
                return ()
            if not self._is_explainable(self._work, value):
                return (Violation("schema", (), None),)
            found = tuple(self._told(islice(self._validator.iter_errors(value), MOST_VIOLATIONS)))
        except TooMuchWorkError:
            return UncheckedValue(_RECURSIVE_WORK if self._work.is_recursive else _TOO_MUCH_WORK)
        except ValueError as error:
            return UncheckedValue(f"the schema library refused it ({error})")
        return found or (Violation("schema", (), None),)

    def format_mismatches(self, value: Json) -> tuple[Violation, ...]:
        """Strings that lack the format that the schema names for them."""
        if self._formats is None or self._work is None or self._work.is_recursive:
            return ()
        try:
            self._work.check(value, _VERDICT_STEPS)
            if self._formats.is_valid(value) or not self._is_explainable(self._work, value):
                return ()
            found = islice(self._formats.iter_errors(value), MOST_VIOLATIONS)
            return tuple(one for one in self._told(found) if one.keyword == "format")
        except (TooMuchWorkError, ValueError):
            return ()

    @staticmethod
    def _is_explainable(work: SchemaWork, value: Json) -> bool:
        """Whether the library's reasons for a value that does not fit stay within bounds."""
        try:
            work.check(value, _REASON_STEPS)
        except TooMuchWorkError:
            return False
        return work.size <= _LARGEST_EXPLAINED

    def _told(self, errors: Iterable[Any]) -> Iterator[Violation]:
        return (violation_of(error, self.schema) for error in errors)


def prepared_schema(parameters: Json) -> PreparedSchema:
    """The schema ready for use. Cached: by identity first, then by content."""
    return _by_identity(_Identity(parameters))


class _Identity:
    """A schema as a cache key that costs nothing to compare; it keeps the schema, so that no other takes its place."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value


class _Content(_Identity):
    """A schema as a cache key by its JSON text."""

    __slots__ = ("text",)

    def __init__(self, value: Json) -> None:
        super().__init__(value)
        self.text = write_json(value)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and other.text == self.text


@lru_cache(maxsize=512)
def _by_identity(key: _Identity) -> PreparedSchema:
    return _by_content(_Content(key.value))


@lru_cache(maxsize=256)
def _by_content(key: _Content) -> PreparedSchema:
    return _prepare(key.value, key.text)


def _prepare(parameters: Json, text: str) -> PreparedSchema:
    if parameters is None:
        return PreparedSchema((), takes_objects=True, schema=None)
    refusal = screened(parameters)
    if refusal is not None:
        return PreparedSchema((Problem(rules.SCHEMA_NOT_CHECKED, (), refusal),), takes_objects=False, schema=None)
    reading = mended(parameters)
    if reading.validator is None:
        return PreparedSchema(reading.problems, reading.takes_objects, schema=None)
    work = _bounded_work(reading.schema)
    if work is None:
        why = "its references multiply or nest too deep, so that checking could take without end"
        problem = Problem(rules.SCHEMA_NOT_CHECKED, (), f"The schema was not used: {why}.")
        return PreparedSchema((*reading.problems, problem), reading.takes_objects, schema=None)
    formats = build_for_formats(reading.schema) if _FORMAT in text else None
    return PreparedSchema(reading.problems, reading.takes_objects, reading.schema, reading.validator, formats, work)


def _bounded_work(schema: Json) -> SchemaWork | None:
    try:
        work = SchemaWork(schema)
    except TooMuchWorkError:
        return None
    return work if work.size <= _LARGEST_SCHEMA else None
