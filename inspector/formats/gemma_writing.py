"""Writes Gemma's dicts as the templates do, and says which calls they can hold."""

import re
from collections.abc import Iterator
from decimal import Decimal

from inspector.formats.python_call.writing import is_shallow
from inspector.formats.writing import is_finite
from inspector.model import Json, ToolCall

_NAME = re.compile(r"[\w.\-/]+")
_KEY = re.compile(r"[^\s:,{}\[\]<>\"']+")


def is_gemma_value(value: Json, delimiter: str) -> bool:
    """Whether a dict can hold the value: no string may hold a delimiter that would end it, no number be unknown."""
    written = re.escape(delimiter)
    ends = re.compile(rf"{written}\s*(?:[,}}\]:]|\Z|[\w.\-]{{1,64}}\s*:)|,\s*[\w.\-]{{1,64}}\s*:\s*(?:{written}|\Z)")
    pending = [value]
    while pending:
        match pending.pop():
            case str() as text if ends.search(text):
                return False
            case dict() as members:
                pending += (*members.values(), *members)
            case list() as items:
                pending += items
    return is_finite(value)


def is_gemma_call(call: ToolCall, delimiter: str) -> bool:
    """Whether a model with these delimiters can write the call: no id, a name of one word, plain values."""
    if call.id is not None or not call.name or not isinstance(call.arguments, dict) or not _NAME.fullmatch(call.name):
        return False
    return is_shallow(call.arguments) and is_gemma_value(call.arguments, delimiter)


def gemma_text(value: Json, delimiter: str) -> str:
    """A value as the template writes it; keys that cannot stand bare are delimited like strings."""
    return "".join(_pieces(value, delimiter))


def _pieces(root: Json, delimiter: str) -> Iterator[str]:
    waiting: list[tuple[str, Json]] = [("", root)]
    while waiting:
        text, value = waiting.pop()
        if text:
            yield text
            continue
        match value:
            case dict():
                steps = [
                    step for key, one in value.items() for step in ((f",{_key(key, delimiter)}:", None), ("", one))
                ]
                waiting += reversed([("{", None), *_without_comma(steps), ("}", None)])
            case list():
                steps = [step for one in value for step in ((",", None), ("", one))]
                waiting += reversed([("[", None), *_without_comma(steps), ("]", None)])
            case str():
                yield f"{delimiter}{value}{delimiter}"
            case bool() | None:
                yield {True: "true", False: "false", None: "null"}[value]
            case float():
                yield repr(value)
            case _:
                yield format(Decimal(value), "f")


def _key(key: str, delimiter: str) -> str:
    return key if _KEY.fullmatch(key) else f"{delimiter}{key}{delimiter}"


def _without_comma(steps: list[tuple[str, Json]]) -> list[tuple[str, Json]]:
    first = steps[0][0].removeprefix(",") if steps else ""
    return [*([(first, None)] if first else []), *steps[1:]]
