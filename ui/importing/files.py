"""Files on their way into a store: read, redacted, inspected and counted, then saved, each whole or not at all."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeAlias

from msgspec import Struct, field, structs

from inspector.capture.redacting import Redacts
from inspector.errors import StoreError, UnknownFormatError, UnreadableFileError
from inspector.importers.reading import read_group
from inspector.importers.source import Skipped
from inspector.inspection import inspect_trace
from inspector.model import Trace
from inspector.model.exchange import RecordedTrace
from storage import Store, Verdict
from storage.derived_rows import derived_rows
from storage.exchanges import packed_exchanges
from storage.record_rows import RecordRows, record_rows
from storage.writing import KeptInspection, KeptRows, Saved, TraceDraft, TraceRows
from ui.importing.file_places import PlacedFile, read_placed
from ui.reports.import_report import Counts, FileReport, counts_from, counts_of

_MOST_TOGETHER, _LARGEST_TOGETHER = 200, 16 << 20  # traces of small files in one transaction, and bytes of their texts
_NOTHING = Counts()
_LONGEST_WAIT_S = 1.0  # before the files that are read are saved

FileReports: TypeAlias = tuple[FileReport, ...]
"""The reports of a file, and of those that are read with it as one log, in their order."""


class ReadTrace(Struct, frozen=True):
    """A trace as rows; `number` says which of the files that are read as one log it counts at, from 0."""

    number: int
    draft: TraceDraft


ReadItem: TypeAlias = ReadTrace | FileReports
"""What reading a file gives: its traces, and at the end, once, the reports."""


class RecordShare(Struct, frozen=True):
    """Which records of a file one of several processes inspects: every `of`-th one, counted from `index`."""

    index: int = 0
    of: int = 1


class ReadRecord(Struct, frozen=True):
    """One record of a file: a trace as rows with what reports count of it, or why it was skipped.

    `number` says which of the files that are read as one log it counts at, from 0.
    """

    number: int
    draft: TraceDraft | None = None
    counts: Counts = _NOTHING
    warnings: tuple[str, ...] = ()
    redacted: int = 0
    skipped: Skipped | None = None


class ReadEnd(Struct, frozen=True):
    """The end of a file: its source and what that was recognised by, or why the file is refused."""

    source: str | None = None
    why: str | None = None
    refused: str | None = None


Kept: TypeAlias = Callable[[RecordRows], KeptInspection | None]
"""What is known already of the inspection of a record: `storage.Store.kept_inspection`."""


def nothing_kept(_: RecordRows) -> None:
    """That every record is to be inspected."""


_ALL_RECORDS = RecordShare()

FileRecord: TypeAlias = ReadRecord | ReadEnd
"""What one process reads of a file: records, and at the end, once, its end."""


def import_file(store: Store, path: str, source: str | None, redacts: Redacts) -> FileReport:
    """Save every trace of a file, redacted, or none where it fails on the way. StoreError where the store refuses."""
    return save_file(store, read_file(PlacedFile(path), source, redacts))[0]


def read_file(file: PlacedFile, source: str | None, redacts: Redacts, kept: Kept = nothing_kept) -> Iterator[ReadItem]:
    """Every trace of a file, redacted and inspected, then its reports, which say why where the file is refused.

    A file may fail when some of its traces are given already: they do not count then. What is `kept` is not inspected.
    """
    return with_reports(file, read_records(file, source, redacts, kept))


def read_records(
    file: PlacedFile, source: str | None, redacts: Redacts, kept: Kept = nothing_kept, share: RecordShare = _ALL_RECORDS
) -> Iterator[FileRecord]:
    """The records of a file that belong to a share, redacted and inspected, in their order, then the file's end."""
    numbers = {name: number for number, name in reversed(list(enumerate((file.name, *file.with_it))))}
    try:
        reading = read_placed(file, source)
        records = read_group((file.path, *file.with_it), reading.source) if file.with_it else reading.records
        for record in islice(records, share.index, None, share.of):
            name = record.file if isinstance(record, Skipped) else record.provenance.file
            yield _read_record(record, numbers.get(name, 0), redacts, kept)
    except UnreadableFileError as error:
        yield ReadEnd(refused=redacts.text(str(error)))
        return
    yield ReadEnd(reading.source, reading.why)


def with_reports(file: PlacedFile, records: Iterable[FileRecord]) -> Iterator[ReadItem]:
    """The traces among the records of a file, then the reports on all of them."""
    tallies = [_ImportTally() for _ in (file, *file.with_it)]
    for record in records:
        if isinstance(record, ReadEnd):
            yield _reports(file, tallies, record) if record.refused is None else refused_reports(file, record.refused)
            return
        tallies[record.number].take(record)
        if record.draft is not None:
            yield ReadTrace(record.number, record.draft)


def _read_record(record: Trace | Skipped, number: int, redacts: Redacts, kept: Kept) -> ReadRecord:
    if isinstance(record, Skipped):
        return ReadRecord(number, skipped=structs.replace(record, reason=redacts.text(record.reason)))
    before = redacts.count
    trace = redacts.trace(record)
    redacted = redacts.count - before
    rows, warnings = _rows(record, trace, redacts), trace.provenance.warnings
    known = kept(rows)
    if known is not None:
        return ReadRecord(
            number, KeptRows(rows, trace), counts_from(trace, known.calls, known.codes), warnings, redacted
        )
    try:
        inspection = inspect_trace(trace)
    except UnknownFormatError as error:
        return ReadRecord(number, redacted=redacted, skipped=Skipped(record.provenance.record, str(error)))
    draft = TraceRows(rows, derived_rows(inspection, trace))
    return ReadRecord(number, draft, counts_of(trace, inspection), warnings, redacted)


def _rows(record: Trace, trace: Trace, redacts: Redacts) -> RecordRows:
    """A record as rows; `trace` is the record without its secrets."""
    rows = record_rows(trace)
    if not isinstance(record, RecordedTrace):
        return rows
    from inspector.capture.exchange_record import masked_exchanges  # noqa: PLC0415  # few files hold exchanges

    return structs.replace(rows, exchanges=packed_exchanges(masked_exchanges(record, trace, redacts)))


def _reports(file: PlacedFile, tallies: Sequence["_ImportTally"], end: ReadEnd) -> FileReports:
    return tuple(
        FileReport(
            name,
            end.source,
            None,
            tally.counts,
            tuple(tally.skipped),
            tuple(tally.warnings),
            redacted=tally.redacted,
            why=_WITH_IT.format(file.name) if number else end.why,
        )
        for number, (name, tally) in enumerate(zip((file.name, *file.with_it), tallies, strict=True))
    )


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
        return reading.completed(store.save_drafts(reading.drafts()))
    except _RefusedError as refused:
        return refused.reports


class FileSaver:
    """Saves files one after the other, small ones together in one transaction, each of them whole or not at all.

    `done` is called with what `save` was given and the reports of the file once it is in the database, in order. What
    is held in memory is bounded: a large file is saved by itself, while it is read. `clock` counts seconds.
    """

    def __init__(
        self,
        store: Store,
        done: Callable[[PlacedFile, FileReports], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._done = done
        self._clock = clock
        self._waiting: list[_WaitingFile] = []
        self._count = self._size = 0
        self._since_s = 0.0

    def save(
        self, file: PlacedFile, items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None
    ) -> None:
        """Save what `read_file` gives of a file, at once or with the next ones. StoreError where the store refuses."""
        reading = _FileRows(items, on_trace)
        drafts = reading.drafts()
        held: list[TraceDraft] = []
        size = 0
        try:
            for draft in drafts:
                held.append(draft)
                size += draft.size
                if len(held) >= _MOST_TOGETHER or size > _LARGEST_TOGETHER:
                    self.flush()
                    self._done(file, reading.completed(self._store.save_drafts(chain(held, drafts))))
                    return
        except _RefusedError:
            held, size = [], 0
        self._wait(_WaitingFile(file, reading, held), size)

    def flush(self) -> None:
        """Save the files that wait. StoreError where the store refuses one: those before it are saved."""
        try:
            saved = self._store.save_drafts(draft for one in self._waiting for draft in one.drafts)
        except StoreError:
            if len(self._waiting) == 1:
                raise
            for one in self._taken():
                self._done(one.file, one.reading.completed(self._store.save_drafts(one.drafts)))
            return
        became = iter(saved)
        for one in self._taken():
            self._done(one.file, one.reading.completed(list(islice(became, len(one.drafts)))))

    def _taken(self) -> list["_WaitingFile"]:
        """The files that wait, which do so no longer."""
        waiting, self._waiting = self._waiting, []
        self._count = self._size = 0
        return waiting

    def _wait(self, file: "_WaitingFile", size: int) -> None:
        if not self._waiting:
            self._since_s = self._clock()
        self._waiting.append(file)
        self._count += len(file.drafts)
        self._size += size
        is_due = self._clock() - self._since_s > _LONGEST_WAIT_S
        if is_due or self._count >= _MOST_TOGETHER or self._size > _LARGEST_TOGETHER:
            self.flush()


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

    def drafts(self) -> Iterator[TraceDraft]:
        """The traces. Raises _RefusedError where the reports say `refused`."""
        for item in self._items:
            if isinstance(item, ReadTrace):
                self._on_trace()
                self.numbers.append(item.number)
                yield item.draft
                continue
            self.reports = item
            if item[0].refused is not None:
                self.numbers.clear()
                raise _RefusedError(item)

    def completed(self, saved: Sequence[Saved]) -> FileReports:
        """The reports, with what became of the traces when they were saved."""
        became = Counter((number, one.verdict) for number, one in zip(self.numbers, saved, strict=True))
        return tuple(
            structs.replace(
                report, unchanged=became[number, Verdict.UNCHANGED], replaced=became[number, Verdict.REPLACED]
            )
            for number, report in enumerate(self.reports)
        )


class _WaitingFile(Struct, frozen=True):
    """A file that was read, and waits to be saved with others."""

    file: PlacedFile
    reading: _FileRows
    drafts: list[TraceDraft]


class _ImportTally(Struct):
    """What one file held. A trace that goes on over several files counts at the one in which it begins."""

    counts: Counts = field(default_factory=Counts)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    redacted: int = 0

    def take(self, record: ReadRecord) -> None:
        """Count a record."""
        self.counts += record.counts
        self.warnings.update(dict.fromkeys(record.warnings))
        self.redacted += record.redacted
        if record.skipped is not None:
            self.skipped.append(record.skipped)


_WITH_IT = "It was read as one log with {}; a session that goes on over several files counts where it begins."
