"""Imports files into a store: reads, redacts, inspects and counts them, then saves each one whole or not at all."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, takewhile
from typing import TypeAlias

from msgspec import Struct, field, structs

from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.errors import StoreError, UnknownFormatError, UnreadableFileError
from weaklink.inspector.importers.reading import read_group
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.memoized import RecentValues, is_memoizing
from weaklink.inspector.model import Trace, Turn
from weaklink.inspector.model.exchange import RecordedTrace, expanded
from weaklink.storage.derived_rows import derived_rows, inspect_trace
from weaklink.storage.exchanges import packed_exchanges
from weaklink.storage.record_rows import RecordRows, record_rows
from weaklink.storage.saved import Saved, Verdict
from weaklink.storage.store import Store
from weaklink.storage.writing import StoredInspection, TraceDraft, TraceRows, UninspectedRows, WrittenTurns
from weaklink.ui.importing.input_files import InputFile, read_input
from weaklink.ui.reports.import_report import Counts, FileReport, counts_from, counts_of

_MAX_BATCH_TRACES, _MAX_BATCH_BYTES = 200, 16 << 20  # of small files that one transaction saves
_NOTHING = Counts()
_MAX_WAIT_S = 1.0  # before pending files are saved

FileReports: TypeAlias = tuple[FileReport, ...]
"""The reports of a file, and of the files that are read with it as one log, in order."""


class RecordShare(Struct, frozen=True):
    """The records of a file that one of several processes inspects: every `of`-th record, starting at `index`."""

    index: int = 0
    of: int = 1


class ReadRecord(Struct, frozen=True):
    """One record of a file: a trace as rows with its counts for the report, or the reason why it was skipped.

    `number` is the index, from 0, of the file of the log at which it is counted.
    """

    number: int
    draft: TraceDraft | None = None
    counts: Counts = _NOTHING
    warnings: tuple[str, ...] = ()
    redacted: int = 0
    skipped: Skipped | None = None


class ReadEnd(Struct, frozen=True):
    """The end of a file: its source and how that was recognised, or why the file is refused."""

    source: str | None = None
    why: str | None = None
    refused: str | None = None


InspectionLookup: TypeAlias = Callable[[RecordRows], StoredInspection | None]
"""Looks up the stored inspection of a record: ``Store.stored_inspection``."""


def no_inspection(_: RecordRows) -> None:
    """No stored inspection: every record is inspected."""


_ALL_RECORDS = RecordShare()

FileRecord: TypeAlias = ReadRecord | ReadEnd
"""An item that one process reads from a file: records, and once at the end, the file's end."""

ReadItem: TypeAlias = ReadRecord | FileReports
"""An item that reading a file yields: its records, and once at the end, the reports on all of them."""


def import_file(store: Store, path: str, source: str | None, redacts: Redacts) -> FileReport:
    """Save every trace of a file, redacted, or none if reading fails. Raises StoreError if the store refuses."""
    return save_file(store, read_file(InputFile(path), source, redacts))[0]


def read_file(
    file: InputFile, source: str | None, redacts: Redacts, stored_inspection: InspectionLookup = no_inspection
) -> Iterator[ReadItem]:
    """Every record of a file, redacted and inspected, then its reports, which contain the reason if it is refused.

    A file may fail after some of its traces were yielded: then they do not count. Records of which `stored_inspection`
    returns an inspection are not inspected again.
    """
    return with_reports(file, read_records(file, source, redacts, stored_inspection))


def read_records(
    file: InputFile,
    source: str | None,
    redacts: Redacts,
    stored_inspection: InspectionLookup = no_inspection,
    share: RecordShare = _ALL_RECORDS,
    *,
    project: str | None = None,
    format: str = "",
) -> Iterator[FileRecord]:
    """The records of a file that belong to a share, redacted and inspected, in order, then the file's end.

    With a `project`, traces of other projects are left out. `format` names the format of the texts; "" detects it.
    """
    numbers = {name: number for number, name in reversed(list(enumerate((file.name, *file.with_it))))}
    try:
        reading = read_input(file, source)
        records = read_group((file.path, *file.with_it), reading.source) if file.with_it else reading.records
        if project is not None:
            records = (record for record in records if isinstance(record, Skipped) or record.project == project)
        for record in islice(records, share.index, None, share.of):
            name = record.file if isinstance(record, Skipped) else record.provenance.file
            if format and not isinstance(record, Skipped):
                record = structs.replace(record, format=format)  # noqa: PLW2901  # the same record, completed
            yield _read_record(record, numbers.get(name, 0), redacts, stored_inspection)
    except UnreadableFileError as error:
        yield ReadEnd(refused=redacts.text(str(error)))
        return
    yield ReadEnd(reading.source, reading.why)


def with_reports(file: InputFile, records: Iterable[FileRecord]) -> Iterator[ReadItem]:
    """A file's records as they come, with the reports on all of them instead of the file's end."""
    tallies = [_ImportTally() for _ in (file, *file.with_it)]
    for record in records:
        if isinstance(record, ReadEnd):
            yield _reports(file, tallies, record) if record.refused is None else refused_reports(file, record.refused)
            return
        tallies[record.number].add(record)
        yield record


def _read_record(
    record: Trace | Skipped, number: int, redacts: Redacts, stored_inspection: InspectionLookup
) -> ReadRecord:
    if isinstance(record, Skipped):
        return ReadRecord(number, skipped=structs.replace(record, reason=redacts.text(record.reason)))
    key = _session_key(record, redacts)
    before = None if key is None else _known_sessions.get(key)
    trace, redacted = _redacted(record, redacts, before)
    rows, warnings = _rows(record, trace, redacts), trace.provenance.warnings
    known = stored_inspection(rows)
    if known is not None:
        return ReadRecord(
            number, UninspectedRows(rows, trace), counts_from(trace, known.calls, known.codes), warnings, redacted
        )
    try:
        inspection = inspect_trace(trace)
    except UnknownFormatError as error:
        return ReadRecord(number, redacted=redacted, skipped=Skipped(record.provenance.record, str(error)))
    draft = TraceRows(rows, derived_rows(inspection, trace), written=None if before is None else before.written(rows))
    if key is not None:
        remembered = record if before is None else before.with_known(record)
        _known_sessions.put(key, _KnownSession(remembered, trace.turns, redacted, rows))
    return ReadRecord(number, draft, counts_of(trace, inspection), warnings, redacted)


class _KnownSession(Struct, frozen=True):
    """A session that grows as it was read last, its turns without secrets, the number of secrets, and its rows."""

    record: Trace
    redacted_turns: Sequence[Turn]
    redacted: int
    rows: RecordRows

    def known(self, turns: Sequence[Turn]) -> int:
        """How many of a session's first turns are those of before."""
        differ = (number for number, (old, new) in enumerate(zip(self.record.turns, turns, strict=False)) if old != new)
        return next(differ, min(len(self.record.turns), len(turns)))

    def with_known(self, record: Trace) -> Trace:
        """The session as it is now; turns of before are the same objects."""
        known = self.known(record.turns)
        return structs.replace(record, turns=(*self.record.turns[:known], *record.turns[known:]))

    def written(self, rows: RecordRows) -> WrittenTurns:
        """The turns whose rows are those of before."""
        pairs = zip(self.rows.turns, rows.turns, strict=False)
        return WrittenTurns(self.rows.fingerprint, sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs)))


_known_sessions: RecentValues[_KnownSession] = RecentValues()


def _session_key(record: Trace, redacts: Redacts) -> Hashable | None:
    """What the versions of a session have in common; None if it is not remembered or if a turn depends on others."""
    is_apart = is_memoizing() and redacts.keeps_content and record.external_ids and expanded(record) is record
    return (record.provenance.source, record.provenance.file, record.external_ids, redacts) if is_apart else None


def _redacted(record: Trace, redacts: Redacts, before: _KnownSession | None) -> tuple[Trace, int]:
    """A record without secrets, and how many it had; only turns that are not known are searched."""
    known = 0 if before is None else before.known(record.turns)
    count = redacts.count
    if before is None or not known:
        return redacts.trace(record), redacts.count - count
    redacts.trace(structs.replace(before.record, turns=before.record.turns[known:]))
    gone = redacts.count - count
    trace = redacts.trace(structs.replace(record, turns=record.turns[known:]))
    turns = (*before.redacted_turns[:known], *trace.turns)
    return structs.replace(trace, turns=turns), before.redacted - gone + redacts.count - count - gone


def _rows(record: Trace, trace: Trace, redacts: Redacts) -> RecordRows:
    """A record as rows; `trace` is the redacted record."""
    rows = record_rows(trace)
    if not isinstance(record, RecordedTrace):
        return rows
    from weaklink.inspector.capture.exchange_record import masked_exchanges  # noqa: PLC0415  # few files hold exchanges

    return structs.replace(rows, exchanges=packed_exchanges(masked_exchanges(record, trace, redacts)))


def _reports(file: InputFile, tallies: Sequence["_ImportTally"], end: ReadEnd) -> FileReports:
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


def refused_reports(file: InputFile, why: str) -> FileReports:
    """The reports of a refused file, and of the files that were read with it."""
    rest = (f"{path}: it was read as one log with {file.name}, which was refused." for path in file.with_it)
    others = (FileReport(path, refused=reason) for path, reason in zip(file.with_it, rest, strict=True))
    return (FileReport(file.name, refused=why), *others)


def save_file(store: Store, items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None) -> FileReports:
    """Save what `read_file` yields, and complete its reports; nothing is saved if the file is refused.

    `on_trace` is called for each trace. Raises StoreError if the store refuses.
    """
    reading = _FileRows(items, on_trace)
    try:
        return reading.completed(store.save_drafts(reading.drafts()))
    except _RefusedError as refused:
        return refused.reports


class FileSaver:
    """Saves files one after another, each whole or not at all, and small ones together in one transaction.

    `done` is called, in order, with each file and its reports once it is in the database. Memory is bounded: a large
    file is saved by itself, and what was read of it waits in a temporary file (`Store.save_drafts`). `clock` returns
    seconds.
    """

    def __init__(
        self,
        store: Store,
        done: Callable[[InputFile, FileReports], object],
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
        self, file: InputFile, items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None
    ) -> None:
        """Save what `read_file` yields, now or with the next files. Raises StoreError if the store refuses."""
        reading = _FileRows(items, on_trace, is_newer=file.is_grown)
        drafts = reading.drafts()
        drafts_read: list[TraceDraft] = []
        size = 0
        try:
            for draft in drafts:
                drafts_read.append(draft)
                size += draft.size
                if len(drafts_read) >= _MAX_BATCH_TRACES or size > _MAX_BATCH_BYTES:
                    self.flush()
                    self._done(file, reading.completed(self._store.save_drafts(chain(drafts_read, drafts))))
                    return
        except _RefusedError:
            drafts_read, size = [], 0
        self._enqueue(_WaitingFile(file, reading, drafts_read), size)

    def flush(self) -> None:
        """Save the pending files. Raises StoreError if the store refuses one; the files before it are saved."""
        try:
            saved = self._store.save_drafts(draft for file in self._waiting for draft in file.drafts)
        except StoreError:
            if len(self._waiting) == 1:
                raise
            for file in self._take_waiting():
                self._done(file.file, file.reading.completed(self._store.save_drafts(file.drafts)))
            return
        saved_rows = iter(saved)
        with _interrupts_later():
            for file in self._take_waiting():
                self._done(file.file, file.reading.completed(list(islice(saved_rows, len(file.drafts)))))

    def _take_waiting(self) -> list["_WaitingFile"]:
        """Remove and return the pending files."""
        waiting, self._waiting = self._waiting, []
        self._count = self._size = 0
        return waiting

    def _enqueue(self, file: "_WaitingFile", size: int) -> None:
        if not self._waiting:
            self._since_s = self._clock()
        self._waiting.append(file)
        self._count += len(file.drafts)
        self._size += size
        is_due = self._clock() - self._since_s > _MAX_WAIT_S
        if is_due or self._count >= _MAX_BATCH_TRACES or self._size > _MAX_BATCH_BYTES:
            self.flush()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let a Ctrl-C that comes within the block interrupt at its end: what is saved must be counted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def report_only(items: Iterable[ReadItem], *, on_trace: Callable[[], object] = lambda: None) -> FileReports:
    """The reports of what `read_file` yields; nothing is saved."""
    reading = _FileRows(items, on_trace)
    try:
        for _ in reading.drafts():
            pass
    except _RefusedError as refused:
        return refused.reports
    return reading.reports


class _RefusedError(Exception):
    """Aborts a transaction because its file is refused."""

    def __init__(self, reports: FileReports) -> None:
        super().__init__(reports[0].refused)
        self.reports = reports


class _FileRows:
    """The rows of a file for the store; the reports are available when the rows are exhausted.

    `numbers` has, for each trace, the index of the file at which it is counted. The traces of a file that has grown are
    known to be newer than the stored ones (`is_newer`).
    """

    def __init__(self, items: Iterable[ReadItem], on_trace: Callable[[], object], *, is_newer: bool = False) -> None:
        self._items = items
        self._on_trace = on_trace
        self._is_newer = is_newer
        self.reports: FileReports = ()
        self.numbers: list[int] = []

    def drafts(self) -> Iterator[TraceDraft]:
        """The traces. Raises _RefusedError if the file is refused."""
        for item in self._items:
            if isinstance(item, ReadRecord):
                draft = item.draft
                if draft is None:
                    continue
                self._on_trace()
                self.numbers.append(item.number)
                is_marked = self._is_newer and isinstance(draft, TraceRows)
                yield structs.replace(draft, is_newer=True) if is_marked else draft
                continue
            self.reports = item
            if item[0].refused is not None:
                self.numbers.clear()
                raise _RefusedError(item)

    def completed(self, saved: Sequence[Saved]) -> FileReports:
        """The reports, with what became of each trace."""
        of_files: list[list[Saved]] = [[] for _ in self.reports]
        for number, trace in zip(self.numbers, saved, strict=True):
            of_files[number].append(trace)
        return tuple(map(_with_saved, self.reports, of_files))


def _with_saved(report: FileReport, saved: Sequence[Saved]) -> FileReport:
    verdicts = Counter(trace.verdict for trace in saved)
    unchanged, replaced = verdicts[Verdict.UNCHANGED], verdicts[Verdict.REPLACED]
    return structs.replace(report, unchanged=unchanged, replaced=replaced, saved=tuple(saved))


class _WaitingFile(Struct, frozen=True):
    """A file that was read and is waiting to be saved with others."""

    file: InputFile
    reading: _FileRows
    drafts: list[TraceDraft]


class _ImportTally(Struct):
    """The counts of one file. A trace that spans several files is counted in the file in which it begins."""

    counts: Counts = field(default_factory=Counts)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    redacted: int = 0

    def add(self, record: ReadRecord) -> None:
        """Count a record."""
        self.counts += record.counts
        self.warnings.update(dict.fromkeys(record.warnings))
        self.redacted += record.redacted
        if record.skipped is not None:
            self.skipped.append(record.skipped)


_WITH_IT = "It was read as one log with {}; a session that spans several files is counted in its first file."
