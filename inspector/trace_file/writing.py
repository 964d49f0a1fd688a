"""Writes traces as the lines of a trace file."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from weaklink.inspector import model
from weaklink.inspector.model.exchange import RecordedExchange, RecordedTrace, compacted
from weaklink.inspector.trace_file import lines


def write_trace_file(target: str | Path | TextIO, traces: Iterable[model.Trace]) -> None:
    """Write a trace file of the current version, with the exchanges of those traces that are a `RecordedTrace`.

    One trace at a time is in memory.
    A path gets the whole file or, if anything fails, keeps its old contents: the lines go to a new file in the same
    folder, readable by its owner only, which replaces the path at the end. A path that is no plain file (a pipe, a
    terminal) and a text stream are written directly; a stream is left open. OSError if the file cannot be written.
    """
    if not isinstance(target, str | Path):
        _write(target, traces)
        return
    path = Path(target).resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="ascii", newline="\n") as stream:
            _write(stream, traces)
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii", newline="\n") as stream:
            _write(stream, traces)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def header_line() -> str:
    """The first line of a file."""
    return lines.line_of({lines.HEADER_KEY: lines.VERSION})


def trace_lines(trace: model.Trace, exchanges: Sequence[RecordedExchange] = ()) -> Iterator[str]:
    """The lines of one trace and of its recorded exchanges, which may be appended to a file of this version."""
    record = {"turns": len(trace.turns)} | lines.trace_record(trace)
    if exchanges:
        record["exchanges"] = msgspec.to_builtins(list(map(lines.ExchangePacker().line, exchanges)))
    yield lines.line_of({"trace": record})
    for turn in compacted(trace).turns:
        yield lines.line_of({"turn": lines.turn_record(turn)})


def _write(stream: TextIO, traces: Iterable[model.Trace]) -> None:
    stream.write(header_line())
    for trace in traces:
        stream.writelines(trace_lines(trace, trace.exchanges if isinstance(trace, RecordedTrace) else ()))
