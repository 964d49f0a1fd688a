"""Model requests, model answers and tool results in whatever shape a tracing store holds them.

Requests are bodies, messages or texts; answers response bodies, messages or texts; each may be JSON within a text.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from inspector.apis.gemini import read_gemini_request
from inspector.apis.openai.messages import CALLS, message_object, read_message, read_tools
from inspector.apis.openai.responses import read_responses_request
from inspector.apis.providers import decoder_for
from inspector.importers.records import parse_json_bytes
from inspector.importers.source import JsonObject
from inspector.importers.telemetry import framework_messages
from inspector.json_text import word_of
from inspector.model import (
    BodyState,
    CallHeader,
    ErrorPhase,
    Generation,
    GenerationError,
    Json,
    Part,
    Role,
    ToolDefinition,
    Turn,
    Usage,
)
from inspector.scanning import lazy_pattern
from inspector.wire.answer_reader import finish_meaning
from inspector.wire.decoder import decode_answer
from inspector.wire.events import DecodedRequest, parameters_of
from inspector.wire.provider_json import compact_json

_LAYERS = 4
_CONVERSATION = ("messages", "prompt", "prompts", "system", "system_prompt", "instructions", "chat_history")
_NO_SETTINGS = (*_CONVERSATION, "input", "model", "tools", "functions", "contents", "config")
_GEMINI_TOOLS = frozenset({"functionDeclarations", "function_declarations"})
_LOST_BY_LANGSMITH: JsonObject = {"content": "role"}
_NOTHING = DecodedRequest("", "", ())
_WITHIN = ("message", "response", "output", "outputs", "content", "result", "completion", "text")
_FINISH = ("finish_reason", "finishReason", "stop_reason", "done_reason")
_MODEL = ("model_name", "model", "modelId", "model_id")
_CALL_KEYS = ("toolCallId", "toolName")
_DEPTH = 6
_STATUS = lazy_pattern(r"\b(?:error|status)[ _]code:? ([45]\d\d)\b", re.IGNORECASE)
_REASONING = ("reasoning", "reasoning_tokens", "output_reasoning", "output_reasoning_tokens", "reasoningTokens")
_CACHED = ("cache_read", "cached_tokens", "input_cache_read", "input_cached_tokens", "cache_read_input_tokens")
_JOINED = ("text", "reasoning")


class ToolOutput(Struct, frozen=True):
    """A result's text, None where there is none; the id of the call, and whether it failed, where that is told."""

    text: str | None
    call_id: str = ""
    failed: bool | None = None


def read_tool_output(output: Json, *, depth: int = 4) -> ToolOutput:
    """A tool's output: a text, a tool message of a framework, a list of text blocks (MCP), or any JSON; never raises.

    JSON that was stored as a text stays that text, character by character. What is in `{"output": ...}` counts, to
    a `depth`.
    """
    given, text = unwrapped_json(output)
    if given is None:
        return ToolOutput(None)
    if isinstance(given, str):
        return ToolOutput(given)
    if isinstance(given, dict):
        if framework_messages.is_message(given):
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
    turns = framework_messages.read_any_messages(message).turns
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


def read_request_input(value: Json, known: framework_messages.KnownMessages, *, depth: int = 4) -> DecodedRequest:
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
        return structs.replace(_NOTHING, turns=known.read(asked).turns)
    if "contents" in asked:
        return _gemini(asked)
    if framework_messages.is_message(asked):
        return structs.replace(_NOTHING, turns=known.read(asked).turns)
    turns = (*_system(asked), *_conversation(asked, known, depth))
    if not turns:
        return structs.replace(
            _NOTHING, turns=(read_message({"role": "user", "content": text or compact_json(asked)}),)
        )
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
            yield from framework_messages.read_any_messages({"role": "system", "content": words}).turns


def _conversation(asked: JsonObject, known: framework_messages.KnownMessages, depth: int) -> Iterator[Turn]:
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


class FrameworkAnswer(Struct, frozen=True):
    """An answer as a turn with a generation, and its own id, `""` where it has none.

    `is_rewritten` says that arguments of calls were kept as objects, so that their text is not the model's.
    """

    turn: Turn
    response_id: str = ""
    is_rewritten: bool = False


def read_answer_output(value: Json) -> FrameworkAnswer:
    """A model call's output as an answer; never raises.

    A provider's whole body is read as from the wire. Of a list of messages the last of the model's counts. An object
    that is no answer of any framework is the answer's text, as JSON: what a structured output gives. Nothing at all is
    an empty text whose body is not stored.
    """
    return _read(value, _DEPTH)


def missing_answer() -> FrameworkAnswer:
    """An answer that the store does not hold."""
    return FrameworkAnswer(_turn([Part("text", "")], Generation(body=BodyState.NOT_STORED)))


def failure(words: str) -> GenerationError:
    """An error as stores keep it, a text: of HTTP, where it names a status as the SDKs do (`Error code: 429 - ...`)."""
    found = _STATUS.search(words)
    status = int(found[1]) if found else None
    phase = ErrorPhase.HTTP if status else ErrorPhase.TRANSPORT
    return GenerationError(phase, words or "The source says no more of it.", status)


def usage_of(usage: Json) -> Usage:
    """Token counts under the names that frameworks and stores give them; None for those that are missing."""
    if not isinstance(usage, dict):
        return Usage()
    inner: list[JsonObject] = [usage]
    inner += [one for one in usage.values() if isinstance(one, dict)]
    return Usage(
        _count(usage, "input", "input_tokens", "prompt_tokens", "inputTokens", "promptTokens"),
        _count(usage, "output", "output_tokens", "completion_tokens", "outputTokens", "completionTokens"),
        next((n for one in inner if (n := _count(one, *_REASONING)) is not None), None),
        next((n for one in inner if (n := _count(one, *_CACHED)) is not None), None),
    )


def _read(value: Json, depth: int) -> FrameworkAnswer:
    said, text = unwrapped_json(value)
    if said is None or said in ([], {}) or depth == 0:
        return missing_answer() if depth else _of_text(text or compact_json(said))
    if isinstance(said, str):
        return _of_text(said)
    if isinstance(said, list):
        return _of_list(said, depth) or _of_text(text or compact_json(said))
    if not isinstance(said, dict):
        return _of_text(text or compact_json(said))
    return _of_object(said, depth) or _of_text(text or compact_json(said))


def _of_text(text: str) -> FrameworkAnswer:
    return FrameworkAnswer(_turn([Part("text", text)], Generation()))


def _of_list(said: list[Json], depth: int) -> FrameworkAnswer | None:
    first = said[0]
    if isinstance(first, list) and len(said) == 1 and first:
        return _of_list(first, depth - 1) if depth > 1 else None
    if not all(isinstance(one, dict) for one in said):
        return None
    objects = [one for one in said if isinstance(one, dict)]
    if all(any(key in one for key in _CALL_KEYS) for one in objects):
        return _of_calls("", objects)
    if all("generation_info" in one or ("text" in one and "message" in one) for one in objects):
        return _of_generation(objects[0], depth)
    if any(map(framework_messages.is_message, objects)):
        kept = [one for one in objects if not _is_from_others(one)] or objects
        if any(map(framework_messages.is_item, kept)):
            return _answer_of_message([*kept])
        return _of_messages(_answered(objects) or kept[-1:])
    if any("type" in one for one in objects):
        return _answer_of_message({"role": "assistant", "content": said})
    return None


def _answered(messages: list[JsonObject]) -> list[JsonObject]:
    """The last messages of the model, behind which nobody else speaks: what came before is the conversation."""
    own: list[JsonObject] = []
    for message in reversed(messages):
        if _is_from_others(message):
            if own:
                break
            continue
        own.insert(0, message)
    return own


def _of_messages(messages: list[JsonObject]) -> FrameworkAnswer:
    """All these messages as one answer; its facts are those of the last that gives any."""
    read = list(map(_answer_of_message, messages))
    last = read[-1]
    turn = structs.replace(one_answer([one.turn for one in read]), generation=last.turn.generation)
    response_id = next((one.response_id for one in reversed(read) if one.response_id), "")
    return FrameworkAnswer(turn, response_id, any(one.is_rewritten for one in read))


def _is_from_others(message: JsonObject) -> bool:
    turns = framework_messages.read_any_messages(message).turns
    return all(turn.role is not Role.ASSISTANT for turn in turns)


def _of_object(said: JsonObject, depth: int) -> FrameworkAnswer | None:
    if (body := _as_body(said)) is not None:
        return _of_body(body)
    generations, messages = said.get("generations"), said.get("messages")
    if isinstance(generations, list):
        if generations in ([], [[]]):
            return missing_answer()
        return _with_facts(_read(generations, depth - 1), said, said.get("llm_output"))
    if framework_messages.is_message(said) or isinstance(said.get("parts"), list):
        return _answer_of_message(said)
    if isinstance(messages, list) and messages:
        return _with_facts(_read(messages, depth - 1), said)
    calls = said.get("toolCalls", said.get(CALLS))
    if isinstance(calls, list) and (calls or "text" in said):
        listed = [one for one in calls if isinstance(one, dict)]
        found = _of_calls(_first_text(said, ("text", "content")), listed)
        return _with_facts(_reasoned(found, _first_text(said, ("reasoning", "reasoningText"))), said)
    for key in _WITHIN:
        within = said.get(key)
        if within and _stands_for_all(key, within, said):
            return _with_facts(_read(within, depth - 1), said)
    return None


def _stands_for_all(key: str, within: Json, said: JsonObject) -> bool:
    """Whether a member is the answer itself: alone, beside facts of the generation, or a message by its shape."""
    if key in ("message", "response") and isinstance(within, dict):
        return True
    if key == "content" and not isinstance(within, str):
        return any(isinstance(one, dict) and "type" in one for one in within) if isinstance(within, list) else False
    return not said.keys() - {key, *_FINISH, *_MODEL, "usage", "usage_metadata", "id", "index", "type", "role"}


def _as_body(said: JsonObject) -> JsonObject | None:
    """A provider's whole body; ADK's events are taken for a candidate of Gemini's. None for what is none."""
    content = said.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        facts = {key: value for key, value in said.items() if key in ("finish_reason", "finishReason")}
        usage = said.get("usage_metadata", said.get("usageMetadata"))
        return {"candidates": [{"content": content, **facts}], "usageMetadata": usage}
    if isinstance(said.get("candidates"), list) or said.get("object") == "response":
        return said
    choices = said.get("choices")
    if isinstance(choices, list) and choices and all(isinstance(one, dict) for one in choices):
        return said
    if said.get("type") == "message" and isinstance(content, list) and "stop_reason" in said:
        return said
    return said if isinstance(said.get("message"), dict) and "done" in said else None


def _of_body(body: JsonObject) -> FrameworkAnswer:
    raw = compact_json(body).encode("utf-8", "surrogatepass")
    decoded = decode_answer(decoder_for(content_type="application/json"), [(None, raw)])
    is_rewritten = "choices" not in body and body.get("object") != "response" and bool(decoded.turn.calls)
    return FrameworkAnswer(decoded.turn, decoded.response_id, is_rewritten)


def _answer_of_message(message: Json) -> FrameworkAnswer:
    read = framework_messages.read_any_messages(message)
    turns = [turn for turn in read.turns if turn.role is Role.ASSISTANT] or read.turns[-1:]
    turn = structs.replace(turns[-1], role=Role.ASSISTANT, result=None, generation=Generation())
    found = FrameworkAnswer(turn, is_rewritten=read.is_rewritten)
    return _with_facts(found, message) if isinstance(message, dict) else found


def _of_calls(text: str, calls: list[JsonObject]) -> FrameworkAnswer:
    listed = [framework_messages.call_of(one) for one in calls]
    turn = read_message(message_object("assistant", text or None, calls=listed))
    return FrameworkAnswer(
        structs.replace(turn, generation=Generation()),
        is_rewritten=any(map(framework_messages.has_parsed_arguments, listed)),
    )


def _reasoned(found: FrameworkAnswer, reasoning: str) -> FrameworkAnswer:
    if not reasoning or found.turn.part("reasoning"):
        return found
    parts = (Part("reasoning", reasoning), *found.turn.parts)
    return structs.replace(found, turn=structs.replace(found.turn, parts=parts))


def _of_generation(said: JsonObject, depth: int) -> FrameworkAnswer:
    """One of LangChain's generations."""
    message = said.get("message")
    found = _read(message, depth - 1) if isinstance(message, dict) and depth > 1 else _of_text(str(said.get("text")))
    return _with_facts(found, said, said.get("generation_info"))


def _with_facts(found: FrameworkAnswer, *sources: Json) -> FrameworkAnswer:
    """The answer with what is beside it: its id, model, end and usage; what it says itself counts first."""
    known = found.turn.generation or Generation()
    response_id = found.response_id
    for facts in _facts(sources):
        word = _first_text(facts, _FINISH)
        if word and known.finish_reason is None:
            known = structs.replace(known, finish_reason=word, finish=finish_meaning(word.replace("-", "_")))
        for key in ("usage_metadata", "token_usage", "usage", "tokenUsage"):
            if known.usage == Usage():
                known = structs.replace(known, usage=usage_of(facts.get(key)))
        known = structs.replace(known, answered_model=known.answered_model or _first_text(facts, _MODEL))
        response_id = response_id or _first_text(facts, ("id",) if "finish_reason" in facts or "model" in facts else ())
    return structs.replace(found, turn=structs.replace(found.turn, generation=known), response_id=response_id)


def _facts(sources: tuple[Json, ...]) -> Iterator[JsonObject]:
    for source in sources:
        if isinstance(source, dict):
            kwargs = source.get("kwargs")
            within = kwargs if isinstance(kwargs, dict) else source
            meta = within.get("response_metadata")
            yield from [meta] if isinstance(meta, dict) else []
            yield within


def _first_text(value: JsonObject, keys: tuple[str, ...]) -> str:
    return next((found for key in keys if isinstance(found := value.get(key), str) and found), "")


def _count(usage: JsonObject, *keys: str) -> int | None:
    for key in keys:
        found = usage.get(key)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 16:
            return int(found)
    return None


def _turn(parts: list[Part], generation: Generation) -> Turn:
    return Turn(Role.ASSISTANT, tuple(parts), "assistant", generation=generation)


def one_answer(messages: Sequence[Turn]) -> Turn:
    """All that the messages say as one turn of the assistant; there must be one message. Nothing is left out.

    Messages of which only some hold calls are pieces of one answer, in their order: their texts follow each other on
    lines of their own, and their calls are numbered through. Else the first is the answer, and the parts of the others
    have the names of further choices (`choice1:text`).
    """
    turns = [structs.replace(one, role=Role.ASSISTANT, result=None) for one in messages]
    with_calls = sum(bool(one.calls) for one in turns)
    if len(turns) > 1 and 0 < with_calls < len(turns):
        return _joined(turns)
    first, *others = turns
    further = [
        structs.replace(part, name=f"choice{at}:{part.name}") for at, one in enumerate(others, 1) for part in one.parts
    ]
    return structs.replace(first, parts=(*first.parts, *further))


def _joined(turns: Sequence[Turn]) -> Turn:
    parts: dict[str, Part] = {}
    calls: list[CallHeader] = []
    seen: Counter[str] = Counter()
    for turn in turns:
        named = {header.part: header for header in turn.calls}
        for part in turn.parts:
            if part.name in named:
                name = f"call:{len(calls)}"
                calls.append(structs.replace(named[part.name], part=name))
                parts[name] = structs.replace(part, name=name)
            elif part.name in _JOINED and part.name in parts:
                before = parts[part.name].text
                parts[part.name] = Part(
                    part.name, f"{before}\n{part.text}" if before and part.text else before + part.text
                )
            else:
                seen[part.name] += 1
                name = part.name if seen[part.name] == 1 else f"{part.name}:{seen[part.name]}"
                parts[name] = structs.replace(part, name=name)
    return structs.replace(turns[0], parts=tuple(parts.values()), calls=tuple(calls))
