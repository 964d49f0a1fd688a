"""Finds a probe's call in a rendered turn, and what is around its name and its values.

A rendering is compared with what is known of its call: where the whole call is JSON, it decodes to an object with the
name and the arguments; where only the arguments are, the name is in a header before them; else each value has a text
between it and its name, and the texts that two parameters share are the tags.
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from weaklink.inspector.chat_templates.probes import KEY_A, KEY_B, VALUE_A, VALUE_B, ProbeCall
from weaklink.inspector.formats.format_table import CallTags
from weaklink.inspector.formats.json.call_shape import CallKeys
from weaklink.inspector.model import Json
from weaklink.inspector.text import shared_prefix, shared_suffix

MARKER = re.compile(r"<[^<>\s][^<>\n]{0,80}>|\[/?[A-Z_]{3,40}\]|[✿◁][^✿▷\n]{1,30}[✿▷]|```\w*")
_DECODER = json.JSONDecoder()


class ShapeOfCall(Struct, frozen=True):
    """How one call is written, at `start` to `end` of a text; markers around it are not part of it."""

    kind: Literal["json", "named", "tags", "python"]
    start: int
    end: int
    keys: CallKeys = CallKeys()
    header: str = ""
    tags: CallTags | None = None
    id: bool = False


def shape_of_call(text: str, call: ProbeCall, call_id: str, start: int = 0) -> ShapeOfCall | None:
    """The shape of this call in `text` from `start` on; None if it is none of the known ones."""
    name = text.find(call.name, start)
    if name < 0:
        return None
    return (
        _json_shape(text, call, call_id, start, name)
        or _named_shape(text, call, call_id, start, name)
        or _python_shape(text, call, start, name)
        or _tags_shape(text, call, start, name)
    )


def _json_shape(text: str, call: ProbeCall, call_id: str, start: int, name: int) -> ShapeOfCall | None:
    brace = text.find("{", start, name)
    while brace >= 0:
        value, end = _decoded(text, brace)
        if isinstance(value, dict) and end > name:
            by_value = {json.dumps(item): key for key, item in value.items()}
            name_key, arguments_key = by_value.get(json.dumps(call.name)), by_value.get(json.dumps(call.arguments))
            if name_key is None or arguments_key is None:
                return None
            id_key = by_value.get(json.dumps(call_id))
            return ShapeOfCall(
                "json", brace, end, CallKeys(name_key, arguments_key, id_key or ""), id=id_key is not None
            )
        brace = text.find("{", brace + 1, name)
    return None


def _named_shape(text: str, call: ProbeCall, call_id: str, start: int, name: int) -> ShapeOfCall | None:
    brace = text.find("{", name)
    value, end = _decoded(text, brace) if brace >= 0 else (None, 0)
    if value != call.arguments:
        return None
    first = _header_start(text, start, name)
    identity = text.rfind(call_id, start, brace)
    if start <= identity < name and call_id not in call.name:
        first = min(first, _header_start(text, start, identity))
    header = text[first:brace]
    if call.name not in call_id:
        header = header.replace(call_id, "{id}")
    header = re.sub(r"(functions\.\{name\}:)\d+", r"\1{index}", header.replace(call.name, "{name}"))
    return ShapeOfCall("named", first, end, header=header, id="{id}" in header)


def _header_start(text: str, start: int, end: int) -> int:
    """Where the header begins: after the last marker before the name, or in a tag that contains the name."""
    ends = [match.end() for match in MARKER.finditer(text, start) if match.end() <= end]
    opened = text.rfind("<", start, end)
    if opened >= max(ends, default=start) and ">" not in text[opened:end]:
        return opened
    line = text.rfind("\n", start, end) + 1
    after = max(max(ends, default=start), start, line)
    return after + len(text[after:end]) - len(text[after:end].lstrip())


def _decoded(text: str, start: int) -> tuple[Json, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0


def _python_shape(text: str, call: ProbeCall, start: int, name: int) -> ShapeOfCall | None:
    end = name + len(call.name)
    if text[end : end + 1] != "(":
        return None
    close = text.find(")", text.find(VALUE_B, end)) + 1
    written = text[end:close]
    if not close or re.search(rf"{KEY_A}\s*=\s*[\"']{VALUE_A}[\"'],\s*{KEY_B}\s*=", written) is None:
        return None
    return ShapeOfCall("python", name, close)


def _tags_shape(text: str, call: ProbeCall, start: int, name: int) -> ShapeOfCall | None:
    ranges = list(_in_order(text, (call.name, KEY_A, VALUE_A, KEY_B, VALUE_B), name))
    if len(ranges) != 5:
        return None
    between = [text[first.end : second.start] for first, second in pairwise(ranges)]
    to_key, after_key, to_next, after_next = between
    rest = text[ranges[-1].end :]
    if after_key != after_next:
        return None
    parameter = _tail(common_end(to_key, to_next))
    value_end = _whole_tags(common_start(to_next.removesuffix(parameter), rest))
    if not parameter or not value_end.strip():
        return None
    own_lines = value_end.startswith("\n") and after_key.endswith("\n")
    first = text.rfind("<", start, name)
    before_name = text[first:name] if first >= 0 and ">" not in text[first:name] else ""
    tags = CallTags(
        before_name=before_name,
        after_name=to_key.removesuffix(parameter),
        parameter=parameter,
        after_parameter=after_key.removesuffix("\n") if own_lines else after_key,
        value_end=to_next.removesuffix(parameter).removeprefix("\n") if own_lines else to_next.removesuffix(parameter),
        own_lines=own_lines,
    )
    length = len(to_next.removesuffix(parameter))
    end = ranges[-1].end + len(common_start(text[ranges[-1].end :][:length], to_next))
    return ShapeOfCall("tags", name - len(before_name), end, tags=tags)


class _Place(Struct, frozen=True):
    start: int
    end: int


def _in_order(text: str, words: tuple[str, ...], position: int) -> Iterator[_Place]:
    for word in words:
        start = text.find(word, position)
        if start < 0:
            return
        position = start + len(word)
        yield _Place(start, position)


def _tail(text: str) -> str:
    """The end of a text from the last beginning of a tag on, without white space before it."""
    start = text.rfind("<")
    if start < 0:
        return ""
    return text[start:]


def _whole_tags(text: str) -> str:
    """A text up to its last whole tag."""
    return text[: text.rfind(">") + 1]


def common_start(first: str, other: str) -> str:
    """The longest common beginning of two texts."""
    return first[: shared_prefix(first, other)]


def common_end(first: str, other: str) -> str:
    """The longest common end of two texts."""
    return first[len(first) - shared_suffix(first, other, min(len(first), len(other))) :]
