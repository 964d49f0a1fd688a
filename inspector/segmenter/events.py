"""What a parser reports while it reads, and what the text of a closed span turned out to contain; payload kinds.

A payload is text with a syntax of its own, in whose strings a marker is data: until it is complete, a marker in it is
ambiguous. The events are msgspec structures and no dataclasses: several are made for every span of every stream.
"""

import json
import re
from collections.abc import Callable
from typing import NoReturn, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from inspector.diagnostics import Fault
from inspector.json_scanner.tracker import JsonTracker, ends_within_string
from inspector.model import Decoded, Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from inspector.text import Range

_SPACE = re.compile(r"[ \t\n\r]*")
_USUAL_SIZE = 65_536
"""Most values are smaller, in code points."""
DOUBT_LIMIT = 65_536
"""How many code points a doubtful marker may keep the machine waiting."""


class ParseResult(msgspec.Struct, frozen=True):
    """The content of a span. `complete` says that it is whole, whatever became of its closing marker.

    `decoded` is the text that the span's inner text stands for, where it is not that text itself (a JSON string's).
    """

    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    definitions: tuple[ToolDefinition, ...] = ()
    children: tuple[Span, ...] = ()
    faults: tuple[Fault, ...] = ()
    complete: bool = False
    decoded: str | None = None


class SpanOpened(msgspec.Struct, frozen=True):
    """A span begins at `start`; its inner text begins at `inner_start`, behind the marker that opened it."""

    kind: SpanKind
    start: int
    inner_start: int
    label: str


class SpanExtended(msgspec.Struct, frozen=True):
    """Text that was held back turned out to belong to the open span, which now reaches at least to `end`.

    Text that is not held back belongs to the open span as soon as it is fed, and gives no event.
    """

    end: int


class SpanClosed(msgspec.Struct, frozen=True):
    """The open span is complete. `inner_text` is the text of its inner range.

    `wanted` is the closing marker that did not come, "" where the span closed as it should. `ended_by` is then the
    marker that cut the span off, and `ended_at` its place; both are empty where the stream ended. `call` is the one
    call of a payload that was read already, when its end was looked for (see `Payload.read_whole`). `by_model` is False
    where the span stands in the turn of somebody else than the model. `reading` is what the span holds, where the
    parser knows it already and no reader is to be asked; `decoded` the words of a text or of reasoning that stand in a
    JSON string, and lead back to its raw characters.
    """

    span: Span
    inner_text: str
    wanted: str = ""
    ended_by: str = ""
    ended_at: Range | None = None
    call: ToolCall | None = None
    by_model: bool = True
    reading: ParseResult | None = None
    decoded: Decoded | None = None


class Flagged(msgspec.Struct, frozen=True):
    """The marker layer has a fault."""

    fault: Fault


ParseEvent: TypeAlias = SpanOpened | SpanExtended | SpanClosed | Flagged


class FormatParser(Protocol):
    """Sans-IO, one pass over one part's text; never raises, whatever the text."""

    def feed(self, text: str) -> list[ParseEvent]:
        """What became known with this piece, which may be cut anywhere."""
        ...

    @property
    def certain_to(self) -> int:
        """How far into the text it is certain what everything is; the open span reaches at least there."""
        ...

    def close(self) -> list[ParseEvent]:
        """What the end of the text makes known. Feeding a closed parser is not allowed."""
        ...


SpanReader: TypeAlias = Callable[[SpanClosed], ParseResult]
"""Reads a closed span; ranges in what it gives are offsets in the whole text. It never raises."""


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
