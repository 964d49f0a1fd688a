"""The report of a check as GitHub's workflow commands, which a job's log turns into annotations at their lines."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TextIO

from inspector.rules.rule import Severity
from ui.reports.check_lines import baseline_lines, found_words, read_words, unread_lines
from ui.reports.check_places import in_repository
from ui.reports.check_report import CheckedFile, CheckedTrace, Finding, Totals
from ui.views.run import plain
from ui.views.visible import visible

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

    def file(self, file: CheckedFile) -> None:
        """Nothing, unless some of the file was not read."""
        for line in unread_lines(file):
            self._say(line)

    def close(self, totals: Totals) -> None:
        """The sum."""
        self._say(plain((*read_words(totals), *found_words(totals))))
        for line in baseline_lines(totals):
            self._say(line)


def annotation(finding: Finding) -> str:
    """`::error file=...,line=...,title=...::message`, escaped as actions/toolkit does (packages/core: command.ts)."""
    fault, place = finding.shown.fault, finding.diagnostic.location
    line, column = finding.lines.position(place.range.start)
    record = " ".join(word for word in (finding.record, finding.trace) if word)
    where = f"{record}, turn {place.turn}, {place.part} {line}:{column}"
    said = "\n".join([fault.message, *([f"help: {fault.hint}"] if fault.hint else []), f"at {where}"])
    properties = {"file": visible(in_repository(finding.path)), **_region(finding), "title": str(fault.rule)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[fault.rule.severity]} {listed}::{_escaped(visible(said))}"


def _region(finding: Finding) -> dict[str, str]:
    place = finding.place
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
