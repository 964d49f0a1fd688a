"""Where a recording goes that its place cannot take at the end: a trace file in the first folder that can be written.

What is spilled was redacted before it came to the sink, like everything that a sink stores.
"""

import os
import shlex
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from inspector.model import Trace
from inspector.text import counted
from inspector.trace_file.writing import write_trace_file

_MAX_NAMED = 20  # sessions in a sentence
_MAX_NAME = 60  # characters


class UnsavedTrace(Struct, frozen=True):
    """A trace, with its exchanges as a `RecordedTrace`, of which `requests` answered requests are not stored."""

    trace: Trace
    requests: int


def spill(unsaved: Sequence[UnsavedTrace], folders: Iterable[Path], *, place: str = "") -> str:
    """Write the traces to a new trace file, readable by its owner only, in the first of `folders` that takes it.

    Falls back to the folder for temporary files. Returns a sentence with the file and the command that imports it into
    the database `place`; or, if no folder takes it, with the number of lost requests of each session.
    """
    if not unsaved:
        return "All requests are stored; the next command that reads the database ends the open sessions."
    name = f"weaklink-unsaved-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    why = ""
    for folder in dict.fromkeys((*folders, Path(tempfile.gettempdir()))):
        path = _new_path(folder, name)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_trace_file(path, [one.trace for one in unsaved])
        except OSError as error:
            why = why or f"{folder}: {error.strerror or error}"
            continue
        command = shlex.join(["weaklink", "import", str(path), *(("--db", place) if place else ())])
        return f"{_total(unsaved)} could not be stored and are in {path} instead; `{command}` stores them."
    return f"{_total(unsaved)} are lost, since no folder can be written ({why}): {', '.join(_each(unsaved))}."


def _new_path(folder: Path, name: str) -> Path:
    number = 1
    while (path := folder / f"{name}{f'-{number}' if number > 1 else ''}.jsonl").exists():
        number += 1
    return path


def _total(unsaved: Sequence[UnsavedTrace]) -> str:
    requests = counted(sum(one.requests for one in unsaved), "request")
    return f"{requests} of {counted(len(unsaved), 'session')}"


def _each(unsaved: Sequence[UnsavedTrace]) -> Iterator[str]:
    for one in unsaved[:_MAX_NAMED]:
        ids = " ".join(f"{id_.name}={id_.value}" for id_ in one.trace.external_ids[:2])
        name = (one.trace.name or ids or "a session without a name")[:_MAX_NAME]
        yield f"{counted(one.requests, 'request')} of `{name}`"
    if len(unsaved) > _MAX_NAMED:
        more = unsaved[_MAX_NAMED:]
        yield f"{counted(sum(one.requests for one in more), 'request')} of {len(more):,} more"
