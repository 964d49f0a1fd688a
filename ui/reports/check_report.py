"""The result of a check: diagnostics with their file positions and fingerprints, unreadable records, and totals."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field, structs

from weaklink.inspector.chain.grouping import by_cause, with_count
from weaklink.inspector.chain.layers import PartTexts
from weaklink.inspector.chain.steps import Break, Chain, Status, StepOutcome
from weaklink.inspector.dataset.record_rewrite import RecordPart, find_slots
from weaklink.inspector.dataset.samples import ROW_PART
from weaklink.inspector.diagnostics import Diagnostic, Edit, Fault
from weaklink.inspector.importers.data.trace_files import record_in_file
from weaklink.inspector.importers.source import Skipped, is_url
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.model import RecognisedBy, Role, Trace
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import LineIndex, Range
from weaklink.ui.views.trace import title_of

BROKEN = "broken"
"""What fails a check besides the severities: a broken chain."""

_LINE = re.compile(r"line (\d+)")
_RAW_TEXT = "raw-text"
_CONTEXT_CHARS = 120


class FilePosition(Struct, frozen=True):
    """A line of a file and, if they are known, the columns from `column` up to `end_column` of `end_line`.

    Lines and columns count from 1, columns in code points. `edits` is the fault's repair in the same units: a line and
    column, an end line and column, and the new text; empty if the columns are unknown.
    """

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    edits: tuple[tuple[int, int, int, int, str], ...] = ()


def in_repository(path: str) -> str:
    """A path for code hosts: with slashes, and relative to the working directory if the file is inside it."""
    if is_url(path):
        return path
    relative = os.path.relpath(path)
    outside = relative.startswith(os.pardir)
    return Path(os.path.abspath(path) if outside else relative).as_posix()  # noqa: PTH100  # links stay links


class FilePositions:
    """The file positions of one trace's faults.

    A file of raw text is equal to its trace. If a record is one line, a fault has an exact position if the line
    contains the fault's text in one string; otherwise only the line is known. A trace that was built from many lines
    has no positions. `source` is the source that the file was read as: a trace from a trace file refers to the
    positions of another file. `line` is the text of the line that the record names, or None.
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

    def of(self, diagnostic: Diagnostic) -> FilePosition | None:
        """The position of the fault, or None if it is unknown."""
        if self._lines is None:
            exact = self._record.position(diagnostic) if self._record is not None else None
            return exact or (None if self._line is None else FilePosition(self._line))
        start = self._starts[min(diagnostic.location.turn, len(self._starts) - 1) - 1]
        fix = diagnostic.fault.fix
        edits = fix.moved(start).edits if fix is not None and fix.safe else ()
        line, column, end_line, end_column = _corners(self._lines, diagnostic.range.moved(start))
        return FilePosition(line, column, end_line, end_column, tuple(_edit(self._lines, edit) for edit in edits))


def line_number(trace: Trace) -> int | None:
    """The number of the line that a trace's record names, from 1, or None."""
    match = _LINE.fullmatch(trace.provenance.record)
    return int(match[1]) if match else None


class _LineRecord:
    """A record that is one line of JSON, and the positions of its trace's texts in it."""

    def __init__(self, number: int, text: str, trace: Trace) -> None:
        self._number, self._text = number, text
        reading = read_json(text)
        self._slots = find_slots(reading.nodes[0], trace) if reading.strict and reading.nodes else {}
        self._parts: dict[tuple[int, str], RecordPart] = {}

    def position(self, diagnostic: Diagnostic) -> FilePosition | None:
        in_turn = diagnostic.place_in_turn
        part_key = in_turn.turn, in_turn.part
        if part_key[1] == ROW_PART:
            row_fix = diagnostic.fault.fix
            return self._placed(diagnostic.range, row_fix.edits if row_fix is not None and row_fix.safe else ())
        if part_key not in self._parts and part_key in self._slots:
            self._parts[part_key] = RecordPart(self._text, self._slots[part_key])
        part = self._parts.get(part_key)
        range_ = part.record_range(in_turn.range) if part is not None else None
        if part is None or range_ is None:
            return None
        fix = diagnostic.fault.fix
        return self._placed(range_, part.edits(fix.edits) if fix is not None and fix.safe else ())

    def _placed(self, range_: Range, edits: Iterable[Edit]) -> FilePosition:
        moved = tuple(self._edit(edit) for edit in edits)
        return FilePosition(self._number, range_.start + 1, self._number, range_.end + 1, moved)

    def _edit(self, edit: Edit) -> tuple[int, int, int, int, str]:
        return self._number, edit.range.start + 1, self._number, edit.range.end + 1, edit.text


def _edit(lines: LineIndex, edit: Edit) -> tuple[int, int, int, int, str]:
    return (*_corners(lines, edit.range), edit.text)


def _corners(lines: LineIndex, range_: Range) -> tuple[int, int, int, int]:
    return (*lines.position(range_.start), *lines.position(range_.end))


class CheckedDiagnostic(Struct, frozen=True):
    """One diagnostic of a trace: the file and record it was read from, the trace's title, and the lines around it.

    `position` is where it is in the file, or None if unknown. `fingerprint` identifies the fault: it does not change if
    the record moves, or if a later version of weaklink words the message differently. `more` are the later diagnostics
    of the same cause, if the trace is broken.
    """

    path: str
    record: str
    trace: str
    diagnostic: Diagnostic
    lines: LineIndex
    position: FilePosition | None = None
    fingerprint: str = ""
    more: tuple["CheckedDiagnostic", ...] = ()

    @property
    def shown(self) -> Diagnostic:
        """The diagnostic, with the number of `more` diagnostics in its message."""
        return with_count(self.diagnostic, len(self.more))

    @property
    def fault(self) -> Fault:
        """The fault of the diagnostic."""
        return self.diagnostic.fault

    @property
    def words(self) -> str:
        """The text in the fault's range."""
        return self.diagnostic.range.of(self.lines.text)


class UnreadRecord(Struct, frozen=True):
    """A record that could not be read, or a whole file if `record` is empty.

    `fault` refers to the record's text; `shown` is an excerpt of that text that begins at `shown_from`. `position` is
    where the fault is in the file; None if the file has no lines, such as an archive.
    """

    path: str
    record: str
    fault: Fault
    shown: str = ""
    shown_from: int = 0
    position: FilePosition | None = None
    fingerprint: str = ""

    @property
    def words(self) -> str:
        """The reason in a sentence, because the text may be long and contain secrets."""
        return self.fault.message


class CheckedTrace(Struct, frozen=True):
    """One trace of a file: its record and title, its break if it has one, and its diagnostics in the order of places.

    Diagnostics that a baseline knows are left out. `broken_chain` is the break as a diagnostic, if it can fail the
    check: its rule is selected, and no baseline knows it.
    """

    path: str
    record: str
    title: str
    diagnostics: tuple[CheckedDiagnostic, ...] = ()
    broken: Break | None = None
    broken_chain: CheckedDiagnostic | None = None

    @property
    def unexplained_break(self) -> CheckedDiagnostic | None:
        """The broken chain, if no error among the diagnostics is its reason: then only the break itself shows it."""
        diagnostics = [diagnostic for checked in self.diagnostics for diagnostic in (checked, *checked.more)]
        if (
            self.broken is None
            or self.broken_chain is None
            or break_reason(self.broken, self.broken_chain, diagnostics)
        ):
            return None
        return self.broken_chain

    @property
    def results(self) -> tuple[CheckedDiagnostic, ...]:
        """The diagnostics, and before them the broken chain if none of them shows it as an error."""
        unexplained = self.unexplained_break
        return self.diagnostics if unexplained is None else (unexplained, *self.diagnostics)


class CheckedFile(Struct, frozen=True):
    """The result of one file.

    `refused` is the reason, in a sentence, if its format is not supported or reading failed; after a failure,
    `is_failure` is true and the other fields count what was read before. `skipped` counts the records without a trace,
    `first_skipped` are the first of them, and `notes` are sentences on those that are not diagnostics. `diagnostics`
    counts the diagnostics by code, `severities` by severity: a fault's severity may differ from its rule's. `broken`
    counts the broken chains, `known` the further diagnostics and broken chains that are in a baseline.
    """

    path: str
    source: str | None = None
    refused: str | None = None
    traces: int = 0
    skipped: int = 0
    first_skipped: tuple[Skipped, ...] = ()
    diagnostics: Mapping[str, int] = field(default_factory=dict)
    severities: Mapping[Severity, int] = field(default_factory=dict)
    broken: int = 0
    known: int = 0
    is_failure: bool = False
    notes: tuple[str, ...] = ()


class CheckTotals(Struct):
    """The totals of all files so far; `known` diagnostics are in a baseline, `gone` ones are only in the baseline.

    `broken` counts the broken chains; it is 0 if `judges_chains` is false, as for training data.
    """

    files: int = 0
    refused: int = 0
    traces: int = 0
    skipped: int = 0
    diagnostics: Counter[str] = field(default_factory=Counter)
    severities: Counter[Severity] = field(default_factory=Counter)
    broken: int = 0
    known: int = 0
    gone: int = 0
    judges_chains: bool = True

    def add(self, file: CheckedFile) -> None:
        """Count one more file."""
        self.files += 1
        self.refused += file.refused is not None
        self.traces += file.traces
        self.skipped += file.skipped
        self.broken += file.broken
        self.known += file.known
        self.diagnostics.update(file.diagnostics)
        self.severities.update(file.severities)

    def of(self, severity: Severity) -> int:
        """The number of diagnostics of this severity."""
        return self.severities[severity]


class CheckReporter(Protocol):
    """Writes what a check finds, as it finds it."""

    def trace(self, trace: CheckedTrace) -> None:
        """A trace was checked; the traces of a file come before the file."""
        ...

    def unread(self, unread: UnreadRecord) -> None:
        """A record could not be read, or, as the last event of a file, the file itself."""
        ...

    def file(self, file: CheckedFile) -> None:
        """A file is done."""
        ...

    def close(self, totals: CheckTotals) -> None:
        """Everything is done."""
        ...


class TraceInFile(Struct, frozen=True):
    """A trace without secrets, and the file that it was read from.

    `source` is the source that the file was read as, `number` counts its traces, `line` is the text of the line that
    the trace's record names, if any, and `written` the original trace if `trace` is redacted.
    """

    path: str
    source: str
    trace: Trace
    number: int
    line: str | None = None
    written: Trace | None = None

    @property
    def record(self) -> str:
        """The name of the trace's record in this file."""
        return record_in_file(self.trace, self.source, self.number)

    def diagnostics(self, inspection: Inspection) -> Iterator[CheckedDiagnostic]:
        """The diagnostics of the trace, in the order of their positions."""
        if not inspection.diagnostics:
            return
        known: dict[tuple[int, str], LineIndex] = {}
        places, fingerprints, texts = self._places, Fingerprints(self.trace), PartTexts(self.trace)
        for diagnostic in inspection.diagnostics:
            part_key = (diagnostic.location.turn, diagnostic.location.part)
            if part_key not in known:
                known = {part_key: LineIndex(texts.at(diagnostic.location))}
            lines, in_turn = known[part_key], diagnostic.place_in_turn
            text = lines.text if in_turn is diagnostic.location else texts.at(in_turn)
            yield self._checked(diagnostic, lines, places.of(diagnostic), fingerprints.of(diagnostic, text))

    def broken_chain(self, chain: Chain) -> CheckedDiagnostic | None:
        """The break of the chain as an error at the call that failed, or at the result that was an error.

        None if it is unbroken. Its rule is that of the break, its fingerprint differs from that of the diagnostic that
        explains the break: a fault that an agent recovered from may be known, and the same fault that breaks the chain
        is new.
        """
        broken = chain.broken
        if broken is None:
            return None
        step = chain.steps[broken.step - 1]
        result_location = step.result_location if broken.outcome is StepOutcome.ERROR_RESULT else None
        location = result_location or step.location
        rule = structs.replace(find_rule(broken.code), severity=Severity.ERROR)
        fault = Fault(rule, location.range, f"Broke at step {broken.step}: {broken.message}")
        diagnostic, text = fault.at(location.turn, location.part), PartTexts(self.trace).at(location)
        fingerprint = Fingerprints(self.trace).of(diagnostic, text, kind=BROKEN)
        return self._checked(diagnostic, LineIndex(text), self._places.of(diagnostic), fingerprint)

    @property
    def _places(self) -> FilePositions:
        return FilePositions(self.written or self.trace, self.source, self.line)

    def _checked(
        self, diagnostic: Diagnostic, lines: LineIndex, position: FilePosition | None, fingerprint: str
    ) -> CheckedDiagnostic:
        title = title_of(self.trace)
        return CheckedDiagnostic(self.path, self.record, title, diagnostic, lines, position, fingerprint)


def break_reason(
    broken: Break, broken_chain: CheckedDiagnostic, diagnostics: Iterable[CheckedDiagnostic]
) -> CheckedDiagnostic | None:
    """The first error among a trace's diagnostics that is the reason of its break, None if there is none."""
    turns = (broken.turn, broken_chain.diagnostic.location.turn)
    for checked in diagnostics:
        rule = checked.diagnostic.rule
        if rule.code == broken.code and rule.severity is Severity.ERROR and checked.diagnostic.location.turn in turns:
            return checked
    return None


def grouped_diagnostics(diagnostics: Sequence[CheckedDiagnostic], chain: Chain) -> tuple[CheckedDiagnostic, ...]:
    """The first diagnostic of each cause with the others as its `more`; in an unbroken trace, each separately."""
    groups = by_cause(diagnostics, lambda checked: checked.diagnostic, is_broken=chain.status is Status.BROKEN)
    return tuple(structs.replace(first, more=tuple(more)) for first, *more in groups)


class Fingerprints:
    """The fingerprints of one trace's faults.

    A fingerprint is computed from the rule's code, the text in the fault's range, up to 120 characters on either side,
    the name of the part, and the first user text. So it does not change when records move, when others are added, when
    a session grows, or when a message is reworded. Faults that are equal in all of this share a fingerprint, and only
    their number distinguishes them.
    """

    def __init__(self, trace: Trace) -> None:
        first_user_text = next((part.text for turn in trace.turns if turn.role is Role.USER for part in turn.parts), "")
        self._opening = hashlib.sha256(_bytes(first_user_text)).digest()

    def of(self, diagnostic: Diagnostic, text: str, *, kind: str = "") -> str:
        """32 hexadecimal digits; `text` is the text of the turn's part that the fault is in, or is compared with.

        A fault of another `kind` has another fingerprint.
        """
        in_turn = diagnostic.place_in_turn
        range_ = in_turn.range
        digest = hashlib.sha256(self._opening)
        for piece in (
            kind + diagnostic.rule.code,
            in_turn.part.partition(":")[0],
            text[max(range_.start - _CONTEXT_CHARS, 0) : range_.start],
            range_.of(text),
            text[range_.end : range_.end + _CONTEXT_CHARS],
        ):
            raw = _bytes(piece)
            digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()[:32]


def unread_fingerprint(code: str, record: str, text: str) -> str:
    """The fingerprint of an unreadable record or file, from its text or, without text, from its record name."""
    return hashlib.sha256(_bytes("\0".join((code, text or record)))).hexdigest()[:32]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
