"""The only module that runs JSON Schema, within bounds for hostile schemas and values, by jsonschema-rs.

Nothing is fetched (`offline`). Patterns run in a regular-expression engine that is linear, or limited where
look-around
forces it to backtrack. Schemas and values that are too deep, too large or hold what the library refuses never reach
it.

jsonschema-rs decides, and explains too. jsonschema would explain as well, but it runs a schema's patterns in Python's
`re`, where `^(a+)+$` takes seconds on 28 characters, and it would walk the value a second time, fifteen times slower;
so it is the second opinion of the tests alone.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from msgspec import Struct

from inspector.checks.schema_problems import Path
from inspector.model import Json

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
"""The library crashes the process at a depth of 30,000; the JSON reader stops at this one."""

DEPTH_OF_SCHEMAS = 120
"""The library refuses schemas that nest deeper than 255 containers, and its meta-schemas cost some of the stack."""

_LONE = "a text in it holds half a surrogate pair, which is no Unicode text"


class Validator(Protocol):
    """As much of a jsonschema-rs validator as is used. Both raise ValueError for a value that it refuses."""

    def is_valid(self, instance: Any) -> bool:
        """Whether a value fits the schema."""
        ...

    def iter_errors(self, instance: Any) -> Iterator[Any]:
        """How it does not, an error each."""
        ...


class SchemaFaults(Struct, frozen=True):
    """Why there is no validator for a schema: the places where it breaks its meta-schema, else the library's words.

    `unresolved` are those on a reference or a dialect that it does not know, `refused` those on anything else.
    """

    paths: tuple[Path, ...] = ()
    unresolved: str = ""
    refused: str = ""


def build(schema: Json) -> Validator | SchemaFaults:
    """A validator for a schema that is screened: an object or boolean."""
    import jsonschema_rs  # noqa: PLC0415  # 29 ms that only a request with tools needs

    try:
        return _validator(schema, formats=False)
    except jsonschema_rs.ValidationError as error:
        if type(error.kind).__name__ == "Referencing":
            return SchemaFaults(unresolved=_first_line(error))
        meta = _meta_validator(_dialect(schema))
        told = (error, *islice(meta.iter_errors(schema), _MOST_FAULTS))
        return SchemaFaults(tuple(dict.fromkeys(tuple(one.instance_path) for one in told)))
    except ValueError as error:
        return SchemaFaults(refused=_first_line(error))


def build_for_formats(schema: Json) -> Validator:
    """A validator that looks at `format` too, for a schema that `build` takes."""
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
    """The first part that must not be passed on, by its path, and why."""

    path: tuple[str | int, ...]
    why: str


def unsafe_part(value: Json, *, deepest: int = DEPTH_OF_VALUES, largest: int = 5_000_000) -> UnsafePart | None:
    """The first part of `value`, level by level, that must not reach the library; None where all may."""
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
                return UnsafePart((), f"it holds more than {largest:,} values")
        if not below:
            return None
        level = below
    return UnsafePart((), f"it nests deeper than {deepest} levels")


def _is_plain(node: Json) -> bool:
    """What is surely safe, and mostly comes: spared the way that its place would take."""
    return node.isascii() if isinstance(node, str) else node is None or isinstance(node, int)


def _refused(node: Json) -> str | None:
    if isinstance(node, str):
        return None if node.isascii() or not _has_lone_surrogate(node) else _LONE
    if isinstance(node, dict):
        return None if "".join(node).isascii() or not any(map(_has_lone_surrogate, node)) else _LONE
    if isinstance(node, float) and not math.isfinite(node):
        return "a number in it is beyond what numbers can hold, or none"
    if isinstance(node, Decimal):
        return "a number in it has more than 4,300 digits"
    return None


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
