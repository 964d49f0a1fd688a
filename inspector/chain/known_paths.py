"""The names of files that somebody else than the agent has named, by turn.

A read of a file that nobody had named asks whether it is there; one of a named file was to bring it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from weaklink.inspector.chain.similar_calls import MAX_NAME_CHARS, are_spellings
from weaklink.inspector.memoized import RecentValues, is_memoizing, memoized
from weaklink.inspector.scanning import lazy_pattern

_FILE_NAME = lazy_pattern(r"[\w.@+-]*\w")


class KnownPaths:
    """The names of files that the user, the system prompt and results name, each with its first turn.

    Most sessions look up few, so a text is split into names only if it contains one of these; after some lookups all
    texts are. Splitting all took 0.15 of an inspection (eight agents' sessions of 4 MB, 2026-11-30). While a session
    grows, the names of its known texts are remembered.
    """

    def __init__(self, texts: Callable[[], Iterable[tuple[int, str]]] = tuple) -> None:
        self._texts = texts
        self._lookups = 0

    def are_named(self, targets: Iterable[str], before: int) -> bool:
        """Whether somebody else than the agent named one of these paths before a turn, if need be spelt otherwise."""
        names = [name for target in targets if len(name := target.rsplit("/", 1)[-1].casefold()) > 3]
        self._lookups += 1
        if self._lookups > _FEW_LOOKUPS or is_memoizing():
            first = self._named.first()
            return any(first.get(name, before) < before or self._is_spelt(name, before) for name in names)
        texts = [(folded, text) for turn, folded, text in self._folded if turn < before]
        is_named = any(name in folded and name in _names_in(text) for folded, text in texts for name in names)
        return is_named or any(_is_spelt_in(text, name) for name in names for text in _with_half_of(name, texts))

    @cached_property
    def _named(self) -> "_NamedTexts":
        texts = list(self._texts())
        if not is_memoizing() or not texts:
            return _NamedTexts(texts)
        named = _named_before.get(texts[0][1])
        if named is None or not named.grow(texts):
            named = _NamedTexts(texts)
            _named_before.put(texts[0][1], named)
        return named

    @cached_property
    def _folded(self) -> Sequence[tuple[int, str, str]]:
        return [(turn, text.casefold(), text) for turn, text in self._named.texts]

    def _is_spelt(self, name: str, before: int) -> bool:
        stem, _, suffix = name[:MAX_NAME_CHARS].partition(".")
        files = self._named.files()
        size = len(name[:MAX_NAME_CHARS])  # one letter more or less
        alike = (pair for pair in files.get(f".{suffix}", ()) if -2 < len(pair[0][:MAX_NAME_CHARS]) - size < 2)
        others = chain(files.get(stem, ()), alike)
        return any(turn < before and are_spellings(name, other) for other, turn in others)


class _NamedTexts:
    """The texts of a session with their turns, and the names in them; more texts may follow."""

    def __init__(self, texts: list[tuple[int, str]]) -> None:
        self.texts = texts
        self._first: dict[str, int] = {}
        self._files: dict[str, list[tuple[str, int]]] = {}
        self._words: set[str] = set()
        self._names: set[str] = set()
        self._in_first = self._in_files = 0  # texts whose names are there

    def grow(self, texts: list[tuple[int, str]]) -> bool:
        """Whether these are the texts of before, the same objects, and further ones, which are added."""
        pairs = zip(self.texts, texts, strict=False)
        is_same = len(texts) >= len(self.texts) and all(a[1] is b[1] and a[0] == b[0] for a, b in pairs)
        self.texts = texts if is_same else self.texts
        return is_same

    def first(self) -> Mapping[str, int]:
        """The first turn of each name."""
        for turn, text in self.texts[self._in_first :]:
            for name in _names_in(text):
                self._first.setdefault(name, turn)
        self._in_first = len(self.texts)
        return self._first

    def files(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """The names with a dot and their turns, by what is before their first dot and by what is from it on."""
        for turn, text in self.texts[self._in_files :]:
            words = {word for word in text.split() if "." in word} - self._words if "." in text else set()
            self._words |= words
            names = (name.casefold() for name in _FILE_NAME.findall(" ".join(words)) if "." in name)
            for name in set(names) - self._names:
                self._names.add(name)
                stem, _, suffix = name[:MAX_NAME_CHARS].partition(".")
                self._files.setdefault(stem, []).append((name, turn))
                self._files.setdefault(f".{suffix}", []).append((name, turn))
        self._in_files = len(self.texts)
        return self._files


_named_before: RecentValues[_NamedTexts] = RecentValues()  # by the first text, which each of them holds


def _with_half_of(name: str, texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The texts that may have another spelling of a name: one letter is wrong, or two have changed places.

    So half of the name before its dot is as it is written, or the two letters in its middle have changed places.
    """
    stem, dot, suffix = name[:MAX_NAME_CHARS].partition(".")
    first, second = stem[: len(stem) // 2], stem[len(stem) // 2 :]
    signs = (first, f"{second}{dot}{suffix}", f"{first[:-1]}{second[:1]}{first[-1:]}{second[1:]}")
    return (text for folded, text in texts if any(sign in folded for sign in signs))


def _is_spelt_in(text: str, name: str) -> bool:
    """Whether a text has another spelling of a name, with the same stem or the same suffix."""
    stem, _, suffix = name[:MAX_NAME_CHARS].partition(".")
    others = (other.casefold() for word in text.split() if "." in word for other in _FILE_NAME.findall(word))
    parts = ((other, other[:MAX_NAME_CHARS].partition(".")) for other in others if "." in other)
    return any((its[0] == stem or its[2] == suffix) and are_spellings(name, other) for other, its in parts)


@memoized
def _names_in(text: str) -> frozenset[str]:
    """The names of files in a text, folded; a plain word is one beside a slash only: "which version" names none."""
    paths = " ".join([word for word in text.split() if "/" in word])
    names = dict.fromkeys(_FILE_NAME.findall(text))
    return frozenset(
        [name.casefold() for name in names if not _is_word(name) or f"/{name}" in paths or f"{name}/" in paths]
    )


def _is_word(name: str) -> bool:
    return name.isalpha() and name.islower() and not name.endswith(("file", "readme", "changelog"))


_FEW_LOOKUPS = 64  # looking through all texts takes a hundredth of splitting them
