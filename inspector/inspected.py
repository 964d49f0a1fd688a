"""What an inspection says of a trace, as values: apart from what makes them, which takes longer to load than a list."""

from msgspec import Struct

from inspector.chain.steps import Chain
from inspector.diagnostics import Diagnostic
from inspector.model import Span, ToolCall, ToolDefinition, ToolResult
from inspector.model.columns import Entries


class PartInspection(Struct, frozen=True):
    """What one part of one turn holds. `turn` counts from 1; the spans tile the part's text."""

    turn: int
    part: str
    format: str
    spans: Entries[Span]
    calls: Entries[ToolCall] = ()
    results: Entries[ToolResult] = ()
    definitions: tuple[ToolDefinition, ...] = ()


class Inspection(Struct, frozen=True):
    """Everything derived from a trace by one version of weaklink: disposable, made again at any time.

    `format` is the wire dialect that the trace was read in; `parts` come in the order of turns and parts;
    `diagnostics` in the order of their places.
    """

    version: str
    format: str
    parts: Entries[PartInspection]
    chain: Chain
    diagnostics: Entries[Diagnostic]
