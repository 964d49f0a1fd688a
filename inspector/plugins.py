"""The plug-ins of other packages, found by the entry points that they declare."""

import os
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_FACTS = (".dist-info", ".egg-info")  # how the folders end in which installed packages are described


def entry_points_of(group: str) -> "Iterable[EntryPoint]":
    """The entry points of a group that installed packages declare.

    `importlib.metadata` knows them, and takes longer to load than a short text takes to inspect. It is loaded only
    where a package may declare the group: where a folder of `sys.path` describes one that does, or something else than
    such folders has packages.
    """
    if not _may_be_declared(group):
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415  # 20 ms

    return entry_points(group=group)


def _may_be_declared(group: str) -> bool:
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(_may_declare(folder or ".", group.encode()) for folder in sys.path)


def _may_declare(folder: str, group: bytes) -> bool:
    try:
        with os.scandir(folder) as entries:
            described = [entry.path for entry in entries if entry.name.endswith(_FACTS)]
    except FileNotFoundError:
        return False
    except OSError:  # an archive of packages, say
        return True
    for path in described:
        try:
            with open(f"{path}/entry_points.txt", "rb") as stream:  # noqa: PTH123  # pathlib takes a third of the time
                if group in stream.read():
                    return True
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False
