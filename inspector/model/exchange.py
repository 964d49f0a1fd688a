"""HTTP exchanges kept for a replay, and the requests that generations keep: their messages, each stored once.

A request refers to turns of its trace by number, to messages of earlier requests, and contains the rest itself
(`SentRequest`). `requests_of` resolves the references; a request with a dangling one counts as not recorded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias, assert_never

from msgspec import Struct, structs

from weaklink.inspector.model.trace import Part, SentBefore, SentMessage, SentPart, SentRequest, Trace, Turn
from weaklink.inspector.text import shared_prefix, shared_suffix

_SHARED = 32  # code points that must be equal for a reference to be shorter than the text


class ExchangeEnd(StrEnum):
    """How an exchange ended."""

    COMPLETE = "complete"
    UPSTREAM_DROPPED = "upstream_dropped"
    CLIENT_LEFT = "client_left"
    NOT_CONNECTED = "not_connected"
    TIMED_OUT = "timed_out"
    NOT_STORED = "not_stored"


class RecordedExchange(Struct, frozen=True):
    """One exchange; secrets are redacted, and bodies are kept without content encoding.

    `path` begins after the server's host and includes the query. `began_s` is seconds since 1970-01-01 UTC, None if
    unknown. `status` is None if no answer arrived; `headers` are the answer's headers that a replay needs, names in
    lower case. `request` and `answer` are the bodies; None if they are not kept, with the reason in `withheld`. The
    answer arrived in pieces: piece `i` ends at byte `ends[i]`, `offsets_s[i]` seconds after the beginning (None if
    unknown). `turn` is the number of the assistant's turn in the trace, 0 for a request to no model.
    `is_redacted`: the answer had secrets, so that it is not byte for byte what the server sent.
    """

    method: str
    path: str
    began_s: float | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    request: bytes | None = b""
    answer: bytes | None = b""
    ends: tuple[int, ...] = ()
    offsets_s: tuple[float | None, ...] = ()
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    message: str = ""
    turn: int = 0
    is_redacted: bool = False
    withheld: str = ""

    @property
    def size_bytes(self) -> int:
        """The length of both bodies together."""
        return len(self.request or b"") + len(self.answer or b"")

    @property
    def is_stream(self) -> bool:
        """Whether the answer is an event stream."""
        return any(name == "content-type" and "event-stream" in value for name, value in self.headers)

    def pieces(self) -> tuple[bytes, ...]:
        """The answer's body as it arrived."""
        answer = self.answer or b""
        return tuple(answer[start:end] for start, end in zip((0, *self.ends), self.ends, strict=False))


class RecordedTrace(Trace, frozen=True, omit_defaults=True):
    """A trace with its HTTP exchanges, in order, as a trace file holds both."""

    exchanges: tuple[RecordedExchange, ...] = ()


def with_exchanges(trace: Trace, exchanges: Sequence[RecordedExchange]) -> Trace:
    """The trace with its exchanges; unchanged if there are none."""
    if not exchanges:
        return trace
    members = {name: getattr(trace, name) for name in Trace.__struct_fields__}
    return RecordedTrace(**members, exchanges=tuple(exchanges))


class ReadMessage(Struct, frozen=True):
    """A message as the model read it.

    `turn` is the turn of the trace that it repeats (from 1), None if there is none. `version` is the whole message if
    its text differs from that turn's, None if they are equal.
    """

    turn: int | None
    version: Turn | None = None


class ReadRequest(Struct, frozen=True, eq=False):
    """The request that turn `turn` answers: the first `kept` messages of request `before`, followed by `own`."""

    turn: int
    before: "ReadRequest | None"
    kept: int
    own: tuple[ReadMessage, ...]

    def __len__(self) -> int:
        return self.kept + len(self.own)

    def messages(self) -> list[ReadMessage]:
        """All its messages in order; linear in them and in the requests that they come from."""
        pieces: list[Sequence[ReadMessage]] = []
        request: ReadRequest | None = self
        needed = len(self)
        while request is not None and needed:
            pieces.append(request.own[: max(needed - request.kept, 0)])
            needed, request = min(needed, request.kept), request.before
        return [message for piece in reversed(pieces) for message in piece]


def requests_of(turns: Sequence[Turn]) -> Iterator[ReadRequest | int]:
    """For each generated turn, in order: its request, or only the turn's number if no request is recorded.

    Linear in the turns and in what each request adds to the one before; texts equal to a turn's are not copied.
    """
    known: dict[int, ReadRequest] = {}
    for number, turn in enumerate(turns, 1):
        if turn.generation is None:
            continue
        sent = turn.generation.request
        request = None if sent is None else _resolved(sent, number, turns, known)
        if request is None:
            yield number
        else:
            known[number] = request
            yield request


def _resolved(
    sent: SentRequest, number: int, turns: Sequence[Turn], known: Mapping[int, ReadRequest]
) -> ReadRequest | None:
    """The request with its references resolved; None if one of them is dangling."""
    before = known.get(sent.after)
    if sent.kept < 0 or (sent.kept and (before is None or sent.kept > len(before))):
        return None
    own: list[ReadMessage] = []
    for message in sent.messages:
        read = _message(message, turns, known)
        if read is None:
            return None
        own.append(read)
    return ReadRequest(number, before, sent.kept, tuple(own))


def _message(
    message: int | SentMessage | SentBefore, turns: Sequence[Turn], known: Mapping[int, ReadRequest]
) -> ReadMessage | None:
    match message:
        case int():
            return ReadMessage(message) if 0 < message <= len(turns) else None
        case SentBefore(turn, index):
            earlier = known.get(turn)
            return earlier.own[index] if earlier is not None and 0 <= index < len(earlier.own) else None
        case SentMessage():
            return _version(message, turns)
        case _:
            assert_never(message)


def _version(message: SentMessage, turns: Sequence[Turn]) -> ReadMessage | None:
    if message.turn is not None and not 0 < message.turn <= len(turns):
        return None
    base = None if message.turn is None else turns[message.turn - 1]
    parts = tuple(Part(part.name, whole_text(part, base)) for part in message.parts)
    return ReadMessage(message.turn, Turn(message.role, parts, message.source_role, message.calls, message.result))


def whole_text(part: SentPart, base: Turn | None) -> str:
    """The text of a message's part; `base` is the turn that the message is a version of."""
    if not part.prefix and not part.suffix:
        return part.text
    base_part = base.part(part.name) if base is not None else None
    text = base_part.text if base_part is not None else ""
    return text[: part.prefix] + part.text + (text[-part.suffix :] if part.suffix else "")


def with_model_ids(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns whose results name their calls by the ids that the model gave.

    Some clients write other ids into their requests: OpenClaw 2026.9 drops every sign from them (`call_1` is sent as
    `call1`). Then the request repeats the answer under the ids that its results have; the n-th call is the same one.
    """
    made = {call.id for turn in turns for call in turn.calls}
    answered = {turn.result.call_id for turn in turns if turn.result is not None and turn.result.call_id}
    if answered <= made:
        return turns
    ids: dict[str, str] = {}
    for request in requests_of(turns):
        for message in () if isinstance(request, int) else request.own:
            if message.version is not None and message.turn is not None:
                ids.update(_model_ids(message.version, turns[message.turn - 1]))
    return [
        structs.replace(turn, result=structs.replace(turn.result, call_id=ids[turn.result.call_id]))
        if turn.result is not None and turn.result.call_id in ids.keys() - made
        else turn
        for turn in turns
    ]


def _model_ids(version: Turn, turn: Turn) -> Iterator[tuple[str, str]]:
    """The ids of a version's calls, each with the model's, if it has the same calls in the same order."""
    if [call.name for call in version.calls] == [call.name for call in turn.calls]:
        for sent, call in zip(version.calls, turn.calls, strict=True):
            if sent.id and call.id:
                yield sent.id, call.id


Change: TypeAlias = Callable[[SentMessage], SentMessage]


def expanded(trace: Trace) -> Trace:
    """The trace whose requests contain every own text completely, for code that changes the texts of turns."""
    turns = tuple(trace.turns)

    def whole(message: SentMessage) -> SentMessage:
        base = turns[message.turn - 1] if message.turn is not None and 0 < message.turn <= len(turns) else None
        return structs.replace(
            message, parts=tuple(SentPart(part.name, whole_text(part, base)) for part in message.parts)
        )

    return _changed(trace, whole)


def compacted(trace: Trace) -> Trace:
    """The trace whose requests contain only the part of each text that differs from the turn of its message."""
    turns = tuple(trace.turns)

    def short(message: SentMessage) -> SentMessage:
        base = turns[message.turn - 1] if message.turn is not None and 0 < message.turn <= len(turns) else None
        return (
            message
            if base is None
            else structs.replace(message, parts=tuple(_short(part, base) for part in message.parts))
        )

    return _changed(trace, short)


def renumbered(request: SentRequest, numbers: Mapping[int, int]) -> SentRequest:
    """The request for a trace whose turns have other numbers: `numbers` maps each old number to the new one."""

    def moved(message: int | SentMessage | SentBefore) -> int | SentMessage | SentBefore:
        match message:
            case int():
                return numbers[message]
            case SentBefore(turn, index):
                return SentBefore(numbers[turn], index)
            case SentMessage(turn=turn):
                return message if turn is None else structs.replace(message, turn=numbers[turn])
            case _:
                assert_never(message)

    return SentRequest(
        numbers[request.after] if request.after else 0, request.kept, tuple(map(moved, request.messages))
    )


def with_changed(request: SentRequest, change: Change) -> SentRequest:
    """The request with its own versions changed; the same object if it has none."""
    if not any(isinstance(message, SentMessage) for message in request.messages):
        return request
    messages = tuple(change(message) if isinstance(message, SentMessage) else message for message in request.messages)
    return structs.replace(request, messages=messages)


def _changed(trace: Trace, change: Change) -> Trace:
    if not any(_has_versions(turn) for turn in trace.turns):
        return trace
    turns = tuple(
        structs.replace(
            turn, generation=structs.replace(turn.generation, request=with_changed(turn.generation.request, change))
        )
        if turn.generation is not None and turn.generation.request is not None and _has_versions(turn)
        else turn
        for turn in trace.turns
    )
    return structs.replace(trace, turns=turns)


def _has_versions(turn: Turn) -> bool:
    request = turn.generation.request if turn.generation is not None else None
    return request is not None and any(isinstance(message, SentMessage) for message in request.messages)


def _short(part: SentPart, base: Turn) -> SentPart:
    base_part = base.part(part.name)
    if part.prefix or part.suffix or base_part is None:
        return part
    text, other = part.text, base_part.text
    prefix = shared_prefix(text, other)
    suffix = shared_suffix(text, other, min(len(text), len(other)) - prefix)
    if prefix < _SHARED and prefix != len(text):
        prefix = 0
    if suffix < _SHARED:
        suffix = 0
    return SentPart(part.name, text[prefix : len(text) - suffix], prefix, suffix) if prefix or suffix else part
