"""Repairs a file of training data record by record, and writes the copy."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import BinaryIO

from inspector.dataset.repair import Change, Examined, Repair, repair_trace
from inspector.dataset.repaired_record import RewrittenRecord, rewrite_record
from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.reading import read_source
from inspector.importers.source import Skipped, SourceFile
from inspector.inspection import inspect_trace
from inspector.model import Trace
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Rule
from inspector.segmentation import AUTO
from inspector.text import decode
from ui.cli.fix_records import RecordCopy, copy_records, copy_text
from ui.reports.fix_report import FixedFile, FixReport, Repaired
from ui.views.trace import title_of

_ROWS = frozenset({"completions", "sharegpt", "openai-messages", "bfcl"})
_RAW_TEXT = "raw-text"
_Rewrite = Callable[[str, Trace, Repair], RewrittenRecord]


@dataclass(frozen=True, slots=True)
class FixOptions:
    """What is to be repaired: how files are read, the faults of which rules, and whether guesses are made too."""

    source: str | None = None
    format: str = AUTO
    rules: Container[Rule] = RULES
    unsafe: bool = False

    def examine(self, trace: Trace) -> Examined:
        """What is wrong with a trace. Raises UnknownFormatError."""
        found = inspect_trace(trace, format=self.format)
        return Examined(found.diagnostics, sum(call.valid for part in found.parts for call in part.calls))


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
        except UnknownFormatError:
            self.skipped += 1
            return
        made, unplaced = self._written(trace, repair)
        self.records += bool(made)
        self.changes += len(made)
        self.left += len(unplaced) + len(repair.refused)
        if made or unplaced or repair.refused:
            place, title = trace.provenance.record, title_of(trace)
            self._report.repaired(Repaired(self._path, place, title, made, unplaced, repair.refused))

    def _written(self, trace: Trace, repair: Repair) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
        """The changes that stand in the copy now, and those that found no place there."""
        if not repair.changes:
            return (), ()
        raw = self._copy.find(trace.provenance.record)
        if raw is None:
            return (), repair.changes
        rewritten = self._rewrite(decode(raw), trace, repair)
        self._copy.put(rewritten.text.encode("utf-8", "surrogateescape"))
        return rewritten.changes, rewritten.unplaced


def _text_rewritten(text: str, trace: Trace, repair: Repair) -> RewrittenRecord:
    """A file of raw text is its trace's texts, one behind the other."""
    del text, trace
    return RewrittenRecord("".join(part.text for turn in repair.trace.turns for part in turn.parts), repair.changes)
