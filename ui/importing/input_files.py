"""The files that paths refer to: folders are walked, patterns matched."""

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, structs

from weaklink.inspector.dataset.data_files import find_set_files
from weaklink.inspector.importers.held_content import FileContent, HeldContent
from weaklink.inspector.importers.reading import Recognition, SourceRecords, group_files, read_source
from weaklink.inspector.importers.source import Numbering, Skipped, SourceFile
from weaklink.inspector.model import Trace

_HEAD_BYTES = 4_096
_BESIDE_A_DATABASE = ("-wal", "-shm", "-journal")  # SQLite's own files, which are read with their database
_SAMPLE_SUFFIXES = (".jsonl", ".json", ".sse", ".txt")


class InputFile(Struct, frozen=True):
    """A file to read: its path, its name for the user if that is different, and how much of it to read.

    `size_bytes` is None if all of it is read. `with_it` are further files that are read with it as one log. `is_walked`
    means that the user named a folder, not the file. `content` is the content of a stream, which is not a file: then
    `path` only identifies sessions, and only this process can read it. `numbering` gives the record numbers if this is
    a part of a larger file. `is_grown` means that it begins with all that was imported from it before: what it says now
    is newer. `recognised` is its source, if that is known already.
    """

    path: str
    called: str | None = None
    size_bytes: int | None = None
    with_it: tuple[str, ...] = ()
    is_walked: bool = False
    content: FileContent | None = None
    numbering: Numbering | None = None
    is_grown: bool = False
    recognised: Recognition | None = None

    @property
    def name(self) -> str:
        """The file's name in reports."""
        return self.path if self.called is None else self.called

    @property
    def is_readable(self) -> bool:
        """Whether the current user may read it."""
        return self.content is not None or os.access(self.path, os.R_OK)

    @property
    def source_file(self) -> SourceFile:
        """The file for importers, without the files in `with_it`."""
        return SourceFile(self.path, self.name, self.size_bytes, self.content, self.numbering)


@contextmanager
def held_file(stream: BinaryIO, called: str, name: str) -> Iterator[InputFile]:
    """A stream's content as a file that reports call `called`; `name` is its file name. A context manager.

    The folder name is derived from the beginning of the stream. Some sources identify a session by its file and folder:
    two logs must not look like one, and a log that has grown must keep its identity.
    """
    with HeldContent(stream) as content:
        with content.open() as copy:
            folder = hashlib.sha256(copy.read(_HEAD_BYTES)).hexdigest()[:16]
        yield InputFile(f"{folder}/{name}", called, content=content)


def read_input(file: InputFile, source: str | None) -> SourceRecords:
    """Read the file alone; see `read_source`."""
    numbering = file.numbering
    reading = read_source(
        file.path,
        source,
        name=file.name,
        size_bytes=file.size_bytes,
        content=file.content,
        numbering=numbering,
        recognised=file.recognised,
    )
    if numbering is None or not numbering.has_head:
        return reading
    return structs.replace(reading, records=_without_head(reading.records, f"{numbering.unit} 1"))


def _without_head(records: Iterable[Trace | Skipped], head: str) -> Iterator[Trace | Skipped]:
    """The records of a block, without the one of the file's first line."""
    for record in records:
        if (record.record if isinstance(record, Skipped) else record.provenance.record) != head:
            yield record


def find_files(paths: Iterable[str]) -> Iterator[InputFile]:
    """The files that `paths` name, each once; the files of a folder are sorted, without hidden ones and SQLite's logs.

    A path that does not exist may be a pattern (`logs/**/*.jsonl`): it means the matching files, or itself if none
    match. A folder of training data that lists its files means these files (see `find_data_files`). A file counts as
    walked if only its folder was named or matched. A link is another file than what it links to.
    """
    paths = list(paths)
    named = {_absolute(path) for path in paths if len(paths) > 1 and not Path(path).is_dir()}
    before: set[str] = set()
    for file in (file for path in paths for file in _files_of(path)):
        absolute = _absolute(file.path)
        if absolute not in before:
            before.add(absolute)
            yield structs.replace(file, is_walked=file.is_walked and absolute not in named)


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  # links stay links


def _files_of(path: str) -> Iterator[InputFile]:
    if (files := find_set_files(path)) is not None:
        yield from (InputFile(file, is_walked=True) for file in files)
    elif Path(path).is_dir():
        yield from (InputFile(file, is_walked=True) for file in _walked(path))
    elif glob.has_magic(path) and not os.path.lexists(path):
        matching = _matching(path)
        yield from (InputFile(file, is_walked=matching[file]) for file in sorted(matching))
        if not matching:
            yield InputFile(path)
    else:
        yield InputFile(path)


def files_below(paths: Iterable[str]) -> Iterator[str]:
    """The paths of the files that `paths` name; see `find_files`."""
    return (file.path for file in find_files(paths))


def files_to_read(paths: Iterable[str], source: str | None = None) -> list[InputFile]:
    """Files grouped for reading: those that form one log together. `source` is the source that the user named."""
    return [
        InputFile(group.paths[0], with_it=group.paths[1:], recognised=group.recognised)
        for group in group_files(list(paths), source)
    ]


def _matching(pattern: str) -> dict[str, bool]:
    """The matching files, and those in matching folders; the value is True if a file was found only in a folder."""
    walked: dict[str, bool] = {}
    for path in glob.iglob(pattern, recursive=True):  # noqa: PTH207  # Path takes no absolute pattern
        if Path(path).is_dir():
            walked |= {file: True for file in _walked(path) if file not in walked}
        else:
            walked[path] = False
    return walked


def _walked(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        beside = {f"{name}{suffix}" for name in files for suffix in _BESIDE_A_DATABASE}
        names = sorted(name for name in files if not name.startswith(".") and name not in beside)
        yield from (os.path.join(parent, name) for name in names)  # noqa: PTH118  # Path would drop `./`


@contextmanager
def sample_files() -> Iterator[list[str]]:
    """The paths of the bundled sample traces, the whole sessions of agents last; valid until the block ends.

    What is imported last is on top of a list of the newest.
    """
    with resources.as_file(resources.files("weaklink.sample_traces")) as folder:
        paths = [path for path in files_below([str(folder)]) if path.endswith(_SAMPLE_SUFFIXES)]
        yield sorted(paths, key=lambda path: Path(path).name.startswith("agent-"))
