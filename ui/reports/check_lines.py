"""The report of a check for people: by file and trace, each fault with carets under it, and a sum by code."""

from collections.abc import Callable, Iterable, Iterator

from inspector.chain.steps import Break, StepOutcome
from inspector.importers.source import Skipped
from inspector.rules.catalogue import find_rule
from inspector.rules.rule import Severity
from inspector.scanning import lazy_pattern
from inspector.text import LineIndex
from ui.reports.check_report import CheckedFile, CheckedTrace, CheckTotals, UnreadRecord
from ui.views.diagnostic import Excerpt, diagnostic_lines
from ui.views.styled_text import Line, Run, Style, style_of, visible_line
from ui.views.wording import counted, help_line, quoted, title, wrapped

_LINE = lazy_pattern(r"line (\d+)")


class CheckLines:
    """Writes lines of `width` cells: faults and the sum with `put`, what was not read with `say`."""

    def __init__(self, put: Callable[[Iterable[Line]], None], say: Callable[[str], None], width: int) -> None:
        self._put, self._say, self._width = put, say, width

    def trace(self, trace: CheckedTrace) -> None:
        """Its place, the verdict, and each fault; nothing where there is none."""
        if trace.findings:
            self._put(trace_lines(trace, self._width))

    def unread(self, unread: UnreadRecord) -> None:
        """The fault, with the record's text where it has one."""
        self._put(unread_lines(unread, self._width))

    def file(self, file: CheckedFile) -> None:
        """Nothing, unless some of the file was left out."""
        for line in file.notes:
            self._say(line)

    def close(self, totals: CheckTotals) -> None:
        """The sum."""
        self._put(sum_lines(totals))
        for line in baseline_lines(totals):
            self._say(line)


def trace_lines(trace: CheckedTrace, width: int) -> Iterator[Line]:
    """`path:record title`, the break in a sentence, the faults as compilers print them, and an empty line."""
    title = f" {visible_line(trace.title)}" if trace.title else ""
    yield (Run(in_file(trace.path, trace.record), Style.STRONG), Run(title))
    if trace.broken is not None:
        head = Run(f"✖ broke at step {trace.broken.step}", Style.ERROR)
        said = quoted(_verdict(trace, trace.broken))
        yield from wrapped((head, Run(f" (turn {trace.broken.turn}): "), *said), width, indent=2)
    for finding in trace.findings:
        yield from diagnostic_lines(finding.shown, finding.lines.text, width=width, lines=finding.lines)
    yield ()


def _verdict(trace: CheckedTrace, broken: Break) -> str:
    """The break's sentence; only call and outcome where a finding below says why."""
    found = (one.diagnostic for one in trace.findings)
    if broken.outcome in (StepOutcome.ERROR_RESULT, StepOutcome.UNANSWERED) or not any(
        one.location.turn == broken.turn and one.rule.code == broken.code for one in found
    ):
        return broken.message
    return f"the call of {f'`{broken.tool}`' if broken.tool else 'a tool without a name'} is {broken.outcome.value}"


def unread_lines(unread: UnreadRecord, width: int) -> Iterator[Line]:
    """What could not be read, where, the line with carets, and an empty line."""
    yield from fault_lines(unread, width)
    yield ()


def fault_lines(unread: UnreadRecord, width: int) -> Iterator[Line]:
    """The same without the empty line."""
    fault, place = unread.fault, unread.place
    line, column = (place.line, place.column or 1) if place is not None else (1, 1)
    digits = len(str(line))
    yield from wrapped(title(fault), width, indent=6)
    where = in_file(unread.path, unread.record) if place is None else visible_line(f"{unread.path}:{line}:{column}")
    yield (Run(f"{'':{digits}}--> ", Style.GUTTER), Run(where))
    if unread.shown and place is not None:
        shown = fault.range.moved(-unread.shown_from)
        excerpt = Excerpt(LineIndex(unread.shown), digits, width, line - unread.shown.count("\n", 0, shown.start))
        yield excerpt.gutter()
        yield from excerpt.lines(shown, style_of(fault.rule.severity))
    if fault.hint:
        yield from wrapped(help_line(fault.hint), width, indent=6)


def notes_of(file: CheckedFile, skipped: Iterable[Skipped], more: int, *, is_unread: bool) -> Iterator[str]:
    """What of a file was skipped, and why it was refused where that is not reported as unread."""
    for one in skipped:
        yield f"{in_file(file.path, one.record)}: skipped: {visible_line(one.reason)}"
    if more > 0:
        yield f"{visible_line(file.path)}: {counted(more, 'more record')} skipped"
    if file.refused is not None and not is_unread:
        yield visible_line(file.refused)


def baseline_lines(totals: CheckTotals) -> Iterator[str]:
    """How many faults the baseline knows, and how many of its faults are no more."""
    if totals.known:
        yield f"{counted(totals.known, 'fault')} {'is' if totals.known == 1 else 'are'} in the baseline"
    if totals.gone:
        are = "is" if totals.gone == 1 else "are"
        yield f"{counted(totals.gone, 'fault')} of the baseline {are} gone; update it with `--write-baseline`"


def sum_lines(totals: CheckTotals) -> Iterator[Line]:
    """How much was read, what was found, and how often each code."""
    yield (*read_words(totals), *found_words(totals))
    for code, number in sorted(totals.diagnostics.items(), key=lambda pair: (-pair[1], pair[0])):
        rule = find_rule(code)
        yield (Run(f"{number:>7,} "), Run(rule.code, style_of(rule.severity)), Run(" "), *quoted(rule.name))


def read_words(totals: CheckTotals) -> Line:
    """How many traces were read, of how many files."""
    read = f"{counted(totals.traces, 'trace')} in {counted(totals.files - totals.refused, 'file')}: "
    return (Run(read, Style.STRONG),)


def found_words(totals: CheckTotals) -> Line:
    """How many errors, warnings and infos were found, or that nothing is wrong, or new."""
    found: list[Run] = []
    for severity in Severity:
        if number := totals.of(severity):
            many = "infos" if severity is Severity.INFO else ""
            found += (Run(", " if found else ""), Run(counted(number, severity.value, many), style_of(severity)))
    if found:
        return tuple(found)
    if not totals.traces:
        return (Run("nothing was inspected", Style.WARNING),)
    return (Run("✔ nothing new is wrong" if totals.known else "✔ nothing is wrong", Style.OK),)


def in_file(path: str, record: str) -> str:
    """A place in a file, as editors understand it where the record is a line."""
    line = _LINE.fullmatch(record)
    place = line[1] if line else record
    return visible_line(f"{path}:{place}" if place else path)
