"""The events that a parser reports while it reads, the parsed content of a closed span, and the kinds of payload.

A payload is text with its own syntax, in whose strings a marker is data: until the payload is complete, a marker in it
is ambiguous. The events are msgspec structures, not dataclasses: several are created for every span of every stream.
"""

import json
import re
from collections.abc import Callable
from typing import NoReturn, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_scanner.tracker import JsonTracker, ends_within_string
from weaklink.inspector.model import Decoded, Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.text import Range

_SPACE = re.compile(r"[ \t\n\r]*")
_USUAL_SIZE = 65_536
"""The size, in code points, that most values do not exceed."""
AMBIGUITY_LIMIT = 65_536
"""The maximum number of code points that the machine holds back to resolve an ambiguous marker."""


class ParseResult(msgspec.Struct, frozen=True):
    """The parsed content of a span. `complete` says that it is whole, with or without its closing marker.

    `open_ended` says that a stream ended where the content may be whole, or may go on: only its marker would show it.
    `decoded` is the text that the span's inner text encodes, if the two differ (as in a JSON string).
    """

    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    definitions: tuple[ToolDefinition, ...] = ()
    children: tuple[Span, ...] = ()
    faults: tuple[Fault, ...] = ()
    complete: bool = False
    decoded: str | None = None
    open_ended: bool = False

    def moved(self, distance: int) -> "ParseResult":
        """The same calls and faults in a text that begins `distance` code points later; the faults are sorted."""
        return msgspec.structs.replace(
            self,
            calls=tuple(call.moved(distance) for call in self.calls),
            faults=tuple(fault.moved(distance) for fault in sorted(self.faults, key=_fault_range)),
        )

    def recovered(self, *faults: Fault) -> "ParseResult":
        """The same reading after further faults of the whole: its calls are not valid, and recovered if they were."""
        calls = (
            msgspec.structs.replace(call, valid=False, recovered=call.valid or call.recovered) for call in self.calls
        )
        return msgspec.structs.replace(self, calls=tuple(calls), faults=(*faults, *self.faults))


def _fault_range(fault: Fault) -> Range:
    return fault.range


class SpanOpened(msgspec.Struct, frozen=True):
    """A span begins at `start`; its inner text begins at `inner_start`, after the marker that opened it."""

    kind: SpanKind
    start: int
    inner_start: int
    label: str


class SpanExtended(msgspec.Struct, frozen=True):
    """Text that was held back belongs to the open span, which now reaches at least to `end`.

    Text that is not held back belongs to the open span as soon as it is fed, without an event.
    """

    end: int


class SpanClosed(msgspec.Struct, frozen=True):
    """The open span has ended. `inner_text` is the text of its inner range.

    `wanted` is the missing closing marker, "" if the span was closed properly. If it is missing, `ended_by` is the
    marker that cut the span off and `ended_at` its range; both are empty if the stream ended. `call` is the single call
    of a payload that was already read while its end was searched (see `Payload.read_whole`). `by_model` is False if the
    span is in a turn that the model did not write. `reading` is the content of the span if the parser already knows it,
    so that no reader is called. `decoded` is the decoded text of a text or reasoning span that is a JSON string, mapped
    to its raw characters.
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
    """A marker has a fault."""

    fault: Fault


ParseEvent: TypeAlias = SpanOpened | SpanExtended | SpanClosed | Flagged


class FormatParser(Protocol):
    """A sans-IO parser: one pass over one part's text; never raises, whatever the text."""

    def feed(self, text: str) -> list[ParseEvent]:
        """The events that this chunk makes known; a chunk may end anywhere."""
        ...

    @property
    def certain_to(self) -> int:
        """The position up to which the spans of the text are certain; the open span reaches at least there."""
        ...

    def close(self) -> list[ParseEvent]:
        """The events that the end of the text makes known. Feeding a closed parser is not allowed."""
        ...


SpanReader: TypeAlias = Callable[[SpanClosed], ParseResult]
"""Reads a closed span; ranges in its result are offsets in the whole text. It never raises."""


class Follower(Protocol):
    """Tracks a payload strictly, chunk by chunk; a chunk may end anywhere.

    `broken`: it met a character that no such payload can contain there. `in_string`: a string, or whatever the syntax
    has for data that may contain markers, is open. `completed`: the last `feed` stopped right after a complete value.
    """

    broken: bool
    in_string: bool
    completed: bool

    def feed(self, text: str, start: int = 0, end: int | None = None, /) -> int:
        """Read more of `text`, from `start` up to `end`; returns the index after the last character read.

        Stops early right after a complete value, and at the character that breaks the payload, which is not read.
        """
        ...


class Payload(Struct, frozen=True):
    """One kind of payload.

    `follower` creates a follower that has read nothing. `shortcut`, if there is one, returns what `ends_within` does,
    faster than a follower. `read_whole` reads a payload whose text begins at an offset, if it is whole and has no fault
    (then no marker in it is ambiguous), else returns None. `whole_end` returns the end of a whole value that begins at
    an index (-1 if there is none): a shortcut for a follower. `ends` are the characters that a value may end with; no
    value is complete before one of them comes.
    """

    follower: Callable[[], Follower]
    shortcut: Callable[[str], bool] | None = None
    read_whole: Callable[[str, int], ToolCall | None] | None = None
    whole_end: Callable[[str, int], int] | None = None
    ends: str = ""

    def ends_within(self, text: str) -> bool:
        """Whether a text, from the payload's beginning on, ends within a string."""
        if self.shortcut is not None:
            return self.shortcut(text)
        follower = self.follower()
        read_on(follower, text)
        return follower.in_string


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def json_value_end(text: str, start: int) -> int:
    """The end of the JSON object or array that begins at `start`, white space skipped; -1 if there is none."""
    first = _SPACE.match(text, start)
    value_start = first.end() if first is not None else start
    if text[value_start : value_start + 1] not in ("{", "["):
        return -1
    try:
        return value_start + _decoder.raw_decode(text[value_start : value_start + _USUAL_SIZE])[1]
    except RecursionError:
        return -1
    except json.JSONDecodeError as error:
        # An error counts the lines before it, so the whole text is not passed; only a value cut short is tried again.
        is_cut = len(text) > value_start + _USUAL_SIZE and (
            error.pos >= _USUAL_SIZE - 16 or error.msg.startswith("Unterm")
        )
        if not is_cut:
            return -1
    except ValueError:
        return -1
    try:
        return _decoder.raw_decode(text, value_start)[1]
    except (ValueError, RecursionError):
        return -1


JSON = Payload(JsonTracker, ends_within_string, whole_end=json_value_end, ends="}]")
"""A JSON payload."""


def read_on(follower: Follower, text: str) -> None:
    """Let `follower` read all of `text`, past the ends of complete values, or up to the character that breaks it."""
    pos = 0
    while pos < len(text) and not follower.broken:
        pos = follower.feed(text, pos)


class Ambiguity:
    """A marker at `marker_at` in the whole text, within a string of a payload that `follower` has read up to there.

    The text from `marker_at` on was read up to `read_to`.
    """

    __slots__ = ("_follower", "marker_at", "read_to")

    def __init__(self, marker_at: int, follower: Follower) -> None:
        self.marker_at = self.read_to = marker_at
        self._follower = follower

    def read(self, text: str, start: int, *, final: bool) -> bool | None:
        """Read more of `text`, from `start`; returns whether the marker is data, or None while that is not known.

        It is data if the payload's value completes. It counts as a marker if a character comes that no JSON can
        contain, after AMBIGUITY_LIMIT code points, or if the text is `final`, so that nothing follows.
        """
        limit = start + self.marker_at + AMBIGUITY_LIMIT - self.read_to
        read = self._follower.feed(text, start, min(len(text), limit))
        self.read_to += read - start
        if self._follower.completed:
            return True
        return False if self._follower.broken or read == limit or final else None
