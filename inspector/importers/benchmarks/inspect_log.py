"""Logs of Inspect AI's evaluations: `.eval` archives and JSON documents.

One trace per sample, and one per sub-agent.

Logs: an archive has `_journal/start.json`, a member `samples/<id>_epoch_<n>.json` per sample, and, once the evaluation
has ended, `header.json` (Inspect, `log/_recorders/eval.py`). Version 3 may spread a sample over members of a folder:
its `sample.json`, and lists in `messages/`, `events/` and `attachments/` (`log/_recorders/chunked/format.py`). A JSON
log is one document with all samples; it is read whole, up to 64 MiB, and so is each sample of an archive.

Archives: `.eval` archives are ZIP files; each member is stored, deflated or compressed with zstd (method 93). Python's
`zipfile` supports zstd only from 3.14 on, loads a directory of any size into memory, and fails if the directory is
missing. A truncated archive has lost the directory at its end; this module reads its members one after another
(PKWARE's APPNOTE, 4.3). Members are returned as bytes; nothing is ever written under their names.
"""

import re
import struct
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, Protocol

from msgspec import Struct, structs

from weaklink.inspector.importers.benchmarks.inspect_sample import pooled_messages, read_sample
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.log_source import LogSource, traces_in_each_row
from weaklink.inspector.importers.records import Row, parse_json_bytes
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import decode

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LOCAL = struct.Struct("<4sHHHHHLLLHH")
_CENTRAL = struct.Struct("<4sHHHHHHLLLHHHHHLL")
_END = struct.Struct("<4sHHHHLLH")
_END_64 = struct.Struct("<4sQHHLLQQQQ")
_LOCATOR_64 = struct.Struct("<4sLQL")
_LOCAL_MAGIC, _CENTRAL_MAGIC, _END_MAGIC = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_END_64_MAGIC, _LOCATOR_64_MAGIC = b"PK\x06\x06", b"PK\x06\x07"
_MAGICS = (_LOCAL_MAGIC, _CENTRAL_MAGIC)
_LONGEST_END = _END.size + 65_535
_FULL = 0xFFFFFFFF
_ENCRYPTED, _SIZES_FOLLOW = 0x1, 0x8
_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_METHODS = {0: "stored", 8: "deflate", 93: "zstd"}
_BLOCK = 1 << 16
_LEAST_BOUND = 1 << 30
_GROWTH = 200
DIRECTORY_BYTES = 64 << 20
"""The largest directory of an archive that is read; an archive with a larger one is read member by member."""
MEMBERS = 1_000_000
"""The most members of an archive that are read."""
_DAMAGE = (zlib.error, zstd.ZstdError, EOFError)
_ZIP = b"PK\x03\x04"
_FIRST_MEMBER = re.compile(rb"_journal/|samples/.{1,200}_epoch_\d|header\.json|summaries\.json|reductions\.json")
_DOCUMENT = lazy_pattern(r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{')
_SAMPLE = lazy_pattern(r"samples/.+_epoch_\d+\.json", re.DOTALL)  # ids may contain any characters, even slashes
_SHELL = lazy_pattern(r"(?P<folder>samples/.+_epoch_\d+/)sample\.json", re.DOTALL)
_CHUNK = lazy_pattern(r"(?P<list>.+/(?:messages|events|attachments)/)(?P<start>\d{1,18})\.json")
_HEADERS = ("header.json", "_journal/start.json")
_CUT = "the archive has no central directory: it may be truncated; the members before its end were read"


class ArchiveMember(Struct, frozen=True):
    """One member: its name, the position of its local header, and its facts; `size` is -1 if it is unknown."""

    name: str
    offset: int
    method: int
    flags: int
    crc: int
    size: int


class Archive:
    """A ZIP archive in a stream that can seek; `is_cut` is True if it has no directory.

    All members together may unpack to 200 times the archive's size, or one GiB if that is more, each to 64 MiB.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._length = stream.seek(0, 2)
        self._left = max(_LEAST_BOUND, self._length * _GROWTH)
        directory = self._directory()
        self.is_cut = directory is None
        self.members = tuple(islice(self._scanned() if directory is None else _listed(directory), MEMBERS))

    def read(self, member: ArchiveMember) -> bytes:
        """A member's content. DamagedDataError with the reason if it is broken, too long or of an unknown method."""
        if member.flags & _ENCRYPTED:
            raise DamagedDataError("it is encrypted")
        if member.method not in _METHODS:
            raise DamagedDataError(f"it is compressed with method {member.method}, which Inspect does not use")
        start = self._content(member)
        if start is None:
            raise DamagedDataError("its header is broken")
        content, _ = self._unpacked(member, start)
        if member.size >= 0 and zlib.crc32(content) != member.crc:
            raise DamagedDataError("the archive is damaged or truncated within this member")
        return content

    def _directory(self) -> bytes | None:
        tail_start = max(0, self._length - _LONGEST_END)
        tail = self._at(tail_start, _LONGEST_END)
        at = tail.rfind(_END_MAGIC)
        if at < 0 or len(tail) - at < _END.size:
            return None
        *_, size, offset, _comment = _END.unpack_from(tail, at)
        if _FULL in (size, offset):
            size, offset = self._size_64(tail_start + at) or (size, offset)
        if size > DIRECTORY_BYTES:
            return None
        directory = self._at(offset, size)
        return directory if directory.startswith(_CENTRAL_MAGIC) or not size else None

    def _size_64(self, end: int) -> tuple[int, int] | None:
        locator = self._at(max(0, end - _LOCATOR_64.size), _LOCATOR_64.size)
        if len(locator) < _LOCATOR_64.size or not locator.startswith(_LOCATOR_64_MAGIC):
            return None
        found = self._at(_LOCATOR_64.unpack(locator)[2], _END_64.size)
        if len(found) < _END_64.size or not found.startswith(_END_64_MAGIC):
            return None
        *_, size, offset = _END_64.unpack(found)
        return size, offset

    def _scanned(self) -> Iterator[ArchiveMember]:
        """The consecutive members from the beginning, as far as the archive goes."""
        at = 0
        while (member := self._local(at)) is not None:
            start = self._content(member)
            assert start is not None  # the member was read from the same header
            if member.size >= 0:
                yield member
                at = start + member.size
                continue
            try:
                _, at = self._unpacked(member, start)
            except DamagedDataError:
                yield member
                return
            descriptor = self._at(at, 24)
            magic_bytes = 4 if descriptor.startswith(_DESCRIPTOR_MAGIC) else 0
            crc = int.from_bytes(descriptor[magic_bytes : magic_bytes + 4], "little")
            yield structs.replace(member, crc=crc, size=at - start) if len(descriptor) >= magic_bytes + 12 else member
            wide = self._at(at + magic_bytes + 12, 4) not in _MAGICS and self._at(at + magic_bytes + 20, 4) in _MAGICS
            at += magic_bytes + (20 if wide else 12)

    def _local(self, offset: int) -> ArchiveMember | None:
        header = self._at(offset, _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
            return None
        _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack(header)
        rest = self._at(offset + _LOCAL.size, name_length + extra_length)
        if packed == _FULL:
            _, packed = _wide(rest[name_length:], size, packed, 0)[:2]
        unknown = flags & _SIZES_FOLLOW and not packed
        return ArchiveMember(decode(rest[:name_length]), offset, method, flags, crc, -1 if unknown else packed)

    def _content(self, member: ArchiveMember) -> int | None:
        """The position of a member's content."""
        header = self._at(member.offset, _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
            return None
        *_, name_length, extra_length = _LOCAL.unpack(header)
        return member.offset + _LOCAL.size + int(name_length) + int(extra_length)

    def _unpacked(self, member: ArchiveMember, start: int) -> tuple[bytes, int]:
        """A member's content and the position of its end in the archive."""
        limit = min(RECORD_BYTES, self._left)
        decompressor = _new_decompressor(member.method)
        pieces: list[bytes] = []
        unpacked_bytes, at = 0, start
        end = start + member.size if member.size >= 0 else self._length
        try:
            while at < end and not decompressor.eof:
                block = self._at(at, min(_BLOCK, end - at))
                at += len(block)
                if not block:
                    break
                piece = decompressor.decompress(block, limit + 1 - unpacked_bytes)
                unpacked_bytes += len(piece)
                pieces.append(piece)
                if unpacked_bytes > limit:
                    raise DamagedDataError(_beyond(limit))
        except _DAMAGE as error:
            raise DamagedDataError(f"its compressed data is damaged: {error}") from error
        if not decompressor.eof and (member.size < 0 or member.method):
            raise DamagedDataError("the archive is truncated within this member")
        self._left -= unpacked_bytes
        return b"".join(pieces), at - len(decompressor.unused_data)

    def _at(self, offset: int, length: int) -> bytes:
        if offset < 0 or offset >= self._length:
            return b""
        self._stream.seek(offset)
        return self._stream.read(length)


def _beyond(limit: int) -> str:
    return too_long(limit) if limit == RECORD_BYTES else "the archive unpacks to more than the limit"


class _MemberDecompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Stored:
    """Content that is not compressed; only its size determines its end."""

    eof = False
    unused_data = b""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return data[:max_length]


def _new_decompressor(method: int) -> _MemberDecompressor:
    if method == 93:
        return zstd.ZstdDecompressor()
    return zlib.decompressobj(-zlib.MAX_WBITS) if method == 8 else _Stored()


def _listed(directory: bytes) -> Iterator[ArchiveMember]:
    at = 0
    while directory.startswith(_CENTRAL_MAGIC, at) and len(directory) - at >= _CENTRAL.size:
        fields = _CENTRAL.unpack_from(directory, at)
        flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
        name_length, extra_length, comment_length, offset = fields[10], fields[11], fields[12], fields[16]
        at += _CENTRAL.size
        name = decode(directory[at : at + name_length])
        at += name_length
        if _FULL in (packed, size, offset):
            size, packed, offset = _wide(directory[at : at + extra_length], size, packed, offset)
        at += extra_length + comment_length
        yield ArchiveMember(name, offset, method, flags, crc, packed)


def _wide(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """The sizes and the offset; maximal values are replaced by those of the ZIP64 field (APPNOTE, 4.5.3)."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            wide = iter(
                [int.from_bytes(field[position : position + 8], "little") for position in range(0, len(field) - 7, 8)]
            )
            values = [next(wide, known) if known == _FULL else known for known in (size, packed, offset)]
            return values[0], values[1], values[2]
        at += 4 + length
    return size, packed, offset


def _score(sample: FileSample) -> float:
    """By the first member of an archive, or by the beginning of a log's document."""
    if sample.head.startswith(_ZIP):
        return 0.9 if _FIRST_MEMBER.match(sample.head[30:256]) else 0.0
    return 0.9 if _DOCUMENT.match(sample.text.lstrip("\ufeff")) else 0.0


def _is_log(row: JsonObject) -> bool:
    spec = row.get("eval")
    is_named = isinstance(spec, dict) and {"task", "model"} <= spec.keys()
    return is_named and "version" in row and bool({"samples", "results", "plan"} & row.keys())


def _in_document(row: Row) -> Iterator[Trace | Skipped]:
    samples = row.value.get("samples")
    if not isinstance(samples, list) or not samples:
        yield Skipped(row.record, "the log has no list `samples` with samples in it")
        return
    header = {key: value for key, value in row.value.items() if key != "samples"}
    for number, sample in enumerate(samples, 1):
        record = f"{row.record}, sample {number}"
        if isinstance(sample, dict):
            yield from read_sample(sample, header, record)
        else:
            yield Skipped(record, "the sample is not an object")


def _from_archive(file: SourceFile) -> Iterator[Trace | Skipped]:
    try:
        with file.open_seekable() as stream:
            archive = Archive(stream)
            header = _header(archive)
            is_empty = True
            for record, sample in _samples(archive):
                is_empty = False
                yield from [sample] if isinstance(sample, Skipped) else read_sample(sample, header, record)
            if archive.is_cut:
                yield Skipped("end of file", _CUT)
            elif is_empty:
                yield Skipped("archive", "the archive contains no sample")
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _header(archive: Archive) -> JsonObject:
    """The log's header; if the evaluation has not ended, the one from its start."""
    by_name = {member.name: member for member in archive.members if member.name in _HEADERS}
    for name in _HEADERS:
        if name in by_name:
            found = _content(archive, by_name[name])
            if isinstance(found, dict):
                return found
    return {}


def _samples(archive: Archive) -> Iterator[tuple[str, JsonObject | Skipped]]:
    chunks = _chunks(archive)
    for member in archive.members:
        shell = _SHELL.fullmatch(member.name)
        if not shell and not _SAMPLE.fullmatch(member.name):
            continue
        content = _content(archive, member)
        if isinstance(content, dict) and shell:
            content = _whole(archive, content, shell["folder"], chunks)
        if isinstance(content, dict):
            yield member.name, content
        else:
            yield (
                member.name,
                content if isinstance(content, Skipped) else Skipped(member.name, "the sample is not an object"),
            )


def _content(archive: Archive, member: ArchiveMember) -> "Json | Skipped":
    try:
        return parse_json_bytes(archive.read(member))
    except (DamagedDataError, ValueError) as error:
        return Skipped(member.name, str(error))  # a JSON error contains line and column within the member


def _chunks(archive: Archive) -> dict[str, list[tuple[int, ArchiveMember]]]:
    """The members that contain a part of a list, by the list's folder, with the index of their first item."""
    chunks: dict[str, list[tuple[int, ArchiveMember]]] = {}
    for member in archive.members:
        if chunk := _CHUNK.fullmatch(member.name):
            chunks.setdefault(chunk["list"], []).append((int(chunk["start"]), member))
    return chunks


def _whole(
    archive: Archive, shell: JsonObject, folder: str, chunks: dict[str, list[tuple[int, ArchiveMember]]]
) -> JsonObject | Skipped:
    """A sample that is spread over members, joined to one object; attachments have their index as name."""
    left = RECORD_BYTES
    lists: dict[str, list[Json]] = {}
    for name in ("messages", "events", "attachments"):
        items = lists[name] = []
        for _, member in sorted(chunks.get(f"{folder}{name}/", ()), key=lambda chunk: chunk[0]):
            try:
                raw = archive.read(member)
                left -= len(raw)
                if left < 0:
                    return Skipped(f"{folder}sample.json", too_long(RECORD_BYTES))
                found = parse_json_bytes(raw)
            except (DamagedDataError, ValueError) as error:
                return Skipped(member.name, str(error))
            items += found if isinstance(found, list) else []
    pool = lists["messages"]
    return {
        **shell,
        "messages": pooled_messages(pool, shell.get("message_refs"), len(pool)) or [],
        "events": lists["events"],
        "events_data": {"messages": pool},
        "attachments": {str(at): text for at, text in enumerate(lists["attachments"])},
    }


INSPECT = LogSource(
    name="inspect",
    signs="an Inspect log's `eval` and `samples`, plain or in an archive",
    is_row=_is_log,
    confidence=0.9,
    score=_score,
    reader=lambda file: _from_archive(file) if file.head.startswith(_ZIP) else traces_in_each_row(file, _in_document),
)
"""One trace per sample, and one for each other conversation in it; a log without any is skipped."""
