"""Anthropic's Messages API: blocks, results as `tool_result` blocks of one user message, tools in the request's field.

Source: Anthropic's Messages reference (`tool_use`, `tool_result` with `is_error`, `input_schema`).
"""

from collections.abc import Sequence

from inspector.formats.completion.api_messages import claude_message
from inspector.formats.template import Message
from inspector.formats.templates.api import api_template
from inspector.formats.templates.shapes import bare_tool
from inspector.model import Json, ToolDefinition, ToolResult


def _returned(results: Sequence[ToolResult]) -> dict[str, Json]:
    return {"role": "user", "content": [_block(result) for result in results]}


def _block(result: ToolResult) -> Json:
    block: dict[str, Json] = {"type": "tool_result"}
    if result.call_id is not None:
        block["tool_use_id"] = result.call_id
    block["content"] = result.content
    return {**block, "is_error": True} if result.is_error else block


def _offered(tools: Sequence[ToolDefinition]) -> Json:
    return [bare_tool(tool, schema_key="input_schema") for tool in tools]


def _request(system: str, messages: list[Json]) -> dict[str, Json]:
    said: dict[str, Json] = {"system": system} if system else {}
    return {**said, "messages": messages}


def _words(message: Message) -> Json:
    return {"role": message.role.value, "content": message.text}


CLAUDE_API_TEMPLATE = api_template(
    answer=claude_message,
    returned=_returned,
    offered=_offered,
    request=_request,
    words=_words,
    system_apart=True,
    shares_turn=True,
)
