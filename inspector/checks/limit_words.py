"""The words for values beyond a limit of their schema, and for types."""

from collections.abc import Sequence

from inspector.checks.violation import Violation
from inspector.checks.wording import shown
from inspector.model import Json

_SIZED = (str, list, dict)
_LIMITS = {
    "minimum": "{got} is too small; expected at least {limit}.",
    "maximum": "{got} is too large; expected at most {limit}.",
    "exclusiveMinimum": "{got} is too small; expected more than {limit}.",
    "exclusiveMaximum": "{got} is too large; expected less than {limit}.",
    "multipleOf": "{got} is not a multiple of {limit}.",
    "minLength": "{got} is too short: {size} characters, expected at least {limit}.",
    "maxLength": "{got} is too long: {size} characters, expected at most {limit}.",
    "pattern": "{got} does not match the pattern {limit}.",
    "minItems": "{got} has too few items: {size}, expected at least {limit}.",
    "maxItems": "{got} has too many items: {size}, expected at most {limit}.",
    "additionalItems": "{got} has too many items: {size}, expected at most {limit}.",
    "uniqueItems": "{got} holds the same item twice.",
    "contains": "{got} does not hold the items that the schema asks for (`contains`).",
    "minProperties": "{got} has too few members: {size}, expected at least {limit}.",
    "maxProperties": "{got} has too many members: {size}, expected at most {limit}.",
    "unevaluatedItems": "{got} holds items that the schema does not allow.",
    "falseSchema": "{got} is not allowed: the schema takes no value here.",
    "not": "{got} is what the schema excludes (`not`).",
    "schema": "The value does not fit the schema, which is too large to say where.",
}


def limit_words(one: Violation, got: Json) -> str:
    """The sentence for a violation of a limit by the value `got`."""
    limit = one.limit
    words = _LIMITS.get(one.keyword)
    if words is not None:
        return words.format(got=shown(got), limit=shown(limit), size=len(got) if isinstance(got, _SIZED) else 0)
    if one.keyword == "propertyNames" and one.alternatives:
        return f"The name {shown(limit)} is not one that a member of this object may have."
    if one.keyword in ("oneOf", "anyOf"):
        return f"{shown(got)} fits several of the alternatives of `oneOf`; expected exactly one."
    return f"{shown(got)} does not fit the schema (`{one.keyword}`)."


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
