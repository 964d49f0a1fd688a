"""Files on their way into a store: read, redacted, inspected and counted, then saved in one transaction each."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from inspector.capture.redacting import Redacts
from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.reading import SourceReading, read_source
from inspector.importers.source import Skipped
from inspector.importers.together import read_together
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace
from storage import Store, Verdict
from storage.drafts import Draft, draft
from ui.importing.placed_file import PlacedFile
from ui.reports.import_report import Counts, FileReport, counts_of

ReadItem: TypeAlias = Draft | FileReport
"""What reading a file gives: its traces as rows, and at the end, once, the report."""


def import_file(store: Store, path: str, source: str | None, redacts: Redacts) -> FileReport:
    """Save every trace of a file, redacted, or none where it fails on the way. StoreError where the store refuses."""
    return save_file(store, read_file(PlacedFile(path), source, redacts))


def read_file(file: PlacedFile, source: str | None, redacts: Redacts) -> Iterator[ReadItem]:
    """Every trace of a file, redacted and inspected, then its report, which says why where the file is refused.

    A file may fail when some of its traces are given already: they do not count then.
    """
    before = redacts.count
    tally = _Tally(redacts)
    try:
        reading = read_source(file.path, source, name=file.name, size_bytes=file.size_bytes)
        records = read_together((file.path, *file.with_it), reading.source) if file.with_it else reading.records
        for trace, inspection in tally.inspected(records):
            yield draft(trace, inspection)
    except UnreadableFileError as error:
        yield FileReport(file.name, refused=redacts.text(str(error)))
        return
    yield tally.report(file.name, reading, redacts.count - before)


def save_file(store: Store, items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None) -> FileReport:
    """Save what `read_file` gives, and complete its report; nothing is saved where that says `refused`.

    `on_trace` is called for each trace. StoreError where the store refuses.
    """
    reading = _Reading(items, on_trace)
    try:
        became = Counter(saved.verdict for saved in store.save_drafts(reading.drafts()))
    except _RefusedError as refused:
        return refused.report
    return replace(reading.report, unchanged=became[Verdict.UNCHANGED], replaced=became[Verdict.REPLACED])


def report_only(items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None) -> FileReport:
    """The report of what `read_file` gives; nothing is saved."""
    reading = _Reading(items, on_trace)
    try:
        for _ in reading.drafts():
            pass
    except _RefusedError as refused:
        return refused.report
    return reading.report


class _RefusedError(Exception):
    """Ends a transaction whose file turned out to be refused."""

    def __init__(self, report: FileReport) -> None:
        super().__init__(report.refused)
        self.report = report


class _Reading:
    """The rows of a file on their way to the store; the report is there when they have come to their end."""

    def __init__(self, items: Iterable[ReadItem], on_trace: Callable[[], object]) -> None:
        self._items = items
        self._on_trace = on_trace
        self.report = FileReport("")

    def drafts(self) -> Iterator[Draft]:
        """The traces. Raises _RefusedError where the report says `refused`."""
        for item in self._items:
            if isinstance(item, Draft):
                self._on_trace()
                yield item
            elif item.refused is not None:
                raise _RefusedError(item)
            else:
                self.report = item


@dataclass(slots=True)
class _Tally:
    """Counts what goes through it."""

    redacts: Redacts
    counts: Counts = field(default_factory=Counts)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)

    def inspected(self, records: Iterable[Trace | Skipped]) -> Iterator[tuple[Trace, Inspection]]:
        for record in records:
            if isinstance(record, Skipped):
                self.skipped.append(replace(record, reason=self.redacts.text(record.reason)))
                continue
            trace = self.redacts.trace(record)
            try:
                inspection = inspect_trace(trace)
            except UnknownFormatError as error:
                self.skipped.append(Skipped(record.provenance.record, str(error)))
                continue
            self.counts += counts_of(trace, inspection)
            self.warnings.update(dict.fromkeys(trace.provenance.warnings))
            yield trace, inspection

    def report(self, path: str, reading: SourceReading, redacted: int) -> FileReport:
        return FileReport(
            path,
            reading.source,
            None,
            self.counts,
            tuple(self.skipped),
            tuple(self.warnings),
            redacted=redacted,
            why=reading.why,
        )
