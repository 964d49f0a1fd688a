"""The result of a check: diagnostics with their file positions and fingerprints, what could not be read, and totals."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field, structs

from inspector.chain.grouping import by_cause, with_count
from inspector.chain.layers import PlacedTexts
from inspector.chain.steps import Break, Chain, Status
from inspector.dataset.record_rewrite import RecordPart, find_slots
from inspector.dataset.samples import ROW_PART
from inspector.diagnostics import Diagnostic, Edit, Fault
from inspector.importers.source import Skipped, is_url
from inspector.inspected import Inspection
from inspector.json_scanner import read_json
from inspector.model import RecognisedBy, Role, Trace
from inspector.rules.rule import Severity
from inspector.scanning import lazy_pattern
from inspector.text import LineIndex, Range
from ui.views.trace import title_of

_LINE = lazy_pattern(r"line (\d+)")
_RAW_TEXT = "raw-text"
_AROUND = 120


class FilePlace(Struct, frozen=True):
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
    """A path as code hosts want it: relative to the working directory where the file is below, with slashes."""
    if is_url(path):
        return path
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
        in_turn = diagnostic.place_in_turn
        at = in_turn.turn, in_turn.part
        if at[1] == ROW_PART:
            row_fix = diagnostic.fault.fix
            return self._placed(diagnostic.range, row_fix.edits if row_fix is not None and row_fix.safe else ())
        if at not in self._parts and at in self._slots:
            self._parts[at] = RecordPart(self._text, self._slots[at])
        part = self._parts.get(at)
        place = part.place(in_turn.range) if part is not None else None
        if part is None or place is None:
            return None
        fix = diagnostic.fault.fix
        return self._placed(place, part.edits(fix.edits) if fix is not None and fix.safe else ())

    def _placed(self, place: Range, edits: Iterable[Edit]) -> FilePlace:
        moved = tuple(self._edit(edit) for edit in edits)
        return FilePlace(self._number, place.start + 1, self._number, place.end + 1, moved)

    def _edit(self, edit: Edit) -> tuple[int, int, int, int, str]:
        return self._number, edit.range.start + 1, self._number, edit.range.end + 1, edit.text


def _edit(lines: LineIndex, edit: Edit) -> tuple[int, int, int, int, str]:
    return (*_corners(lines, edit.range), edit.text)


def _corners(lines: LineIndex, place: Range) -> tuple[int, int, int, int]:
    return (*lines.position(place.start), *lines.position(place.end))


class Finding(Struct, frozen=True):
    """One diagnostic of a trace: the file and record it was read from, the trace's title, and the lines around it.

    `place` is where it is in the file, None where that is not known. `fingerprint` is the same for the same fault
    wherever its record has moved to, and whatever a later version of weaklink says of it. `more` are the later findings
    of the same cause, where the trace is broken.
    """

    path: str
    record: str
    trace: str
    diagnostic: Diagnostic
    lines: LineIndex
    place: FilePlace | None = None
    fingerprint: str = ""
    more: tuple["Finding", ...] = ()

    @property
    def shown(self) -> Diagnostic:
        """The diagnostic, whose message says how many `more` there are."""
        return with_count(self.diagnostic, len(self.more))

    @property
    def fault(self) -> Fault:
        """What is wrong."""
        return self.diagnostic.fault

    @property
    def words(self) -> str:
        """The text that the fault is in."""
        return self.diagnostic.range.of(self.lines.text)


class UnreadRecord(Struct, frozen=True):
    """A record, or where `record` is empty a whole file, that could not be read.

    `fault` is in the record's text, of which `shown` begins at `shown_from` and is bounded. `place` is where the
    fault is in the file; None where the file has no lines, as an archive has none.
    """

    path: str
    record: str
    fault: Fault
    shown: str = ""
    shown_from: int = 0
    place: FilePlace | None = None
    fingerprint: str = ""

    @property
    def words(self) -> str:
        """Why, in a sentence: the text itself may be long, and hold secrets."""
        return self.fault.message


class CheckedTrace(Struct, frozen=True):
    """One trace of a file: its record and title, its break if it has one, and its findings in the order of places.

    Findings that a baseline knows are left out.
    """

    path: str
    record: str
    title: str
    findings: tuple[Finding, ...] = ()
    broken: Break | None = None


class CheckedFile(Struct, frozen=True):
    """What became of one file.

    `refused` is a sentence where it is not for us, or failed on the way: then the rest counts what came before, and
    `is_failure` tells the second.
    `skipped` counts the records that gave no trace, and `first_skipped` are the first of them; `notes` are sentences on
    those that are no finding. `diagnostics` says how often each code was found, `severities` how often each severity: a
    fault may have another than its rule. `known` is how many findings more a baseline knows.
    """

    path: str
    source: str | None = None
    refused: str | None = None
    traces: int = 0
    skipped: int = 0
    first_skipped: tuple[Skipped, ...] = ()
    diagnostics: Mapping[str, int] = field(default_factory=dict)
    severities: Mapping[Severity, int] = field(default_factory=dict)
    known: int = 0
    is_failure: bool = False
    notes: tuple[str, ...] = ()


class CheckTotals(Struct):
    """The sum over all files so far; `known` findings are in a baseline, `gone` ones only there."""

    files: int = 0
    refused: int = 0
    traces: int = 0
    skipped: int = 0
    diagnostics: Counter[str] = field(default_factory=Counter)
    severities: Counter[Severity] = field(default_factory=Counter)
    known: int = 0
    gone: int = 0

    def add(self, file: CheckedFile) -> None:
        """Count one more file."""
        self.files += 1
        self.refused += file.refused is not None
        self.traces += file.traces
        self.skipped += file.skipped
        self.known += file.known
        self.diagnostics.update(file.diagnostics)
        self.severities.update(file.severities)

    def of(self, severity: Severity) -> int:
        """How many diagnostics of this severity there are."""
        return self.severities[severity]


class CheckReporter(Protocol):
    """Writes what a check finds, as it finds it."""

    def trace(self, trace: CheckedTrace) -> None:
        """One more trace; those of a file come before the file."""
        ...

    def unread(self, unread: UnreadRecord) -> None:
        """A record could not be read, or last of all of a file, the file."""
        ...

    def file(self, file: CheckedFile) -> None:
        """A file is done."""
        ...

    def close(self, totals: CheckTotals) -> None:
        """Everything is done."""
        ...


def findings_of(
    path: str,
    source: str,
    trace: Trace,
    inspection: Inspection,
    line: str | None = None,
    *,
    written: Trace | None = None,
) -> Iterator[Finding]:
    """The findings of one trace, in the order of their places.

    `source` is what the file was read as, `line` the text of the line that the trace's record names, where it is one,
    `written` the trace as the file has it, where `trace` is redacted.
    """
    if not inspection.diagnostics:
        return
    known: dict[tuple[int, str], LineIndex] = {}
    places, fingerprints, texts = FilePlaces(written or trace, source, line), Fingerprints(trace), PlacedTexts(trace)
    for diagnostic in inspection.diagnostics:
        at = (diagnostic.location.turn, diagnostic.location.part)
        if at not in known:
            known = {at: LineIndex(texts.at(diagnostic.location))}
        lines, in_turn = known[at], diagnostic.place_in_turn
        said = lines.text if in_turn is diagnostic.location else texts.at(in_turn)
        place, fingerprint = places.place(diagnostic), fingerprints.of(diagnostic, said)
        yield Finding(path, trace.provenance.record, title_of(trace), diagnostic, lines, place, fingerprint)


def grouped_findings(findings: Sequence[Finding], chain: Chain) -> tuple[Finding, ...]:
    """The first finding of each cause with the others as its `more`; every finding by itself in an unbroken trace."""
    groups = by_cause(findings, lambda one: one.diagnostic, is_broken=chain.status is Status.BROKEN)
    return tuple(structs.replace(first, more=tuple(more)) for first, *more in groups)


class Fingerprints:
    """The fingerprints of one trace's faults.

    A fingerprint is made of the rule's code, the text in the fault's range, up to 120 characters on either side, the
    name of the part, and the words that the conversation was begun with. So it stays when records move, when others
    are added, when a session grows, and when a message is worded otherwise. Faults that are alike in all of it share
    one, and are distinguished by their number alone.
    """

    def __init__(self, trace: Trace) -> None:
        asked = next((part.text for turn in trace.turns if turn.role is Role.USER for part in turn.parts), "")
        self._opening = hashlib.sha256(_bytes(asked)).digest()

    def of(self, diagnostic: Diagnostic, text: str) -> str:
        """32 hexadecimal digits; `text` is that of the turn's part that the fault is in, or is against."""
        in_turn = diagnostic.place_in_turn
        place = in_turn.range
        digest = hashlib.sha256(self._opening)
        for piece in (
            diagnostic.rule.code,
            in_turn.part.partition(":")[0],
            text[max(place.start - _AROUND, 0) : place.start],
            place.of(text),
            text[place.end : place.end + _AROUND],
        ):
            raw = _bytes(piece)
            digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()[:32]


def unread_fingerprint(code: str, record: str, text: str) -> str:
    """That of a record or file that could not be read: its text, or where it has none its place in words."""
    return hashlib.sha256(_bytes("\0".join((code, text or record)))).hexdigest()[:32]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
