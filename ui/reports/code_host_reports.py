"""The report of a check for the pages of a code host: GitLab's Code Quality JSON, and a table in Markdown.

GitLab compares the Code Quality report of a merge request with that of its target branch, by fingerprint, and shows
what is new or resolved beside the changed lines; the Markdown goes into the summary of a job or into a comment.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TextIO

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_text import write_json
from weaklink.inspector.rules.rule import Severity
from weaklink.ui.reports import check_report
from weaklink.ui.reports.check_output import found_words, in_file, read_words
from weaklink.ui.reports.trace_files import prose
from weaklink.ui.views.segment_json import JsonObject
from weaklink.ui.views.styled_text import counted, plain, visible

_MAX_ROWS = 200
"""A job's summary on GitHub has room for 1 MiB; two hundred rows of two bounded sentences are less."""
_MAX_MESSAGE_CHARS = 500

SEVERITIES: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}
)
"""Our severities in GitLab's scale: info, minor, major, critical, blocker."""


class _DiagnosticReport(ABC):
    """Takes each diagnostic by itself; notes on files have no place in it."""

    def trace(self, trace: check_report.CheckedTrace) -> None:
        """Add its diagnostics, and its broken chain if no error among them is the reason."""
        for checked in trace.results:
            self._add(checked, checked.shown.fault)

    def unread(self, unread: check_report.UnreadRecord) -> None:
        """Add it as a diagnostic."""
        self._add(unread, unread.fault)

    def file(self, file: check_report.CheckedFile) -> None:
        """Nothing: the totals count what was left out."""
        del file

    @abstractmethod
    def _add(self, result: check_report.CheckedDiagnostic | check_report.UnreadRecord, fault: Fault) -> None: ...


class CheckGitlab(_DiagnosticReport):
    """Writes the array of Code Quality issues, each as it is found; notes and totals are not part of it.

    An issue has the fields that GitLab documents (docs.gitlab.com/ci/testing/code_quality, "Code Quality report
    format"). Its fingerprint must be unique in the report, since GitLab shows one issue for each: the second of two
    faults that share ours gets another one, made from ours and its number.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._fingerprints: Counter[str] = Counter()
        self._begun = False

    def close(self, totals: check_report.CheckTotals) -> None:
        """Close the array."""
        del totals
        self._out.write("\n]\n" if self._begun else "[]\n")

    def _add(self, result: check_report.CheckedDiagnostic | check_report.UnreadRecord, fault: Fault) -> None:
        issue = self._issue(result, fault)
        self._out.write((",\n" if self._begun else "[\n") + write_json(issue))
        self._begun = True

    def _issue(self, result: check_report.CheckedDiagnostic | check_report.UnreadRecord, fault: Fault) -> JsonObject:
        position = result.position
        lines: JsonObject = {"begin": position.line if position is not None else 1}
        if position is not None and position.end_line is not None:
            lines["end"] = position.end_line
        return {
            "description": visible(f"{fault.message} {fault.hint}" if fault.hint else fault.message),
            "check_name": f"weaklink/{fault.rule.code} {fault.rule.name}",
            "fingerprint": self._unique(result.fingerprint),
            "severity": SEVERITIES[fault.rule.severity],
            "location": {"path": visible(check_report.in_repository(result.path)), "lines": lines},
        }

    def _unique(self, fingerprint: str) -> str:
        number = self._fingerprints[fingerprint]
        self._fingerprints[fingerprint] += 1
        return hashlib.sha256(f"{fingerprint} {number}".encode()).hexdigest()[:32] if number else fingerprint


class CheckMarkdown(_DiagnosticReport):
    """Writes the totals in a sentence, then a table with a row for each of the first 200 diagnostics."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rows: list[str] = []
        self._more = 0

    def close(self, totals: check_report.CheckTotals) -> None:
        """Write everything."""
        self._out.write(f"### weaklink\n\n{prose(plain((*read_words(totals), *found_words(totals))))}\n")
        if self._rows:
            self._out.write("\n| where | severity | rule | what is wrong |\n| --- | --- | --- | --- |\n")
            self._out.writelines(self._rows)
        if self._more:
            self._out.write(f"\n{counted(self._more, 'more finding')}.\n")

    def _add(self, result: check_report.CheckedDiagnostic | check_report.UnreadRecord, fault: Fault) -> None:
        if len(self._rows) == _MAX_ROWS:
            self._more += 1
            return
        text = f"{fault.message} {fault.hint}" if fault.hint else fault.message
        shown = text if len(text) <= _MAX_MESSAGE_CHARS else f"{text[:_MAX_MESSAGE_CHARS]}…"
        path = check_report.in_repository(result.path)
        where = in_file(path, result.record) if result.position is None else f"{path}:{result.position.line}"
        cells = (where, fault.rule.severity.value, f"{fault.rule.code} {fault.rule.name}", shown)
        self._rows.append(f"| {' | '.join(map(prose, cells))} |\n")
