"""Styled runs of text, and lines made of them: what every view gives and every face places."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ui.views.cells import cell_width, fitting
from ui.views.palette import Style


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of one line and what it means; `text` holds nothing that a terminal would obey."""

    text: str
    style: Style = Style.PLAIN


Line: TypeAlias = tuple[Run, ...]
"""One line of a screen, without its line feed."""


def plain(line: Iterable[Run]) -> str:
    """A line's text alone."""
    return "".join(run.text for run in line)


def width_of(line: Iterable[Run]) -> int:
    """How many cells of a screen a line takes."""
    return sum(cell_width(run.text) for run in line)


def clipped(line: Sequence[Run], width: int) -> Line:
    """A line in at most `width` cells; `…` stands for what did not fit."""
    if width_of(line) <= width:
        return tuple(line)
    kept: list[Run] = []
    room = max(width - 1, 0)
    for run in line:
        text = run.text[: fitting(run.text, room)]
        kept.append(Run(text, run.style))
        room -= cell_width(text)
        if text != run.text:
            break
    return (*kept, Run("…", Style.DIM)) if width > 0 else ()


def padded(line: Sequence[Run], width: int) -> Line:
    """A line in exactly `width` cells: clipped, or with blanks behind it."""
    fitted = clipped(line, width)
    missing = width - width_of(fitted)
    return (*fitted, Run(" " * missing)) if missing > 0 else fitted


def right_aligned(line: Sequence[Run], width: int) -> Line:
    """A line in exactly `width` cells: clipped, or with blanks before it."""
    fitted = clipped(line, width)
    missing = width - width_of(fitted)
    return (Run(" " * missing), *fitted) if missing > 0 else fitted
