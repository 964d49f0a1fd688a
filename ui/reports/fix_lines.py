"""Repairs for people: by record, the rule that asked for each, and its lines before and after."""

from collections.abc import Callable, Iterable, Iterator

from inspector.dataset.repair import Change
from inspector.diagnostics import Diagnostic, Edit
from inspector.text import LineIndex, Range
from ui.reports.check_lines import in_file
from ui.reports.fix_report import FixedFile, Repaired
from ui.views.excerpt import Excerpt
from ui.views.palette import Style, style_of
from ui.views.run import Line, Run
from ui.views.visible import visible_line, visible_runs
from ui.views.wording import counted

_BEFORE = 12  # cells that are left for what stands before the first edit


class FixLines:
    """Puts lines of `width` cells; what is not repaired goes to `say`."""

    def __init__(self, put: Callable[[Iterable[Line]], None], say: Callable[[str], None], width: int) -> None:
        self._put, self._say, self._width = put, say, width

    def repaired(self, repaired: Repaired) -> None:
        """The repairs of one record."""
        if repaired.changes:
            self._put(repaired_lines(repaired, self._width))
        for line in left_lines(repaired):
            self._say(line)

    def file(self, file: FixedFile) -> None:
        """Nothing: the command says what becomes of files."""

    def close(self) -> None:
        """Nothing."""


class FixQuietly:
    """Only what is not repaired goes to `say`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def repaired(self, repaired: Repaired) -> None:
        """What of it is left."""
        for line in left_lines(repaired):
            self._say(line)

    def file(self, file: FixedFile) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def repaired_lines(repaired: Repaired, width: int) -> Iterator[Line]:
    """`path:record title`, then each repair: its rule, its place, and its lines with `-` and `+`; an empty line."""
    title = f" {visible_line(repaired.title)}" if repaired.title else ""
    yield (Run(in_file(repaired.path, repaired.record), Style.STRONG), Run(title))
    for change in repaired.changes:
        yield from change_lines(change, width)
    yield ()


def change_lines(change: Change, width: int) -> Iterator[Line]:
    """One repair. Of long lines only the surroundings of an edit are shown."""
    one, index = change.diagnostic, LineIndex(change.text)
    line, column = index.position(change.edits[0].range.start)
    where = f", turn {one.location.turn} {visible_line(one.location.part)} {line}:{column}"
    is_guess = one.fault.fix is not None and not one.fault.fix.safe
    guess = (Run(" (a guess)", Style.WARNING),) if is_guess else ()
    rule = (Run(one.rule.code, style_of(one.rule.severity)), Run(f" {one.rule.name}", Style.STRONG))
    yield (*rule, Run(where, Style.DIM), *guess)
    excerpt = Excerpt(index, len(str(index.position(change.edits[-1].range.end)[0])), width)
    for hunk in _hunks(change.edits, index, excerpt.room):
        yield from _hunk_lines(hunk, excerpt)


def left_lines(repaired: Repaired) -> Iterator[str]:
    """Which repairs were not made, and why."""
    place = in_file(repaired.path, repaired.record)
    for change in repaired.unplaced:
        yield f"{place}: {_named(change.diagnostic)} is not repaired: its text is no single value of the record"
    for one in repaired.harmful:
        yield f"{place}: {_named(one)} is not repaired: with the repair, more would be wrong"


def _named(one: Diagnostic) -> str:
    return f"{one.rule} in turn {one.location.turn}, {visible_line(one.location.part)}"


def _hunks(edits: Iterable[Edit], index: LineIndex, room: int) -> Iterator[list[Edit]]:
    """Edits that lie on one line and near each other."""
    hunk: list[Edit] = []
    for edit in edits:
        if hunk:
            is_far = edit.range.end - hunk[0].range.start > room - _BEFORE
            if is_far or index.position(hunk[-1].range.end)[0] != index.position(edit.range.start)[0]:
                yield hunk
                hunk = []
        hunk.append(edit)
    if hunk:
        yield hunk


def _hunk_lines(hunk: list[Edit], excerpt: Excerpt) -> Iterator[Line]:
    text = excerpt.index.text
    number, _ = excerpt.index.position(hunk[0].range.start)
    place = Range(hunk[0].range.start, hunk[-1].range.end)
    shown = excerpt.window(number, place)
    line = excerpt.index.line(number)
    head, tail = "…" if shown.start > line.start else "", "…" if shown.end < line.end else ""
    end = max(shown.end, place.start)
    for sign, style in (("-", Style.REMOVED), ("+", Style.ADDED)):
        runs: list[Run] = [Run(head, Style.DIM)] if head else []
        at = shown.start
        for edit in hunk:
            runs += visible_runs(text[at : min(edit.range.start, end)])
            said = edit.text if sign == "+" else edit.range.of(text)
            runs += visible_runs(_short(said, excerpt.room), style)
            at = min(edit.range.end, end) if edit.range.end <= end else end
        runs += visible_runs(text[at:end])
        yield (Run(f"{number:>{excerpt.digits}} {sign} ", style), *runs, Run(tail, Style.DIM))


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[:room]}…"


def sum_words(files: list[FixedFile]) -> str:
    """How much was repaired, in how many records of how many files."""
    read = [file for file in files if file.refused is None]
    changes, records = sum(file.changes for file in read), sum(file.records for file in read)
    traces = counted(sum(file.traces for file in read), "trace")
    left = sum(file.left for file in read)
    if not changes and not left:
        return f"{traces} in {counted(len(read), 'file')}: nothing to repair"
    made = f"{counted(changes, 'repair')} in {counted(records, 'record')}"
    return f"{traces} in {counted(len(read), 'file')}: {made}" + (f", {left:,} not made" if left else "")
