"""Ollama's chat and generate: the shapes, the answer (streamed or whole) as wire events, and the request.

A stream consists of lines; the last is `done` and has counts and durations. A call comes whole, with its arguments as
an object.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from weaklink.inspector.apis.openai.chat import TokenLogprob
from weaklink.inspector.apis.openai.completions import prompt_turn
from weaklink.inspector.apis.openai.messages import CHAT_MEMBERS, read_message, read_tools
from weaklink.inspector.json_text import compact_json, flag_of, word_of
from weaklink.inspector.model import Instant, InstantSource, Json, Part, ResultHeader, Role, Turn, Usage
from weaklink.inspector.wire import events
from weaklink.inspector.wire.answer_reader import ChoiceParts, ChunkTokens, ObjectReader, finish_meaning
from weaklink.inspector.wire.provider_json import NOTHING, StructReader, raw_text

_TIMES = ("created_at", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
CHAT = "ollama.chat"
GENERATE = "ollama.generate"
"""The names of these kinds of endpoint in a generation's facts."""

TIMES_PART = "wire:durations"
"""The part that keeps the server's own times, as one JSON object: durations in nanoseconds."""

CONTEXT_PART = "wire:context"
"""The part that keeps, as JSON text, the token ids of prompt and answer together (`context`)."""


def read_ollama_chat_request(request: dict[str, Json]) -> events.DecodedRequest:
    """A request for Ollama's chat, which streams by default; never raises.

    A result names its tool (`tool_name`), older ones not even that; images are kept in the parts `content:N`.
    """
    messages = request.get("messages", [])
    streams = flag_of(request.get("stream"))
    return events.DecodedRequest(
        CHAT,
        word_of(request.get("model")),
        tuple(map(_ollama_turn, messages if isinstance(messages, list) else [messages])),
        read_tools(request.get("tools")),
        events.parameters_of(request, without=CHAT_MEMBERS),
        True if streams is None else streams,
    )


def read_ollama_generate_request(request: dict[str, Json]) -> events.DecodedRequest:
    """A request for Ollama's generate, which streams by default; never raises.

    `context` is the conversation so far as token ids; it stays among the parameters.
    """
    streams = flag_of(request.get("stream"))
    return events.DecodedRequest(
        GENERATE,
        word_of(request.get("model")),
        tuple(_generate_turns(request)),
        parameters=events.parameters_of(request, without=("model", "prompt", "system", "images", "stream")),
        streams=True if streams is None else streams,
    )


def _ollama_turn(message: Json) -> Turn:
    turn = read_message(message)
    if not isinstance(message, dict):
        return turn
    if turn.role is Role.TOOL and turn.result is not None and word_of(message.get("tool_name")):
        turn = replace(turn, result=ResultHeader(turn.result.call_id, word_of(message["tool_name"])))
    return replace(turn, parts=(*turn.parts, *_images(message.get("images"))))


def _generate_turns(request: dict[str, Json]) -> Iterator[Turn]:
    if system := word_of(request.get("system")):
        yield Turn(Role.SYSTEM, (Part("text", system),), "system")
    prompt = request.get("prompt")
    if prompt is not None:
        turn = prompt_turn(prompt)
        yield replace(turn, parts=(*turn.parts, *_images(request.get("images"))))


def _images(images: Json) -> Iterator[Part]:
    for index, image in enumerate(images if isinstance(images, list) else ()):
        yield Part(f"content:{index + 1}", compact_json(image))


class OllamaFunction(msgspec.Struct, forbid_unknown_fields=True):
    """A call's name and its arguments, an object."""

    index: int | None = None
    name: str | None = None
    arguments: msgspec.Raw = NOTHING


class OllamaCall(msgspec.Struct, forbid_unknown_fields=True):
    """A call; older servers give it no id."""

    id: str | None = None
    type: str | None = None
    function: OllamaFunction | None = None


class OllamaMessageShape(msgspec.Struct, forbid_unknown_fields=True):
    """An addition to the answer, or the whole answer."""

    role: str | None = None
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[OllamaCall] | None = None


class OllamaLineShape(msgspec.Struct, forbid_unknown_fields=True):
    """One line of a stream, or a body that came whole; generate sends `response`, chat sends `message`."""

    model: str | None = None
    created_at: msgspec.Raw = NOTHING
    message: OllamaMessageShape | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool | None = None
    done_reason: str | None = None
    total_duration: msgspec.Raw = NOTHING
    load_duration: msgspec.Raw = NOTHING
    prompt_eval_count: int | None = None
    prompt_eval_duration: msgspec.Raw = NOTHING
    eval_count: int | None = None
    eval_duration: msgspec.Raw = NOTHING
    context: msgspec.Raw = NOTHING
    logprobs: list[TokenLogprob] | None = None
    remote_model: Any = None
    remote_host: Any = None
    error: Any = None

    def usage(self) -> Usage | None:
        """The counts as `Usage`, None if there are none."""
        if self.prompt_eval_count is None and self.eval_count is None:
            return None
        return Usage(self.prompt_eval_count, self.eval_count)

    def created_s(self) -> float | None:
        """When the line was created, by the server's clock, in seconds since 1970; None if it is missing."""
        text = raw_text(self.created_at).strip('"')
        try:
            created = datetime.fromisoformat(text)
            return created.timestamp() if created.tzinfo is not None else None
        except (ValueError, OverflowError):
            return None

    def took_s(self) -> float | None:
        """The duration of the whole answer, in seconds; None if it is missing."""
        text = raw_text(self.total_duration)
        return int(text) / 1e9 if text.isascii() and text.isdigit() and len(text) < 19 else None

    def times(self) -> str:
        """The times in the line, as a JSON object of their exact texts; `""` without durations."""
        texts = [(name, raw_text(getattr(self, name))) for name in _TIMES]
        if not any(text for name, text in texts[1:]):
            return ""
        return "{" + ",".join(f'"{name}":{text}' for name, text in texts if text) + "}"


read_line = StructReader(OllamaLineShape)


class OllamaReader(ObjectReader):
    """Reads the lines of one answer, or a body that came whole; see `inspector.wire.answer_reader`."""

    __slots__ = ("_calls", "_is_over", "_is_timed", "_parts", "api")

    unended = "The stream ended without a line with `done`."

    def __init__(self, api: str, *, status: int | None = None, whole: bool = False) -> None:
        super().__init__(status=status, whole=whole)
        self.api = api
        self._is_over = False
        self._calls = 0
        self._parts = ChoiceParts()
        self._is_timed = False  # whether the pieces have the server's times, since there are no others

    @property
    def has_ended(self) -> bool:
        """Whether the line that is `done` came."""
        return self._is_over

    def read(self, text: str, raw: str, at_s: float | None, wire_events: list[events.WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is its text on the wire. False if it is no answer at all."""
        try:
            line, strange = read_line(text)
        except ValueError:
            return self.faults.read_error(text, raw, at_s, wire_events)
        if line.error or (line.message is None and line.response is None and line.done is None):
            return self.faults.read_error(text, raw, at_s, wire_events)
        if at_s is None:
            at_s = self._time_of(line, wire_events)
        if line.model and line.model != self._model:
            self._model = line.model
            wire_events.append(events.FactsLearned(model=line.model))
        self._read_texts(line, at_s, wire_events)
        if line.done:
            self._read_end(line, at_s, wire_events)
        self._keep(strange, raw, at_s, wire_events)
        return True

    def _time_of(self, line: OllamaLineShape, wire_events: list[events.WireEvent]) -> float | None:
        """The time of the line; the first one counts as the start until the last line contains the real one."""
        created_s = line.created_s()
        if created_s is not None and not self._is_timed:
            self._is_timed = True
            wire_events.append(events.FactsLearned(clock_start_s=created_s))
        return created_s

    def _read_texts(self, line: OllamaLineShape, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        message = line.message
        thinking = (message.thinking if message else None) or line.thinking
        words = (message.content if message else None) or line.response
        first = len(wire_events)
        for part, text in (("reasoning", thinking), ("text", words)):
            if text:
                self._parts.grow(part, text, at_s, wire_events)
        if line.logprobs:
            logprobs = tuple(token.logprob for token in line.logprobs if token.logprob is not None)
            tokens = ChunkTokens([token.token for token in line.logprobs], None, logprobs or None)
            self._parts.add_tokens(tokens, at_s, wire_events, since=first)
        for call in (message.tool_calls if message else None) or ():
            self._read_call(call, at_s, wire_events)
        self.faults.last_part = self._parts.last_part

    def _read_call(self, call: OllamaCall, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        part = f"call:{self._calls}"
        self._calls += 1
        function = call.function or OllamaFunction()
        self._parts.name_call(events.CallNamed(part, function.name or None, call.id or None), at_s, wire_events)
        if arguments := raw_text(function.arguments):
            self._parts.grow(part, arguments, at_s, wire_events)

    def _read_end(self, line: OllamaLineShape, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        self._is_over = True
        self.finish = line.done_reason or ""
        usage = line.usage()
        meaning = finish_meaning(self.finish) if self.finish else None
        wire_events.append(events.FactsLearned(usage=usage, finish_reason=self.finish or None, finish=meaning))
        created_s, took_s = line.created_s(), line.took_s()
        if created_s is not None and took_s is not None:
            start_s = created_s - took_s
            started, ended = Instant(start_s, InstantSource.DERIVED), Instant(created_s)
            clock_start_s = start_s if self._is_timed else None
            wire_events.append(events.FactsLearned(started=started, ended=ended, clock_start_s=clock_start_s))
        if times := line.times():
            wire_events.append(events.PartGrew(TIMES_PART, times, at_s))
        if context := raw_text(line.context):
            wire_events.append(events.PartGrew(CONTEXT_PART, context, at_s))


def new_chat_reader(*, status: int | None = None, whole: bool = False) -> OllamaReader:
    """A reader for one answer of `/api/chat`."""
    return OllamaReader(CHAT, status=status, whole=whole)


def new_generate_reader(*, status: int | None = None, whole: bool = False) -> OllamaReader:
    """A reader for one answer of `/api/generate`."""
    return OllamaReader(GENERATE, status=status, whole=whole)
