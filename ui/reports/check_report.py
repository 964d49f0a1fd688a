"""What a check finds, one thing after the other: diagnostics with their places, and what became of each file."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from inspector.chain.grouping import by_cause, with_count
from inspector.chain.steps import Break, Chain, Status
from inspector.diagnostics import Diagnostic, Fault
from inspector.importers.source import Skipped
from inspector.inspection import Inspection
from inspector.model import Trace
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Severity
from inspector.text import LineIndex
from ui.reports.check_fingerprints import Fingerprints
from ui.reports.check_places import FilePlace, FilePlaces
from ui.views.trace import title_of

_SEVERITIES = {rule.code: rule.severity for rule in RULES}


@dataclass(frozen=True, slots=True)
class Finding:
    """One diagnostic of a trace: the file and record it was read from, the trace's title, and the lines around it.

    `place` is where it stands in the file, None where that is not known. `fingerprint` is the same for the same fault
    wherever its record has moved to, and whatever a later version of weaklink says of it. `more` are the later findings
    of the same cause, where the trace is broken.
    """

    path: str
    record: str
    trace: str
    diagnostic: Diagnostic
    lines: LineIndex
    place: FilePlace | None = None
    fingerprint: str = ""
    more: tuple["Finding", ...] = ()

    @property
    def shown(self) -> Diagnostic:
        """The diagnostic, whose message says how many `more` there are."""
        return with_count(self.diagnostic, len(self.more))

    @property
    def fault(self) -> Fault:
        """What is wrong."""
        return self.diagnostic.fault

    @property
    def words(self) -> str:
        """The text that the fault lies in."""
        return self.diagnostic.range.of(self.lines.text)


@dataclass(frozen=True, slots=True)
class Unread:
    """A record, or where `record` is empty a whole file, that could not be read.

    `fault` lies in the record's text, of which `shown` begins at `shown_from` and is bounded. `place` is where the
    fault is in the file; None where the file has no lines, as an archive has none.
    """

    path: str
    record: str
    fault: Fault
    shown: str = ""
    shown_from: int = 0
    place: FilePlace | None = None
    fingerprint: str = ""

    @property
    def words(self) -> str:
        """Why, in a sentence: the text itself may be long, and hold secrets."""
        return self.fault.message


@dataclass(frozen=True, slots=True)
class CheckedTrace:
    """One trace of a file: its record and title, its break if it has one, and its findings in the order of places.

    Findings that a baseline knows are left out.
    """

    path: str
    record: str
    title: str
    findings: tuple[Finding, ...] = ()
    broken: Break | None = None


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What became of one file.

    `refused` is a sentence where it is not for us, or failed on the way: then the rest counts what came before, and
    `is_failure` tells the second.
    `skipped` counts the records that gave no trace, and `first_skipped` are the first of them; `notes` are sentences on
    those that are no finding. `diagnostics` says how often each code was found, `known` how many findings more a
    baseline knows.
    """

    path: str
    source: str | None = None
    refused: str | None = None
    traces: int = 0
    skipped: int = 0
    first_skipped: tuple[Skipped, ...] = ()
    diagnostics: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    is_failure: bool = False
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Totals:
    """The sum over all files so far; `known` findings stand in a baseline, `gone` ones only there."""

    files: int = 0
    refused: int = 0
    traces: int = 0
    skipped: int = 0
    diagnostics: Counter[str] = field(default_factory=Counter)
    known: int = 0
    gone: int = 0

    def add(self, file: CheckedFile) -> None:
        """Count one more file."""
        self.files += 1
        self.refused += file.refused is not None
        self.traces += file.traces
        self.skipped += file.skipped
        self.known += file.known
        self.diagnostics.update(file.diagnostics)

    def of(self, severity: Severity) -> int:
        """How many diagnostics of this severity there are."""
        return sum(number for code, number in self.diagnostics.items() if _SEVERITIES[code] is severity)


class CheckReport(Protocol):
    """Writes what a check finds, as it finds it."""

    def trace(self, trace: CheckedTrace) -> None:
        """One more trace; those of a file come before the file."""
        ...

    def unread(self, unread: Unread) -> None:
        """A record could not be read, or last of all of a file, the file."""
        ...

    def file(self, file: CheckedFile) -> None:
        """A file is done."""
        ...

    def close(self, totals: Totals) -> None:
        """Everything is done."""
        ...


def findings_of(
    path: str,
    source: str,
    trace: Trace,
    inspection: Inspection,
    line: str | None = None,
    *,
    written: Trace | None = None,
) -> Iterator[Finding]:
    """The findings of one trace, in the order of their places.

    `source` is what the file was read as, `line` the text of the line that the trace's record names, where it is one,
    `written` the trace as the file has it, where `trace` is redacted.
    """
    known: dict[tuple[int, str], LineIndex] = {}
    places, fingerprints = FilePlaces(written or trace, source, line), Fingerprints(trace)
    for diagnostic in inspection.diagnostics:
        at = (diagnostic.location.turn, diagnostic.location.part)
        if at not in known:
            known = {at: LineIndex(_text(trace, *at))}
        lines = known[at]
        place, fingerprint = places.place(diagnostic), fingerprints.of(diagnostic, lines.text)
        yield Finding(path, trace.provenance.record, title_of(trace), diagnostic, lines, place, fingerprint)


def grouped_findings(findings: Sequence[Finding], chain: Chain) -> tuple[Finding, ...]:
    """The first finding of each cause with the others as its `more`; every finding by itself in an unbroken trace."""
    groups = by_cause(findings, lambda one: one.diagnostic, is_broken=chain.status is Status.BROKEN)
    return tuple(replace(first, more=tuple(more)) for first, *more in groups)


def _text(trace: Trace, turn: int, part: str) -> str:
    found = trace.turns[turn - 1].part(part) if 0 < turn <= len(trace.turns) else None
    return found.text if found else ""
