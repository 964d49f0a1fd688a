"""Repairs a file of training data record by record, and copies everything else byte for byte."""

from collections.abc import Callable, Container, Iterator
from typing import BinaryIO, Protocol

from msgspec import Struct

from inspector.dataset.data_row import DataRow
from inspector.dataset.record_rewrite import RewrittenRecord, rewrite_record
from inspector.dataset.repair import AppliedRepair, Repair, RepairInput, repair_trace
from inspector.dataset.row_repair import repair_row
from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.reading import read_source
from inspector.importers.records import NotJsonError, layout_of, parse_json_bytes, read_elements
from inspector.importers.source import Skipped, SourceFile
from inspector.inspection import inspect_trace
from inspector.model import Trace
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Rule
from inspector.scanning import lazy_pattern
from inspector.segmentation import AUTO
from inspector.text import decode
from ui.cli.console import print_notice
from ui.reports.fix_report import FixedFile, FixReport, Repaired
from ui.views.trace import title_of

_BOM = b"\xef\xbb\xbf"
_RECORD = lazy_pattern(r"(line|entry|document) (\d+)")
_ROWS = frozenset({"completions", "sharegpt", "openai-messages", "bfcl"})
_RAW_TEXT = "raw-text"


class RecordCopy(Protocol):
    """A copy under way. Records are asked for in the order of the file; what lies between them is copied as it is."""

    def find(self, record: str) -> bytes | None:
        """The bytes of a record (`line 3`), up to which everything is copied now; None where it is none of those left.

        `put` must follow where it is found.
        """
        ...

    def put(self, raw: bytes) -> None:
        """These bytes stand for the record that was found."""
        ...

    def close(self) -> None:
        """Copy the rest."""
        ...


def copy_records(file: SourceFile, out: BinaryIO) -> RecordCopy:
    """A copy of a JSON file to `out`. A file that is no lines is wholly in memory."""
    if layout_of(file.head) == "line":
        return _NumberedLines(file.open(), out)
    return _ElementCopy(file, out)


def copy_text(file: SourceFile, out: BinaryIO) -> RecordCopy:
    """A copy of a file that is one text, the record `file`."""
    return _TextCopy(file, out)


class _TextCopy:
    """Nothing is copied until it is known whether it is repaired."""

    def __init__(self, file: SourceFile, out: BinaryIO) -> None:
        with file.open() as stream:
            self._content = stream.read()
        self._out = out

    def find(self, record: str) -> bytes | None:
        return self._content if record == "file" else None

    def put(self, raw: bytes) -> None:
        self._content = raw

    def close(self) -> None:
        self._out.write(self._content)


class _NumberedLines:
    """Numbered as `inspector.importers.records` numbers them: blank lines count."""

    def __init__(self, stream: BinaryIO, out: BinaryIO) -> None:
        self._stream, self._out = stream, out
        self._number = 0

    def find(self, record: str) -> bytes | None:
        number = _number(record, "line")
        if number is None or number <= self._number:
            return None
        line = b""
        while self._number < number:
            self._out.write(line)
            self._number += 1
            line = self._stream.readline()
        raw = line.removeprefix(_BOM) if number == 1 else line
        self._out.write(line[: len(line) - len(raw)])
        content = raw.rstrip(b"\r\n")
        self._ending = raw[len(content) :]
        return content

    def put(self, raw: bytes) -> None:
        self._out.write(raw + self._ending)

    def close(self) -> None:
        while block := self._stream.read(1 << 20):
            self._out.write(block)
        self._stream.close()


class _ElementCopy:
    """Each element is searched for behind the one before it: they come in order, with their exact bytes."""

    def __init__(self, file: SourceFile, out: BinaryIO) -> None:
        self._out, self._at = out, 0
        with file.open() as stream:
            self._content = stream.read()
        self._unit = layout_of(file.head)
        self._places = self._placed(file)
        self._number = 0

    def find(self, record: str) -> bytes | None:
        number = _number(record, self._unit)
        if number is None or number <= self._number:
            return None
        for at, start, end in self._places:
            self._number = at
            if at == number:
                self._out.write(self._content[self._at : start])
                self._at = end
                return self._content[start:end]
        return None

    def put(self, raw: bytes) -> None:
        self._out.write(raw)

    def close(self) -> None:
        self._out.write(self._content[self._at :])

    def _placed(self, file: SourceFile) -> Iterator[tuple[int, int, int]]:
        at = 0
        with file.open() as stream:
            for element in read_elements(stream):
                if isinstance(element, Skipped):
                    continue
                start = self._content.find(element.raw, at)
                if start < 0:
                    return
                at = start + len(element.raw)
                yield element.number, start, at


def _number(record: str, unit: str) -> int | None:
    match = _RECORD.fullmatch(record)
    return int(match[2]) if match is not None and match[1] == unit else None


_Rewrite = Callable[[str, Trace, Repair], RewrittenRecord]


class FixOptions(Struct, frozen=True):
    """What is to be repaired: how files are read, the faults of which rules, and whether guesses are made too."""

    source: str | None = None
    format: str = AUTO
    rules: Container[Rule] = RULES
    unsafe: bool = False

    def examine(self, trace: Trace) -> RepairInput:
        """What is wrong with a trace. Raises UnknownFormatError."""
        found = inspect_trace(trace, format=self.format)
        return RepairInput(found.diagnostics, sum(call.valid for part in found.parts for call in part.calls), found)


def fix_file(path: str, asked: FixOptions, out: BinaryIO, report: FixReport) -> FixedFile:
    """Write the repaired copy of a file to `out`, and report each repair; what became of the file.

    A trace at a time is in memory. Raises UnreadableFileError where the file cannot be read to its end, or is not one
    whose texts are repaired: then `out` is not whole.
    """
    reading = read_source(path, asked.source)
    file = SourceFile(path)
    if reading.source not in {*_ROWS, _RAW_TEXT}:
        raise UnreadableFileError(
            f"{path}: `fix` repairs training data (raw outputs, conversations, raw text), and this is a log "
            f"of `{reading.source}`, which is evidence and stays as it is"
        )
    if file.packing:
        raise UnreadableFileError(f"{path}: unpack it first: `fix` writes a copy that differs only where it repairs")
    is_text = reading.source == _RAW_TEXT
    copy = copy_text(file, out) if is_text else copy_records(file, out)
    fixing = _Fixing(path, asked, copy, report, _text_rewritten if is_text else rewrite_record)
    for record in reading.records:
        if isinstance(record, Skipped):
            fixing.skipped += 1
            print_notice(f"{record.file or path}: {record.record}: {record.reason}")
        else:
            fixing.trace(record)
    copy.close()
    return FixedFile(path, reading.source, fixing.traces, fixing.skipped, fixing.records, fixing.changes, fixing.left)


class _Fixing:
    """Repairs the traces of one file, and counts."""

    def __init__(self, path: str, asked: FixOptions, copy: RecordCopy, report: FixReport, rewrite: _Rewrite) -> None:
        self._path, self._asked, self._copy, self._report, self._rewrite = path, asked, copy, report, rewrite
        self.traces = self.skipped = self.records = self.changes = self.left = 0

    def trace(self, trace: Trace) -> None:
        self.traces += 1
        try:
            repair = repair_trace(trace, self._asked.examine, rules=self._asked.rules, unsafe=self._asked.unsafe)
        except UnknownFormatError as error:
            self.skipped += 1
            print_notice(f"{self._path}: {trace.provenance.record}: {error}")
            return
        made, unplaced = self._written(trace, repair)
        self.records += bool(made)
        self.changes += len(made)
        self.left += len(unplaced) + len(repair.refused)
        if made or unplaced or repair.refused:
            place, title = trace.provenance.record, title_of(trace)
            self._report.repaired(Repaired(self._path, place, title, made, unplaced, repair.refused))

    def _written(self, trace: Trace, repair: Repair) -> tuple[tuple[AppliedRepair, ...], tuple[AppliedRepair, ...]]:
        """The changes that stand in the copy now, and those that found no place there."""
        is_row = self._rewrite is rewrite_record
        raw = self._copy.find(trace.provenance.record) if repair.changes or is_row else None
        if raw is None:
            return (), repair.changes
        rewritten = RewrittenRecord(decode(raw), ())
        if repair.changes:
            rewritten = self._rewrite(rewritten.text, trace, repair)
        text, of_row = self._row_repaired(rewritten.text, trace, repair) if is_row else (rewritten.text, ())
        self._copy.put(text.encode("utf-8", "surrogateescape") if rewritten.changes or of_row else raw)
        return (*rewritten.changes, *of_row), rewritten.unplaced

    def _row_repaired(self, text: str, trace: Trace, repair: Repair) -> tuple[str, tuple[AppliedRepair, ...]]:
        """The row with its own members repaired too, and these repairs."""
        raw, record = text.encode("utf-8", "surrogateescape"), trace.provenance.record
        try:
            value = parse_json_bytes(raw)
        except NotJsonError:
            return text, ()
        if not isinstance(value, dict):
            return text, ()
        row = DataRow(self._path, record, int(record.rpartition(" ")[2]), value, raw)
        asked = self._asked
        return repair_row(row, repair.trace, repair.inspection, rules=asked.rules, unsafe=asked.unsafe)


def _text_rewritten(text: str, trace: Trace, repair: Repair) -> RewrittenRecord:
    """A file of raw text is its trace's texts, one behind the other."""
    del text, trace
    return RewrittenRecord("".join(part.text for turn in repair.trace.turns for part in turn.parts), repair.changes)
