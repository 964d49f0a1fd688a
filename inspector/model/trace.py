"""A recorded agent session: the trace, its turns, parts, chunks and spans, and the facts of each generation."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import accumulate, repeat
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct, field, structs

from weaklink.inspector.model.calls import RecordedState, ToolDefinition
from weaklink.inspector.model.columns import Entries
from weaklink.inspector.rich_display import html_of
from weaklink.inspector.text import Range


class InstantSource(StrEnum):
    """Whether a time was recorded as it happened or derived from others."""

    RECORDED = "recorded"
    DERIVED = "derived"


class Instant(Struct, frozen=True, omit_defaults=True):
    """A moment, in seconds since 1970-01-01 UTC. An unknown moment is None instead of an Instant."""

    at_s: float
    source: InstantSource = InstantSource.RECORDED


class Usage(Struct, frozen=True):
    """Token counts, None if unknown; `computed` is true if weaklink counted them, not the server."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    computed: bool = False


class FinishReason(StrEnum):
    """Why a generation ended, normalised over all providers; the provider's own word is kept next to it."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    FILTER = "filter"
    ERROR = "error"
    OTHER = "other"


class ErrorPhase(StrEnum):
    """The phase in which a generation failed."""

    CONNECT = "connect"
    HTTP = "http"
    IN_STREAM = "in_stream"
    TRANSPORT = "transport"
    CLIENT_ABORT = "client_abort"


class GenerationError(Struct, frozen=True, omit_defaults=True):
    """An error that ended a generation: its phase, its message, and the provider's status and code if there are any."""

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
    """Where the tools of a request were defined."""

    REQUEST = "request"
    SYSTEM_TEXT = "system_text"


class Role(StrEnum):
    """Who speaks in a turn."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class CallHeader(Struct, frozen=True, omit_defaults=True):
    """The fields of a call in a structured API, except its arguments; `part` names the part that contains those.

    `custom` means that the tool takes free text and no JSON, as OpenAI's custom tools do: the part is the argument.
    `caller` is the id of the program that made the call, if the model wrote a program that the provider runs
    (programmatic tool calling); None if the model itself made it.
    """

    part: str
    name: str | None
    id: str | None = None
    custom: bool = False
    caller: str | None = None

    def filled(self, known: "CallHeader | None") -> "CallHeader":
        """This header with what it lacks taken from what was known before; its part stays."""
        if known is None:
            return self
        return CallHeader(
            self.part,
            self.name or known.name,
            self.id or known.id,
            self.custom or known.custom,
            self.caller or known.caller,
        )


class ResultHeader(Struct, frozen=True):
    """The fields of a tool turn's result in a structured source; None if the source does not state it."""

    call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None
    recorded: RecordedState | None = None


class SentPart(Struct, frozen=True, omit_defaults=True):
    """One text of a message in a request.

    `text` is what it does not share with the part of the same name in the message's turn: the first `prefix` code
    points of that part come before it, and the last `suffix` code points after it.
    """

    name: str
    text: str = ""
    prefix: int = 0
    suffix: int = 0


class SentMessage(Struct, frozen=True, omit_defaults=True):
    """A message of a request whose text is not exactly that of a turn of the trace.

    `turn` is the number (from 1) of the turn of which it is another version, None if there is no such turn.
    """

    role: Role
    parts: tuple[SentPart, ...]
    turn: int | None = None
    source_role: str = ""
    calls: tuple[CallHeader, ...] = ()
    result: ResultHeader | None = None


class SentBefore(NamedTuple):
    """A message of an earlier request of the trace: `turn` is the number of that request's answer.

    `position` counts from 0 in the `messages` of that request. A tuple, so that codecs tell it from a `SentMessage`.
    """

    turn: int
    position: int


class SentRequest(Struct, frozen=True, omit_defaults=True):
    """The messages of a generation's request, as the server received them.

    The request begins with the first `kept` messages of the request that turn `after` answers (0: of none). `messages`
    follow: the number of a turn whose text is equal, a separate version, or a message of an earlier request. So a
    growing history costs only its new messages. `inspector.model.exchange` resolves it.
    """

    after: int = 0
    kept: int = 0
    messages: tuple[int | SentMessage | SentBefore, ...] = ()


class Generation(Struct, frozen=True, omit_defaults=True):
    """The facts of one assistant turn besides its text; every one may be unknown.

    `api` is the kind of endpoint (`chat.completions`, `messages`, ...). `parameters` is the request's sampling and
    output settings as compact JSON text, `""` if unknown. `tools` are those offered in this request; `tools_origin` is
    None if there were none. `attempt` counts from 1; `retry_of` is the external id of the request it repeats. `finish`
    is the normalised `finish_reason`. `request` has the messages that the server received, None if the source did not
    record them. `response_id` is the answer's own id (`chatcmpl-...`, `msg_...`). `context_window` is the size of the
    model's context window in tokens, if the source states it.
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

    A msgspec struct, not a dataclass: one is created for every arrival, in a fifth of the time. `sequence` counts the
    arrivals of a turn from 0, over all its parts. `offset_s` is seconds since the turn's generation started, None if no
    time was recorded; `token_ids` and `logprobs` likewise.
    """

    sequence: int
    part: str
    text: str
    offset_s: float | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class Chunks(Struct, frozen=True, omit_defaults=True):
    """The chunks of one part, in columns: entry i of each belongs to chunk i.

    `ends` are the code-point offsets in the part's text at which chunks end, ascending; the last is the text's length.
    `offsets_s`, `token_ids` and `logprobs` are None if the source kept none for the whole part, and contain None for
    single chunks without. Raises ValueError if the columns do not have equal lengths. Each is a tuple, or for many
    chunks a column of `inspector.model.columns`: to read a whole column, iterate over it instead of indexing.
    """

    ends: Entries[int]
    sequences: Entries[int]
    offsets_s: Entries[float | None] | None = None
    token_ids: Entries[tuple[int, ...] | None] | None = None
    logprobs: Entries[tuple[float, ...] | None] | None = None

    def __post_init__(self) -> None:
        for column in (self.sequences, self.offsets_s, self.token_ids, self.logprobs):
            if column is not None and len(column) != len(self.ends):
                raise ValueError(f"{len(self.ends)} chunks, but a column of {len(column)} entries")

    def __len__(self) -> int:
        return len(self.ends)

    def index_at(self, offset: int) -> int:
        """The index of the chunk with the character at `offset`; the number of chunks if none has it."""
        return bisect_right(self.ends, offset)


class StreamDetail(StrEnum):
    """How much a source kept of a part's stream."""

    TOKEN_IDS = "token ids"
    CHUNKS = "chunks"
    TEXT_ONLY = "text only"


class Part(Struct, frozen=True, omit_defaults=True):
    """One text of a turn: `text`, `reasoning`, or `call:0`, `call:1`, ... whose text is a call's arguments.

    Sources have others, which are kept verbatim: `refusal`, `content:N` (a content block that is no text), `wire:...`
    (what a decoder did not recognise) and `choiceN:...` (a further choice of the same request).
    """

    name: str
    text: str
    chunks: Chunks | None = None

    @property
    def grade(self) -> StreamDetail:
        """What the source kept of this part's stream."""
        if self.chunks is None:
            return StreamDetail.TEXT_ONLY
        return StreamDetail.TOKEN_IDS if self.chunks.token_ids is not None else StreamDetail.CHUNKS

    def arrivals(self) -> Iterator[Chunk]:
        """The chunks one by one, in order; none if the source kept only the text."""
        if self.chunks is None:
            return
        chunks, none = self.chunks, repeat(None)
        known = (chunks.offsets_s or none, chunks.token_ids or none, chunks.logprobs or none)
        start = 0
        for end, sequence, offset_s, ids, odds in zip(chunks.ends, chunks.sequences, *known, strict=False):
            yield Chunk(sequence, self.name, self.text[start:end], offset_s, ids, odds)
            start = end


class RecordedRun(Struct, frozen=True, omit_defaults=True):
    """One run of a tool, as recorded by the program that ran it: what was executed, and what the tool returned.

    `source` names the recorder (`otlp`, `logger`). `arguments` and `result` are exact texts, None if the source did not
    keep them; `failed` is None if it does not state it. `own_form` names those of the two (`arguments`, `result`) that
    the source keeps in its own form, or only in part: they cannot be compared with the call, or with what the model
    read.
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
        """The arguments and the result, None if one is not recorded or is in the source's own form."""
        arguments = None if "arguments" in self.own_form else self.arguments
        return arguments, None if "result" in self.own_form else self.result


class TurnFlag(StrEnum):
    """Why a turn is not an ordinary message of the conversation."""

    INJECTED = "injected"
    DEMONSTRATION = "demonstration"
    SYNTHETIC = "synthetic"
    COPIED_CONTEXT = "copied_context"


class Turn(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation.

    `source_role` is the source's own word for the role (`gpt`, `observation`, `ipython`). `calls` describe the parts
    named `call:N`, `result` the result of a tool turn; an assistant turn that was generated has a `generation`.
    `run` is the run of the tool whose result a tool turn has, if it was recorded in addition to the conversation.
    `summarises` is the number of turns, from the first one on, that the model no longer reads because this turn is a
    summary of them; 0 if it is none.
    """

    role: Role
    parts: tuple[Part, ...]
    source_role: str = ""
    calls: tuple[CallHeader, ...] = ()
    result: ResultHeader | None = None
    generation: Generation | None = None
    flags: frozenset[TurnFlag] = frozenset()
    run: RecordedRun | None = None
    summarises: int = 0

    def part(self, name: str) -> Part | None:
        """The part of that name, or None."""
        for part in self.parts:
            if part.name == name:
                return part
        return None

    def call_header(self, part: str) -> CallHeader | None:
        """The header of the call in that part, or None; takes constant time if the headers are in part order."""
        if not self.calls:
            return None
        number = part.removeprefix("call:")
        index = int(number) if number.isdecimal() and len(number) < 10 else 0
        if index < len(self.calls) and self.calls[index].part == part:
            return self.calls[index]
        return next((header for header in self.calls if header.part == part), None)


class ExternalId(Struct, frozen=True):
    """An id that the source gives to a session, under the source's own name for it (`x-session-id`, `task_id`)."""

    name: str
    value: str


ASKED_AGAIN = "ask"
"""The source of answers to a request that `weaklink ask` sent again."""
PROBED = "probe"
"""The source of answers to the requests of `weaklink probe` that failed."""
EXPERIMENT_SOURCES = (ASKED_AGAIN, "doctor", "replay", PROBED)
"""The sources of traces that weaklink's own experiments recorded; others count as real sessions."""
RECORDING_ID = "recording"
"""The name of the external id that weaklink gives to each trace that it records."""


class RecognisedBy(StrEnum):
    """How the requests of one session were recognised."""

    HEADER = "header"
    FIELD = "field"
    FILE = "file"
    RECORD = "record"
    PREFIX_CHAIN = "prefix_chain"


class ParentWhy(StrEnum):
    """The relation of a trace to its parent.

    A `sibling` was requested with the same messages while the other's request was open, as parallel agents and samples
    of one prompt are; its "parent" is the first of them.
    """

    SUBAGENT = "subagent"
    RESUME = "resume"
    FORK = "fork"
    TRIAL = "trial"
    SIBLING = "sibling"


class ParentTrace(Struct, frozen=True):
    """The session that this one came from, by its external id, and the relation to it."""

    external_id: ExternalId
    why: ParentWhy


class Liveness(StrEnum):
    """The activity of a recorded trace: `running` while an answer arrives or an event is recent, else `idle`."""

    RUNNING = "running"
    IDLE = "idle"


class Outcome(Struct, frozen=True, omit_defaults=True):
    """How the session ended according to its source; None for what it does not state."""

    completed: bool | None = None
    exit_status: str | None = None
    reward: float | None = None


class TaskOutcome(StrEnum):
    """Whether the task was done according to its source; `unknown` if it does not state it."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Provenance(Struct, frozen=True):
    """The source of a trace: kind of source, file, its SHA-256 in hexadecimal, source format version and record.

    `record` locates the trace within the file (`line 12`, `entry 3`); `warnings` list what the source did not keep.
    """

    source: str = ""
    file: str = ""
    file_sha256: str = ""
    source_version: str = ""
    record: str = ""
    warnings: tuple[str, ...] = ()


class Trace(Struct, frozen=True, omit_defaults=True):
    """One recorded agent session: an ordered list of turns.

    `format` names the wire format of tool calls if the source or the user states it, else it is empty and detected.
    `project` is the folder that the agent worked in and `branch` its git branch, `""` if the source does not state it.
    `is_open` is true for the value that is inspected while the session runs: its last calls may still be answered. It
    is not stored.
    """

    turns: tuple[Turn, ...]
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
    is_open: bool = False

    def _repr_html_(self) -> str | None:
        """The trace with its verdict, for notebooks."""
        return html_of(self)


_Value = TypeVar("_Value")


def parts_of(chunks: Iterable[Chunk]) -> tuple[Part, ...]:
    """The parts that these chunks form, in the order in which the parts began."""
    by_part: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_part.setdefault(chunk.part, []).append(chunk)
    return tuple(_part(name, of_part) for name, of_part in by_part.items())


def turn_so_far(role: Role, chunks: Iterable[Chunk], generation: Generation | None = None) -> Turn:
    """The turn that these chunks form so far; a model's turn is marked as truncated."""
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
    """A column of chunks, None if no chunk has a value."""
    return None if values.count(None) == len(values) else tuple(values)


class SpanKind(StrEnum):
    """The kind of a span. `markup` is structure of the chat template: headers, end-of-turn tokens, stray markers."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TOOL_DEFINITIONS = "tool_definitions"
    MARKUP = "markup"


class Span(msgspec.Struct, frozen=True, array_like=True):
    """A typed range of one part's text; the top-level spans of a part tile it exactly.

    `inner` is the range without the markers. `closed` is true if the span ended as its format requires: a span that a
    marker opened needs its closing marker, any other is closed by definition. `label` names the marker or the part
    (`think`, `tool_call`, `goal`), or is empty. `children` are within `inner`, in order, and need not tile it.
    A msgspec struct, because one is created for every span of every stream.
    """

    kind: SpanKind
    range: Range
    inner: Range
    closed: bool = True
    label: str = ""
    children: tuple["Span", ...] = ()

    def up_to(self, end: int) -> "Span":
        """The span without what is behind `end`; its children are before that."""
        return Span(self.kind, self.range.up_to(end), self.inner.up_to(end), self.closed, self.label, self.children)
