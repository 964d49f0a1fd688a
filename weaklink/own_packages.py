"""Imports weaklink's packages `inspector`, `storage` and `ui`, and never other packages with those names.

The names are common words: a user's project may have its own `inspector/` or `storage.py`, and Python imports whichever
comes first on the import path. One process cannot load two packages with the same name, so a program of the user keeps
its own package, and weaklink raises NameCollisionError with that package's path. The command `weaklink` has its own
process: it moves the other folders to the end of the import path.
"""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120  # pathlib would triple the cost of `import weaklink`
"""The folder that contains all of weaklink's packages."""

PACKAGES = ("inspector", "storage", "ui", "sample_traces")


class NameCollisionError(ImportError):
    """Another module has the name of one of weaklink's packages and comes first on the import path.

    `name` is the name, `path` the file or folder of the other module; None if weaklink's own package is missing.
    """


def import_own(name: str) -> ModuleType:
    """Import weaklink's package `name` and return it.

    Raises NameCollisionError if another module has that name, or if no module has it; nothing is imported then.
    """
    require_own(name)
    return import_module(name)


def require_own(name: str) -> None:
    """Raise NameCollisionError if `import name` would find another module than weaklink's package, or none."""
    found = _location(name)
    if found is None:
        raise NameCollisionError(f"weaklink's package `{name}` is missing from {HOME}: reinstall weaklink.", name=name)
    if not _is_own(found, name):
        raise NameCollisionError(
            f"weaklink needs its package `{name}`, but `import {name}` finds {found}, which is not weaklink's: rename "
            f"that module, or remove its folder from the import path (the command `weaklink` is not affected).",
            name=name,
            path=found,
        )


def prefer_own_packages() -> None:
    """Move folders that hide weaklink's packages to the end of `sys.path`, so that weaklink's are found first."""
    for name in PACKAGES:
        for entry in list(sys.path):
            found = _location(name)
            if found is None or _is_own(found, name):
                break
            if os.path.realpath(entry) == os.path.dirname(_module_path(found)):  # noqa: PTH120  # as above
                sys.path.remove(entry)
                sys.path.append(entry)


def _location(name: str) -> str | None:
    """The file (of a namespace package, the folder) that `import name` loads or has loaded; None if there is none."""
    loaded = sys.modules.get(name)
    spec = loaded.__spec__ if loaded is not None else find_spec(name)
    if spec is None:
        return getattr(loaded, "__file__", None)
    return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


def _is_own(found: str, name: str) -> bool:
    return _module_path(found) == os.path.join(HOME, name)  # noqa: PTH118  # as above


def _module_path(found: str) -> str:
    """The path of a module's file without its suffix; of a package, its folder."""
    path = os.path.realpath(found)
    folder, file = os.path.split(path)
    return folder if file.startswith("__init__.") else os.path.splitext(path)[0]  # noqa: PTH122  # as above
