"""Model requests, model answers and tool results in whatever shape a tracing store keeps them.

Requests are bodies, messages or texts; answers are response bodies, messages or texts; each may be JSON within a text.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct, structs

from weaklink.inspector import model
from weaklink.inspector.apis.gemini import read_gemini_request
from weaklink.inspector.apis.openai.messages import CALLS, message_object, read_message, read_tools
from weaklink.inspector.apis.openai.responses import read_responses_request
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry import framework_messages
from weaklink.inspector.json_text import compact_json, objects_of, word_of
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.wire.answer_reader import finish_meaning
from weaklink.inspector.wire.decoder import decode_answer
from weaklink.inspector.wire.events import DecodedRequest, parameters_of

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
    """A result's text, None if there is none; the id of the call, and whether it failed, if the store has them."""

    text: str | None
    call_id: str = ""
    failed: bool | None = None


def read_tool_output(output: model.Json, *, depth: int = 4) -> ToolOutput:
    """A tool's output: a text, a tool message of a framework, a list of text blocks (MCP), or any JSON; never raises.

    JSON that was stored as a text is kept as that text, character by character. The content of `{"output": ...}` is
    used, to a `depth`.
    """
    value, text = unwrapped_json(output)
    if value is None:
        return ToolOutput(None)
    if isinstance(value, str):
        return ToolOutput(value)
    if isinstance(value, dict):
        if framework_messages.is_message(value):
            return _of_message(value) or ToolOutput(text or compact_json(value))
        inner = value.get("output")
        if value.keys() == {"output"} and isinstance(inner, str | dict) and depth:
            return read_tool_output(inner, depth=depth - 1)
        content = value.get("content")
        if isinstance(content, list) and value.keys() <= {"content", "isError", "is_error", "structuredContent"}:
            failed = value.get("isError", value.get("is_error"))
            return ToolOutput(_blocks_text(content), failed=failed if isinstance(failed, bool) else None)
    return ToolOutput(text or compact_json(value))


def _of_message(message: model.Json) -> ToolOutput | None:
    turns = framework_messages.read_any_messages(message).turns
    turn = next((turn for turn in turns if turn.role is model.Role.TOOL and turn.result is not None), None)
    if turn is None or turn.result is None:
        return None
    text = "".join(part.text for part in turn.parts)
    return ToolOutput(text, turn.result.call_id or "", turn.result.is_error)


def _blocks_text(blocks: list[model.Json]) -> str:
    return "".join(part.text for part in read_message({"role": "tool", "content": blocks}).parts)


def unwrapped_json(value: model.Json) -> tuple[model.Json, str | None]:
    """A value without the JSON texts around it, and the innermost text that was JSON; None if there was none.

    Stores keep JSON as a text, and texts as JSON texts. A text that is not a JSON object, list or string is unchanged.
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


def read_request_input(value: model.Json, known: framework_messages.KnownMessages, *, depth: int = 4) -> DecodedRequest:
    """A model call's input as a request; `known` are messages that were read before. Never raises.

    A list is its messages, or plain prompts. An object is a request's body, with the member names of OpenAI, Anthropic,
    Gemini, LangChain or the Vercel AI SDK, or one message. A text is the user's. Any other object is the user's text,
    as JSON. LangSmith's exporter to OpenTelemetry writes `{"content": "role"}` in place of messages that it does not
    support. Requests within requests (`{"input": {...}}`) are read to a `depth`.
    """
    request, text = unwrapped_json(value)
    if request is None or request in ("", [], {}) or request == _LOST_BY_LANGSMITH:
        return _NOTHING
    if not isinstance(request, dict):
        return structs.replace(_NOTHING, turns=known.read(request).turns)
    if "contents" in request:
        return _gemini(request)
    if framework_messages.is_message(request):
        return structs.replace(_NOTHING, turns=known.read(request).turns)
    turns = (*_system(request), *_conversation(request, known, depth))
    if not turns:
        return structs.replace(
            _NOTHING, turns=(read_message({"role": "user", "content": text or compact_json(request)}),)
        )
    return DecodedRequest(
        "",
        word_of(request.get("model")),
        turns,
        tools_of(request),
        parameters_of(request, without=_NO_SETTINGS),
    )


def tools_of(request: JsonObject) -> tuple[model.ToolDefinition, ...]:
    """The tools that a request offers; each may be a separate JSON text."""
    return read_tool_list(request.get("tools")) or read_tools(None, request.get("functions"))


def read_tool_list(tools: model.Json) -> tuple[model.ToolDefinition, ...]:
    """Tools as a list, as an object of them by name, or as the JSON text of either; each may again be a JSON text."""
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


def _named(tool: model.Json) -> model.Json:
    """A tool with its schema under OpenAI's name for it (Vercel uses `inputSchema`)."""
    if isinstance(tool, dict) and "inputSchema" in tool and "parameters" not in tool:
        return {("parameters" if key == "inputSchema" else key): value for key, value in tool.items()}
    return tool


def _gemini(request: JsonObject) -> DecodedRequest:
    config = request.get("config")
    merged: JsonObject = {**config, **request} if isinstance(config, dict) else request
    merged = {key: value for key, value in merged.items() if key != "config"}
    return read_gemini_request(merged)


def _system(request: JsonObject) -> Iterator[model.Turn]:
    for key in ("system", "system_prompt", "instructions"):
        words = request.get(key)
        if words and isinstance(words, str | list):
            yield from framework_messages.read_any_messages({"role": "system", "content": words}).turns


def _conversation(request: JsonObject, known: framework_messages.KnownMessages, depth: int) -> Iterator[model.Turn]:
    for key in ("chat_history", "messages", "prompts", "prompt", "input"):
        value, _ = unwrapped_json(request.get(key))
        if not value or (key == "input" and any(request.get(one) for one in ("messages", "prompt", "prompts"))):
            continue
        if key == "input" and "model" in request and isinstance(value, list):
            yield from read_responses_request({"input": value}).turns
        elif key == "input" and isinstance(value, dict) and depth:
            yield from read_request_input(value, known, depth=depth - 1).turns
        else:
            yield from known.read(value).turns


class FrameworkAnswer(Struct, frozen=True):
    """An answer as a turn with a generation, and its id, `""` if it has none.

    `is_rewritten` is True if arguments of calls were stored as objects, so that their text is not the model's. `steps`
    are the answers and the results of tools before it that the output contains, too, and `results` those of its own
    calls: a UI message has all its steps.
    """

    turn: model.Turn
    response_id: str = ""
    is_rewritten: bool = False
    steps: tuple[model.Turn, ...] = ()
    results: tuple[model.Turn, ...] = ()


def read_answer_output(value: model.Json) -> FrameworkAnswer:
    """A model call's output as an answer; never raises.

    A provider's whole body is read as if from the wire. In a list of messages the model's last consecutive messages
    count. An object that is not an answer of any framework is the answer's text, as JSON: structured outputs are stored
    that way. An empty output is an empty text whose body is not stored.
    """
    return _read(value, _DEPTH)


def missing_answer() -> FrameworkAnswer:
    """An answer that the store does not have."""
    return FrameworkAnswer(_turn([model.Part("text", "")], model.Generation(body=model.BodyState.NOT_STORED)))


def failure(words: str) -> model.GenerationError:
    """An error from the text that stores keep; HTTP if it names a status, as in the SDKs (`Error code: 429 - ...`)."""
    match = _STATUS.search(words)
    status = int(match[1]) if match else None
    phase = model.ErrorPhase.HTTP if status else model.ErrorPhase.TRANSPORT
    return model.GenerationError(phase, words or "The source contains no details of the error.", status)


def usage_of(usage: model.Json) -> model.Usage:
    """Token counts under the names that frameworks and stores use; None for those that are missing."""
    if not isinstance(usage, dict):
        return model.Usage()
    inner: list[JsonObject] = [usage]
    inner += [one for one in usage.values() if isinstance(one, dict)]
    return model.Usage(
        _count(usage, "input", "input_tokens", "prompt_tokens", "inputTokens", "promptTokens"),
        _count(usage, "output", "output_tokens", "completion_tokens", "outputTokens", "completionTokens"),
        next((n for one in inner if (n := _count(one, *_REASONING)) is not None), None),
        next((n for one in inner if (n := _count(one, *_CACHED)) is not None), None),
    )


def _read(value: model.Json, depth: int) -> FrameworkAnswer:
    output, text = unwrapped_json(value)
    if output is None or output in ([], {}) or depth == 0:
        return missing_answer() if depth else _of_text(text or compact_json(output))
    if isinstance(output, str):
        return _of_text(output)
    if isinstance(output, list):
        return _of_list(output, depth) or _of_text(text or compact_json(output))
    if not isinstance(output, dict):
        return _of_text(text or compact_json(output))
    return _of_object(output, depth) or _of_text(text or compact_json(output))


def _of_text(text: str) -> FrameworkAnswer:
    return FrameworkAnswer(_turn([model.Part("text", text)], model.Generation()))


def _of_list(items: list[model.Json], depth: int) -> FrameworkAnswer | None:
    first = items[0]
    if isinstance(first, list) and len(items) == 1 and first:
        return _of_list(first, depth - 1) if depth > 1 else None
    if not all(isinstance(item, dict) for item in items):
        return None
    objects = objects_of(items)
    if all(any(key in object_ for key in _CALL_KEYS) for object_ in objects):
        return _of_calls("", objects)
    if all("generation_info" in object_ or ("text" in object_ and "message" in object_) for object_ in objects):
        return _of_generation(objects[0], depth)
    if any(map(framework_messages.is_message, objects)):
        kept = [object_ for object_ in objects if not _is_from_others(object_)] or objects
        if any(map(framework_messages.is_item, kept)):
            return _answer_of_message([*kept])
        return _of_messages(_answered(objects) or kept[-1:])
    if any("type" in object_ for object_ in objects):
        return _answer_of_message({"role": "assistant", "content": items})
    return None


def _answered(messages: list[JsonObject]) -> list[JsonObject]:
    """The last consecutive messages of the model; the messages before them are the conversation."""
    answer: list[JsonObject] = []
    for message in reversed(messages):
        if _is_from_others(message):
            if answer:
                break
            continue
        answer.insert(0, message)
    return answer


def _of_messages(messages: list[JsonObject]) -> FrameworkAnswer:
    """All these messages as one answer, with the generation of the last and the last response id."""
    read = list(map(_answer_of_message, messages))
    last = read[-1]
    if any(answer.steps or answer.results for answer in read):
        before = [(*one.steps, structs.replace(one.turn, generation=None), *one.results) for one in read[:-1]]
        return structs.replace(last, steps=(*chain.from_iterable(before), *last.steps))
    turn = structs.replace(one_answer([answer.turn for answer in read]), generation=last.turn.generation)
    response_id = next((answer.response_id for answer in reversed(read) if answer.response_id), "")
    return FrameworkAnswer(turn, response_id, any(answer.is_rewritten for answer in read))


def _is_from_others(message: JsonObject) -> bool:
    turns = framework_messages.read_any_messages(message).turns
    return all(turn.role is not model.Role.ASSISTANT for turn in turns)


def _of_object(output: JsonObject, depth: int) -> FrameworkAnswer | None:
    if (body := _as_body(output)) is not None:
        return _of_body(body)
    generations, messages = output.get("generations"), output.get("messages")
    if isinstance(generations, list):
        if generations in ([], [[]]):
            return missing_answer()
        return _with_facts(_read(generations, depth - 1), output, output.get("llm_output"))
    if framework_messages.is_message(output) or isinstance(output.get("parts"), list):
        return _answer_of_message(output)
    if isinstance(messages, list) and messages:
        return _with_facts(_read(messages, depth - 1), output)
    calls = output.get("toolCalls", output.get(CALLS))
    if isinstance(calls, list) and (calls or "text" in output):
        listed = objects_of(calls)
        answer = _of_calls(text_of(output, "text", "content"), listed)
        return _with_facts(_reasoned(answer, text_of(output, "reasoning", "reasoningText")), output)
    for key in _WITHIN:
        inner = output.get(key)
        if inner and _is_whole_answer(key, inner, output):
            return _with_facts(_read(inner, depth - 1), output)
    return None


def _is_whole_answer(key: str, inner: model.Json, output: JsonObject) -> bool:
    """Whether a member is the answer itself: alone, beside facts of the generation, or a message by its shape."""
    if key in ("message", "response") and isinstance(inner, dict):
        return True
    if key == "content" and not isinstance(inner, str):
        return any(isinstance(one, dict) and "type" in one for one in inner) if isinstance(inner, list) else False
    return not output.keys() - {key, *_FINISH, *_MODEL, "usage", "usage_metadata", "id", "index", "type", "role"}


def _as_body(output: JsonObject) -> JsonObject | None:
    """A provider's whole body; an event of ADK is converted to a candidate of Gemini. None for anything else."""
    content = output.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        facts = {key: value for key, value in output.items() if key in ("finish_reason", "finishReason")}
        usage = output.get("usage_metadata", output.get("usageMetadata"))
        return {"candidates": [{"content": content, **facts}], "usageMetadata": usage}
    if isinstance(output.get("candidates"), list) or output.get("object") == "response":
        return output
    choices = output.get("choices")
    if isinstance(choices, list) and choices and all(isinstance(choice, dict) for choice in choices):
        return output
    if output.get("type") == "message" and isinstance(content, list) and "stop_reason" in output:
        return output
    return output if isinstance(output.get("message"), dict) and "done" in output else None


def _of_body(body: JsonObject) -> FrameworkAnswer:
    raw = compact_json(body).encode("utf-8", "surrogatepass")
    decoded = decode_answer(decoder_for(content_type="application/json"), [(None, raw)])
    is_rewritten = "choices" not in body and body.get("object") != "response" and bool(decoded.turn.calls)
    return FrameworkAnswer(decoded.turn, decoded.response_id, is_rewritten)


def _answer_of_message(message: model.Json) -> FrameworkAnswer:
    if isinstance(message, dict) and any(map(framework_messages.is_ui_part, objects_of(message.get("parts")))):
        return _with_facts(_of_ui_message(message), message)
    read = framework_messages.read_any_messages(message)
    turns = [turn for turn in read.turns if turn.role is model.Role.ASSISTANT] or read.turns[-1:]
    turn = structs.replace(turns[-1], role=model.Role.ASSISTANT, result=None, generation=model.Generation())
    answer = FrameworkAnswer(turn, is_rewritten=read.is_rewritten)
    return _with_facts(answer, message) if isinstance(message, dict) else answer


def _of_ui_message(message: JsonObject) -> FrameworkAnswer:
    """The last answer of a UI message, with the steps before it and the results of its calls."""
    read = framework_messages.read_any_message(message)
    at = max((at for at, turn in enumerate(read.turns) if turn.role is model.Role.ASSISTANT), default=-1)
    if at < 0:
        return missing_answer()
    turn = structs.replace(read.turns[at], role=model.Role.ASSISTANT, generation=model.Generation())
    return FrameworkAnswer(turn, "", read.is_rewritten, read.turns[:at], read.turns[at + 1 :])


def _of_calls(text: str, calls: list[JsonObject]) -> FrameworkAnswer:
    listed = [framework_messages.call_of(call) for call in calls]
    turn = read_message(message_object("assistant", text or None, calls=listed))
    return FrameworkAnswer(
        structs.replace(turn, generation=model.Generation()),
        is_rewritten=any(map(framework_messages.has_parsed_arguments, listed)),
    )


def _reasoned(answer: FrameworkAnswer, reasoning: str) -> FrameworkAnswer:
    if not reasoning or answer.turn.part("reasoning"):
        return answer
    parts = (model.Part("reasoning", reasoning), *answer.turn.parts)
    return structs.replace(answer, turn=structs.replace(answer.turn, parts=parts))


def _of_generation(generation: JsonObject, depth: int) -> FrameworkAnswer:
    message = generation.get("message")
    answer = (
        _read(message, depth - 1) if isinstance(message, dict) and depth > 1 else _of_text(str(generation.get("text")))
    )
    return _with_facts(answer, generation, generation.get("generation_info"))


def _with_facts(answer: FrameworkAnswer, *sources: model.Json) -> FrameworkAnswer:
    """The answer, completed with the id, model, finish reason and usage beside it; its own facts have priority."""
    generation = answer.turn.generation or model.Generation()
    response_id = answer.response_id
    for facts in _facts(sources):
        word = text_of(facts, *_FINISH)
        if word and generation.finish_reason is None:
            generation = structs.replace(generation, finish_reason=word, finish=finish_meaning(word.replace("-", "_")))
        for key in ("usage_metadata", "token_usage", "usage", "tokenUsage"):
            if generation.usage == model.Usage():
                generation = structs.replace(generation, usage=usage_of(facts.get(key)))
        generation = structs.replace(generation, answered_model=generation.answered_model or text_of(facts, *_MODEL))
        response_id = response_id or (text_of(facts, "id") if "finish_reason" in facts or "model" in facts else "")
    return structs.replace(answer, turn=structs.replace(answer.turn, generation=generation), response_id=response_id)


def _facts(sources: tuple[model.Json, ...]) -> Iterator[JsonObject]:
    for source in sources:
        if isinstance(source, dict):
            members = next((one for key in ("kwargs", "data") if isinstance(one := source.get(key), dict)), source)
            meta = members.get("response_metadata")
            yield from [meta] if isinstance(meta, dict) else []
            yield members


def _count(usage: JsonObject, *keys: str) -> int | None:
    for key in keys:
        found = usage.get(key)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 16:
            return int(found)
    return None


def _turn(parts: list[model.Part], generation: model.Generation) -> model.Turn:
    return model.Turn(model.Role.ASSISTANT, tuple(parts), "assistant", generation=generation)


def one_answer(messages: Sequence[model.Turn]) -> model.Turn:
    """All that the messages contain as one turn of the assistant; at least one message is required.

    If only some of the messages contain calls, they are pieces of one answer, in their order: their texts are joined
    with line breaks, and their calls are numbered consecutively. Otherwise the first message is the answer, and the
    parts of the others get the names of further choices (`choice1:text`).
    """
    turns = [structs.replace(message, role=model.Role.ASSISTANT, result=None) for message in messages]
    with_calls = sum(bool(turn.calls) for turn in turns)
    if len(turns) > 1 and 0 < with_calls < len(turns):
        return _joined(turns)
    first, *others = turns
    further = [
        structs.replace(part, name=f"choice{at}:{part.name}") for at, one in enumerate(others, 1) for part in one.parts
    ]
    return structs.replace(first, parts=(*first.parts, *further))


def _joined(turns: Sequence[model.Turn]) -> model.Turn:
    parts: dict[str, model.Part] = {}
    calls: list[model.CallHeader] = []
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
                parts[part.name] = model.Part(
                    part.name, f"{before}\n{part.text}" if before and part.text else before + part.text
                )
            else:
                seen[part.name] += 1
                name = part.name if seen[part.name] == 1 else f"{part.name}:{seen[part.name]}"
                parts[name] = structs.replace(part, name=name)
    return structs.replace(turns[0], parts=tuple(parts.values()), calls=tuple(calls))
