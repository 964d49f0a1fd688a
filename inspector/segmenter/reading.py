"""What the text of one span turned out to hold, once it was read."""

import msgspec

from inspector.diagnostics import Fault
from inspector.model import Span, ToolCall, ToolDefinition, ToolResult


class Reading(msgspec.Struct, frozen=True):
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
