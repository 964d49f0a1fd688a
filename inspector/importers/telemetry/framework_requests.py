"""Model requests and tool results in whatever shape a tracing store holds them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from inspector.apis.gemini.generate_content import read_gemini_request
from inspector.apis.openai.messages import read_message, read_tools
from inspector.apis.openai.responses import read_responses_request
from inspector.importers.records import parse_json_bytes
from inspector.importers.source import JsonObject
from inspector.importers.telemetry.framework_messages import KnownMessages, is_message, read_any_messages
from inspector.json_members import word_of
from inspector.model import Json, Role, ToolDefinition, Turn
from inspector.wire.provider_json import compact_json
from inspector.wire.request import DecodedRequest, parameters_of

_LAYERS = 4
_CONVERSATION = ("messages", "prompt", "prompts", "system", "system_prompt", "instructions", "chat_history")
_NO_SETTINGS = (*_CONVERSATION, "input", "model", "tools", "functions", "contents", "config")
_GEMINI_TOOLS = frozenset({"functionDeclarations", "function_declarations"})
_LOST_BY_LANGSMITH: JsonObject = {"content": "role"}
_NOTHING = DecodedRequest("", "", ())


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A result's text, None where there is none; the id of the call, and whether it failed, where that is told."""

    text: str | None
    call_id: str = ""
    failed: bool | None = None


def read_tool_output(output: Json, *, depth: int = 4) -> ToolOutput:
    """A tool's output: a text, a tool message of a framework, a list of text blocks (MCP), or any JSON; never raises.

    JSON that was stored as a text stays that text, character by character. What stands in `{"output": ...}` counts, to
    a `depth`.
    """
    given, text = unwrapped_json(output)
    if given is None:
        return ToolOutput(None)
    if isinstance(given, str):
        return ToolOutput(given)
    if isinstance(given, dict):
        if is_message(given):
            return _of_message(given) or ToolOutput(text or compact_json(given))
        within = given.get("output")
        if given.keys() == {"output"} and isinstance(within, str | dict) and depth:
            return read_tool_output(within, depth=depth - 1)
        content = given.get("content")
        if isinstance(content, list) and given.keys() <= {"content", "isError", "is_error", "structuredContent"}:
            failed = given.get("isError", given.get("is_error"))
            return ToolOutput(_blocks_text(content), failed=failed if isinstance(failed, bool) else None)
    return ToolOutput(text or compact_json(given))


def _of_message(message: Json) -> ToolOutput | None:
    turns = read_any_messages(message).turns
    turn = next((turn for turn in turns if turn.role is Role.TOOL and turn.result is not None), None)
    if turn is None or turn.result is None:
        return None
    text = "".join(part.text for part in turn.parts)
    return ToolOutput(text, turn.result.call_id or "", turn.result.is_error)


def _blocks_text(blocks: list[Json]) -> str:
    return "".join(part.text for part in read_message({"role": "tool", "content": blocks}).parts)


def unwrapped_json(value: Json) -> tuple[Json, str | None]:
    """A value without the JSON texts around it, and the innermost text that was one; None where there was none.

    Stores keep JSON as a text, and texts as JSON texts. A text that is no JSON object, list or string is a text.
    """
    text: str | None = None
    for _ in range(_LAYERS):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            break
        try:
            inner = parse_json_bytes(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            break
        text = None if isinstance(inner, str) else value
        value = inner
    return value, text


def read_request_input(value: Json, known: KnownMessages, *, depth: int = 4) -> DecodedRequest:
    """A model call's input as a request; `known` are messages that were read before. Never raises.

    A list is its messages, or plain prompts; an object is a request's body, in the words of OpenAI, Anthropic, Gemini,
    LangChain or the Vercel AI SDK, or one message; a text is the user's. Any other object is the user's text, as JSON.
    LangSmith's exporter to OpenTelemetry writes `{"content": "role"}` in place of messages that it does not understand.
    Requests within requests (`{"input": {...}}`) are read to a `depth`.
    """
    asked, text = unwrapped_json(value)
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
        word_of(asked.get("model")),
        turns,
        tools_of(asked),
        parameters_of(asked, without=_NO_SETTINGS),
    )


def tools_of(asked: JsonObject) -> tuple[ToolDefinition, ...]:
    """The tools that a request offers; each may be kept as a JSON text of its own."""
    return read_tool_list(asked.get("tools")) or read_tools(None, asked.get("functions"))


def read_tool_list(tools: Json) -> tuple[ToolDefinition, ...]:
    """Tools as a list, an object of them by name, or their JSON text; each may be a JSON text once more."""
    listed, _ = unwrapped_json(tools)
    if isinstance(listed, dict):
        named = all(isinstance(one, dict | str) for one in listed.values()) and "name" not in listed
        listed = [*listed.values()] if named and "function" not in listed else [listed]
    if not isinstance(listed, list):
        return ()
    found = [_named(unwrapped_json(one)[0]) for one in listed]
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
        given, _ = unwrapped_json(asked.get(key))
        if not given or (key == "input" and any(asked.get(one) for one in ("messages", "prompt", "prompts"))):
            continue
        if key == "input" and "model" in asked and isinstance(given, list):
            yield from read_responses_request({"input": given}).turns
        elif key == "input" and isinstance(given, dict) and depth:
            yield from read_request_input(given, known, depth=depth - 1).turns
        else:
            yield from known.read(given).turns
