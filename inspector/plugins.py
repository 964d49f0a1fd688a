"""Finds the plug-ins of other packages by their entry points."""

import os
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_FACTS = (".dist-info", ".egg-info")  # suffixes of the folders with the metadata of installed packages


def entry_points_of(group: str) -> "Iterable[EntryPoint]":
    """The entry points of a group that installed packages declare.

    `importlib.metadata` takes longer to import than a short text takes to inspect. So it is imported only if a package
    may declare the group: if the metadata in a folder of `sys.path` names the group, or if packages may come from
    something other than such folders.
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
