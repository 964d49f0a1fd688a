"""`weaklink segment --jsonl`: one answer line for each line, in order, whatever the line holds."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import BinaryIO

from inspector.errors import UnknownFormatError
from inspector.formats.detection import detect_format
from inspector.importers.lines import read_lines
from inspector.importers.source import Skipped
from inspector.json_scanner import read_json
from inspector.json_text import write_json
from inspector.model import Json, ToolDefinition
from inspector.rules.json_syntax import DUPLICATE_KEY, TOO_DEEP
from inspector.segmentation import AUTO, Segmentation, Segmenter, segment
from inspector.text import decode
from ui.cli.inputs import tool_definitions
from ui.views.segment_json import segmentation_object

_DETECTED_BY = 65_536
_MOST_DIGITS = 4_300


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for lines that do not say it themselves."""

    format: str = AUTO
    model: str = ""
    prompt: str = ""
    tools: tuple[ToolDefinition, ...] = ()


def answers(lines: BinaryIO, defaults: Defaults) -> Iterator[str]:
    """The answer to each line, as one line of JSON with its line feed; blank lines get none.

    Only one line is held at a time.
    """
    for line in read_lines(lines):
        if isinstance(line, Skipped):
            yield write_json({"id": None, "error": f"{line.record}: {line.reason}"}) + "\n"
        else:
            yield answer(line.raw, defaults)


def answer(line: bytes, defaults: Defaults) -> str:
    """The answer to one line: what `text` or `deltas` hold, or `{"id", "error"}` where the line is no request."""
    id: Json = None
    try:
        request = _request(line)
        id = request.get("id")
        return write_json(segmentation_object(_read(request, defaults), id)) + "\n"
    except (_BadLineError, UnknownFormatError) as error:
        return write_json({"id": id, "error": str(error)}) + "\n"


class _BadLineError(Exception):
    """A line that is no request; its text says why."""


def _request(line: bytes) -> dict[str, Json]:
    text = decode(line).removeprefix("\ufeff").strip(" \t\r\n")
    try:
        value = _JSON.decode(text)
    except json.JSONDecodeError as error:
        raise _BadLineError(f"not JSON: {error.msg} at column {error.colno}") from error
    except ValueError as error:
        raise _BadLineError(f"not JSON: {error}") from error
    except RecursionError:
        value = _deep_value(text)
    if not isinstance(value, dict):
        raise _BadLineError("not a JSON object")
    return value


def _deep_value(text: str) -> Json:
    """A line that nests deeper than the decoder goes, as a tool's schema may: what lies too deep is left out."""
    reading = read_json(text)
    if not reading.nodes or any(fault.rule not in (TOO_DEEP, DUPLICATE_KEY) for fault in reading.faults):
        raise _BadLineError("nested too deep, and not JSON besides")
    return reading.nodes[0].value()


def _read(request: dict[str, Json], defaults: Defaults) -> Segmentation:
    text, deltas = request.get("text"), request.get("deltas")
    if text is not None and deltas is not None:
        raise _BadLineError("both `text` and `deltas` are given; one of them says it all")
    if text is None and deltas is None:
        raise _BadLineError("neither `text` nor `deltas` is given")
    format = _words(request, "format", defaults.format) or AUTO
    model = _words(request, "model", defaults.model)
    prompt = _words(request, "prompt", defaults.prompt)
    tools = _tools(request, defaults)
    if text is not None:
        return segment(_words(request, "text", ""), format, prompt=prompt, tools=tools, model=model)
    return _fed(_pieces(deltas), format, prompt, model, tools)


def _words(request: dict[str, Json], key: str, default: str) -> str:
    value = request.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _BadLineError(f"`{key}` must be a string")
    return value


def _tools(request: dict[str, Json], defaults: Defaults) -> tuple[ToolDefinition, ...]:
    tools = request.get("tools")
    try:
        return defaults.tools if tools is None else tool_definitions(tools)
    except ValueError as error:
        raise _BadLineError(str(error)) from error


def _pieces(deltas: Json) -> list[str]:
    if not isinstance(deltas, list) or not all(isinstance(piece, str) for piece in deltas):
        raise _BadLineError("`deltas` must be a list of strings")
    return [piece for piece in deltas if isinstance(piece, str)]


def _fed(deltas: list[str], format: str, prompt: str, model: str, tools: tuple[ToolDefinition, ...]) -> Segmentation:
    """The deltas fed one by one, as they arrived."""
    whole = "".join(deltas)
    chosen = detect_format(whole[:_DETECTED_BY], model).format if format == AUTO else format
    segmenter = Segmenter(chosen, prompt=prompt, tools=tools)
    for piece in deltas:
        segmenter.feed(piece)
    segmenter.close()
    return segmenter.segmentation(whole)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _MOST_DIGITS else Decimal(digits)


def _no_json_number(word: str) -> Json:
    raise ValueError(f"`{word}` is no JSON number")


_JSON = json.JSONDecoder(parse_int=_integer, parse_constant=_no_json_number)
