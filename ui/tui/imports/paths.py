"""Completes paths as they are typed."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, width_of
from ui.views.visible import visible_line

_MOST = 200
_LOOKED_AT = 5_000
_GAP = 2


def completions(typed: str) -> list[str]:
    """The paths that begin as `typed` does, folders with `/` behind them and first; hidden ones where that is typed."""
    folder, _, begun = typed.rpartition("/")
    place = Path(f"{folder}/" if folder or typed.startswith("/") else ".").expanduser()
    lead = typed[: len(typed) - len(begun)]
    found = sorted(_entries(place, begun), key=lambda entry: (not entry.endswith("/"), entry))
    return [f"{lead}{entry}" for entry in found[:_MOST]]


def common_start(paths: list[str]) -> str:
    """What all of these paths, at least one, begin with."""
    first, last = min(paths), max(paths)
    shorter = min(len(first), len(last))
    return first[: next((at for at in range(shorter) if first[at] != last[at]), shorter)]


def names_in_rows(names: Sequence[str], width: int, rows: int) -> list[Line]:
    """As many names as fit into so many rows of `width` cells, and how many more there are."""
    cells = [clipped((Run(visible_line(name), Style.DIM),), width) for name in names]
    lines: list[Line] = [()]
    for number, cell in enumerate(cells):
        last = lines[-1]
        more = f"… {len(cells) - number:,} more"
        room = width - (_GAP + len(more) if len(lines) == rows and number + 1 < len(cells) else 0)
        if last and width_of(last) + _GAP + width_of(cell) > room:
            if len(lines) == rows:
                lines[-1] = clipped((*last, Run(" " * _GAP), Run(more, Style.DIM)), width)
                return lines
            lines.append(cell)
        else:
            lines[-1] = (*last, Run(" " * _GAP), *cell) if last else cell
    return lines


def _entries(place: Path, begun: str) -> Iterator[str]:
    try:
        with os.scandir(place) as entries:
            for _, entry in zip(range(_LOOKED_AT), entries, strict=False):
                if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith(".")):
                    yield f"{entry.name}/" if entry.is_dir() else entry.name
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return
