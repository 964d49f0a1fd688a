"""Small files of one gateway that are read as one log: a session's requests lie in many of them.

LiteLLM puts each request into a bucket as an object of its own, and most logs are cut at midnight.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, cast

from inspector.errors import UnreadableFileError
from inspector.importers.reading import read_source
from inspector.importers.registry import importers
from inspector.importers.source import Importer, Skipped, SourceFile
from inspector.importers.trace_memory import bounded
from inspector.model import Trace

MAX_FILE_BYTES = 8 << 20
"""A longer file is read by itself."""

MAX_TOGETHER_BYTES = 64 << 20
"""How much is read as one log, as it lies on the disk: memory grows with it."""


class ReadsTogether(Importer, Protocol):
    """An importer that finds sessions across files."""

    def read_together(self, files: Sequence[SourceFile]) -> Iterator[Trace | Skipped]:
        """The traces of all files, each saying where it comes from, and the records that gave none."""
        ...


def put_together(paths: Sequence[str], source: str | None = None) -> list[tuple[str, ...]]:
    """The files in groups, each to be read as one; most are alone in theirs. The order of first files stays.

    Files of one source follow each other in a group until it has `MAX_TOGETHER_BYTES`. `source` is what the user said
    that every file is. A file that cannot be read is alone.
    """
    groups: list[list[str]] = []
    growing: dict[str, tuple[list[str], int]] = {}
    for path in paths:
        size = _size(path)
        name = _source_of(path, source) if len(paths) > 1 and 0 < size <= MAX_FILE_BYTES else ""
        group, held = growing.get(name, ([], 0))
        if not name or not group or held + size > MAX_TOGETHER_BYTES:
            group, held = [], 0
            groups.append(group)
        group.append(path)
        if name:
            growing[name] = (group, held + size)
    return [tuple(group) for group in groups]


def read_together(paths: Sequence[str], source: str) -> Iterator[Trace | Skipped]:
    """The traces of a group, and the records that gave none; `source` is what its first file is.

    UnreadableFileError where a file fails on the way.
    """
    try:
        for found in _by_name(source).read_together([SourceFile(path) for path in paths]):
            yield found if isinstance(found, Skipped) else bounded(found)
    except OSError as error:
        raise UnreadableFileError(f"{paths[0]} and those read with it: {error.strerror or error}") from error


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return 0


def _source_of(path: str, source: str | None) -> str:
    """The source of a file that is read together with others; `""` for any other."""
    try:
        name = read_source(path, source).source
    except UnreadableFileError:
        return ""
    return name if any(one.name == name and hasattr(one, "read_together") for one in importers()) else ""


def _by_name(source: str) -> ReadsTogether:
    found = next(one for one in importers() if one.name == source and hasattr(one, "read_together"))
    return cast("ReadsTogether", found)
