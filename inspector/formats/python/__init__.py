"""Calls in Python's syntax, `[f(a=1, b='x'), g()]`: tracks them, reads them with positions and faults, writes them."""

from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.python.follower import PYTHON
from weaklink.inspector.formats.python.writing import is_python_call, json_in_dicts, write_call

__all__ = ["PYTHON", "PythonCallReader", "is_python_call", "json_in_dicts", "write_call"]
