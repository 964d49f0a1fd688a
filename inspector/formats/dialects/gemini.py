"""`gemini`: calls in fences of `tool_code`, as Gemini and Gemma write them into text."""

from types import MappingProxyType

from inspector.formats.api.either import either
from inspector.formats.api.gemini_api import GeminiShapes
from inspector.formats.dialects.gemini_text import (
    CALL_OPENER,
    GEMINI_SIGNS,
    GEMINI_TABLE,
    READ_CALLS,
    expresses,
    write_calls,
)
from inspector.formats.format import Format
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.model import Role, SpanKind
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(GEMINI_TABLE, role=role.value, prompt=prompt)


GEMINI = Format(
    name="gemini",
    summary="calls in fences of `tool_code`, in Python's syntax or JSON; or the Gemini API's JSON",
    aliases=("gemma3", "tool_code"),
    models=("*gemini*", "*gemma-3-*", "*gemma3*"),
    confidence=GEMINI_SIGNS,
    new_parser=either(GeminiShapes, _new_parser),
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: READ_CALLS,
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader((CALL_OPENER,)),
        }
    ),
    write_calls=write_calls,
    expresses=expresses,
)
