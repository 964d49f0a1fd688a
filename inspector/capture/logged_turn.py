"""Records an assistant turn while it is generated, for code that has the token stream itself.

Whatever the caller has becomes the events that the proxy's decoders make of a wire, so both are assembled by the same
code. Such code must not notice the recorder: no method waits for a disk, and what cannot be recorded is counted.

    piece of a stream            by                     event
    a text, `"<tool_"`           `feed`, PieceReader    PartGrew("text", "<tool_", at_s)
    a chunk of OpenAI's API      `wrap`, PieceReader    PartGrew, CallNamed, FactsLearned: what its decoder reads
    ids of tokens, `[27, 14449]` `put`, Detokenizer     PartGrew("text", "<tool", at_s, (27, 14449)), once they are text
    a call in fields             `call`                 CallNamed("call:0", "f", id), PartGrew("call:0", arguments)

An event goes two ways. TurnAssembly puts it into the turn, as it will be in the end. As a Chunk, redacted, it goes to
the sink at once, so that a watcher sees it and a crash loses little:

    TurnStarted(key, 2, assistant, facts)      when the LoggedTurn is made
    ChunksArrived(key, 2, (chunk, ...))        with each piece, the last ones when the turn ends: a secret may be
                                               recognised only from its second piece on
    TurnEnded(key, 2, turn)                    the whole turn once more; nothing depends on the chunks before it

LoggedTrace numbers the turns and sends TraceStarted with the first and TraceEnded at the end. A turn ends once: with
its `with` block, with `finish`, with the end of a wrapped stream outside a block, or, as aborted, with an exception.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from threading import RLock, Thread
from types import TracebackType
from typing import Any, Protocol, Self, SupportsFloat, SupportsInt, TypeVar, overload
from uuid import uuid4

from msgspec.structs import replace

from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.capture.events import (
    ChunksArrived,
    RecordEvent,
    Sink,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.safeguards import ErrorCounters, OwnProcess, guarded, guarded_as, now_s
from weaklink.inspector.errors import SinkError
from weaklink.inspector.json_text import compact_json
from weaklink.inspector.model import (
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
from weaklink.inspector.model.trace import RECORDING_ID
from weaklink.inspector.wire.answer_reader import finish_meaning
from weaklink.inspector.wire.decoder import Decoder
from weaklink.inspector.wire.events import (
    PROMPT_PART,
    CallNamed,
    FactsLearned,
    GenerationFailed,
    PartGrew,
    TurnAssembly,
    WireEvent,
)

_CLOSING_S = 30.0
"""How long closing a recording waits for its sink."""


class LoggedTrace:
    """Sends the events of one trace to a sink. Every method is thread-safe and returns at once, except `close`.

    The trace begins with its first turn, so an empty recording leaves nothing.
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
        self._lock = RLock()  # a signal handler may record too
        self._own_process = OwnProcess()

    def start_turn(self, role: Role, generation: Generation | None) -> int:
        """Begin a turn; returns its number. SinkError once the recording is closed."""
        self._own_process.check()
        with self._lock:
            number = self._next()
            self._emit(TurnStarted(self.key, number, role, self._redacted_generation(role, generation)))
            return number

    def add(self, turn: Turn) -> None:
        """Record a turn that is already complete. SinkError once the recording is closed."""
        self._own_process.check()
        redacted = self._redacted(turn)
        with self._lock:
            self._emit(TurnEnded(self.key, self._next(), redacted))

    def chunks(self, number: int, chunks: tuple[Chunk, ...]) -> None:
        """Record redacted chunks of an open turn."""
        self._own_process.check()
        if chunks:
            with self._lock:
                self._emit(ChunksArrived(self.key, number, chunks))

    def end_turn(self, number: int, turn: Turn) -> None:
        """End an open turn; `turn` is the complete turn."""
        self._own_process.check()
        redacted = self._redacted(turn)
        with self._lock:
            self._emit(TurnEnded(self.key, number, redacted))

    def close(self) -> None:
        """End the trace, and close the sink if it is ours; waits for that at most 30 seconds. Never raises."""
        with self._lock:
            if self._closed:
                return
            try:
                if self._turns:
                    self._emit(TraceEnded(self.key, self.outcome))
            except Exception as error:  # noqa: BLE001  # a third-party sink; the error is counted
                self.mistakes.note("close", error)
            self._closed = True
        if self._owns_sink:
            self._close_sink()

    def _next(self) -> int:
        if not self._turns and not self._closed:
            started = replace(self._trace, started=self._trace.started or Instant(now_s()))
            self._emit(TraceStarted(self.key, self.redactor.trace(started)))
        self._turns += 1
        return self._turns

    def _emit(self, event: RecordEvent) -> None:
        if self._closed:
            raise SinkError("The recording is closed, so nothing more is recorded.")
        self.sink.accept(event)

    def _redacted(self, turn: Turn) -> Turn:
        return self.redactor.turn(turn)

    def _redacted_generation(self, role: Role, generation: Generation | None) -> Generation | None:
        return None if generation is None else self._redacted(Turn(role, (), generation=generation)).generation

    def _close_sink(self) -> None:
        closing = Thread(target=self._end_sink, name="weaklink-close", daemon=True)
        try:
            closing.start()
        except RuntimeError:  # the interpreter is shutting down and starts no threads
            self._end_sink()
            return
        closing.join(_CLOSING_S)
        if closing.is_alive():
            self.mistakes.note("close", SinkError(f"The sink did not finish within {_CLOSING_S:.0f} seconds."))

    def _end_sink(self) -> None:
        try:
            self.sink.close()
        except Exception as error:  # noqa: BLE001  # a third-party sink, a full disk; the error is counted
            self.mistakes.note("close", error)


_UNFINISHED = "\ufffd"
_MAX_WAITING_TOKENS = 16  # tokens that may wait for the end of a character
_PROMPT_TAIL = 1_024
_PROMPT_TOKENS = 64


class PieceReader:
    """Reads stream pieces: texts, OpenAI's chunks, or anything else for which `text` returns the text."""

    def __init__(self, text: Callable[..., str] | None = None) -> None:
        self._text = text
        self._decoder: Decoder | None = None

    @property
    def api(self) -> str:
        """The API of the chunks, `""` for texts."""
        return "" if self._decoder is None else self._decoder.api

    def read(self, piece: object, at_s: float) -> list[WireEvent]:
        """The events of a piece. TypeError for an unknown type, and whatever `text` raises."""
        if self._text is not None:
            piece = self._text(piece)
        if isinstance(piece, str):
            return [PartGrew("text", piece, at_s)]
        if not isinstance(piece, Mapping) or "choices" not in piece:
            raise TypeError(f"unknown piece of type {type(piece).__name__}; pass `text=` to return its text")
        if self._decoder is None:
            self._decoder = decoder_for(content_type="text/event-stream")
        return self._decoder.feed(b"data: " + json.dumps(dict(piece)).encode("ascii") + b"\n\n", at_s)

    def close(self, at_s: float) -> list[WireEvent]:
        """End the stream; returns the last events."""
        if self._decoder is None:
            return []
        return [*self._decoder.feed(b"data: [DONE]\n\n", at_s), *self._decoder.close()]


class Tokenizer(Protocol):
    """The method that a tokenizer must have; those of transformers have it."""

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = ...) -> str:
        """The text of these tokens."""
        ...


class Detokenizer:
    """Returns the text that each token adds. Special tokens are kept, since markers are among them.

    A tokenizer may write a token differently at the beginning of a text. So each token is decoded together with the few
    before it, whose text is then left out. Tokens that end within a character wait, at most 16 of them.
    Method: text-generation-inference:server/text_generation_server/models/model.py (`decode_token`).
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._before: list[int] = []
        self._new: list[int] = []

    def feed(self, ids: Iterable[SupportsInt]) -> list[tuple[str, tuple[int, ...]]]:
        """The texts that became complete, each with its token ids."""
        pieces: list[tuple[str, tuple[int, ...]]] = []
        for token in ids:
            self._new.append(int(token))
            text = self._text()
            if text and (not text.endswith(_UNFINISHED) or len(self._new) >= _MAX_WAITING_TOKENS):
                pieces.append(self._flush(text))
        return pieces

    def close(self) -> list[tuple[str, tuple[int, ...]]]:
        """The text of the tokens that were still waiting, as far as they can be decoded."""
        return [self._flush(self._text())] if self._new else []

    def _text(self) -> str:
        before = self._decoded(self._before)
        return self._decoded(self._before + self._new)[len(before) :]

    def _flush(self, text: str) -> tuple[str, tuple[int, ...]]:
        ids = tuple(self._new)
        self._before, self._new = self._new, []
        return text, ids

    def _decoded(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False) if ids else ""


def flat_token_ids(ids: object) -> list[SupportsInt]:
    """Token ids from a number, a list, or a tensor of one sequence; ValueError for a batch of several."""
    to_list = getattr(ids, "tolist", None)
    listed = to_list() if callable(to_list) else ids
    if not isinstance(listed, list | tuple):
        return [listed]  # type: ignore[list-item]  # int() checks it later
    sequence = list(listed)
    if sequence and isinstance(sequence[0], list | tuple):
        if len(sequence) > 1:
            raise ValueError(f"got a batch of {len(sequence)} sequences; one turn records one")
        return list(sequence[0])
    return sequence


_Piece = TypeVar("_Piece")


class LoggedTurn:
    """One assistant turn, created by `TraceLogger.assistant`; best used as a context manager, sync or async.

    The turn ends with the `with` block, or with `finish`. An exception that leaves the block ends it as aborted, with
    the text so far, and propagates. Every method is thread-safe, returns at once, and never raises: the logger's
    `mistakes` counts what cannot be recorded. A turn with a `tokenizer` can be passed to transformers'
    `generate(streamer=turn)`.
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
        self._owner = owner  # keeps the logger alive as long as its turn
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
        """Add text to a part (`text`, `reasoning`, `call:0`, ...), with its token ids and logprobs if known."""
        if not isinstance(text, str):
            raise TypeError(f"expected a text, not {type(text).__name__}")
        ids = None if token_ids is None else tuple(map(int, token_ids))
        values = None if logprobs is None else tuple(map(float, logprobs))
        self._extend([PartGrew(part, text, now_s(), ids, values)])

    @guarded
    def call(self, name: str, arguments: Json = "", *, id: str | None = None) -> None:
        """Record a call that came in separate fields; arguments that are no text are written as JSON.

        If the arguments come in pieces, leave them out and `feed` them to the part: `call:0` is the first call's.
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
        """End the turn as complete; `reason` is the server's finish reason. Does nothing if the turn has ended."""
        meaning = None if reason is None else finish_meaning(reason)
        counts = usage if usage is None or isinstance(usage, Usage) else usage_of(usage)
        self._end(FactsLearned(usage=counts, finish_reason=reason, finish=meaning, model=model))

    @guarded
    def abort(self, error: BaseException | str) -> None:
        """End the turn as aborted by this error, with what it has so far. Does nothing if the turn has ended."""
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
        """Pass the pieces of a stream through unchanged, and record them on the way.

        A piece is a text, or a chunk of OpenAI's API (llama-cpp-python streams such objects); `text` returns the text
        of any other. Outside a `with`, the turn ends with the stream: as aborted if that raises or is left early.
        """
        reader = PieceReader(text)
        if isinstance(pieces, AsyncIterable):
            return self._wrapped_async(pieces, reader)
        return self._wrapped(pieces, reader)

    @guarded
    def put(self, value: object) -> None:
        """Take token ids from transformers' `generate`: first the prompt's, of which the end is kept, then new ones."""
        ids = flat_token_ids(value)
        with self._lock:
            if self._detokenizer is None or self._tokenizer is None:
                raise TypeError("got token ids, but `assistant` has no tokenizer")
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
        """End transformers' stream."""
        with self._lock:
            if self._detokenizer is not None:
                self._extend([PartGrew("text", text, now_s(), some) for text, some in self._detokenizer.close()])
        if not self._entered:
            self.finish()

    @guarded
    def extend(self, events: list[WireEvent], *, api: str = "") -> None:
        """Add the events of an answer's decoder, and the API that it detected."""
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
                raise SinkError("The turn has ended, so nothing more of it is recorded.")
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
                self._add_piece(piece, reader)
                yield piece
        except BaseException as error:
            self._abort_stream(error)
            raise
        self._finish_stream(reader)

    async def _wrapped_async(self, pieces: AsyncIterable[_Piece], reader: PieceReader) -> AsyncIterator[_Piece]:
        try:
            async for piece in pieces:
                self._add_piece(piece, reader)
                yield piece
        except BaseException as error:
            self._abort_stream(error)
            raise
        self._finish_stream(reader)

    @guarded_as("wrap")
    def _add_piece(self, piece: object, reader: PieceReader) -> None:
        with self._lock:
            self.extend(reader.read(piece, now_s()), api=reader.api)

    def _abort_stream(self, error: BaseException) -> None:
        if not self._entered:
            self.abort("The stream was closed before its end." if isinstance(error, GeneratorExit) else error)

    def _finish_stream(self, reader: PieceReader) -> None:
        if last := reader.close(now_s()):
            self.extend(last, api=reader.api)
        if not self._entered:
            self.finish()


def tool_definitions(tools: Iterable[ToolDefinition | Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Definitions of tools that are definitions already, or JSON objects of an API; TypeError for anything else."""
    definitions: list[ToolDefinition] = []
    for tool in tools:
        if isinstance(tool, ToolDefinition):
            definitions.append(tool)
        elif isinstance(tool, Mapping):
            definitions += read_tools([dict(tool)])
        else:
            raise TypeError(f"expected a tool definition or a JSON object, not {type(tool).__name__}")
    return tuple(definitions)


def usage_of(counts: Mapping[str, int]) -> Usage:
    """The usage from token counts under OpenAI's or Anthropic's names."""
    return Usage(
        counts.get("prompt_tokens", counts.get("input_tokens")),
        counts.get("completion_tokens", counts.get("output_tokens")),
    )
