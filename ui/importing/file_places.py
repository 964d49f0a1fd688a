"""The files that paths stand for: folders are walked, patterns matched."""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from inspector.importers.together import put_together
from ui.importing.placed_file import PlacedFile


def find_files(paths: Iterable[str]) -> Iterator[PlacedFile]:
    """The files that `paths` name, those of a folder sorted, hidden ones left out.

    A path that is not there may be a pattern (`logs/**/*.jsonl`): it stands for the files that match, or for itself
    where none does. A file counts as walked where only a folder was named or matched.
    """
    for path in paths:
        if Path(path).is_dir():
            yield from (PlacedFile(file, is_walked=True) for file in _walked(path))
        elif glob.has_magic(path) and not os.path.lexists(path):
            matching = _matching(path)
            yield from (PlacedFile(file, is_walked=matching[file]) for file in sorted(matching))
            if not matching:
                yield PlacedFile(path)
        else:
            yield PlacedFile(path)


def files_below(paths: Iterable[str]) -> Iterator[str]:
    """The paths of the files that `paths` name; see `find_files`."""
    return (file.path for file in find_files(paths))


def files_to_read(paths: Iterable[str], source: str | None = None) -> list[PlacedFile]:
    """Files as they are read: those that are one log together. `source` is what the user said that every file is."""
    return [PlacedFile(group[0], with_it=group[1:]) for group in put_together(list(paths), source)]


def _matching(pattern: str) -> dict[str, bool]:
    """The files that match, and those below folders that do; whether each was found only below a folder."""
    walked: dict[str, bool] = {}
    for path in glob.iglob(pattern, recursive=True):  # noqa: PTH207  # Path takes no absolute pattern
        if Path(path).is_dir():
            walked |= {file: True for file in _walked(path) if file not in walked}
        else:
            walked[path] = False
    return walked


def _walked(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if not name.startswith("."))  # noqa: PTH118  # Path would drop `./`
