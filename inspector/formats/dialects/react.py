"""`react`: `Thought:`, `Action: name`, `Action Input: {...}`, `Observation:`, `Final Answer:` as plain text.

Sources: see react_call and react_table. Every action of a reply is read as a call, where langchain takes the first and
Qwen-Agent the last. The answer's text is content, without its heading; a thought is reasoning.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.dialects.react_table import react_table
from inspector.formats.format import Format, Signs
from inspector.formats.react_call import FINAL_ANSWER, read_react_calls
from inspector.formats.react_headings import read_react_words
from inspector.formats.span_readings import read_definitions, read_result
from inspector.formats.writing import is_finite, json_of
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine

_TABLE = react_table()
_NAME = re.compile(r"[^\W\d][\w.\-/]*")
_PLAIN_TEXT = re.compile(r"(?!```|Action Input)[^\s{`][^\n\r]*")
_SIGNS = Signs(
    calls={
        r"(?m)^[ \t]*(?:\*\*)?Action(?: \d{1,3})?(?:\*\*)?:[^\n]*\n[ \t]*(?:\*\*)?Action Input\b": 0.9,
        r"(?m)^Action(?: \d{1,3})?:\s*(?:```(?:json)?\s*)?\{\s*\"action\"": 0.9,
    },
    hints={
        r"(?m)^Action(?: \d{1,3})?:[ \t]*\w+\[": 0.7,
        r"(?m)^Thought(?: \d{1,3})?:": 0.5,
        r"(?m)^Final Answer:": 0.5,
    },
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"Action: {call.name}\nAction Input: {_input(call)}" for call in calls)


def _input(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json_of(call.arguments)


def _expresses(call: ToolCall) -> bool:
    """A name is one word; the input is a JSON object or a line of text."""
    if call.id is not None or not call.name or not _NAME.fullmatch(call.name):
        return False
    if isinstance(call.arguments, str):
        return bool(_PLAIN_TEXT.fullmatch(call.arguments)) and call.arguments == call.arguments.strip()
    return isinstance(call.arguments, dict) and is_finite(call.arguments)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


REACT = Format(
    name="react",
    summary=f"Thought, Action, Action Input, Observation, {FINAL_ANSWER}: plain text, a heading a line",
    aliases=("langchain", "mrkl"),
    models=(),
    confidence=_SIGNS,
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: read_react_calls,
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: read_react_words,
            SpanKind.TEXT: read_react_words,
        }
    ),
    write_calls=_write_calls,
    expresses=_expresses,
)
