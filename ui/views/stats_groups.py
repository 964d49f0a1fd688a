"""Groups of traces beside each other: one row a group, as many measures in a table as the width holds."""

from collections.abc import Iterator, Sequence

from inspector.chain.metrics import estimate
from inspector.chain.metrics_comparing import COMPARED
from inspector.chain.metrics_groups import GroupFigures
from inspector.chain.metrics_measures import MEASURES, Measure, MeasureKind
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded, right_aligned, width_of
from ui.views.stats_report import Statistics
from ui.views.stats_wording import bar, dim, key_title, value_text
from ui.views.wording import counted, wrapped

_ROOMY = 120
_AT_LEAST, _MOST = 12, 40  # rows
_GAP = "  "


def group_lines(found: Statistics, *, width: int, full: bool = False) -> Iterator[Line]:
    """The tables of the groups, those of the most traces first.

    Without `full` these are the measures that tell groups apart, of the groups large enough for an interval, or of a
    dozen where few are. What no group has is said in a last line.
    """
    shown = found.groups if full else _telling(found.groups, found.fewest)
    wanted = [one for one in MEASURES if full or one.name in COMPARED]
    measures = [one for one in wanted if any(group.tally(one.name).trials for group in shown)]
    lead = _lead(found, shown, width)
    columns = [_column(found, measure, shown, width) for measure in measures]
    for number, some in enumerate(_fitting(columns, width - sum(width_of(cell) for cell in lead[0]))):
        if number:
            yield ()
        for index, cells in enumerate(lead):
            row = (*cells, *(column[index] for column in some))
            yield clipped([run for cell in row for run in cell], width)
    yield from _left_out(found, len(found.groups) - len(shown), [one for one in wanted if one not in measures], width)


def _telling(groups: Sequence[GroupFigures], fewest: int) -> Sequence[GroupFigures]:
    large = sum(group.traces >= fewest for group in groups)
    return groups[: min(max(large, _AT_LEAST), _MOST)]


def _left_out(found: Statistics, groups: int, measures: Sequence[Measure], width: int) -> Iterator[Line]:
    missing = [f"{one.title} ({one.absent})" for one in measures if one.name in found.groups[0].tallies]
    if groups or missing:
        yield ()
    if groups:
        yield dim(f"and {counted(groups, 'smaller group')}, which --full shows")
    if missing:
        yield from wrapped(dim(f"not there in any of these groups: {', '.join(missing)}"), width)


def _lead(found: Statistics, groups: Sequence[GroupFigures], width: int) -> list[tuple[Line, ...]]:
    """The names of the groups and their traces, a row each under a head; every column is as wide in every row."""
    most = max(min(width - 34, width // 2) // len(found.by), 10)
    titles = [
        [key_title(key, value, found.prompts) for key, value in zip(found.by, group.keys, strict=True)]
        for group in groups
    ]
    columns: list[list[Line]] = []
    for at, key in enumerate(found.by):
        cells: list[Line] = [dim(key.value), *((Run(row[at], Style.STRONG),) for row in titles)]
        room = min(max(width_of(cell) for cell in cells), most)
        columns.append([padded(cell, room) for cell in cells])
    counts: list[Line] = [dim("traces"), *((Run(f"{group.traces:,}"),) for group in groups)]
    room = max(width_of(cell) for cell in counts)
    columns.append([(Run(_GAP), *right_aligned(cell, room)) for cell in counts])
    for column in columns[1:-1]:
        column[:] = [(Run(_GAP), *cell) for cell in column]
    return list(zip(*columns, strict=True))


def _column(found: Statistics, measure: Measure, groups: Sequence[GroupFigures], width: int) -> list[Line]:
    """One measure of every group: its bar where there is room, value, interval and count, under its title."""
    estimates = [estimate(measure, group.tally(measure.name), found.fewest) for group in groups]
    bars = 6 if width >= _ROOMY and measure.kind is not MeasureKind.MEAN else 0
    values = [value_text(one, found.fewest) for one in estimates]
    # Where it counts the traces, which stand beside it already, it is not said again.
    counts = [
        f" n={one.tally.trials:,}" if one.tally.trials not in (0, group.traces) else ""
        for one, group in zip(estimates, groups, strict=True)
    ]
    room = max(map(len, values))
    cells: list[Line] = [dim(measure.title)]
    for one, value, count in zip(estimates, values, counts, strict=True):
        drawn = f"{bar(one.value or 0.0, bars):{bars}} " if bars else ""
        style = Style.PLAIN if one.interval is not None else Style.DIM
        cells.append(
            (Run(drawn, Style.KEY), Run(f"{value:{room if any(counts) else 0}}", style), Run(count, Style.DIM))
        )
    widest = max(width_of(cell) for cell in cells)
    return [(Run(_GAP), *padded(cell, widest)) for cell in cells]


def _fitting(columns: Sequence[list[Line]], room: int) -> Iterator[Sequence[list[Line]]]:
    """The columns in as few tables as the room allows, at least one in each."""
    taken = 0
    some: list[list[Line]] = []
    for column in columns:
        needed = width_of(column[0])
        if some and taken + needed > room:
            yield some
            taken, some = 0, []
        some.append(column)
        taken += needed
    if some:
        yield some
