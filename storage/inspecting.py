"""Inspects traces, with what is loaded when the first one is inspected: most commands read what is kept."""

from inspector.inspected import Inspection
from inspector.model import Trace


def inspect_trace(trace: Trace) -> Inspection:
    """As `inspector.inspection.inspect_trace` does without options."""
    from inspector.inspection import inspect_trace as inspect  # noqa: PLC0415  # checks and formats: a sixth of a list

    return inspect(trace)
