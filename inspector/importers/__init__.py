"""Log files of other tools, one source to a file, recognised by their content."""

from inspector.importers.reading import SourceReading, read_source
from inspector.importers.registry import ENTRY_POINT_GROUP, importers, source_names
from inspector.importers.source import FileSample, Importer, Skipped, SourceFile

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
