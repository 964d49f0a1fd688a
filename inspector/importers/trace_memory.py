"""How much memory a trace takes while it is inspected and packed: one that would take too much is left out."""

import re

from inspector.importers.source import Skipped
from inspector.memory import RECORD_MEMORY, too_much
from inspector.model import Role, Trace, Turn

_SMALL = 64 * 1024  # characters of text that cannot reach the bound whatever they are
_TURN, _PART, _CALL, _MARK = 2_000, 1_000, 2_000, 3_600
_ASCII, _WIDE = 4, 9
"""Bytes a character. These are measured over inspecting and packing; a `<` may open a call, or break a rule."""

_CALLS = re.compile(r"""["']name["']|[\[,]\s*[\w.]+\(""")


def bounded(trace: Trace) -> Trace | Skipped:
    """The trace, or where inspecting it would take more than `RECORD_MEMORY`, why it is left out."""
    needed = trace_memory(trace)
    return trace if needed <= RECORD_MEMORY else Skipped(trace.provenance.record, too_much(needed))


def trace_memory(trace: Trace) -> int:
    """At most so many bytes does inspecting and packing a trace take."""
    is_small = sum(len(part.text) for turn in trace.turns for part in turn.parts) < _SMALL
    return sum(
        _TURN + len(turn.calls) * _CALL + len(turn.parts) * _PART + _texts(turn, is_small=is_small)
        for turn in trace.turns
    )


def _texts(turn: Turn, *, is_small: bool) -> int:
    if is_small:
        return 0
    needed = 0
    for part in turn.parts:
        needed += len(part.text) * (_ASCII if part.text.isascii() else _WIDE)
        if turn.role is Role.ASSISTANT and not part.name.startswith("call:"):
            needed += part.text.count("<") * _MARK + sum(_CALL for _ in _CALLS.finditer(part.text))
    return needed
