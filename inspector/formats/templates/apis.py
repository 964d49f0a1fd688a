"""The templates of the APIs: a conversation is the body of a request, the tools are a field of it.

`claude_api`: Source: Anthropic's Messages reference (`tool_use`, `tool_result` with `is_error`, `input_schema`).

`gemini_api`: Source: Google's generateContent reference; langchain-google-genai:tests/unit_tests/test_chat_models.py.
A response is an object: a result that is none becomes the `result` of one.

`openai`: Source: OpenAI's chat completions reference; langchain-openai:tests/unit_tests/chat_models/test_base.py.
"""

import json
from collections.abc import Callable, Iterator, Sequence

from inspector.formats.completion import CompletionPiece, claude_message, gemini_message, openai_message, tidy
from inspector.formats.format import Format
from inspector.formats.json.writing import json_of
from inspector.formats.templates.template import (
    Template,
    TemplateMessage,
    bare_tool,
    contents,
    grouped,
    json_or_text,
    openai_tool,
)
from inspector.model import Json, Role, ToolDefinition, ToolResult


def api_template(
    *,
    answer: Callable[[Sequence[CompletionPiece]], dict[str, Json]],
    returned: Callable[[Sequence[ToolResult]], dict[str, Json]],
    offered: Callable[[Sequence[ToolDefinition]], Json],
    request: Callable[[str, list[Json]], dict[str, Json]],
    words: Callable[[TemplateMessage], Json],
    system_apart: bool,
    shares_turn: bool,
) -> Template:
    """A Template of a request's body.

    `request` makes the body of the system's words and the messages; `system_apart` says that those words are
    no message. `answer`, `returned` and `words` make a message of the model's, the tools' and anybody else's turn.
    """

    def transcript(messages: Sequence[TemplateMessage], tools: Sequence[ToolDefinition], _format: Format) -> str:
        system = [message.text for message in messages if message.role is Role.SYSTEM] if system_apart else []
        others = [message for message in messages if not (system_apart and message.role is Role.SYSTEM)]
        body = request("\n\n".join(system), list(written(others)))
        body |= {"tools": offered(tools)} if tools else {}
        return json.dumps(body, ensure_ascii=False, indent=1) if _is_plain(body) else json_of(body)

    def written(messages: Sequence[TemplateMessage]) -> Iterator[Json]:
        for message in grouped(messages, shares_turn=shares_turn):
            if message.role is Role.ASSISTANT:
                yield answer(tidy(message.pieces))
            elif message.role is Role.TOOL:
                yield returned(message.results)
            else:
                yield words(message)

    return Template(
        tools=lambda _tools: "",
        results=contents,
        transcript=transcript,
        shares_turn=shares_turn,
        answer=answer,
        returned=returned,
        offered=offered,
    )


def _is_plain(body: Json) -> bool:
    try:
        json.dumps(body, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _returned_claude_api(results: Sequence[ToolResult]) -> dict[str, Json]:
    return {"role": "user", "content": [_block(result) for result in results]}


def _block(result: ToolResult) -> Json:
    block: dict[str, Json] = {"type": "tool_result"}
    if result.call_id is not None:
        block["tool_use_id"] = result.call_id
    block["content"] = result.content
    return {**block, "is_error": True} if result.is_error else block


def _offered_claude_api(tools: Sequence[ToolDefinition]) -> Json:
    return [bare_tool(tool, schema_key="input_schema") for tool in tools]


def _request_claude_api(system: str, messages: list[Json]) -> dict[str, Json]:
    said: dict[str, Json] = {"system": system} if system else {}
    return {**said, "messages": messages}


def _words_claude_api(message: TemplateMessage) -> Json:
    return {"role": message.role.value, "content": message.text}


CLAUDE_API_TEMPLATE = api_template(
    answer=claude_message,
    returned=_returned_claude_api,
    offered=_offered_claude_api,
    request=_request_claude_api,
    words=_words_claude_api,
    system_apart=True,
    shares_turn=True,
)


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


def _words(message: TemplateMessage) -> Json:
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


def _returned_openai(results: Sequence[ToolResult]) -> dict[str, Json]:
    call_id = results[0].call_id if results else None
    named: dict[str, Json] = {"tool_call_id": call_id} if call_id is not None else {}
    return {"role": "tool", **named, "content": contents(results)}


def _offered_openai(tools: Sequence[ToolDefinition]) -> Json:
    return [openai_tool(tool) for tool in tools]


def _request_openai(_system: str, messages: list[Json]) -> dict[str, Json]:
    return {"messages": messages}


def _words_openai(message: TemplateMessage) -> Json:
    return {"role": message.role.value, "content": message.text}


OPENAI_TEMPLATE = api_template(
    answer=openai_message,
    returned=_returned_openai,
    offered=_offered_openai,
    request=_request_openai,
    words=_words_openai,
    system_apart=False,
    shares_turn=False,
)
