"""The words for values beyond a limit of their schema, and for types."""

from collections.abc import Sequence

from inspector.checks.schema_problems import Path
from inspector.checks.violation import Violation
from inspector.checks.wording import pointer, shown
from inspector.model import Json

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
    "uniqueItems": "{got}{where} holds the same item twice.",
    "contains": "{got}{where} does not hold the items that the schema asks for (`contains`).",
    "minProperties": "{got}{where} has too few members: {size}, expected at least {limit}.",
    "maxProperties": "{got}{where} has too many members: {size}, expected at most {limit}.",
    "unevaluatedItems": "{got}{where} holds items that the schema does not allow.",
    "falseSchema": "{got}{where} is not allowed: the schema takes no value here.",
    "not": "{got}{where} is what the schema excludes (`not`).",
    "schema": "The value{where} does not fit the schema, which is too large to say where.",
}


def limit_words(one: Violation, got: Json) -> str:
    """The sentence for a violation of a limit by the value `got`, which names the argument."""
    limit, where = one.limit, argument_words(one.path)
    words = _LIMITS.get(one.keyword)
    if words is not None:
        size = len(got) if isinstance(got, _SIZED) else 0
        return words.format(got=shown(got), where=where, limit=shown(limit), size=size)
    if one.keyword == "propertyNames" and one.alternatives:
        return f"The name {shown(limit)}{where} is not one that a member of this object may have."
    if one.keyword in ("oneOf", "anyOf"):
        return f"{shown(got)}{where} fits several of the alternatives of `oneOf`; expected exactly one."
    return f"{shown(got)}{where} does not fit the schema (`{one.keyword}`)."


def argument_words(path: Path) -> str:
    """The argument at a path as a clause behind its value; empty where the path leads to the arguments themselves."""
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
