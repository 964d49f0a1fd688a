"""Where in a log file a fault stands, as editors and code hosts count it, wherever that can be known."""

import os
import re
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from inspector.diagnostics import Diagnostic, Edit
from inspector.model import RecognisedBy, Trace
from inspector.text import LineIndex, Range

_LINE = re.compile(r"line (\d+)")
_RAW_TEXT = "raw-text"


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A line of a file, and, where they are known, the columns from `column` up to `end_column` of `end_line`.

    Lines and columns count from 1, columns in code points. `edits` are the fault's repair by the same count: a line
    and column, an end line and column, and the text that goes there; empty where the columns are not known.
    """

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    edits: tuple[tuple[int, int, int, int, str], ...] = ()


def in_repository(path: str) -> str:
    """A path as code hosts want it: relative to the working directory where the file lies below, with slashes."""
    relative = os.path.relpath(path)
    outside = relative.startswith(os.pardir)
    return Path(os.path.abspath(path) if outside else relative).as_posix()  # noqa: PTH100  # links stay links


class FilePlaces:
    """The places of one trace's faults.

    A file of raw text is its trace, character for character. A record that is a line gives that line; one that many
    lines make up gives none, since the fault may stand in any of them. `source` is what the file was read as: a trace
    that came out of a trace file tells the places of another file.
    """

    def __init__(self, trace: Trace, source: str) -> None:
        self._line: int | None = None
        self._lines: LineIndex | None = None
        self._starts: tuple[int, ...] = ()
        if trace.provenance.source != source:
            return
        if source == _RAW_TEXT:
            texts = [part.text for turn in trace.turns for part in turn.parts]
            self._starts = (0, *accumulate(map(len, texts)))
            self._lines = LineIndex("".join(texts))
        elif trace.recognised_by is RecognisedBy.RECORD:
            match = _LINE.fullmatch(trace.provenance.record)
            self._line = int(match[1]) if match else None

    def place(self, diagnostic: Diagnostic) -> FilePlace | None:
        """Where the fault stands, None where that is not known."""
        if self._lines is None:
            return None if self._line is None else FilePlace(self._line)
        start = self._starts[min(diagnostic.location.turn, len(self._starts) - 1) - 1]
        fix = diagnostic.fault.fix
        edits = fix.moved(start).edits if fix is not None and fix.safe else ()
        line, column, end_line, end_column = _corners(self._lines, diagnostic.range.moved(start))
        return FilePlace(line, column, end_line, end_column, tuple(_edit(self._lines, edit) for edit in edits))


def _edit(lines: LineIndex, edit: Edit) -> tuple[int, int, int, int, str]:
    return (*_corners(lines, edit.range), edit.text)


def _corners(lines: LineIndex, place: Range) -> tuple[int, int, int, int]:
    return (*lines.position(place.start), *lines.position(place.end))
