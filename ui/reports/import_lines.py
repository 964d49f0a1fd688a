"""The report of an import for people."""

from collections.abc import Iterable, Iterator, Sequence

from ui.reports.import_report import Counts, FileReport
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.table import table_lines
from ui.views.visible import visible_line
from ui.views.wording import counted, quoted, wrapped

_MOST_SKIPPED = 5


def import_lines(files: Sequence[FileReport], *, width: int) -> Iterator[Line]:
    """What each file held, what was skipped or refused and why, and the sum."""
    read = [file for file in files if file.refused is None]
    heads = ("traces", "turns", "calls", "faults", "source", "file")
    yield from table_lines(
        [_row(file) for file in read], width=width, heads=heads if read else (), numbers=(0, 1, 2, 3)
    )
    yield from _recognised(read, width)
    for file in read:
        yield from _skipped(file, width)
    yield from _notes(read, width)
    for file in files:
        if file.refused is not None:
            why = file.refused.removeprefix(f"{file.path}: ")
            refused = (
                Run("✖ refused ", Style.ERROR),
                Run(visible_line(file.path), Style.STRONG),
                Run(": "),
                *quoted(why),
            )
            yield from wrapped(refused, width, indent=4)
    yield from wrapped(sum_line(files), width, indent=4)


def _row(file: FileReport) -> tuple[Line, ...]:
    counts = file.counts
    numbers = (counts.traces, counts.turns, counts.tool_calls, sum(counts.diagnostics.values()))
    return (
        *((Run(f"{number:,}"),) for number in numbers),
        (Run(file.source or ""),),
        (Run(visible_line(file.path), Style.STRONG),),
    )


def _skipped(file: FileReport, width: int) -> Iterator[Line]:
    name = visible_line(file.path)
    for skipped in file.skipped[:_MOST_SKIPPED]:
        said = (
            Run("▲ skipped ", Style.WARNING),
            Run(f"{name} {visible_line(skipped.record)}: "),
            *quoted(skipped.reason),
        )
        yield from wrapped(said, width, indent=4)
    if len(file.skipped) > _MOST_SKIPPED:
        more = counted(len(file.skipped) - _MOST_SKIPPED, "more record")
        yield (Run("▲ skipped ", Style.WARNING), Run(f"{name}: {more} (--json lists them all)"))


def _recognised(files: Sequence[FileReport], width: int) -> Iterator[Line]:
    """Why the files were taken for what they were."""
    yield from _said_once("· source ", ((file.why, file) for file in files if file.why), width)


def _notes(files: Sequence[FileReport], width: int) -> Iterator[Line]:
    """What the sources did not keep."""
    yield from _said_once("· note ", ((warning, file) for file in files for warning in file.warnings), width)


def _said_once(kind: str, said: Iterable[tuple[str, FileReport]], width: int) -> Iterator[Line]:
    """Each sentence once, for all the files of which it is true."""
    concerned: dict[str, list[FileReport]] = {}
    for sentence, file in said:
        concerned.setdefault(sentence, []).append(file)
    for sentence, these in concerned.items():
        whose = visible_line(these[0].path) if len(these) == 1 else counted(len(these), "file")
        yield from wrapped((Run(kind, Style.INFO), Run(f"{whose}: "), *quoted(sentence)), width, indent=4)


def sum_line(files: Sequence[FileReport]) -> Line:
    """How much all files held together, in one line."""
    total = sum((file.counts for file in files), Counts())
    refused = sum(file.refused is not None for file in files)
    skipped = sum(len(file.skipped) for file in files)
    said = [
        counted(total.traces, "trace") + _known(files),
        counted(total.turns, "turn"),
        counted(total.tool_calls, "call"),
        counted(sum(total.diagnostics.values()), "fault"),
    ]
    said += [counted(skipped, "record") + " skipped"] if skipped else []
    said += [counted(refused, "file") + " refused"] if refused else []
    read = len(files) - refused
    return (Run(f"{counted(read, 'file')} read: ", Style.STRONG), Run(", ".join(said)))


def _known(files: Sequence[FileReport]) -> str:
    unchanged, replaced = sum(file.unchanged for file in files), sum(file.replaced for file in files)
    said = [f"{unchanged:,} known already"] if unchanged else []
    said += [f"{replaced:,} grown"] if replaced else []
    redacted = sum(file.redacted for file in files)
    said += [f"{counted(redacted, 'secret')} redacted"] if redacted else []
    return f" ({', '.join(said)})" if said else ""
