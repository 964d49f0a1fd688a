"""Completes paths as they are typed."""

import os
from collections.abc import Iterator
from pathlib import Path

_MOST = 200
_LOOKED_AT = 5_000


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


def _entries(place: Path, begun: str) -> Iterator[str]:
    try:
        with os.scandir(place) as entries:
            for _, entry in zip(range(_LOOKED_AT), entries, strict=False):
                if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith(".")):
                    yield f"{entry.name}/" if entry.is_dir() else entry.name
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return
