"""The report of a check for people: a line for each diagnostic, as compilers write it, and a sum by code."""

import re
from collections.abc import Callable, Iterable, Iterator

from inspector.importers.source import Skipped
from inspector.rules.catalogue import find_rule
from inspector.rules.rule import Severity
from ui.reports.check_report import CheckedFile, Finding, Totals
from ui.views.palette import Style, style_of
from ui.views.run import Line, Run
from ui.views.visible import visible_line
from ui.views.wording import counted, help_line, quoted, title

_LINE = re.compile(r"line (\d+)")


class CheckLines:
    """Writes lines: diagnostics and the sum with `put`, what was not read with `say`."""

    def __init__(self, put: Callable[[Iterable[Line]], None], say: Callable[[str], None]) -> None:
        self._put, self._say = put, say

    def finding(self, finding: Finding) -> None:
        """The place, the fault and its hint."""
        self._put(finding_lines(finding))

    def file(self, file: CheckedFile) -> None:
        """Nothing, unless some of the file was not read."""
        for line in unread_lines(file):
            self._say(line)

    def close(self, totals: Totals) -> None:
        """The sum."""
        self._put(sum_lines(totals))


def finding_lines(finding: Finding) -> Iterator[Line]:
    """`path:record: turn 2 text 3:1: error[J104] trailing-comma: ...`, and the hint below."""
    place = finding.diagnostic.location
    line, column = finding.lines.position(place.range.start)
    where = f"turn {place.turn} {visible_line(place.part)} {line}:{column}"
    file = _in_file(finding.path, finding.record)
    yield (Run(file, Style.STRONG), Run(f": {where}: "), *title(finding.diagnostic.fault))
    if finding.diagnostic.fault.hint:
        yield (Run("  "), *help_line(finding.diagnostic.fault.hint))


def unread_lines(file: CheckedFile) -> Iterator[str]:
    """What of a file was refused or skipped, and why."""
    for skipped in file.first_skipped:
        yield f"{_in_file(file.path, skipped.record)}: skipped: {_reason(skipped)}"
    more = file.skipped - len(file.first_skipped)
    if more > 0:
        yield f"{visible_line(file.path)}: {counted(more, 'more record')} skipped"
    if file.refused is not None:
        yield visible_line(file.refused)


def sum_lines(totals: Totals) -> Iterator[Line]:
    """How much was read, what was found, and how often each code."""
    read = f"{counted(totals.traces, 'trace')} in {counted(totals.files - totals.refused, 'file')}: "
    found: list[Run] = []
    for severity in Severity:
        if number := totals.of(severity):
            many = "infos" if severity is Severity.INFO else ""
            found += (Run(", " if found else ""), Run(counted(number, severity.value, many), style_of(severity)))
    nothing = Run("✔ nothing is wrong", Style.OK) if totals.traces else Run("nothing was inspected", Style.WARNING)
    yield (Run(read, Style.STRONG), *(found or (nothing,)))
    for code, number in sorted(totals.diagnostics.items(), key=lambda pair: (-pair[1], pair[0])):
        rule = find_rule(code)
        yield (Run(f"{number:>7,} "), Run(rule.code, style_of(rule.severity)), Run(" "), *quoted(rule.name))


def _in_file(path: str, record: str) -> str:
    """A place in a file, as editors understand it where the record is a line."""
    line = _LINE.fullmatch(record)
    place = line[1] if line else record
    return visible_line(f"{path}:{place}" if place else path)


def _reason(skipped: Skipped) -> str:
    return visible_line(skipped.reason)
