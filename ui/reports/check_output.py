"""The report of a check, as lines with carets under each fault, and as one JSON object."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TextIO, cast

from weaklink.inspector.chain.steps import Break, StepOutcome
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.json_text import write_json
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import LineIndex
from weaklink.ui.json_types.faults import (
    BrokenChainJson,
    CheckedDiagnosticJson,
    CheckedFileJson,
    CheckTotalsJson,
    LintTotalsJson,
    RelatedJson,
)
from weaklink.ui.reports.check_report import CheckedDiagnostic, CheckedFile, CheckedTrace, CheckTotals, UnreadRecord
from weaklink.ui.views.diagnostic import Excerpt, diagnostic_lines
from weaklink.ui.views.segment_json import diagnostic_object
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    counted,
    help_line,
    quoted,
    style_of,
    title,
    visible_line,
    wrapped,
)

_LINE = re.compile(r"line (\d+)")
_IN_MEMORY_BYTES = 8 << 20


class CheckLines:
    """Writes lines of `width` cells: faults and totals with `put`, unread records with `notify`."""

    def __init__(self, put: Callable[[Iterable[Line]], None], notify: Callable[[str], None], width: int) -> None:
        self._put, self._notify, self._width = put, notify, width

    def trace(self, trace: CheckedTrace) -> None:
        """Print the trace's position, the verdict, and each fault; nothing if there is neither fault nor break."""
        if trace.diagnostics or trace.broken_chain is not None:
            self._put(trace_lines(trace, self._width))

    def unread(self, unread: UnreadRecord) -> None:
        """Print the fault, with the record's text if it has one."""
        self._put(unread_lines(unread, self._width))

    def file(self, file: CheckedFile) -> None:
        """Print the notes on records that were left out."""
        for line in file.notes:
            self._notify(line)

    def close(self, totals: CheckTotals) -> None:
        """Print the totals."""
        self._put(sum_lines(totals))
        for line in baseline_lines(totals):
            self._notify(line)


def trace_lines(trace: CheckedTrace, width: int) -> Iterator[Line]:
    """`path:record title`, the break in a sentence, the faults in the style of a compiler, and an empty line."""
    title = f" {visible_line(trace.title)}" if trace.title else ""
    yield (Run(in_file(trace.path, trace.record), Style.STRONG), Run(title))
    if trace.broken is not None:
        head = Run(f"✖ broke at step {trace.broken.step}", Style.ERROR)
        verdict = quoted(_verdict(trace, trace.broken))
        yield from wrapped((head, Run(f" (turn {trace.broken.turn}): "), *verdict), width, indent=2)
    for checked in trace.diagnostics:
        yield from diagnostic_lines(checked.shown, checked.lines.text, width=width, lines=checked.lines)
    yield ()


def _verdict(trace: CheckedTrace, broken: Break) -> str:
    """The break's message, without its reason if a diagnostic below contains it."""
    diagnostics = (checked.diagnostic for checked in trace.diagnostics)
    if broken.outcome in (StepOutcome.ERROR_RESULT, StepOutcome.UNANSWERED) or not any(
        diagnostic.location.turn == broken.turn and diagnostic.rule.code == broken.code for diagnostic in diagnostics
    ):
        return broken.message
    said, reason, _ = broken.message.partition(f" ({find_rule(broken.code).name}): ")
    return f"{said}." if reason else said


def unread_lines(unread: UnreadRecord, width: int) -> Iterator[Line]:
    """The fault of an unreadable record, its position, the line with carets, and an empty line."""
    yield from fault_lines(unread, width)
    yield ()


def fault_lines(unread: UnreadRecord, width: int) -> Iterator[Line]:
    """The lines of `unread_lines` without the empty line."""
    fault, position = unread.fault, unread.position
    line, column = (position.line, position.column or 1) if position is not None else (1, 1)
    digits = len(str(line))
    yield from wrapped(title(fault), width, indent=6)
    where = in_file(unread.path, unread.record) if position is None else visible_line(f"{unread.path}:{line}:{column}")
    yield (Run(f"{'':{digits}}--> ", Style.GUTTER), Run(where))
    if unread.shown and position is not None:
        shown = fault.range.moved(-unread.shown_from)
        excerpt = Excerpt(LineIndex(unread.shown), digits, width, line - unread.shown.count("\n", 0, shown.start))
        yield excerpt.gutter()
        yield from excerpt.lines(shown, style_of(fault.rule.severity))
    if fault.hint:
        yield from wrapped(help_line(fault.hint), width, indent=6)


def notes_of(file: CheckedFile, skipped: Iterable[Skipped], more: int, *, is_unread: bool) -> Iterator[str]:
    """The skipped records of a file, and why it was refused unless that is reported as unread."""
    for record in skipped:
        yield f"{in_file(file.path, record.record)}: skipped: {visible_line(record.reason)}"
    if more > 0:
        yield f"{visible_line(file.path)}: {counted(more, 'more record')} skipped"
    if file.refused is not None and not is_unread:
        yield visible_line(file.refused)


def baseline_lines(totals: CheckTotals) -> Iterator[str]:
    """The number of known faults in the baseline, and of baseline faults that disappeared."""
    if totals.known:
        yield f"{counted(totals.known, 'fault')} {'is' if totals.known == 1 else 'are'} in the baseline"
    if totals.gone:
        occur = "occurs" if totals.gone == 1 else "occur"
        yield f"{counted(totals.gone, 'fault')} of the baseline no longer {occur}; update it with `--write-baseline`"


def sum_lines(totals: CheckTotals) -> Iterator[Line]:
    """The number of traces read, the faults found, and the number of faults of each code."""
    yield (*read_words(totals), *found_words(totals))
    for code, number in sorted(totals.diagnostics.items(), key=lambda pair: (-pair[1], pair[0])):
        rule = find_rule(code)
        yield (Run(f"{number:>7,} "), Run(rule.code, style_of(rule.severity)), Run(" "), *quoted(rule.name))


def read_words(totals: CheckTotals) -> Line:
    """The number of traces and files read."""
    read = f"{counted(totals.traces, 'trace')} in {counted(totals.files - totals.refused, 'file')}: "
    return (Run(read, Style.STRONG),)


def found_words(totals: CheckTotals) -> Line:
    """The numbers of errors, warnings, infos and broken chains, or a message that there are none, or no new ones."""
    runs: list[Run] = []
    for severity in Severity:
        if number := totals.of(severity):
            many = "infos" if severity is Severity.INFO else ""
            runs += (Run(", " if runs else ""), Run(counted(number, severity.value, many), style_of(severity)))
    if totals.broken:
        runs += (Run(", " if runs else ""), Run(counted(totals.broken, "broken chain"), Style.ERROR))
    if runs:
        return tuple(runs)
    if not totals.traces:
        return (Run("nothing was inspected", Style.WARNING),)
    return (Run("✔ nothing new is wrong" if totals.known else "✔ nothing is wrong", Style.OK),)


def in_file(path: str, record: str) -> str:
    """A position in a file, in the form that editors understand if the record is a line."""
    line = _LINE.fullmatch(record)
    where = line[1] if line else record
    return visible_line(f"{path}:{where}" if where else path)


class CheckJson:
    """Writes `{"files", "diagnostics", "broken_chains", "totals"}` at the end; until then the data is on disk."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._files, self._diagnostics, self._broken = JsonArray(), JsonArray(), JsonArray()

    def trace(self, trace: CheckedTrace) -> None:
        """Add its diagnostics to `diagnostics`, and its break to `broken_chains`."""
        for checked in trace.diagnostics:
            self._diagnostics.add(checked_object(checked))
        if trace.broken is not None and trace.broken_chain is not None:
            self._broken.add(broken_object(trace.broken, trace.broken_chain))

    def unread(self, unread: UnreadRecord) -> None:
        """Add it to `diagnostics`."""
        self._diagnostics.add(unread_object(unread))

    def file(self, file: CheckedFile) -> None:
        """Add it to `files`."""
        self._files.add(file_object(file))

    def close(self, totals: CheckTotals) -> None:
        """Write everything."""
        self._out.write('{"files": ')
        self._files.write_to(self._out)
        self._out.write(', "diagnostics": ')
        self._diagnostics.write_to(self._out)
        if totals.judges_chains:
            self._out.write(', "broken_chains": ')
            self._broken.write_to(self._out)
        self._broken.close()
        self._out.write(f', "totals": {write_json(totals_object(totals))}}}\n')


def checked_object(checked: CheckedDiagnostic) -> CheckedDiagnosticJson:
    """A diagnostic with its position; `path` is the file's, `path_in_arguments` a JSON Pointer or null.

    Later diagnostics of the same cause are in `related`, each with its own position, `path_in_arguments` and
    `fingerprint`.
    """
    shown = _placed_object(checked, checked.shown)
    more = [_placed_object(diagnostic, diagnostic.diagnostic) for diagnostic in checked.more]
    members = dict[str, object](shown)
    related = [*shown.get("related", []), *more]
    del members["related"]  # which comes last
    origin = {"path": checked.path, "record": checked.record, "trace": checked.trace}
    return cast("CheckedDiagnosticJson", {**origin, **members, "related": related})


def broken_object(broken: Break, checked: CheckedDiagnostic) -> BrokenChainJson:
    """A broken chain: its step, its reason, and the position of the failed call or of its error, as in a diagnostic."""
    location = checked.diagnostic.location
    line, column = checked.lines.position(location.range.start)
    return {
        "path": checked.path,
        "record": checked.record,
        "trace": checked.trace,
        "step": broken.step,
        "tool": broken.tool,
        "outcome": broken.outcome.value,
        "reaction": broken.reaction.value if broken.reaction is not None else None,
        "turn": location.turn,
        "part": location.part,
        "code": broken.code,
        "start": location.range.start,
        "end": location.range.end,
        "line": line,
        "column": column,
        "message": broken.message,
        "fingerprint": checked.fingerprint,
    }


def _placed_object(checked: CheckedDiagnostic, diagnostic: Diagnostic) -> RelatedJson:
    """A diagnostic with its place and fingerprint; the path in its arguments has another name here."""
    location = diagnostic.location
    members = dict[str, object](diagnostic_object(diagnostic, checked.lines))
    members["path_in_arguments"] = members.pop("path")
    placed = {"turn": location.turn, "part": location.part, **members, "fingerprint": checked.fingerprint}
    return cast("RelatedJson", placed)


def unread_object(unread: UnreadRecord) -> CheckedDiagnosticJson:
    """The same keys for an unreadable record: `turn` and `part` are null, `line` and `column` are the file's.

    `start` and `end` refer to the record's text.
    """
    fault, position = unread.fault, unread.position
    return {
        "path": unread.path,
        "record": unread.record,
        "trace": "",
        "turn": None,
        "part": None,
        "code": fault.rule.code,
        "name": fault.rule.name,
        "severity": fault.rule.severity.value,
        "start": fault.range.start,
        "end": fault.range.end,
        "line": position.line if position is not None else None,
        "column": position.column if position is not None else None,
        "message": fault.message,
        "hint": fault.hint,
        "fix": None,
        "call": None,
        "layer": None,
        "owner": None,
        "against": None,
        "path_in_arguments": None,
        "fingerprint": unread.fingerprint,
        "related": [],
    }


def file_object(file: CheckedFile) -> CheckedFileJson:
    """The result of a file; `skipped` counts records, `skipped_records` are the first of them."""
    return {
        "path": file.path,
        "source": file.source,
        "refused": file.refused,
        "traces": file.traces,
        "skipped": file.skipped,
        "skipped_records": [{"record": skipped.record, "reason": skipped.reason} for skipped in file.first_skipped],
        "diagnostics": dict(sorted(file.diagnostics.items())),
        "known": file.known,
    }


def totals_object(totals: CheckTotals) -> LintTotalsJson:
    """The totals of all files; without `broken_chains` if chains are not judged."""
    value: LintTotalsJson = {
        "files": totals.files,
        "refused": totals.refused,
        "traces": totals.traces,
        "skipped": totals.skipped,
        "errors": totals.of(Severity.ERROR),
        "warnings": totals.of(Severity.WARNING),
        "infos": totals.of(Severity.INFO),
        "known": totals.known,
        "gone": totals.gone,
        "diagnostics": dict(sorted(totals.diagnostics.items())),
    }
    if not totals.judges_chains:
        return value
    judged: CheckTotalsJson = {**value, "broken_chains": totals.broken}
    return judged


def text_spool() -> TextIO:
    """A file without a name for a text that is written out later; up to 8 MiB are in memory."""
    return cast("TextIO", tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, "w+", encoding="utf-8", newline="\n"))


def copy_spool(spool: TextIO, out: TextIO) -> None:
    """Write the text of a spool to `out`, and delete it."""
    with spool:
        spool.seek(0)
        shutil.copyfileobj(spool, out)


class JsonArray:
    """A JSON array that is kept on disk beyond 8 MiB."""

    def __init__(self) -> None:
        self._spool = text_spool()
        self._begun = False

    def add(self, value: Mapping[str, object]) -> None:
        """Add an element."""
        self._spool.write((",\n" if self._begun else "\n") + write_json(value))
        self._begun = True

    def write_to(self, out: TextIO) -> None:
        """Write the array, one element per line, and close it."""
        out.write("[")
        copy_spool(self._spool, out)
        out.write("\n]" if self._begun else "]")

    def close(self) -> None:
        """Delete the data; nothing may be added or written afterwards."""
        self._spool.close()
