r"""Tells by one search which of many patterns cannot match a text: the prefilter of RE2 (`FilteredRE2`), for tables.

`re` tries a table of words at each character: 5 to 30 us for a sentence, and sixty tables are asked of a sentence,
nearly all in vain. But each match of a table contains one of its literals, and one automaton finds those of all tables:

    pattern     \b(?:not|never|has(?:n['’]t| no)|\w{2,}less)\b|没有
    literals    " not "   " never "   " hasn t "   " hasn\u2019t "   " has no "   "less "   "没有"
    view        " the pool isn t full  "       of "The pool isn't full."; no literal is in it, so there is no match

A text is searched in a view in which letters have one case and a space stands for each character
that is no letter, digit or underscore, also before and after the text. So the end of a word is a character, and a
literal is as selective as the pattern. The view may have literals where the pattern does not match, never the reverse.

Literals are read from the parsed pattern: strings are joined while there are few of them; of what cannot be spelled
out (`\w{2,}`), the best literals beside it remain. A pattern without literals in one of its alternatives is not
filtered, nor is one that is used seldom: literals are made for patterns that were searched some hundred times.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from re import _casefix, _constants, _parser  # type: ignore[attr-defined]  # missing in typeshed
from typing import Any

from ahocorasick_rs import BytesAhoCorasick, Implementation

_MOST_LITERALS, _MOST_JOINED = 2_000, 400
_FEWEST_CHARS = 3  # of a literal in ASCII, the spaces beside it included
_BOUNDARY = "\b"  # stands for the end of a word in a string that is being joined
_WORD_END = _constants.AT_BOUNDARY
_ANYTHING = None  # strings that are not known
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_MOST_IN_CLASS = 40
_OTHER = re.compile(r"\W")
_ASCII_VIEW = bytes(code if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(128)).lower()
_ASCII_VIEW += bytes(128)
_SAME = {code: chr(min(code, *others)) for code, others in _casefix._EXTRA_CASES.items()}  # noqa: SLF001  # of `re.IGNORECASE`
_FIRST_TEXTS = 256  # before the first automaton, which takes milliseconds; twice as many before each later one
_MEMORY = 8_192


class _Prefilter:
    """The literals of some patterns, by the number of the pattern, and the automaton that finds those of all."""

    def __init__(self) -> None:
        self._literals: list[frozenset[str]] = []
        self._built = 0, [0], BytesAhoCorasick([b"\0"])
        self._viewed, self._next = 0, _FIRST_TEXTS

    def add(self, pattern: str, flags: int) -> int:
        """The bit of a pattern in what `signs` returns; 0 if it has no literals that help."""
        literals = required_literals(pattern, flags)
        if not literals:
            return 0
        self._literals.append(literals)
        return 1 << len(self._literals) - 1

    def signs(self, text: str) -> int:
        """The bits of the patterns that may match a text: of those that have a literal in it, and of newer ones."""
        self._viewed += 1
        known, patterns, automaton = self._built
        if self._viewed > self._next and known < len(self._literals):
            known, patterns, automaton = self._built = _build(tuple(self._literals))
            self._next = 2 * self._viewed
            signs.cache_clear()
        bits = -1 << known
        for number, _, _ in automaton.find_matches_as_indexes(view(text), overlapping=True):
            bits |= patterns[number]
        return bits


def _build(filters: Sequence[frozenset[str]]) -> tuple[int, list[int], BytesAhoCorasick]:
    patterns: dict[str, int] = {}
    for number, literals in enumerate(filters):
        for literal in literals:
            patterns[literal] = patterns.get(literal, 0) | 1 << number
    encoded = [literal.encode("utf-8", "surrogatepass") for literal in patterns]
    return len(filters), list(patterns.values()), BytesAhoCorasick(encoded, implementation=Implementation.ContiguousNFA)


_prefilter = _Prefilter()
add = _prefilter.add
signs = lru_cache(_MEMORY)(_prefilter.signs)


def view(text: str) -> bytes:
    """A text as its literals are searched in it."""
    if text.isascii():
        return b" " + text.encode().translate(_ASCII_VIEW) + b" "
    return f" {_plain(text)} ".encode("utf-8", "surrogatepass")


def _plain(text: str) -> str:
    """A text in one case, without what is no part of a word: equal for texts that `re.IGNORECASE` takes for equal."""
    return _OTHER.sub(" ", text.replace("İ", "i").lower().translate(_SAME))


def required_literals(pattern: str, flags: int) -> frozenset[str]:
    """Strings of which the view of each text with a match contains one; empty if there are none that help."""
    parsed = _parser.parse(pattern, flags)
    if parsed.state.flags & re.ASCII:
        return frozenset()  # other letters than those of the view
    strings, literals = _read(list(parsed), frozenset([""]))
    return _better(frozenset(), strings if strings is not None else literals)


def _read(items: Sequence[Any], run: frozenset[str]) -> tuple[frozenset[str] | None, frozenset[str]]:
    """All strings that a sequence matches after those of `run`, None if unknown, and literals that it requires."""
    items, best, is_whole, index = _flat(items), frozenset[str](), True, 0
    while index < len(items):
        kind, argument = items[index]
        index += 1
        if kind is _constants.BRANCH:
            after = items[index : index + 1] if items[index : index + 1] == [(_constants.AT, _WORD_END)] else []
            read = [_read([*alternative, *after], run) for alternative in argument[1]]
            joined = frozenset[str]().union(*(strings for strings, _ in read if strings is not None))
            index += len(after)
            if all(strings is not None for strings, _ in read) and len(joined) <= _MOST_LITERALS:
                run = joined
                continue
            each = [_better(frozenset(), found if strings is None else strings) for strings, found in read]
            best = _better(_better(best, run), frozenset[str]().union(*each) if all(each) else frozenset())
            run, is_whole = frozenset([""]), False
            continue
        strings, is_open = _strings_of(kind, argument)
        product = len(run) * len(strings) if strings is not None else 0
        if strings is not None:
            if product > max(_MOST_JOINED, len(run)):
                best, run, is_whole = _better(best, run), frozenset([""]), False
            run = run if strings == {""} else frozenset(first + last for first in run for last in strings)
            if not is_open:
                continue
        best, run, is_whole = _better(best, run), frozenset([""]), False
        if strings is _ANYTHING and kind in _REPEATS and argument[0]:
            inner, required = _read(list(argument[2]), run)
            best = _better(best, required if inner is None else inner)
    return (run, frozenset()) if is_whole else (None, _better(best, run))


def _flat(items: Sequence[Any]) -> list[Any]:
    """A sequence without groups that hold only a sequence."""
    flat: list[Any] = []
    for kind, argument in items:
        if kind is _constants.SUBPATTERN or kind is _constants.ATOMIC_GROUP:
            flat += _flat(list(argument[-1] if kind is _constants.SUBPATTERN else argument))
        else:
            flat.append((kind, argument))
    return flat


_SPACES = frozenset((_constants.CATEGORY_SPACE, _constants.CATEGORY_NOT_WORD))


def _strings_of(kind: Any, argument: Any) -> tuple[frozenset[str] | None, bool]:
    """The strings that an item matches or that its match begins with, and whether more may follow them."""
    if kind is _constants.LITERAL:
        return frozenset([_seen(argument)]), False
    if kind is _constants.AT:
        return frozenset([_BOUNDARY if argument is _WORD_END else ""]), False
    if kind is _constants.ASSERT or kind is _constants.ASSERT_NOT:
        return frozenset([""]), False
    if kind is _constants.IN:
        return _strings_of_class(argument), False
    if kind in _REPEATS:
        least, most, item = argument
        strings, _ = _read(list(item), frozenset([""]))
        if strings is None:
            return _ANYTHING, True
        if least == 0 and most == 1:
            return strings | {""}, False
        return (strings, not least == most == 1) if least else (_ANYTHING, True)
    return _ANYTHING, True


def _strings_of_class(items: Iterable[Any]) -> frozenset[str] | None:
    codes: set[str] = set()
    for kind, argument in items:
        if kind is _constants.LITERAL:
            codes.add(_seen(argument))
        elif kind is _constants.RANGE and argument[1] - argument[0] < _MOST_IN_CLASS:
            codes.update(map(_seen, range(argument[0], argument[1] + 1)))
        elif kind is _constants.CATEGORY and argument in _SPACES:
            codes.add(" ")
        else:
            return _ANYTHING
    return frozenset(codes)


def _seen(code: int) -> str:
    """A character as it is in a view."""
    return _plain(chr(code))


def _literal(string: str) -> str:
    """A string with a space for each end of a word that is one: " no " for "no" between two of them."""
    pieces = string.split(_BOUNDARY)
    text = pieces[0]
    for index, piece in enumerate(pieces[1:], 1):
        after = "".join(pieces[index:])[:1]
        is_end = text.strip() and text[-1] != " " and not after
        is_start = not text and after not in ("", " ")
        text += f" {piece}" if is_end or is_start else piece
    return text


def _better(best: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """The more selective of two sets of literals."""
    literals = frozenset(map(_literal, others))
    return max(best, literals, key=_selectivity) if _selectivity(literals)[0] > 0 else best


def _selectivity(literals: frozenset[str]) -> tuple[int, int]:
    if not 0 < len(literals) <= _MOST_LITERALS:
        return 0, 0
    least = min(len(word) if word.isascii() else _FEWEST_CHARS + len(word.strip()) for word in literals)
    return (least, -len(literals)) if least >= _FEWEST_CHARS else (0, 0)
