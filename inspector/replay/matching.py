"""Matches live requests with recorded exchanges, each used once; finds where two runs of a command diverge, and why.

An imported session has no requests and no bytes. Its answers are rebuilt, and a request matches if its messages, read
as turns, have the same roles, texts, calls and results as the turns before the answer. The system prompt does not
count, since many logs leave it out.

Exchanges wait in queues by the digest of their canonical content, one set of queues for each level of comparison. The
order in which requests come does not matter unless their contents are equal, like those of retries. A request that
matched nothing is compared with the most similar exchange.

The requests of one run are matched with those of the other by their content: without `user`, `metadata` and idempotency
keys, and with ids of calls by their position. So requests that overlap may come in any order. Of the second run's
requests, in the order in which they began, the first of these is where the runs diverge:

* a request whose counterpart got another answer: the source is the model or its server (ANSWER);
* a request without a counterpart: its first difference from the most similar request determines the source. This is a
  definition of a tool (TOOLS), a result of a tool (TOOL_RESULT), equal elements in another order (ORDER), a text that
  differs only in dates and times (CLOCK) or in random ids (ID), or anything else in the prompt (PROMPT);
* a request that the second run never made (END).
"""

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice

from msgspec import Struct, structs

from weaklink.inspector.apis.providers import parse_request, read_request
from weaklink.inspector.json_text import json_or_text, list_of, object_of, word_of
from weaklink.inspector.model import Json, Role, Trace, Turn
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.replay.canonical import (
    BodyDifference,
    MatchLevel,
    body_value,
    canonical,
    differences,
    digest,
    endpoint,
    messages_of,
    without_times,
)

CONVERSATION = "conversation"
"""The method of an exchange that is rebuilt from turns: its request is a conversation, see `conversation_of`."""
_MAX_DIFFERENCES = 50
_LEVELS = (MatchLevel.EXACT, MatchLevel.CANONICAL)
_EPOCH = re.compile(r"\b1[5-9]\d{8}(?:\d{3}(?:\d{3}){0,2})?(?:\.\d+)?\b")
_RANDOM_ID = re.compile(
    r"""
      \b [0-9a-f]{8} - (?:[0-9a-f]{4}-){3} [0-9a-f]{12} \b      # a UUID
    | \b (?=[A-Za-z]*\d) [0-9A-Za-z]{8,} \b                     # eight letters and digits
    | \b [a-z]+ [_-] (?=[A-Za-z]*\d) [0-9A-Za-z]{4,} \b         # call_a1b2
    | \b \d{6,} \b
    | \b [0-9a-f]{8,} \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What differs from run to run: a UUID, letters with a digit, `call_a1b2`, six digits, eight hexadecimal ones."""
_RESULT_TYPES = frozenset({"tool_result", "function_call_output"})


class Recording(Struct, frozen=True):
    """Exchanges, and for each the turn from which its answer is rebuilt, None if its bytes are kept."""

    exchanges: tuple[RecordedExchange, ...]
    turns: tuple[Turn | None, ...]

    @property
    def rebuilt(self) -> int:
        """How many answers are rebuilt."""
        return sum(turn is not None for turn in self.turns)

    @property
    def redacted(self) -> int:
        """How many answers contained secrets."""
        return sum(exchange.is_redacted for exchange in self.exchanges)


def recording_of(traces: Iterable[tuple[Trace, Sequence[RecordedExchange]]]) -> Recording:
    """The recording of traces and their exchanges, in the order in which the exchanges began."""
    pairs = [pair for trace, some in traces for pair in (_recorded(trace, some) if some else _imported(trace))]
    pairs.sort(key=lambda pair: pair[0].began_s or 0.0)
    return Recording(tuple(exchange for exchange, _ in pairs), tuple(turn for _, turn in pairs))


def _recorded(trace: Trace, exchanges: Sequence[RecordedExchange]) -> Iterator[tuple[RecordedExchange, Turn | None]]:
    for exchange in exchanges:
        is_there = exchange.answer is None and 0 < exchange.turn <= len(trace.turns)
        yield exchange, trace.turns[exchange.turn - 1] if is_there else None


def _imported(trace: Trace) -> Iterator[tuple[RecordedExchange, Turn | None]]:
    began_s = trace.started.at_s if trace.started is not None else None
    for index, turn in enumerate(trace.turns):
        if turn.role is Role.ASSISTANT:
            request = json.dumps(conversation_of(trace.turns[:index])).encode()
            yield RecordedExchange(CONVERSATION, "", began_s, 200, request=request, answer=None, turn=index + 1), turn


def conversation_of(turns: Iterable[Turn]) -> Json:
    """Turns as JSON: `{"messages": [{"role", "content", "calls"}, ...]}`, without system prompts and reasoning."""
    return {"messages": [_message(turn) for turn in turns if turn.role is not Role.SYSTEM]}


def live_conversation(path: str, body: bytes) -> Json:
    """The conversation of a request; None if it is no request to a model."""
    request = read_request(path, parse_request(body))
    return None if request is None else conversation_of(request.turns)


def _message(turn: Turn) -> Json:
    texts = {part.name: part.text for part in turn.parts}
    message: dict[str, Json] = {"role": turn.role.value, "content": texts.get("text", "").strip()}
    calls: list[Json] = [
        {"name": header.name, "arguments": json_or_text(texts.get(header.part, ""))} for header in turn.calls
    ]
    if calls:
        message["calls"] = calls
    return message


class DivergenceKind(StrEnum):
    """How a live run differs from its recording."""

    CHANGED = "changed"
    EXTRA = "extra"
    NEVER_MADE = "never_made"


class ReplayDivergence(Struct, frozen=True):
    """A live request that matched nothing, or a recorded one that was never made.

    `number` counts the live requests from 1 (for a request never made: the recorded ones). `exchange` is the number of
    the most similar recorded exchange, 0 if there is none. `differences` are at most 50. `live` is the body of the live
    request, without secrets.
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

    `turn` is what its answer is rebuilt from, None if its bytes are kept.
    """

    exchange: RecordedExchange
    number: int
    ignored: tuple[BodyDifference, ...] = ()
    turn: Turn | None = None


class Replayer:
    """Finds the exchange for each request. Not thread-safe: for one event loop.

    With `is_strict`, bodies must be equal as JSON values. `requests` counts the live requests, `ignored` lists the
    differences that did not matter, with the number of their request. `mask` redacts recorded bodies in the same way as
    live ones, since a recording may contain secrets. `levels` are those at which requests are compared.
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
        self._bodies: list[Json] = [body_value(mask(exchange.request or b"")) for exchange in self.exchanges]
        self._waiting: dict[tuple[MatchLevel, str, str, bytes], deque[int]] = defaultdict(deque)
        self._unused = set(range(len(self.exchanges)))
        self._has_conversations = any(exchange.method == CONVERSATION for exchange in self.exchanges)
        self.requests = 0
        self.ignored: list[tuple[int, BodyDifference]] = []
        for number, exchange in enumerate(self.exchanges):
            for level in self._levels:
                self._waiting[self._key(level, exchange.method, exchange.path, self._bodies[number])].append(number)

    @property
    def used(self) -> int:
        """How many exchanges were used."""
        return len(self.exchanges) - len(self._unused)

    def find(self, method: str, path: str, body: bytes) -> Match | ReplayDivergence:
        """The exchange for a request, which then counts as used; or how the request differs from the unused ones."""
        self.requests += 1
        value = body_value(body)
        for level in self._levels:
            waiting = self._waiting[self._key(level, method, path, value)]
            while waiting:
                number = waiting.popleft()
                if number in self._unused:
                    return self._use(number, value)
        if self._has_conversations:
            conversation = live_conversation(path, body)
            waiting = self._waiting[self._key(MatchLevel.EXACT, CONVERSATION, "", conversation)]
            if waiting:
                return self._use(waiting.popleft(), conversation)
            method, path, value = (method, path, value) if conversation is None else (CONVERSATION, "", conversation)
        return structs.replace(self._diverged(method, path, value), live=body)

    def nearest(self, divergence: ReplayDivergence) -> Match | None:
        """The unused exchange that a divergence names, which then counts as used; None if it names none."""
        number = divergence.exchange - 1
        if number not in self._unused:
            return None
        self._unused.remove(number)
        return Match(self.exchanges[number], divergence.exchange, divergence.differences, self._turns[number])

    def put_back(self, match: Match) -> None:
        """Make a match available again, as the first of its kind."""
        number = match.number - 1
        exchange = self.exchanges[number]
        self._unused.add(number)
        for level in self._levels:
            self._waiting[self._key(level, exchange.method, exchange.path, self._bodies[number])].appendleft(number)

    def never_made(self) -> tuple[ReplayDivergence, ...]:
        """The recorded requests that were not made."""
        unused = ((number, self.exchanges[number]) for number in sorted(self._unused))
        return tuple(
            ReplayDivergence(
                DivergenceKind.NEVER_MADE, number + 1, exchange.method, exchange.path, number + 1, exchange.turn
            )
            for number, exchange in unused
        )

    def _use(self, number: int, value: Json) -> Match:
        self._unused.remove(number)
        ignored = tuple(islice(differences(self._bodies[number], value), _MAX_DIFFERENCES))
        self.ignored += [(self.requests, difference) for difference in ignored]
        return Match(self.exchanges[number], number + 1, ignored, self._turns[number])

    def _diverged(self, method: str, path: str, value: Json) -> ReplayDivergence:
        level = min(self._levels[-1], MatchLevel.CANONICAL)
        live = canonical(value, level)
        number = self._most_alike(method, path, live, level)
        if number is None:
            return ReplayDivergence(DivergenceKind.EXTRA, self.requests, method, path)
        changed = tuple(islice(differences(canonical(self._bodies[number], level), live), _MAX_DIFFERENCES))
        exchange = self.exchanges[number]
        return ReplayDivergence(DivergenceKind.CHANGED, self.requests, method, path, number + 1, exchange.turn, changed)

    def _most_alike(self, method: str, path: str, live: Json, level: MatchLevel) -> int | None:
        """The unused exchange with the most equal messages at its beginning; of several, the one that differs least.

        That is the first of those with the fewest differences elsewhere, such as the model: a recording may have many
        runs with the same words.
        """
        best: list[int] = []
        most = 0
        for number in sorted(self._unused):
            exchange = self.exchanges[number]
            if exchange.method != method or endpoint(exchange.path) != endpoint(path):
                continue
            shared = _equal_start(messages_of(canonical(self._bodies[number], level)), messages_of(live))
            if shared > most:
                best.clear()
            if shared >= most:
                best.append(number)
            most = max(shared, most)
        if len(best) < 2:
            return next(iter(best), None)
        return min(best, key=lambda number: _count_differences(canonical(self._bodies[number], level), live))

    def _key(self, level: MatchLevel, method: str, path: str, body: Json) -> tuple[MatchLevel, str, str, bytes]:
        return level, method, endpoint(path), digest(canonical(body, level))


def _count_differences(recorded: Json, live: Json) -> int:
    return sum(1 for _ in islice(differences(recorded, live), _MAX_DIFFERENCES))


def _equal_start(first: list[Json], other: list[Json]) -> int:
    pairs = enumerate(zip(first, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(first), len(other)))


class DifferenceSource(StrEnum):
    """Why two runs diverge."""

    ANSWER = "answer"
    TOOL_RESULT = "tool-result"
    CLOCK = "clock"
    ID = "id"
    ORDER = "order"
    TOOLS = "tools"
    PROMPT = "prompt"
    END = "end"


class RunExchange(Struct, frozen=True):
    """One exchange of a run: its trace's id, and the turn of its answer, None if it was no request to a model."""

    trace: int
    exchange: RecordedExchange
    turn: Turn | None = None


class RunDivergence(Struct, frozen=True):
    """Where two runs first diverge.

    `request` counts the second run's requests from 1, in the order in which they began (END: the first run's).
    `first` and `second` are the exchanges, None if a run has none. `differences` are at most 50: of the requests'
    bodies, or for ANSWER of the answers' parts by name; the runs diverge at the first of them.
    """

    source: DifferenceSource
    request: int
    first: RunExchange | None
    second: RunExchange | None
    differences: tuple[BodyDifference, ...] = ()


def parting(first: Sequence[RunExchange], second: Sequence[RunExchange]) -> RunDivergence | None:
    """Where two runs diverge, None if they are equal; both in the order in which their requests began."""
    recording = Recording(tuple(exchange.exchange for exchange in first), (None,) * len(first))
    replayer = Replayer(recording, levels=_LEVELS)
    for number, run_exchange in enumerate(second, 1):
        exchange = run_exchange.exchange
        match = replayer.find(exchange.method, exchange.path, exchange.request or b"")
        if isinstance(match, ReplayDivergence):
            other = first[match.exchange - 1] if match.exchange else None
            return _request_parting(number, other, run_exchange)
        other = first[match.number - 1]
        changed = tuple(islice(differences(_answer(other), _answer(run_exchange)), _MAX_DIFFERENCES))
        if changed:
            return RunDivergence(DifferenceSource.ANSWER, number, other, run_exchange, changed)
    missing = next(iter(replayer.never_made()), None)
    if missing is None:
        return None
    return RunDivergence(DifferenceSource.END, missing.number, first[missing.number - 1], None)


def _answer(run_exchange: RunExchange) -> Json:
    """What an answer contains: status, texts, and calls without their ids."""
    exchange = run_exchange.exchange
    facts: dict[str, Json] = {"status": exchange.status}
    if run_exchange.turn is None:
        return {**facts, "body": body_value(exchange.answer or b"")}
    names: dict[str, Json] = {f"{call.part} name": call.name for call in run_exchange.turn.calls}
    parts = {part.name: part.text for part in run_exchange.turn.parts if not part.name.startswith("wire:")}
    return {**facts, **names, **parts}


def _request_parting(number: int, first: RunExchange | None, second: RunExchange) -> RunDivergence:
    if first is None:
        return RunDivergence(DifferenceSource.PROMPT, number, None, second)
    old, new = (
        canonical(body_value(exchange.exchange.request or b""), MatchLevel.CANONICAL) for exchange in (first, second)
    )
    changed = tuple(islice(differences(old, new), _MAX_DIFFERENCES))
    source = _source(old, new, changed[0]) if changed else DifferenceSource.PROMPT
    return RunDivergence(source, number, first, second, changed)


def _source(old: Json, new: Json, difference: BodyDifference) -> DifferenceSource:
    path = [step.replace("~1", "/").replace("~0", "~") for step in difference.pointer.split("/")[1:]]
    if path[:1] in (["tools"], ["functions"]):
        return DifferenceSource.TOOLS
    pairs = list(_along(old, new, path))
    if any(_is_reordered(first, other) for first, other in pairs):
        return DifferenceSource.ORDER
    if any(_is_result(first) and _is_result(other) for first, other in pairs):
        return DifferenceSource.TOOL_RESULT
    first, other = pairs[-1] if pairs else (None, None)
    return _text_source(first, other)


def _text_source(first: Json, other: Json) -> DifferenceSource:
    if without_clock(first) == without_clock(other):
        return DifferenceSource.CLOCK
    if _without_ids(first) == _without_ids(other):
        return DifferenceSource.ID
    if isinstance(first, str) and isinstance(other, str):
        if Counter(first.split()) == Counter(other.split()):
            return DifferenceSource.ORDER
        if _without_ids(without_clock(first)) == _without_ids(without_clock(other)):
            return _first_of_both(first, other)
    return DifferenceSource.PROMPT


def _first_of_both(first: str, other: str) -> DifferenceSource:
    """Whether a time or an id comes first, where two texts differ in both."""
    clock = list(differences(_without_ids(first), _without_ids(other)))
    ids = list(differences(without_clock(first), without_clock(other)))
    starts = [changes[0].live_range.start if changes and changes[0].live_range else 0 for changes in (clock, ids)]
    return DifferenceSource.CLOCK if starts[0] <= starts[1] else DifferenceSource.ID


def _along(old: Json, new: Json, path: Sequence[str]) -> Iterator[tuple[Json, Json]]:
    """The values of both bodies at each step of a path, as far as both have it."""
    for step in path:
        if isinstance(old, dict) and isinstance(new, dict) and step in old and step in new:
            old, new = old[step], new[step]
        elif isinstance(old, list) and isinstance(new, list) and int(step) < min(len(old), len(new)):
            old, new = old[int(step)], new[int(step)]
        else:
            return
        yield old, new


def _is_reordered(first: Json, other: Json) -> bool:
    if not isinstance(first, list) or not isinstance(other, list) or len(first) != len(other) or first == other:
        return False
    return Counter(map(digest, first)) == Counter(map(digest, other))


def _is_result(value: Json) -> bool:
    """Whether a message or a block is a tool's result, or a Gemini message that holds one."""
    members = object_of(value)
    if word_of(members.get("role")) in {"tool", "function"} or word_of(members.get("type")) in _RESULT_TYPES:
        return True
    return any("functionResponse" in object_of(part) for part in list_of(members.get("parts")))


def without_clock(value: Json) -> Json:
    """A value whose texts have a placeholder for each date, time and timestamp."""
    timeless = without_times(value)
    return _EPOCH.sub("<date-time>", timeless) if isinstance(timeless, str) else _number(timeless)


def _number(value: Json) -> Json:
    is_epoch = isinstance(value, int | float) and _EPOCH.fullmatch(str(value)) is not None
    return "<date-time>" if is_epoch else value


def _without_ids(value: Json) -> Json:
    return _RANDOM_ID.sub("<id>", value) if isinstance(value, str) else value
