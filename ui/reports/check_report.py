"""What a check finds, one thing after the other: diagnostics with their places, and what became of each file."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from inspector.diagnostics import Diagnostic
from inspector.importers.source import Skipped
from inspector.inspection import Inspection
from inspector.model import Trace
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Severity
from inspector.text import LineIndex

_SEVERITIES = {rule.code: rule.severity for rule in RULES}


@dataclass(frozen=True, slots=True)
class Finding:
    """One diagnostic of a trace: the file and record it was read from, the trace's title, and the lines around it."""

    path: str
    record: str
    trace: str
    diagnostic: Diagnostic
    lines: LineIndex


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What became of one file.

    `refused` is a sentence where it is not for us, or failed on the way: then the rest counts what came before.
    `skipped` counts the records that gave no trace, and `first_skipped` are the first of them. `diagnostics` says how
    often each code was found.
    """

    path: str
    source: str | None = None
    refused: str | None = None
    traces: int = 0
    skipped: int = 0
    first_skipped: tuple[Skipped, ...] = ()
    diagnostics: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Totals:
    """The sum over all files so far."""

    files: int = 0
    refused: int = 0
    traces: int = 0
    skipped: int = 0
    diagnostics: Counter[str] = field(default_factory=Counter)

    def add(self, file: CheckedFile) -> None:
        """Count one more file."""
        self.files += 1
        self.refused += file.refused is not None
        self.traces += file.traces
        self.skipped += file.skipped
        self.diagnostics.update(file.diagnostics)

    def of(self, severity: Severity) -> int:
        """How many diagnostics of this severity there are."""
        return sum(number for code, number in self.diagnostics.items() if _SEVERITIES[code] is severity)


class CheckReport(Protocol):
    """Writes what a check finds, as it finds it."""

    def finding(self, finding: Finding) -> None:
        """One more diagnostic; those of a file come before the file."""
        ...

    def file(self, file: CheckedFile) -> None:
        """A file is done."""
        ...

    def close(self, totals: Totals) -> None:
        """Everything is done."""
        ...


def findings_of(path: str, trace: Trace, inspection: Inspection) -> Iterator[Finding]:
    """The findings of one trace, in the order of their places."""
    known: dict[tuple[int, str], LineIndex] = {}
    for diagnostic in inspection.diagnostics:
        place = (diagnostic.location.turn, diagnostic.location.part)
        if place not in known:
            known = {place: LineIndex(_text(trace, *place))}
        yield Finding(path, trace.provenance.record, _title(trace), diagnostic, known[place])


def _text(trace: Trace, turn: int, part: str) -> str:
    found = trace.turns[turn - 1].part(part) if 0 < turn <= len(trace.turns) else None
    return found.text if found else ""


def _title(trace: Trace) -> str:
    return trace.name or next((id.value for id in trace.external_ids), "")
