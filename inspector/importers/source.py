"""What importers take and return: a file of some source, a sample of it, traces, and records that contain no trace."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias, TypeVar
from urllib.parse import unquote

from msgspec import Struct

from weaklink.inspector.importers.compression import DamagedDataError, open_unpacked, packing_of
from weaklink.inspector.importers.held_content import FileContent, HeldContent
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import decode

JsonObject: TypeAlias = dict[str, Json]

HEAD_BYTES = 65_536
"""The number of bytes at the beginning of a file that a sample contains."""


_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+://")
_FILE_URL = "file://"


def is_url(path: str) -> bool:
    """Whether a path is a URL of a store, as its scheme shows."""
    return _URL.match(path) is not None


def folder_beside(path: str) -> str | None:
    """The folder whose files are read with a file: the events of OpenHands, the messages of an agent of Strands."""
    folder, name = os.path.split(path)
    beside = {"base_state.json": "events", "agent.json": "messages"}.get(name)
    return os.path.join(folder, beside) if beside is not None else None  # noqa: PTH118  # of thousands of paths


def local_path(path: str) -> str:
    """The plain path of a `file://` URL; any other path unchanged."""
    return unquote(path[path.find("/", len(_FILE_URL)) :]) if path.startswith(_FILE_URL) else path


class Skipped(Struct, frozen=True):
    """A record that contains no trace: its position in the file (`line 12`, `entry 3`) and the reason, in words.

    `offset` is the position of the fault in the record's text, in code points. `is_irrelevant` is True if the record
    was read and has nothing to inspect, such as a request to something other than a model; False if something was not
    read. `file` is the name of the file if several were read as one log. `start` is the position of the record's first
    byte in the unpacked content; None if it is unknown or `record` is the number of a line or an element.
    """

    record: str
    reason: str
    offset: int = 0
    is_irrelevant: bool = False
    file: str = ""
    start: int | None = None


Record = TypeVar("Record")


def until_damage(records: Iterable[Record]) -> Iterator[Record | Skipped]:
    """The records of a file; where its compressed data is damaged they end with a Skipped."""
    try:
        yield from records
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


class Numbering(Struct, frozen=True):
    """How the records of a block are numbered: `unit` is their name, `first` the number of the first record.

    `has_head` is True if the content begins with the first record of the file, which is not part of the block.
    """

    unit: str
    first: int
    has_head: bool

    def number(self, number: int) -> int:
        """The number in the file for a record's number in the content, which counts from 1."""
        if self.has_head and number == 1:
            return 1
        return self.first + number - 1 - self.has_head

    def position(self, number: int) -> int:
        """The inverse of `number`: a record's position in the content, from 1."""
        return number - self.first + 1 + self.has_head


class SourceFile:
    """A regular file on disk, at the `path` that the user gave; gzip and zstd are unpacked as it is read.

    `name` is what the user calls it, by default the path. `size_bytes` limits a file that is still being written to its
    first bytes. If `content` is given, its bytes are read, and `path` only identifies sessions. `numbering` is the
    position of these records in a larger file. `sha256` is the hash of the file before it is unpacked, in hexadecimal.
    OSError if the file cannot be read.
    """

    def __init__(
        self,
        path: str | Path,
        name: str | None = None,
        size_bytes: int | None = None,
        content: FileContent | None = None,
        numbering: Numbering | None = None,
    ) -> None:
        self.path = Path(path)
        self.name = str(path) if name is None else name
        self.size_bytes = size_bytes
        self.content = content
        self.numbering = numbering

    @property
    def stored_bytes(self) -> int:
        """The number of bytes before anything is unpacked."""
        return self.path.stat().st_size if self.content is None else self.content.size_bytes

    @cached_property
    def packing(self) -> tuple[str, ...]:
        """The compressions around the content, outermost first."""
        return packing_of(self.open_stored, self.stored_bytes)

    @property
    def is_whole_on_disk(self) -> bool:
        """Whether the file on disk is exactly the content: not compressed, and not only a part of it."""
        if self.content is not None or self.packing:
            return False
        return self.size_bytes is None or self.path.stat().st_size <= self.size_bytes

    def open(self) -> BufferedReader:
        """The content's bytes from the beginning, any number of times; DamagedDataError if unpacking ends early."""
        return open_unpacked(self.open_stored, self.packing, self.stored_bytes, self.size_bytes)

    @contextmanager
    def open_seekable(self) -> Iterator[BinaryIO]:
        """The same as a stream that can seek, for archives; unpacked bytes are kept as `HeldContent` until the end."""
        if not self.packing and (self.size_bytes is None or self.is_whole_on_disk):
            with self.open_stored() as stream:
                yield stream
            return
        with self.open() as stream, HeldContent(stream) as held, held.open() as copy:
            yield copy

    def open_stored(self) -> BufferedReader:
        """The bytes as they are stored, before anything is unpacked."""
        return self.path.open("rb") if self.content is None else self.content.open()

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the content: `HEAD_BYTES`, or all if there are fewer."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    @cached_property
    def sha256(self) -> str:
        """The hash of the stored bytes, computed on first use."""
        with self.open_stored() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


class FileSample:
    """What an importer recognises a file by: its first bytes, its first rows, and the whole file if necessary.

    A file's name is no evidence. `rows` are the first records that are JSON objects, whether the file contains them as
    lines, as one array, or as documents; empty if it contains no JSON.
    """

    def __init__(self, file: SourceFile, rows: Iterable[JsonObject] = ()) -> None:
        self.file = file
        self._rows = rows

    @property
    def head(self) -> bytes:
        """The content's first `HEAD_BYTES` bytes."""
        return self.file.head

    @cached_property
    def text(self) -> str:
        """The head as text."""
        return decode(self.head)

    @cached_property
    def rows(self) -> tuple[JsonObject, ...]:
        """The first rows, at least one if there is any; read on first use."""
        return tuple(self._rows)


class Importer(Protocol):
    """Reads the files of one source.

    `recognises` returns a confidence from 0 (another source) to 1: 1 for a signature (magic bytes, a version key), 0.9
    for keys that no other source has, 0.5 for a shape that others share, less for a mere resemblance. The importer with
    the highest confidence reads the file. It never raises because of a file's content.

    `read` yields each trace, or the reason why a record contains none, as soon as it is read, in the file's order and
    the same each time. Of a trace's provenance it only needs to set `record`, `source_version` and `warnings`: the
    caller adds source, file and hash if they are missing. It raises nothing for a record's faults; OSError may pass
    through.

    An importer may also have `signs`, a short phrase without a period on how it recognises its files, with the names of
    members in backticks (`rows with a `sessionId``): the report of an import shows it as the reason.
    """

    @property
    def name(self) -> str:
        """The source's name, as `--source` takes it."""
        ...

    def recognises(self, sample: FileSample) -> float:
        """The confidence that the sample is of this source."""
        ...

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces of a file, and the records that contain none."""
        ...
