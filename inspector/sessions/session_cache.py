"""A cache of the traces that requests may continue: digests and ids, never texts; and which parts of a request are new.

Kept of each trace are digests: of the messages of its last request, of its turns, and of versions that requests had.
What a request shares with the one before costs nothing; of the rest, a message that is equal to a turn, or to a version
of an earlier request, is a reference, and any other holds its own text (`inspector.model.SentRequest`).
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, field

from inspector.model import ExternalId, Role, SentBefore, SentMessage, SentPart, SentRequest, Turn
from inspector.sessions.fingerprints import exact_digest, message_digest
from inspector.wire.events import WIRE_PREFIX

_MAX_TEXT_ENDS = 256


class SentHistory(Struct):
    """What one trace's requests had so far.

    `answer` is the turn that answers the last request, `sent` its messages' digests, `places` the turn that each of
    them repeats (0: none). `roles` are those of the trace's turns. `equal` gives the turns with an exact digest,
    `alike` a turn by the digest that passes over reasoning and white space, `calls` and `results` one by a call's id.
    """

    answer: int = 0
    sent: list[bytes] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
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
        """A turn of the trace is known."""
        self._reserve(number, turn.role)
        self.equal.setdefault(exact or exact_digest(turn, raw=raw), []).append(number)
        self.alike[message_digest(turn, raw=raw)] = number
        for call in turn.calls:
            if call.id:
                self.calls[call.id] = number
        if turn.result is not None and turn.result.call_id:
            self.results[turn.result.call_id] = number

    def add_joined(self, number: int, turn: Turn) -> None:
        """A client may send turn `number` back as `turn`: as one message with the beginning that it wrote itself."""
        self.equal.setdefault(exact_digest(turn), []).append(number)

    def add_request(
        self, answer: int, turns: Sequence[Turn], new: Mapping[int, int], *, raw: bool = False
    ) -> SentRequest:
        """The request with these messages, whose answer will be turn `answer`.

        `new` gives the numbers of the turns that were added for it, by the index of the message.
        """
        digests = [exact_digest(turn, raw=raw) for turn in turns]
        for index, number in new.items():
            self.add_turn(number, turns[index], raw=raw, exact=digests[index])
        kept = self._kept(digests)
        own: list[int | SentMessage | SentBefore] = []
        places = self.places[:kept]
        for index in range(kept, len(turns)):
            one, place = self._message(turns[index], digests[index], index, new, places)
            if isinstance(one, SentMessage):
                self.versions.setdefault(digests[index], (SentBefore(answer, len(own)), place))
            own.append(one)
            places.append(place)
        return self._sent(answer, SentRequest(self.answer, kept, tuple(own)), digests, places)

    def add_continued(self, answer: int, turns: Sequence[Turn], new: Mapping[int, int]) -> SentRequest:
        """A request whose messages follow those of the request and the answer before, which are not sent again."""
        for index, number in new.items():
            self.add_turn(number, turns[index])
        before = [self.answer] if self.answer else []
        own = (*before, *new.values())
        digests = [*self.sent, *(b"%d" % number for number in own)]
        kept = len(self.sent)
        return self._sent(answer, SentRequest(self.answer, kept, own), digests, [*self.places, *own])

    def repeat(self, answer: int) -> SentRequest:
        """The last request once more."""
        return self._sent(answer, SentRequest(self.answer, len(self.sent)), self.sent, self.places)

    def _sent(self, answer: int, request: SentRequest, digests: list[bytes], places: list[int]) -> SentRequest:
        self._reserve(answer, Role.ASSISTANT)
        self.answer, self.sent, self.places = answer, digests, places
        return request

    def _reserve(self, number: int, role: Role) -> None:
        self.roles += [Role.ASSISTANT] * (number - len(self.roles))
        self.roles[number - 1] = role

    def _kept(self, digests: Sequence[bytes]) -> int:
        pairs = enumerate(zip(self.sent, digests, strict=False))
        return next((at for at, (old, new) in pairs if old != new), min(len(self.sent), len(digests)))

    def _message(
        self, turn: Turn, digest: bytes, index: int, new: Mapping[int, int], places: Sequence[int]
    ) -> tuple[int | SentMessage | SentBefore, int]:
        """A message's reference or own version, and the turn that it repeats."""
        if index in new:
            return new[index], new[index]
        last = next((place for place in reversed(places) if place), 0)
        if equal := self.equal.get(digest):
            number = next((one for one in equal if one > last), equal[-1])
            return number, number
        if digest in self.versions:
            return self.versions[digest]
        number = self._base(turn, index, last)
        return _own_version(turn, number), number

    def _base(self, turn: Turn, index: int, last: int) -> int:
        """The turn that a message is another version of; 0 where none is known to be."""
        if turn.result is not None and turn.result.call_id:
            return self.results.get(turn.result.call_id, 0)
        if named := [self.calls[call.id] for call in turn.calls if call.id in self.calls]:
            return named[0]
        if number := self.alike.get(message_digest(turn)):
            return number
        if index < len(self.places) and (number := self.places[index]) and self.roles[number - 1] is turn.role:
            return number
        follows = last < len(self.roles) and self.roles[last] is turn.role
        return last + 1 if follows else 0


def _own_version(turn: Turn, number: int) -> SentMessage:
    said = (part for part in turn.parts if part.text and not part.name.startswith(WIRE_PREFIX))
    parts = tuple(SentPart(part.name, part.text) for part in said)
    return SentMessage(turn.role, parts, number or None, turn.source_role, turn.calls, turn.result)


class CachedTrace(Struct, eq=False):
    """One trace, as far as the next request is concerned.

    `request` is the chain of the last request, which has `size` messages and goes on from `begins`; `answers` are the
    chains that end with an answer to it, `text_answers` the digests of raw prompt and answer as one text, `complete`
    says whether an answer came whole. `continues` is the response that the last request named as its history,
    `request_keys` are the idempotency keys of its attempts, `own` says that an answer is before it that was recorded
    as it came. `known` are the digests of all its messages. `turns` counts the turns of the trace, answers on the way
    among them. Siblings share a `group`, the key of the first of them; `has_siblings` says that there are any.
    `history` tells what each request repeats of the turns and of the requests before it.
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
    own: bool = False
    group: str = ""
    has_siblings: bool = False
    size: int = 0
    attempts: int = 0
    answers: set[bytes] = field(default_factory=set)
    text_answers: set[bytes] = field(default_factory=set)
    last_answer: bytes = b""
    complete: bool = False
    in_flight: int = 0
    last_s: float | None = None
    turns: int = 0
    known: set[bytes] = field(default_factory=set)
    ends: list[bytes] = field(default_factory=list)
    windows: list[bytes] = field(default_factory=list)
    chains: list[bytes] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    history: SentHistory = field(default_factory=SentHistory)


class TracePosition(NamedTuple):
    """A place in a trace; `own` says that an answer is before it that was recorded as it came."""

    track: CachedTrace
    own: bool


class PromptEnd(NamedTuple):
    """Where the text of a raw prompt and its answer ended: how long it was, and its digest."""

    length: int
    digest: bytes
    track: CachedTrace


class SessionCache:
    """All tracks, found by what a request says: its scope and chain, its last messages, a response's id.

    A point of a conversation names one track, the newest there. Where tracks end, all of them are known: siblings may
    end at the same chain, and each must be found by the request that goes on with it.
    At most `max_tracks` are kept, the longest idle forgotten first, but none that an answer is on its way for. Memory
    is linear in the messages of what is kept.
    """

    def __init__(self, max_tracks: int) -> None:
        self._max_tracks = max_tracks
        self._by_key: OrderedDict[str, CachedTrace] = OrderedDict()
        self._points: dict[tuple[str, bytes], TracePosition] = {}
        self._ends: dict[tuple[str, bytes], dict[str, CachedTrace]] = {}
        self._windows: dict[tuple[str, bytes], dict[str, CachedTrace]] = {}
        self._answers: dict[tuple[str, bytes], CachedTrace] = {}
        self._responses: dict[str, tuple[CachedTrace, bytes]] = {}
        self._scopes: dict[str, dict[str, CachedTrace]] = {}
        self._text_ends: dict[str, dict[tuple[bytes, str], PromptEnd]] = {}
        self._forgotten: list[str] = []

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def size(self) -> int:
        """How many digests are held, over all."""
        held = len(self._points) + len(self._ends) + len(self._windows) + len(self._answers) + len(self._responses)
        return (
            held
            + sum(map(len, self._text_ends.values()))
            + sum(len(one.known) + one.history.size for one in self._by_key.values())
        )

    def add(self, track: CachedTrace) -> None:
        """Remember a new track; forget one in its place where there are too many."""
        self._by_key[track.key] = track
        self._scopes.setdefault(track.scope, {})[track.key] = track
        if len(self._by_key) > self._max_tracks:
            idle = next((one for one in self._by_key.values() if not one.in_flight and one is not track), None)
            if idle is not None:
                self.forget(idle)

    def touch(self, track: CachedTrace, at_s: float | None) -> None:
        """Something happened to it, now."""
        if track.key in self._by_key:
            self._by_key.move_to_end(track.key)
        track.last_s = track.last_s if at_s is None else max(at_s, track.last_s or at_s)

    def forget(self, track: CachedTrace) -> None:
        """Remember nothing of it any more, but that it ended."""
        del self._by_key[track.key]
        in_scope = self._scopes[track.scope]
        del in_scope[track.key]
        if not in_scope:
            del self._scopes[track.scope]
            self._text_ends.pop(track.scope, None)
        self.leave_end(track)
        for chain in track.chains:
            self._unmark(track, chain)
        for response_id in track.responses:
            held = self._responses.get(response_id)
            if held is not None and held[0] is track:
                del self._responses[response_id]
        self._forgotten.append(track.key)

    def forget_idle(self, before_s: float) -> list[str]:
        """Forget what nothing happened to since; the keys of all that were forgotten since this was asked last."""
        for track in tuple(self._by_key.values()):
            if not track.in_flight and track.last_s is not None and track.last_s < before_s:
                self.forget(track)
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def mark(self, track: CachedTrace, chain: bytes, *, own: bool, newest: bool = True) -> None:
        """Requests that go on from `chain` go on from here; not `newest` where an older track keeps that place."""
        place = (track.scope, chain)
        if newest or place not in self._points:
            self._points[place] = TracePosition(track, own)
            track.chains.append(chain)

    def mark_end(self, track: CachedTrace, chain: bytes) -> None:
        """The trace ends with `chain` until `leave_end`: with its last request, or with an answer to that."""
        _put(self._ends, (track.scope, chain), track)
        track.ends.append(chain)

    def mark_answer(self, track: CachedTrace, chain: bytes, response_id: str) -> None:
        """An answer was recorded whose conversation is `chain`."""
        self.mark(track, chain, own=True)
        self._answers[track.client, chain] = track
        self.mark_response(track, chain, response_id)

    def mark_response(self, track: CachedTrace, chain: bytes, response_id: str) -> None:
        """A response of this id, if it has one, may be named as what a request goes on from."""
        if response_id:
            self._responses[response_id] = (track, chain)
            track.responses.append(response_id)

    def mark_window(self, track: CachedTrace, before: bytes, answer: bytes) -> None:
        """The conversation's last two messages are these, until `leave_end`."""
        window = pair_digest(before, answer)
        track.windows.append(window)
        _put(self._windows, (track.scope, window), track)

    def leave_end(self, track: CachedTrace) -> None:
        """The conversation went on."""
        for chain in track.ends:
            _take_out(self._ends, (track.scope, chain), track)
        for window in track.windows:
            _take_out(self._windows, (track.scope, window), track)
        track.ends.clear()
        track.windows.clear()

    def mark_text(self, track: CachedTrace, length: int, digest: bytes) -> None:
        """Prompt and answer, one text, ended here; the latest 256 of a scope are remembered."""
        ends = self._text_ends.setdefault(track.scope, {})
        ends[digest, track.key] = PromptEnd(length, digest, track)
        if len(ends) > _MAX_TEXT_ENDS:
            del ends[next(iter(ends))]

    def longest(self, scope: str, chain: tuple[bytes, ...]) -> tuple[int, TracePosition] | None:
        """The longest beginning of a conversation that a track of this scope has, and where it is."""
        for at in range(len(chain) - 1, -1, -1):
            if chain[at] and (point := self._point(scope, chain[at])) is not None:
                return at, point
        return None

    def ends(self, scope: str, chain: bytes) -> tuple[CachedTrace, ...]:
        """The tracks that end with `chain`, the one that came there last at the end."""
        return tuple(self._ends.get((scope, chain), {}).values())

    def windows(self, scope: str, before: bytes, answer: bytes) -> tuple[CachedTrace, ...]:
        """The tracks that end with these two messages, the one that came there last at the end."""
        return tuple(self._windows.get((scope, pair_digest(before, answer)), {}).values())

    def answered(self, client: str, chain: tuple[bytes, ...]) -> CachedTrace | None:
        """The track of this client, in whatever scope, that recorded the longest beginning of a conversation."""
        found = (self._answers.get((client, one)) for one in reversed(chain))
        return next((track for track in found if track is not None), None)

    def response(self, response_id: str) -> tuple[CachedTrace, bytes] | None:
        """The track that holds a response, and the chain that ends with it."""
        return self._responses.get(response_id)

    def in_scope(self, scope: str) -> tuple[CachedTrace, ...]:
        """The tracks of a scope, in the order of their beginning."""
        return tuple(self._scopes.get(scope, {}).values())

    def text_ends(self, scope: str) -> list[PromptEnd]:
        """Where texts ended that a raw prompt may go on from, the shortest first."""
        ends = self._text_ends.get(scope, {}).values()
        return sorted((end for end in ends if end.track.key in self._by_key), key=_length)

    def _point(self, scope: str, chain: bytes) -> TracePosition | None:
        """The newest track there; else one that ends there, beside another that is forgotten."""
        if (point := self._points.get((scope, chain))) is not None:
            return point
        ending = self._ends.get((scope, chain))
        track = next(reversed(ending.values())) if ending else None
        return None if track is None else TracePosition(track, track.own or chain in track.answers)

    def _unmark(self, track: CachedTrace, chain: bytes) -> None:
        point = self._points.get((track.scope, chain))
        if point is not None and point.track is track:
            del self._points[track.scope, chain]
        if self._answers.get((track.client, chain)) is track:
            del self._answers[track.client, chain]


def _put(where: dict[tuple[str, bytes], dict[str, CachedTrace]], place: tuple[str, bytes], track: CachedTrace) -> None:
    tracks = where.setdefault(place, {})
    tracks.pop(track.key, None)  # what comes again comes last
    tracks[track.key] = track


def _take_out(
    where: dict[tuple[str, bytes], dict[str, CachedTrace]], place: tuple[str, bytes], track: CachedTrace
) -> None:
    tracks = where.get(place)
    if tracks is not None and tracks.pop(track.key, None) is not None and not tracks:
        del where[place]


def pair_digest(before: bytes, answer: bytes) -> bytes:
    """Two messages as one digest."""
    return blake2b(before + b"|" + answer, digest_size=16).digest()


def _length(end: PromptEnd) -> int:
    return end.length
