"""The report of a check as one JSON object, in bounded memory however much is found."""

import tempfile
from typing import TextIO

from inspector.diagnostics import Diagnostic
from inspector.json_text import write_json
from inspector.rules.rule import Severity
from ui.reports.check_report import CheckedFile, CheckedTrace, CheckTotals, Finding, UnreadRecord
from ui.views.segment_json import JsonObject, diagnostic_object

_IN_MEMORY_BYTES = 8 << 20


class CheckJson:
    """Writes `{"files", "diagnostics", "totals"}` to a stream when all is found; until then it lies on the disk."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._files, self._diagnostics = JsonArray(), JsonArray()

    def trace(self, trace: CheckedTrace) -> None:
        """Its findings are more elements of `diagnostics`."""
        for finding in trace.findings:
            self._diagnostics.add(finding_object(finding))

    def unread(self, unread: UnreadRecord) -> None:
        """One more element of `diagnostics`."""
        self._diagnostics.add(unread_object(unread))

    def file(self, file: CheckedFile) -> None:
        """One more element of `files`."""
        self._files.add(file_object(file))

    def close(self, totals: CheckTotals) -> None:
        """Write everything."""
        self._out.write('{"files": ')
        self._files.write_to(self._out)
        self._out.write(', "diagnostics": ')
        self._diagnostics.write_to(self._out)
        self._out.write(f', "totals": {write_json(totals_object(totals))}}}\n')


def finding_object(finding: Finding) -> JsonObject:
    """A diagnostic with its place; `path` is the file's, `path_in_arguments` a JSON Pointer or null.

    The later findings of its cause are in `related`, each with its own place, `path_in_arguments` and `fingerprint`.
    """
    said = _placed_object(finding, finding.shown)
    more = (_placed_object(one, one.diagnostic) for one in finding.more)
    related = said.pop("related", [])
    assert isinstance(related, list)
    return {
        "path": finding.path,
        "record": finding.record,
        "trace": finding.trace,
        **said,
        "related": [*related, *more],
    }


def _placed_object(finding: Finding, diagnostic: Diagnostic) -> JsonObject:
    place = diagnostic.location
    said = diagnostic_object(diagnostic, finding.lines)
    in_arguments = said.pop("path")
    return {
        "turn": place.turn,
        "part": place.part,
        **said,
        "path_in_arguments": in_arguments,
        "fingerprint": finding.fingerprint,
    }


def unread_object(unread: UnreadRecord) -> JsonObject:
    """The same keys for what could not be read: `turn` and `part` are null, `line` and `column` are the file's.

    `start` and `end` count in the record's own text.
    """
    fault, place = unread.fault, unread.place
    return {
        "path": unread.path,
        "record": unread.record,
        "trace": "",
        "turn": None,
        "part": None,
        "code": fault.rule.code,
        "name": fault.rule.name,
        "severity": fault.rule.severity.value,
        "start": fault.range.start,
        "end": fault.range.end,
        "line": place.line if place is not None else None,
        "column": place.column if place is not None else None,
        "message": fault.message,
        "hint": fault.hint,
        "fix": None,
        "call": None,
        "layer": None,
        "owner": None,
        "against": None,
        "path_in_arguments": None,
        "fingerprint": unread.fingerprint,
        "related": [],
    }


def file_object(file: CheckedFile) -> JsonObject:
    """What became of a file; `skipped` counts records, `skipped_records` are the first of them."""
    return {
        "path": file.path,
        "source": file.source,
        "refused": file.refused,
        "traces": file.traces,
        "skipped": file.skipped,
        "skipped_records": [{"record": one.record, "reason": one.reason} for one in file.first_skipped],
        "diagnostics": dict(sorted(file.diagnostics.items())),
        "known": file.known,
    }


def totals_object(totals: CheckTotals) -> JsonObject:
    """The sums over all files."""
    return {
        "files": totals.files,
        "refused": totals.refused,
        "traces": totals.traces,
        "skipped": totals.skipped,
        "errors": totals.of(Severity.ERROR),
        "warnings": totals.of(Severity.WARNING),
        "infos": totals.of(Severity.INFO),
        "known": totals.known,
        "gone": totals.gone,
        "diagnostics": dict(sorted(totals.diagnostics.items())),
    }


class JsonArray:
    """Grows on the disk, beyond 8 MiB."""

    def __init__(self) -> None:
        self._spool = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, "w+", encoding="ascii")  # noqa: SIM115  # lives on
        self._begun = False

    def add(self, value: JsonObject) -> None:
        """One more element."""
        self._spool.write((",\n" if self._begun else "\n") + write_json(value))
        self._begun = True

    def write_to(self, out: TextIO) -> None:
        """Write the array, an element a line; nothing may be added afterwards."""
        out.write("[")
        self._spool.seek(0)
        while piece := self._spool.read(1 << 16):
            out.write(piece)
        out.write("\n]" if self._begun else "]")
        self._spool.close()
