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
    return [*_keys(text, plain), *_introduced(text, plain.lower())]


def certain_to(text: str) -> int:
    """Where the characters at the text's end begin that may turn out to be secret when it goes on; its length if none.

    Nothing more than `TAIL` before the end is looked at.
    """
    start = max(len(text) - TAIL, 0)
    tail = text[start:]
    plain = tail.encode("ascii", "replace")
    word = plain.translate(_RUNS).rfind(b" ") + 1
    ends = [found.end() for found in _open_keys().finditer(tail, word)]
    lowered = plain.lower()
    for shape in INTRODUCED:
        ends += (open_.start(1) for at in _places(lowered, shape.sign) if (open_ := _open(shape).match(tail, at)))
    return start + min(ends, default=len(tail))


def _keys(text: str, plain: bytes) -> Iterator[Secret]:
    runs = plain.translate(_RUNS)
    at = runs.find(_RUN)
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(runs) if end < 0 else end
        for found in _whole_keys().finditer(text, at, end):
            assert found.lastindex is not None
            yield Secret(found.start(), *found.span(found.lastindex))
        at = runs.find(_RUN, end)


def _introduced(text: str, lowered: bytes) -> Iterator[Secret]:
    for shape in INTRODUCED:
        for at in _places(lowered, shape.sign):
            if found := _whole(shape).match(text, at):
                yield Secret(at, *found.span(1))


def _places(lowered: bytes, sign: str) -> Iterator[int]:
    wanted = sign.encode()
    at = lowered.find(wanted)
    while at >= 0:
        yield at
        at = lowered.find(wanted, at + 1)


@cache
def _whole_keys() -> re.Pattern[str]:
    ways = "|".join(f"{re.escape(one.prefix)}({one.secret}{{{one.at_least},}})" for one in KEYS)
    return re.compile(f"(?<![A-Za-z0-9])(?:{ways})")


@cache
def _open_keys() -> re.Pattern[str]:
    ways = "|".join(rf"{re.escape(one.prefix)}(?={one.secret}{{0,{one.at_least - 1}}}\Z)" for one in KEYS)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{ways})")


@cache
def _whole(shape: Introduced) -> re.Pattern[str]:
    return re.compile(f"(?i:{shape.pattern}{shape.unless})({shape.secret}{{{shape.at_least},}}){shape.then}")


@cache
def _open(shape: Introduced) -> re.Pattern[str]:
    most = _LONGEST_PASSWORD if shape.then else shape.at_least + _SURPLUS
    return re.compile(rf"(?i:{shape.pattern})({shape.secret}{{0,{most}}})\Z")
