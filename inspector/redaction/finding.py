"""Finds secrets in a text by the tables of shapes, and says where a text that goes on may yet become one.

Most texts hold none, so all is built to see that fast: one pass turns the text into ASCII bytes with the same offsets;
keys need a long run of key characters, which one search finds; the words that introduce secrets are searched one by
one, and a regular expression is only tried where something was found.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from inspector.redaction.shapes import INTRODUCED, KEYS, SHORTEST_KEY, Introduced

TAIL = 768
"""Code points: what precedes a text's end by more is not the beginning of a secret that has not yet shown itself."""

_RUN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_RUNS = bytes(97 if byte in _RUN_CHARACTERS else 32 for byte in range(256))
_RUN = b"a" * SHORTEST_KEY
_SURPLUS = 10  # a run longer than it must be may still be no secret, by a word that it must not begin with
_LONGEST_PASSWORD = 256


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret from `start` to `end`; its introduction begins at `introduced`. Code points of one text."""

    introduced: int
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text; they may overlap, and come in no order. Linear in the text."""
    plain = text.encode("ascii", "replace")
    return [*_keys(text, plain.translate(_RUNS)), *_introduced(plain.lower().decode("ascii"))]


def certain_to(text: str) -> int:
    """Where the characters at the text's end begin that may turn out to be secret when it goes on; its length if none.

    Nothing more than `TAIL` before the end is looked at.
    """
    start = max(len(text) - TAIL, 0)
    tail = text[start:]
    plain = tail.encode("ascii", "replace")
    word = plain.translate(_RUNS).rfind(b" ") + 1
    ends = [found.end() for found in _open_keys().finditer(tail, word)]
    lowered = plain.lower().decode("ascii")
    for shape in INTRODUCED:
        ends += (found.start(1) for found in _open(shape).finditer(lowered))
    return start + min(ends, default=len(tail))


def _keys(text: str, runs: bytes) -> Iterator[Secret]:
    at = runs.find(_RUN)
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(runs) if end < 0 else end
        for found in _whole_keys().finditer(text, at, end):
            assert found.lastindex is not None
            yield Secret(found.start(), *found.span(found.lastindex))
        at = runs.find(_RUN, end)


def _introduced(lowered: str) -> Iterator[Secret]:
    for shape in INTRODUCED:
        if shape.sign in lowered:
            for found in _whole(shape).finditer(lowered):
                yield Secret(found.start(), *found.span(1))


@cache
def _whole_keys() -> re.Pattern[str]:
    ways = "|".join(f"{re.escape(one.prefix)}{one.unless}({one.secret}{{{one.at_least},}})" for one in KEYS)
    return re.compile(f"(?<![A-Za-z0-9*])(?:{ways})")


@cache
def _open_keys() -> re.Pattern[str]:
    ways = "|".join(rf"{re.escape(one.prefix)}(?={one.secret}{{0,{one.at_least - 1}}}\Z)" for one in KEYS)
    return re.compile(rf"(?<![A-Za-z0-9*])(?:{ways})")


# Each begins with a plain text, which is searched much faster than a set of characters.
@cache
def _whole(shape: Introduced) -> re.Pattern[str]:
    secret = f"({shape.secret}{{{shape.at_least},}}){shape.then}"
    return re.compile(f"{re.escape(shape.sign)}{shape.pattern}{shape.unless}{secret}", re.DOTALL)


@cache
def _open(shape: Introduced) -> re.Pattern[str]:
    most = _LONGEST_PASSWORD if shape.then else shape.at_least + _SURPLUS
    return re.compile(rf"{re.escape(shape.sign)}{shape.pattern}({shape.secret}{{0,{most}}})\Z", re.DOTALL)
