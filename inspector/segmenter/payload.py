"""Kinds of payload: text with a syntax of its own, in whose strings markers are data and whose end can be known."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol

from inspector.json_scanner.tracker import JsonTracker, ends_within_string
from inspector.model import ToolCall


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


@dataclass(frozen=True, slots=True)
class Payload:
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


_SPACE = re.compile(r"[ \t\n\r]*")
_USUAL_SIZE = 65_536
"""Most values are smaller, in code points."""


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
