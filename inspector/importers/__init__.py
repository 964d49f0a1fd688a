"""Log files of other tools: one source per file, recognised by its content.

Names load when they are first used (PEP 562): a command that reads no file does not load every importer.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weaklink.inspector.importers.reading import SourceReading, read_source
    from weaklink.inspector.importers.registry import ENTRY_POINT_GROUP, importers, source_names
    from weaklink.inspector.importers.source import FileSample, Importer, Skipped, SourceFile

__all__ = [
    "ENTRY_POINT_GROUP",
    "FileSample",
    "Importer",
    "Skipped",
    "SourceFile",
    "SourceReading",
    "importers",
    "read_source",
    "source_names",
]

_HOMES = {
    "weaklink.inspector.importers.reading": ("SourceReading", "read_source"),
    "weaklink.inspector.importers.registry": ("ENTRY_POINT_GROUP", "importers", "source_names"),
    "weaklink.inspector.importers.source": ("FileSample", "Importer", "Skipped", "SourceFile"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def _attribute(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


if not TYPE_CHECKING:  # a type checker would accept any name as public
    __getattr__ = _attribute
