"""What a parser reports while it reads, and what the text of a closed span turned out to contain.

The events are msgspec structures and no dataclasses: several are made for every span of every stream.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from inspector.diagnostics import Fault
from inspector.model import Decoded, Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from inspector.text import Range


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
