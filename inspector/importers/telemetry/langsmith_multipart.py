"""Reads multipart bodies of LangSmith's ingestion API: each part has members of one run.

    --B
    Content-Disposition: form-data; name="post.<id>"             all members but the large ones
    --B
    Content-Disposition: form-data; name="post.<id>.outputs"     one of these
    --B--

Source: langchain-ai/langsmith-sdk:python/langsmith.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile, until_damage
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.scanning import lazy_pattern

_LINE = 1 << 20
_HEADERS = 32

_BEGINS = re.compile(
    rb"\s*--[^\r\n]{1,200}\r?\n(?:[^\r\n]+\r?\n){0,8}?content-disposition:[^\r\n]*name=\"?(?:post|patch)\.",
    re.IGNORECASE,
)

_NAME = re.compile(rb"content-disposition:.*?\bname=\"?(?P<name>[^\";\r\n]+)", re.IGNORECASE)
_RUN = lazy_pattern(r"(?P<operation>post|patch)\.(?P<id>[^.]+)(?:\.(?P<member>[a-z_]+))?")


class RunPart(Struct, frozen=True):
    """The members of a run in one part of a multipart body."""

    record: str
    members: JsonObject


def is_multipart(head: bytes) -> bool:
    """Whether a file begins with a multipart body of LangSmith's ingestion API."""
    return _BEGINS.match(head) is not None


def read_parts(file: SourceFile, *, limit: int = RECORD_BYTES) -> Iterator[RunPart | Skipped]:
    """The members of a run in each part, in the file's order; one part of at most `limit` bytes is in memory at a time.

    Several bodies may follow each other. Parts that belong to no run (attachments, feedback) are silently ignored.
    """
    return until_damage(_of_parts(file, limit))


def _of_parts(file: SourceFile, limit: int) -> Iterator[RunPart | Skipped]:
    with file.open() as stream:
        for number, (name, raw) in enumerate(_parts(stream, limit), 1):
            found = _read(f"part {number}", name, raw, limit)
            if found is not None:
                yield found


def _read(record: str, name: str, raw: bytes | None, limit: int) -> RunPart | Skipped | None:
    match = _RUN.fullmatch(name)
    if match is None:
        return None
    if raw is None:
        return Skipped(record, too_long(limit))
    try:
        value = parse_json_bytes(raw)
    except ValueError as error:
        return Skipped(record, str(error))
    if match["member"]:
        return RunPart(record, {"id": match["id"], match["member"]: value})
    if not isinstance(value, dict):
        return Skipped(record, "the part is not an object")
    return RunPart(record, {**value, "id": match["id"]})


def _parts(stream: BinaryIO, limit: int) -> Iterator[tuple[str, bytes | None]]:
    """The name and the body of each part; None for a body beyond the bound."""
    boundary = b""
    line = stream.readline(_LINE)
    while line:
        if not (boundary and line.startswith(boundary)) and not line.startswith(b"--"):
            line = stream.readline(_LINE)
            continue
        boundary = boundary if boundary and line.startswith(boundary) else line.strip()
        if line.strip() == boundary + b"--":
            boundary, line = b"", stream.readline(_LINE)
            continue
        name = _name(stream)
        body, line = _body(stream, boundary, limit)
        yield name, body


def _name(stream: BinaryIO) -> str:
    """The name in the headers of a part; reads up to and including the empty line after them."""
    name = ""
    for _ in range(_HEADERS):
        line = stream.readline(_LINE)
        if not line.strip():
            break
        if match := _NAME.match(line):
            name = match["name"].decode("utf-8", "replace")
    return name


def _body(stream: BinaryIO, boundary: bytes, limit: int) -> tuple[bytes | None, bytes]:
    """A part's bytes up to the boundary, and the boundary's line; `b""` at the end of the file."""
    pieces: list[bytes] = []
    left, begins_line = limit, True
    while line := stream.readline(_LINE):
        if begins_line and line.startswith(boundary):
            break
        begins_line = line.endswith(b"\n")
        left -= len(line)
        if left >= 0:
            pieces.append(line)
        else:
            pieces.clear()
    return (b"".join(pieces).removesuffix(b"\n").removesuffix(b"\r") if left >= 0 else None), line
