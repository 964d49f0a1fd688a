"""What importers take and give: a file of some source, a sample of it, traces, and records that are no trace."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from inspector.importers.compression import open_unpacked, packing_of
from inspector.importers.held_content import FileContent, HeldContent
from inspector.model import Json, Trace
from inspector.scanning import lazy_pattern
from inspector.text import decode

JsonObject: TypeAlias = dict[str, Json]

HEAD_BYTES = 65_536
"""How much of a file's beginning a sample shows."""


_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+://")
_FILE_URL = "file://"


def is_url(path: str) -> bool:
    """Whether a path names a store by its scheme."""
    return _URL.match(path) is not None


def local_path(path: str) -> str:
    """The plain path of a `file://` URL; anything else as it is."""
    return unquote(path[path.find("/", len(_FILE_URL)) :]) if path.startswith(_FILE_URL) else path


class Skipped(Struct, frozen=True):
    """A record that gave no trace: its place in the file (`line 12`, `entry 3`) and why, in words.

    `offset` is where in the record's text the fault is, in code points. `is_irrelevant` is True where the record was
    read and has nothing to inspect, as a request to something other than a model; False means that something was not
    read. `file` is the name of the file where several were read as one log. `start` is where the record begins, in
    bytes of the unpacked content, None where that is not known or `record` is the number of a line or an element.
    """

    record: str
    reason: str
    offset: int = 0
    is_irrelevant: bool = False
    file: str = ""
    start: int | None = None


class Numbering(Struct, frozen=True):
    """How the records of a block are numbered: `unit` is their name, `first` the number of the first of them.

    `has_head` says that the content begins with the first record of the file, which is not one of the block.
    """

    unit: str
    first: int
    has_head: bool

    def number(self, number: int) -> int:
        """The number in the file of a record of the content, which counts from 1."""
        if self.has_head and number == 1:
            return 1
        return self.first + number - 1 - self.has_head

    def position(self, number: int) -> int:
        """The other way round: where in the content a record of the block is, from 1."""
        return number - self.first + 1 + self.has_head


class SourceFile:
    """A plain file on the disk, given by its user as `path`; gzip and zstd are unpacked as it is read.

    `name` is what its user calls it, the path where nothing else is said. Of a file that is still written only the
    first `size_bytes` count, where they are given. With `content` the bytes are those, and `path` is only the place
    that sessions are known by. `numbering` says which records these are of a larger file. `sha256` is that of the file
    before it is unpacked, in hexadecimal. OSError where the
    file cannot be read.
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
        """How many bytes there are before anything is unpacked."""
        return self.path.stat().st_size if self.content is None else self.content.size_bytes

    @cached_property
    def packing(self) -> tuple[str, ...]:
        """The compressions around the content, outermost first."""
        return packing_of(self.open_stored, self.stored_bytes)

    @property
    def is_whole_on_disk(self) -> bool:
        """Whether the file on the disk is the content: neither compressed, nor only a part of it."""
        if self.content is not None or self.packing:
            return False
        return self.size_bytes is None or self.path.stat().st_size <= self.size_bytes

    def open(self) -> BufferedReader:
        """The content's bytes from the beginning, as often as wanted; DamagedDataError where unpacking ends early."""
        return open_unpacked(self.open_stored, self.packing, self.stored_bytes, self.size_bytes)

    @contextmanager
    def open_seekable(self) -> Iterator[BinaryIO]:
        """The same as a stream that can seek, for archives; what is unpacked is held as `HeldContent` meanwhile."""
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
        """The first bytes of the content: `HEAD_BYTES`, or all where there are fewer."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    @cached_property
    def sha256(self) -> str:
        """Read once, when first asked for."""
        with self.open_stored() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


class FileSample:
    """What an importer judges a file by: its first bytes, its first rows, and, if need be, all of it.

    A file's name is no evidence. `rows` are the first records that are JSON objects, whether the file holds them as
    lines, as one array, or as documents; none where it holds no JSON.
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
        """The first rows, at least one where there is any; read when first asked for."""
        return tuple(self._rows)


class Importer(Protocol):
    """Reads the files of one source.

    `recognises` gives how sure it is, from 0 (not mine) to 1: 1 for a signature (magic bytes, a version key), 0.9 for
    keys that no other source has, 0.5 for a shape that others share, less for a mere resemblance. The surest importer
    reads the file. It never raises for what a file holds.

    `read` gives each trace, or why a record is none, as soon as it is read, in the file's order and the same each time.
    It need not fill in a trace's provenance beyond `record`, `source_version` and `warnings`: the frame adds source,
    file and hash where they are missing. It raises nothing for a record's faults; OSError may pass through.

    An importer may also have `signs`, a short phrase without a period on what it knows its files by, with the names of
    members in backticks (`rows with a `sessionId``): the report of an import gives it as the reason.
    """

    @property
    def name(self) -> str:
        """The source's name, as `--source` takes it."""
        ...

    def recognises(self, sample: FileSample) -> float:
        """How sure it is that the sample is of this source."""
        ...

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces of a file, and the records that gave none."""
        ...
