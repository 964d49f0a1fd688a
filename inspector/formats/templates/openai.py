"""OpenAI's template: a conversation is the body of a request, the tools are a field of it.

Source: OpenAI's chat completions reference; langchain-openai:tests/unit_tests/chat_models/test_base.py.
"""

import json
from collections.abc import Iterator, Sequence

from inspector.apis.openai.messages import message_object
from inspector.formats.completion import openai_message, tidy
from inspector.formats.format import Format
from inspector.formats.json.writing import json_of
from inspector.formats.templates.template import Template, TemplateMessage, contents, grouped, openai_tool
from inspector.model import Json, Role, ToolDefinition, ToolResult


def _transcript(messages: Sequence[TemplateMessage], tools: Sequence[ToolDefinition], _format: Format) -> str:
    body: dict[str, Json] = {"messages": list(_written(messages))}
    body |= {"tools": _offered(tools)} if tools else {}
    return json.dumps(body, ensure_ascii=False, indent=1) if _is_plain(body) else json_of(body)


def _written(messages: Sequence[TemplateMessage]) -> Iterator[Json]:
    for message in grouped(messages, shares_turn=False):
        if message.role is Role.ASSISTANT:
            yield openai_message(tidy(message.pieces))
        elif message.role is Role.TOOL:
            yield _returned(message.results)
        else:
            yield message_object(message.role.value, message.text)


def _is_plain(body: Json) -> bool:
    try:
        json.dumps(body, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _returned(results: Sequence[ToolResult]) -> dict[str, Json]:
    call_id = results[0].call_id if results else None
    named: dict[str, Json] = {"tool_call_id": call_id} if call_id is not None else {}
    return {"role": "tool", **named, "content": contents(results)}


def _offered(tools: Sequence[ToolDefinition]) -> Json:
    return [openai_tool(tool) for tool in tools]


OPENAI_TEMPLATE = Template(
    tools=lambda _tools: "",
    results=contents,
    transcript=_transcript,
    answer=openai_message,
    returned=_returned,
    offered=_offered,
)
