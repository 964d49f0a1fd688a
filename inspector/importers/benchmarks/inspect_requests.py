"""The model requests of one Inspect sample, and its messages as turns.

Events repeat their input, or refer to messages that the sample pools; attachments are put back in their places.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from inspector.apis.openai.messages import CALLS, argument_texts, read_message, read_tools, with_calls
from inspector.importers.identity import instant, text_of
from inspector.importers.source import JsonObject
from inspector.json_members import count_of, object_of, objects_of
from inspector.memory import RECORD_BYTES
from inspector.model import (
    BodyState,
    ErrorPhase,
    Generation,
    GenerationError,
    Json,
    Part,
    ResultHeader,
    Role,
    ToolsOrigin,
    Turn,
    Usage,
)
from inspector.wire.answer_reader import finish_meaning
from inspector.wire.provider_json import compact_json

_PARSE_ERROR = re.compile(
    r"Error parsing the following tool call arguments:\n\n(?P<arguments>.*)\n\nError details: ", re.DOTALL
)

_PROTOCOLS = ("attachment://", "tc://")
_WORDS = ("role", "content", CALLS, "tool_call_id")
_DEPTH = 64
_NESTED = 32


class Attachments:
    """The texts that a sample keeps apart from where they stand; images stay the references they are.

    What is put back may have 32 MiB together; beyond, references stay, and `are_left` is true.
    """

    def __init__(self, value: Json) -> None:
        self._texts = value if isinstance(value, dict) else {}
        self._names = {text: name for name, text in self._texts.items() if isinstance(text, str)}
        self._left = RECORD_BYTES // 2
        self.are_left = False

    def key_of(self, message: Json) -> str:
        """What tells a message from the others of its sample: an answer's id; else, and in older logs, its words.

        It is the same whether texts stand in the message or apart. Requests may repeat one message of the user's where
        the conversation has several of the same words, each with its id.
        """
        if not isinstance(message, dict):
            return compact_json(message)
        named = text_of(message, "id") if message.get("role") == "assistant" else ""
        return named or compact_json([self._named(message.get(key), _DEPTH) for key in _WORDS])

    def resolve(self, value: Json, depth: int = _DEPTH) -> Json:
        """A JSON value with every text that is a reference replaced; as it is where nested more than 64 deep."""
        if isinstance(value, str):
            return self._text(value)
        if depth and isinstance(value, list):
            return [self.resolve(one, depth - 1) for one in value]
        if depth and isinstance(value, dict):
            return {key: self.resolve(one, depth - 1) for key, one in value.items()}
        return value

    def _named(self, value: Json, depth: int) -> Json:
        """A value with every text that stands apart replaced by its name there."""
        if isinstance(value, str):
            return value.partition("://")[2] if value.startswith(_PROTOCOLS) else self._names.get(value, value)
        if depth and isinstance(value, list):
            return [self._named(one, depth - 1) for one in value]
        if depth and isinstance(value, dict):
            return {key: self._named(one, depth - 1) for key, one in value.items() if one is not None}
        return value

    def _text(self, text: str) -> str:
        if not self._texts or not text.startswith(_PROTOCOLS):
            return text
        found = self._texts.get(text.partition("://")[2])
        if not isinstance(found, str) or found.startswith("data:"):
            return text
        self._left -= len(found)
        if self._left < 0:
            self.are_left = True
            return text
        return found


def read_inspect_message(message: Json, attachments: Attachments, arguments: Mapping[str, str]) -> Turn:
    """A message as a turn; `arguments` are the exact texts of calls' arguments, by the calls' ids. Never raises."""
    if not isinstance(message, dict):
        return read_message(message)
    resolved = attachments.resolve(message)
    assert isinstance(resolved, dict)  # as the message is
    exact = with_calls(
        resolved, lambda calls: [_call(one, arguments) for one in calls] if isinstance(calls, list) else calls
    )
    turn = read_message({**exact, "content": _content(resolved.get("content"))})
    return _with_error(turn, resolved) if turn.role is Role.TOOL else turn


def _content(content: Json) -> Json:
    if not isinstance(content, list):
        return content
    return [read for block in content for read in _blocks(block)]


def _blocks(block: Json) -> list[Json]:
    """A block in the shape that messages have elsewhere; redacted thoughts keep their block beside the summary."""
    if not isinstance(block, dict) or block.get("type") != "reasoning":
        return [block]
    if block.get("redacted") is not True:
        return [{"type": "reasoning", "text": text_of(block, "reasoning", "summary")}]
    summary = text_of(block, "summary")
    return [{"type": "reasoning", "text": summary}, block] if summary else [block]


def _call(call: Json, arguments: Mapping[str, str]) -> Json:
    if not isinstance(call, dict):
        return call
    exact = arguments.get(text_of(call, "id"))
    if exact is None and (quoted := _PARSE_ERROR.match(text_of(call, "parse_error"))):
        exact = quoted["arguments"]
    return call if exact is None else {**call, "arguments": exact}


def _with_error(turn: Turn, message: JsonObject) -> Turn:
    """A result: the words of its error stand for its text where that is empty, else in a part beside it."""
    error = message.get("error")
    said = text_of(error, "message") if isinstance(error, dict) else text_of(message, "tool_error")
    header = ResultHeader(
        text_of(message, "tool_call_id") or None, text_of(message, "function") or None, True if said else None
    )
    if not said:
        return replace(turn, result=header)
    if not any(part.text for part in turn.parts):
        return replace(turn, result=header, parts=(Part("text", said),))
    told = [Part("content:error", said)] if not any(part.text == said for part in turn.parts) else []
    return replace(turn, result=header, parts=(*turn.parts, *told))


class MessagePool:
    """The messages that a sample keeps once for all its events."""

    def __init__(self, sample: JsonObject) -> None:
        pooled = sample.get("events_data")
        listed = pooled.get("messages") if isinstance(pooled, dict) else sample.get("message_pool")
        self.messages: list[Json] = listed if isinstance(listed, list) else []

    def expanded(self, refs: Json, limit: int) -> list[Json] | None:
        """The messages that ranges refer to, in their order; None where there are more than `limit`."""
        found: list[Json] = []
        for one in refs if isinstance(refs, list) else []:
            match one:
                case [int(start), int(end)] if 0 <= start <= end:
                    if len(found) + min(end, len(self.messages)) - start > limit:
                        return None
                    found += self.messages[start:end]
        return found


@dataclass(frozen=True)  # no slots: what is asked for often is computed once
class InspectRequest:
    """One `model` event."""

    event: JsonObject
    attachments: Attachments

    def input(self, pool: MessagePool, limit: int) -> list[Json] | None:
        """The messages that it sent; None where there are more than `limit`."""
        listed = self.event.get("input")
        if isinstance(listed, list) and listed:
            return listed if len(listed) <= limit else None
        return pool.expanded(self.event.get("input_refs"), limit)

    @cached_property
    def answer(self) -> Json:
        """The message that came back, None where none did: beside an error Inspect may put an empty one there."""
        message = next((choice.get("message") for choice in self._choices), None)
        is_empty = not any(object_of(message).get(key) for key in ("content", CALLS))
        return None if is_empty and self.event.get("error") else message

    @property
    def name(self) -> str:
        """The role of the model that was asked, as far as it has one (`grader`)."""
        return text_of(self.event, "role")

    def turn(self) -> Turn:
        """The answer as a turn; an empty one with its error where there is none."""
        if self.answer is None:
            return Turn(Role.ASSISTANT, (Part("text", ""),), "assistant", generation=self.generation)
        turn = read_inspect_message(self.answer, self.attachments, self.arguments)
        further = [
            Part(f"choice{at}:{part.name}", part.text)
            for at, choice in enumerate(self._choices[1:], 1)
            for part in read_inspect_message(choice.get("message"), self.attachments, {}).parts
        ]
        return replace(
            turn, role=Role.ASSISTANT, result=None, parts=(*turn.parts, *further), generation=self.generation
        )

    @cached_property
    def generation(self) -> Generation:
        """What is known of the answer beside its words."""
        event, output = self.event, object_of(self.event.get("output"))
        tools = read_tools(self.attachments.resolve(event.get("tools")))
        settings: JsonObject = {
            key: value for key, value in object_of(event.get("config")).items() if value is not None
        }
        if tools and event.get("tool_choice"):
            settings["tool_choice"] = event["tool_choice"]
        finish = text_of(self._choices[0], "stop_reason") if self.answer is not None else ""
        usage = object_of(output.get("usage"))
        retries = count_of(event.get("retries"))
        said = text_of(event, "error") or text_of(output, "error")
        return Generation(
            requested_model=text_of(event, "model"),
            answered_model=text_of(output, "model"),
            parameters=compact_json(settings) if settings else "",
            tools=tools,
            tools_origin=ToolsOrigin.REQUEST if tools else None,
            attempt=1 + max(0, retries or 0),
            started=instant(event.get("timestamp")),
            ended=instant(event.get("completed")),
            usage=Usage(
                count_of(usage.get("input_tokens")),
                count_of(usage.get("output_tokens")),
                count_of(usage.get("reasoning_tokens")),
                count_of(usage.get("input_tokens_cache_read")),
            ),
            finish_reason=finish or None,
            finish=finish_meaning(finish) if finish else None,
            error=GenerationError(ErrorPhase.HTTP, said) if said else None,
            body=BodyState.COMPLETE if self.answer is not None else BodyState.NOT_STORED,
        )

    @cached_property
    def arguments(self) -> dict[str, str]:
        """The exact texts of the answer's arguments by the calls' ids, as far as the provider's own answer is kept."""
        response = object_of(object_of(self.event.get("call")).get("response"))
        calls = [*argument_texts(choice.get("message") for choice in objects_of(response.get("choices")))]
        calls += [(item.get("call_id"), item.get("arguments")) for item in objects_of(response.get("output"))]
        texts = ((named, self.attachments.resolve(text)) for named, text in calls)
        return {named: text for named, text in texts if isinstance(named, str) and isinstance(text, str)}

    @cached_property
    def _choices(self) -> list[JsonObject]:
        return [one for one in objects_of(object_of(self.event.get("output")).get("choices")) if one.get("message")]


def requests_of(sample: JsonObject, attachments: Attachments) -> Iterator[InspectRequest]:
    """The sample's requests in order, those within other events too (older logs)."""
    events = sample.get("events")
    waiting = [
        iter(objects_of(events if isinstance(events, list) else object_of(sample.get("transcript")).get("events")))
    ]
    while waiting:
        event = next(waiting[-1], None)
        if event is None:
            waiting.pop()
        elif event.get("event") == "model" and event.get("pending") is not True:
            yield InspectRequest(event, attachments)
        elif (within := objects_of(event.get("events"))) and len(waiting) < _NESTED:
            waiting.append(iter(within))
