"""Traces to dissect: one with chunks and a stall, one whose arguments break their schema, and hostile ones."""

from tests.ui.scenes import broken_trace
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    Chunks,
    Generation,
    Instant,
    Json,
    Part,
    ResultHeader,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)
from weaklink.ui.views.dissect.dissection import Dissection

HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]52;c;AAAA\x07 [bold]markup[/] \u202eturned\u2066 zero\u200b\u200dwidth \ud800 \x00\x9b2J"
)
STREAM = (
    "<think>Which city? 日本 👩‍👩‍👧 e\u0301</think>\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "unit": "kelvin", "days": [1, 2]}}\n'
    "</tool_call>"
)
_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "array", "items": {"type": "integer", "description": "Of the week"}},
        "hour": {"$ref": "#/$defs/hour"},
    },
    "required": ["city", "hour"],
    "$defs": {"hour": {"type": "integer", "minimum": 0}},
}


def broken() -> Dissection:
    """The trace that all views show."""
    return Dissection(*broken_trace())


def streamed() -> Dissection:
    """A call that breaks its schema, in chunks with times, token ids and log probabilities, one of them late."""
    ends = (*range(7, len(STREAM), 9), len(STREAM))
    times = tuple(round(0.3 + 0.02 * index + (0.87 if index > 8 else 0), 3) for index in range(len(ends)))
    ids: tuple[tuple[int, ...] | None, ...] = tuple(
        (100 + index, 7) if index % 5 else None for index in range(len(ends))
    )
    odds = tuple((-0.01 * index, -4.5) if index % 5 else None for index in range(len(ends)))
    part = Part("text", STREAM, Chunks(ends, tuple(range(len(ends))), times, ids, odds))
    tools = (ToolDefinition("get_weather", "The weather of a place.", _SCHEMA, "{}"),)
    made = Generation(
        api="chat.completions",
        requested_model="hermes",
        answered_model="hermes-4-70b",
        parameters='{"temperature": 0.7, "stop": ["</s>"]}',
        tools=tools,
        started=Instant(1_700_000_000.0),
        ended=Instant(1_700_000_002.0),
        usage=Usage(120, 40),
        finish_reason="tool_calls",
        body=BodyState.COMPLETE,
    )
    turns = (
        Turn(Role.USER, (Part("text", "How warm is it in Oslo?"),)),
        Turn(Role.ASSISTANT, (part,), generation=made),
        Turn(Role.TOOL, (Part("text", '{"error": "unit kelvin is not known", "days": [{"a/b": 1}]}'),)),
        Turn(Role.ASSISTANT, (Part("text", "I do not know."),)),
    )
    return dissected(Trace(turns, name="streamed", format="hermes"))


def hostile() -> Dissection:
    """Nothing in it may reach a terminal as it is."""
    arguments = '{"' + HOSTILE.replace("\x00", "\\u0000") + '": "' + HOSTILE + '"}'
    turns = (
        Turn(Role.USER, (Part("text", HOSTILE),), source_role=HOSTILE),
        Turn(
            Role.ASSISTANT,
            (Part(HOSTILE, HOSTILE), Part("call:0", arguments)),
            calls=(CallHeader("call:0", HOSTILE, HOSTILE),),
            generation=Generation(requested_model=HOSTILE, parameters=HOSTILE, finish_reason=HOSTILE),
        ),
        Turn(Role.TOOL, (Part("text", HOSTILE),), result=ResultHeader(HOSTILE, HOSTILE, is_error=True)),
    )
    return dissected(Trace(turns, name=HOSTILE, model=HOSTILE, format="hermes"))


def dissected(trace: Trace) -> Dissection:
    """A trace with what the engine finds in it."""
    return Dissection(trace, inspect_trace(trace))


def of_text(text: str, *, chunk: int = 0) -> Dissection:
    """One answer of the model with this text; in chunks of so many characters, if any."""
    chunks = None
    if chunk:
        ends = (*range(chunk, len(text), chunk), len(text))
        chunks = Chunks(ends, tuple(range(len(ends))), tuple(0.01 * number for number in range(len(ends))))
    turns = (Turn(Role.USER, (Part("text", "Go."),)), Turn(Role.ASSISTANT, (Part("text", text, chunks),)))
    return dissected(Trace(turns, format="hermes"))
