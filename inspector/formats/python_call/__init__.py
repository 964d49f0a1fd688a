"""Calls in Python's syntax, `[f(a=1, b='x'), g()]`: followed, read with every place and fault, written."""

from inspector.formats.python_call.following import PYTHON
from inspector.formats.python_call.reader import PythonCallReader
from inspector.formats.python_call.writing import is_python_call, json_in_dicts, write_call

__all__ = ["PYTHON", "PythonCallReader", "is_python_call", "json_in_dicts", "write_call"]
