"""A recorded agent session: the trace, its turns, parts, chunks and spans, and the facts of each generation."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import accumulate, repeat
from typing import TypeVar

import msgspec
from msgspec import Struct, field, structs

from inspector.model.calls import ToolDefinition
from inspector.model.columns import Entries, first_above
from inspector.text import Range


class InstantSource(StrEnum):
    """Whether a time was recorded as it happened or derived from others."""

    RECORDED = "recorded"
    DERIVED = "derived"


class Instant(Struct, frozen=True):
    """A moment, in seconds since 1970-01-01 UTC; where no moment is known there is no Instant."""

    at_s: float
    source: InstantSource = InstantSource.RECORDED


class Usage(Struct, frozen=True):
    """Token counts, None where unknown; `computed` says that weaklink counted them, not the server."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    computed: bool = False


class FinishReason(StrEnum):
    """Why a generation ended, over all providers' words; the provider's own word is beside it."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    FILTER = "filter"
    ERROR = "error"
    OTHER = "other"


class ErrorPhase(StrEnum):
    """Where on the way a generation failed."""

    CONNECT = "connect"
    HTTP = "http"
    IN_STREAM = "in_stream"
    TRANSPORT = "transport"
    CLIENT_ABORT = "client_abort"


class GenerationError(Struct, frozen=True):
    """An error that ended a generation: its phase, its words, and the provider's status and code where there are."""

    phase: ErrorPhase
    message: str
    status: int | None = None
    code: str | None = None


class BodyState(StrEnum):
    """What the source kept of an answer's body."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    NOT_STORED = "not_stored"
    REDACTED = "redacted"


class ToolsOrigin(StrEnum):
    """Where the tools of a request stood."""

    REQUEST = "request"
    SYSTEM_TEXT = "system_text"


class Role(StrEnum):
    """Whose turn it is."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class CallHeader(Struct, frozen=True):
    """What a structured API says of a call beside its arguments; `part` names the part that holds those.

    `custom` says that the tool takes a free text and no JSON, as OpenAI's custom tools do: the part is the argument.
    """

    part: str
    name: str | None
    id: str | None = None
    custom: bool = False


class ResultHeader(Struct, frozen=True):
    """What a structured source says of the result that a tool turn holds; None where it does not say."""

    call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None


class SentPart(Struct, frozen=True):
    """One text of a message as a request has it.

    `text` is what it does not share with the part of that name of the message's turn: the first `prefix` code points
    of that part come before it, and the last `suffix` code points behind it.
    """

    name: str
    text: str
    prefix: int = 0
    suffix: int = 0


class SentMessage(Struct, frozen=True):
    """A message of a request whose text no turn of the trace has exactly.

    `turn` is the number (from 1) of the turn that it is another version of, None where there is no such turn.
    """

    role: Role
    parts: tuple[SentPart, ...]
    turn: int | None = None
    source_role: str = ""
    calls: tuple[CallHeader, ...] = ()
    result: ResultHeader | None = None


class SentBefore(Struct, frozen=True):
    """A message that an earlier request of the trace has: `turn` is the number of that request's answer.

    `index` counts from 0 in the `messages` of that request.
    """

    turn: int
    index: int


class SentRequest(Struct, frozen=True):
    """The messages of a generation's request, as the server got them.

    The request begins with the first `kept` messages of the request that turn `after` answers (0: of none). `messages`
    follow: the number of a turn whose text is equal, a version of its own, or one of an earlier request. So a history
    that grows costs its new messages only. `inspector.model.exchange` reads it.
    """

    after: int = 0
    kept: int = 0
    messages: tuple[int | SentMessage | SentBefore, ...] = ()


class Generation(Struct, frozen=True):
    """The facts of one assistant turn beside its words; every one may be unknown.

    `api` is the kind of endpoint (`chat.completions`, `messages`, ...). `parameters` is the request's sampling and
    output settings as compact JSON text, `""` where unknown. `tools` are those offered in that very request;
    `tools_origin` is None where none were. `attempt` counts from 1; `retry_of` is the external id of the request it
    repeats. `finish` is the normalised `finish_reason`. `request` holds the messages that the server got, None where
    the source did not record them. `response_id` is the answer's own id (`chatcmpl-...`, `msg_...`). `context_window`
    is how many tokens the model's window holds, where the source says so.
    """

    api: str = ""
    requested_model: str = ""
    answered_model: str = ""
    parameters: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    tools_origin: ToolsOrigin | None = None
    attempt: int = 1
    retry_of: str | None = None
    started: Instant | None = None
    first_token: Instant | None = None
    ended: Instant | None = None
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    finish: FinishReason | None = None
    error: GenerationError | None = None
    body: BodyState = BodyState.COMPLETE
    request: SentRequest | None = None
    response_id: str = ""
    context_window: int | None = None


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One arrival on the wire. A chunk is not a token.

    A msgspec structure and no dataclass: one is made for every arrival, and it costs a fifth of the time.
    `sequence` counts the arrivals of a turn from 0, over all its parts. `offset_s` is seconds since the turn's
    generation started, None where no time was kept; `token_ids` and `logprobs` likewise.
    """

    sequence: int
    part: str
    text: str
    offset_s: float | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class Chunks(Struct, frozen=True):
    """The chunks of one part, in columns: entry i of each belongs to chunk i.

    `ends` are the code-point offsets in the part's text at which chunks end, ascending; the last is the text's length.
    `offsets_s`, `token_ids` and `logprobs` are None where the source kept none for the whole part, and hold None for
    single chunks without. Columns have equal lengths; ValueError otherwise. Each is a tuple, or where they are many a
    column of `inspector.model.columns`: go through it from one end to the other where it is wanted whole.
    """

    ends: Entries[int]
    sequences: Entries[int]
    offsets_s: Entries[float | None] | Entries[float] | None = None
    token_ids: Entries[tuple[int, ...] | None] | Entries[tuple[int, ...]] | None = None
    logprobs: Entries[tuple[float, ...] | None] | Entries[tuple[float, ...]] | None = None

    def __post_init__(self) -> None:
        for column in (self.sequences, self.offsets_s, self.token_ids, self.logprobs):
            if column is not None and len(column) != len(self.ends):
                raise ValueError(f"{len(self.ends)} chunks, but a column of {len(column)}")

    def __len__(self) -> int:
        return len(self.ends)

    def at(self, offset: int) -> int:
        """The index of the chunk that brings the character at `offset`; how many chunks there are where none does."""
        return first_above(self.ends, offset)


class Grade(StrEnum):
    """How much a source kept of a part's stream."""

    TOKEN_IDS = "token ids"
    CHUNKS = "chunks"
    TEXT_ONLY = "text only"


class Part(Struct, frozen=True):
    """One text of a turn: `text`, `reasoning`, or `call:0`, `call:1`, ... whose text is a call's arguments.

    Sources bring others, which are kept word for word: `refusal`, `content:N` (a content block that is no text),
    `wire:...` (what a decoder did not take) and `choiceN:...` (a further choice of the same request).
    """

    name: str
    text: str
    chunks: Chunks | None = None

    @property
    def grade(self) -> Grade:
        """What the source kept of this part's stream; never more than it did."""
        if self.chunks is None:
            return Grade.TEXT_ONLY
        return Grade.TOKEN_IDS if self.chunks.token_ids is not None else Grade.CHUNKS

    def arrivals(self) -> Iterator[Chunk]:
        """The chunks one by one, in order; none where the source kept only the text."""
        if self.chunks is None:
            return
        chunks, none = self.chunks, repeat(None)
        known = (chunks.offsets_s or none, chunks.token_ids or none, chunks.logprobs or none)
        start = 0
        for end, sequence, offset_s, ids, odds in zip(chunks.ends, chunks.sequences, *known, strict=False):
            yield Chunk(sequence, self.name, self.text[start:end], offset_s, ids, odds)
            start = end


class RecordedRun(Struct, frozen=True):
    """One run of a tool, as whoever ran it recorded it: what was executed, and what the tool itself returned.

    `source` names who recorded it (`otlp`, `logger`). `arguments` and `result` are exact texts, None where the source
    did not keep them; `failed` is None where it does not say. `own_form` names those of the two (`arguments`, `result`)
    that the source keeps in a form of its own, or only in part: they cannot be compared with the call, or with what the
    model read.
    """

    source: str
    name: str = ""
    call_id: str | None = None
    arguments: str | None = None
    result: str | None = None
    failed: bool | None = None
    started: Instant | None = None
    ended: Instant | None = None
    own_form: tuple[str, ...] = ()

    def comparable(self) -> tuple[str | None, str | None]:
        """The arguments and the result, None where one is not recorded or is in a form of its own."""
        arguments = None if "arguments" in self.own_form else self.arguments
        return arguments, None if "result" in self.own_form else self.result


class TurnFlag(StrEnum):
    """Why a turn is not what it seems."""

    INJECTED = "injected"
    DEMONSTRATION = "demonstration"
    SYNTHETIC = "synthetic"
    COPIED_CONTEXT = "copied_context"


class Turn(Struct, frozen=True):
    """One message of a conversation.

    `source_role` is the source's own word for the role (`gpt`, `observation`, `ipython`). `calls` describe the parts
    named `call:N`, `result` what a tool turn answers; an assistant turn that was generated has a `generation`.
    `run` is the run of the tool whose result a tool turn holds, where somebody recorded it beside the conversation.
    """

    role: Role
    parts: tuple[Part, ...]
    source_role: str = ""
    calls: tuple[CallHeader, ...] = ()
    result: ResultHeader | None = None
    generation: Generation | None = None
    flags: frozenset[TurnFlag] = frozenset()
    run: RecordedRun | None = None

    def part(self, name: str) -> Part | None:
        """The part of that name, or None."""
        for part in self.parts:
            if part.name == name:
                return part
        return None

    def call_header(self, part: str) -> CallHeader | None:
        """What describes the call in that part, or None; at once where the headers are in the order of their parts."""
        if not self.calls:
            return None
        number = part.removeprefix("call:")
        at = int(number) if number.isdecimal() and len(number) < 10 else 0
        if at < len(self.calls) and self.calls[at].part == part:
            return self.calls[at]
        return next((header for header in self.calls if header.part == part), None)


class ExternalId(Struct, frozen=True):
    """An id that the source gives to a session, under the source's own name for it (`x-session-id`, `task_id`)."""

    name: str
    value: str


RECORDING_ID = "recording"
"""The name of the external id that weaklink gives to each trace that it records."""


class RecognisedBy(StrEnum):
    """How it was found out which requests belong to one session."""

    HEADER = "header"
    FIELD = "field"
    FILE = "file"
    RECORD = "record"
    PREFIX_CHAIN = "prefix_chain"


class ParentWhy(StrEnum):
    """What a trace is to its parent.

    A `sibling` was requested with the same messages while the other's request was open, as parallel agents and samples
    of one prompt are; its "parent" is the first of them.
    """

    SUBAGENT = "subagent"
    RESUME = "resume"
    FORK = "fork"
    TRIAL = "trial"
    SIBLING = "sibling"


class ParentTrace(Struct, frozen=True):
    """The session that this one came from, by its external id, and why."""

    external_id: ExternalId
    why: ParentWhy


class Liveness(StrEnum):
    """What a recorded trace does: `running` while an answer is on its way or an event is recent, else `idle`."""

    RUNNING = "running"
    IDLE = "idle"


class Outcome(Struct, frozen=True):
    """How the source itself says the session ended; None where it does not say."""

    completed: bool | None = None
    exit_status: str | None = None
    reward: float | None = None


class TaskOutcome(StrEnum):
    """Whether the task was done, by the source's own account; `unknown` where it does not say."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Provenance(Struct, frozen=True):
    """The source of a trace: kind of source, file, its SHA-256 in hexadecimal, source format version and record.

    `record` locates the trace within the file (`line 12`, `entry 3`); `warnings` say what the source did not keep.
    """

    source: str = ""
    file: str = ""
    file_sha256: str = ""
    source_version: str = ""
    record: str = ""
    warnings: tuple[str, ...] = ()


class Trace(Struct, frozen=True):
    """One recorded agent session: an ordered list of turns.

    `format` names the wire dialect of tool calling where the source or the user says it, else is empty and detected.
    `project` is the folder that the agent worked in and `branch` its git branch, `""` where the source does not say.
    """

    turns: Entries[Turn]
    name: str = ""
    model: str = ""
    format: str = ""
    started: Instant | None = None
    external_ids: tuple[ExternalId, ...] = ()
    recognised_by: RecognisedBy = RecognisedBy.RECORD
    parent: ParentTrace | None = None
    outcome: Outcome | None = None
    provenance: Provenance = Provenance()
    project: str = ""
    branch: str = ""


_Value = TypeVar("_Value")


def parts_of(chunks: Iterable[Chunk]) -> tuple[Part, ...]:
    """The parts that these chunks make, in the order in which the parts began."""
    by_part: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_part.setdefault(chunk.part, []).append(chunk)
    return tuple(_part(name, of_part) for name, of_part in by_part.items())


def turn_so_far(role: Role, chunks: Iterable[Chunk], generation: Generation | None = None) -> Turn:
    """The turn that these chunks begin; of one that a model was generating it says that it is cut off."""
    if role is Role.ASSISTANT:
        generation = structs.replace(generation or Generation(), body=BodyState.TRUNCATED)
    return Turn(role, parts_of(chunks), generation=generation)


def _part(name: str, chunks: list[Chunk]) -> Part:
    texts = [chunk.text for chunk in chunks]
    columns = Chunks(
        tuple(accumulate(map(len, texts))),
        tuple([chunk.sequence for chunk in chunks]),
        _column([chunk.offset_s for chunk in chunks]),
        _column([chunk.token_ids for chunk in chunks]),
        _column([chunk.logprobs for chunk in chunks]),
    )
    return Part(name, "".join(texts), columns)


def _column(values: list[_Value | None]) -> tuple[_Value | None, ...] | None:
    """A column of chunks, None where no chunk has a value."""
    return None if values.count(None) == len(values) else tuple(values)


class SpanKind(StrEnum):
    """What a span holds. `markup` is structure of the chat template: headers, end-of-turn tokens, stray markers."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TOOL_DEFINITIONS = "tool_definitions"
    MARKUP = "markup"


class Span(msgspec.Struct, frozen=True):
    """A typed range of one part's text; the top-level spans of a part tile it exactly.

    `inner` is the range without the markers. `closed` says whether the span ended as its format wants: a span that a
    marker opened needs its closing marker, any other is closed by definition. `label` names the marker or the part
    (`think`, `tool_call`, `goal`), or is empty. `children` are within `inner`, in order, and need not tile it.
    Made for every span of every stream, hence a msgspec structure.
    """

    kind: SpanKind
    range: Range
    inner: Range
    closed: bool = True
    label: str = ""
    children: tuple["Span", ...] = ()
