"""The only module that runs JSON Schema: by jsonschema-rs, within bounds for hostile schemas and values.

Nothing is fetched (`offline`). Patterns run in a regular-expression engine that is linear, or limited where look-around
forces it to backtrack. Schemas and values that are too deep, too large or contain what the library refuses never reach
it.

jsonschema-rs both decides and explains. jsonschema could explain too, but it runs a schema's patterns in Python's `re`,
where `^(a+)+$` takes seconds on 28 characters, and it would walk the value a second time, fifteen times slower. So only
the tests use it, as a second opinion.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from msgspec import Struct

from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.rules.rule import Rule

Path = tuple[str | int, ...]
"""Keys and indexes from a schema's root, or a value's, to a place in it."""


class DefinitionFault(Struct, frozen=True):
    """A fault in a schema: the rule, the place in `parameters`, one sentence, and the smallest repair."""

    rule: Rule
    path: Path
    message: str
    hint: str | None = None


def places(schema: Json) -> Iterator[tuple[Path, dict[str, Json]]]:
    """Every object within `schema`, itself included, with its place."""
    pending: list[tuple[Path, Json]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            yield path, node
            pending += (((*path, key), inner) for key, inner in node.items())
        elif isinstance(node, list):
            pending += (((*path, index), inner) for index, inner in enumerate(node))


def parent(schema: Json, path: Path) -> tuple[Json, str | int]:
    """The container of the value at `path`, and the value's key there; steps that do not exist are skipped."""
    for step in path[:-1]:
        if isinstance(schema, dict):
            schema = schema.get(str(step))
        elif isinstance(schema, list) and isinstance(step, int) and step < len(schema):
            schema = schema[step]
    return schema, path[-1] if path else ""


def short(value: Json, most: int = 40) -> str:
    """A value for a message: cut to `most` characters, with control characters escaped."""
    text = value if isinstance(value, str) else write_json(value, ascii_only=False)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


class Violation(Struct, frozen=True):
    """One way in which a value violates its schema: the keyword, the place in the value, and the limit.

    `limit` is the keyword's own value, or for `required` the missing name, for the `additional` and `unevaluated`
    keywords the surplus names or indexes, for `type` the list of types. `schema` is the subschema that contains the
    keyword. `alternatives` are the violations of each branch of `anyOf` and `oneOf`.
    """

    keyword: str
    path: Path
    limit: Json
    schema: Json = None
    alternatives: tuple[tuple["Violation", ...], ...] = ()


def violation_of(error: Any, root: Json) -> Violation:
    """An error of jsonschema-rs (its `ValidationError`, whose `kind` names the keyword) against the schema `root`."""
    kind = error.kind
    name, facts = kind.name, kind.as_dict()
    branches = facts.get("context", ())
    inner = facts.get("error")
    schema = _subschema(root, error.schema_path)
    if name == "propertyNames" and inner is not None and not isinstance(inner, str):
        return Violation(name, tuple(error.instance_path), inner.instance, schema, ((violation_of(inner, root),),))
    keyword = "backtracking" if type(kind).__name__ in {"BacktrackLimitExceeded", "RegexEngineFailure"} else name
    path: Path = tuple(error.instance_path)
    limit = _limit(keyword, facts, schema, error.schema_path)
    alternatives = tuple(tuple(violation_of(one, root) for one in branch) for branch in branches)
    return Violation(keyword, path, limit, schema, alternatives)


def _limit(keyword: str, facts: dict[str, Any], schema: Json, schema_path: list[str | int]) -> Json:
    word = schema_path[-1] if schema_path else keyword
    written = schema.get(str(word)) if isinstance(schema, dict) else None
    if "limit" in facts and isinstance(written, int | float | Decimal) and not isinstance(written, bool):
        return written  # the validator bounds lengths to 64 bits
    for key in ("property", "unexpected", "types", "options", "expected_value", "limit", "multiple_of", "format"):
        if key in facts:
            found: Json = facts[key]
            return found
    return written


def _subschema(root: Json, path: list[str | int]) -> Json:
    """The subschema that contains the keyword at the end of `path`."""
    for step in path[:-1]:
        if isinstance(root, dict):
            root = root.get(str(step))
        elif isinstance(root, list) and isinstance(step, int) and step < len(root):
            root = root[step]
        else:
            return None
    return root


_BACKTRACKS = 20_000
_REGEX_BYTES = 1 << 20
_MOST_FAULTS = 200

_DIALECTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)

DEPTH_OF_VALUES = 512
"""The deepest values that the library gets: it crashes the process at a depth of 30,000; the JSON reader stops here."""

DEPTH_OF_SCHEMAS = 120
"""The deepest schemas that the library gets: it refuses more than 255 containers, and its meta-schemas need some."""

_LONE = "a string in it contains an unpaired surrogate, which is not valid Unicode"


class Validator(Protocol):
    """The part of a jsonschema-rs validator that is used. Both methods raise ValueError for a value that it refuses."""

    def is_valid(self, instance: Any) -> bool:
        """Whether a value fits the schema."""
        ...

    def iter_errors(self, instance: Any) -> Iterator[Any]:
        """The errors of a value, one for each way in which it does not fit."""
        ...


class SchemaFaults(Struct, frozen=True):
    """Why there is no validator for a schema: the places where it breaks its meta-schema, else the library's message.

    `unresolved` is the message on a reference or a dialect that it does not know, `refused` that on anything else.
    """

    paths: tuple[Path, ...] = ()
    unresolved: str = ""
    refused: str = ""


def build(schema: Json) -> Validator | SchemaFaults:
    """A validator for a screened schema (an object or boolean), or the reasons why there is none."""
    import jsonschema_rs  # noqa: PLC0415  # 29 ms that only a request with tools needs

    try:
        return _validator(schema, formats=False)
    except jsonschema_rs.ValidationError as error:
        if type(error.kind).__name__ == "Referencing":
            return SchemaFaults(unresolved=_first_line(error))
        meta = _meta_validator(_dialect(schema))
        errors = (error, *islice(meta.iter_errors(schema), _MOST_FAULTS))
        return SchemaFaults(tuple(dict.fromkeys(tuple(one.instance_path) for one in errors)))
    except ValueError as error:
        return SchemaFaults(refused=_first_line(error))


def build_for_formats(schema: Json) -> Validator:
    """A validator that checks `format` too, for a schema that `build` accepts."""
    return _validator(schema, formats=True)


def _validator(schema: Json, *, formats: bool) -> Validator:
    import jsonschema_rs  # noqa: PLC0415  # 29 ms that only a request with tools needs

    options = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_BACKTRACKS, size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
    )
    validator: Validator = jsonschema_rs.validator_for(
        schema,  # type: ignore[arg-type]  # screened: an object or boolean
        validate_formats=formats,
        ignore_unknown_formats=True,
        pattern_options=options,
        offline=True,
    )
    return validator


def _first_line(error: Exception) -> str:
    line = str(error).partition("\n")[0]
    return line if len(line) <= 300 else line[:299] + "…"


@lru_cache(maxsize=16)
def _meta_validator(dialect: str) -> Validator:
    return _validator({"$schema": dialect, "$ref": dialect}, formats=False)


def _dialect(schema: Json) -> str:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    known = (one for one in _DIALECTS if isinstance(named, str) and one.rstrip("#") == named.rstrip("#"))
    return next(known, _DIALECTS[-1])


class UnsafePart(Struct, frozen=True):
    """The first part that must not be passed on: its path, and the reason."""

    path: tuple[str | int, ...]
    why: str


def unsafe_part(value: Json, *, deepest: int = DEPTH_OF_VALUES, largest: int = 5_000_000) -> UnsafePart | None:
    """The first part of `value`, level by level, that must not reach the library; None if all may."""
    level: list[tuple[tuple[str | int, ...], Json]] = [((), value)]
    seen = 1
    for _ in range(deepest + 1):
        below: list[tuple[tuple[str | int, ...], Json]] = []
        for path, node in level:
            why = _refused(node)
            if why:
                return UnsafePart(path, why)
            inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
            below += [((*path, key), inner) for key, inner in inside if not _is_plain(inner)]
            seen += len(node) if isinstance(node, dict | list) else 0
            if seen > largest:
                return UnsafePart((), f"it contains more than {largest:,} values")
        if not below:
            return None
        level = below
    return UnsafePart((), f"it is nested deeper than {deepest} levels")


def _is_plain(node: Json) -> bool:
    """Whether a value is surely safe, as most are: then its path need not be built."""
    return node.isascii() if isinstance(node, str) else node is None or isinstance(node, int)


def _refused(node: Json) -> str | None:
    if isinstance(node, str):
        return None if node.isascii() or not _has_lone_surrogate(node) else _LONE
    if isinstance(node, dict):
        return None if "".join(node).isascii() or not any(map(_has_lone_surrogate, node)) else _LONE
    if isinstance(node, float) and not math.isfinite(node):
        return "a number in it is infinite or NaN"
    if isinstance(node, Decimal):
        return "a number in it has more than 4,300 digits"
    return None


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
