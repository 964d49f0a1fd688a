r"""The only module that runs JSON Schema libraries, within bounds for hostile schemas and values.

Arguments are decided and explained by jsonschema-rs: a validator says whether a value fits, and if it does not,
`violations` lists where, by keyword. Healthy calls load nothing else.

    {"city": 5}  ->  Violation("type", path=("city",), limit=["string"], schema=<the object that has `type`>)

Definitions of tools are judged by jsonschema and referencing, which take 150 ms to load and are needed only for a
schema that jsonschema-rs rejects, or whose references are no plain pointers: `meta_schema_errors` lists where a schema
breaks its meta-schema and what is expected there (by `best_match`), `References` resolves `$ref`, `$id` and anchors.

    {"minimum": "5"}  ->  {("minimum",): "a number"}

jsonschema does not explain arguments. It runs their patterns in Python's `re`, where `^(a+)+$` takes seconds on 28
characters and `\p{L}` is an error; it calls 0.07 no multiple of 0.01; it compares 1,500 objects for `uniqueItems` in
two seconds; the names of missing and surplus members are only in its English sentences; and of a value that is refused
by `false`, its path lacks the last step. The patterns of meta-schemas are harmless, and `uniqueItems` is left out.

Nothing is fetched. Schemas and values that are too deep, too large or contain what the libraries refuse never reach
them (`unsafe_part`).
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from msgspec import Struct

from weaklink.inspector.checks.wording import either, quoted
from weaklink.inspector.model import Json

Path = tuple[str | int, ...]
"""Keys and indexes from a schema's root, or a value's, to a place in it."""

DEPTH_OF_VALUES = 512
"""The deepest values that the library gets: it crashes the process at a depth of 30,000; the JSON reader stops here."""

DEPTH_OF_SCHEMAS = 120
"""The deepest schemas that the library gets: it refuses more than 255 containers, and its meta-schemas need some."""

_BACKTRACKS = 20_000
_REGEX_BYTES = 1 << 20
_MAX_META_ERRORS = 200
_MALFORMED = (AttributeError, TypeError, ValueError)  # what referencing and urllib raise for what is no schema or URI
_LONE = "a string in it contains an unpaired surrogate, which is not valid Unicode"


class Validator(Protocol):
    """The part of a jsonschema-rs validator that is used. Both methods raise ValueError for a value that it refuses."""

    def is_valid(self, instance: Any) -> bool:
        """Whether a value fits the schema."""
        ...

    def iter_errors(self, instance: Any) -> Iterator[Any]:
        """The errors of a value, one for each way in which it does not fit."""
        ...


class RejectedSchemaError(Exception):
    """jsonschema-rs rejects a schema: its reason in one line, and the path of the value that it rejects, if any."""

    def __init__(self, error: Exception, path: Path = ()) -> None:
        line = str(error).partition("\n")[0]
        super().__init__(line if len(line) <= 300 else line[:299] + "…")
        self.path = path


def build(schema: Json, *, formats: bool = False) -> Validator:
    """A validator for a screened schema (an object or boolean), which checks `format` only if `formats`.

    Raises RejectedSchemaError.
    """
    import jsonschema_rs  # noqa: PLC0415  # 29 ms that only a request with tools needs

    patterns = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_BACKTRACKS, size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
    )
    try:
        validator: Validator = jsonschema_rs.validator_for(
            schema,  # type: ignore[arg-type]  # screened: an object or boolean
            validate_formats=formats,
            ignore_unknown_formats=True,
            pattern_options=patterns,
            offline=True,
        )
    except jsonschema_rs.ValidationError as error:
        raise RejectedSchemaError(error, tuple(error.instance_path)) from error
    except ValueError as error:
        raise RejectedSchemaError(error) from error
    return validator


def is_accepted(schema: Json) -> bool:
    """Whether `build` makes a validator for a screened schema."""
    try:
        build(schema)
    except RejectedSchemaError:
        return False
    return True


class Violation(Struct, frozen=True):
    """One way in which a value violates its schema: the keyword, the path of the value, and the limit.

    `limit` is the keyword's own value, or for `required` the missing name, for the `additional` and `unevaluated`
    keywords the surplus names or indexes, for `type` the list of types. `schema` is the subschema that contains the
    keyword. `alternatives` are the violations of each branch of `anyOf` and `oneOf`.
    """

    keyword: str
    path: Path
    limit: Json
    schema: Json = None
    alternatives: tuple[tuple["Violation", ...], ...] = ()


def violations(validator: Validator, value: Json, schema: Json, most: int) -> Iterator[Violation]:
    """At most so many violations of `schema` by `value`. Raises ValueError for a value that the library refuses."""
    return (_violation(error, schema) for error in islice(validator.iter_errors(value), most))


def _violation(error: Any, root: Json) -> Violation:
    """An error of jsonschema-rs, whose `kind` names the keyword."""
    kind = error.kind
    keyword, facts = kind.name, kind.as_dict()
    path: Path = tuple(error.instance_path)
    schema = value_at(root, error.schema_path[:-1])
    inner = facts.get("error")
    if keyword == "propertyNames" and inner is not None and not isinstance(inner, str):
        return Violation(keyword, path, inner.instance, schema, ((_violation(inner, root),),))
    if type(kind).__name__ in {"BacktrackLimitExceeded", "RegexEngineFailure"}:
        keyword = "backtracking"
    alternatives = tuple(tuple(_violation(error, root) for error in branch) for branch in facts.get("context", ()))
    return Violation(keyword, path, _limit(keyword, facts, schema, error.schema_path), schema, alternatives)


def _limit(keyword: str, facts: dict[str, Any], schema: Json, schema_path: list[str | int]) -> Json:
    word = schema_path[-1] if schema_path else keyword
    written = schema.get(str(word)) if isinstance(schema, dict) else None
    if "limit" in facts and isinstance(written, int | float | Decimal) and not isinstance(written, bool):
        return written  # the validator bounds lengths to 64 bits
    names = ("property", "unexpected", "types", "options", "expected_value", "limit", "multiple_of", "format")
    limit: Json = next((facts[name] for name in names if name in facts), written)
    return limit


def value_at(value: Json, path: Sequence[str | int]) -> Json:
    """The value at the end of `path` within `value`; None if there is none."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def meta_schema_errors(schema: Json) -> dict[Path, str]:
    """The paths at which `schema` breaks the meta-schema of its dialect, each with what is expected there.

    What is expected is "" where it cannot be said in few words. Of a schema that is nested too deep for jsonschema
    only the paths before the limit are listed; `build` reports the first one of any schema.
    """
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]  # noqa: PLC0415  # no types; 150 ms

    expected: dict[Path, str] = {}
    try:
        for error in islice(_meta_validator(schema).iter_errors(schema), _MAX_META_ERRORS):
            expected.setdefault(tuple(error.absolute_path), _expectation(best_match([error])))
    except RecursionError:
        pass
    return expected


def _meta_validator(schema: Json) -> Any:
    from jsonschema import validators  # type: ignore[import-untyped]  # noqa: PLC0415  # no types; 150 ms

    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    asked = {"$schema": dialect} if isinstance(dialect, str) else {}
    library = validators.validator_for(asked, default=validators.Draft202012Validator)
    return _without_unique_items(library)(library.META_SCHEMA)  # refers to meta-schemas, which jsonschema brings


@lru_cache(maxsize=8)
def _without_unique_items(library: Any) -> Any:
    """The validators of a dialect without the keyword that takes quadratic time on a list of objects."""
    from jsonschema import validators  # noqa: PLC0415  # loaded by then

    return validators.extend(library, {"uniqueItems": lambda *_: ()})


def _expectation(error: Any) -> str:
    limit = error.validator_value
    match error.validator:
        case "type":
            return either(limit if isinstance(limit, list) else [limit])
        case "minItems":
            return "at least one item"
        case "minimum":
            return f"at least {limit}"
        case "enum":
            return "one of " + ", ".join(map(quoted, limit))
    return ""


class References:
    """What the references of a screened schema lead to, by referencing; nothing is fetched.

    In a schema that breaks its meta-schema they may lead nowhere.
    """

    def __init__(self, schema: Json) -> None:
        from referencing import Registry  # noqa: PLC0415  # 90 ms that few schemas need

        resource = _resource(schema)
        self._resolvers: dict[int, Any] = {}
        try:
            base = resource.id() or ""
            # Crawled once: a lookup of an id in a registry that is not crawled crawls it, and forgets that.
            self._add(resource, Registry().with_resource(base, resource).crawl().resolver(base))
        except _MALFORMED:
            return

    def __contains__(self, node: Json) -> bool:
        """Whether a value within the schema is a schema itself, and not a constant or an example."""
        return id(node) in self._resolvers

    def target(self, node: Json, reference: str) -> Json:
        """The schema to which the subschema `node` refers; None if there is none within the document."""
        from referencing.exceptions import Unresolvable  # noqa: PLC0415  # loaded by then

        if node not in self:
            return None
        try:
            resolved = self._resolvers[id(node)].lookup(reference)
            target: Json = resolved.contents
            if target not in self and isinstance(target, dict):
                self._add(_resource(target), resolved.resolver)
        except (Unresolvable, *_MALFORMED):
            return None
        return target

    def _add(self, resource: Any, resolver: Any) -> None:
        """Register a schema and all schemas within it, each with the resolver for its base URI."""
        pending = [(resource, resolver)]
        while pending:
            resource, resolver = pending.pop()
            self._resolvers[id(resource.contents)] = resolver
            pending += ((inner, resolver.in_subresource(inner)) for inner in resource.subresources())


def _resource(schema: Json) -> Any:
    from referencing import Resource  # noqa: PLC0415  # 90 ms that few schemas need
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415  # the same

    return Resource.from_contents(schema, default_specification=DRAFT202012)


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
