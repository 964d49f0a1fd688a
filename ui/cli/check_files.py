"""Inspects files trace by trace, without a database, and hands on what is found."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.reading import read_source
from inspector.importers.source import Skipped
from inspector.inspection import CONTEXT_WINDOW, REASONING_BUDGET, inspect_trace
from inspector.model import Trace
from inspector.redaction.redactor import Redactor
from inspector.segmentation import AUTO
from ui.cli.check_baseline import Baseline
from ui.cli.check_records import RecordLines
from ui.reports.check_report import CheckedFile, CheckedTrace, CheckReport, findings_of, grouped_findings
from ui.views.trace import title_of

_MOST_SKIPPED = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """How files are read, and which rules count: codes, names or code prefixes.

    The last three are what `inspect_trace` takes by these names.
    """

    source: str | None = None
    format: str = AUTO
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    error_patterns: Sequence[str] = ()
    reasoning_budget: int = REASONING_BUDGET
    context_window: int = CONTEXT_WINDOW


def check_file(path: str, wanted: Wanted, baseline: Baseline, report: CheckReport) -> CheckedFile:
    """Inspect every trace of a file and report what is wrong and new to the baseline; what became of the file.

    One trace at a time is in memory. A file that fails on the way is refused from there on.
    """
    tally = _Tally(path, wanted, baseline, report)
    source, refused = None, None
    try:
        reading = read_source(path, wanted.source)
        source = reading.source
        for record in reading.records:
            tally.count(record, source)
    except UnreadableFileError as error:
        refused = str(error)
    finally:
        tally.close()
    return CheckedFile(
        path,
        source,
        refused,
        tally.traces,
        tally.skipped,
        tuple(tally.first_skipped),
        tally.diagnostics,
        tally.known,
        is_failure=refused is not None and (source is not None or not os.access(path, os.R_OK)),
    )


class _Tally:
    """Counts what a file holds and reports its diagnostics."""

    def __init__(self, path: str, wanted: Wanted, baseline: Baseline, report: CheckReport) -> None:
        self._path, self._wanted, self._baseline, self._report = path, wanted, baseline, report
        self._lines = RecordLines(path)
        self._redactor = Redactor()  # reports and baselines are files too
        self.traces = self.skipped = self.known = 0
        self.first_skipped: list[Skipped] = []
        self.diagnostics: Counter[str] = Counter()

    def count(self, record: Trace | Skipped, source: str) -> None:
        if isinstance(record, Skipped):
            self._skip(record)
            return
        wanted, trace = self._wanted, self._redactor.trace(record)
        try:
            found = inspect_trace(
                trace,
                format=wanted.format,
                select=wanted.select,
                ignore=wanted.ignore,
                error_patterns=wanted.error_patterns,
                reasoning_budget=wanted.reasoning_budget,
                context_window=wanted.context_window,
            )
        except UnknownFormatError as error:
            self._skip(Skipped(record.provenance.record, str(error)))
            return
        self.traces += 1
        line = self._lines.of(record) if found.diagnostics else None
        findings = list(findings_of(self._path, source, trace, found, line, written=record))
        new = tuple(finding for finding in findings if not self._baseline.knows(finding))
        self.known += len(findings) - len(new)
        self.diagnostics.update(finding.diagnostic.rule.code for finding in new)
        place, title = record.provenance.record, title_of(trace)
        findings_by_cause = grouped_findings(new, found.chain)
        self._report.trace(CheckedTrace(self._path, place, title, findings_by_cause, found.chain.broken))

    def close(self) -> None:
        self._lines.close()

    def _skip(self, skipped: Skipped) -> None:
        self.skipped += 1
        if len(self.first_skipped) < _MOST_SKIPPED:
            self.first_skipped.append(replace(skipped, reason=self._redactor.text(skipped.reason)))
