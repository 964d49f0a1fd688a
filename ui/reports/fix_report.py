"""The report of `weaklink data fix`: what was repaired and what was left, as lines with a diff and as JSON."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TextIO

from msgspec import Struct

from inspector.dataset.repair import AppliedRepair
from inspector.diagnostics import Diagnostic, Edit
from inspector.text import LineIndex, Range
from ui.reports.check_output import JsonArray, in_file
from ui.views.diagnostic import Excerpt
from ui.views.segment_json import JsonObject, diagnostic_object
from ui.views.styled_text import Line, Run, Style, counted, style_of, visible_line, visible_runs

_BEFORE = 12  # cells that are left for what is before the first edit


class Repaired(Struct, frozen=True):
    """What became of one record: the repairs in its copy, those without a place there, and those that would do harm.

    A repair has no place where its text is no single value of the record.
    """

    path: str
    record: str
    title: str
    changes: tuple[AppliedRepair, ...]
    unplaced: tuple[AppliedRepair, ...] = ()
    harmful: tuple[Diagnostic, ...] = ()


class FixedFile(Struct, frozen=True):
    """What became of one file: its traces, the records that gave none, those that are repaired, and how often.

    `left` counts the repairs that were not made. `output` is where the copy is, None where none was written;
    `refused` a sentence where the file is none that is repaired.
    """

    path: str
    source: str | None = None
    traces: int = 0
    skipped: int = 0
    records: int = 0
    changes: int = 0
    left: int = 0
    output: str | None = None
    refused: str | None = None


class FixReport(Protocol):
    """Says what is repaired, as it is."""

    def repaired(self, repaired: Repaired) -> None:
        """One more record; those of a file come before the file."""
        ...

    def file(self, file: FixedFile) -> None:
        """A file is done."""
        ...

    def close(self) -> None:
        """Everything is done."""
        ...


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


def change_lines(change: AppliedRepair, width: int) -> Iterator[Line]:
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
    """Edits that are on one line and near each other."""
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


class FixJson:
    """Writes `{"files", "changes", "left"}` to a stream when all is done."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._files, self._changes, self._left = JsonArray(), JsonArray(), JsonArray()

    def repaired(self, repaired: Repaired) -> None:
        """Its repairs are more elements of `changes`, or of `left` where they were not made."""
        for change in repaired.changes:
            self._changes.add(change_object(repaired, change))
        for change in repaired.unplaced:
            self._left.add(_left_object(repaired, change.diagnostic, "unplaced"))
        for one in repaired.harmful:
            self._left.add(_left_object(repaired, one, "harmful"))

    def file(self, file: FixedFile) -> None:
        """One more element of `files`."""
        self._files.add(file_object(file))

    def close(self) -> None:
        """Write everything."""
        for name, array in (("files", self._files), ("changes", self._changes), ("left", self._left)):
            self._out.write(f'{"{" if name == "files" else ", "}"{name}": ')
            array.write_to(self._out)
        self._out.write("}\n")


def change_object(repaired: Repaired, change: AppliedRepair) -> JsonObject:
    """A diagnostic with its place and its `fix`; both count in the part's text as the rounds before have left it."""
    said = diagnostic_object(change.diagnostic, LineIndex(change.text))
    in_arguments = said.pop("path")
    return {**_place(repaired, change.diagnostic), **said, "path_in_arguments": in_arguments, "round": change.round}


def file_object(file: FixedFile) -> JsonObject:
    """What became of a file."""
    return {
        "path": file.path,
        "source": file.source,
        "refused": file.refused,
        "output": file.output,
        "traces": file.traces,
        "skipped": file.skipped,
        "repaired_records": file.records,
        "changes": file.changes,
        "left": file.left,
    }


def _left_object(repaired: Repaired, one: Diagnostic, why: str) -> JsonObject:
    """`why` is `unplaced` (its text is no single value of the record) or `harmful` (more would be wrong)."""
    rule = one.rule
    return {**_place(repaired, one), "code": rule.code, "name": rule.name, "message": one.fault.message, "why": why}


def _place(repaired: Repaired, one: Diagnostic) -> JsonObject:
    return {
        "path": repaired.path,
        "record": repaired.record,
        "trace": repaired.title,
        "turn": one.location.turn,
        "part": one.location.part,
    }
