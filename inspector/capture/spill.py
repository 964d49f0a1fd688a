"""Where a recording goes that its place cannot take at the end: a trace file in the first folder that can be written.

What is spilled was redacted before it came to the sink, like everything that a sink stores.
"""

import os
import shlex
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from weaklink.inspector.model import Trace
from weaklink.inspector.text import counted
from weaklink.inspector.trace_file.writing import write_trace_file
from weaklink.inspector.user_folder import user_folder

_MAX_NAMED = 20  # sessions in a sentence
_MAX_NAME = 60  # characters


class UnsavedTrace(Struct, frozen=True):
    """A trace, with its exchanges as a `RecordedTrace`, of which `requests` answered requests are not stored."""

    trace: Trace
    requests: int


class SpillResult(Struct, frozen=True):
    """What became of traces that could not be stored: a sentence, and their new file, None if they are lost."""

    sentence: str
    path: Path | None = None


def spill(unsaved: Sequence[UnsavedTrace], beside: Path | None, *, database: str = "") -> SpillResult:
    """Write the traces to a new trace file, readable by its owner only, in the first folder that takes it.

    These are `beside`, the user's data folder, and the folder for temporary files. The sentence has the file and, for
    traces of a `database`, the command that imports it; or, if no folder takes it, the number of lost requests of each
    session.
    """
    name = f"weaklink-unsaved-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    are = "is" if _requests(unsaved) == 1 else "are"
    why = ""
    for folder in (*(() if beside is None else (beside,)), user_folder(), Path(tempfile.gettempdir())):
        path = _new_path(folder, name)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_trace_file(path, [trace.trace for trace in unsaved])
        except OSError as error:
            why = why or f"{folder}: {error.strerror or error}"
            continue
        sentence = f"{_total(unsaved)} could not be stored and {are} in the trace file {path} instead"
        if not database:
            return SpillResult(f"{sentence}.", path)
        command = shlex.join(["weaklink", "import", str(path), "--db", database])
        return SpillResult(f"{sentence}; `{command}` stores them.", path)
    lost = ", ".join(_each(unsaved))
    return SpillResult(f"{_total(unsaved)} {are} lost, since no folder can be written ({why}): {lost}.")


def _new_path(folder: Path, name: str) -> Path:
    number = 1
    while (path := folder / f"{name}{f'-{number}' if number > 1 else ''}.jsonl").exists():
        number += 1
    return path


def _total(unsaved: Sequence[UnsavedTrace]) -> str:
    return f"{counted(_requests(unsaved), 'request')} of {counted(len(unsaved), 'session')}"


def _requests(unsaved: Sequence[UnsavedTrace]) -> int:
    return sum(trace.requests for trace in unsaved)


def _each(unsaved: Sequence[UnsavedTrace]) -> Iterator[str]:
    for trace in unsaved[:_MAX_NAMED]:
        ids = " ".join(f"{id_.name}={id_.value}" for id_ in trace.trace.external_ids[:2])
        name = (trace.trace.name or ids or "a session without a name")[:_MAX_NAME]
        yield f"{counted(trace.requests, 'request')} of `{name}`"
    if len(unsaved) > _MAX_NAMED:
        more = unsaved[_MAX_NAMED:]
        yield f"{counted(_requests(more), 'request')} of {len(more):,} more"
