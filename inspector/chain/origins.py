"""Where values stood before they were used: an index over all that an agent could read, and over what it wrote."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice

from inspector.chain.words import folded_words, word_spans
from inspector.text import Range

_MOST_SOURCES = 64  # of one word, and places of it in one source: a value is looked for at the earliest, the likeliest
_MOST_PLACES = 64
_MOST_TRIED = 16
_SHORT = 2_000  # words


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
class FoundValue:
    """A value's first place: in which source, and the characters of that source's text."""

    source: Source
    range: Range


class OriginIndex:
    """Where words stand in the sources. Made once, in time and memory linear in the texts.

    Only words that are looked for are filed, by the sources that hold them, and no other source is kept; a source's
    text is read more closely when it holds all the words of a value.
    """

    def __init__(self, sources: Iterable[Source], wanted: frozenset[str]) -> None:
        self._sources: dict[int, Source] = {}
        self._held: dict[int, frozenset[str]] = {}
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        for number, source in enumerate(sources):
            held = wanted.intersection(folded_words(source.text))
            for word in held:
                holders = self._holders[word]
                if len(holders) < _MOST_SOURCES:
                    holders.append(number)
                    self._sources[number], self._held[number] = source, held
        self._readings: dict[int, _WordIndex] = {}

    def first(self, spellings: Iterable[Sequence[str]], before_turn: int) -> FoundValue | None:
        """The earliest place, in a turn before this one, of any of the spellings.

        What was given to the agent goes before the tools' definitions, these before its own earlier arguments. A
        result that repeats what its own call had said gave nothing.
        """
        echoed: set[int] = set()
        found = [one for words in spellings if (one := self._first(words, before_turn, echoed)) is not None]
        if not found:
            return None
        _, number, at, length = min(found)
        return FoundValue(self._sources[number], self._readings[number].range_of(at, length))

    def _first(self, words: Sequence[str], before_turn: int, echoed: set[int]) -> tuple[int, int, int, int] | None:
        """How far the source stands behind others, its number, the first word there, and how many words."""
        if not words:
            return None
        rarest = min(words, key=lambda word: len(self._holders.get(word, ())))
        best: tuple[int, int, int, int] | None = None
        tried = 0
        for number in self._holders.get(rarest, ()):
            source = self._sources[number]
            if source.turn >= before_turn or tried >= _MOST_TRIED:
                break
            if not self._held[number].issuperset(words):
                continue
            first = self._reading(number).find(words, rarest)
            if first is None:
                tried += 1
                continue
            if source.kind is OriginKind.ARGUMENT:
                echoed.add(source.step)
            elif source.kind is OriginKind.RESULT and source.step in echoed:
                continue
            rank = _RANKS.get(source.kind, 0)
            if best is None or rank < best[0]:
                best = rank, number, first, len(words)
            if not rank:
                break
        return best

    def _reading(self, number: int) -> "_WordIndex":
        if number not in self._readings:
            self._readings[number] = _WordIndex(self._sources[number].text, self._held[number])
        return self._readings[number]


class _WordIndex:
    """One text word by word. A short one is searched as it is, in a long one the places of words are filed at once."""

    def __init__(self, text: str, held: frozenset[str]) -> None:
        self._text = text
        words = folded_words(text)
        self._is_short = len(words) <= _SHORT
        self._words = [] if self._is_short else words
        self._line = f" {' '.join(words)} " if self._is_short else ""
        self._places = {} if self._is_short else _filed(words, held)

    def find(self, words: Sequence[str], rarest: str) -> int | None:
        """The first word of the first place where `words` stand one after the other."""
        if self._is_short:
            at = self._line.find(f" {' '.join(words)} ")
            return None if at < 0 else self._line.count(" ", 0, at)
        offset, wanted = words.index(rarest), list(words)
        starts = (at - offset for at in self._places[rarest])
        return next((at for at in starts if at >= 0 and self._words[at : at + len(wanted)] == wanted), None)

    def range_of(self, first: int, length: int) -> Range:
        """Where so many words stand, from this one on."""
        if self._is_short:
            spans = list(islice(word_spans(self._text), first, first + length))
        else:
            spans = self._spans[first : first + length]
        return Range(spans[0][0], spans[-1][1])

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return list(word_spans(self._text))


def _filed(words: Sequence[str], held: frozenset[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {word: [] for word in held}
    for at, word in enumerate(words):
        if word in held and len(places[word]) < _MOST_PLACES:
            places[word].append(at)
    return places
