"""The portable trace file: versioned JSON lines with everything that a trace contains."""

from weaklink.inspector.trace_file.lines import VERSION
from weaklink.inspector.trace_file.reading import read_trace_file
from weaklink.inspector.trace_file.writing import write_trace_file

__all__ = ["VERSION", "read_trace_file", "write_trace_file"]
