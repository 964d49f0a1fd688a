"""The report of a check as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), for code hosts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TextIO
from urllib.parse import quote

from inspector.diagnostics import Location
from inspector.json_text import write_json
from inspector.model import Json
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Rule, Severity
from inspector.text import Range
from inspector.version import __version__
from ui.reports.check_report import (
    CheckedFile,
    CheckedTrace,
    CheckTotals,
    FilePlace,
    Finding,
    UnreadRecord,
    in_repository,
)
from ui.views.segment_json import JsonObject
from ui.views.styled_text import visible

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "weaklinkFault/v1"
_LONGEST_SNIPPET = 200
_MOST_NOTIFICATIONS = 1_000

LEVELS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
)
"""SARIF 2.1.0, 3.27.10: how it calls our severities."""


class CheckSarif:
    """Writes one run: its results as they are found, then what could not be read."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begun = False
        self._failed = False
        self._notifications: list[Json] = []

    def trace(self, trace: CheckedTrace) -> None:
        """Its findings are more results."""
        for finding in trace.findings:
            self._add(result_object(finding))

    def unread(self, unread: UnreadRecord) -> None:
        """One more result."""
        self._add(unread_object(unread))

    def _add(self, result: JsonObject) -> None:
        self._out.write((",\n" if self._begun else f"{_head()}\n") + write_json(result))
        self._begun = True

    def file(self, file: CheckedFile) -> None:
        """What of it was left out is notified at the end."""
        self._failed = self._failed or file.is_failure
        for said in file.notes[: _MOST_NOTIFICATIONS - len(self._notifications)]:
            place: JsonObject = {"physicalLocation": {"artifactLocation": _artifact(file.path)}}
            self._notifications.append({"level": "note", "message": {"text": said}, "locations": [place]})

    def close(self, totals: CheckTotals) -> None:
        """The rest of the run."""
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


def result_object(finding: Finding) -> JsonObject:
    """One finding as a result.

    Its place in the trace is a logical location; where the place in the file is known, that stands beside it. The
    properties tell the place within the part, in code points, and the text that stands there.
    """
    fault = finding.shown.fault
    result: JsonObject = {
        "ruleId": fault.rule.code,
        "ruleIndex": RULE_INDEX[fault.rule.code],
        "level": LEVELS[fault.rule.severity],
        "message": {"text": visible(f"{fault.message} {fault.hint}" if fault.hint else fault.message)},
        "locations": [_location(finding)],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
        "properties": _properties(finding),
    }
    if finding.more:
        result["relatedLocations"] = [_location(one) for one in finding.more]
    if (against := fault.against) is not None:
        other: JsonObject = {"message": {"text": "The other layer's text."}, **_location(finding, against)}
        result["relatedLocations"] = [other, *map(_location, finding.more)]
    if finding.place is not None and finding.place.edits:
        result["fixes"] = [_fix(finding, finding.place)]
    return result


def unread_object(unread: UnreadRecord) -> JsonObject:
    """A record or file that could not be read, as a result."""
    fault = unread.fault
    physical: JsonObject = {"artifactLocation": _artifact(unread.path)}
    if unread.place is not None:
        physical["region"] = _region(unread.place)
    location: JsonObject = {"physicalLocation": physical}
    if unread.record:
        record = visible(unread.record)
        location["logicalLocations"] = [{"name": record, "fullyQualifiedName": record, "kind": "member"}]
    shown = fault.range.moved(-unread.shown_from)
    return {
        "ruleId": fault.rule.code,
        "ruleIndex": RULE_INDEX[fault.rule.code],
        "level": LEVELS[fault.rule.severity],
        "message": {"text": visible(f"{fault.message} {fault.hint}" if fault.hint else fault.message)},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: unread.fingerprint},
        "properties": {
            "record": visible(unread.record),
            "charOffset": fault.range.start,
            "charLength": len(fault.range),
            "snippet": visible(unread.shown[max(shown.start - _LONGEST_SNIPPET // 2, 0) :][:_LONGEST_SNIPPET]),
        },
    }


def _location(finding: Finding, place: Location | None = None) -> JsonObject:
    """That of a finding, or another place in its trace."""
    physical: JsonObject = {"artifactLocation": _artifact(finding.path)}
    if finding.place is not None:
        physical["region"] = _region(finding.place)
    place = place or finding.diagnostic.location
    logical: JsonObject = {
        "name": visible(place.part),
        "fullyQualifiedName": visible(_logical_name(finding, place)),
        "kind": "member",
    }
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _logical_name(finding: Finding, place: Location) -> str:
    record = "/".join(word for word in (finding.record, finding.trace) if word)
    return f"{record}/turn {place.turn}/{place.part}"


def _properties(finding: Finding) -> JsonObject:
    place = finding.diagnostic.location
    line, column = finding.lines.position(place.range.start)
    shown = Range(place.range.start, min(place.range.end, place.range.start + _LONGEST_SNIPPET))
    return {
        "record": visible(finding.record),
        "trace": visible(finding.trace),
        "turn": place.turn,
        "part": visible(place.part),
        "charOffset": place.range.start,
        "charLength": len(place.range),
        "lineInPart": line,
        "columnInPart": column,
        "snippet": visible(shown.of(finding.lines.text)),
    }


def _region(place: FilePlace) -> JsonObject:
    columns = {"startColumn": place.column, "endLine": place.end_line, "endColumn": place.end_column}
    return {"startLine": place.line, **{name: number for name, number in columns.items() if number is not None}}


def _fix(finding: Finding, place: FilePlace) -> JsonObject:
    replacements: list[Json] = [
        {
            "deletedRegion": {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column},
            "insertedContent": {"text": text},
        }
        for line, column, end_line, end_column, text in place.edits
    ]
    change: JsonObject = {"artifactLocation": _artifact(finding.path), "replacements": replacements}
    hint = finding.diagnostic.fault.hint or finding.diagnostic.rule.summary
    return {"description": {"text": visible(hint)}, "artifactChanges": [change]}


def _artifact(path: str) -> JsonObject:
    """A file as a URI reference (RFC 3986): relative where it can be, which code hosts need."""
    place = in_repository(path)
    quoted = quote(place.encode("utf-8", "surrogateescape"), safe="/")
    return {"uri": f"file://{quoted}" if place.startswith("/") else quoted}


RULE_INDEX: Mapping[str, int] = MappingProxyType({rule.code: index for index, rule in enumerate(RULES)})
"""At which place of the list of rules each code stands."""


def rule_objects() -> list[Json]:
    """Every rule there is: the list stands before the results, when it is not known yet which of them are needed."""
    return [_rule_object(rule) for rule in RULES]


def _rule_object(rule: Rule) -> JsonObject:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": _help(rule), "markdown": _help_in_markdown(rule)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.name]},
    }


def _help(rule: Rule) -> str:
    shown = (("Wrong", rule.bad), ("Right", rule.good))
    return "\n\n".join([rule.explanation, *(f"{word}:\n{text}" for word, text in shown if text)])


def _help_in_markdown(rule: Rule) -> str:
    shown = (("Wrong", rule.bad), ("Right", rule.good))
    return "\n\n".join([rule.explanation, *(f"{word}:\n\n{_indented(text)}" for word, text in shown if text)])


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
