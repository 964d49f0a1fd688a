"""The search terms for an argument's value: its spellings as word sequences, and the names and ids within it."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.scanning import lazy_pattern

# Searched for within a longer text: ids, paths, addresses and numbers; the words between them are the agent's own.
# A run of characters with a digit, a slash or an at sign is a group; a run without one is read, too, so that no part of
# it is tried again.
_RUN = lazy_pattern(r"([^\s\"'`<>()\[\]{},;|&=\d/@]*+[\d/@][^\s\"'`<>()\[\]{},;|&=]*+)|[^\s\"'`<>()\[\]{},;|&=]++")
_ATOM_SIGN = lazy_pattern(r"[\d/@]")
_MAY_HAVE_PARTS = lazy_pattern(r"[\d/@,;\n]")
_MAX_RUNS = 50

# `Tokyo, Japan` where the user said Tokyo: the names between commas, each searched for separately.
_NAMES = lazy_pattern(r"(?:^|[,;\n])\s*([^\W_a-z][^,;\n]{2,60}?)\s*(?=[,;\n]|$)")
_MAX_NAMES = 8
_MAX_WHOLE_CHARS = 400
_MAX_SEARCHED_CHARS = 20_000
_MIN_TERM_CHARS = 3

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

_THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3}(?!\d))")
_DIGIT = lazy_pattern(r"\d")

# Chinese, Japanese and Korean write no spaces: each of their characters counts as a word.
_WORD = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_NAME = lazy_pattern(r"\w+")
_BEYOND_ASCII = lazy_pattern(r"[^\x00-\x7f]")
_ISO_DATE = lazy_pattern(r"(\d{4})-(\d\d)-(\d\d)(?=$|[T ])")
_MAX_SYMBOLS = 8  # different ones, each of which is replaced in the whole text
_MAX_WORDS = 64  # words of one value that are compared
_MAX_DEPTH = 64
_FEW = 999.99  # smaller numbers have no commas, also with two decimal places
_LARGEST = 10**15  # larger numbers have no other spellings
_MAX_LEAVES = 2_000
Spellings: TypeAlias = tuple[tuple[str, ...], ...]
"""The word sequences by which one value may be written in a text, the plainest first."""


class ProvenanceTerm(Struct, frozen=True):
    """One value in a call's arguments; `pointer` is its JSON Pointer there.

    `whole` are its spellings; empty if it is too long to occur verbatim, or `is_trivial`: a boolean, null, or of fewer
    than three characters. `parts` are pieces of a text with their spellings, in its order.
    """

    pointer: str
    value: Json
    whole: Spellings = ()
    parts: tuple[tuple[str, Spellings], ...] = ()
    is_trivial: bool = False


@memoized
def provenance_terms(call: ToolCall) -> tuple[ProvenanceTerm, ...]:
    """The search terms of each value of a call, in the order of its arguments; a plain text is one value."""
    if isinstance(call.arguments, str):
        return (_terms_of("", call.arguments),)
    if isinstance(call.arguments, (dict, list)):
        return tuple([_terms_of(pointer, value) for pointer, value in leaves(call.arguments)])
    return ()


def words_of(terms: Iterable[ProvenanceTerm]) -> frozenset[str]:
    """Every word to search for."""
    words: set[str] = set()
    for term in terms:
        words.update(*term.whole)
        for _, spelled in term.parts:
            words.update(*spelled)
    return frozenset(words)


def _terms_of(pointer: str, value: Json) -> ProvenanceTerm:
    if value is None or isinstance(value, (bool, dict, list)) or _is_short(str(value).strip()):
        return ProvenanceTerm(pointer, value, is_trivial=True)
    if not isinstance(value, str):
        return ProvenanceTerm(pointer, value, spellings(value))
    whole = spellings(value) if len(value) <= _MAX_WHOLE_CHARS else ()
    if not _MAY_HAVE_PARTS.search(value):
        return ProvenanceTerm(pointer, value, whole)
    pieces = dict.fromkeys((*_names(value), *_atoms(value)))
    return ProvenanceTerm(pointer, value, whole, tuple([(piece, spellings(piece)) for piece in pieces]))


def _is_short(text: str) -> bool:
    """Whether a text is too short to find its origin; two characters of Chinese are a word."""
    return not text or (len(text) < _MIN_TERM_CHARS and text.isascii())


def _names(value: str) -> Iterator[str]:
    if len(value) <= _MAX_WHOLE_CHARS and ("," in value or ";" in value or "\n" in value):
        yield from (match[1] for match in islice(_NAMES.finditer(value), _MAX_NAMES))


def _atoms(value: str) -> Iterator[str]:
    text = value[:_MAX_SEARCHED_CHARS]
    if not _ATOM_SIGN.search(text):
        return
    for run in islice(filter(None, _RUN.findall(text)), _MAX_RUNS):
        if len(run) >= _MIN_TERM_CHARS and run != value:
            yield run.strip(".:!?-")


_APART = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)
_TOGETHER = _APART[: ord("_")] + b"_" + _APART[ord("_") + 1 :]


def folded_words(text: str) -> list[str]:
    """Each word of `text`, folded, in its order; an underscore separates words."""
    if (plain := _without_symbols(text)) is not None:
        return _split(plain, _APART)
    return [word.casefold() for word in _WORD.findall(text)]


def folded_names(text: str) -> list[str]:
    """Each run of letters, digits and underscores in `text`, folded, in its order."""
    if (plain := _without_symbols(text)) is not None:
        return _split(plain, _TOGETHER)
    return [name.casefold() for name in _NAME.findall(text)]


def spaced_words(text: str) -> str:
    """The words of `folded_words` with a blank for each character between them; "" for a text with other letters."""
    plain = _without_symbols(text)
    return "" if plain is None else _spaced(plain, _APART)


def _without_symbols(text: str) -> str | None:
    """A text in ASCII with the same words: with spaces for its other symbols, such as arrows; None if it has letters.

    Splitting it takes a fifth of the time (2026-11-29), and agents print files with arrows behind their numbers.
    """
    for _ in range(_MAX_SYMBOLS):
        if text.isascii():
            return text
        symbol = _BEYOND_ASCII.search(text)
        if symbol is None or symbol[0].isalnum():
            return None
        text = text.replace(symbol[0], " ")
    return text if text.isascii() else None


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each of the words of `folded_words`."""
    return map(re.Match.span, _WORD.finditer(text))


def spellings(value: str | int | float | Decimal) -> Spellings:
    """The word sequences by which a value may be written in a text, each once, the plainest first."""
    if isinstance(value, str):
        plain = _words(value)
        others = _other_spellings(value) if _DIGIT.search(value) else ()
    elif type(value) is int and -_LARGEST < value < _LARGEST:
        return _whole_number_spellings(str(abs(value)))
    elif type(value) is float and 0.0001 <= value < _FEW:
        return _fraction_spellings(value)
    else:
        plain, others = _words(_number(value)), _number_spellings(value)
    spelled = (plain, *others) if plain else tuple(others)
    return spelled if len(spelled) < 2 else tuple(dict.fromkeys(spelled))


def leaves(value: Json) -> list[tuple[str, Json]]:
    """Every leaf of a JSON value with its JSON Pointer, in order; at most 2,000, up to 64 levels deep."""
    pairs: list[tuple[str, Json]] = []
    _add_leaves(value, "", 0, pairs)
    return pairs


def _split(text: str, table: bytes) -> list[str]:
    """An ASCII text split where `table` has a blank: three times as fast as a regular expression."""
    return _spaced(text, table).split()


def _spaced(text: str, table: bytes) -> str:
    return text.encode("ascii").translate(table).decode("ascii")


def _add_leaves(value: Json, pointer: str, depth: int, pairs: list[tuple[str, Json]]) -> None:
    if depth > _MAX_DEPTH or len(pairs) >= _MAX_LEAVES:
        return
    if isinstance(value, dict):
        for key, member in value.items():
            name = key.replace("~", "~0").replace("/", "~1") if "/" in key or "~" in key else key
            _add_leaves(member, f"{pointer}/{name}", depth + 1, pairs)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _add_leaves(item, f"{pointer}/{index}", depth + 1, pairs)
    else:
        pairs.append((pointer, value))


def _words(text: str) -> tuple[str, ...]:
    if text.isascii():
        return tuple(_split(text, _APART)[:_MAX_WORDS])
    return tuple(match[0].casefold() for match in islice(_WORD.finditer(text), _MAX_WORDS))


def _number(value: int | float | Decimal) -> str:
    return (
        str(int(value))
        if isinstance(value, float) and value.is_integer() and -_LARGEST < value < _LARGEST
        else str(value)
    )


def _whole_number_spellings(digits: str) -> Spellings:
    """The spellings of a whole number: alone, with commas between thousands, and each with two decimal places."""
    if len(digits) < 4:
        return (digits,), (digits, "00")
    grouped = tuple(f"{int(digits):,}".split(","))
    return (digits,), grouped, (digits, "00"), (*grouped, "00")


def _fraction_spellings(value: float) -> Spellings:
    """The spellings of a number without an exponent and without thousands."""
    whole, _, places = repr(value).partition(".")
    rounded = tuple(f"{value:.2f}".split("."))
    spelled: Spellings = ((whole,) if places == "0" else (whole, places)), rounded
    if value < 1:  # a share given in percent
        spelled = (*spelled, tuple(f"{value * 100:g}".split(".")))
    return spelled if len(set(spelled)) == len(spelled) else tuple(dict.fromkeys(spelled))


def _other_spellings(value: str) -> Iterator[tuple[str, ...]]:
    """The other spellings of a text with a digit: its numbers without commas, or a date."""
    if (joined := _THOUSANDS.sub("", value)) != value:
        yield _words(joined)
    elif date := _ISO_DATE.match(value):
        yield from _date_spellings(int(date[1]), int(date[2]), int(date[3]))


def _number_spellings(value: int | float | Decimal) -> Iterator[tuple[str, ...]]:
    if not -_LARGEST < value < _LARGEST:
        return
    yield _words(f"{value:,}".removesuffix(".0"))
    yield _words(f"{value:.2f}")
    yield _words(f"{value:,.2f}")
    if not isinstance(value, int) and 0 < value < 1:
        yield _words(f"{value * 100:g}")  # a share given in percent


def _date_spellings(year: int, month: int, day: int) -> Iterator[tuple[str, ...]]:
    if not 1 <= month <= 12:
        return
    name = _MONTHS[month - 1]
    for spelled in (name, name[:3]):
        for numbered in (str(day), f"{day:02}", f"{day}{_ordinal(day)}"):
            yield spelled, numbered
            yield numbered, spelled
            yield numbered, "of", spelled
    for first, second in ((month, day), (day, month)):
        yield str(first), str(second)
        yield f"{first:02}", f"{second:02}"
    yield str(year), f"{month:02}", f"{day:02}"


def _ordinal(day: int) -> str:
    return "th" if 10 < day % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
