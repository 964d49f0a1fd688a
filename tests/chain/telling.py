"""Known chains as traces: in parts of their own or in band, with and without ids, in order or not."""

import json
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from tests.chain.known_chains import PADDING, Known, Story
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.model import (
    CallHeader,
    ErrorPhase,
    FinishReason,
    Generation,
    GenerationError,
    Part,
    ResultHeader,
    Role,
    ToolDefinition,
    Trace,
    Turn,
)

_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"count": {"type": "integer"}}}


def told(story: Story) -> Trace:
    """A story as a trace: in parts of their own, or in band in its format."""
    tools = tuple(ToolDefinition(name, "", _SCHEMA) for name in sorted(_offered(story)))
    turns = [
        Turn(Role.SYSTEM, (Part("text", f"Rules: {', '.join(story.system)}."),)),
        Turn(Role.USER, (Part("text", f"Please see to {', '.join(story.user)}."),)),
    ]
    for number, calls in enumerate(story.turns):
        turns.append(replace(_asked(story, number, calls), generation=Generation(tools=tools)))
        turns += _answered(story, number, calls)
    turns.append(_end(story, tools))
    return Trace(tuple(turns), format=story.format or "hermes")


def _offered(story: Story) -> set[str]:
    return {step.tool for step in story.steps if step.outcome != "unknown-tool"} | {"submit"}


def _asked(story: Story, number: int, calls: list[Known]) -> Turn:
    if not story.format:
        parts = tuple(Part(f"call:{index}", call.raw or json.dumps(call.arguments)) for index, call in enumerate(calls))
        headers = tuple(
            CallHeader(f"call:{index}", call.tool, _id(story, number, index)) for index, call in enumerate(calls)
        )
        return Turn(Role.ASSISTANT, parts, calls=headers)
    if calls[0].raw:
        text = "".join(f'<tool_call>\n{{"name": "{c.tool}", "arguments": {c.raw}}}\n</tool_call>' for c in calls)
    else:
        text = find_format(story.format).write_calls([make_call(call.tool, call.arguments) for call in calls])
    return Turn(Role.ASSISTANT, (Part("text", text),))


def _id(story: Story, number: int, index: int) -> str | None:
    return {"unique": f"call-{number}-{index}", "reused": f"call-{index}", "none": None}[story.ids]


def _answered(story: Story, number: int, calls: list[Known]) -> Iterator[Turn]:
    answers = [(index, call) for index, call in enumerate(calls) if call.result is not None]
    if story.ids != "none" and answers:  # out of order
        turn = story.order % len(answers)
        answers = answers[turn:] + answers[:turn]
    for index, call in answers:
        text = (call.result or "").replace(PADDING, "word " * 2_500)
        if story.format == "hermes" and story.wraps:
            text = f"<tool_response>\n{text}\n</tool_response>"
        header = ResultHeader(_id(story, number, index), None, True if call.is_flagged else None)
        yield Turn(Role.TOOL, (Part("text", text),), result=header)


def _end(story: Story, tools: tuple[ToolDefinition, ...]) -> Turn:
    sought = ", ".join(str(step.arguments.get("a_id")) for step in story.steps if step.outcome not in ("ok", "pending"))
    words = f"All of it is settled: {sought}." if story.end == "ignores" else "I could not finish all of it."
    if story.end == "submits":
        return Turn(
            Role.ASSISTANT,
            (Part("call:0", json.dumps({"answer": words})),),
            calls=(CallHeader("call:0", "submit", "last"),),
            generation=Generation(tools=tools),
        )
    error = GenerationError(ErrorPhase.IN_STREAM, "overloaded") if story.cut == "upstream" else None
    finish = FinishReason.LENGTH if story.cut == "length" else None
    return Turn(Role.ASSISTANT, (Part("text", words),), generation=Generation(tools=tools, finish=finish, error=error))
