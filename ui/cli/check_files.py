"""Inspect files trace by trace without a database, and find the line and column of each fault.

An importer yields traces, which name the record that they come from (`line 3`, `entry 2`), and records that it could
not read. Each becomes an event that does not depend on other files or on a baseline, so that a worker may make it:

    InspectedRecord("line 3", "Weather in Oslo?", (a diagnostic with its place in the file, ...))
    SkippedRecord(Skipped("line 4", "the JSON is truncated"), its diagnostic C511, if that counts)
    RecordsEnd("openai-messages")

`FileTally` takes the events in the order of the file, compares them with the baseline, reports and counts.

An importer keeps no positions. So the line of a trace with faults is found by reading the file again (`RecordLines`:
forwards, as far as the last fault), and the fault's characters in that line by its text (`TraceInFile`). A record that
could not be read is searched in the same way (`RecordTexts`), and is shown only if it and the text before it have no
secret: the name of a secret may be in one line that could not be read, and its value in the next. At most one record is
in memory, and of a HAR document a window.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO, TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Break, Chain
from weaklink.inspector.dataset.lint.linting import LintOptions, checked_sample
from weaklink.inspector.dataset.samples import SAMPLE_SOURCE, Sample, SampleRows, inspected_sample, redacted
from weaklink.inspector.errors import UnknownFormatError, UnreadableFileError
from weaklink.inspector.importers import records
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.proxies.har_document import open_har
from weaklink.inspector.importers.reading import UNREADABLE_RULES, unreadable_file_fault, unreadable_record_fault
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import REASONING_BUDGET, inspect_trace
from weaklink.inspector.memory import RECORD_BYTES
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.finding import Finder
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.rules.catalogue import RULES, select_rules
from weaklink.inspector.rules.recording import UNREADABLE_FILE, UNREADABLE_RECORD
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.segmentation import AUTO
from weaklink.inspector.text import LineIndex, Range, decode
from weaklink.ui.cli.check_baseline import Baseline
from weaklink.ui.importing.input_files import InputFile, read_input
from weaklink.ui.reports import check_report
from weaklink.ui.reports.check_output import notes_of
from weaklink.ui.views.trace import title_of

_MAX_SKIPPED = 100
_BOM = "\ufeff"
_BLOCK = 1 << 16
_RECORD = re.compile(r"(line|entry|document) (\d+)\b")
_END = "end of file"
_BEFORE = 4_096  # how much text before a record is searched: it may contain the name of a secret
_END_BYTES = 2 * _BEFORE
_CONTEXT_CHARS = 2_000


class CheckOptions(Struct, frozen=True):
    """How files are read, and which rules count: codes, names or code prefixes.

    `error_patterns`, `reasoning_budget` and `context_window` are passed to `inspect_trace`. With `allow_skipped`, what
    cannot be read is noted and is not a diagnostic. With `strict`, a file of an unknown source is a diagnostic even if
    it was only found in a folder.
    """

    source: str | None = None
    format: str = AUTO
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    error_patterns: Sequence[str] = ()
    reasoning_budget: int = REASONING_BUDGET
    context_window: int | None = None
    allow_skipped: bool = False
    strict: bool = False

    @property
    def rules(self) -> frozenset[Rule]:
        """The rules that are checked."""
        chosen = select_rules(tuple(self.select)) if self.select else frozenset(RULES)
        return (chosen - select_rules(tuple(self.ignore)) - UNREADABLE_RULES) | self.unread_rules

    @property
    def unread_rules(self) -> frozenset[Rule]:
        """The rules for unreadable input that apply: all that are not ignored, even if others are selected."""
        return frozenset() if self.allow_skipped else UNREADABLE_RULES - select_rules(tuple(self.ignore))


class InspectedRecord(Struct, frozen=True):
    """A trace of a file with all its diagnostics; `chain` is the chain by which they are grouped.

    `broken_chain` is its break as a diagnostic, if the break's rule is checked.
    """

    record: str
    title: str
    diagnostics: tuple[check_report.CheckedDiagnostic, ...]
    chain: Chain | None = None
    broken: Break | None = None
    broken_chain: check_report.CheckedDiagnostic | None = None


class SkippedRecord(Struct, frozen=True):
    """A record without a trace, redacted; `unread` is its diagnostic, if it counts as one."""

    skipped: Skipped
    unread: check_report.UnreadRecord | None = None


class RecordsEnd(Struct, frozen=True):
    """The end of a file or of a block of it: its source, and the reason if it was refused."""

    source: str | None
    refused: str | None = None
    is_failure: bool = False
    unread: check_report.UnreadRecord | None = None


FileEvent: TypeAlias = InspectedRecord | SkippedRecord | RecordsEnd


def check_file(
    file: InputFile, options: CheckOptions, baseline: Baseline, report: check_report.CheckReporter
) -> check_report.CheckedFile:
    """Inspect every trace of a file, report the faults that are not in the baseline, and return the file's summary.

    Holds one trace in memory at a time. If reading fails midway, the rest of the file is refused.
    """
    tally = FileTally(file.name, baseline, report)
    for event in inspected_records(file, options):
        tally.add(event)
    return tally.checked()


def inspected_records(file: InputFile, options: CheckOptions) -> Iterator[FileEvent]:
    """An event per record of a file, and a RecordsEnd last. They do not depend on other files or on a baseline."""
    reader = _RecordReader(file, options)
    source, refused = None, None
    try:
        reading = read_input(file, options.source)
        source = reading.source
        for record in reading.records:
            yield reader.event(record, source)
    except UnreadableFileError as error:
        refused = str(error)
    finally:
        reader.close()
    is_failure = refused is not None and (source is not None or not file.is_readable)
    unread = reader.refused(refused, is_failure=is_failure) if refused is not None else None
    yield RecordsEnd(source, refused, is_failure, unread)


class FileTally:
    """Counts the records and faults of a file, and reports the faults that are not in the baseline."""

    def __init__(self, name: str, baseline: Baseline, report: check_report.CheckReporter) -> None:
        self._name, self._baseline, self._report = name, baseline, report
        self._source: str | None = None
        self._refused: str | None = None
        self._is_failure = self._is_unread = False
        self._traces = self._skipped = self._broken = self._known = self._unnoted = 0
        self._first_skipped: list[Skipped] = []
        self._noted: list[Skipped] = []
        self._diagnostics: Counter[str] = Counter()
        self._severities: Counter[Severity] = Counter()

    def add(self, event: FileEvent) -> None:
        """Process the next event, in file order."""
        match event:
            case InspectedRecord():
                self._inspected(event)
            case SkippedRecord():
                self._skip(event)
            case RecordsEnd():
                self._end(event)

    def checked(self) -> check_report.CheckedFile:
        """The summary of the file."""
        checked = check_report.CheckedFile(
            self._name,
            self._source,
            self._refused,
            self._traces,
            self._skipped,
            tuple(self._first_skipped),
            self._diagnostics,
            self._severities,
            self._broken,
            self._known,
            is_failure=self._is_failure,
        )
        return structs.replace(
            checked, notes=tuple(notes_of(checked, self._noted, self._unnoted, is_unread=self._is_unread))
        )

    def _inspected(self, record: InspectedRecord) -> None:
        self._traces += 1
        reason = None
        if record.broken is not None and record.broken_chain is not None:
            reason = check_report.break_reason(record.broken, record.broken_chain, record.diagnostics)
        new = tuple(
            checked for checked in record.diagnostics if not self._baseline.knows(checked, breaks=checked is reason)
        )
        self._known += len(record.diagnostics) - len(new)
        self._diagnostics.update(checked.diagnostic.rule.code for checked in new)
        self._severities.update(checked.diagnostic.rule.severity for checked in new)
        by_cause = check_report.grouped_diagnostics(new, record.chain) if record.chain is not None else new
        broken_chain = self._new_break(record, reason, new)
        self._report.trace(
            check_report.CheckedTrace(self._name, record.record, record.title, by_cause, record.broken, broken_chain)
        )

    def _new_break(
        self,
        record: InspectedRecord,
        reason: check_report.CheckedDiagnostic | None,
        new: Iterable[check_report.CheckedDiagnostic],
    ) -> check_report.CheckedDiagnostic | None:
        """The record's broken chain, counted; None if it has none, or one that the baseline knows.

        A break by an error is known if that error is; any other break has its own entry in a baseline.
        """
        broken_chain = record.broken_chain
        if record.broken is None or broken_chain is None:
            return None
        if reason is not None:
            is_known = all(checked is not reason for checked in new)
        else:
            is_known = self._baseline.knows(broken_chain)
            self._known += is_known
        self._broken += not is_known
        return None if is_known else broken_chain

    def _skip(self, record: SkippedRecord) -> None:
        self._skipped += 1
        if len(self._first_skipped) < _MAX_SKIPPED:
            self._first_skipped.append(record.skipped)
        if record.unread is not None:
            self._add(record.unread)
        elif len(self._noted) < _MAX_SKIPPED:
            self._noted.append(record.skipped)
        else:
            self._unnoted += 1

    def _end(self, end: RecordsEnd) -> None:
        self._source = self._source or end.source
        self._refused = self._refused or end.refused
        self._is_failure = self._is_failure or end.is_failure
        if end.unread is not None:
            self._is_unread = True
            self._add(end.unread)

    def _add(self, unread: check_report.UnreadRecord) -> None:
        if self._baseline.knows(unread):
            self._known += 1
            return
        self._diagnostics[unread.fault.rule.code] += 1
        self._severities[unread.fault.rule.severity] += 1
        self._report.unread(unread)


class _RecordReader:
    """Inspects the records of a file and finds their lines."""

    def __init__(self, file: InputFile, options: CheckOptions) -> None:
        self._file, self._options = file, options
        self._unread_rules = options.unread_rules
        self._codes = frozenset(rule.code for rule in options.rules)
        self._lines, self._texts = RecordLines(file.source_file), RecordTexts(file.source_file)
        self._rows = SampleRows(file.source_file)
        self._redactor = Redactor()  # reports and baselines are written to files and must not contain secrets
        self._clean = AdjoiningTexts()
        self._traces = 0

    def event(self, record: Trace | Skipped, source: str) -> FileEvent:
        if isinstance(record, Skipped):
            return self._skip(record)
        self._traces += 1
        try:
            sample = self._rows.of(record, source, self._options.format)
            if sample is not None:
                return self._of_sample(sample, record)
            trace = self._redactor.trace(record)
            inspection = self._inspected(trace, self._options.select, self._options.ignore)
        except UnknownFormatError as error:
            return self._skip(Skipped(record.provenance.record, str(error)))
        line = self._lines.of(record) if inspection.diagnostics or inspection.chain.broken is not None else None
        in_file = check_report.TraceInFile(self._file.name, source, trace, self._traces, line, record)
        return self._inspected_record(inspection, in_file)

    def _inspected(self, trace: Trace, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Inspection:
        options = self._options
        return inspect_trace(
            trace,
            format=options.format,
            select=select,
            ignore=ignore,
            error_patterns=options.error_patterns,
            reasoning_budget=options.reasoning_budget,
            context_window=options.context_window,
        )

    def _of_sample(self, sample: Sample, record: Trace) -> InspectedRecord:
        """The record with the faults of its inspection and of the D rules, except missing lists of tools."""
        clean = redacted(sample, self._redactor)
        clean = inspected_sample(clean, self._inspected(clean.trace))
        options = LintOptions(select=self._options.select, ignore=self._options.ignore, needs_tools=False)
        text = sample.raw_text if sample.row.raw and not self._file.source_file.packing else None
        inspection = structs.replace(clean.inspection, diagnostics=tuple(checked_sample(clean, options)))
        in_file = check_report.TraceInFile(
            self._file.name, SAMPLE_SOURCE, clean.reported_trace, self._traces, text, sample.reported_trace
        )
        return self._inspected_record(inspection, in_file)

    def _inspected_record(self, inspection: Inspection, in_file: check_report.TraceInFile) -> InspectedRecord:
        diagnostics, broken = tuple(in_file.diagnostics(inspection)), inspection.chain.broken
        return InspectedRecord(
            in_file.record,
            title_of(in_file.trace),
            diagnostics,
            inspection.chain if diagnostics else None,
            broken,
            in_file.broken_chain(inspection.chain) if broken is not None and broken.code in self._codes else None,
        )

    def refused(self, why: str, *, is_failure: bool) -> check_report.UnreadRecord | None:
        """The diagnostic for a refused file; None if the refusal does not count as one."""
        only_found = self._file.is_walked and not is_failure
        if UNREADABLE_FILE not in self._unread_rules or (only_found and not self._options.strict):
            return None
        fault = unreadable_file_fault(self._file.name, self._redactor.text(why))
        fingerprint = check_report.unread_fingerprint(fault.rule.code, check_report.in_repository(self._file.name), "")
        return check_report.UnreadRecord(
            self._file.name, "", fault, position=check_report.FilePosition(1, 1), fingerprint=fingerprint
        )

    def close(self) -> None:
        self._lines.close()
        self._texts.close()

    def _skip(self, skipped: Skipped) -> SkippedRecord:
        clean = structs.replace(skipped, reason=self._redactor.text(skipped.reason))
        if skipped.is_irrelevant or UNREADABLE_RECORD not in self._unread_rules:
            return SkippedRecord(clean)
        text = self._texts.find(skipped)
        unread = unreadable_record(self._file.name, clean, text)
        before = text.before + text.text[: unread.shown_from] if text is not None else ""
        return SkippedRecord(clean, self._redacted(unread, before[-_BEFORE:]))

    def _redacted(self, unread: check_report.UnreadRecord, before: str) -> check_report.UnreadRecord:
        """`unread` without secrets. Its excerpt, which follows `before` in the file, is left out if it contains one."""
        fault = structs.replace(unread.fault, message=self._redactor.text(unread.fault.message))
        shown = unread.shown if self._clean.is_clean(unread.record, unread.shown, before) else ""
        return structs.replace(unread, fault=fault, shown=shown)


class RecordLines:
    """Finds the lines of records by reading a file again, forwards and only as far as needed. Ignores packed files."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._stream: BinaryIO | None = None
        self._number = 0

    def of(self, trace: Trace) -> str | None:
        """The line that the trace's record names, without a byte order mark; None if it names no later line."""
        number = check_report.line_number(trace)
        if number is not None and self._file.numbering is not None:
            number = self._file.numbering.position(number)
        if number is None or number <= self._number:
            return None
        stream = self._stream = self._stream or self._opened()
        line = b""
        while stream is not None and self._number < number:
            line = stream.readline(RECORD_BYTES)
            if not line:
                return None
            if line.endswith(b"\n") or len(line) < RECORD_BYTES:
                self._number += 1
        return decode(line).removeprefix(_BOM if number == 1 else "").rstrip("\r\n") if stream is not None else None

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def _opened(self) -> BinaryIO | None:
        try:
            return None if self._file.packing else self._file.open()
        except OSError:
            return None


class _RecordStart(Struct, frozen=True):
    line: int
    column: int
    raw: bytes


class RecordText(Struct, frozen=True):
    """A record of a text file: the line and column where it begins, both from 1, and the beginning of its text.

    `before` is the end of the text before it in the file, if that is not a whole record.
    """

    line: int
    column: int
    text: str
    before: str = ""


def unreadable_record(path: str, skipped: Skipped, record_text: RecordText | None) -> check_report.UnreadRecord:
    """The diagnostic for a skipped record of a file; `record_text` is its text, None if the file has no lines."""
    text = record_text.text if record_text is not None else ""
    if skipped.record == _END:
        skipped = structs.replace(skipped, offset=len(text))
    fault = unreadable_record_fault(skipped, text)
    if record_text is None and skipped.start is not None:
        message = f"{fault.message.removesuffix('.')} (it begins at byte {skipped.start:,} of the content)."
        fault = structs.replace(fault, message=message)
    start = max(fault.range.start - _CONTEXT_CHARS, 0)
    position = _file_position(record_text, fault.range) if record_text is not None else None
    return check_report.UnreadRecord(
        path,
        skipped.record,
        fault,
        text[start : fault.range.end + _CONTEXT_CHARS],
        start,
        position,
        check_report.unread_fingerprint(fault.rule.code, f"{skipped.record}: {skipped.reason}", text),
    )


def _file_position(record_text: RecordText, within: Range) -> check_report.FilePosition:
    lines = LineIndex(record_text.text)
    corners = [lines.position(offset) for offset in (within.start, within.end)]
    (line, column), (end_line, end_column) = (
        (record_text.line + line - 1, column + (record_text.column - 1 if line == 1 else 0)) for line, column in corners
    )
    return check_report.FilePosition(line, column, end_line, end_column)


class AdjoiningTexts:
    """Looks for secrets in consecutive lines that could not be read.

    Such lines may be parts of one text: the first can contain the name of a secret, the second its value.
    """

    def __init__(self) -> None:
        self._finder = Finder()
        self._next = ""

    def is_clean(self, record: str, text: str, before: str) -> bool:
        """Whether the text of a record contains no part of a secret, even if the secret begins before it."""
        if record != self._next:
            self._finder = Finder()
            self._finder.feed(before)
        secrets = self._finder.feed(f"{text}\n")
        begin = len(self._finder.text) - len(text) - 1
        has_secret = any(secret.end > begin for secret in (*secrets, *self._finder.remaining()))
        named = _RECORD.match(record)
        self._next = f"{named[1]} {int(named[2]) + 1}" if named else ""
        return not has_secret


class RecordTexts:
    """Finds the records of a file that `Skipped.record` names, such as `line 3`: each record once, in file order.

    Lines and columns are those of the unpacked text. Holds one record in memory at a time.
    """

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._records: Iterator[tuple[int, _RecordStart]] | None = None
        self._unit = ""
        self._number = 0
        self._opened = ExitStack()
        self._document: tuple[_Window, records.PositionCounter] | None = None

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def find(self, skipped: Skipped) -> RecordText | None:
        """The record up to shortly after its fault, or the end of the file.

        None if the file has no such records, or if reading has passed this one.
        """
        try:
            if skipped.record == _END:
                return _end_of(self._file)
            named = _RECORD.match(skipped.record)
            if skipped.start is not None:
                if named is None:
                    return None
                return self._at(skipped.start, skipped.offset + _CONTEXT_CHARS)
            return self._find(named[1], int(named[2]), skipped.offset + _CONTEXT_CHARS) if named else None
        except OSError:
            return None

    def _at(self, start: int, length: int) -> RecordText | None:
        """The text of a HAR document from the byte `start`, which must not be before that of the previous call."""
        if self._document is None:
            stream, again = (self._opened.enter_context(open_har(self._file)).stream for _ in range(2))
            self._document = _Window(stream), records.PositionCounter(again)
        window, counter = self._document
        line, column = counter.at(start)
        before, text = window.around(start, length * 4)
        return RecordText(line, column, decode(text), decode(before))

    def _find(self, unit: str, number: int, length: int) -> RecordText | None:
        if self._records is None:
            self._unit = records.layout_of(self._file.head)
            self._records = _numbered(self._file, self._unit)
        if unit != self._unit or number <= self._number:
            return None
        for record_number, record in self._records:
            self._number = record_number
            if record_number >= number:
                return (
                    RecordText(record.line, record.column, decode(record.raw[: length * 4]))
                    if record_number == number
                    else None
                )
        return None


def _numbered(file: SourceFile, unit: str) -> Iterator[tuple[int, _RecordStart]]:
    """The records with their numbers; a record over the size limit has only its position."""
    with file.open() as stream, file.open() as again:
        counter = records.PositionCounter(again)
        for read in records.read_lines(stream) if unit == "line" else records.read_elements(stream):
            record = read if file.numbering is None else records.renumbered(read, file.numbering)
            match record:
                case records.Line(number, raw):
                    yield number, _RecordStart(number, 1, raw)
                case records.Element(number, raw, offset):
                    yield number, _RecordStart(*counter.at(offset), raw)
                case _ if (named := _RECORD.match(record.record)) and named[1] == "line":
                    yield int(named[2]), _RecordStart(int(named[2]), 1, b"")


class _Window:
    """A window over a stream that only moves forwards."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = 0
        self._buffer = b""

    def around(self, start: int, length: int) -> tuple[bytes, bytes]:
        """Up to `_BEFORE` bytes before `start`, which must not decrease between calls, and `length` from there."""
        while self._start + len(self._buffer) < start + length and (block := self._stream.read(_BLOCK)):
            self._drop_before(start - _BEFORE)
            self._buffer += block
        self._drop_before(start - _BEFORE)
        begin = start - self._start
        return self._buffer[:begin], self._buffer[begin : begin + length]

    def _drop_before(self, start: int) -> None:
        passed = min(max(start - self._start, 0), len(self._buffer))
        self._start += passed
        self._buffer = self._buffer[passed:]


def _end_of(file: SourceFile) -> RecordText | None:
    """The end of the readable content: its line and column, and the end of that line."""
    tail = b""
    with file.open() as stream:
        counter = records.PositionCounter(stream)
        try:
            while block := stream.read(_BLOCK):
                counter.take(block)
                tail = (tail + block)[-_END_BYTES:]
        except DamagedDataError:
            pass
    if b"\0" in tail:
        return None
    before, _, last = tail.rstrip(b"\r\n").rpartition(b"\n")
    text, before_it = decode(last), decode(before)
    if tail.endswith(b"\n"):
        return RecordText(counter.line - 1, 1, text if len(text) < _END_BYTES else "", before_it)
    return RecordText(counter.line, max(counter.column - len(text), 1), text, before_it)
