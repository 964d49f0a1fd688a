"""Google's generateContent API: parts, results as `functionResponse` by name, tools in the request's field.

Source: Google's generateContent reference; langchain-google-genai:tests/unit_tests/test_chat_models.py. A response is
an object: a result that is none stands as the `result` of one.
"""

from collections.abc import Sequence

from inspector.formats.completion.api_messages import gemini_message
from inspector.formats.template import Message
from inspector.formats.templates.api import api_template
from inspector.formats.templates.shapes import bare_tool, json_or_text
from inspector.model import Json, ToolDefinition, ToolResult


def _returned(results: Sequence[ToolResult]) -> dict[str, Json]:
    return {"role": "user", "parts": [_part(result) for result in results]}


def _part(result: ToolResult) -> Json:
    value = json_or_text(result.content)
    named: dict[str, Json] = {"id": result.call_id} if result.call_id is not None else {}
    response: Json = value if isinstance(value, dict) else {"result": value}
    return {"functionResponse": {**named, "name": result.name or "", "response": response}}


def _offered(tools: Sequence[ToolDefinition]) -> Json:
    return [{"functionDeclarations": [bare_tool(tool) for tool in tools]}]


def _request(system: str, messages: list[Json]) -> dict[str, Json]:
    said: dict[str, Json] = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
    return {**said, "contents": messages}


def _words(message: Message) -> Json:
    return {"role": message.role.value, "parts": [{"text": message.text}]}


GEMINI_API_TEMPLATE = api_template(
    answer=gemini_message,
    returned=_returned,
    offered=_offered,
    request=_request,
    words=_words,
    system_apart=True,
    shares_turn=True,
)
