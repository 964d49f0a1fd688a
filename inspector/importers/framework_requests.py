"""What a framework says it asked a model: requests in whatever shape they stand in a tracing store."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.importers.framework_messages import KnownMessages, is_message, read_any_messages
from inspector.importers.rows import parse_json
from inspector.importers.source import JsonObject
from inspector.model import Json, ToolDefinition, Turn
from inspector.wire.gemini_request import read_gemini_request
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_message, read_tools
from inspector.wire.request import DecodedRequest, parameters_of, text_of
from inspector.wire.responses_request import read_responses_request

_LAYERS = 4
_CONVERSATION = ("messages", "prompt", "prompts", "system", "system_prompt", "instructions", "chat_history")
_NO_SETTINGS = (*_CONVERSATION, "input", "model", "tools", "functions", "contents", "config")
_GEMINI_TOOLS = frozenset({"functionDeclarations", "function_declarations"})
_LOST_BY_LANGSMITH: JsonObject = {"content": "role"}
_NOTHING = DecodedRequest("", "", ())


def unfolded(value: Json) -> tuple[Json, str | None]:
    """A value without the JSON texts around it, and the innermost text that was one; None where there was none.

    Stores keep JSON as a text, and texts as JSON texts. A text that is no JSON object, list or string is a text.
    """
    text: str | None = None
    for _ in range(_LAYERS):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            break
        try:
            inner = parse_json(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            break
        text = None if isinstance(inner, str) else value
        value = inner
    return value, text


def read_asked(value: Json, known: KnownMessages, *, depth: int = 4) -> DecodedRequest:
    """A model call's input as a request; `known` are messages that were read before. Never raises.

    A list is its messages, or plain prompts; an object is a request's body, in the words of OpenAI, Anthropic, Gemini,
    LangChain or the Vercel AI SDK, or one message; a text is the user's. Any other object is the user's text, as JSON.
    LangSmith's exporter to OpenTelemetry writes `{"content": "role"}` in place of messages that it does not understand.
    Requests within requests (`{"input": {...}}`) are read to a `depth`.
    """
    asked, text = unfolded(value)
    if asked is None or asked in ("", [], {}) or asked == _LOST_BY_LANGSMITH:
        return _NOTHING
    if not isinstance(asked, dict):
        return replace(_NOTHING, turns=known.read(asked).turns)
    if "contents" in asked:
        return _gemini(asked)
    if is_message(asked):
        return replace(_NOTHING, turns=known.read(asked).turns)
    turns = (*_system(asked), *_conversation(asked, known, depth))
    if not turns:
        return replace(_NOTHING, turns=(read_message({"role": "user", "content": text or compact_json(asked)}),))
    return DecodedRequest(
        "",
        text_of(asked.get("model")),
        turns,
        tools_of(asked),
        parameters_of(asked, without=_NO_SETTINGS),
    )


def tools_of(asked: JsonObject) -> tuple[ToolDefinition, ...]:
    """The tools that a request offers; each may be kept as a JSON text of its own."""
    return read_offered(asked.get("tools")) or read_tools(None, asked.get("functions"))


def read_offered(tools: Json) -> tuple[ToolDefinition, ...]:
    """Tools as a list, an object of them by name, or their JSON text; each may be a JSON text once more."""
    listed, _ = unfolded(tools)
    if isinstance(listed, dict):
        named = all(isinstance(one, dict | str) for one in listed.values()) and "name" not in listed
        listed = [*listed.values()] if named and "function" not in listed else [listed]
    if not isinstance(listed, list):
        return ()
    found = [_named(unfolded(one)[0]) for one in listed]
    if any(isinstance(one, dict) and one.keys() & _GEMINI_TOOLS for one in found):
        return read_gemini_request({"contents": [], "tools": found}).tools
    return read_tools(found)


def _named(tool: Json) -> Json:
    """A tool with its schema under OpenAI's word for it (Vercel says `inputSchema`)."""
    if isinstance(tool, dict) and "inputSchema" in tool and "parameters" not in tool:
        return {("parameters" if key == "inputSchema" else key): value for key, value in tool.items()}
    return tool


def _gemini(asked: JsonObject) -> DecodedRequest:
    config = asked.get("config")
    within: JsonObject = {**config, **asked} if isinstance(config, dict) else asked
    within = {key: value for key, value in within.items() if key != "config"}
    return read_gemini_request(within)


def _system(asked: JsonObject) -> Iterator[Turn]:
    for key in ("system", "system_prompt", "instructions"):
        words = asked.get(key)
        if words and isinstance(words, str | list):
            yield from read_any_messages({"role": "system", "content": words}).turns


def _conversation(asked: JsonObject, known: KnownMessages, depth: int) -> Iterator[Turn]:
    for key in ("chat_history", "messages", "prompts", "prompt", "input"):
        given, _ = unfolded(asked.get(key))
        if not given or (key == "input" and any(asked.get(one) for one in ("messages", "prompt", "prompts"))):
            continue
        if key == "input" and "model" in asked and isinstance(given, list):
            yield from read_responses_request({"input": given}).turns
        elif key == "input" and isinstance(given, dict) and depth:
            yield from read_asked(given, known, depth=depth - 1).turns
        else:
            yield from known.read(given).turns
