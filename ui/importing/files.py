"""Files on their way into a store: read, redacted, inspected and counted, then saved in one transaction each."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from inspector.capture.redacting import Redacts
from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.reading import SourceReading, read_group
from inspector.importers.source import Skipped
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace
from storage import Store, Verdict
from storage.writing import TraceRows, trace_rows
from ui.importing.file_places import PlacedFile, read_placed
from ui.reports.import_report import Counts, FileReport, counts_of

FileReports: TypeAlias = tuple[FileReport, ...]
"""The reports of a file, and of those that are read with it as one log, in their order."""


@dataclass(frozen=True, slots=True)
class ReadTrace:
    """A trace as rows; `number` says which of the files that are read as one log it counts at, from 0."""

    number: int
    draft: TraceRows


ReadItem: TypeAlias = ReadTrace | FileReports
"""What reading a file gives: its traces, and at the end, once, the reports."""


def import_file(store: Store, path: str, source: str | None, redacts: Redacts) -> FileReport:
    """Save every trace of a file, redacted, or none where it fails on the way. StoreError where the store refuses."""
    return save_file(store, read_file(PlacedFile(path), source, redacts))[0]


def read_file(file: PlacedFile, source: str | None, redacts: Redacts) -> Iterator[ReadItem]:
    """Every trace of a file, redacted and inspected, then its reports, which say why where the file is refused.

    A file may fail when some of its traces are given already: they do not count then.
    """
    names = (file.name, *file.with_it)
    tallies = _FileTallies(names, redacts)
    try:
        reading = read_placed(file, source)
        records = read_group((file.path, *file.with_it), reading.source) if file.with_it else reading.records
        for number, trace, inspection in tallies.inspected(records):
            yield ReadTrace(number, trace_rows(trace, inspection))
    except UnreadableFileError as error:
        yield refused_reports(file, redacts.text(str(error)))
        return
    yield tallies.reports(reading)


def refused_reports(file: PlacedFile, why: str) -> FileReports:
    """The reports of a file that is refused, and with it those that were read with it."""
    rest = (f"{path}: it was read as one log with {file.name}, which was refused." for path in file.with_it)
    others = (FileReport(path, refused=said) for path, said in zip(file.with_it, rest, strict=True))
    return (FileReport(file.name, refused=why), *others)


def save_file(store: Store, items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None) -> FileReports:
    """Save what `read_file` gives, and complete its reports; nothing is saved where they say `refused`.

    `on_trace` is called for each trace. StoreError where the store refuses.
    """
    reading = _FileRows(items, on_trace)
    try:
        saved = store.save_drafts(reading.drafts())
    except _RefusedError as refused:
        return refused.reports
    became = Counter((number, one.verdict) for number, one in zip(reading.numbers, saved, strict=True))
    return tuple(
        replace(report, unchanged=became[number, Verdict.UNCHANGED], replaced=became[number, Verdict.REPLACED])
        for number, report in enumerate(reading.reports)
    )


def report_only(items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None) -> FileReports:
    """The reports of what `read_file` gives; nothing is saved."""
    reading = _FileRows(items, on_trace)
    try:
        for _ in reading.drafts():
            pass
    except _RefusedError as refused:
        return refused.reports
    return reading.reports


class _RefusedError(Exception):
    """Ends a transaction whose file turned out to be refused."""

    def __init__(self, reports: FileReports) -> None:
        super().__init__(reports[0].refused)
        self.reports = reports


class _FileRows:
    """The rows of a file on their way to the store; the reports are there when they have come to their end.

    `numbers` says of each trace which file it counts at.
    """

    def __init__(self, items: Iterable[ReadItem], on_trace: Callable[[], object]) -> None:
        self._items = items
        self._on_trace = on_trace
        self.reports: FileReports = ()
        self.numbers: list[int] = []

    def drafts(self) -> Iterator[TraceRows]:
        """The traces. Raises _RefusedError where the reports say `refused`."""
        for item in self._items:
            if isinstance(item, ReadTrace):
                self._on_trace()
                self.numbers.append(item.number)
                yield item.draft
            elif item[0].refused is not None:
                raise _RefusedError(item)
            else:
                self.reports = item


@dataclass(slots=True)
class _ImportTally:
    """What one file held."""

    counts: Counts = field(default_factory=Counts)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    redacted: int = 0


class _FileTallies:
    """Counts what goes through it, each trace and each skipped record at the file that it says it stands in.

    A trace that goes on over several files counts at the one in which it begins.
    """

    def __init__(self, names: Sequence[str], redacts: Redacts) -> None:
        self._names, self._redacts = names, redacts
        self._numbers = {name: number for number, name in reversed(list(enumerate(names)))}
        self._tallies = [_ImportTally() for _ in names]

    def inspected(self, records: Iterable[Trace | Skipped]) -> Iterator[tuple[int, Trace, Inspection]]:
        for record in records:
            number = self._number(record)
            tally = self._tallies[number]
            if isinstance(record, Skipped):
                tally.skipped.append(replace(record, reason=self._redacts.text(record.reason)))
                continue
            before = self._redacts.count
            trace = self._redacts.trace(record)
            tally.redacted += self._redacts.count - before
            try:
                inspection = inspect_trace(trace)
            except UnknownFormatError as error:
                tally.skipped.append(Skipped(record.provenance.record, str(error)))
                continue
            tally.counts += counts_of(trace, inspection)
            tally.warnings.update(dict.fromkeys(trace.provenance.warnings))
            yield number, trace, inspection

    def reports(self, reading: SourceReading) -> FileReports:
        return tuple(
            FileReport(
                name,
                reading.source,
                None,
                tally.counts,
                tuple(tally.skipped),
                tuple(tally.warnings),
                redacted=tally.redacted,
                why=f"{_WITH_IT.format(self._names[0])}" if number else reading.why,
            )
            for number, (name, tally) in enumerate(zip(self._names, self._tallies, strict=True))
        )

    def _number(self, record: Trace | Skipped) -> int:
        name = record.file if isinstance(record, Skipped) else record.provenance.file
        return self._numbers.get(name, 0)


_WITH_IT = "It was read as one log with {}; a session that goes on over several files counts where it begins."
