"""Data flow: for each argument value of a chain, the earlier place it came from, found by an index of all texts."""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import chain, islice, takewhile
from sys import intern

from msgspec import Struct, field, structs

from weaklink.inspector.chain.provenance_terms import (
    ProvenanceTerm,
    Spellings,
    folded_words,
    provenance_terms,
    spaced_words,
    word_spans,
    words_of,
)
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.memoized import RecentValues, is_memoizing, memoized
from weaklink.inspector.model import Json, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.text import Range

_MAX_SOURCES = 64  # of one word; and the places of a word in one source: the earliest are the likeliest
_MAX_POSITIONS = 64
_MAX_TRIALS = 16
_SHORT = 2_000  # words
_MAX_CACHED_CHARS, _CACHE_SIZE = 16_384, 256  # the cache of words: longest text in code points, entries


class OriginKind(StrEnum):
    """Where a value came from; the most certain first, for a value that is in several."""

    SYSTEM = "system"  # the system prompt
    USER = "user"  # the user's words
    RESULT = "result"  # a tool's result
    TOOLS = "tools"  # a tool's definition: a default, an enumerated value, an example
    ARGUMENT = "argument"  # an earlier argument of the agent's own


_RANKS = {OriginKind.TOOLS: 1, OriginKind.ARGUMENT: 2}


class Source(Struct, frozen=True):
    """A text that values may come from. `step` is the number of the step whose result or argument it is, else 0.

    `start` is the position of the text in its part.
    """

    kind: OriginKind
    turn: int
    part: str
    text: str
    start: int = 0
    step: int = 0


class FoundValue(Struct, frozen=True):
    """The first occurrence of a value: the source and its number, the position of its words there, and their count.

    `OriginIndex.range_of` returns the characters.
    """

    source: Source
    number: int
    position: int
    length: int


class _Search(Struct):
    """The progress of a search for some words in the sources of the `rarest` of them.

    `occurrences` has those so far: the source's number, the position. For later turns, `best` replaces the first
    `settled` occurrences: it is the best of those in tools' definitions and the agent's own arguments, and the others
    are results that echo an argument. `echoed` are the arguments' steps.
    """

    rarest: str
    occurrences: list[tuple[int, int]] = field(default_factory=list)
    next: int = 0
    tried: int = 0
    settled: int = 0
    best: tuple[int, int, int, int] | None = None
    echoed: set[int] = field(default_factory=set)


class OriginIndex:
    """An index from words to the sources that contain them. Built once, in time and memory linear in the texts.

    It indexes only the words that are searched for, and keeps only sources that contain one. A source's own index of
    word positions is built once the source contains all the words of a value. Without `has_places` every position is 0,
    and two cases need no such index: a single word, and words with one character between them, such as those of a path.
    """

    def __init__(self, sources: Iterable[Source], searched: frozenset[str], *, has_places: bool = True) -> None:
        self._has_places = has_places
        self._sources: dict[int, Source] = {}
        self._words_found: dict[int, frozenset[str]] = {}
        self._sources_with: defaultdict[str, list[int]] = defaultdict(list)
        for number, source in enumerate(sources):
            words = searched.intersection(_words_of(source))
            is_kept = False
            for word in words:
                numbers = self._sources_with[word]
                if len(numbers) < _MAX_SOURCES:
                    numbers.append(number)
                    is_kept = True
            if is_kept:
                self._sources[number], self._words_found[number] = source, words
        self._readings: dict[int, _WordIndex] = {}
        self._spaced_texts: dict[int, str] = {}
        self._searches: dict[tuple[str, ...], _Search] = {}

    def first(self, spellings: Spellings, before_turn: int) -> FoundValue | None:
        """The earliest occurrence of any of the spellings in a turn before this one.

        The agent's input is preferred to the tools' definitions, and these to its own earlier arguments. A result that
        repeats an argument of its own call does not count.
        """
        echoed: set[int] = set()
        best: tuple[int, int, int, int] | None = None
        for words in spellings:
            occurrence = self._first(words, before_turn, echoed)
            if occurrence is not None and (best is None or occurrence < best):
                best = occurrence
        if best is None:
            return None
        _, number, position, length = best
        return FoundValue(self._sources[number], number, position, length)

    def range_of(self, occurrence: FoundValue) -> Range:
        """The characters of a value in the text of its source."""
        return self._reading(occurrence.number).range_of(occurrence.position, occurrence.length)

    def _first(self, words: tuple[str, ...], before_turn: int, echoed: set[int]) -> tuple[int, int, int, int] | None:
        """The best occurrence of one spelling: the source's rank and number, the words' position, and their count.

        `echoed` are the steps whose arguments had other spellings of the value; steps with this spelling are added.
        """
        search = self._search_of(words, before_turn)
        if search is None:
            return None
        best, index = search.best, search.settled
        while index < len(search.occurrences) or self._continue_search(search, words, before_turn):
            number, position = search.occurrences[index]
            source = self._sources[number]
            if source.turn >= before_turn:
                break
            index += 1
            rank = _RANKS.get(source.kind, 0)
            is_echo = not rank and source.kind is OriginKind.RESULT and source.step in search.echoed
            if not rank and not is_echo and not (source.kind is OriginKind.RESULT and source.step in echoed):
                best = rank, number, position, len(words)
                break
            if rank and (best is None or rank < best[0]):
                best = rank, number, position, len(words)
            if source.kind is OriginKind.ARGUMENT:
                echoed.add(source.step)
            if search.settled == index - 1 and (rank or is_echo):
                search.settled, search.best = index, best
                if source.kind is OriginKind.ARGUMENT:
                    search.echoed.add(source.step)
        echoed |= search.echoed
        return best

    def _search_of(self, words: tuple[str, ...], before_turn: int) -> _Search | None:
        """The search for these words; None if one of them is in no source."""
        search = self._searches.get(words)
        if search is None:
            rarest = self._rarest(words)
            if rarest is None:
                return None
            search = self._searches[words] = _Search(rarest)
        last = search.settled - 1
        if last >= 0 and self._sources[search.occurrences[last][0]].turn >= before_turn:  # an earlier turn than before
            return _Search(search.rarest)
        return search

    def _continue_search(self, search: _Search, words: tuple[str, ...], before_turn: int) -> bool:
        """Search for the next source before a turn that has the words in sequence; false if there is none."""
        rarest = search.rarest
        numbers = self._sources_with[rarest]
        while search.next < len(numbers) and search.tried < _MAX_TRIALS:
            number = numbers[search.next]
            if self._sources[number].turn >= before_turn:
                return False
            search.next += 1
            if not self._words_found[number].issuperset(words):
                continue
            position = 0 if self._has_at_once(number, words) else self._reading(number).find(words, rarest)
            if position is not None:
                search.occurrences.append((number, position if self._has_places else 0))
                return True
            search.tried += 1
        return False

    def _has_at_once(self, number: int, words: Sequence[str]) -> bool:
        """Whether one look shows that a source, which has all the words, has them in sequence; no place is wanted."""
        if self._has_places:
            return False
        return len(words) == 1 or f" {' '.join(words)} " in self._spaced(number)

    def _spaced(self, number: int) -> str:
        """The words of a source with a blank for each character between them."""
        if number not in self._spaced_texts:
            self._spaced_texts[number] = f" {spaced_words(self._sources[number].text)} "
        return self._spaced_texts[number]

    def _rarest(self, words: Sequence[str]) -> str | None:
        """The word that the fewest sources contain; None if there is no word, or one that is in no source."""
        rarest, fewest = None, _MAX_SOURCES + 1
        for word in words:
            numbers = self._sources_with.get(word)
            if numbers is None:
                return None
            if len(numbers) < fewest:
                rarest, fewest = word, len(numbers)
        return rarest

    def _reading(self, number: int) -> "_WordIndex":
        if number not in self._readings:
            self._readings[number] = _WordIndex(self._sources[number].text, self._words_found[number])
        return self._readings[number]


def _words_of(source: Source) -> Collection[str]:
    """The words of a source; those of system prompts and tools, which many traces share, are cached."""
    is_shared = source.kind in (OriginKind.SYSTEM, OriginKind.TOOLS) and len(source.text) <= _MAX_CACHED_CHARS
    if is_shared:
        return _shared_words(source.text)
    return _distinct_words(source.text) if is_memoizing() else folded_words(source.text)


@memoized
def _distinct_words(text: str) -> frozenset[str]:
    return frozenset(map(intern, folded_words(text)))


@lru_cache(_CACHE_SIZE)
def _shared_words(text: str) -> frozenset[str]:
    return frozenset(folded_words(text))


class _WordIndex:
    """The words of one text. A short text is searched as a string; a long one gets an index of word positions."""

    def __init__(self, text: str, indexed: frozenset[str]) -> None:
        self._further_spans = word_spans(text)
        self._spans: list[tuple[int, int]] = []  # of the first words, as far as they were needed
        words = folded_words(text)
        self._is_short = len(words) <= _SHORT
        self._words = [] if self._is_short else words
        self._line = f" {' '.join(words)} " if self._is_short else ""
        self._places = {} if self._is_short else _filed(words, indexed)

    def find(self, words: Sequence[str], rarest: str) -> int | None:
        """The first position where `words` are in sequence, for `range_of`; earlier positions are smaller."""
        if self._is_short:
            start = self._line.find(f" {' '.join(words)} ")
            return None if start < 0 else start
        if len(words) == 1:
            return next(iter(self._places[rarest]), None)
        offset, sequence, all_words = words.index(rarest), list(words), self._words
        beside = 0 if offset else 1  # compared first: most places fail there
        neighbour, shift, last = sequence[beside], beside - offset, len(all_words) - len(sequence)
        for position in self._places[rarest]:
            start = position - offset
            if (
                0 <= start <= last
                and all_words[position + shift] == neighbour
                and all_words[start : start + len(sequence)] == sequence
            ):
                return start
        return None

    def range_of(self, position: int, length: int) -> Range:
        """The characters of `length` words from `position` on."""
        first = self._line.count(" ", 0, position) if self._is_short else position
        last = first + length - 1
        self._spans += islice(self._further_spans, max(last + 1 - len(self._spans), 0))
        return Range(self._spans[first][0], self._spans[last][1])


def _filed(words: Sequence[str], indexed: frozenset[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {word: [] for word in indexed}
    for position, word in enumerate(words):
        if word in indexed and len(places[word]) < _MAX_POSITIONS:
            places[word].append(position)
    return places


_OWN = frozenset({OriginKind.TOOLS, OriginKind.ARGUMENT})


class Origin(Struct, frozen=True):
    """The first occurrence of a value, or of a part of it.

    `text` is the value as written in the argument, `location` the characters of the occurrence, `pointer` its JSON
    Pointer if the source is JSON. `step` is the step whose result or argument contains it, 0 for other sources.
    """

    kind: OriginKind
    text: str
    location: Location
    step: int = 0
    pointer: str | None = None


class ArgumentFlow(Struct, frozen=True):
    """One value in a call's arguments: `pointer` is its JSON Pointer there, `origins` are where it came from.

    `is_trivial` means that no origin was searched for: the value is a boolean, null, or of fewer than three characters.
    Without origins, the value was not found earlier.
    """

    step: int
    pointer: str
    value: Json
    origins: tuple[Origin, ...] = ()
    is_trivial: bool = False


class DataFlow(Struct, frozen=True):
    """The data flow of a chain: every argument's value in the order of the steps, and the longest path.

    `critical_path` are the numbers of the longest sequence of steps in which each uses a result of the one before it;
    empty if no step uses another's result.
    """

    flows: tuple[ArgumentFlow, ...] = ()
    critical_path: tuple[int, ...] = ()

    def of(self, step: int) -> tuple[ArgumentFlow, ...]:
        """The values of one step's arguments."""
        return tuple(flow for flow in self.flows if flow.step == step)


def trace_values(
    trace: Trace, steps: Sequence[Step], definitions: Iterable[Location] = (), *, has_places: bool = True
) -> DataFlow:
    """The origins of every step's values, in time linear in the trace's text. Never raises.

    `definitions` are the locations of tool definitions in its texts, in order: an example there is no input of the
    agent. `inspector.inspection.data_flow_of` passes them all. Without `has_places` an origin's location is the whole
    text that contains the value, and it has no pointer.
    """
    if not steps:
        return DataFlow()
    defined = tuple(definitions)
    first = trace.turns[0] if is_memoizing() and not has_places and trace.turns else None
    by_step = dict(_known_flows(trace, steps, defined)) if first is not None else {}
    if new := [step for step in steps if step.number not in by_step]:
        origins = _Origins(trace, steps, defined, new, has_places=has_places)
        by_step.update((step.number, tuple(origins.of(step))) for step in new)
    if first is not None:
        _flows_before.put(id(first), _FlowsBefore(trace.turns, steps, defined, by_step))
    flows = tuple([flow for step in steps for flow in by_step[step.number]])
    return DataFlow(flows, _critical_path(steps, _edges(flows)))


class _FlowsBefore(Struct, frozen=True):
    """The flows of a session that grows as they were before, by the number of the step."""

    turns: Sequence[Turn]
    steps: Sequence[Step]
    definitions: tuple[Location, ...]
    flows: dict[int, tuple[ArgumentFlow, ...]]


_flows_before: RecentValues[_FlowsBefore] = RecentValues()  # by the first turn, which each of them holds


def _known_flows(
    trace: Trace, steps: Sequence[Step], definitions: tuple[Location, ...]
) -> Mapping[int, tuple[ArgumentFlow, ...]]:
    """The flows that are those of before: a value comes from earlier turns, so what was added changes none of them."""
    before = _flows_before.get(id(trace.turns[0]))
    if before is None or before.definitions != definitions:
        return {}
    same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(before.turns, trace.turns, strict=False)))
    old, now = (_sources_within(some, same) for some in (before.steps, steps))
    if old != now or any(map(_offered, (*before.turns[same:], *trace.turns[same:]))):  # tools are before all turns
        return {}
    return {number: before.flows[number] for number, *_ in now}


def _offered(turn: Turn) -> tuple[ToolDefinition, ...]:
    return turn.generation.tools if turn.generation is not None else ()


def _sources_within(steps: Sequence[Step], turns: int) -> list[tuple[int, object, object, object]]:
    """The numbers of the first turns' steps, and what the first turns have of their calls and results."""
    step_keys: list[tuple[int, object, object, object]] = []
    for step in steps:
        if step.location.turn <= turns:
            result_location = (
                step.result_location if step.result_location and step.result_location.turn <= turns else None
            )
            step_keys.append(
                (
                    step.number,
                    id(step.call),
                    step.location,
                    (result_location, id(step.result) if result_location else 0),
                )
            )
    return step_keys


def step_values(
    trace: Trace,
    steps: Sequence[Step],
    step: Step,
    definitions: Iterable[Location] = (),
    *,
    is_left: Callable[[], bool] = bool,
) -> DataFlow | None:
    """The origins of the values of one step only; None once `is_left` returns true.

    The same flows as from `trace_values` for this step, in time linear in the text before it. It keeps only the sources
    that contain one of the step's words, and a few bytes per step.
    """
    origins = _Origins(trace, steps, definitions, (step,), is_left)
    return None if is_left() else DataFlow(tuple(origins.of(step)))


def with_dependencies(steps: Sequence[Step], flow: DataFlow) -> tuple[Step, ...]:
    """The steps, each with the numbers of the steps whose results it uses."""
    edges = _edges(flow.flows)
    return tuple(
        structs.replace(step, depends_on=edges[step.number]) if step.number in edges else step for step in steps
    )


def _edges(flows: Iterable[ArgumentFlow]) -> dict[int, tuple[int, ...]]:
    edges: dict[int, set[int]] = {}
    for flow in flows:
        for origin in flow.origins:
            if origin.kind is OriginKind.RESULT and origin.step:
                edges.setdefault(flow.step, set()).add(origin.step)
    return {step: tuple(sorted(used)) for step, used in edges.items()}


def _critical_path(steps: Sequence[Step], edges: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    if not edges:
        return ()
    longest: dict[int, int] = {}
    before: dict[int, int] = {}
    for step in steps:  # an edge always leads to an earlier step
        used = [number for number in edges.get(step.number, ()) if number in longest]
        length = 1
        if used:
            before[step.number] = last = max(used, key=longest.__getitem__)
            length += longest[last]
        longest[step.number] = length
    last = max(longest, key=longest.__getitem__, default=0)
    path = [last]
    while path[-1] in before:
        path.append(before[path[-1]])
    return tuple(reversed(path)) if len(path) > 1 else ()


class _Origins:
    """Finds the origins of the values of some of a trace's steps."""

    def __init__(
        self,
        trace: Trace,
        steps: Sequence[Step],
        definitions: Iterable[Location],
        some: Sequence[Step],
        is_left: Callable[[], bool] = bool,
        *,
        has_places: bool = True,
    ) -> None:
        self._has_places = has_places
        self._terms = {step.number: provenance_terms(step.call) for step in some}
        words = words_of(chain.from_iterable(self._terms.values()))
        last = max(step.location.turn for step in some)
        sources = _sources(trace, steps, definitions)
        before = takewhile(lambda source: source.turn < last and not is_left(), sources)
        self._index = OriginIndex(before, words, has_places=has_places)
        self._roots: dict[Source, JsonNode | None] = {}

    def of(self, step: Step) -> Iterator[ArgumentFlow]:
        """The flow of each value of one step."""
        return (self._flow(step, term) for term in self._terms[step.number])

    def _flow(self, step: Step, term: ProvenanceTerm) -> ArgumentFlow:
        turn = step.location.turn
        occurrence = self._index.first(term.whole, turn) if term.whole else None
        whole = None if occurrence is None else self._origin(occurrence, str(term.value))
        if whole is not None and whole.kind is not OriginKind.ARGUMENT:
            return ArgumentFlow(step.number, term.pointer, term.value, (whole,))
        if whole is None and not term.parts:
            return ArgumentFlow(step.number, term.pointer, term.value, (), term.is_trivial)
        origins = (self._find(text, spelled, turn) for text, spelled in term.parts)
        parts = [part for part in origins if part is not None]
        if whole is not None:  # the agent's own argument, but it may have composed it from its input
            parts = [whole, *(part for part in parts if part.kind not in _OWN)]
        return ArgumentFlow(step.number, term.pointer, term.value, tuple(parts), term.is_trivial)

    def _find(self, text: str, spelled: Spellings, turn: int) -> Origin | None:
        occurrence = self._index.first(spelled, turn)
        return None if occurrence is None else self._origin(occurrence, text)

    def _origin(self, occurrence: FoundValue, text: str) -> Origin:
        source = occurrence.source
        if not self._has_places:
            whole = Range(source.start, source.start + len(source.text))
            return Origin(source.kind, text, Location(source.turn, source.part, whole), source.step)
        value_range = self._index.range_of(occurrence)
        location = Location(source.turn, source.part, value_range.moved(source.start))
        return Origin(source.kind, text, location, source.step, self._pointer(source, value_range.start))

    def _pointer(self, source: Source, position: int) -> str | None:
        """The JSON Pointer to the character at a position; None if the text is not JSON."""
        if source.text.lstrip()[:1] not in ("{", "["):
            return None
        if source not in self._roots:
            reading = read_json(source.text)
            self._roots[source] = reading.nodes[0] if reading.strict else None
        root = self._roots[source]
        return None if root is None else _pointer_at(root, position)


def _pointer_at(node: JsonNode, position: int) -> str:
    pointer = ""
    while True:
        if node.kind is JsonKind.OBJECT:
            after = bisect_right(node.members, position, key=lambda member: member.value.range.end)
            if after == len(node.members) or node.members[after].value.range.start > position:
                return pointer
            member = node.members[after]
            node = member.value
            pointer += "/" + member.key.replace("~", "~0").replace("/", "~1")
        elif node.kind is JsonKind.ARRAY:
            after = bisect_right(node.items, position, key=lambda item: item.range.end)
            if after == len(node.items) or node.items[after].range.start > position:
                return pointer
            node = node.items[after]
            pointer += f"/{after}"
        else:
            return pointer


def _sources(trace: Trace, steps: Sequence[Step], definitions: Iterable[Location]) -> Iterator[Source]:
    """Every text that values may come from, in the order in which the agent saw them."""
    yield from _definitions(trace)
    defined: dict[tuple[int, str], list[Range]] = {}
    for definition in definitions:
        defined.setdefault((definition.turn, definition.part), []).append(definition.range)
    calls, results = array("L"), array("L")
    for step in steps:
        calls.append(step.location.turn)
        results.append(step.result_location.turn if step.result_location is not None else 0)
    calling, answered = _ByTurn(calls), _ByTurn(results)
    for number, turn in enumerate(trace.turns, 1):
        if turn.role is Role.ASSISTANT:
            for step in map(steps.__getitem__, calling.of(number)):
                raw = step.call.raw_arguments
                yield Source(OriginKind.ARGUMENT, number, step.location.part, raw, _start(step), step.number)
            continue
        answered_here = [steps[index] for index in answered.of(number)]
        for part in turn.parts:
            key = number, part.name
            here = [
                answered
                for answered in answered_here
                if answered.result_location and answered.result_location.part == part.name
            ]
            for source in _texts(number, turn.role, part.name, part.text, here):
                is_input = source.kind in (OriginKind.SYSTEM, OriginKind.USER)
                yield from _split_at_definitions(source, defined[key]) if is_input and key in defined else (source,)


class _ByTurn:
    """Indices grouped by turn, in a few bytes each."""

    def __init__(self, turns: Sequence[int]) -> None:
        self._indices = array("L", sorted(range(len(turns)), key=turns.__getitem__))
        self._turns = array("L", map(turns.__getitem__, self._indices))

    def of(self, turn: int) -> Sequence[int]:
        """The indices of one turn, in order."""
        return self._indices[bisect_left(self._turns, turn) : bisect_right(self._turns, turn)]


def _start(step: Step) -> int:
    return (step.call.arguments_range or step.call.range).start


def _texts(turn: int, role: Role, part: str, text: str, answered: list[Step]) -> Iterator[Source]:
    """The results in a part, each with its step, and the text between them as the role's own."""
    kind = OriginKind.SYSTEM if role is Role.SYSTEM else OriginKind.RESULT if role is Role.TOOL else OriginKind.USER
    position = 0
    for step in sorted(
        answered, key=lambda answer: answer.result_location.range if answer.result_location else Range(0, 0)
    ):
        assert step.result_location is not None
        assert step.result is not None
        result_range = step.result_location.range
        if result_range.start > position:
            yield Source(kind, turn, part, text[position : result_range.start], position)
        yield Source(OriginKind.RESULT, turn, part, step.result.content, result_range.start, step.number)
        position = max(position, result_range.end)
    if position < len(text):
        yield Source(kind, turn, part, text[position:], position)


def _split_at_definitions(source: Source, defined: Sequence[Range]) -> Iterator[Source]:
    """A text split where it defines tools."""
    position, end = source.start, source.start + len(source.text)
    for definition in (
        defined_range for defined_range in defined if defined_range.start < end and defined_range.end > source.start
    ):
        for kind, cut in ((source.kind, definition.start), (OriginKind.TOOLS, min(definition.end, end))):
            if cut > position:
                piece = source.text[position - source.start : cut - source.start]
                yield Source(kind, source.turn, source.part, piece, position)
                position = cut
    if position < end:
        yield Source(source.kind, source.turn, source.part, source.text[position - source.start :], position)


def _definitions(trace: Trace) -> Iterator[Source]:
    """The tools that requests offered in a structured field."""
    seen = set()
    for turn in trace.turns:
        for tool in turn.generation.tools if turn.generation is not None else ():
            if tool.raw and tool.raw not in seen:
                seen.add(tool.raw)
                yield Source(OriginKind.TOOLS, 0, "tools", tool.raw)
