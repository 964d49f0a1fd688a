"""JSON texts of the wire, read and written where the fast typed reader refuses."""

import json

from inspector.memory import SMALL_JSON, check_json
from inspector.model import Json

TOO_DEEP = '"(nested too deeply to be written)"'


def parse_json(text: str) -> Json:
    """Any JSON value, lone surrogates and non-finite numbers included.

    ValueError for a text that is none, or that Python bears not: nested deeper than its recursion limit, an integer
    of more than 4,300 digits, or more memory than `RECORD_MEMORY`.
    """
    if len(text) > SMALL_JSON:
        check_json(text.encode("utf-8", "surrogatepass"))
    try:
        value: Json = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def compact_json(value: Json) -> str:
    """A value as JSON without spaces; `TOO_DEEP` in place of one that is nested near Python's recursion limit."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except RecursionError:
        return TOO_DEEP
