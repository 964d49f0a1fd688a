"""A turn that a summary stands for names it, and the summary says how many it stands for."""

from pathlib import Path

from tests.importers.test_compaction import SILENT, trace_with
from weaklink.inspector.inspection import inspect_trace
from weaklink.ui.views.trace import trace_lines


def test_both_sides_of_a_compaction_name_the_other(tmp_path: Path) -> None:
    trace = trace_with("pi", SILENT, tmp_path)
    lines = trace_lines(trace, inspect_trace(trace), id=1, width=100)
    heads = [head.strip("─ ") for line in lines if (head := "".join(run.text for run in line)).startswith("── ")]
    assert heads[:6] == [
        "1 user summarised in turn 5",
        "2 assistant summarised in turn 5",
        "3 tool answers step 1 · book · a · summarised in turn 5",
        "4 assistant",
        "5 user injected · summary of 3 turns",
        "6 user",
    ]
