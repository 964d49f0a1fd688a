"""Reads and writes the text between the markers of Gemma's function-calling models: calls, results and declarations.

The text is `call:name{...}`, `response:name{...}` or `declaration:name{...}` with a dict of `gemma.dicts`; see its
sources.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.edited_text import Slip, doubled_markers, read_with_slips
from weaklink.inspector.formats.gemma.dicts import GemmaDict, GemmaReader
from weaklink.inspector.formats.json.call_shape import is_finite, is_shallow, values_in
from weaklink.inspector.formats.span_readers import HeadedResultReader, empty_call
from weaklink.inspector.json_scanner.messages import FaultMessage
from weaklink.inspector.json_text import nested_text
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.text import Range, shown

_CALL = lazy_pattern(r"\s*(call[ \t]*:|:)?\s*([^\s{}:,\"'<]+)\s*(?=\{)")
_ARRAY = lazy_pattern(r"\s*(\[)\s*+(?=call[ \t]*:)")
_NEXT_CALL = lazy_pattern(r"\s*[,;]?\s*(call[ \t]*:)\s*([^\s{}:,\"'<]+)\s*(?=\{)")
_DECLARATION = lazy_pattern(r"\s*declaration:\s*([^\s{}:,\"'<]+)\s*(?=\{)")
_IN_PARENTHESES = lazy_pattern(r"\s*call[ \t]*:\s*[\w.\-/]{1,128}(\()[\s\S]*(\))\s*\Z")
_NAMED = lazy_pattern(r"call[ \t]*:\s*([\w.\-/]+)")
_NAME = lazy_pattern(r"[\w.\-/]+")
_KEY = lazy_pattern(r"[^\s:=,{}\[\]<>\"']+")


class GemmaCallReader(Struct, frozen=True):
    """A SpanReader for call spans: `call:name{...}`, with strings between `delimiter`."""

    delimiter: str

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader. A delimiter, or a name, that appears twice in a row counts once."""
        return read_with_slips(closed, self._read, self._slip)

    def _slip(self, closed: SpanClosed) -> Slip | None:
        called = _IN_PARENTHESES.match(closed.inner_text)
        if called is None:
            return doubled_markers(closed.inner_text, rules.MALFORMED_JSON, _again(self.delimiter))
        edits = (Edit(Range(*called.span(1)), "{"), Edit(Range(*called.span(2)), "}"))
        message = "The arguments are in parentheses; expected `call:NAME{...}`."
        return Slip(rules.UNBALANCED_BRACKET, message, "Write braces around them.", edits)

    def _read(self, closed: SpanClosed) -> ParseResult:
        text, start = closed.inner_text, closed.span.inner.start
        if not text.strip():
            return empty_call(closed, "a call such as `call:name{argument:value}`")
        array = _ARRAY.match(text)
        match = _CALL.match(text, array.end() if array is not None else 0)
        if match is None:
            return _no_call(text, start)
        calls, faults, is_cut = list[ToolCall](), list[Fault](), False
        if array is not None:
            faults.append(_array(text, Range(*array.span(1))))
        while match is not None:
            if calls and array is None:
                faults.append(_second_call(text, Range(match.start(1), match.end(2))))
            gemma_dict = GemmaReader(text, match.end(), self.delimiter).read()
            more = list(_around(text, match, gemma_dict.range.end, closer="]" if array is not None else ""))
            faults += (*gemma_dict.faults, *more)
            calls.append(_call(text, match, gemma_dict, valid=not gemma_dict.breaks and not more))
            is_cut = gemma_dict.is_cut
            match = _NEXT_CALL.match(text, gemma_dict.range.end)
        return ParseResult(calls=tuple(calls), faults=tuple(faults), complete=not is_cut).moved(start)


@cache
def _again(delimiter: str) -> re.Pattern[str]:
    """Finds `call:NAME` before itself, and a delimiter that begins or ends a string twice; an empty string has two."""
    written = re.escape(delimiter)
    begins = rf"(?<=[:\[,])(?={written}{written}[^,}}\]:\s<])"
    ends = rf"(?<![:\[,{{\s])(?={written}{written}\s{{0,8}}[,}}\]])"
    return lazy_pattern(rf"(?:{begins}|{ends}|(?=call:))({written}|call:[\w.\-/]{{1,128}}?)(\s{{0,4}}\1)")


def _around(text: str, match: re.Match[str], end: int, *, closer: str) -> Iterator[Fault]:
    """The faults before a call's name and after its dict; `closer` may follow the last dict."""
    if match[1] is None or match[1] == ":":
        position = match.start(2) if match[1] is None else match.start(1)
        message = f"`call:` is missing before the tool's name {shown(match[2])}."
        fix = Fix((Edit(Range(position, match.start(2)), "call:"),), safe=not match[2].startswith("call"))
        yield Fault(rules.MALFORMED_JSON, Range(*match.span(2)), message, "Write `call:` there.", fix)
    rest = text[end:].strip()
    if rest and rest != closer and _NEXT_CALL.match(text, end) is None:
        position = text.index(rest, end)
        fault_range = Range(position, position + len(rest))
        message = f"{shown(rest)} follows the complete call; nothing was expected after it."
        fix = Fix((Edit(fault_range, ""),), safe=not rest.strip("}] \n"))
        yield Fault(rules.TRAILING_DATA, fault_range, message, "Delete it.", fix)


_array = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "An array of calls appears where one call belongs; servers read none of the calls.",
    "Give each call separate markers.",
)
_second_call = structs.replace(
    _array, message="A second call appears between the same markers; servers read only the first, or none."
)


def _call(text: str, match: re.Match[str], gemma_dict: GemmaDict, *, valid: bool) -> ToolCall:
    raw = gemma_dict.range.of(text)
    readable = valid or not gemma_dict.hopeless
    first = match.start(1) if match[1] is not None else match.start(2)
    return ToolCall(
        match[2],
        gemma_dict.value if readable else raw,
        raw,
        valid=valid,
        range=Range(first, gemma_dict.range.end),
        recovered=readable and not valid,
        name_range=Range(*match.span(2)),
        arguments_range=gemma_dict.range,
        parameters=gemma_dict.parameters,
    )


def _no_call(text: str, start: int) -> ParseResult:
    call_range = Range(0, len(text)).stripped(text).moved(start)
    content = text.strip()
    is_cut = bool(re.fullmatch(r"call[ \t]*:?[^{}\n]*|cal?", content))
    if is_cut:
        rule, message = rules.TRUNCATED_JSON, f"The call ends within {shown(content)}, before its arguments."
    else:
        rule, message = rules.NOT_A_CALL, f"{shown(content)} is not a call: expected `call:name{{...}}`."
    named = _NAMED.match(content) if not is_cut else None
    call = ToolCall(
        named[1] if named is not None else None,
        content,
        content,
        valid=False,
        range=call_range,
        name_range=Range(*named.span(1)).moved(call_range.start) if named is not None else None,
    )
    return ParseResult(calls=(call,), faults=(Fault(rule, call_range, message),), complete=not is_cut)


read_gemma_result = HeadedResultReader(lazy_pattern(r"\s*response:\s*(?P<name>[^\s{}:,\"'<]+)\s*\{"), keeps_header=True)
"""Reads the single result of a span: the raw dict, and the tool named by `response:name`."""


class GemmaDefinitionReader(Struct, frozen=True):
    """A SpanReader for `declaration:name{...}`."""

    delimiter: str

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        text, start = closed.inner_text, closed.span.inner.start
        match = _DECLARATION.match(text)
        if match is None:
            return ParseResult()
        gemma_dict = GemmaReader(text, match.end(), self.delimiter).read()
        description, schema = gemma_dict.value.get("description"), gemma_dict.value.get("parameters")
        definition_range = Range(match.start(1), gemma_dict.range.end)
        tool = ToolDefinition(
            match[1],
            description if isinstance(description, str) else "",
            _lower_types(schema),
            definition_range.of(text),
            definition_range.moved(start),
        )
        faults = tuple(fault.moved(start) for fault in gemma_dict.faults)
        return ParseResult(definitions=(tool,), faults=faults, complete=not gemma_dict.is_cut)


def _lower_types(schema: Json) -> Json:
    """The schema with its types in lower case, as in JSON Schema; the template writes `STRING`."""
    for members in values_in(schema):
        if not isinstance(members, dict):
            continue
        kind = members.get("type")
        if isinstance(kind, str):
            members["type"] = kind.lower()
        elif isinstance(kind, list):
            members["type"] = [item.lower() if isinstance(item, str) else item for item in kind]
    return schema


def is_gemma_value(value: Json, delimiter: str) -> bool:
    """Whether a dict can express the value: no string contains a delimiter that would end it, no number is infinite."""
    written = re.escape(delimiter)
    ends = re.compile(rf"{written}\s*(?:[,}}\]:]|\Z|[\w.\-]{{1,64}}\s*:)|,\s*[\w.\-]{{1,64}}\s*:\s*(?:{written}|\Z)")
    texts = (text for inner in values_in(value) for text in (inner if isinstance(inner, dict) else (inner,)))
    return is_finite(value) and not any(ends.search(text) for text in texts if isinstance(text, str))


def is_gemma_call(call: ToolCall, delimiter: str) -> bool:
    """Whether a model with these delimiters can write the call: no id, a name of one word, valid values."""
    if call.id is not None or not call.name or not isinstance(call.arguments, dict) or not _NAME.fullmatch(call.name):
        return False
    return is_shallow(call.arguments) and is_gemma_value(call.arguments, delimiter)


def gemma_text(value: Json, delimiter: str) -> str:
    """A value as the template writes it; keys that cannot be bare are delimited like strings."""

    def scalar(value: float | str | Decimal | None) -> str:
        match value:
            case str():
                return f"{delimiter}{value}{delimiter}"
            case bool() | None:
                return {True: "true", False: "false", None: "null"}[value]
            case float():
                return repr(value)
            case _:
                return format(Decimal(value), "f")

    return nested_text(value, scalar, lambda key: f"{key if _KEY.fullmatch(key) else scalar(key)}:", ",")
