"""OpenAI's chat completions: messages, results by the id of their call, tools in the request's field.

Source: OpenAI's chat completions reference; langchain-openai:tests/unit_tests/chat_models/test_base.py.
"""

from collections.abc import Sequence

from inspector.formats.completion.api_messages import openai_message
from inspector.formats.template import Message
from inspector.formats.templates.api import api_template
from inspector.formats.templates.shapes import contents, openai_tool
from inspector.model import Json, ToolDefinition, ToolResult


def _returned(results: Sequence[ToolResult]) -> dict[str, Json]:
    call_id = results[0].call_id if results else None
    named: dict[str, Json] = {"tool_call_id": call_id} if call_id is not None else {}
    return {"role": "tool", **named, "content": contents(results)}


def _offered(tools: Sequence[ToolDefinition]) -> Json:
    return [openai_tool(tool) for tool in tools]


def _request(_system: str, messages: list[Json]) -> dict[str, Json]:
    return {"messages": messages}


def _words(message: Message) -> Json:
    return {"role": message.role.value, "content": message.text}


OPENAI_TEMPLATE = api_template(
    answer=openai_message,
    returned=_returned,
    offered=_offered,
    request=_request,
    words=_words,
    system_apart=False,
    shares_turn=False,
)
