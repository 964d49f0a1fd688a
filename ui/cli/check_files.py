"""Inspects files trace by trace, without a database, and hands on what is found and what could not be read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.source import Skipped
from inspector.importers.unread import UNREAD_RULES, unread_file
from inspector.inspection import CONTEXT_WINDOW, REASONING_BUDGET, inspect_trace
from inspector.model import Trace
from inspector.redaction.redactor import Redactor
from inspector.rules.catalogue import select_rules
from inspector.rules.recording import UNREADABLE_FILE, UNREADABLE_RECORD
from inspector.rules.rule import Rule
from inspector.segmentation import AUTO
from ui.cli.check_baseline import Baseline
from ui.cli.check_records import AdjoiningTexts, RecordLines, RecordTexts, unread_of
from ui.importing.placed_file import PlacedFile, read_placed
from ui.reports.check_fingerprints import unread_fingerprint
from ui.reports.check_lines import notes_of
from ui.reports.check_places import FilePlace, in_repository
from ui.reports.check_report import CheckedFile, CheckedTrace, CheckReport, Unread, findings_of, grouped_findings
from ui.views.trace import title_of

_MOST_SKIPPED = 100


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How files are read, and which rules count: codes, names or code prefixes.

    The last three are what `inspect_trace` takes by these names. `allow_skipped` says that what cannot be read is noted
    and no finding, `strict` that a file of no known source is a finding also where it was only found in a folder.
    """

    source: str | None = None
    format: str = AUTO
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    error_patterns: Sequence[str] = ()
    reasoning_budget: int = REASONING_BUDGET
    context_window: int = CONTEXT_WINDOW
    allow_skipped: bool = False
    strict: bool = False

    @property
    def unread_rules(self) -> frozenset[Rule]:
        """The rules on what could not be read that count: all that are not ignored, whichever are selected."""
        return frozenset() if self.allow_skipped else UNREAD_RULES - select_rules(tuple(self.ignore))


def check_file(file: PlacedFile, wanted: CheckOptions, baseline: Baseline, report: CheckReport) -> CheckedFile:
    """Inspect every trace of a file and report what is wrong and new to the baseline; what became of the file.

    One trace at a time is in memory. A file that fails on the way is refused from there on.
    """
    tally = _FileTally(file, wanted, baseline, report)
    source, refused = None, None
    try:
        reading = read_placed(file, wanted.source)
        source = reading.source
        for record in reading.records:
            tally.count(record, source)
    except UnreadableFileError as error:
        refused = str(error)
    finally:
        tally.close()
    is_failure = refused is not None and (source is not None or not file.is_readable)
    is_unread = refused is not None and tally.refuse(refused, is_failure=is_failure)
    checked = CheckedFile(
        file.name,
        source,
        refused,
        tally.traces,
        tally.skipped,
        tuple(tally.first_skipped),
        tally.diagnostics,
        tally.known,
        is_failure=is_failure,
    )
    return replace(checked, notes=tuple(notes_of(checked, tally.noted, tally.unnoted, is_unread=is_unread)))


class _FileTally:
    """Counts what a file holds and reports its diagnostics."""

    def __init__(self, file: PlacedFile, wanted: CheckOptions, baseline: Baseline, report: CheckReport) -> None:
        self._file, self._wanted, self._baseline, self._report = file, wanted, baseline, report
        self._unread_rules = wanted.unread_rules
        self._lines, self._texts = RecordLines(file.source_file), RecordTexts(file.source_file)
        self._redactor = Redactor()  # reports and baselines are files too
        self._clean = AdjoiningTexts()
        self.traces = self.skipped = self.known = self.unnoted = 0
        self.first_skipped: list[Skipped] = []
        self.noted: list[Skipped] = []
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
        findings = list(findings_of(self._file.name, source, trace, found, line, written=record))
        new = tuple(finding for finding in findings if not self._baseline.knows(finding))
        self.known += len(findings) - len(new)
        self.diagnostics.update(finding.diagnostic.rule.code for finding in new)
        place, title = record.provenance.record, title_of(trace)
        by_cause = grouped_findings(new, found.chain)
        self._report.trace(CheckedTrace(self._file.name, place, title, by_cause, found.chain.broken))

    def refuse(self, why: str, *, is_failure: bool) -> bool:
        """Report a file that was refused, where that is a finding or known to the baseline; whether it is."""
        only_found = self._file.is_walked and not is_failure
        if UNREADABLE_FILE not in self._unread_rules or (only_found and not self._wanted.strict):
            return False
        fault = unread_file(self._file.name, self._redactor.text(why))
        print_ = unread_fingerprint(fault.rule.code, in_repository(self._file.name), "")
        self._add(Unread(self._file.name, "", fault, place=FilePlace(1, 1), fingerprint=print_))
        return True

    def close(self) -> None:
        self._lines.close()
        self._texts.close()

    def _skip(self, skipped: Skipped) -> None:
        self.skipped += 1
        said = replace(skipped, reason=self._redactor.text(skipped.reason))
        if len(self.first_skipped) < _MOST_SKIPPED:
            self.first_skipped.append(said)
        if not skipped.is_irrelevant and UNREADABLE_RECORD in self._unread_rules:
            self._add(self._redacted(unread_of(self._file.name, said, self._texts.find(skipped))))
        elif len(self.noted) < _MOST_SKIPPED:
            self.noted.append(said)
        else:
            self.unnoted += 1

    def _redacted(self, unread: Unread) -> Unread:
        """The same without secrets: the piece of the record is left out where it holds one."""
        fault = replace(unread.fault, message=self._redactor.text(unread.fault.message))
        shown = unread.shown if self._clean.is_clean(unread.record, unread.shown) else ""
        return replace(unread, fault=fault, shown=shown)

    def _add(self, unread: Unread) -> None:
        if self._baseline.knows(unread):
            self.known += 1
            return
        self.diagnostics[unread.fault.rule.code] += 1
        self._report.unread(unread)
