"""The one place that runs JSON Schema: verdicts and their reasons by jsonschema-rs, within bounds for hostile schemas.

Nothing is fetched (`offline`). Patterns run in a regular-expression engine that is linear, or limited where look-around
forces it to backtrack. Schemas and values that are too deep, too large or hold what the library refuses never reach it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from inspector.checks.schema_reading import Problem, mended, screened
from inspector.checks.schema_work import SchemaWork, TooMuchWorkError
from inspector.json_text import write_json
from inspector.model import Json
from inspector.rules import schema as rules

MOST_VIOLATIONS = 50
"""How many violations of one call are told."""

_VERDICT_WORK = 100_000  # subschemas with references written out; a millisecond or two
_REASON_WORK = 10_000  # reasons copy values and nest, so they get less
_BACKTRACKS = 20_000
_REGEX_BYTES = 1 << 20

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which a value breaks its schema: the keyword, where in the value, and what the schema says.

    `limit` is the keyword's own value, or for `required` the missing name, for the `additional` and `unevaluated`
    keywords the names or indexes that are too many, for `type` the list of types. `schema` is the subschema that holds
    the keyword. `alternatives` are the violations of each branch of `anyOf` and `oneOf`.
    """

    keyword: str
    path: Path
    limit: Json
    schema: Json = None
    alternatives: tuple[tuple["Violation", ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A value was not checked: why, in words that follow "was not checked: "."""

    why: str


class _Validator(Protocol):
    def is_valid(self, instance: Any) -> bool: ...
    def iter_errors(self, instance: Any) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class PreparedSchema:
    """A tool's `parameters`, ready to check values; `problems` are what is wrong with the schema itself.

    `takes_objects` says that it is a usual tool schema, whose arguments are an object. `schema` is what is checked
    against: `parameters` with its problems mended; None where nothing can be checked.
    """

    problems: tuple[Problem, ...]
    takes_objects: bool
    schema: Json
    _validator: _Validator | None = None
    _formats: _Validator | None = None
    _work: SchemaWork | None = None

    def violations(self, value: Json) -> tuple[Violation, ...] | Refusal:
        """How `value` breaks the schema; empty where it does not. `value` must be safe (see `unsafe_part`)."""
        if self._validator is None or self._work is None:
            return ()
        try:
            if self._work.is_recursive:
                self._work.on(value, _VERDICT_WORK)
            if self._validator.is_valid(value):
                return ()
            if self._work.size > _REASON_WORK:
                return (Violation("schema", (), None),)
            found = tuple(self._told(islice(self._validator.iter_errors(value), MOST_VIOLATIONS)))
        except TooMuchWorkError:
            return Refusal("the schema refers to itself in a way that multiplies with the depth of the arguments")
        except ValueError as error:
            return Refusal(f"the schema library refused it ({error})")
        return found or (Violation("schema", (), None),)

    def format_mismatches(self, value: Json) -> tuple[Violation, ...]:
        """Strings that lack the format that the schema names for them."""
        if self._formats is None or self._work is None or self._work.is_recursive or self._work.size > _REASON_WORK:
            return ()
        try:
            if self._formats.is_valid(value):
                return ()
            found = islice(self._formats.iter_errors(value), MOST_VIOLATIONS)
            return tuple(one for one in self._told(found) if one.keyword == "format")
        except ValueError:
            return ()

    def _told(self, errors: Iterable[Any]) -> Iterator[Violation]:
        return (_violation(error, self.schema) for error in errors)


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
    return _prepare(key.value)


def _prepare(parameters: Json) -> PreparedSchema:
    if parameters is None:
        return PreparedSchema((), takes_objects=True, schema=None)
    refusal = screened(parameters)
    if refusal is not None:
        return PreparedSchema((Problem(rules.SCHEMA_NOT_CHECKED, (), refusal),), takes_objects=False, schema=None)
    reading = mended(parameters, _faulty_keywords)
    problems = list(reading.problems)
    schema = reading.schema
    if schema is None:
        return PreparedSchema(tuple(problems), takes_objects=reading.takes_objects, schema=None)
    try:
        work = SchemaWork(schema)
        if work.size > _VERDICT_WORK:
            raise TooMuchWorkError
    except TooMuchWorkError:
        why = "its references multiply or nest too deep, so that checking could take without end"
        problems.append(Problem(rules.SCHEMA_NOT_CHECKED, (), f"The schema was not used: {why}."))
        return PreparedSchema(tuple(problems), takes_objects=reading.takes_objects, schema=None)
    try:
        validator, formats = (
            _build(schema, formats=False),
            _build(schema, formats=True) if reading.has_formats else None,
        )
    except ValueError as error:
        message = f"The schema was not used: the schema library refuses it ({_first_line(error)})."
        problems.append(Problem(rules.SCHEMA_NOT_CHECKED, (), message))
        return PreparedSchema(tuple(problems), takes_objects=reading.takes_objects, schema=None)
    return PreparedSchema(tuple(problems), reading.takes_objects, schema, validator, formats, work)


def _faulty_keywords(schema: Json) -> tuple[list[Path], str]:
    """Where the schema breaks its meta-schema; else the reference or word that cannot be resolved, "" for none."""
    import jsonschema_rs  # noqa: PLC0415  # 29 ms that only a request with tools needs

    try:
        _build(schema, formats=False)
    except jsonschema_rs.ValidationError as error:
        if type(error.kind).__name__ == "Referencing":
            return [], _first_line(error)
        paths = [tuple(error.instance_path)]
        meta = _meta_validator(_dialect(schema))
        paths += (tuple(one.instance_path) for one in islice(meta.iter_errors(schema), 200))
        return list(dict.fromkeys(paths)), ""
    except ValueError:
        return [], ""
    return [], ""


def _build(schema: Json, *, formats: bool) -> _Validator:
    import jsonschema_rs  # noqa: PLC0415  # 29 ms that only a request with tools needs

    options = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_BACKTRACKS, size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
    )
    validator: _Validator = jsonschema_rs.validator_for(
        schema,  # type: ignore[arg-type]  # screened: an object or boolean
        validate_formats=formats,
        ignore_unknown_formats=True,
        pattern_options=options,
        offline=True,
    )
    return validator


@lru_cache(maxsize=16)
def _meta_validator(dialect: str) -> _Validator:
    return _build({"$schema": dialect, "$ref": dialect}, formats=False)


_DIALECTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)


def _dialect(schema: Json) -> str:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    known = (one for one in _DIALECTS if isinstance(named, str) and one.rstrip("#") == named.rstrip("#"))
    return next(known, _DIALECTS[-1])


def _violation(error: Any, root: Json) -> Violation:
    kind = error.kind
    name, facts = kind.name, kind.as_dict()
    branches = facts.get("context", ())
    inner = facts.get("error")
    schema = _subschema(root, error.schema_path)
    if name == "propertyNames" and inner is not None and not isinstance(inner, str):
        return Violation(name, tuple(error.instance_path), inner.instance, schema, ((_violation(inner, root),),))
    keyword = "backtracking" if type(kind).__name__ in {"BacktrackLimitExceeded", "RegexEngineFailure"} else name
    path: Path = tuple(error.instance_path)
    limit = _limit(keyword, facts, schema, error.schema_path)
    alternatives = tuple(tuple(_violation(one, root) for one in branch) for branch in branches)
    return Violation(keyword, path, limit, schema, alternatives)


def _limit(keyword: str, facts: dict[str, Any], schema: Json, schema_path: list[str | int]) -> Json:
    for key in ("property", "unexpected", "types", "options", "expected_value", "limit", "multiple_of", "format"):
        if key in facts:
            found: Json = facts[key]
            return found
    word = schema_path[-1] if schema_path else keyword
    return schema.get(str(word)) if isinstance(schema, dict) else None


def _subschema(root: Json, path: list[str | int]) -> Json:
    """The subschema that holds the keyword at the end of `path`."""
    for step in path[:-1]:
        if isinstance(root, dict):
            root = root.get(str(step))
        elif isinstance(root, list) and isinstance(step, int) and step < len(root):
            root = root[step]
        else:
            return None
    return root


def _first_line(error: Exception) -> str:
    line = str(error).partition("\n")[0]
    return line if len(line) <= 300 else line[:299] + "…"
