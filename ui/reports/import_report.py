"""The report of an import: counts of each file, skipped records with reasons, and totals, as JSON and as lines."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Role, Trace, Turn, TurnFlag
from weaklink.storage.saved import Saved
from weaklink.ui.json_types.database import CountsJson, ImportedFileJson, ImportJson, ImportTotalsJson
from weaklink.ui.views.styled_text import Line, Run, Style, counted, quoted, table_lines, visible_line, wrapped

_NOT_THE_MODELS = frozenset({TurnFlag.COPIED_CONTEXT, TurnFlag.DEMONSTRATION, TurnFlag.INJECTED, TurnFlag.SYNTHETIC})
IMPORT_HEADS = ("files", "traces", "turns", "calls", "faults", "source", "path")
IMPORT_NUMBERS = (0, 1, 2, 3, 4)
"""The columns of `IMPORT_HEADS` that hold numbers."""
_VARIABLE_TEXT = re.compile(r"`[^`]*`|\S*/\S*|\d[\d,.]*")


class Counts(Struct, frozen=True):
    """Counts of some traces. `requests` are generations, `tool_calls` the calls that the model made.

    `tools` counts the calls of each tool (`""` if the name is unreadable), `diagnostics` the faults of each code.
    """

    traces: int = 0
    requests: int = 0
    turns: int = 0
    tool_calls: int = 0
    tools: Mapping[str, int] = field(default_factory=dict)
    diagnostics: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.traces + other.traces,
            self.requests + other.requests,
            self.turns + other.turns,
            self.tool_calls + other.tool_calls,
            _sum(self.tools, other.tools),
            _sum(self.diagnostics, other.diagnostics),
        )


class FileReport(Struct, frozen=True):
    """The result of one file; if its format is not supported, `source` is None and `refused` is the reason.

    `why` is a sentence on how its source was recognised. Of its traces, `unchanged` were already in the database, and
    `replaced` replaced a shorter version; `saved` are their ids, in order. `redacted` counts the redacted secrets.
    """

    path: str
    source: str | None = None
    refused: str | None = None
    counts: Counts = Counts()
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    unchanged: int = 0
    replaced: int = 0
    redacted: int = 0
    why: str | None = None
    saved: tuple[Saved, ...] = ()


def counts_of(trace: Trace, inspection: Inspection) -> Counts:
    """The counts of one trace. A retry counts as a request; history that a request only repeats does not."""
    calls = ((part.turn, call.name or "") for part in inspection.parts for call in part.calls)
    return counts_from(trace, calls, Counter(diagnostic.rule.code for diagnostic in inspection.diagnostics))


def counts_from(trace: Trace, calls: Iterable[tuple[int, str]], codes: Mapping[str, int]) -> Counts:
    """The counts of a trace from stored data: the turn and name of each call, and the number of each code."""
    model_turns = {number for number, turn in enumerate(trace.turns, 1) if _is_the_models(turn)}
    names = [name for turn, name in calls if turn in model_turns]
    return Counts(
        traces=1,
        requests=sum(turn.generation is not None for turn in trace.turns if _is_the_models(turn)),
        turns=len(trace.turns),
        tool_calls=len(names),
        tools=Counter(names),
        diagnostics=codes,
    )


def report_object(files: Iterable[FileReport]) -> ImportJson:
    """The report of `weaklink import --json`; every key is always present."""
    listed = list(files)
    total = sum((file.counts for file in listed), Counts())
    totals: ImportTotalsJson = {
        "files": len(listed),
        "refused": sum(file.refused is not None for file in listed),
        **_counts_object(total),
        "skipped": sum(len(file.skipped) for file in listed),
        "redacted": sum(file.redacted for file in listed),
    }
    return {"files": [_file_object(file) for file in listed], "totals": totals}


def _file_object(file: FileReport) -> ImportedFileJson:
    return {
        "path": file.path,
        "source": file.source,
        "refused": file.refused,
        **_counts_object(file.counts),
        "skipped": [{"record": skipped.record, "reason": skipped.reason} for skipped in file.skipped],
        "warnings": list(file.warnings),
        "redacted": file.redacted,
        "why": file.why,
    }


def _counts_object(counts: Counts) -> CountsJson:
    return {
        "traces": counts.traces,
        "requests": counts.requests,
        "turns": counts.turns,
        "tool_calls": counts.tool_calls,
        "tools": dict(sorted(counts.tools.items())),
        "diagnostics": dict(sorted(counts.diagnostics.items())),
    }


def _is_the_models(turn: Turn) -> bool:
    return turn.role is Role.ASSISTANT and not turn.flags & _NOT_THE_MODELS


def _sum(counts: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    if not counts or not other:
        return counts or other
    return Counter(counts) + Counter(other)


def import_lines(
    files: Sequence[FileReport], *, width: int, every_file: bool = False, most_notes: int | None = None
) -> Iterator[Line]:
    """One line per folder and source with its totals, skipped and refused items grouped by reason, and the totals.

    With `every_file`, each file, skipped record and refused file has a separate line. At most `most_notes` notes on the
    sources are printed (None: all), then a line that refers to `--verbose`.
    """
    rows = import_rows(files, every_file=every_file)
    yield from table_lines(rows, width=width, heads=IMPORT_HEADS if rows else (), numbers=IMPORT_NUMBERS)
    for sentence in import_sentences(files, every_file=every_file, most_notes=most_notes):
        yield from wrapped(sentence, width, indent=4)


def import_rows(files: Sequence[FileReport], *, every_file: bool = False) -> list[tuple[Line, ...]]:
    """A row of the columns `IMPORT_HEADS` for each folder and source, or each file, that was read."""
    read = [file for file in files if file.refused is None]
    return [_row(group) for group in ([[file] for file in read] if every_file else _by_folder_and_source(read))]


def import_sentences(
    files: Sequence[FileReport], *, every_file: bool = False, most_notes: int | None = None
) -> Iterator[Line]:
    """What was skipped and refused, and why; notes on the sources; the totals."""
    read = [file for file in files if file.refused is None]
    skipped = [_Rejection(f"{file.path} {skipped.record}", skipped.reason) for file in read for skipped in file.skipped]
    refused = [_Rejection(file.path, file.refused.removeprefix(f"{file.path}: ")) for file in files if file.refused]
    for label, noun, rejections in (
        (Run("▲ skipped ", Style.WARNING), "record", skipped),
        (Run("✖ refused ", Style.ERROR), "file", refused),
    ):
        for group in [[rejection] for rejection in rejections] if every_file else _by_reason(rejections):
            yield (label, *_rejected(group, noun))
    named = _short_names(read)
    sources = ((file.why, file) for file in read if file.why)
    warnings = ((warning, file) for file in read for warning in file.warnings)
    notes = [*_grouped_notes("· source ", sources, named), *_grouped_notes("· note ", warnings, named)]
    yield from notes[:most_notes]
    if most_notes is not None and len(notes) > most_notes:
        more = counted(len(notes) - most_notes, "more note")
        yield (Run("· note ", Style.INFO), Run(f"{more} on the sources; --verbose prints all"))
    yield sum_line(files)


class _Rejection(Struct, frozen=True):
    """A record that was skipped or a file that was refused, and why."""

    where: str
    reason: str


def _by_folder_and_source(files: Sequence[FileReport]) -> list[list[FileReport]]:
    groups: dict[tuple[str, str | None], list[FileReport]] = {}
    for file in files:
        groups.setdefault((_folder(file.path), file.source), []).append(file)
    return list(groups.values())


def _folder(path: str) -> str:
    return path[: max(path.rfind("/"), path.rfind(os.sep)) + 1]


def _row(group: Sequence[FileReport]) -> tuple[Line, ...]:
    counts = sum((file.counts for file in group), Counts())
    numbers = (len(group), counts.traces, counts.turns, counts.tool_calls, sum(counts.diagnostics.values()))
    first = group[0]
    path = first.path if len(group) == 1 else _folder(first.path) or "./"
    return (
        *((Run(f"{number:,}"),) for number in numbers),
        (Run(first.source or ""),),
        (Run(visible_line(path), Style.STRONG),),
    )


def _by_reason(rejections: Sequence[_Rejection]) -> list[list[_Rejection]]:
    """Rejections in groups; reasons that differ only in numbers, paths and quoted text are equal."""
    groups: dict[str, list[_Rejection]] = {}
    for rejection in rejections:
        groups.setdefault(_VARIABLE_TEXT.sub("…", rejection.reason), []).append(rejection)
    return sorted(groups.values(), key=len, reverse=True)


def _rejected(group: Sequence[_Rejection], noun: str) -> Line:
    first = group[0]
    where = visible_line(first.where)
    if len(group) == 1:
        return (Run(where, Style.STRONG), Run(": "), *quoted(first.reason))
    return (Run(f"{counted(len(group), noun)}: ", Style.STRONG), Run(f"for example {where}: "), *quoted(first.reason))


def _short_names(files: Sequence[FileReport]) -> Mapping[str, str]:
    """The name of each file by its path: without its folders, which the rows of the table have, if no other has it."""
    names = {file.path: file.path.removeprefix(_folder(file.path)) for file in files}
    used = Counter(names.values())
    return {path: name if used[name] == 1 else path for path, name in names.items()}


def _grouped_notes(kind: str, notes: Iterable[tuple[str, FileReport]], named: Mapping[str, str]) -> Iterator[Line]:
    """Each note once, for all files that have it."""
    files_by_note: dict[str, list[FileReport]] = {}
    for sentence, file in notes:
        files_by_note.setdefault(sentence, []).append(file)
    for sentence, concerned in files_by_note.items():
        owner = visible_line(named[concerned[0].path]) if len(concerned) == 1 else counted(len(concerned), "file")
        yield (Run(kind, Style.INFO), Run(f"{owner}: "), *quoted(sentence))


def sum_line(files: Sequence[FileReport]) -> Line:
    """The totals of all files, in one line."""
    total = sum((file.counts for file in files), Counts())
    refused = sum(file.refused is not None for file in files)
    skipped = sum(len(file.skipped) for file in files)
    totals = [
        counted(total.traces, "trace") + _known(files),
        counted(total.turns, "turn"),
        counted(total.tool_calls, "call"),
        counted(sum(total.diagnostics.values()), "fault"),
    ]
    totals += [counted(skipped, "record") + " skipped"] if skipped else []
    totals += [counted(refused, "file") + " refused"] if refused else []
    read = len(files) - refused
    return (Run(f"{counted(read, 'file')} read: ", Style.STRONG), Run(", ".join(totals)))


def _known(files: Sequence[FileReport]) -> str:
    unchanged, replaced = sum(file.unchanged for file in files), sum(file.replaced for file in files)
    parts = [f"{unchanged:,} unchanged"] if unchanged else []
    parts += [f"{replaced:,} updated"] if replaced else []
    redacted = sum(file.redacted for file in files)
    parts += [f"{counted(redacted, 'secret')} redacted"] if redacted else []
    return f" ({', '.join(parts)})" if parts else ""
