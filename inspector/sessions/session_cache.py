"""A cache of the traces that requests may continue: digests and ids, never texts; and which parts of a request are new.

The cache has digests of each trace: of the messages of its last request, of its turns, and of other versions of turns
in its requests. What a request shares with the one before costs nothing. Of the rest, a message that is equal to a
turn, or to a version in an earlier request, is a reference; any other contains its own text
(`inspector.model.SentRequest`).
"""

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, field

from weaklink.inspector.model import ExternalId, Role, SentBefore, SentMessage, SentPart, SentRequest, Turn
from weaklink.inspector.sessions.fingerprints import Gap, exact_digest, message_digest
from weaklink.inspector.wire.events import WIRE_PREFIX

_MAX_TEXT_ENDS = 512
"""At most four for each answer. With so many, placing a short request takes 167 µs instead of 127 (2026-12-01)."""
_MAX_OVERTAKEN = 1_000


class SentHistory(Struct):
    """What the requests of one trace have contained so far.

    `answer` is the turn that answers the last request, `sent` are the digests of its messages, `repeats` the turn that
    each of them repeats (0: none). `roles` are those of the trace's turns. `equal` maps an exact digest to turns,
    `alike` maps a digest that ignores reasoning and white space to a turn, `calls` and `results` map a call's id to
    one. `versions` maps an exact digest to the message that had it first, and to the turn that it repeats.
    """

    answer: int = 0
    sent: list[bytes] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    roles: list[Role] = field(default_factory=list)
    equal: dict[bytes, list[int]] = field(default_factory=dict)
    alike: dict[bytes, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)
    versions: dict[bytes, tuple[SentBefore, int]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many digests and ids it holds."""
        held = len(self.sent) + len(self.equal) + len(self.alike) + len(self.versions)
        return held + len(self.calls) + len(self.results)

    def add_turn(self, number: int, turn: Turn, *, raw: bool = False, exact: bytes | None = None) -> None:
        """Add a turn of the trace."""
        self._reserve(number, turn.role)
        self.equal.setdefault(exact or exact_digest(turn, raw=raw), []).append(number)
        self.alike[message_digest(turn, raw=raw)] = number
        for call in turn.calls:
            if call.id:
                self.calls[call.id] = number
        if turn.result is not None and turn.result.call_id:
            self.results[turn.result.call_id] = number

    def add_joined(self, number: int, turn: Turn) -> None:
        """Add `turn`, as which a client may send turn `number` back: joined with the beginning that it wrote itself."""
        self.equal.setdefault(exact_digest(turn), []).append(number)

    def add_request(
        self, answer: int, turns: Sequence[Turn], new: Mapping[int, int], *, raw: bool = False
    ) -> SentRequest:
        """The request with these messages, whose answer will be turn `answer`.

        `new` maps the index of a message to the number of the turn that was added for it.
        """
        digests = [exact_digest(turn, raw=raw) for turn in turns]
        for index, number in new.items():
            self.add_turn(number, turns[index], raw=raw, exact=digests[index])
        kept = self._kept(digests)
        messages: list[int | SentMessage | SentBefore] = []
        repeats = self.repeats[:kept]
        for index in range(kept, len(turns)):
            message, repeated = self._message(turns[index], digests[index], index, new, repeats)
            if isinstance(message, SentMessage):
                self.versions.setdefault(digests[index], (SentBefore(answer, len(messages)), repeated))
            messages.append(message)
            repeats.append(repeated)
        return self._sent(answer, SentRequest(self.answer, kept, tuple(messages)), digests, repeats)

    def add_continued(self, answer: int, turns: Sequence[Turn], new: Mapping[int, int]) -> SentRequest:
        """A request whose messages follow those of the request and the answer before, which are not sent again."""
        for index, number in new.items():
            self.add_turn(number, turns[index])
        before = [self.answer] if self.answer else []
        messages = (*before, *new.values())
        digests = [*self.sent, *(b"%d" % number for number in messages)]
        kept = len(self.sent)
        return self._sent(answer, SentRequest(self.answer, kept, messages), digests, [*self.repeats, *messages])

    def repeat(self, answer: int) -> SentRequest:
        """The last request again."""
        return self._sent(answer, SentRequest(self.answer, len(self.sent)), self.sent, self.repeats)

    def _sent(self, answer: int, request: SentRequest, digests: list[bytes], repeats: list[int]) -> SentRequest:
        self._reserve(answer, Role.ASSISTANT)
        self.answer, self.sent, self.repeats = answer, digests, repeats
        return request

    def _reserve(self, number: int, role: Role) -> None:
        self.roles += [Role.ASSISTANT] * (number - len(self.roles))
        self.roles[number - 1] = role

    def _kept(self, digests: Sequence[bytes]) -> int:
        pairs = enumerate(zip(self.sent, digests, strict=False))
        return next((index for index, (old, new) in pairs if old != new), min(len(self.sent), len(digests)))

    def _message(
        self, turn: Turn, digest: bytes, index: int, new: Mapping[int, int], repeats: Sequence[int]
    ) -> tuple[int | SentMessage | SentBefore, int]:
        """A message's reference or new version, and the turn that it repeats."""
        if index in new:
            return new[index], new[index]
        last = next((number for number in reversed(repeats) if number), 0)
        if equal := self.equal.get(digest):
            number = next((number for number in equal if number > last), equal[-1])
            return number, number
        if digest in self.versions:
            return self.versions[digest]
        number = self._base(turn, index, last)
        return _new_version(turn, number), number

    def _base(self, turn: Turn, index: int, last: int) -> int:
        """The turn that a message is another version of; 0 if none is known."""
        if turn.result is not None and turn.result.call_id:
            return self.results.get(turn.result.call_id, 0)
        if named := [self.calls[call.id] for call in turn.calls if call.id in self.calls]:
            return named[0]
        if number := self.alike.get(message_digest(turn)):
            return number
        if index < len(self.repeats) and (number := self.repeats[index]) and self.roles[number - 1] is turn.role:
            return number
        follows = last < len(self.roles) and self.roles[last] is turn.role
        return last + 1 if follows else 0


def _new_version(turn: Turn, number: int) -> SentMessage:
    text_parts = (part for part in turn.parts if part.text and not part.name.startswith(WIRE_PREFIX))
    parts = tuple(SentPart(part.name, part.text) for part in text_parts)
    return SentMessage(turn.role, parts, number or None, turn.source_role, turn.calls, turn.result)


class CachedTrace(Struct, eq=False):
    """What must be known of one trace to place the next request.

    `request` is the chain of the last request, which has `size` messages and continues `begins`; `answers` are the
    chains that end with an answer to it, `text_answers` the answers that its one text may continue, `complete`
    says whether an answer came whole, `unreadable` whether a call in the last one is no JSON. `is_one_text`: the last
    request has all that came before in the text of its only message. `continues` is the response that the last request
    named as its history, `request_keys` are the idempotency keys of its attempts, `retry_count` what the client counted
    at the last one, None if it does not count, `model` and `body` the model and a digest of the last one. `observed`:
    at least one answer before it was recorded when it came, and not only sent back by a client. `known` are the digests
    of all its messages. `turns` counts the turns of the trace, including answers that are still arriving. Siblings
    share a `group`, the key of the first of them; `has_siblings`: there are any. `history` finds what each request
    repeats of earlier turns and requests.
    """

    key: str
    own_id: ExternalId
    scope: str
    client: str
    system_words: bytes
    system: bytes = b""
    span_trace: str = ""
    begins: bytes = b""
    request: bytes = b""
    request_id: str = ""
    continues: str = ""
    request_keys: set[str] = field(default_factory=set)
    model: str = ""
    body: bytes = b""
    observed: bool = False
    group: str = ""
    has_siblings: bool = False
    size: int = 0
    attempts: int = 0
    retry_count: int | None = None
    answers: set[bytes] = field(default_factory=set)
    text_answers: set["PromptEnd"] = field(default_factory=set)
    last_answer: bytes = b""
    complete: bool = False
    unreadable: bool = False
    is_one_text: bool = False
    in_flight: int = 0
    last_s: float | None = None
    turns: int = 0
    known: set[bytes] = field(default_factory=set)
    ends: list[bytes] = field(default_factory=list)
    windows: list[bytes] = field(default_factory=list)
    chains: list[bytes] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    history: SentHistory = field(default_factory=SentHistory)

    @property
    def has_failed(self) -> bool:
        """Whether the last attempt ended without a whole answer."""
        return not (self.in_flight or self.complete)


class TracePosition(NamedTuple):
    """A position in a trace; `observed` as in `CachedTrace`."""

    trace: CachedTrace
    observed: bool


class PromptEnd(NamedTuple):
    """Where a prompt had room for its answer, and that answer: its length in code points, and its digest.

    `shortest` is the length of the prompt with the answer in it.
    """

    gap: Gap
    length: int
    answer: bytes
    trace: CachedTrace
    shortest: int


class SessionCache:
    """All traces, found by what a request contains: its scope and chain, its last messages, a response's id.

    A point of a conversation leads to one trace, the newest there. The end of a conversation leads to all traces that
    end there: siblings may end at the same chain, and the request that continues one of them must find it.
    At most `max_traces` are kept; the one that was idle for longest is forgotten first, but never one that waits for an
    answer. Memory is linear in the messages of the traces.
    """

    def __init__(self, max_traces: int) -> None:
        self._max_traces = max_traces
        self._by_key: OrderedDict[str, CachedTrace] = OrderedDict()
        self._points: dict[tuple[str, bytes], TracePosition] = {}
        self._ends: dict[tuple[str, bytes], dict[str, CachedTrace]] = {}
        self._windows: dict[tuple[str, bytes], dict[str, CachedTrace]] = {}
        self._answers: dict[tuple[str, bytes], CachedTrace] = {}
        self._responses: dict[str, tuple[CachedTrace, bytes]] = {}
        self._scopes: dict[str, dict[str, CachedTrace]] = {}
        self._requests: dict[tuple[str, bytes], CachedTrace] = {}
        self._text_ends: dict[str, dict[PromptEnd, None]] = {}
        self._forgotten: list[str] = []
        self._overtaken: deque[tuple[str, bytes, int]] = deque(maxlen=_MAX_OVERTAKEN)

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def size(self) -> int:
        """How many digests are held in total."""
        held = len(self._points) + len(self._ends) + len(self._windows) + len(self._answers) + len(self._responses)
        held += len(self._requests)
        return (
            held
            + sum(map(len, self._text_ends.values()))
            + sum(len(trace.known) + trace.history.size for trace in self._by_key.values())
        )

    def add(self, trace: CachedTrace) -> None:
        """Add a new trace; if there are too many, forget another one."""
        self._by_key[trace.key] = trace
        self._scopes.setdefault(trace.scope, {})[trace.key] = trace
        if len(self._by_key) > self._max_traces:
            idle = next(
                (cached for cached in self._by_key.values() if not cached.in_flight and cached is not trace), None
            )
            if idle is not None:
                self.forget(idle)

    def overtake(self, scope: str, body: bytes, count: int) -> None:
        """Note that an attempt of this count failed and that one which counts no higher was taken for its repetition.

        Then a program above the client repeats the request, or another agent says the same.
        """
        self._overtaken.append((scope, body, count))

    def resume_overtaken(self, scope: str, body: bytes, count: int) -> bool:
        """Whether an attempt of this count was overtaken and not yet repeated; the caller repeats it now."""
        if (scope, body, count) not in self._overtaken:
            return False
        self._overtaken.remove((scope, body, count))
        return True

    def touch(self, trace: CachedTrace, at_s: float | None) -> None:
        """Note that something happened to the trace at this time."""
        if trace.key in self._by_key:
            self._by_key.move_to_end(trace.key)
        trace.last_s = trace.last_s if at_s is None else max(at_s, trace.last_s or at_s)

    def forget(self, trace: CachedTrace) -> None:
        """Forget everything about a trace, except that it ended."""
        del self._by_key[trace.key]
        in_scope = self._scopes[trace.scope]
        del in_scope[trace.key]
        if not in_scope:
            del self._scopes[trace.scope]
        ends = self._text_ends.pop(trace.scope, {})
        if left := {end: None for end in ends if end.trace is not trace}:
            self._text_ends[trace.scope] = left
        self.leave_end(trace)
        for chain in trace.chains:
            self._unmark(trace, chain)
        for response_id in trace.responses:
            held = self._responses.get(response_id)
            if held is not None and held[0] is trace:
                del self._responses[response_id]
        self._forgotten.append(trace.key)

    def forget_idle(self, before_s: float) -> list[str]:
        """Forget traces that were idle since then; returns the keys of all that were forgotten since the last call."""
        for trace in tuple(self._by_key.values()):
            if not trace.in_flight and trace.last_s is not None and trace.last_s < before_s:
                self.forget(trace)
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def mark(self, trace: CachedTrace, chain: bytes, *, observed: bool, newest: bool = True) -> None:
        """Requests that continue `chain` continue this trace; unless it is `newest`, an older trace keeps its place."""
        key = (trace.scope, chain)
        if newest or key not in self._points:
            self._points[key] = TracePosition(trace, observed)
            trace.chains.append(chain)

    def mark_end(self, trace: CachedTrace, chain: bytes) -> None:
        """The trace ends with `chain` until `leave_end`: with its last request, or with an answer to that."""
        _insert(self._ends, (trace.scope, chain), trace)
        trace.ends.append(chain)
        if chain == trace.request and trace.size > 1:
            self._requests[trace.client, chain] = trace

    def mark_answer(self, trace: CachedTrace, chain: bytes, response_id: str) -> None:
        """An answer was recorded; `chain` is its conversation."""
        self.mark(trace, chain, observed=True)
        self._answers[trace.client, chain] = trace
        self.mark_response(trace, chain, response_id)

    def mark_response(self, trace: CachedTrace, chain: bytes, response_id: str) -> None:
        """A request may name a response with this id, if it has one, as its history."""
        if response_id:
            self._responses[response_id] = (trace, chain)
            trace.responses.append(response_id)

    def mark_window(self, trace: CachedTrace, before: bytes, answer: bytes) -> None:
        """The conversation's last two messages are these, until `leave_end`."""
        window = pair_digest(before, answer)
        trace.windows.append(window)
        _insert(self._windows, (trace.scope, window), trace)

    def leave_end(self, trace: CachedTrace) -> None:
        """The conversation continued."""
        for chain in trace.ends:
            _remove(self._ends, (trace.scope, chain), trace)
            if self._requests.get((trace.client, chain)) is trace:
                del self._requests[trace.client, chain]
        for window in trace.windows:
            _remove(self._windows, (trace.scope, window), trace)
        trace.ends.clear()
        trace.windows.clear()

    def mark_text(self, end: PromptEnd) -> None:
        """A prompt has got an answer, which may be added to it; the latest 512 of a scope are remembered."""
        ends = self._text_ends.setdefault(end.trace.scope, {})
        ends[end] = None
        if len(ends) > _MAX_TEXT_ENDS:
            del ends[next(iter(ends))]

    def longest(self, scope: str, chain: tuple[bytes, ...]) -> tuple[int, TracePosition] | None:
        """The longest beginning of a conversation that a trace of this scope has: its length and its position."""
        for index in range(len(chain) - 1, -1, -1):
            if chain[index] and (point := self._point(scope, chain[index])) is not None:
                return index, point
        return None

    def ends(self, scope: str, chain: bytes) -> tuple[CachedTrace, ...]:
        """The traces that end with `chain`, the most recent one last."""
        return tuple(self._ends.get((scope, chain), {}).values())

    def windows(self, scope: str, before: bytes, answer: bytes) -> tuple[CachedTrace, ...]:
        """The traces that end with these two messages, the most recent one last."""
        return tuple(self._windows.get((scope, pair_digest(before, answer)), {}).values())

    def answered(self, client: str, chain: tuple[bytes, ...]) -> CachedTrace | None:
        """The trace of this client, in any scope, that recorded the longest beginning of a conversation."""
        traces = (self._answers.get((client, digest)) for digest in reversed(chain))
        return next((trace for trace in traces if trace is not None), None)

    def asked(self, client: str, chain: bytes) -> CachedTrace | None:
        """The trace of this client, in any scope, whose last request had these messages, more than one."""
        return self._requests.get((client, chain))

    def response(self, response_id: str) -> tuple[CachedTrace, bytes] | None:
        """The trace that contains a response, and the chain that ends with it."""
        return self._responses.get(response_id)

    def in_scope(self, scope: str) -> tuple[CachedTrace, ...]:
        """The traces of a scope, in the order in which they began."""
        return tuple(self._scopes.get(scope, {}).values())

    def text_ends(self, scope: str, length: int) -> list[PromptEnd]:
        """The ends of the prompts that one of this length may continue, by the start of the answer."""
        ends = [end for end in self._text_ends.get(scope, ()) if end.shortest < length]
        return sorted(ends, key=lambda end: end.gap.start)

    def _point(self, scope: str, chain: bytes) -> TracePosition | None:
        """The newest trace there; if that was forgotten, another one that ends there."""
        if (point := self._points.get((scope, chain))) is not None:
            return point
        ending = self._ends.get((scope, chain))
        trace = next(reversed(ending.values())) if ending else None
        return None if trace is None else TracePosition(trace, trace.observed or chain in trace.answers)

    def _unmark(self, trace: CachedTrace, chain: bytes) -> None:
        point = self._points.get((trace.scope, chain))
        if point is not None and point.trace is trace:
            del self._points[trace.scope, chain]
        if self._answers.get((trace.client, chain)) is trace:
            del self._answers[trace.client, chain]


def _insert(where: dict[tuple[str, bytes], dict[str, CachedTrace]], key: tuple[str, bytes], trace: CachedTrace) -> None:
    traces = where.setdefault(key, {})
    traces.pop(trace.key, None)  # a trace that comes again moves to the end
    traces[trace.key] = trace


def _remove(where: dict[tuple[str, bytes], dict[str, CachedTrace]], key: tuple[str, bytes], trace: CachedTrace) -> None:
    traces = where.get(key)
    if traces is not None and traces.pop(trace.key, None) is not None and not traces:
        del where[key]


def pair_digest(before: bytes, answer: bytes) -> bytes:
    """Two messages as one digest."""
    return blake2b(before + b"|" + answer, digest_size=16).digest()
