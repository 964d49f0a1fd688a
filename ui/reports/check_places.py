"""Where in a log file a fault stands, as editors and code hosts count it, wherever that can be known."""

import os
import re
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from inspector.dataset.record_edits import RecordPart
from inspector.dataset.record_slots import find_slots
from inspector.diagnostics import Diagnostic, Edit
from inspector.json_scanner import read_json
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

    A file of raw text is its trace, character for character. In a record that is a line, the fault stands where the
    line holds its text in one string, else somewhere on that line; a trace that many lines make up gives none.
    `source` is what the file was read as: a trace that came out of a trace file tells the places of another file.
    `line` is the text of the line that the record names, None where there is none.
    """

    def __init__(self, trace: Trace, source: str, line: str | None = None) -> None:
        self._line: int | None = None
        self._record: _LineRecord | None = None
        self._lines: LineIndex | None = None
        self._starts: tuple[int, ...] = ()
        if trace.provenance.source != source:
            return
        if source == _RAW_TEXT:
            texts = [part.text for turn in trace.turns for part in turn.parts]
            self._starts = (0, *accumulate(map(len, texts)))
            self._lines = LineIndex("".join(texts))
            return
        number = line_number(trace)
        if number is not None and line is not None:
            self._record = _LineRecord(number, line, trace)
        if trace.recognised_by is RecognisedBy.RECORD:
            self._line = number

    def place(self, diagnostic: Diagnostic) -> FilePlace | None:
        """Where the fault stands, None where that is not known."""
        if self._lines is None:
            exact = self._record.place(diagnostic) if self._record is not None else None
            return exact or (None if self._line is None else FilePlace(self._line))
        start = self._starts[min(diagnostic.location.turn, len(self._starts) - 1) - 1]
        fix = diagnostic.fault.fix
        edits = fix.moved(start).edits if fix is not None and fix.safe else ()
        line, column, end_line, end_column = _corners(self._lines, diagnostic.range.moved(start))
        return FilePlace(line, column, end_line, end_column, tuple(_edit(self._lines, edit) for edit in edits))


def line_number(trace: Trace) -> int | None:
    """The number of the line that a trace's record names, from 1; None where it names none."""
    match = _LINE.fullmatch(trace.provenance.record)
    return int(match[1]) if match else None


class _LineRecord:
    """A record that is one line of JSON, and where in it the texts of its trace stand."""

    def __init__(self, number: int, text: str, trace: Trace) -> None:
        self._number, self._text = number, text
        reading = read_json(text)
        self._slots = find_slots(reading.nodes[0], trace) if reading.strict and reading.nodes else {}
        self._parts: dict[tuple[int, str], RecordPart] = {}

    def place(self, diagnostic: Diagnostic) -> FilePlace | None:
        at = diagnostic.location.turn, diagnostic.location.part
        if at not in self._parts and at in self._slots:
            self._parts[at] = RecordPart(self._text, self._slots[at])
        part = self._parts.get(at)
        place = part.place(diagnostic.range) if part is not None else None
        if part is None or place is None:
            return None
        fix = diagnostic.fault.fix
        edits = part.edits(fix.edits) if fix is not None and fix.safe else ()
        return FilePlace(
            self._number,
            place.start + 1,
            self._number,
            place.end + 1,
            tuple(self._edit(edit) for edit in edits),
        )

    def _edit(self, edit: Edit) -> tuple[int, int, int, int, str]:
        return self._number, edit.range.start + 1, self._number, edit.range.end + 1, edit.text


def _edit(lines: LineIndex, edit: Edit) -> tuple[int, int, int, int, str]:
    return (*_corners(lines, edit.range), edit.text)


def _corners(lines: LineIndex, place: Range) -> tuple[int, int, int, int]:
    return (*lines.position(place.start), *lines.position(place.end))
