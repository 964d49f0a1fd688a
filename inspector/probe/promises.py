"""What the chat completions API promises about the form of an answer, and where an answer breaks it.

Each promise is a kind of finding. The form of an answer is written by the server alone, so the server owns every one of
these findings, whatever the model wrote. Source: OpenAI's API reference, "The chat completion object" and "The chat
completion chunk object"; members that compatible servers add are not findings. Members that clients do not need
(`created`, `system_fingerprint`) are not required.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from weaklink.inspector.json_text import object_of, objects_of, word_of, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.probe.answers import ProbeAnswer

PROMISES: Mapping[str, str] = MappingProxyType(
    {
        "not-a-completion": "The body is a chat completion: a JSON object with `choices`.",
        "error-in-answer": "An error has an error's status, and ends the answer.",
        "stream-not-sent": "A requested stream is sent as server-sent events.",
        "stream-not-asked": "A body that was not requested as a stream is one JSON object.",
        "event-unreadable": "Each event of a stream is a JSON object, or `[DONE]`.",
        "end-mark-missing": "A stream ends with `data: [DONE]`.",
        "id-missing": "An answer has an `id`.",
        "id-changes": "All chunks of an answer have the same `id`.",
        "object-wrong": "`object` is `chat.completion`, or `chat.completion.chunk` in a stream.",
        "model-missing": "An answer names its `model`.",
        "role-wrong": "The role of an answer is `assistant`.",
        "delta-missing": "The choices of a chunk have a `delta`, and no `message`.",
        "finish-reason-missing": "An answer that ended has a finish reason.",
        "finish-reason-wrong": "The finish reason is `tool_calls` exactly if the model decided to call tools.",
        "finish-reason-unknown": "The finish reason is one of the API's words.",
        "text-after-finish": "No text and no call comes after the finish reason.",
        "usage-missing": "An answer has `usage`; a stream if `include_usage` requests it.",
        "usage-wrong": "The counts of `usage` are not negative, count the answer, and add up.",
        "call-id-missing": "Each call has an `id`.",
        "call-id-repeated": "The ids of an answer's calls differ.",
        "call-id-changes": "A call keeps its `id` through the stream.",
        "call-type-missing": "The type of a call is `function`.",
        "call-name-missing": "Each call has the name of its function.",
        "call-name-repeated": "The name of a call comes once, with its first piece.",
        "call-index-missing": "Each piece of a call in a stream has an `index`.",
        "call-index-reused": "Each call in a stream has an `index` of its own.",
        "arguments-not-text": "The arguments of a call are a text that contains JSON.",
        "token-limit-exceeded": "An answer has at most `max_tokens` tokens.",
    }
)
"""The kinds of findings about the form of an answer, each with what the API promises."""

_FINISH_REASONS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_MAX_QUOTE_CHARS = 80


def broken_promises(answer: ProbeAnswer) -> Iterator[tuple[str, str]]:
    """The kinds of promises that a complete answer breaks, each with a sentence; each kind at most once."""
    seen: set[str] = set()
    for kind, message in _all(answer):
        assert kind in PROMISES, "each kind has its promise"
        if kind not in seen:
            seen.add(kind)
            yield kind, message


def _all(answer: ProbeAnswer) -> Iterator[tuple[str, str]]:
    if answer.asked_stream and not answer.is_stream:
        yield "stream-not-sent", "A stream was requested, and the body came as one JSON object."
    if not answer.asked_stream and answer.is_stream:
        yield "stream-not-asked", "No stream was requested, and an event stream came."
    for value in answer.objects:
        if value.get("error"):
            yield (
                "error-in-answer",
                f"The answer has status {answer.status} and contains an error: {_quoted(value['error'])}.",
            )
    if not answer.choice:
        if not any(value.get("error") for value in answer.objects):
            shown = _quoted(answer.raw[:400].decode("utf-8", "replace"))
            yield "not-a-completion", f"The body has no choice: {shown}."
        return
    yield from _heads(answer)
    yield from _finish(answer)
    yield from _usage(answer)
    yield from (_stream(answer) if answer.is_stream else _whole(answer))


def _heads(answer: ProbeAnswer) -> Iterator[tuple[str, str]]:
    wanted = "chat.completion.chunk" if answer.is_stream else "chat.completion"
    ids = [word_of(value.get("id")) for value in answer.objects]
    if not all(ids):
        yield "id-missing", f"{ids.count('')} of {len(ids)} objects of the answer have no `id`."
    if len({id_ for id_ in ids if id_}) > 1:
        yield "id-changes", f"The chunks of the answer have {len(set(ids))} different ids."
    for value in answer.objects:
        if value.get("object") != wanted:
            yield "object-wrong", f"`object` is {_quoted(value.get('object'))}; expected `{wanted}`."
        if not word_of(value.get("model")):
            yield "model-missing", "The answer does not name its model."
    if word_of(answer.message.get("role")) != "assistant":
        yield "role-wrong", f"The role is {_quoted(answer.message.get('role'))}; expected `assistant`."


def _finish(answer: ProbeAnswer) -> Iterator[tuple[str, str]]:
    finish, has_calls = answer.finish_reason, bool(answer.turn.calls)
    if not finish:
        yield "finish-reason-missing", "The answer ended without a finish reason."
    elif finish not in _FINISH_REASONS:
        yield "finish-reason-unknown", f"The finish reason is {_quoted(finish)}, which the API does not define."
    elif finish == "tool_calls" and not has_calls:
        yield "finish-reason-wrong", "The finish reason is `tool_calls`, and the answer has no call."
    elif finish == "stop" and has_calls and not _is_forced(answer.body):
        yield "finish-reason-wrong", "The finish reason is `stop`, and the answer has calls; expected `tool_calls`."


def _is_forced(body: Mapping[str, Json]) -> bool:
    """Whether a named tool was forced: OpenAI's own API ends such an answer with `stop`."""
    return isinstance(body.get("tool_choice"), dict)


def _usage(answer: ProbeAnswer) -> Iterator[tuple[str, str]]:
    usage = object_of(answer.response.get("usage"))
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    if not usage:
        requested = ", although `include_usage` requests it" if answer.is_stream else ""
        yield "usage-missing", f"The answer has no `usage`{requested}."
        return
    if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts):
        yield "usage-wrong", f"`usage` is {_quoted(usage)}; expected three counts."
        return
    prompt, output, total = (count if isinstance(count, int) else 0 for count in counts)
    has_text = any(part.text and not part.name.startswith("wire:") for part in answer.turn.parts)
    if prompt + output != total:
        yield "usage-wrong", f"`total_tokens` is {total}; {prompt} + {output} = {prompt + output}."
    elif not prompt or (has_text and not output):
        yield (
            "usage-wrong",
            f"`usage` counts {prompt} tokens of the prompt and {output} of the answer; neither is empty.",
        )
    limit = answer.body.get("max_tokens") or answer.body.get("max_completion_tokens")
    if isinstance(limit, int) and output > limit:
        yield "token-limit-exceeded", f"The answer has {output} tokens; the request allows {limit}."


def _whole(answer: ProbeAnswer) -> Iterator[tuple[str, str]]:
    ids = []
    for call in objects_of(answer.message.get("tool_calls")):
        function = object_of(call.get("function"))
        ids.append(word_of(call.get("id")))
        if call.get("type") != "function":
            yield "call-type-missing", f"The type of a call is {_quoted(call.get('type'))}; expected `function`."
        if not word_of(function.get("name")):
            yield "call-name-missing", "A call has no name."
        if not isinstance(function.get("arguments"), str):
            yield "arguments-not-text", f"The arguments of a call are not a text: {_quoted(function.get('arguments'))}."
    yield from _call_ids(ids)


def _call_ids(ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    if not all(ids):
        yield "call-id-missing", f"{list(ids).count('')} of {len(ids)} calls have no `id`."
    known = [id_ for id_ in ids if id_]
    if len(set(known)) < len(known):
        yield "call-id-repeated", f"The {len(ids)} calls of the answer have {len(set(known))} different ids."


def _stream(answer: ProbeAnswer) -> Iterator[tuple[str, str]]:
    if not answer.has_end_mark:
        yield "end-mark-missing", "The stream ended without `data: [DONE]`."
    if answer.unreadable:
        yield "event-unreadable", f"An event of the stream is no JSON object: {_quoted(answer.unreadable[0])}."
    has_finished = False
    pieces: list[dict[str, Json]] = []
    for value in answer.objects:
        for choice in objects_of(value.get("choices"))[:1]:
            delta = object_of(choice.get("delta"))
            if "message" in choice or not isinstance(choice.get("delta"), dict):
                yield "delta-missing", f"A chunk has no `delta`: {_quoted(choice)}."
            if has_finished and (delta.get("content") or delta.get("tool_calls")):
                yield "text-after-finish", f"After the finish reason comes {_quoted(delta)}."
            has_finished = has_finished or bool(choice.get("finish_reason"))
            pieces += objects_of(delta.get("tool_calls"))
    yield from _pieces(pieces)


def _pieces(pieces: Sequence[Mapping[str, Json]]) -> Iterator[tuple[str, str]]:
    """What is wrong with the pieces of calls, in the order of the stream."""
    calls: dict[int, tuple[str, str]] = {}  # index: id, name
    ids: list[str] = []
    for piece in pieces:
        index, function = piece.get("index"), object_of(piece.get("function"))
        id_, name, arguments = word_of(piece.get("id")), word_of(function.get("name")), function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            yield "arguments-not-text", f"The arguments of a call are not a text: {_quoted(arguments)}."
        if not isinstance(index, int):
            yield "call-index-missing", f"A piece of a call has no `index`: {_quoted(dict(piece))}."
            continue
        if index not in calls:
            calls[index] = id_, name
            ids.append(id_)
            if piece.get("type") != "function":
                yield "call-type-missing", f"The type of a call is {_quoted(piece.get('type'))}; expected `function`."
            if not name:
                yield "call-name-missing", f"The first piece of call {index} has no name."
            continue
        known_id, known_name = calls[index]
        if name and id_ and id_ != known_id:
            yield "call-index-reused", f"The calls `{known_name}` and `{name}` have the same index {index}."
            calls[index] = id_, name
            ids.append(id_)
        elif name:
            kind = "call-name-repeated" if name == known_name else "call-index-reused"
            yield kind, f"A later piece of call {index} (`{known_name}`) has the name `{name}`."
        elif id_ and known_id and id_ != known_id:
            yield "call-id-changes", f"The id of call {index} changes from `{known_id}` to `{id_}`."
    yield from _call_ids(ids)


def _quoted(value: Json) -> str:
    text = value if isinstance(value, str) else write_json(value, ascii_only=False)
    text = " ".join(text.split())
    return f"`{text if len(text) <= _MAX_QUOTE_CHARS else text[: _MAX_QUOTE_CHARS - 1] + '…'}`"
