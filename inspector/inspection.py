"""The one road from a trace to everything that can be said about it."""

from dataclasses import dataclass

from inspector.chain.steps import Chain
from inspector.diagnostics import Diagnostic
from inspector.model import Span, ToolCall, ToolDefinition, ToolResult


@dataclass(frozen=True, slots=True)
class PartInspection:
    """What one part of one turn holds. `turn` counts from 1; the spans tile the part's text."""

    turn: int
    part: str
    format: str
    spans: tuple[Span, ...]
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    definitions: tuple[ToolDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class Inspection:
    """Everything derived from a trace by one version of weaklink: disposable, made again at any time.

    `format` is the wire dialect that the trace was read in; `parts` come in the order of turns and parts;
    `diagnostics` in the order of their places.
    """

    version: str
    format: str
    parts: tuple[PartInspection, ...]
    chain: Chain
    diagnostics: tuple[Diagnostic, ...]
