"""What the readers of all providers report: the request to a model, the events of its answer, and the final turn."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar, assert_never

import msgspec
from msgspec import Struct, field, structs

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_text import compact_json, object_of, write_json
from weaklink.inspector.memory import SMALL_JSON, check_json
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    Chunks,
    FinishReason,
    Generation,
    GenerationError,
    Instant,
    Json,
    Part,
    Role,
    ToolDefinition,
    ToolsOrigin,
    Turn,
    Usage,
)
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range

WIRE_PREFIX = "wire:"
"""The prefix of the names of parts that are only on the wire and do not belong to the answer."""
UNREAD_PART = f"{WIRE_PREFIX}unread"
"""The part that keeps, word for word, what the decoder could not read and what was truncated."""
ERROR_PART = f"{WIRE_PREFIX}error"
"""The part that keeps, word for word, the error that the server sent."""
COMMENTS_PART = f"{WIRE_PREFIX}comments"
"""The part that keeps the comment lines of an event stream (keep-alives such as `: OPENROUTER PROCESSING`)."""
PROMPT_TOKENS_PART = f"{WIRE_PREFIX}prompt_token_ids"
"""The part that keeps, as JSON text, the token ids of the prompt, if the server sent them (vLLM)."""
PROMPT_PART = f"{WIRE_PREFIX}prompt"
"""The part that keeps the end of the raw prompt, if it was recorded: what it left open belongs to the answer."""
TOKENS_PART = f"{WIRE_PREFIX}tokens"
"""The part that keeps the token strings of chunks whose text is not their one token (`TokenTexts`)."""
REUSED_INDEX_PART = f"{WIRE_PREFIX}reused_index"
"""The part that keeps, word for word, each event that opened a call under the index of an earlier one."""
REPEATED_NAME_PART = f"{WIRE_PREFIX}repeated_name"
"""The part that keeps, word for word, the first event that sent the name of a call again."""


class DecodedRequest(Struct, frozen=True):
    """A decoded request: the conversation so far, the tools offered, and how the answer is to be generated.

    `turns` are the messages in order, the system prompt first if the API has it separately. `parameters` is every other
    member of the request as compact JSON, `""` if there are none. `streams`: a stream was requested. `continues` is the
    id of the response that it continues, whose conversation is then not repeated (`previous_response_id`), `""` if
    there is none.
    """

    api: str
    model: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolDefinition, ...] = ()
    parameters: str = ""
    streams: bool = False
    continues: str = ""

    def generation(self) -> Generation:
        """The facts of the answer's generation that the request contains."""
        return Generation(
            api=self.api,
            requested_model=self.model,
            parameters=self.parameters,
            tools=self.tools,
            tools_origin=ToolsOrigin.REQUEST if self.tools else None,
        )

    def answered_by(self, generation: Generation | None) -> Generation:
        """The facts of a generation, if one came, with those that the request contains."""
        sent = self.generation()
        if generation is None:
            return sent
        return structs.replace(
            generation,
            requested_model=sent.requested_model,
            parameters=sent.parameters,
            tools=sent.tools,
            tools_origin=sent.tools_origin,
        )


def parameters_of(request: dict[str, Json], *, without: Collection[str]) -> str:
    """The members of a request that are settings, as compact JSON; `""` if there are none."""
    settings: dict[str, Json] = {key: value for key, value in request.items() if key not in without}
    return compact_json(settings) if settings else ""


def settings_of(generation: Generation) -> dict[str, Json]:
    """What `parameters_of` wrote; empty if that is unknown, or if a file has something else in its place."""
    text = generation.parameters
    try:
        if len(text) > SMALL_JSON:
            check_json(text.encode("utf-8", "surrogatepass"))
        return (
            object_of(json.loads(text)) if text else {}
        )  # as Python reads it: lone surrogates, and numbers such as NaN
    except (ValueError, RecursionError):
        return {}


def stop_words(generation: Generation | None) -> Sequence[str]:
    """The stop words of a request: `stop` (in Ollama's `options`), or Anthropic's `stop_sequences`."""
    settings = settings_of(generation) if generation is not None else {}
    stop = settings.get("stop", settings.get("stop_sequences", object_of(settings.get("options")).get("stop")))
    return [word for word in (stop if isinstance(stop, list) else [stop]) if isinstance(word, str)]


class PartGrew(msgspec.Struct, frozen=True, gc=False):
    """Text arrived for one part; several may arrive in one event of the wire.

    Parts are `text`, `reasoning`, `refusal` and `call:N` (N counts the answer's calls from 0). What is not the model's
    answer is separate: `wire:...` is what is only on the wire, `choice1:...` a second answer to the same request.
    `at_s` is the time that the decoder received with the bytes. Created for every chunk, hence a msgspec structure.
    """

    part: str
    text: str
    at_s: float | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class TokensNamed(msgspec.Struct, frozen=True):
    """The token strings of a chunk, as a line for the part that keeps them; that part itself has no chunks."""

    part: str
    line: str


def tokens_line(part: str, index: int, tokens: Sequence[str]) -> str:
    """The line of `wire:tokens` for a chunk of a part; see `TokenTexts`."""
    record = {"part": part, "index": index, "tokens": list(tokens)}
    return f"{write_json(record, ascii_only=False)}\n"


class TokenTexts:
    """Keeps the token strings of chunks in the part `wire:tokens` of the same answer, if they are not its text.

    Each is a line of JSON, `{"part": "text", "index": 3, "tokens": ["Os", "lo"]}`: `index` counts from 0 the chunks of
    that part that have log probabilities. A chunk whose text is its one token has no line.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def keep(self, grew: PartGrew, tokens: Sequence[str], wire_events: "list[WireEvent]") -> None:
        """Append the line of a chunk that came with these tokens, if it has one."""
        index = self._counts.get(grew.part, 0)
        self._counts[grew.part] = index + 1
        if any(tokens) and (len(tokens) > 1 or tokens[0] != grew.text):
            line = tokens_line(grew.part, index, tokens)
            prefix = f"{grew.part.partition(':')[0]}:" if grew.part.startswith("choice") else ""
            wire_events.append(TokensNamed(f"{prefix}{TOKENS_PART}", line))


class CallNamed(msgspec.Struct, frozen=True):
    """The call whose arguments are in `part` began, or more of its header came; None is nothing new.

    `custom`: its tool takes free text instead of JSON. `caller`: the id of the program that made the call.
    """

    part: str
    name: str | None = None
    id: str | None = None
    custom: bool = False
    caller: str | None = None

    def header(self) -> CallHeader:
        """The call's header as far as this event has it."""
        return CallHeader(self.part, self.name, self.id, self.custom, self.caller)


class FactsLearned(msgspec.Struct, frozen=True):
    """Something about the generation became known; None is nothing new, and a later value replaces an earlier one.

    `started` and `ended` are the server's own times. If the server also dates each piece, and there are no other times,
    `clock_start_s` is the generation's start on the clock of the pieces.
    """

    response_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    finish: FinishReason | None = None
    body: BodyState | None = None
    started: Instant | None = None
    ended: Instant | None = None
    clock_start_s: float | None = None


class GenerationFailed(msgspec.Struct, frozen=True):
    """The server reported its failure in the answer's body."""

    error: GenerationError


class FaultSeen(msgspec.Struct, frozen=True):
    """The recording has a fault, which covers the last `covers` code points that `part` has so far."""

    part: str
    rule: Rule
    message: str
    hint: str | None = None
    covers: int = 0


WireEvent: TypeAlias = PartGrew | TokensNamed | CallNamed | FactsLearned | GenerationFailed | FaultSeen

_Value = TypeVar("_Value")


class DecodedTurn(Struct, frozen=True):
    """A decoded answer: the assistant's turn, and each fault of the recording with the part it is in.

    `response_id` is the answer's own id (`chatcmpl-...`), `""` if it has none. The turn alone contains what the faults
    are derived from: a finish by length, a truncated body, an error and its phase, the part of unread events.
    """

    turn: Turn
    faults: tuple[tuple[str, Fault], ...] = ()
    response_id: str = ""


class TurnAssembly:
    """Collects the wire events of one answer; `decoded` may be called at any time and any number of times.

    `api` is the kind of endpoint. Times of chunks are relative to `started_s`, on the decoder's clock, or to the start
    that the server itself reports.
    If `streamed` is False the body came whole: parts have no chunks, unless token ids or logprobs came with them.
    Time and memory are linear in the events.
    """

    def __init__(self, api: str, *, started_s: float = 0.0, streamed: bool = True) -> None:
        self._started_s = started_s
        self._streamed = streamed
        self._sequence = 0
        self._parts: dict[str, _GrowingPart] = {}
        self._calls: dict[str, CallHeader] = {}
        self._tokens: dict[str, list[str]] = {}
        self._faults: list[tuple[str, Fault]] = []
        self._generation = Generation(api=api)
        self._response_id = ""

    def extend(self, events: Iterable[WireEvent]) -> None:
        """Add the events that a decoder's `feed` or `close` returned."""
        for event in events:
            if type(event) is PartGrew:  # nearly all of them
                part = self._parts.get(event.part) or self._part(event.part)
                part.grow(event, self._sequence)
                self._sequence += 1
            else:
                self._learn(event)

    def decoded(self) -> DecodedTurn:
        """The turn as far as it is known; it has at least one part, even if that is only an empty `text`."""
        parts = tuple(part.part(name, self._started_s, self._streamed) for name, part in self._parts.items())
        parts += tuple(Part(name, "".join(lines)) for name, lines in self._tokens.items())
        turn = Turn(
            Role.ASSISTANT,
            parts or (Part("text", ""),),
            calls=tuple(self._calls.values()),
            generation=structs.replace(self._generation, response_id=self._response_id),
        )
        return DecodedTurn(turn, tuple(self._faults), self._response_id)

    def _part(self, name: str) -> "_GrowingPart":
        return self._parts.setdefault(name, _GrowingPart())

    def _learn(self, event: WireEvent) -> None:
        match event:
            case CallNamed():
                self._part(event.part)
                self._calls[event.part] = event.header().filled(self._calls.get(event.part))
            case TokensNamed(part, line):
                self._tokens.setdefault(part, []).append(line)
            case FactsLearned():
                self._take_facts(event)
            case GenerationFailed(error):
                if not self._generation.error:  # what comes after the first error follows from it
                    self._generation = structs.replace(self._generation, error=error, finish=FinishReason.ERROR)
            case FaultSeen(part, rule, message, hint, covers):
                end = self._part(part).length
                self._faults.append((part, Fault(rule, Range(max(end - covers, 0), end), message, hint)))
            case PartGrew():
                self._part(event.part).grow(event, self._sequence)
                self._sequence += 1
            case _:
                assert_never(event)

    def _take_facts(self, facts: FactsLearned) -> None:
        known = self._generation
        self._response_id = facts.response_id or self._response_id
        if facts.clock_start_s is not None:
            self._started_s = facts.clock_start_s
        self._generation = structs.replace(
            known,
            answered_model=facts.model or known.answered_model,
            usage=facts.usage or known.usage,
            finish_reason=facts.finish_reason or known.finish_reason,
            finish=known.finish if known.error else facts.finish or known.finish,
            body=facts.body or known.body,
            started=facts.started or known.started,
            ended=facts.ended or known.ended,
        )


class _GrowingPart(Struct):
    """The columns of one part; an optional column exists if any chunk has a value for it."""

    length: int = 0
    pieces: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)
    times: list[float | None] = field(default_factory=list)
    token_ids: dict[int, tuple[int, ...]] = field(default_factory=dict)
    logprobs: dict[int, tuple[float, ...]] = field(default_factory=dict)

    def grow(self, event: PartGrew, sequence: int) -> None:
        if event.token_ids is not None:
            self.token_ids[len(self.ends)] = event.token_ids
        if event.logprobs is not None:
            self.logprobs[len(self.ends)] = event.logprobs
        self.pieces.append(event.text)
        self.length += len(event.text)
        self.ends.append(self.length)
        self.sequences.append(sequence)
        self.times.append(event.at_s)

    def part(self, name: str, started_s: float, streamed: bool) -> Part:  # noqa: FBT001 - private, two callers' fact
        text = "".join(self.pieces)
        if not self.ends or not (streamed or self.token_ids or self.logprobs):
            return Part(name, text)
        offsets = tuple(None if time_s is None else time_s - started_s for time_s in self.times)
        return Part(
            name,
            text,
            Chunks(
                tuple(self.ends),
                tuple(self.sequences),
                None if all(offset is None for offset in offsets) else offsets,
                _column(self.token_ids, len(self.ends)),
                _column(self.logprobs, len(self.ends)),
            ),
        )


def _column(values: Mapping[int, _Value], length: int) -> tuple[_Value | None, ...] | None:
    return tuple(values.get(index) for index in range(length)) if values else None
