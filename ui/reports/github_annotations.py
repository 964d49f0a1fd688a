"""The report of a check as GitHub's workflow commands, which a job's log turns into annotations at their lines."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TextIO

from inspector.rules.rule import Severity
from ui.reports.check_lines import baseline_lines, found_words, read_words
from ui.reports.check_report import (
    CheckedFile,
    CheckedTrace,
    CheckTotals,
    FilePlace,
    Finding,
    UnreadRecord,
    in_repository,
)
from ui.views.styled_text import plain, visible

_COMMANDS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
)


class CheckGithub:
    """Writes a command for each finding to `out`; what was not read, and the sum, go to `say`."""

    def __init__(self, out: TextIO, say: Callable[[str], None]) -> None:
        self._out, self._say = out, say

    def trace(self, trace: CheckedTrace) -> None:
        """Its findings, a line each."""
        for finding in trace.findings:
            self._out.write(annotation(finding) + "\n")

    def unread(self, unread: UnreadRecord) -> None:
        """A line."""
        self._out.write(unread_annotation(unread) + "\n")

    def file(self, file: CheckedFile) -> None:
        """Nothing, unless some of the file was left out."""
        for line in file.notes:
            self._say(line)

    def close(self, totals: CheckTotals) -> None:
        """The sum."""
        self._say(plain((*read_words(totals), *found_words(totals))))
        for line in baseline_lines(totals):
            self._say(line)


def annotation(finding: Finding) -> str:
    """`::error file=...,line=...,title=...::message`, escaped as actions/toolkit does (packages/core: command.ts)."""
    place = finding.diagnostic.location
    line, column = finding.lines.position(place.range.start)
    record = " ".join(word for word in (finding.record, finding.trace) if word)
    return _command(finding, f"{record}, turn {place.turn}, {place.part} {line}:{column}")


def unread_annotation(unread: UnreadRecord) -> str:
    """The same for a record or file that could not be read."""
    return _command(unread, unread.record)


def _command(found: Finding | UnreadRecord, where: str) -> str:
    fault = found.fault
    at = [f"at {where}"] if where else []
    said = "\n".join([fault.message, *([f"help: {fault.hint}"] if fault.hint else []), *at])
    properties = {"file": visible(in_repository(found.path)), **_region(found.place), "title": str(fault.rule)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[fault.rule.severity]} {listed}::{_escaped(visible(said))}"


def _region(place: FilePlace | None) -> dict[str, str]:
    if place is None:
        return {}
    numbers = {"line": place.line, "endLine": place.end_line}
    if place.end_line == place.line:
        numbers |= {"col": place.column, "endColumn": place.end_column}
    return {name: str(number) for name, number in numbers.items() if number is not None}


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
