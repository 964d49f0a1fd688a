"""Bundles: of many things in one row of the tree, some at a time lie in a row of their own."""

from collections.abc import Callable, Iterator, Sequence

from inspector.diagnostics import Location
from ui.views.dissect.tree_row import TreeRow
from ui.views.palette import Style
from ui.views.run import Run

MOST_CHILDREN = 500
"""How many things lie in one row."""


def bundled(
    things: Sequence[int],
    key: tuple[str | int, ...],
    row: Callable[[tuple[str | int, ...], int], TreeRow],
    around: Callable[[Sequence[int]], Location],
) -> Iterator[TreeRow]:
    """The rows of numbered things that lie in the row `key`, in bundles where they are many.

    `row` makes one, given the key of the row around it; `around` is the place that some of them fill, asked for when
    somebody wants to know it; the things lie in the order of their places.
    """
    if len(things) <= MOST_CHILDREN:
        yield from (row(key, number) for number in things)
        return
    for start in range(0, len(things), MOST_CHILDREN):
        yield _bundle(things[start : start + MOST_CHILDREN], (*key, f"{start}…"), row, around)


def _bundle(
    some: Sequence[int],
    key: tuple[str | int, ...],
    row: Callable[[tuple[str | int, ...], int], TreeRow],
    around: Callable[[Sequence[int]], Location],
) -> TreeRow:
    label = (Run(f"{some[0] + 1:,} … {some[-1] + 1:,}", Style.DIM),)
    return TreeRow(key, label, lambda: around(some), grow=lambda: (row(key, number) for number in some))
