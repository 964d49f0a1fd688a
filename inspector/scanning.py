r"""Searches in linear time and constant memory: the end of a string, of a JSON value, of a repeated pattern.

Why not one regular expression: `(?:[^"\\]++|\\.)*+"` matches a string, but before Python 3.11.5 a possessive repeat of
more than one character matches wrongly (CPython issues 106052 and 100061), and one that contains groups raises
SystemError in later versions too (issue 101955; 3.13.0, for example). A greedy repeat is right everywhere but keeps
some 60 bytes for each round while it matches. So a pattern repeats anything longer than one character at most
`MAX_ROUNDS` times, and the functions here continue from there. A test forbids the constructs
(tests/test_patterns.py).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import AnyStr, cast

MAX_ROUNDS = 1000
"""Bound on the greedy repeats of a fast path; a longer text takes the slow path."""
_BACKSLASHES: frozenset[str | bytes] = frozenset(("\\", b"\\"))


def closing_quote(text: AnyStr, quote: AnyStr, start: int, end: int) -> int:
    """The position of the first `quote` in the range that no backslash in the range escapes; -1 if there is none."""
    position = text.find(quote, start, end)
    while position >= 0 and trailing_backslashes(text, start, position) & 1:
        position = text.find(quote, position + 1, end)
    return position


def trailing_backslashes(text: AnyStr, start: int, end: int) -> int:
    """The number of consecutive backslashes at the end of the range from `start` to `end`."""
    first = end
    while first > start and text[first - 1 : first] in _BACKSLASHES:
        first -= 1
    return end - first


_BRACKET_OR_QUOTE = re.compile(r'["{}\[\]]')


class BracketCounter:
    """Counts the open brackets of one value. It does not check them: a closer of any kind closes one."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_escape = False
        self.in_string = False
        """Whether a string is open."""
        self.begun = False
        """Whether a bracket was read."""
        self.opened_at = 0
        """The position of the first opening bracket in the text that had it."""

    @property
    def complete(self) -> bool:
        """Whether there was a bracket, and all are closed."""
        return self.begun and not self._depth

    def feed(self, text: str, position: int = 0, end: int | None = None) -> int:
        """Read `text` from `position` to `end`; the position after its last bracket, -1 if it continues."""
        end = len(text) if end is None else end
        if self._is_escape and position < end:
            position, self._is_escape = position + 1, False
        while position < end:
            if self.in_string:
                last = closing_quote(text, '"', position, end)
                if last >= 0:
                    self.in_string, position = False, last + 1
                    continue
                self._is_escape = bool(trailing_backslashes(text, position, end) & 1)
                return -1
            match = _BRACKET_OR_QUOTE.search(text, position, end)
            if match is None:
                return -1
            position = match.end()
            bracket = match[0]
            if bracket == '"':
                self.in_string = True
            elif bracket in "{[":
                self._depth += 1
                self.opened_at = self.opened_at if self.begun else position - 1
                self.begun = True
            elif self._depth:
                self._depth -= 1
                if not self._depth:
                    return position
        return -1


class QuoteSearch:
    """Finds closing quotes in one text; does not search a range again that has none.

    Each search must start right after a quote: then whether a quote is escaped does not depend on the start.
    """

    def __init__(self) -> None:
        # For each quote character, the range last searched in vain.
        self._without: dict[str, tuple[int, int]] = {}

    def find(self, text: str, quote: str, start: int, end: int) -> int:
        """See `closing_quote`."""
        first, last = self._without.get(quote, (end, end))
        if first <= start and end <= last:
            return -1
        position = closing_quote(text, quote, start, end)
        if position < 0:
            self._without[quote] = start, end
        return position


def repeated(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """A repeated pattern for `end_of_repeats`. The first match of a round must be right: there is no backtracking."""
    return lazy_pattern(rf"(?:{pattern}){{1,{MAX_ROUNDS}}}", flags)


class _LazyPattern:
    """A proxy for a compiled pattern: compiles it at the first use of a method, and takes over its methods."""

    def __init__(self, pattern: str, flags: re.RegexFlag, prepared: Callable[[str], str] = str) -> None:
        self._source = pattern, flags, prepared

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        pattern, flags, prepared = self._source
        compiled = re.compile(prepared(pattern), flags)
        self.__dict__ |= {known: getattr(compiled, known) for known in dir(compiled) if not known.startswith("__")}
        self.__dict__["pattern"] = pattern  # as written
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """A pattern that is compiled (and raises re.error) at its first use.

    For modules that `segment`, `list`, `show`, `check` or `import` load: with `re.compile` in them, `segment` takes 21
    instead of 16 times the CPU time of `python -c pass`, and `check` 44 instead of 25 (November 2026), since a text
    uses few of the patterns. Elsewhere, dialects included, which are imported when a text needs them, use `re.compile`.
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


_SAME_LETTERS = str.maketrans("ıſς", "isσ")


def folded(text: str) -> str:
    """A text of the same length in which letters that `re.IGNORECASE` takes for equal are equal."""
    return text.lower() if text.isascii() else text.replace("İ", "i").lower().translate(_SAME_LETTERS)


class LinePattern:
    """A pattern whose matches are within a line and contain a match of `signs`: only lines with a sign are searched.

    For alternatives that begin at a line's start, at a word's start and anywhere: `re` tries each of them at each
    character, and took a tenth of an inspection (eight agents' sessions, 2026-11-30). Each alternative of `signs`
    begins with a character that is no class, so `re` looks for these only.
    """

    def __init__(self, pattern: str, signs: str) -> None:
        self.pattern = lazy_pattern(pattern, re.MULTILINE)
        self.signs = lazy_pattern(signs)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match in the text, in time linear in it."""
        end = 0
        while (sign := self.signs.search(text, end)) is not None:
            start = text.rfind("\n", end, sign.start()) + 1 or end
            end = text.find("\n", sign.start())
            end = len(text) if end < 0 else end
            match = self.pattern.search(text, start, end)
            if match is not None:
                return match
        return None


def folded_pattern(pattern: str) -> re.Pattern[str]:
    """A lazy pattern, in lower case, for `folded` texts.

    For tables of hundreds of words: with `re.IGNORECASE` they take three times as long, since `re` then tries each
    alternative wherever a word begins, and otherwise only those with the same first letter (November 2026).
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern.translate(_SAME_LETTERS), re.NOFLAG, _with_one_boundary))


def _with_one_boundary(pattern: str) -> str:
    r"""A pattern that asks once whether a word begins, for alternatives in a row that begin with `\b`."""
    rows: list[str | list[str]] = []
    for alternative in _alternatives(pattern):
        begin = _BOUNDARY.match(alternative)
        if begin is None:
            rows.append(alternative)
        elif rows and isinstance(rows[-1], list):
            rows[-1].append(begin[1] + alternative[begin.end() :])
        else:
            rows.append([begin[1] + alternative[begin.end() :]])
    return "|".join(row if isinstance(row, str) else rf"\b(?:{'|'.join(row)})" for row in rows)


_BOUNDARY = re.compile(r"((?:\(\?<![^()]*\))*)\\b")


def folded_words_pattern(words: Iterable[str], others: str) -> re.Pattern[str]:
    """Whether one of many expressions is in a `folded` text: a lazy pattern, in lower case.

    `words` are expressions for whole words, `others` one for what may stand anywhere. What the pattern matches is any
    of several that begin at a place, since they are sorted by their first letter: with 840 of them, `re` then tries one
    in twelve where a word begins, in a sixth of the time (2026-12-01).
    """
    pattern = rf"\b(?:{'|'.join(words)})\b|{others}".translate(_SAME_LETTERS)
    return cast("re.Pattern[str]", _LazyPattern(pattern, re.NOFLAG, _by_first_letter))


def _by_first_letter(pattern: str) -> str:
    words, *others = _alternatives(pattern)
    within = words.removeprefix(r"\b(?:").removesuffix(r")\b")
    return rf"\b(?:{_grouped(_alternatives(within))})\b|{_grouped(others)}"


def _grouped(alternatives: Iterable[str]) -> str:
    """Alternatives, those with the same first letter together, and those with one beyond ASCII behind one question."""
    rests: dict[str, list[str]] = {}
    others: list[str] = []
    for alternative in alternatives:
        if _BEGINS_WITH_LETTER.match(alternative) is not None:
            rests.setdefault(alternative[0], []).append(alternative[1:])
        else:
            others.append(alternative)
    groups = [f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items()]
    near = [group for group in groups if group[0].isascii()]
    foreign = "|".join(group for group in groups if not group[0].isascii())
    return "|".join([*near, *others, *([rf"(?=[^\x00-\x7f])(?:{foreign})"] if foreign else [])])


_BEGINS_WITH_LETTER = re.compile(r"[^\W\d_](?![*+?{])")
_PIECE_OF_PATTERN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]")


def _alternatives(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern that are in no group."""
    start = depth = 0
    for piece in _PIECE_OF_PATTERN.finditer(pattern):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "|" and not depth:
            yield pattern[start : piece.start()]
            start = piece.end()
    yield pattern[start:]


def one_of(words: Iterable[str]) -> str:
    """A pattern of words, longest first, grouped by first character: `re` rejects most positions at once."""
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in sorted(groups.items()))


def end_of_repeats(repeats: re.Pattern[str], text: str, start: int, end: int) -> int:
    """The end of the last round that matches, beginning at `start`; `start` if none matches."""
    while (match := repeats.match(text, start, end)) is not None and match.end() > start:
        start = match.end()
    return start
