"""Reads files into a store, one transaction each, and counts what they held."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from inspector.capture.redacting import Redacts
from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.reading import read_source
from inspector.importers.source import Skipped
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace
from storage import Store, Verdict
from ui.reports.import_report import Counts, FileReport, counts_of


def files_below(paths: Iterable[str]) -> Iterator[str]:
    """The files that `paths` name: a folder stands for those below it, sorted, hidden ones left out."""
    for path in paths:
        if Path(path).is_dir():
            yield from _walked(path)
        else:
            yield path


def import_file(
    store: Store, path: str, source: str | None, redacts: Redacts, *, on_trace: Callable[[], object] = lambda: None
) -> FileReport:
    """Save every trace of a file, redacted, or none where the file fails on the way; `on_trace` is called for each.

    Raises StoreError where the store refuses.
    """
    tally = _Tally(on_trace, redacts)
    before = redacts.count
    try:
        reading = read_source(path, source)
        became = Counter(saved.verdict for saved in store.save(tally.inspected(reading.records)))
    except UnreadableFileError as error:
        return FileReport(path, None, str(error))
    return FileReport(
        path,
        reading.source,
        None,
        tally.counts,
        tuple(tally.skipped),
        tuple(tally.warnings),
        became[Verdict.UNCHANGED],
        became[Verdict.REPLACED],
        redacts.count - before,
        reading.why,
    )


@dataclass(slots=True)
class _Tally:
    """Counts what goes through it."""

    on_trace: Callable[[], object]
    redacts: Redacts
    counts: Counts = field(default_factory=Counts)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)

    def inspected(self, records: Iterable[Trace | Skipped]) -> Iterator[tuple[Trace, Inspection]]:
        for record in records:
            if isinstance(record, Skipped):
                self.skipped.append(record)
                continue
            trace = self.redacts.trace(record)
            try:
                inspection = inspect_trace(trace)
            except UnknownFormatError as error:
                self.skipped.append(Skipped(record.provenance.record, str(error)))
                continue
            self.counts += counts_of(trace, inspection)
            self.warnings.update(dict.fromkeys(record.provenance.warnings))
            self.on_trace()
            yield trace, inspection


def _walked(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if not name.startswith("."))  # noqa: PTH118  # Path would drop `./`
