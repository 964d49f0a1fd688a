"""Rows of cells in columns that line up, within a width."""

from collections.abc import Iterator, Sequence

from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded, right_aligned, width_of
from ui.views.wording import wrapped

_GAP = "  "


def table_lines(
    rows: Sequence[Sequence[Line]],
    *,
    width: int,
    heads: Sequence[str] = (),
    numbers: Sequence[int] = (),
    widest: int = 1_000,
) -> Iterator[Line]:
    """The lines of a table; the last column takes what room is left and goes on below where that is too little.

    `numbers` are the indices of columns that are set flush right; no other column but the last is wider than `widest`.
    """
    titles = [(Run(head, Style.DIM),) for head in heads]
    everything = [*([titles] if titles else []), *rows]
    if not everything:
        return
    count = len(everything[0])
    widths = [min(max(width_of(row[index]) for row in everything), widest) for index in range(count - 1)]
    left = max(width - sum(widths) - len(_GAP) * (count - 1), 16)
    for row in everything:
        lead: list[Run] = []
        for index, cell in enumerate(row[:-1]):
            lead += right_aligned(cell, widths[index]) if index in numbers else padded(cell, widths[index])
            lead.append(Run(_GAP))
        for number, line in enumerate(wrapped(row[-1], left)):
            indent: Line = (Run(" " * width_of(lead)),)
            yield clipped((*(indent if number else lead), *line), width)
