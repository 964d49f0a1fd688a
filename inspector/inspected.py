"""The result of an inspection; a separate module, because the code that computes it is slow to import."""

import msgspec
from msgspec import Struct

from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.model import Span, ToolCall, ToolDefinition, ToolResult, Trace
from weaklink.inspector.rich_display import html_of

_MANY, _MUCH = 500, 4_000_000  # turns and characters of a trace that is inspected within a moment


class PartInspection(Struct, frozen=True, array_like=True):
    """The parsed content of one part of one turn. `turn` counts from 1; the spans tile the part's text."""

    turn: int
    part: str
    format: str
    spans: tuple[Span, ...]
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    definitions: tuple[ToolDefinition, ...] = ()


class Inspection(Struct, frozen=True, array_like=True):
    """Everything derived from a trace by one version of weaklink: disposable, can be rebuilt at any time.

    `format` is the name of the format that the trace was parsed with; `parts` are in the order of turns and parts,
    `diagnostics` in the order of their locations.
    """

    version: str
    format: str
    parts: tuple[PartInspection, ...]
    chain: Chain
    diagnostics: tuple[Diagnostic, ...]

    def _repr_html_(self) -> str | None:
        """The verdict, the steps and the faults, for notebooks."""
        return html_of(self)


def is_long(trace: Trace) -> bool:
    """Whether inspecting a trace takes so long that a screen had better show an inspection that lags behind."""
    return len(trace.turns) > _MANY or sum(len(part.text) for turn in trace.turns for part in turn.parts) > _MUCH


msgspec.json.Decoder(Inspection)  # described while nobody else does (`inspector.model`)
