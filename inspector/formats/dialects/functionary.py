r"""`functionary`: the recipient before the content: `>>>all\ntext>>>f\n{}`, and the other spellings of its versions.

Sources: MeetKai/functionary:tests/prompt_test_{v1,v2,v2.llama3,v3.llama3,v3-llama3.1}.txt,
llama.cpp:tests/test-chat.cpp.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.dialects.functionary_table import ARROWS, FUNCTIONARY_TABLE
from inspector.formats.format import Format, Signs
from inspector.formats.named_call import LooseHeader, NamedCallReader
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import is_json_call, json_of
from inspector.model import Role, SpanKind, ToolCall, ToolResult
from inspector.segmenter.events import FormatParser, SpanClosed
from inspector.segmenter.machine import Machine
from inspector.segmenter.readings import Reading
from inspector.text import Range

_NAME = r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}"
_CODE_TOOL = "python"
_CALL = NamedCallReader(
    header=re.compile(rf"(?P<name>{_NAME})(?:\n<\|content\|>|\n|>|:[ \n]?)"),
    wanted="a tool's name, then its arguments",
    loose=(
        LooseHeader(
            re.compile(rf"\s*(?P<name>{_NAME})(?:<\|content\|>|\s*(?=\{{))"), "it lacks the line's end behind the name"
        ),
    ),
    code=frozenset({_CODE_TOOL}),
)
_RESULT_HEADER = re.compile(rf"(?:name=)?(?P<name>{_NAME})(?:\n<\|recipient\|>all\n<\|content\|>|:\n|\n)")


def _read_call(closed: SpanClosed) -> Reading:
    """See SpanReader. Behind `<|python_tag|>` there is no header, only code."""
    text, span = closed.inner_text, closed.span
    if span.label != "code" or (_CALL.header.match(text) and text.startswith(f"{_CODE_TOOL}\n")):
        return _CALL(closed)
    if not text.strip():
        return _CALL(closed)
    call = ToolCall(_CODE_TOOL, text, text, valid=True, range=span.inner, arguments_range=span.inner)
    return Reading(calls=(call,), complete=True)


def _read_result(closed: SpanClosed) -> Reading:
    """See SpanReader. A result's header names the tool."""
    reading = read_result(closed)
    if closed.span.label == "bare" and not closed.inner_text.lstrip().startswith("name="):
        return reading
    header = _RESULT_HEADER.match(reading.results[0].content)
    if header is None:
        return reading
    result = reading.results[0]
    content = result.content[header.end() :]
    place = Range(result.range.start + header.end(), result.range.end)
    return Reading(
        results=(ToolResult(content, place, result.call_id, header["name"]),), complete=bool(content.strip())
    )


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "".join(f"{ARROWS}{call.name}\n{json_of(call.arguments)}" for call in calls)


def _expresses(call: ToolCall) -> bool:
    """A name must be one that the header can hold; `all` is nobody's."""
    named = re.fullmatch(_NAME, call.name or "") is not None and call.name != "all"
    return named and call.id is None and is_json_call(call)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(FUNCTIONARY_TABLE, role=role.value, prompt=prompt)


FUNCTIONARY = Format(
    name="functionary",
    summary=">>>recipient before the content (v3); v1, v2, v2.llama3 and v3.1 too",
    aliases=("functionary_v1", "functionary_v2", "functionary_v3", "functionary_v3.1", "functionary_v3.2"),
    models=("*functionary*",),
    confidence=Signs(
        calls={
            rf">>>(?:all|{_NAME}\n\s*\{{)": 0.85,
            rf"(?:<\|recipient\|>|\A){_NAME}\n<\|content\|>": 0.95,
            r"<\|reserved_special_token_249\|>": 0.95,
            r"<\|START_OF_FUNCTION_CALL\|>": 0.95,
            rf"<function={_NAME}>\s*\{{": 0.8,
        },
        hints={r"\A(?:all\n|[A-Za-z_]\w{0,63}\n\{)": 0.4},
    ),
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: _read_call,
            SpanKind.TOOL_RESULT: _read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader(
                (">>>", "<function=", "<|reserved_special_token_249|>"), ("</function>",)
            ),
        }
    ),
    write_calls=_write_calls,
    near_calls=(
        (re.compile(r"(?:>>[ \t]?>?|>[ \t]>>?)(?:[A-Za-z_][\w.-]{0,63})(?=\n\{)"), ">>>NAME"),
        (re.compile(r"</?functions?[ :_=\"'][^<>\n]{0,64}>(?=\{)"), "<function=NAME>"),
    ),
    expresses=_expresses,
    own_tools=frozenset({_CODE_TOOL}),
)
