"""Whether a result is an error, how sure that is, and in which words: by flag, by structure, or by its words only."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from inspector.chain.error_words import error_line, exit_code
from inspector.chain.steps import Certainty
from inspector.model import ToolResult

_WRAPS = 4  # results come wrapped: a template's {"name", "content"}, an API's blocks, a server's own envelope
_ENVELOPE = ("content", "output", "result", "response", "data", "text")
_WORDS = ("error", "errors", "message", "detail", "details", "reason", "stderr", "error_message", "content", "output")
_EXIT_CODES = ("exit_code", "exitCode", "exit_status", "returncode", "return_code", "rc")
_HTTP_CODES = ("status", "status_code", "statusCode", "http_status", "code")
_TELLING = frozenset((*_EXIT_CODES, *_HTTP_CODES, "isError", "is_error", "error", "errors", "metadata")) | {
    *("success", "ok", "succeeded"),
}
_FAILED = frozenset({"error", "failed", "failure", "fail", "timeout", "timed_out"})
_NOTHING = frozenset({"", "none", "null", "false", "ok", "0", "no error", "success"})
_OPENS = re.compile(r"\s*[\[{]")


@dataclass(frozen=True, slots=True)
class ErrorFound:
    """That a result is an error: how sure it is, the words that say so (`""` where it has none), its exit code."""

    certainty: Certainty
    words: str
    exit_code: int | None = None


def find_error(result: ToolResult) -> ErrorFound | None:
    """What makes `result` an error; None where nothing does. Linear in its length, and never raises."""
    layers = list(_layers(result.content))
    for layer in layers:
        found = _structured(layer) if isinstance(layer, Mapping) else None
        if found is not None:
            return ErrorFound(Certainty.FLAGGED, found.words) if result.is_error else found
        if isinstance(layer, Mapping) and _succeeded(layer) and not result.is_error:
            return None
    text = next((layer for layer in reversed(layers) if isinstance(layer, str)), "")
    if result.is_error:
        return ErrorFound(Certainty.FLAGGED, error_line(text) or text.strip())
    code = exit_code(text)
    if code is not None:
        return ErrorFound(Certainty.STRUCTURED, error_line(text) or f"exit code {code}", code) if code else None
    said = error_line(text)
    return ErrorFound(Certainty.TEXTUAL, said) if said is not None else None


def is_empty(result: ToolResult) -> bool:
    """Whether a result holds nothing: no text, or null, `""`, `{}` or `[]`, also within a template's wrapper."""
    if len(result.content) > 10_000:
        return False
    layers = list(_layers(result.content))
    if any(isinstance(layer, Mapping) and _succeeded(layer) for layer in layers):
        return False
    last = layers[-1].strip() if isinstance(layers[-1], str) else layers[-1]
    return last is None or last in ("", [], {})


def _layers(content: str) -> Iterator[Any]:
    """A result's text, and what it holds one within the other: JSON in text, the body in an envelope."""
    value: Any = content
    yield value
    for _ in range(2 * _WRAPS):
        if isinstance(value, str):
            inner = _decoded(value)
            if inner is _UNREADABLE:
                return
        else:
            inner = _body(value)
            if inner is _UNREADABLE:
                return
        value = inner
        yield value


_UNREADABLE = object()


def _decoded(text: str) -> Any:
    if not _OPENS.match(text) and text.strip() not in ("null", '""'):
        return _UNREADABLE
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _UNREADABLE


def _body(value: Any) -> Any:
    """What an envelope holds: of an object the one field for it, of a list of content blocks the first text."""
    if isinstance(value, dict):
        return next((value[key] for key in _ENVELOPE if key in value), _UNREADABLE)
    if isinstance(value, list) and value and isinstance(value[0], dict) and value[0].get("type") == "text":
        return value[0].get("text", _UNREADABLE)
    return _UNREADABLE


def _structured(fields: Mapping[str, Any]) -> ErrorFound | None:
    if _TELLING.isdisjoint(fields):
        return None
    if any(fields.get(key) is True for key in ("isError", "is_error", "error")):
        return ErrorFound(Certainty.FLAGGED, _words(fields))
    if _names_an_error(fields) or _has_bad_code(fields) or _has_bad_status(fields):
        return ErrorFound(Certainty.STRUCTURED, _words(fields), next(filter(None, _exit_codes(fields)), None))
    return None


def _names_an_error(fields: Mapping[str, Any]) -> bool:
    error, errors = fields.get("error"), fields.get("errors")
    if isinstance(error, str) and error.strip().lower() not in _NOTHING:
        return True
    if isinstance(errors, str) and errors.strip().lower() not in _NOTHING:
        return True
    return any(isinstance(one, dict | list) and bool(one) for one in (error, errors))


def _has_bad_code(fields: Mapping[str, Any]) -> bool:
    if any(_exit_codes(fields)):
        return True
    return any(
        400 <= (_integer(fields.get(key)) or 0) < 600 and (key != "code" or "message" in fields) for key in _HTTP_CODES
    )


def _has_bad_status(fields: Mapping[str, Any]) -> bool:
    if any(fields.get(key) is False for key in ("success", "ok", "succeeded")):
        return True
    status = fields.get("status")
    if not isinstance(status, str) or status.strip().lower() not in _FAILED:
        return False
    # A build that failed is an answer; a call that failed says why, or nothing else.
    return status.lower() == "error" or len(fields) == 1 or any(key in fields for key in _WORDS)


def _succeeded(fields: Mapping[str, Any]) -> bool:
    if _TELLING.isdisjoint(fields):
        return False
    return 0 in _exit_codes(fields) or any(fields.get(key) is True for key in ("success", "ok"))


def _exit_codes(fields: Mapping[str, Any]) -> list[int | None]:
    """The exit codes that an object states itself or in its `metadata`."""
    nested = fields.get("metadata")
    places = (fields, nested) if isinstance(nested, dict) else (fields,)
    return [_integer(place.get(key)) for place in places for key in _EXIT_CODES]


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _words(fields: Mapping[str, Any]) -> str:
    for key in _WORDS:
        said = _text_of(fields.get(key))
        if said:
            return error_line(said) or said
    code = next(((key, fields[key]) for key in (*_EXIT_CODES, *_HTTP_CODES) if fields.get(key)), None)
    return f"{code[0]} {code[1]}" if code else ""


def _text_of(value: Any, depth: int = 4) -> str:
    """The first words that an error's value holds."""
    if isinstance(value, str):
        return value.strip()[:2_000]
    if depth and isinstance(value, list) and value:
        return _text_of(value[0], depth - 1)
    if depth and isinstance(value, dict):
        named = (value[key] for key in ("message", "error", "detail", "reason", "text", "type", "code") if key in value)
        return next((said for one in named if (said := _text_of(one, depth - 1))), "")
    return ""
