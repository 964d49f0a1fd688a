"""The request of one turn, to be sent again unchanged or changed.

The request comes from the exchange record, if there is one, with redacted secrets. Otherwise it is rebuilt from the
trace: from the messages as the request had them (`inspector.model.exchange`) or, if the source kept no requests, from
the turns before; with the model, tools and settings of the turn's generation. Requests for chat completions and for
Anthropic's messages can be rebuilt.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.apis.anthropic import messages as anthropic
from weaklink.inspector.apis.openai import chat, messages, responses
from weaklink.inspector.apis.providers import find_api
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.json_text import list_of, object_of, objects_of, word_of
from weaklink.inspector.model import Json, Role, Trace, Turn
from weaklink.inspector.model.exchange import RecordedExchange, requests_of
from weaklink.inspector.replay.canonical import body_value, endpoint
from weaklink.inspector.wire.events import settings_of

_PATHS = {chat.API: "/chat/completions", anthropic.API: "/messages"}
_MAX_TOKENS = 4096
_BYTES_PER_TOKEN = 4
_REDACTED = "*" * 8

Body: TypeAlias = dict[str, Json]


class ResendError(WeaklinkError):
    """A request cannot be sent again, or not with this change; the message says why."""


class TurnRequest(Struct, frozen=True):
    """The request that turn `turn` answers.

    `path` follows the version in the server's address (`/chat/completions`). `prompt_tokens` is the server's count for
    the recorded request, None if there is none. `notes` are sentences on how the request may differ from the one that
    was sent.
    """

    turn: int
    api: str
    path: str
    body: Body
    prompt_tokens: int | None = None
    notes: tuple[str, ...] = ()


def turn_request(
    trace: Trace, exchanges: Iterable[RecordedExchange], turn: int, *, api: str | None = None
) -> TurnRequest:
    """The request of an assistant's turn; `api` rebuilds it for that API. ResendError if there is none."""
    if not 0 < turn <= len(trace.turns) or trace.turns[turn - 1].role is not Role.ASSISTANT:
        raise ResendError(f"turn {turn} is not an answer of a model, {_answers(trace)}")
    generation = trace.turns[turn - 1].generation
    counted = generation.usage.input_tokens if generation is not None else None
    recorded = next((exchange for exchange in exchanges if exchange.turn == turn and exchange.request), None)
    if recorded is None or api is not None:
        return structs.replace(_rebuilt(trace, turn, api), prompt_tokens=counted)
    body = body_value(recorded.request or b"")
    if not isinstance(body, dict):
        raise ResendError(f"the recorded request of turn {turn} is not a JSON object")
    secrets = _REDACTED in (recorded.request or b"").decode("utf-8", "replace")
    notes = ("The recording has no secrets: where the request contained one, asterisks are sent.",) if secrets else ()
    return TurnRequest(turn, find_api(recorded.path, body), endpoint(recorded.path), body, counted, notes)


def _answers(trace: Trace) -> str:
    numbers = [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.ASSISTANT]
    if not numbers:
        return "and the trace contains none"
    return f"as are {', '.join(map(str, numbers[:8]))}{', ...' if len(numbers) > 8 else ''}"


def _rebuilt(trace: Trace, number: int, requested_api: str | None) -> TurnRequest:
    generation = trace.turns[number - 1].generation
    api = requested_api or (generation.api if generation is not None else "") or chat.API
    if api not in _PATHS:
        raise ResendError(
            f"the request of turn {number} was not recorded, and a request for `{api}` cannot be rebuilt; "
            "`--api openai` or `--api anthropic` rebuilds it for another API"
        )
    turns, is_exact = _request_turns(trace, number)
    notes = ["The request was not recorded; it is rebuilt from the trace."]
    if not is_exact:
        notes.append("The source recorded no requests: the messages are the earlier turns, which may be incomplete.")
    body = _settings(trace, number)
    if api == anthropic.API:
        try:
            body |= anthropic.write_conversation(turns)
        except ValueError as error:
            raise ResendError(f"the request of turn {number} cannot be rebuilt for Anthropic's API: {error}") from error
        if "max_tokens" not in body:
            body["max_tokens"] = _MAX_TOKENS
            notes.append(f"The token limit of the answer was not recorded: `max_tokens` is {_MAX_TOKENS}.")
    else:
        body["messages"] = [_chat_message(turn) for turn in turns]
    tools = generation.tools if generation is not None else ()
    if tools:
        write = anthropic.write_tool if api == anthropic.API else messages.write_tool
        body["tools"] = [write(tool) for tool in tools]
    return TurnRequest(number, api, _PATHS[api], body, notes=tuple(notes))


def _request_turns(trace: Trace, number: int) -> tuple[list[Turn], bool]:
    """The messages of a turn's request, and whether these are the messages that were sent."""
    for request in requests_of(trace.turns):
        if not isinstance(request, int) and request.turn == number:
            read = request.messages()
            return [
                message.version if message.version is not None else trace.turns[(message.turn or 1) - 1]
                for message in read
            ], True
    return list(trace.turns[: number - 1]), False


def _settings(trace: Trace, number: int) -> Body:
    generation = trace.turns[number - 1].generation
    model = (generation.requested_model or generation.answered_model) if generation is not None else ""
    model = model or trace.model
    settings = settings_of(generation) if generation is not None else {}
    return {"model": model, **{key: value for key, value in settings.items() if key != "stream_options"}}


def _chat_message(turn: Turn) -> Json:
    message = messages.write_message(turn)
    message.pop("is_error", None)  # weaklink's own member
    return message


class RequestChange(Struct, frozen=True):
    """A change of a request; empty members change nothing.

    `settings` are pairs of a name, dots between nested members, and a JSON text or a bare word; an empty value removes
    the member. `system` replaces the system prompt, `tools` the tools.
    """

    model: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    system: str | None = None
    tools: tuple[Json, ...] | None = None

    def applied(self, request: TurnRequest) -> TurnRequest:
        """The changed request; ResendError for a change that its API cannot represent."""
        body: Body = dict(request.body)
        if self.model:
            if "model" not in body:
                raise ResendError("the model is part of this API's path, so `--model` cannot change it")
            body["model"] = self.model
        for name, text in self.settings:
            _set(body, name, text)
        if self.system is not None:
            _set_system(body, request.api, lambda old: self.system or "")
        if self.tools is not None:
            body["tools"] = list(self.tools)
        return structs.replace(request, body=body)


def _set(body: Body, name: str, text: str) -> None:
    *path, last = name.split(".")
    members = body
    for step in path:
        members[step] = inner = dict(object_of(members.get(step)))
        members = inner
    if text == "":
        members.pop(last, None)
        return
    try:
        members[last] = json.loads(text)
    except ValueError:
        members[last] = text


def _set_system(body: Body, api: str, change: Callable[[str], str]) -> None:
    """Change the text of the system prompt, in the place where the API has it."""
    if api == anthropic.API:
        body["system"] = change(_text(body.get("system")))
    elif api == responses.API:
        body["instructions"] = change(word_of(body.get("instructions")))
    elif "messages" in body:
        listed = list_of(body["messages"])
        first = object_of(listed[0]) if listed else {}
        has_system = first.get("role") in ("system", "developer")
        role = first["role"] if has_system else "system"
        new: Json = {"role": role, "content": change(_text(first.get("content")) if has_system else "")}
        body["messages"] = [new, *(listed[1:] if has_system else listed)]
    else:
        raise ResendError(f"weaklink does not know where `{api or 'this API'}` has its system prompt")


def _text(content: Json) -> str:
    if isinstance(content, list):
        return "".join(word_of(block.get("text")) for block in objects_of(content))
    return word_of(content)


def with_fix(request: TurnRequest, diagnostic: Diagnostic, tool: str | None) -> TurnRequest:
    """The request with advice against a fault: in the tool's description, or in the system prompt.

    A fault of an argument belongs to the tool that the call names; a fault of the call's syntax, and a tool that was
    not offered, to the prompt. ResendError for any other fault.
    """
    body: Body = dict(request.body)
    fault_text = " ".join(filter(None, (diagnostic.fault.message, diagnostic.fault.hint)))
    if (
        diagnostic.rule.code.startswith("S2")
        and tool is not None
        and _describe(body, tool, f"Avoid this mistake: {fault_text}")
    ):
        return structs.replace(request, body=body)
    if diagnostic.rule.code == "T401" and (names := _tool_names(body)):
        advice = f"Call only these tools, by exactly these names: {', '.join(names)}."
    elif diagnostic.rule.code[0] in "JFS":
        advice = (
            "Make every tool call in exactly the required format, its arguments one valid JSON object that follows the "
            f"tool's schema. Avoid this mistake: {fault_text}"
        )
    else:
        raise ResendError(f"`--with-fix` has no change of the prompt or a tool against {diagnostic.rule}")
    _set_system(body, request.api, lambda old: f"{old}\n\n{advice}" if old else advice)
    return structs.replace(request, body=body)


def _describe(body: Body, name: str, advice: str) -> bool:
    """Add a sentence to a tool's description; returns whether the tool is there."""
    tools = [dict(object_of(tool)) for tool in list_of(body.get("tools"))]
    for tool in tools:
        if "function" in tool:
            tool["function"] = dict(object_of(tool["function"]))
        inner = tool["function"] if isinstance(tool.get("function"), dict) else tool
        if isinstance(inner, dict) and inner.get("name") == name:
            old = word_of(inner.get("description"))
            inner["description"] = f"{old} {advice}".strip()
            body["tools"] = [*tools]
            return True
    return False


def _tool_names(body: Body) -> list[str]:
    tools = objects_of(body.get("tools"))
    return [name for tool in tools if (name := word_of(object_of(tool.get("function", tool)).get("name")))]


def estimated_tokens(request: TurnRequest, original: TurnRequest) -> int:
    """The approximate number of prompt tokens: the server's count, in proportion to the bytes; else bytes / 4."""
    size, before = len(_compact(request.body)), len(_compact(original.body))
    if original.prompt_tokens and before:
        return max(1, round(original.prompt_tokens * size / before))
    return max(1, size // _BYTES_PER_TOKEN)


def answer_limit(body: Body) -> int | None:
    """The most tokens that the answer may have, None if the request does not limit them."""
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    limits = [body[name] for name in names if isinstance(body.get(name), int)]
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)


def _compact(body: Body) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def assistant_turns(trace: Trace) -> Sequence[int]:
    """The numbers of the turns whose requests can be sent again."""
    return [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.ASSISTANT]
