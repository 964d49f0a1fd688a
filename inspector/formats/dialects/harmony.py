"""`harmony`: channels of gpt-oss: analysis is reasoning, final the answer, a message with a recipient is a call.

Sources: openai/harmony (docs/format.md, tests/test_harmony.py, test-data), openai-gpt-oss-120b.jinja. A tool named
`functions.f` is the user's `f`; `browser.search`, `python`, `container.exec` are built in and keep their names.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType

from inspector.diagnostics import Fault
from inspector.formats.dialects.harmony_table import HARMONY_TABLE
from inspector.formats.format import Format, Signs
from inspector.formats.named_call import LooseHeader, NamedCallReader
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import is_json_call, json_of
from inspector.model import Role, SpanKind, ToolCall, ToolResult
from inspector.rules.markers import MALFORMED_HEADER
from inspector.segmenter.events import FormatParser, SpanClosed
from inspector.segmenter.machine import Machine
from inspector.segmenter.readings import Reading
from inspector.text import Range

_TO = r"\s?to=(?:functions\.)?(?P<name>[^\s<{]++)"
_TYPE = r"(?:\s?(?:<\|constrain\|>)?\s?(?:json|code|text))?"
_CALL = NamedCallReader(
    header=re.compile(rf"{_TO}\s?(?:<\|channel\|>(?:analysis|commentary|final))?{_TYPE}\s?<\|message\|>"),
    wanted="` to=functions.NAME`, the channel and `<|message|>`, then the arguments",
    loose=(
        LooseHeader(re.compile(rf"{_TO}[^{{]{{0,300}}?<\|message\|>"), "it holds words that the format does not know"),
        LooseHeader(re.compile(rf"{_TO}[^{{]{{0,300}}?(?=\{{)"), ""),
    ),
    code=frozenset({"python"}),
    code_header=re.compile(r"[\s\S]*\bcode\s?<\|message\|>"),
)
_ON_ANALYSIS = re.compile(r"\s?to=functions\.[^{]{0,300}?<\|channel\|>(?P<channel>analysis)")
_RESULT_HEADER = re.compile(r"(?:functions\.)?(?P<name>[^\s<]+)[^{]{0,300}?<\|message\|>")
_BUILT_IN = re.compile(r"python|(?:browser|container)\..+")
_NAME = re.compile(r"(?!functions\.)[A-Za-z_][A-Za-z0-9_.\-]*")


def _read_call(closed: SpanClosed) -> Reading:
    """See SpanReader. A call of a user's tool belongs on the channel commentary."""
    reading = _CALL(closed)
    misplaced = _ON_ANALYSIS.match(closed.inner_text)
    if misplaced is None:
        return reading
    place = Range(*misplaced.span("channel")).moved(closed.span.inner.start)
    message = "A user's tool is called on the channel `analysis`; such calls belong on `commentary`."
    hint = "Read calls on every channel: a server that hides `analysis` loses this one."
    faults = (Fault(MALFORMED_HEADER, place, message, hint), *reading.faults)
    return Reading(calls=reading.calls, faults=faults, complete=reading.complete)


def _read_result(closed: SpanClosed) -> Reading:
    """See SpanReader. A result's author is the tool."""
    header = _RESULT_HEADER.match(closed.inner_text) if closed.span.label != "bare" else None
    if header is None:
        return read_result(closed)
    content = closed.inner_text[header.end() :]
    place = Range(header.end(), header.end() + len(content)).moved(closed.span.inner.start)
    return Reading(results=(ToolResult(content, place, None, header["name"]),), complete=bool(content.strip()))


def _write_calls(calls: Sequence[ToolCall]) -> str:
    """What a model writes behind `<|start|>assistant`, with which its prompt ends; each call is a message."""
    return "<|start|>assistant".join(
        f"<|channel|>commentary to={_recipient(call.name or '')} <|constrain|>json<|message|>"
        f"{json_of(call.arguments)}<|call|>"
        for call in calls
    )


def _recipient(name: str) -> str:
    return name if _BUILT_IN.fullmatch(name) else f"functions.{name}"


def _expresses(call: ToolCall) -> bool:
    """A name must be one that the header can hold."""
    return call.id is None and _NAME.fullmatch(call.name or "") is not None and is_json_call(call)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(HARMONY_TABLE, role=role.value, prompt=prompt)


HARMONY = Format(
    name="harmony",
    summary="gpt-oss: channels, the recipient in a message's header",
    aliases=("gpt-oss", "gpt_oss", "openai-harmony"),
    models=("*gpt-oss*", "*gpt_oss*", "*gptoss*"),
    confidence=Signs(
        calls={
            r"\bto=(?:functions\.)?[\w.\-]{1,80}[^{\n]{0,60}<\|message\|>": 0.97,
            r"<\|channel\|>(?:commentary|analysis) to=": 0.97,
        },
        hints={r"<\|channel\|>(?:analysis|commentary|final)": 0.95, r"<\|start\|>(?:assistant|user|system)": 0.8},
    ),
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: _read_call,
            SpanKind.TOOL_RESULT: _read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader(("to=functions.",)),
        }
    ),
    write_calls=_write_calls,
    expresses=_expresses,
    own_tools=frozenset({"python", "browser.search", "browser.open", "browser.find", "container.exec"}),
)
