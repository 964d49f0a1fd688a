"""Numbers that JSON has no word for, or that its readers cannot bear, made portable and back."""

import math
from decimal import Decimal

from inspector.model import Json
from inspector.trace_file.lines import Number

_KEY = "weaklink_number"


def number(value: float) -> Number:
    """A float as the file holds it."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def portable(value: Json) -> Json:
    """A JSON value without numbers that readers refuse: such a one becomes `{"weaklink_number": "1E+5000"}`.

    An object that looks like that already is wrapped once more, so that `original` gives back every value.
    """
    match value:
        case Decimal():
            return {_KEY: str(value)}
        case float() if not math.isfinite(value):
            return {_KEY: str(number(value))}
        case list():
            return [portable(item) for item in value]
        case dict() if value.keys() == {_KEY}:
            return {_KEY: {_KEY: portable(value[_KEY])}}
        case dict():
            return {key: portable(item) for key, item in value.items()}
    return value


def original(value: Json) -> Json:
    """The value that `portable` was given; decimal.InvalidOperation for a `weaklink_number` that is none."""
    match value:
        case list():
            return [original(item) for item in value]
        case {"weaklink_number": str(digits), **rest} if not rest:
            return float(digits) if digits in {"NaN", "Infinity", "-Infinity"} else Decimal(digits)
        case {"weaklink_number": {"weaklink_number": inner, **more}, **rest} if not rest and not more:
            return {_KEY: original(inner)}
        case dict():
            return {key: original(item) for key, item in value.items()}
    return value
