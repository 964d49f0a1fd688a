"""The report of a check for CI servers: JUnit XML, GitHub workflow commands, and SARIF 2.1.0 for code hosts.

Jenkins and others read the XML; GitHub turns the commands in a job's log into annotations at their lines.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TextIO
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from weaklink.inspector.diagnostics import Fault, Location
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range
from weaklink.inspector.version import __version__
from weaklink.ui.reports import check_report
from weaklink.ui.reports.check_output import (
    baseline_lines,
    copy_spool,
    fault_lines,
    found_words,
    read_words,
    text_spool,
)
from weaklink.ui.views.diagnostic import diagnostic_lines
from weaklink.ui.views.segment_json import JsonObject
from weaklink.ui.views.styled_text import plain, visible

_WIDTH = 100
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "weaklinkFault/v1"
_MAX_SNIPPET_CHARS = 200
_MAX_NOTIFICATIONS = 1_000
LEVELS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
)
"""The SARIF levels of our severities (SARIF 2.1.0, 3.27.10)."""


class CheckJunit:
    """Writes the suites to `out` at the end; until then they are on disk.

    A case fails if `fails` is true for the severity of one of its diagnostics, or for `BROKEN` if its chain is broken.
    An unreadable record or file is a separate case that fails; a record that was left out without a diagnostic is a
    skipped case.
    """

    def __init__(self, out: TextIO, fails: Callable[[str], bool]) -> None:
        self._out, self._fails = out, fails
        self._suites, self._cases = text_spool(), text_spool()
        self._tests = self._failures = self._all_tests = self._all_failures = 0

    def trace(self, trace: check_report.CheckedTrace) -> None:
        """Add a case to its file's suite."""
        self._tests += 1
        wrong = [checked for checked in trace.diagnostics if self._fails(checked.diagnostic.rule.severity)]
        if trace.broken_chain is not None and self._fails(check_report.BROKEN):
            wrong.append(trace.broken_chain)
        self._failures += bool(wrong)
        shown = xml_text(_shown(trace.results))
        if wrong:
            inside = f"{_failure(trace, wrong[0].shown.fault)}{shown}</failure>\n"
        else:
            inside = f"<system-out>{shown}</system-out>\n" if shown else ""
        name = " ".join(word for word in (trace.record, trace.title) if word) or "trace"
        self._cases.write(_case(trace.path, name, inside))

    def unread(self, unread: check_report.UnreadRecord) -> None:
        """Add a case to its file's suite."""
        fault, wrong = unread.fault, self._fails(unread.fault.rule.severity)
        self._tests += 1
        self._failures += wrong
        shown = xml_text("\n".join(plain(line).rstrip() for line in fault_lines(unread, _WIDTH)))
        head = f"<failure message={xml_attribute(fault.message)} type={xml_attribute(str(fault.rule))}>"
        body = f"{head}{shown}</failure>\n" if wrong else f"<system-out>{shown}</system-out>\n"
        self._cases.write(_case(unread.path, unread.record or "the file itself", body))

    def file(self, file: check_report.CheckedFile) -> None:
        """Finish the file's suite."""
        for note in file.notes:
            self._cases.write(_case(file.path, note, f"<skipped message={xml_attribute(note)}/>\n"))
        tests = self._tests + len(file.notes)
        head = f'<testsuite name={xml_attribute(file.path)} tests="{tests}" failures="{self._failures}"'
        self._suites.write(f'{head} errors="0" skipped="{len(file.notes)}">\n')
        copy_spool(self._cases, self._suites)
        self._suites.write("</testsuite>\n")
        self._all_tests += tests
        self._all_failures += self._failures
        self._cases, self._tests, self._failures = text_spool(), 0, 0

    def close(self, totals: check_report.CheckTotals) -> None:
        """Write everything."""
        del totals
        head = f'<testsuites name="weaklink" tests="{self._all_tests}" failures="{self._all_failures}"'
        self._out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{head} errors="0">\n')
        copy_spool(self._suites, self._out)
        self._cases.close()
        self._out.write("</testsuites>\n")


def _failure(trace: check_report.CheckedTrace, first: Fault) -> str:
    """The start tag of a failure, with the verdict, or else the first fault."""
    broken = trace.broken
    summary = f"Broke at step {broken.step}: {broken.message}" if broken is not None else first.message
    return f"<failure message={xml_attribute(summary)} type={xml_attribute(str(first.rule))}>"


def _shown(diagnostics: Iterable[check_report.CheckedDiagnostic]) -> str:
    blocks = (
        diagnostic_lines(checked.shown, checked.lines.text, width=_WIDTH, lines=checked.lines)
        for checked in diagnostics
    )
    return "\n\n".join("\n".join(plain(line).rstrip() for line in block) for block in blocks)


def _case(path: str, name: str, inside: str) -> str:
    opened = f"<testcase classname={xml_attribute(path)} name={xml_attribute(name)}"
    return f"{opened}>\n{inside}</testcase>\n" if inside else f"{opened}/>\n"


def xml_attribute(text: str) -> str:
    """A text as an attribute's value, in quotes."""
    return quoteattr(_allowed(text), {"\n": "&#10;", "\t": "&#9;"})


def xml_text(text: str) -> str:
    """A text as the content of an element."""
    return escape(_allowed(text))


def _allowed(text: str) -> str:
    """The text with each character that XML 1.0 (section 2.2) does not allow replaced by a glyph or an escape."""
    return visible(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


_COMMANDS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
)


class CheckGithub:
    """Writes a workflow command for each diagnostic to `out`; notes and totals go to `notify`."""

    def __init__(self, out: TextIO, notify: Callable[[str], None]) -> None:
        self._out, self._notify = out, notify

    def trace(self, trace: check_report.CheckedTrace) -> None:
        """Write its diagnostics, one line each."""
        for checked in trace.results:
            self._out.write(annotation(checked) + "\n")

    def unread(self, unread: check_report.UnreadRecord) -> None:
        """Write one line."""
        self._out.write(unread_annotation(unread) + "\n")

    def file(self, file: check_report.CheckedFile) -> None:
        """Print the notes on records that were left out."""
        for line in file.notes:
            self._notify(line)

    def close(self, totals: check_report.CheckTotals) -> None:
        """Print the totals."""
        self._notify(plain((*read_words(totals), *found_words(totals))))
        for line in baseline_lines(totals):
            self._notify(line)


def annotation(checked: check_report.CheckedDiagnostic) -> str:
    """`::error file=...,line=...,title=...::message`, escaped as actions/toolkit does (packages/core: command.ts)."""
    location = checked.diagnostic.location
    line, column = checked.lines.position(location.range.start)
    record = " ".join(word for word in (checked.record, checked.trace) if word)
    return _command(checked, checked.shown.fault, f"{record}, turn {location.turn}, {location.part} {line}:{column}")


def unread_annotation(unread: check_report.UnreadRecord) -> str:
    """The workflow command for a record or file that could not be read."""
    return _command(unread, unread.fault, unread.record)


def _command(result: check_report.CheckedDiagnostic | check_report.UnreadRecord, fault: Fault, where: str) -> str:
    where_line = [f"at {where}"] if where else []
    text = "\n".join([fault.message, *([f"help: {fault.hint}"] if fault.hint else []), *where_line])
    properties = {
        "file": visible(check_report.in_repository(result.path)),
        **_github_region(result.position),
        "title": str(fault.rule),
    }
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[fault.rule.severity]} {listed}::{_escaped(visible(text))}"


def _github_region(position: check_report.FilePosition | None) -> dict[str, str]:
    if position is None:
        return {}
    numbers = {"line": position.line, "endLine": position.end_line}
    if position.end_line == position.line:
        numbers |= {"col": position.column, "endColumn": position.end_column}
    return {name: str(number) for name, number in numbers.items() if number is not None}


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


class CheckSarif:
    """Writes one SARIF run: its results as they are found, then notifications about files."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begun = False
        self._failed = False
        self._notifications: list[Json] = []

    def trace(self, trace: check_report.CheckedTrace) -> None:
        """Write its diagnostics as results."""
        for checked in trace.results:
            self._add(result_object(checked))

    def unread(self, unread: check_report.UnreadRecord) -> None:
        """Write it as a result."""
        self._add(unread_object(unread))

    def _add(self, result: JsonObject) -> None:
        self._out.write((",\n" if self._begun else f"{_head()}\n") + write_json(result))
        self._begun = True

    def file(self, file: check_report.CheckedFile) -> None:
        """Collect its notes as notifications, which are written at the end."""
        self._failed = self._failed or file.is_failure
        for note in file.notes[: _MAX_NOTIFICATIONS - len(self._notifications)]:
            location: JsonObject = {"physicalLocation": {"artifactLocation": _artifact(file.path)}}
            self._notifications.append({"level": "note", "message": {"text": note}, "locations": [location]})

    def close(self, totals: check_report.CheckTotals) -> None:
        """Write the rest of the run."""
        if not self._begun:
            self._out.write(_head())
        invocation: JsonObject = {
            "executionSuccessful": not self._failed and totals.traces > 0,
            "toolExecutionNotifications": self._notifications,
        }
        ended = "\n]" if self._begun else "]"
        self._out.write(f'{ended}, "invocations": [{write_json(invocation)}]}}]}}\n')


def _head() -> str:
    driver: JsonObject = {"name": "weaklink", "version": __version__, "rules": rule_objects()}
    return (
        f'{{"$schema": "{_SCHEMA}", "version": "2.1.0", "runs": [{{"tool": {write_json({"driver": driver})}, '
        '"columnKind": "unicodeCodePoints", "results": ['
    )


def result_object(checked: check_report.CheckedDiagnostic) -> JsonObject:
    """One diagnostic as a result.

    Its position in the trace is a logical location; the position in the file, if known, is the physical location. The
    properties contain the position within the part, in code points, and the text at that position.
    """
    fault = checked.shown.fault
    result = _result(fault, _location(checked), checked.fingerprint, _properties(checked))
    if checked.more:
        result["relatedLocations"] = [_location(diagnostic) for diagnostic in checked.more]
    if (against := fault.against) is not None:
        other: JsonObject = {"message": {"text": "The other layer's text."}, **_location(checked, against)}
        result["relatedLocations"] = [other, *map(_location, checked.more)]
    if checked.position is not None and checked.position.edits:
        result["fixes"] = [_fix(checked, checked.position)]
    return result


def unread_object(unread: check_report.UnreadRecord) -> JsonObject:
    """A record or file that could not be read, as a result."""
    fault = unread.fault
    physical: JsonObject = {"artifactLocation": _artifact(unread.path)}
    if unread.position is not None:
        physical["region"] = _region(unread.position)
    location: JsonObject = {"physicalLocation": physical}
    if unread.record:
        record = visible(unread.record)
        location["logicalLocations"] = [{"name": record, "fullyQualifiedName": record, "kind": "member"}]
    shown = fault.range.moved(-unread.shown_from)
    properties: JsonObject = {
        "record": visible(unread.record),
        "charOffset": fault.range.start,
        "charLength": len(fault.range),
        "snippet": visible(unread.shown[max(shown.start - _MAX_SNIPPET_CHARS // 2, 0) :][:_MAX_SNIPPET_CHARS]),
    }
    return _result(fault, location, unread.fingerprint, properties)


def _result(fault: Fault, location: JsonObject, fingerprint: str, properties: JsonObject) -> JsonObject:
    return {
        "ruleId": fault.rule.code,
        "ruleIndex": RULE_INDEX[fault.rule.code],
        "level": LEVELS[fault.rule.severity],
        "message": {"text": visible(f"{fault.message} {fault.hint}" if fault.hint else fault.message)},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
        "properties": properties,
    }


def _location(checked: check_report.CheckedDiagnostic, location: Location | None = None) -> JsonObject:
    """The location of a diagnostic, or of another place in its trace."""
    physical: JsonObject = {"artifactLocation": _artifact(checked.path)}
    if checked.position is not None:
        physical["region"] = _region(checked.position)
    location = location or checked.diagnostic.location
    logical: JsonObject = {
        "name": visible(location.part),
        "fullyQualifiedName": visible(_logical_name(checked, location)),
        "kind": "member",
    }
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _logical_name(checked: check_report.CheckedDiagnostic, location: Location) -> str:
    record = "/".join(word for word in (checked.record, checked.trace) if word)
    return f"{record}/turn {location.turn}/{location.part}"


def _properties(checked: check_report.CheckedDiagnostic) -> JsonObject:
    location = checked.diagnostic.location
    line, column = checked.lines.position(location.range.start)
    shown = Range(location.range.start, min(location.range.end, location.range.start + _MAX_SNIPPET_CHARS))
    return {
        "record": visible(checked.record),
        "trace": visible(checked.trace),
        "turn": location.turn,
        "part": visible(location.part),
        "charOffset": location.range.start,
        "charLength": len(location.range),
        "lineInPart": line,
        "columnInPart": column,
        "snippet": visible(shown.of(checked.lines.text)),
    }


def _region(position: check_report.FilePosition) -> JsonObject:
    columns = {"startColumn": position.column, "endLine": position.end_line, "endColumn": position.end_column}
    return {"startLine": position.line, **{name: number for name, number in columns.items() if number is not None}}


def _fix(checked: check_report.CheckedDiagnostic, position: check_report.FilePosition) -> JsonObject:
    replacements: list[Json] = [
        {
            "deletedRegion": {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column},
            "insertedContent": {"text": text},
        }
        for line, column, end_line, end_column, text in position.edits
    ]
    change: JsonObject = {"artifactLocation": _artifact(checked.path), "replacements": replacements}
    hint = checked.diagnostic.fault.hint or checked.diagnostic.rule.summary
    return {"description": {"text": visible(hint)}, "artifactChanges": [change]}


def _artifact(path: str) -> JsonObject:
    """A file as a URI reference (RFC 3986): relative if possible, because code hosts need that."""
    path_ = check_report.in_repository(path)
    quoted = quote(path_.encode("utf-8", "surrogateescape"), safe="/")
    return {"uri": f"file://{quoted}" if path_.startswith("/") else quoted}


RULE_INDEX: Mapping[str, int] = MappingProxyType({rule.code: index for index, rule in enumerate(RULES)})
"""The index of each code in the list of rules."""


def rule_objects() -> list[Json]:
    """All rules: the list precedes the results, when it is not yet known which rules are needed."""
    return [_rule_object(rule) for rule in RULES]


def _rule_object(rule: Rule) -> JsonObject:
    examples = [(word, text) for word, text in (("Wrong", rule.bad), ("Right", rule.good)) if text]
    plain_text = "\n\n".join([rule.explanation, *(f"{word}:\n{text}" for word, text in examples)])
    indented = (f"{word}:\n\n    " + text.replace("\n", "\n    ") for word, text in examples)
    markdown = "\n\n".join([rule.explanation, *indented])
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": plain_text, "markdown": markdown},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.name]},
    }
