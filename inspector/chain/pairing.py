"""Pairs results with calls, by id or else by name and order, and drops attempted calls that are echoes."""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field, structs

from weaklink.inspector.checks.attempted.attempt import is_in_sentence
from weaklink.inspector.diagnostics import AttemptedCall, Diagnostic, Location
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.model import Role, ToolCall, ToolResult, Turn, arguments_key

_MAX_SEARCHED_CHARS = 1 << 20  # characters of earlier turns that are searched for a quoted call, the latest first


class LocatedCall(Struct, frozen=True):
    """A call and its location."""

    call: ToolCall
    location: Location


class LocatedResult(Struct, frozen=True):
    """A result and its location."""

    result: ToolResult
    location: Location


class Pairing(Struct, frozen=True):
    """The calls of a trace in order, the result of each or None, and the results that answer no open call.

    `repeated_ids` are the calls whose id another call had that was still open. `attempts` are the locations of those
    calls in `pairs` that were attempted in a shape that their format does not parse.
    """

    pairs: tuple[tuple[LocatedCall, LocatedResult | None], ...]
    orphans: tuple[LocatedResult, ...]
    repeated_ids: tuple[LocatedCall, ...] = ()
    attempts: frozenset[Location] = frozenset()


def with_attempts(pairing: Pairing, attempts: Iterable[LocatedCall]) -> Pairing:
    """The pairing with calls added that were attempted in a shape that their format does not parse, in trace order.

    A result without a call answers the nearest attempt before it: a server or client did parse that shape.
    """
    placed = sorted(attempts, key=_location)
    if not placed:
        return pairing
    answers: dict[int, LocatedResult] = {}
    orphans: list[LocatedResult] = []
    for orphan in pairing.orphans:
        index = bisect_left(placed, orphan.location, key=_location) - 1
        while index >= 0 and index in answers:
            index -= 1
        if index < 0 or orphan.result.call_id is not None:
            orphans.append(orphan)
        else:
            answers[index] = orphan
    pairs = [*pairing.pairs, *((call, answers.get(index)) for index, call in enumerate(placed))]
    pairs.sort(key=lambda pair: pair[0].location)
    known = frozenset(attempt.location for attempt in placed)
    return structs.replace(pairing, pairs=tuple(pairs), orphans=tuple(orphans), attempts=known)


def _location(placed: LocatedCall | LocatedResult) -> Location:
    return placed.location


def pair(events: Iterable[LocatedCall | LocatedResult]) -> Pairing:
    """Pair the calls and results of a trace, given in its order. Ids may be reused, as real logs do.

    Results are assigned in rounds: all calls since the last results, then all results before the next call. A result
    with an id answers the nearest earlier open call of that id, also from an earlier round. Where a turn has several
    calls of one id, or a round several results, they go together by name if the results have one, else in order. A
    result without an id goes to an open call of the round with its name, else to the next in order, else to the nearest
    earlier open call that may have its name.
    """
    matcher = _ResultMatcher()
    for event in events:
        match event:
            case LocatedCall():
                matcher.take_call(event)
            case LocatedResult():
                matcher.results.append(event)
    return matcher.finish()


class _ResultMatcher(Struct):
    calls: list[LocatedCall] = field(default_factory=list)
    answers: dict[int, LocatedResult] = field(default_factory=dict)
    results: list[LocatedResult] = field(default_factory=list)
    orphans: list[LocatedResult] = field(default_factory=list)
    repeated: list[LocatedCall] = field(default_factory=list)
    open_by_id: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    left_open: list[int] = field(default_factory=list)
    left_by_name: defaultdict[str | None, list[int]] = field(default_factory=lambda: defaultdict(list))
    round_start: int = 0

    def take_call(self, placed: LocatedCall) -> None:
        if self.results:
            self._match()
        call_id = placed.call.id
        if call_id is not None:
            if self._nearest_open(self.open_by_id[call_id]) is not None:
                self.repeated.append(placed)
            self.open_by_id[call_id].append(len(self.calls))
        self.calls.append(placed)

    def finish(self) -> Pairing:
        self._match()
        pairs = tuple((call, self.answers.get(index)) for index, call in enumerate(self.calls))
        self.orphans.sort(key=lambda orphan: orphan.location.turn)
        return Pairing(pairs, tuple(self.orphans), tuple(self.repeated))

    def _match(self) -> None:
        if len(self.results) == 1 and not (self.results[0].result.call_id or self.results[0].result.name):
            waiting = len(self._open_of_round())
            self.results = list(_elements(self.results[0], waiting)) or self.results
        unnamed = self._by_id(self.results)
        for placed in self._by_order(self._by_name(unnamed)) if unnamed else ():
            index = self._from_earlier_rounds(placed.result)
            if index is None:
                self.orphans.append(placed)
            else:
                self.answers[index] = placed
        for index in range(self.round_start, len(self.calls)):
            if index not in self.answers:
                self.left_open.append(index)
                self.left_by_name[self.calls[index].call.name].append(index)
        self.results = []
        self.round_start = len(self.calls)

    def _by_id(self, results: list[LocatedResult]) -> list[LocatedResult]:
        by_id: defaultdict[str | None, list[LocatedResult]] = defaultdict(list)
        for placed in results:
            by_id[placed.result.call_id].append(placed)
        left = by_id.pop(None, [])
        for call_id, answers in by_id.items():
            indexes = self.open_by_id.get(call_id or "", [])
            nearest: list[int] = []
            while (index := self._nearest_open(indexes)) is not None and (
                len(nearest) < len(answers) or self._are_of_one_turn(index, nearest[-1])
            ):
                nearest.append(indexes.pop())
            nearest.reverse()
            indexes += nearest[len(answers) :]
            names = [answer.result.name for answer in answers]
            for index in nearest[: len(answers)]:
                wanted = next((name for name in (self.calls[index].call.name, None) if name in names), names[0])
                number = names.index(wanted)
                names.pop(number)
                self.answers[index] = answers.pop(number)
            left += answers
        return sorted(left, key=_location)

    def _nearest_open(self, indexes: list[int]) -> int | None:
        while indexes and indexes[-1] in self.answers:
            indexes.pop()
        return indexes[-1] if indexes else None

    def _are_of_one_turn(self, index: int, other: int) -> bool:
        return self.calls[index].location.turn == self.calls[other].location.turn

    def _by_name(self, results: list[LocatedResult]) -> list[LocatedResult]:
        waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        for index in self._open_of_round():
            name = self.calls[index].call.name
            if name is not None:
                waiting[name].append(index)
        left = []
        for placed in results:
            queue = waiting.get(placed.result.name) if placed.result.name is not None else None
            if queue and self._may_answer(placed.result, queue[0]):
                self.answers[queue.popleft()] = placed
            else:
                left.append(placed)
        return left

    def _by_order(self, results: list[LocatedResult]) -> list[LocatedResult]:
        """Assign the results in order; one with an id can only answer a call without an id."""
        foreign = [placed for placed in results if placed.result.call_id is not None]
        bare = [index for index in self._open_of_round() if self.calls[index].call.id is None]
        left = self._in_order(foreign, bare)
        return left + self._in_order([p for p in results if p.result.call_id is None], self._open_of_round())

    def _in_order(self, results: list[LocatedResult], open_now: list[int]) -> list[LocatedResult]:
        """Too few results go to the latest turn's calls, first to those that a server can parse."""
        if len(results) < len(open_now):
            open_now = sorted(sorted(open_now, key=self._priority)[: len(results)])
        for index, placed in zip(open_now, results, strict=False):
            self.answers[index] = placed
        return results[len(open_now) :]

    def _open_of_round(self) -> list[int]:
        return [index for index in range(self.round_start, len(self.calls)) if index not in self.answers]

    def _priority(self, index: int) -> tuple[int, bool, int]:
        placed = self.calls[index]
        return -placed.location.turn, not (placed.call.valid or placed.call.recovered), index

    def _may_answer(self, result: ToolResult, index: int) -> bool:
        return result.call_id is None or self.calls[index].call.id is None

    def _from_earlier_rounds(self, result: ToolResult) -> int | None:
        stacks = [self.left_open] if result.name is None else [self.left_by_name[result.name], self.left_by_name[None]]
        nearest = (self._nearest_open(stack) for stack in stacks)
        return max((index for index in nearest if index is not None and self._may_answer(result, index)), default=None)


def _elements(placed: LocatedResult, calls: int) -> Iterator[LocatedResult]:
    """The elements of a result that is a JSON list with one element for each of several calls, else nothing.

    LLaMA-Factory's `observation` after several calls of one `function_call` is such a list (hiyouga/LLaMA-Factory,
    data/README.md). An element's location is its own characters if the result is the part's exact text, else the whole
    result's.
    """
    result, whole = placed.result, placed.location.range
    if calls < 2 or not result.content.lstrip().startswith("["):
        return
    reading = read_json(result.content)
    items = reading.nodes[0].items if reading.strict and reading.nodes else ()
    if len(items) != calls:
        return
    is_exact = len(result.content) == len(whole)
    for item in items:
        element_range = item.range.moved(whole.start) if is_exact else whole
        text = item.scalar if isinstance(item.scalar, str) else item.range.of(result.content)
        yield LocatedResult(
            structs.replace(result, content=text, range=element_range),
            structs.replace(placed.location, range=element_range),
        )


class EchoFilter:
    """Finds attempted calls that only repeat what the trace has so far; takes its turns in order."""

    def __init__(self) -> None:
        self._calls: list[ToolCall] = []
        self._indexed = 0
        self._made: set[tuple[str | None, str]] = set()
        self._inputs: list[str] = []

    def add(self, turn: Turn, calls: Iterable[ToolCall]) -> None:
        """Add a turn and the calls in it."""
        self._calls += calls
        if turn.role in (Role.USER, Role.TOOL):
            self._inputs += (part.text for part in turn.parts if part.name == "text")

    def without(
        self, diagnostics: Iterable[Diagnostic], text: str, of_turn: Sequence[ToolCall]
    ) -> Iterator[Diagnostic]:
        """The diagnostics of one text, except those of echoes; `of_turn` are the calls made properly in its turn."""
        made = None
        for diagnostic in diagnostics:
            call = diagnostic.fault.call
            if call is None:
                yield diagnostic
                continue
            made = (
                made
                if made is not None
                else {(made_call.name, arguments_key(made_call.arguments)) for made_call in of_turn}
            )
            if not self._is_echo(call, text, made):
                yield diagnostic

    def _is_echo(self, attempt: AttemptedCall, text: str, made: set[tuple[str | None, str]]) -> bool:
        key = (attempt.name, arguments_key(attempt.arguments))
        if key in made or (not attempt.is_step and any(name == attempt.name for name, _ in made)):
            return True
        if not is_in_sentence(attempt.range, text):
            return False
        return self._was_made(key) or self._is_in_inputs(attempt.range.of(text))

    def _was_made(self, key: tuple[str | None, str]) -> bool:
        """Whether an earlier turn made exactly this call; the first query indexes the calls."""
        new, self._indexed = self._calls[self._indexed :], len(self._calls)
        self._made.update((call.name, arguments_key(call.arguments)) for call in new)
        return key in self._made

    def _is_in_inputs(self, written: str) -> bool:
        """Whether the user or a tool wrote exactly these words before."""
        room = _MAX_SEARCHED_CHARS
        for text in reversed(self._inputs):
            if room < len(text):
                return False
            room -= len(text)
            if written in text:
                return True
        return False
