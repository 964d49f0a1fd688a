"""An assistant turn that the code which holds its tokens records while they come.

Pieces are wire chunks, texts or token ids, which a tokenizer of the caller decodes.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from threading import RLock, Thread
from types import TracebackType
from typing import Any, Protocol, Self, SupportsFloat, SupportsInt, TypeVar, overload
from uuid import uuid4

from msgspec.structs import replace

from inspector.apis.openai.messages import read_tools
from inspector.apis.providers import decoder_for
from inspector.capture.events import ChunksArrived, RecordEvent, Sink, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.redacting import Redacts
from inspector.capture.safeguards import ErrorCounters, guarded, guarded_as, now_s
from inspector.errors import SinkError
from inspector.model import (
    BodyState,
    Chunk,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Instant,
    Json,
    Outcome,
    Role,
    ToolDefinition,
    ToolsOrigin,
    Trace,
    Turn,
    Usage,
)
from inspector.model.trace import RECORDING_ID
from inspector.wire.answer_reader import finish_meaning
from inspector.wire.decoder import Decoder
from inspector.wire.events import (
    PROMPT_PART,
    CallNamed,
    FactsLearned,
    GenerationFailed,
    PartGrew,
    TurnAssembly,
    WireEvent,
)
from inspector.wire.provider_json import compact_json

_CLOSING_S = 30.0
"""How long the end of a recording waits for its sink."""


class LoggedTrace:
    """Tells a sink of one trace; every method is thread-safe and returns at once, but for `close`.

    The trace begins with its first turn, so that a recording of nothing leaves nothing.
    """

    def __init__(self, sink: Sink, trace: Trace, redactor: Redacts, *, owns_sink: bool) -> None:
        self.sink = sink
        self.redactor = redactor
        self.mistakes = ErrorCounters()
        self.key = uuid4().hex
        self.outcome: Outcome | None = None
        self._trace = replace(trace, external_ids=(*trace.external_ids, ExternalId(RECORDING_ID, self.key)))
        self._owns_sink = owns_sink
        self._turns = 0
        self._closed = False
        self._lock = RLock()  # a signal's handler may record too

    def start_turn(self, role: Role, generation: Generation | None) -> int:
        """A turn begins; its number. SinkError once the recording is closed."""
        with self._lock:
            number = self._next()
            self._tell(TurnStarted(self.key, number, role, self._safe_facts(role, generation)))
            return number

    def add(self, turn: Turn) -> None:
        """A turn that is whole already. SinkError once the recording is closed."""
        safe = self._safe(turn)
        with self._lock:
            self._tell(TurnEnded(self.key, self._next(), safe))

    def chunks(self, number: int, chunks: tuple[Chunk, ...]) -> None:
        """Chunks of an open turn, which their redactor has seen."""
        if chunks:
            with self._lock:
                self._tell(ChunksArrived(self.key, number, chunks))

    def end_turn(self, number: int, turn: Turn) -> None:
        """An open turn ends; this is all of it."""
        safe = self._safe(turn)
        with self._lock:
            self._tell(TurnEnded(self.key, number, safe))

    def close(self) -> None:
        """End the trace, and the sink where it is ours; waits for it, but no longer than 30 seconds. Never raises."""
        with self._lock:
            if self._closed:
                return
            try:
                if self._turns:
                    self._tell(TraceEnded(self.key, self.outcome))
            except Exception as error:  # noqa: BLE001  # a foreign sink; it is noted
                self.mistakes.note("close", error)
            self._closed = True
        if self._owns_sink:
            self._close_sink()

    def _next(self) -> int:
        if not self._turns and not self._closed:
            started = replace(self._trace, started=self._trace.started or Instant(now_s()))
            self._tell(TraceStarted(self.key, self.redactor.trace(started)))
        self._turns += 1
        return self._turns

    def _tell(self, event: RecordEvent) -> None:
        if self._closed:
            raise SinkError("The recording is closed, so nothing more is kept.")
        self.sink.accept(event)

    def _safe(self, turn: Turn) -> Turn:
        return self.redactor.turn(turn)

    def _safe_facts(self, role: Role, generation: Generation | None) -> Generation | None:
        return None if generation is None else self._safe(Turn(role, (), generation=generation)).generation

    def _close_sink(self) -> None:
        closing = Thread(target=self._end_sink, name="weaklink-close", daemon=True)
        try:
            closing.start()
        except RuntimeError:  # the interpreter shuts down and starts no thread any more
            self._end_sink()
            return
        closing.join(_CLOSING_S)
        if closing.is_alive():
            self.mistakes.note("close", SinkError(f"The sink was not done within {_CLOSING_S:.0f} seconds."))

    def _end_sink(self) -> None:
        try:
            self.sink.close()
        except Exception as error:  # noqa: BLE001  # a foreign sink, a full disk; it is noted
            self.mistakes.note("close", error)


_UNFINISHED = "\ufffd"
_LONGEST = 16  # tokens that may wait for a character to become whole
_PROMPT_TAIL = 1_024
_PROMPT_TOKENS = 64


class PieceReader:
    """Reads pieces: texts, chunks as OpenAI's API has them, or anything of which `text` tells the text."""

    def __init__(self, text: Callable[..., str] | None = None) -> None:
        self._text = text
        self._decoder: Decoder | None = None

    @property
    def api(self) -> str:
        """The API whose chunks came, `""` for texts."""
        return "" if self._decoder is None else self._decoder.api

    def read(self, piece: object, at_s: float) -> list[WireEvent]:
        """What a piece says; TypeError for one that is nothing known, and whatever `text` raises."""
        if self._text is not None:
            piece = self._text(piece)
        if isinstance(piece, str):
            return [PartGrew("text", piece, at_s)]
        if not isinstance(piece, Mapping) or "choices" not in piece:
            raise TypeError(f"a piece of type {type(piece).__name__} came; `text=` can say what its text is")
        if self._decoder is None:
            self._decoder = decoder_for(content_type="text/event-stream")
        return self._decoder.feed(b"data: " + json.dumps(dict(piece)).encode("ascii") + b"\n\n", at_s)

    def close(self, at_s: float) -> list[WireEvent]:
        """The end of the stream."""
        if self._decoder is None:
            return []
        return [*self._decoder.feed(b"data: [DONE]\n\n", at_s), *self._decoder.close()]


class Tokenizer(Protocol):
    """What is needed of a tokenizer; those of transformers have it."""

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = ...) -> str:
        """The text of these tokens."""
        ...


class Detokenizer:
    """Gives the text that each token adds; special tokens stay, since markers are among them.

    A tokenizer may write a token otherwise at the beginning of a text, so each is read with the few before it, whose
    text is then left out. Tokens that end within a character wait, at most 16 of them.
    Method: text-generation-inference:server/text_generation_server/models/model.py (`decode_token`).
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._before: list[int] = []
        self._new: list[int] = []

    def feed(self, ids: Iterable[SupportsInt]) -> list[tuple[str, tuple[int, ...]]]:
        """The texts that became whole, each with its token ids."""
        found: list[tuple[str, tuple[int, ...]]] = []
        for token in ids:
            self._new.append(int(token))
            text = self._text()
            if text and (not text.endswith(_UNFINISHED) or len(self._new) >= _LONGEST):
                found.append(self._given(text))
        return found

    def close(self) -> list[tuple[str, tuple[int, ...]]]:
        """What waited for more, as far as it can be read."""
        return [self._given(self._text())] if self._new else []

    def _text(self) -> str:
        before = self._decoded(self._before)
        return self._decoded(self._before + self._new)[len(before) :]

    def _given(self, text: str) -> tuple[str, tuple[int, ...]]:
        ids = tuple(self._new)
        self._before, self._new = self._new, []
        return text, ids

    def _decoded(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False) if ids else ""


def flat_token_ids(ids: object) -> list[SupportsInt]:
    """Token ids out of a number, a list, or a tensor of one sequence; ValueError for a batch of several."""
    to_list = getattr(ids, "tolist", None)
    listed = to_list() if callable(to_list) else ids
    if not isinstance(listed, list | tuple):
        return [listed]  # type: ignore[list-item]  # int() judges it
    found = list(listed)
    if found and isinstance(found[0], list | tuple):
        if len(found) > 1:
            raise ValueError(f"a batch of {len(found)} sequences came; one turn records one")
        return list(found[0])
    return found


_Piece = TypeVar("_Piece")


class LoggedTurn:
    """One assistant turn; made by `TraceLogger.assistant`, best used as a context manager, sync or async.

    It ends with the `with`, or with `finish`; an exception that leaves the `with` ends it as aborted, with the text so
    far, and goes on its way. Every method is thread-safe, returns at once, and never raises: what cannot be recorded is
    counted in the logger's `mistakes`. It may be handed to transformers' `generate(streamer=turn)` where the turn was
    made with a `tokenizer`.
    """

    def __init__(
        self,
        recording: LoggedTrace,
        *,
        owner: object,
        model: str = "",
        tools: Iterable[ToolDefinition | Mapping[str, Any]] = (),
        parameters: Mapping[str, Any] | None = None,
        prompt: str = "",
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self._recording = recording
        self._owner = owner  # lives as long as its turn
        self._started_s = now_s()
        self._generation = Generation(requested_model=model, started=Instant(self._started_s))
        self._assembly = TurnAssembly("", started_s=self._started_s)
        self._detokenizer = None if tokenizer is None else Detokenizer(tokenizer)
        self._tokenizer = tokenizer
        self._api = ""
        self._first_s: float | None = None
        self._sequence = self._calls = self._number = 0
        self._entered = self._ended = self._was_put = False
        self._lock = RLock()
        self._has_prompt = bool(prompt)
        self._learn(tools, parameters)
        self._redactor = recording.redactor.new_turn(self._generation.tools)
        self._begin(prompt)

    @property
    def mistakes(self) -> ErrorCounters:
        """What could not be recorded, counted for the whole trace."""
        return self._recording.mistakes

    @guarded
    def feed(
        self,
        text: str,
        *,
        part: str = "text",
        token_ids: Iterable[SupportsInt] | None = None,
        logprobs: Iterable[SupportsFloat] | None = None,
    ) -> None:
        """More text of a part (`text`, `reasoning`, `call:0`, ...), with its token ids and logprobs where known."""
        if not isinstance(text, str):
            raise TypeError(f"a text is wanted, and {type(text).__name__} came")
        ids = None if token_ids is None else tuple(map(int, token_ids))
        chances = None if logprobs is None else tuple(map(float, logprobs))
        self._extend([PartGrew(part, text, now_s(), ids, chances)])

    @guarded
    def call(self, name: str, arguments: Json = "", *, id: str | None = None) -> None:
        """A call that came as fields of its own; arguments that are no text are written as JSON.

        Where arguments come in pieces, leave them out and `feed` them to the part: `call:0` is the first call's.
        """
        text = arguments if isinstance(arguments, str) else compact_json(arguments)
        with self._lock:
            part = f"call:{self._calls}"
            self._calls += 1
            events: list[WireEvent] = [CallNamed(part, name, id)]
            self._extend([*events, PartGrew(part, text, now_s())] if text else events)

    @guarded
    def finish(
        self, reason: str | None = None, *, usage: Usage | Mapping[str, int] | None = None, model: str | None = None
    ) -> None:
        """The turn is complete. `reason` is the finish reason in the server's words; ends the turn only once."""
        meant = None if reason is None else finish_meaning(reason)
        counts = usage if usage is None or isinstance(usage, Usage) else usage_of(usage)
        self._end(FactsLearned(usage=counts, finish_reason=reason, finish=meant, model=model))

    @guarded
    def abort(self, error: BaseException | str) -> None:
        """The turn breaks off with this error, with what it has so far; ends the turn only once."""
        words = error if isinstance(error, str) else f"{type(error).__name__}: {error}".removesuffix(": ")
        failed = GenerationFailed(GenerationError(ErrorPhase.CLIENT_ABORT, words))
        self._end(FactsLearned(body=BodyState.TRUNCATED), failed)

    @overload
    def wrap(self, pieces: Iterable[_Piece], *, text: Callable[[_Piece], str] | None = None) -> Iterator[_Piece]: ...
    @overload
    def wrap(
        self, pieces: AsyncIterable[_Piece], *, text: Callable[[_Piece], str] | None = None
    ) -> AsyncIterator[_Piece]: ...
    def wrap(
        self, pieces: Iterable[_Piece] | AsyncIterable[_Piece], *, text: Callable[[_Piece], str] | None = None
    ) -> Iterator[_Piece] | AsyncIterator[_Piece]:
        """The pieces of a stream, passed through as they are and recorded on the way.

        A piece is a text, or a chunk as OpenAI's API has it (llama-cpp-python streams such objects); `text` tells the
        text of any other. Outside a `with` the turn ends with the stream, as aborted where that raises or is left.
        """
        reader = PieceReader(text)
        if isinstance(pieces, AsyncIterable):
            return self._wrapped_async(pieces, reader)
        return self._wrapped(pieces, reader)

    @guarded
    def put(self, value: object) -> None:
        """Token ids from transformers' `generate`: first the prompt's, of which the end is kept, then new ones."""
        ids = flat_token_ids(value)
        with self._lock:
            if self._detokenizer is None or self._tokenizer is None:
                raise TypeError("token ids came, and no tokenizer was given to `assistant`")
            if not self._was_put:
                self._was_put = True
                tail = [int(token) for token in ids[-_PROMPT_TOKENS:]]
                if not self._has_prompt:
                    self._keep_prompt(self._tokenizer.decode(tail, skip_special_tokens=False))
                return
            at_s = now_s()
            self._extend([PartGrew("text", text, at_s, some) for text, some in self._detokenizer.feed(ids)])

    @guarded
    def end(self) -> None:
        """The end of transformers' stream."""
        with self._lock:
            if self._detokenizer is not None:
                self._extend([PartGrew("text", text, now_s(), some) for text, some in self._detokenizer.close()])
        if not self._entered:
            self.finish()

    @guarded
    def extend(self, events: list[WireEvent], *, api: str = "") -> None:
        """What a decoder of answers says, and the API that it found."""
        self._api = api or self._api
        self._extend(events)

    def __enter__(self) -> Self:
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abort(error)
        elif not self._ended:
            self.finish()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    @guarded_as("assistant")
    def _learn(self, tools: Iterable[ToolDefinition | Mapping[str, Any]], parameters: Mapping[str, Any] | None) -> None:
        offered = tool_definitions(tools)
        self._generation = replace(
            self._generation, tools=offered, tools_origin=ToolsOrigin.REQUEST if offered else None
        )
        if parameters is not None:
            self._generation = replace(self._generation, parameters=compact_json(dict(parameters)))

    @guarded_as("assistant")
    def _begin(self, prompt: str) -> None:
        self._number = self._recording.start_turn(Role.ASSISTANT, self._generation)
        if prompt:
            self._keep_prompt(prompt)

    def _extend(self, events: list[WireEvent]) -> None:
        with self._lock:
            if self._ended:
                raise SinkError("The turn has ended, so nothing more is kept of it.")
            self._assembly.extend(events)
            chunks = [self._chunk(event) for event in events if isinstance(event, PartGrew)]
            self._recording.chunks(self._number, self._redactor.feed(tuple(chunks)))

    def _keep_prompt(self, prompt: str) -> None:
        self._extend([PartGrew(PROMPT_PART, prompt[-_PROMPT_TAIL:], now_s())])

    def _chunk(self, event: PartGrew) -> Chunk:
        if self._first_s is None and event.part != PROMPT_PART:
            self._first_s = event.at_s
        offset_s = None if event.at_s is None else event.at_s - self._started_s
        chunk = Chunk(self._sequence, event.part, event.text, offset_s, event.token_ids, event.logprobs)
        self._sequence += 1
        return chunk

    def _end(self, *facts: WireEvent) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
            ended_s = now_s()
            self._assembly.extend(facts)
            self._recording.chunks(self._number, self._redactor.close())
            turn = self._assembly.decoded().turn
            learned = turn.generation or Generation()
            generation = replace(
                self._generation,
                api=self._api,
                answered_model=learned.answered_model,
                first_token=None if self._first_s is None else Instant(self._first_s),
                ended=Instant(ended_s),
                usage=learned.usage,
                finish_reason=learned.finish_reason,
                finish=learned.finish,
                error=learned.error,
                body=learned.body,
            )
            self._recording.end_turn(self._number, replace(turn, generation=generation))

    def _wrapped(self, pieces: Iterable[_Piece], reader: PieceReader) -> Iterator[_Piece]:
        try:
            for piece in pieces:
                self._take(piece, reader)
                yield piece
        except BaseException as error:
            self._broke(error)
            raise
        self._ran_out(reader)

    async def _wrapped_async(self, pieces: AsyncIterable[_Piece], reader: PieceReader) -> AsyncIterator[_Piece]:
        try:
            async for piece in pieces:
                self._take(piece, reader)
                yield piece
        except BaseException as error:
            self._broke(error)
            raise
        self._ran_out(reader)

    @guarded_as("wrap")
    def _take(self, piece: object, reader: PieceReader) -> None:
        with self._lock:
            self.extend(reader.read(piece, now_s()), api=reader.api)

    def _broke(self, error: BaseException) -> None:
        if not self._entered:
            self.abort("The stream was left before its end." if isinstance(error, GeneratorExit) else error)

    def _ran_out(self, reader: PieceReader) -> None:
        if last := reader.close(now_s()):
            self.extend(last, api=reader.api)
        if not self._entered:
            self.finish()


def tool_definitions(tools: Iterable[ToolDefinition | Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Tools as they were given, or as an API has them; TypeError for anything else."""
    found: list[ToolDefinition] = []
    for tool in tools:
        if isinstance(tool, ToolDefinition):
            found.append(tool)
        elif isinstance(tool, Mapping):
            found += read_tools([dict(tool)])
        else:
            raise TypeError(f"a tool is a definition or a JSON object, and {type(tool).__name__} came")
    return tuple(found)


def usage_of(counts: Mapping[str, int]) -> Usage:
    """Token counts under OpenAI's names, or Anthropic's."""
    return Usage(
        counts.get("prompt_tokens", counts.get("input_tokens")),
        counts.get("completion_tokens", counts.get("output_tokens")),
    )
