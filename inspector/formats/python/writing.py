"""Writes a call in Python's syntax; decides which calls that syntax can express, and whether a text is Python code."""

import ast
import keyword
import re
import warnings
from collections.abc import Callable
from decimal import Decimal

from weaklink.inspector.formats.json.call_shape import is_finite, is_shallow, json_of
from weaklink.inspector.json_text import nested_text, object_of
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.scanning import lazy_pattern

_DOTTED = lazy_pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_IDENTIFIER = lazy_pattern(r"[^\W\d]\w*")
_SHELL_LINE = lazy_pattern(r"^([ \t]*)[!%].*$", re.MULTILINE)
_MAX_CODE_CHARS = 20_000
WriteValue = Callable[[Json], str]


def write_call(call: ToolCall, write_value: WriteValue | None = None) -> str:
    """The call with its arguments as `name=value`; values are Python literals unless `write_value` writes them."""
    write = write_value or python_value
    return f"{call.name}({', '.join(f'{name}={write(value)}' for name, value in object_of(call.arguments).items())})"


def is_python_call(call: ToolCall) -> bool:
    """Whether Python's syntax can express the call: names that Python allows, finite numbers, no id."""
    if call.id is not None or not call.name or not isinstance(call.arguments, dict):
        return False
    are_names = all(_IDENTIFIER.fullmatch(name) and not keyword.iskeyword(name) for name in call.arguments)
    if not _DOTTED.fullmatch(call.name) or not are_names:
        return False
    return is_finite(call.arguments) and is_shallow(call.arguments)


def is_python_code(text: str) -> bool:
    """Whether an interpreter could run the code: apart from lines with shell and magic commands, it parses as Python.

    Code beyond 20,000 characters is not parsed and counts as Python. So does a syntax error in an f-string, since
    Python 3.12 allows more in it than the Python that runs this may support.
    """
    if len(text) > _MAX_CODE_CHARS:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            ast.parse(_SHELL_LINE.sub(r"\g<1>pass", text))
    except SyntaxError as error:
        return "f-string" in str(error)
    except (ValueError, MemoryError, RecursionError):
        return False
    return True


def python_value(value: Json) -> str:
    """A value as a Python literal."""
    return nested_text(value, _scalar, lambda key: f"{key!r}: ")


def json_in_dicts(value: Json) -> str:
    """A value as a Python literal, or as JSON if it is a dict, as in LFM2's template."""
    return json_of(value) if isinstance(value, dict) else python_value(value)


def _scalar(value: float | str | Decimal | None) -> str:
    return repr(value) if isinstance(value, bool | None | str | float) else format(Decimal(value), "f")
