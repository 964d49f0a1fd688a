"""The report of `weaklink data fix`: repairs that were made and not made, as lines with a diff and as JSON."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TextIO, cast

from msgspec import Struct

from weaklink.inspector.dataset.repair import AppliedRepair
from weaklink.inspector.diagnostics import Diagnostic, Edit
from weaklink.inspector.text import LineIndex, Range
from weaklink.ui.json_types.data import FixedFaultJson, FixedFileJson, LeftFaultJson, RepairedPlaceJson
from weaklink.ui.reports.check_output import JsonArray, in_file
from weaklink.ui.views.diagnostic import Excerpt
from weaklink.ui.views.segment_json import diagnostic_object
from weaklink.ui.views.styled_text import Line, Run, Style, counted, style_of, visible_line, visible_runs

_BEFORE = 12  # cells reserved for the text before the first edit


class Repaired(Struct, frozen=True):
    """The result of one record: the repairs made in its copy, those without a position there, and the harmful ones.

    A repair has no position if its text is not a single value of the record.
    """

    path: str
    record: str
    title: str
    changes: tuple[AppliedRepair, ...]
    unplaced: tuple[AppliedRepair, ...] = ()
    harmful: tuple[Diagnostic, ...] = ()


class FixedFile(Struct, frozen=True):
    """The result of one file: the numbers of its traces, skipped records, repaired records and repairs.

    `left` counts the repairs that were not made. `output` is the path of the copy, or None if none was written;
    `refused` is the reason, in a sentence, if the file cannot be repaired.
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
    """Reports repairs while they are made."""

    def repaired(self, repaired: Repaired) -> None:
        """A record was repaired; the records of a file come before the file."""
        ...

    def file(self, file: FixedFile) -> None:
        """A file is done."""
        ...

    def close(self) -> None:
        """Everything is done."""
        ...


class FixLines:
    """Prints lines of `width` cells with `put`; repairs that were not made go to `notify`."""

    def __init__(self, put: Callable[[Iterable[Line]], None], notify: Callable[[str], None], width: int) -> None:
        self._put, self._notify, self._width = put, notify, width

    def repaired(self, repaired: Repaired) -> None:
        """Print the repairs of one record."""
        if repaired.changes:
            self._put(repaired_lines(repaired, self._width))
        for line in left_lines(repaired):
            self._notify(line)

    def file(self, file: FixedFile) -> None:
        """Print nothing: the command reports the files."""

    def close(self) -> None:
        """Print nothing."""


def repaired_lines(repaired: Repaired, width: int) -> Iterator[Line]:
    """`path:record title`, then each repair: its rule, its place, and its lines with `-` and `+`; an empty line."""
    title = f" {visible_line(repaired.title)}" if repaired.title else ""
    yield (Run(in_file(repaired.path, repaired.record), Style.STRONG), Run(title))
    for change in repaired.changes:
        yield from change_lines(change, width)
    yield ()


def change_lines(change: AppliedRepair, width: int) -> Iterator[Line]:
    """The lines of one repair. Of long lines, only the text around an edit is shown."""
    diagnostic, index = change.diagnostic, LineIndex(change.text)
    line, column = index.position(change.edits[0].range.start)
    where = f", turn {diagnostic.location.turn} {visible_line(diagnostic.location.part)} {line}:{column}"
    is_guess = diagnostic.fault.fix is not None and not diagnostic.fault.fix.safe
    guess = (Run(" (a guess)", Style.WARNING),) if is_guess else ()
    rule = (
        Run(diagnostic.rule.code, style_of(diagnostic.rule.severity)),
        Run(f" {diagnostic.rule.name}", Style.STRONG),
    )
    yield (*rule, Run(where, Style.DIM), *guess)
    excerpt = Excerpt(index, len(str(index.position(change.edits[-1].range.end)[0])), width)
    for hunk in _hunks(change.edits, index, excerpt.room):
        yield from _hunk_lines(hunk, excerpt)


def left_lines(repaired: Repaired) -> Iterator[str]:
    """The repairs that were not made, with the reason."""
    where = in_file(repaired.path, repaired.record)
    for change in repaired.unplaced:
        yield f"{where}: {_named(change.diagnostic)} is not repaired: its text is not a single value of the record"
    for diagnostic in repaired.harmful:
        yield f"{where}: {_named(diagnostic)} is not repaired: the repair would introduce new faults"


def _named(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.rule} in turn {diagnostic.location.turn}, {visible_line(diagnostic.location.part)}"


def _hunks(edits: Iterable[Edit], index: LineIndex, room: int) -> Iterator[list[Edit]]:
    """Groups of edits that are on one line and near each other."""
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
    changed = Range(hunk[0].range.start, hunk[-1].range.end)
    shown = excerpt.window(number, changed)
    line = excerpt.index.line(number)
    head, tail = "…" if shown.start > line.start else "", "…" if shown.end < line.end else ""
    end = max(shown.end, changed.start)
    for sign, style in (("-", Style.REMOVED), ("+", Style.ADDED)):
        runs: list[Run] = [Run(head, Style.DIM)] if head else []
        offset = shown.start
        for edit in hunk:
            runs += visible_runs(text[offset : min(edit.range.start, end)])
            replaced = edit.text if sign == "+" else edit.range.of(text)
            shown_text = replaced if len(replaced) <= excerpt.room else f"{replaced[: excerpt.room]}…"
            runs += visible_runs(shown_text, style)
            offset = min(edit.range.end, end) if edit.range.end <= end else end
        runs += visible_runs(text[offset:end])
        yield (Run(f"{number:>{excerpt.digits}} {sign} ", style), *runs, Run(tail, Style.DIM))


def sum_words(files: list[FixedFile]) -> str:
    """The number of repairs, and of the records and files that have them."""
    read = [file for file in files if file.refused is None]
    changes, records = sum(file.changes for file in read), sum(file.records for file in read)
    traces = counted(sum(file.traces for file in read), "trace")
    left = sum(file.left for file in read)
    if not changes and not left:
        return f"{traces} in {counted(len(read), 'file')}: nothing to repair"
    repairs = f"{counted(changes, 'repair')} in {counted(records, 'record')}"
    return f"{traces} in {counted(len(read), 'file')}: {repairs}" + (f", {left:,} skipped" if left else "")


class FixJson:
    """Writes `{"files", "changes", "left"}` to a stream when all is done."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._files, self._changes, self._left = JsonArray(), JsonArray(), JsonArray()

    def repaired(self, repaired: Repaired) -> None:
        """Add its repairs to `changes`, or to `left` if they were not made."""
        for change in repaired.changes:
            self._changes.add(change_object(repaired, change))
        for change in repaired.unplaced:
            self._left.add(_left_object(repaired, change.diagnostic, "unplaced"))
        for diagnostic in repaired.harmful:
            self._left.add(_left_object(repaired, diagnostic, "harmful"))

    def file(self, file: FixedFile) -> None:
        """Add it to `files`."""
        self._files.add(file_object(file))

    def close(self) -> None:
        """Write everything."""
        for name, array in (("files", self._files), ("changes", self._changes), ("left", self._left)):
            self._out.write(f'{"{" if name == "files" else ", "}"{name}": ')
            array.write_to(self._out)
        self._out.write("}\n")


def change_object(repaired: Repaired, change: AppliedRepair) -> FixedFaultJson:
    """A diagnostic with its position and its `fix`; both refer to the part's text after the previous rounds."""
    members = dict[str, object](diagnostic_object(change.diagnostic, LineIndex(change.text)))
    members["path_in_arguments"] = members.pop("path")
    return cast("FixedFaultJson", {**_place(repaired, change.diagnostic), **members, "round": change.round})


def file_object(file: FixedFile) -> FixedFileJson:
    """The result of a file."""
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


def _left_object(repaired: Repaired, diagnostic: Diagnostic, why: str) -> LeftFaultJson:
    """`why` is `unplaced` (its text is no single value of the record) or `harmful` (it would introduce new faults)."""
    rule = diagnostic.rule
    return {
        **_place(repaired, diagnostic),
        "code": rule.code,
        "name": rule.name,
        "message": diagnostic.fault.message,
        "why": why,
    }


def _place(repaired: Repaired, diagnostic: Diagnostic) -> RepairedPlaceJson:
    return {
        "path": repaired.path,
        "record": repaired.record,
        "trace": repaired.title,
        "turn": diagnostic.location.turn,
        "part": diagnostic.location.part,
    }
