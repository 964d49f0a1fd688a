"""Inspects files trace by trace, without a database, and hands on what is found."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.reading import read_source
from inspector.importers.source import Skipped
from inspector.inspection import inspect_trace
from inspector.model import Trace
from inspector.segmentation import AUTO
from ui.reports.check_report import CheckedFile, CheckReport, findings_of

_MOST_SKIPPED = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """How files are read, and which rules count: codes, names or code prefixes."""

    source: str | None = None
    format: str = AUTO
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()


def check_file(path: str, wanted: Wanted, report: CheckReport) -> CheckedFile:
    """Inspect every trace of a file and report what is wrong; what became of the file.

    One trace at a time is in memory. A file that fails on the way is refused from there on.
    """
    tally = _Tally(path, wanted, report)
    source, refused = None, None
    try:
        reading = read_source(path, wanted.source)
        source = reading.source
        for record in reading.records:
            tally.count(record)
    except UnreadableFileError as error:
        refused = str(error)
    skipped = tuple(tally.first_skipped)
    return CheckedFile(path, source, refused, tally.traces, tally.skipped, skipped, tally.diagnostics)


class _Tally:
    """Counts what a file holds and reports its diagnostics."""

    def __init__(self, path: str, wanted: Wanted, report: CheckReport) -> None:
        self._path, self._wanted, self._report = path, wanted, report
        self.traces = self.skipped = 0
        self.first_skipped: list[Skipped] = []
        self.diagnostics: Counter[str] = Counter()

    def count(self, record: Trace | Skipped) -> None:
        if isinstance(record, Skipped):
            self._skip(record)
            return
        wanted = self._wanted
        try:
            found = inspect_trace(record, format=wanted.format, select=wanted.select, ignore=wanted.ignore)
        except UnknownFormatError as error:
            self._skip(Skipped(record.provenance.record, str(error)))
            return
        self.traces += 1
        for finding in findings_of(self._path, record, found):
            self.diagnostics[finding.diagnostic.rule.code] += 1
            self._report.finding(finding)

    def _skip(self, skipped: Skipped) -> None:
        self.skipped += 1
        if len(self.first_skipped) < _MOST_SKIPPED:
            self.first_skipped.append(skipped)
