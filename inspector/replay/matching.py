"""Answers live requests with recorded exchanges: each exchange is used once, by content and then in recorded order.

An imported session holds no requests and no bytes. Its answers are rebuilt, and a request matches where its messages,
read as turns, say what the turns before the answer say: roles, texts, calls and results, without the system prompt,
which many logs leave out.

Exchanges wait in queues by the digest of their canonical content, one set of queues for each level of comparison. The
order in which requests come does not matter unless their contents are equal, as those of retries are. What matched
nothing is compared with the exchange that is most like it.
"""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from inspector.apis.providers import parse_request, read_request
from inspector.model import Json, Role, Trace, Turn
from inspector.model.exchange import RecordedExchange
from inspector.replay.canonical import (
    BodyDifference,
    MatchLevel,
    body_value,
    canonical,
    differences,
    digest,
    endpoint,
    messages_of,
)

CONVERSATION = "conversation"
"""The method of an exchange that was made from turns: its request is a conversation, see `conversation_of`."""
_MOST = 50


class Recording(Struct, frozen=True):
    """Exchanges, and for each the turn from which its answer is rebuilt, None where the bytes are kept."""

    exchanges: tuple[RecordedExchange, ...]
    turns: tuple[Turn | None, ...]

    @property
    def rebuilt(self) -> int:
        """How many answers are rebuilt."""
        return sum(turn is not None for turn in self.turns)

    @property
    def redacted(self) -> int:
        """How many answers held secrets."""
        return sum(one.is_redacted for one in self.exchanges)


def recording_of(traces: Iterable[tuple[Trace, Sequence[RecordedExchange]]]) -> Recording:
    """The recording of traces with their exchanges, in the order in which they began."""
    found = [pair for trace, some in traces for pair in (_recorded(trace, some) if some else _imported(trace))]
    found.sort(key=lambda pair: pair[0].began_s or 0.0)
    return Recording(tuple(one for one, _ in found), tuple(turn for _, turn in found))


def _recorded(trace: Trace, exchanges: Sequence[RecordedExchange]) -> Iterator[tuple[RecordedExchange, Turn | None]]:
    for one in exchanges:
        is_there = one.answer is None and 0 < one.turn <= len(trace.turns)
        yield one, trace.turns[one.turn - 1] if is_there else None


def _imported(trace: Trace) -> Iterator[tuple[RecordedExchange, Turn | None]]:
    began_s = trace.started.at_s if trace.started is not None else None
    for at, turn in enumerate(trace.turns):
        if turn.role is Role.ASSISTANT:
            request = json.dumps(conversation_of(trace.turns[:at])).encode()
            yield RecordedExchange(CONVERSATION, "", began_s, 200, request=request, answer=None, turn=at + 1), turn


def conversation_of(turns: Iterable[Turn]) -> Json:
    """Turns as JSON: `{"messages": [{"role", "content", "calls"}, ...]}`, without system prompts and reasoning."""
    return {"messages": [_message(turn) for turn in turns if turn.role is not Role.SYSTEM]}


def live_conversation(path: str, body: bytes) -> Json:
    """The same of a request; None for one that asks no model."""
    request = read_request(path, parse_request(body))
    return None if request is None else conversation_of(request.turns)


def _message(turn: Turn) -> Json:
    texts = {part.name: part.text for part in turn.parts}
    message: dict[str, Json] = {"role": turn.role.value, "content": texts.get("text", "").strip()}
    calls: list[Json] = [
        {"name": header.name, "arguments": _arguments(texts.get(header.part, ""))} for header in turn.calls
    ]
    if calls:
        message["calls"] = calls
    return message


def _arguments(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


class DivergenceKind(StrEnum):
    """How a live run differs from its recording."""

    CHANGED = "changed"
    EXTRA = "extra"
    NEVER_MADE = "never_made"


class ReplayDivergence(Struct, frozen=True):
    """A live request that matched nothing, or a recorded one that was never made.

    `number` counts the live requests from 1 (of a request never made: the recorded ones). `exchange` is the number of
    the recorded exchange that is most like it, 0 where there is none. `differences` are at most 50. `live` is the body
    of the live request, without secrets.
    """

    kind: DivergenceKind
    number: int
    method: str
    path: str
    exchange: int = 0
    turn: int = 0
    differences: tuple[BodyDifference, ...] = ()
    live: bytes = b""


class Match(Struct, frozen=True):
    """The recorded exchange for a live request; its number from 1, and the differences that were ignored.

    `turn` is what its answer is rebuilt from, None where its bytes are kept.
    """

    exchange: RecordedExchange
    number: int
    ignored: tuple[BodyDifference, ...] = ()
    turn: Turn | None = None


class Replayer:
    """Finds the exchange for each request. Not thread-safe: for one event loop.

    With `is_strict`, bodies must be equal as JSON values. `requests` counts the live requests, `ignored` lists the
    differences that did not matter, by the number of their request. `mask` redacts recorded bodies as the live ones
    are: a recording may hold secrets. `levels` are those at which requests are compared.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        is_strict: bool = False,
        mask: Callable[[bytes], bytes] = lambda body: body,
        levels: tuple[MatchLevel, ...] = tuple(MatchLevel),
    ) -> None:
        self.exchanges = recording.exchanges
        self._turns = recording.turns
        self._levels = (MatchLevel.EXACT,) if is_strict else levels
        self._bodies: list[Json] = [body_value(mask(one.request or b"")) for one in self.exchanges]
        self._waiting: dict[tuple[MatchLevel, str, str, bytes], deque[int]] = defaultdict(deque)
        self._unused = set(range(len(self.exchanges)))
        self._has_conversations = any(one.method == CONVERSATION for one in self.exchanges)
        self.requests = 0
        self.ignored: list[tuple[int, BodyDifference]] = []
        for number, one in enumerate(self.exchanges):
            for level in self._levels:
                self._waiting[self._key(level, one.method, one.path, self._bodies[number])].append(number)

    @property
    def used(self) -> int:
        """How many exchanges were used."""
        return len(self.exchanges) - len(self._unused)

    def find(self, method: str, path: str, body: bytes) -> Match | ReplayDivergence:
        """The exchange for a request, which is used by that; or how it differs from those that are left."""
        self.requests += 1
        value = body_value(body)
        for level in self._levels:
            waiting = self._waiting[self._key(level, method, path, value)]
            while waiting:
                number = waiting.popleft()
                if number in self._unused:
                    return self._use(number, value)
        if self._has_conversations:
            said = live_conversation(path, body)
            waiting = self._waiting[self._key(MatchLevel.EXACT, CONVERSATION, "", said)]
            if waiting:
                return self._use(waiting.popleft(), said)
            method, path, value = (method, path, value) if said is None else (CONVERSATION, "", said)
        return replace(self._diverged(method, path, value), live=body)

    def nearest(self, divergence: ReplayDivergence) -> Match | None:
        """The unused exchange that a divergence names, which is used by that; None where it names none."""
        number = divergence.exchange - 1
        if number not in self._unused:
            return None
        self._unused.remove(number)
        return Match(self.exchanges[number], divergence.exchange, divergence.differences, self._turns[number])

    def put_back(self, match: Match) -> None:
        """Let a match answer again, as the first of its like."""
        number = match.number - 1
        one = self.exchanges[number]
        self._unused.add(number)
        for level in self._levels:
            self._waiting[self._key(level, one.method, one.path, self._bodies[number])].appendleft(number)

    def never_made(self) -> tuple[ReplayDivergence, ...]:
        """The recorded requests that were not made."""
        found = ((number, self.exchanges[number]) for number in sorted(self._unused))
        return tuple(
            ReplayDivergence(DivergenceKind.NEVER_MADE, number + 1, one.method, one.path, number + 1, one.turn)
            for number, one in found
        )

    def _use(self, number: int, value: Json) -> Match:
        self._unused.remove(number)
        ignored = tuple(islice(differences(self._bodies[number], value), _MOST))
        self.ignored += [(self.requests, one) for one in ignored]
        return Match(self.exchanges[number], number + 1, ignored, self._turns[number])

    def _diverged(self, method: str, path: str, value: Json) -> ReplayDivergence:
        level = min(self._levels[-1], MatchLevel.CANONICAL)
        live = canonical(value, level)
        number = self._most_alike(method, path, live, level)
        if number is None:
            return ReplayDivergence(DivergenceKind.EXTRA, self.requests, method, path)
        found = tuple(islice(differences(canonical(self._bodies[number], level), live), _MOST))
        one = self.exchanges[number]
        return ReplayDivergence(DivergenceKind.CHANGED, self.requests, method, path, number + 1, one.turn, found)

    def _most_alike(self, method: str, path: str, live: Json, level: MatchLevel) -> int | None:
        """The unused exchange with the most equal messages at its beginning; the first of several."""
        best, most = None, -1
        for number in sorted(self._unused):
            one = self.exchanges[number]
            if one.method != method or endpoint(one.path) != endpoint(path):
                continue
            shared = _equal_start(messages_of(canonical(self._bodies[number], level)), messages_of(live))
            if shared > most:
                best, most = number, shared
        return best

    def _key(self, level: MatchLevel, method: str, path: str, body: Json) -> tuple[MatchLevel, str, str, bytes]:
        return level, method, endpoint(path), digest(canonical(body, level))


def _equal_start(one: list[Json], other: list[Json]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
