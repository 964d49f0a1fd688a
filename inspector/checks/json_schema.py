"""The one place that runs JSON Schema, within bounds for hostile schemas: it builds validators by jsonschema-rs.

Nothing is fetched (`offline`). Patterns run in a regular-expression engine that is linear, or limited where look-around
forces it to backtrack. Schemas and values that are too deep, too large or hold what the library refuses never reach it.

jsonschema-rs decides, and explains too. jsonschema would explain as well, but it runs a schema's patterns in Python's
`re`, where `^(a+)+$` takes seconds on 28 characters, and it would walk the value a second time, fifteen times slower;
so it is the second opinion of the tests alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from inspector.checks.schema_problems import Path
from inspector.model import Json

_BACKTRACKS = 20_000
_REGEX_BYTES = 1 << 20
_MOST_FAULTS = 200


class Validator(Protocol):
    """As much of a jsonschema-rs validator as is used. Both raise ValueError for a value that it refuses."""

    def is_valid(self, instance: Any) -> bool:
        """Whether a value fits the schema."""
        ...

    def iter_errors(self, instance: Any) -> Iterator[Any]:
        """How it does not, an error each."""
        ...


@dataclass(frozen=True, slots=True)
class SchemaFaults:
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
