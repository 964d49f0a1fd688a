"""Where values stood before they were used: an index over all that an agent could read, and over what it wrote."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.chain.words import words_of
from inspector.text import Range

_MOST_PLACES = 64  # of one word: a value is looked for at the earliest, which are the likeliest
_MOST_TRIED = 16


class OriginKind(StrEnum):
    """What a value came from, the surest first where it stands in several."""

    SYSTEM = "system"  # the system prompt
    USER = "user"  # the user's words
    RESULT = "result"  # what a tool answered
    TOOLS = "tools"  # a tool's definition: a default, an enumerated value, an example
    ARGUMENT = "argument"  # an earlier argument of the agent's own


_RANKS = {OriginKind.TOOLS: 1, OriginKind.ARGUMENT: 2}


@dataclass(frozen=True, slots=True)
class Source:
    """A text that values may come from. `step` is the step whose result or argument it is, 0 for other texts.

    `start` is where the text begins in its part.
    """

    kind: OriginKind
    turn: int
    part: str
    text: str
    start: int = 0
    step: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A value's first place: in which source, and the characters of that source's text."""

    source: Source
    range: Range


class OriginIndex:
    """Every word of the sources, by where it stands. Made once, in time and memory linear in the texts."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources: list[Source] = []
        self._words: list[list[str]] = []
        self._starts: list[list[tuple[int, int]]] = []
        self._places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, source in enumerate(sources):
            words, bounds = [], []
            for at, (word, start, end) in enumerate(words_of(source.text)):
                words.append(word)
                bounds.append((start, end))
                places = self._places[word]
                if len(places) < _MOST_PLACES:
                    places.append((number, at))
            self._sources.append(source)
            self._words.append(words)
            self._starts.append(bounds)

    def first(self, spellings: Iterable[Sequence[str]], before_turn: int) -> Found | None:
        """The earliest place, in a turn before this one, of any of the spellings.

        What was given to the agent goes before the tools' definitions, these before its own earlier arguments. A
        result that repeats what its own call had said gave nothing.
        """
        echoed: set[int] = set()
        found = [one for words in spellings if (one := self._first(words, before_turn, echoed)) is not None]
        if not found:
            return None
        _, number, at, length = min(found)
        bounds = self._starts[number]
        return Found(self._sources[number], Range(bounds[at][0], bounds[at + length - 1][1]))

    def _first(self, words: Sequence[str], before_turn: int, echoed: set[int]) -> tuple[int, int, int, int] | None:
        """How far the source stands behind others, its number, the first word there, and how many words."""
        if not words:
            return None
        offset = min(range(len(words)), key=lambda at: len(self._places.get(words[at], ())))
        best: tuple[int, int, int, int] | None = None
        tried, wanted = 0, list(words)
        for number, at in self._places.get(words[offset], ()):
            source, first = self._sources[number], at - offset
            if source.turn >= before_turn or tried >= _MOST_TRIED:
                break
            if first < 0 or self._words[number][first : first + len(wanted)] != wanted:
                tried += 1
                continue
            if source.kind is OriginKind.ARGUMENT:
                echoed.add(source.step)
            elif source.kind is OriginKind.RESULT and source.step in echoed:
                continue
            rank = _RANKS.get(source.kind, 0)
            if best is None or rank < best[0]:
                best = rank, number, first, len(wanted)
            if not rank:
                break
        return best
