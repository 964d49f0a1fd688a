"""The requests of one Inspect sample: its `model` events, each with the messages it sent and what came back.

Events repeat their input, or refer to messages that the sample pools: `input_refs` are half-open ranges into
`events_data.messages` (Inspect, `event/_model.py`, `event/_pool.py`). Beside the parsed answer an event may keep the
provider's own in `call.response`, which has the exact text of arguments.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from inspector.importers.identity import instant, text_of
from inspector.importers.inspect_messages import Attachments, read_inspect_message
from inspector.importers.source import JsonObject
from inspector.model import (
    BodyState,
    ErrorPhase,
    Generation,
    GenerationError,
    Json,
    Part,
    Role,
    ToolsOrigin,
    Turn,
    Usage,
)
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_tools

_NESTED = 32


class Pool:
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

    def input(self, pool: Pool, limit: int) -> list[Json] | None:
        """The messages that it sent; None where there are more than `limit`."""
        listed = self.event.get("input")
        if isinstance(listed, list) and listed:
            return listed if len(listed) <= limit else None
        return pool.expanded(self.event.get("input_refs"), limit)

    @cached_property
    def answer(self) -> Json:
        """The message that came back, None where none did: beside an error Inspect may put an empty one there."""
        message = next((choice.get("message") for choice in self._choices), None)
        is_empty = not any(_object(message).get(key) for key in ("content", "tool_calls"))
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
        event, output = self.event, _object(self.event.get("output"))
        tools = read_tools(self.attachments.resolve(event.get("tools")))
        settings: JsonObject = {key: value for key, value in _object(event.get("config")).items() if value is not None}
        if tools and event.get("tool_choice"):
            settings["tool_choice"] = event["tool_choice"]
        finish = text_of(self._choices[0], "stop_reason") if self.answer is not None else ""
        usage = _object(output.get("usage"))
        retries = _number(event.get("retries"))
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
                _number(usage.get("input_tokens")),
                _number(usage.get("output_tokens")),
                _number(usage.get("reasoning_tokens")),
                _number(usage.get("input_tokens_cache_read")),
            ),
            finish_reason=finish or None,
            finish=finish_meaning(finish) if finish else None,
            error=GenerationError(ErrorPhase.HTTP, said) if said else None,
            body=BodyState.COMPLETE if self.answer is not None else BodyState.NOT_STORED,
        )

    @cached_property
    def arguments(self) -> dict[str, str]:
        """The exact texts of the answer's arguments by the calls' ids, as far as the provider's own answer is kept."""
        response = _object(_object(self.event.get("call")).get("response"))
        calls = [
            (call.get("id"), _object(call.get("function")).get("arguments"))
            for choice in _objects(response.get("choices"))
            for call in _objects(_object(choice.get("message")).get("tool_calls"))
        ]
        calls += [(item.get("call_id"), item.get("arguments")) for item in _objects(response.get("output"))]
        texts = ((named, self.attachments.resolve(text)) for named, text in calls)
        return {named: text for named, text in texts if isinstance(named, str) and isinstance(text, str)}

    @cached_property
    def _choices(self) -> list[JsonObject]:
        return [one for one in _objects(_object(self.event.get("output")).get("choices")) if one.get("message")]


def requests_of(sample: JsonObject, attachments: Attachments) -> Iterator[InspectRequest]:
    """The sample's requests in order, those within other events too (older logs)."""
    events = sample.get("events")
    waiting = [iter(_objects(events if isinstance(events, list) else _object(sample.get("transcript")).get("events")))]
    while waiting:
        event = next(waiting[-1], None)
        if event is None:
            waiting.pop()
        elif event.get("event") == "model" and event.get("pending") is not True:
            yield InspectRequest(event, attachments)
        elif (within := _objects(event.get("events"))) and len(waiting) < _NESTED:
            waiting.append(iter(within))


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _objects(value: Json) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
