"""Payload kinds: text with a syntax of its own, in whose strings a marker is data, and its ambiguity until then."""

import json
import re
from collections.abc import Callable
from typing import NoReturn, Protocol

from msgspec import Struct

from inspector.json_scanner.tracker import JsonTracker, ends_within_string
from inspector.model import ToolCall

_SPACE = re.compile(r"[ \t\n\r]*")
_USUAL_SIZE = 65_536
"""Most values are smaller, in code points."""

DOUBT_LIMIT = 65_536
"""How many code points a doubtful marker may keep the machine waiting."""


class Follower(Protocol):
    """Follows a payload strictly, piece by piece, cut anywhere.

    `broken`: it met a character that no such payload can hold there. `in_string`: a string, or whatever the syntax has
    for data that may hold markers, is open. `completed`: the last `feed` stopped right behind a complete value.
    """

    broken: bool
    in_string: bool
    completed: bool

    def feed(self, text: str, start: int = 0, end: int | None = None, /) -> int:
        """Read on in `text` from `start` up to `end`; the index behind the last character read.

        Stops early right behind a complete value, and at the character that breaks the payload, which is not read.
        """
        ...


class Payload(Struct, frozen=True):
    """One kind of payload.

    `follower` makes one that has read nothing. `ends_within` says whether a text, from the payload's beginning on,
    ends within a string: a quick answer to what a follower would say. `read_whole` reads a payload whose text begins at
    an offset, if it is whole and in perfect order (then no marker in it is in doubt), else gives None. `whole_end`
    finds, from an index on, the end of a whole value (-1 where there is none): a fast way for what a follower would
    say. `ends` are the characters that a value may end with; a follower need not be asked before one of them comes.
    """

    follower: Callable[[], Follower]
    ends_within: Callable[[str], bool]
    read_whole: Callable[[str, int], ToolCall | None] | None = None
    whole_end: Callable[[str, int], int] | None = None
    ends: str = ""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def json_value_end(text: str, start: int) -> int:
    """The end of the JSON object or array that begins at `start`, white space skipped; -1 where there is none."""
    first = _SPACE.match(text, start)
    at = first.end() if first is not None else start
    if text[at : at + 1] not in ("{", "["):
        return -1
    try:
        return at + _decoder.raw_decode(text[at : at + _USUAL_SIZE])[1]
    except RecursionError:
        return -1
    except json.JSONDecodeError as error:
        # An error counts the lines before it, so it must not see the whole text; only a value cut short is tried again.
        is_cut = len(text) > at + _USUAL_SIZE and (error.pos >= _USUAL_SIZE - 16 or error.msg.startswith("Unterm"))
        if not is_cut:
            return -1
    except ValueError:
        return -1
    try:
        return _decoder.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return -1


JSON = Payload(JsonTracker, ends_within_string, whole_end=json_value_end, ends="}]")
"""A payload of JSON."""


def read_on(follower: Follower, text: str) -> None:
    """Let `follower` read all of `text`, over the ends of complete values, or up to what breaks it."""
    at = 0
    while at < len(text) and not follower.broken:
        at = follower.feed(text, at)


class Ambiguity:
    """The marker stands at `at` in the whole text, within a string of a payload that `follower` has read up to there.

    The text from `at` on was read up to `read_to`.
    """

    __slots__ = ("_follower", "at", "read_to")

    def __init__(self, at: int, follower: Follower) -> None:
        self.at = self.read_to = at
        self._follower = follower

    def read(self, text: str, start: int, *, final: bool) -> bool | None:
        """Read on in `text` from `start`; whether the marker is data, or None while that is not known.

        It is data if the payload's value completes, and counts if a character comes that no JSON can hold, if
        DOUBT_LIMIT code points have passed, or if the text is `final`, so that nothing follows.
        """
        limit = start + self.at + DOUBT_LIMIT - self.read_to
        read = self._follower.feed(text, start, min(len(text), limit))
        self.read_to += read - start
        if self._follower.completed:
            return True
        return False if self._follower.broken or read == limit or final else None
