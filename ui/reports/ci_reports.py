"""The report of a check for CI servers: JUnit's XML (a suite a file, a case a trace), and GitHub's workflow commands.

Jenkins and others read the XML; a job's log on GitHub turns the commands into annotations at their lines.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from inspector.diagnostics import Fault
from inspector.rules.rule import Severity
from ui.reports.check_lines import baseline_lines, fault_lines, found_words, read_words
from ui.reports.check_report import (
    CheckedFile,
    CheckedTrace,
    CheckTotals,
    FilePlace,
    Finding,
    UnreadRecord,
    in_repository,
)
from ui.views.diagnostic import diagnostic_lines
from ui.views.styled_text import plain, visible

_IN_MEMORY_BYTES = 8 << 20
_WIDTH = 100


class CheckJunit:
    """Writes the suites to `out` when all is found; until then they lie on the disk.

    A case fails where `fails` says so of the severity of one of its findings. A record that could not be read is a
    case of its own that fails, and so is a file; what was left out and is no finding is a skipped case.
    """

    def __init__(self, out: TextIO, fails: Callable[[Severity], bool]) -> None:
        self._out, self._fails = out, fails
        self._suites, self._cases = _spool(), _spool()
        self._tests = self._failures = self._all_tests = self._all_failures = 0

    def trace(self, trace: CheckedTrace) -> None:
        """One more case of its file's suite."""
        self._tests += 1
        wrong = [finding for finding in trace.findings if self._fails(finding.diagnostic.rule.severity)]
        self._failures += bool(wrong)
        self._cases.write(_case(trace.path, _name(trace), _failure(trace, wrong) if wrong else _message_text(trace)))

    def unread(self, unread: UnreadRecord) -> None:
        """One more case of its file's suite."""
        fault, wrong = unread.fault, self._fails(unread.fault.rule.severity)
        self._tests += 1
        self._failures += wrong
        shown = _text("\n".join(plain(line).rstrip() for line in fault_lines(unread, _WIDTH)))
        head = f"<failure message={_attribute(fault.message)} type={_attribute(str(fault.rule))}>"
        said = f"{head}{shown}</failure>\n" if wrong else f"<system-out>{shown}</system-out>\n"
        self._cases.write(_case(unread.path, unread.record or "the file itself", said))

    def file(self, file: CheckedFile) -> None:
        """Its suite is whole."""
        for note in file.notes:
            self._cases.write(_case(file.path, note, f"<skipped message={_attribute(note)}/>\n"))
        tests = self._tests + len(file.notes)
        head = f"<testsuite name={_attribute(file.path)} tests={_number(tests)} failures={_number(self._failures)}"
        self._suites.write(f"{head} errors={_number(0)} skipped={_number(len(file.notes))}>\n")
        _copy(self._cases, self._suites)
        self._suites.write("</testsuite>\n")
        self._all_tests += tests
        self._all_failures += self._failures
        self._cases, self._tests, self._failures = _spool(), 0, 0

    def close(self, totals: CheckTotals) -> None:
        """Write everything."""
        del totals
        head = f'<testsuites name="weaklink" tests={_number(self._all_tests)} failures={_number(self._all_failures)}'
        self._out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{head} errors={_number(0)}>\n')
        _copy(self._suites, self._out)
        self._cases.close()
        self._out.write("</testsuites>\n")


def _failure(trace: CheckedTrace, wrong: list[Finding]) -> str:
    """The verdict, or else the first fault, and all faults as people read them."""
    first = wrong[0].shown.fault
    said = f"Broke at step {trace.broken.step}: {trace.broken.message}" if trace.broken is not None else first.message
    head = f"<failure message={_attribute(said)} type={_attribute(str(first.rule))}>"
    return f"{head}{_text(_shown(trace.findings))}</failure>\n"


def _message_text(trace: CheckedTrace) -> str:
    """What is not bad enough to fail."""
    return f"<system-out>{_text(_shown(trace.findings))}</system-out>\n" if trace.findings else ""


def _shown(findings: Iterable[Finding]) -> str:
    blocks = (diagnostic_lines(one.shown, one.lines.text, width=_WIDTH, lines=one.lines) for one in findings)
    return "\n\n".join("\n".join(plain(line).rstrip() for line in block) for block in blocks)


def _name(trace: CheckedTrace) -> str:
    return " ".join(word for word in (trace.record, trace.title) if word) or "trace"


def _case(path: str, name: str, inside: str) -> str:
    opened = f"<testcase classname={_attribute(path)} name={_attribute(name)}"
    return f"{opened}>\n{inside}</testcase>\n" if inside else f"{opened}/>\n"


def _attribute(text: str) -> str:
    return quoteattr(_allowed(text), {"\n": "&#10;", "\t": "&#9;"})


def _text(text: str) -> str:
    return escape(_allowed(text))


def _allowed(text: str) -> str:
    """Without what XML 1.0 (section 2.2) cannot hold, each such character shown as a glyph or an escape."""
    return visible(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def _number(number: int) -> str:
    return f'"{number}"'


def _spool() -> tempfile.SpooledTemporaryFile[str]:
    return tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, "w+", encoding="utf-8", newline="\n")


def _copy(spool: tempfile.SpooledTemporaryFile[str], out: TextIO | tempfile.SpooledTemporaryFile[str]) -> None:
    spool.seek(0)
    while piece := spool.read(1 << 16):
        out.write(piece)
    spool.close()


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
    return _command(finding, finding.shown.fault, f"{record}, turn {place.turn}, {place.part} {line}:{column}")


def unread_annotation(unread: UnreadRecord) -> str:
    """The same for a record or file that could not be read."""
    return _command(unread, unread.fault, unread.record)


def _command(found: Finding | UnreadRecord, fault: Fault, where: str) -> str:
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
