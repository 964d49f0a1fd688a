"""The bodies of LangSmith's multipart ingestion: parts `post.ID`, `patch.ID`, and `post.ID.inputs` and its like.

Source: langchain-ai/langsmith-sdk:python/langsmith/_internal/_operations.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from inspector.importers.lines import too_long
from inspector.importers.packing import DamagedDataError
from inspector.importers.rows import parse_json
from inspector.importers.source import JsonObject, Skipped, SourceFile
from inspector.memory import RECORD_BYTES

_LINE = 1 << 20
_HEADERS = 32
_BEGINS = re.compile(
    rb"\s*--[^\r\n]{1,200}\r?\n(?:[^\r\n]+\r?\n){0,8}?content-disposition:[^\r\n]*name=\"?(?:post|patch)\.",
    re.IGNORECASE,
)
_NAME = re.compile(rb"content-disposition:.*?\bname=\"?(?P<name>[^\";\r\n]+)", re.IGNORECASE)
_RUN = re.compile(r"(?P<operation>post|patch)\.(?P<id>[^.]+)(?:\.(?P<member>[a-z_]+))?")


@dataclass(frozen=True, slots=True)
class RunPart:
    """Members of a run, as one part tells them."""

    record: str
    members: JsonObject


def is_multipart(head: bytes) -> bool:
    """Whether a file begins with such a body."""
    return _BEGINS.match(head) is not None


def read_parts(file: SourceFile, *, limit: int = RECORD_BYTES) -> Iterator[RunPart | Skipped]:
    """What each part tells of its run, in the file's order; one part of at most `limit` bytes is in memory at a time.

    Several bodies may follow each other. Parts that are no run's (attachments, feedback) are passed over in silence.
    """
    try:
        with file.open() as stream:
            for number, (name, raw) in enumerate(_parts(stream, limit), 1):
                found = _read(f"part {number}", name, raw, limit)
                if found is not None:
                    yield found
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _read(record: str, name: str, raw: bytes | None, limit: int) -> RunPart | Skipped | None:
    told = _RUN.fullmatch(name)
    if told is None:
        return None
    if raw is None:
        return Skipped(record, too_long(limit))
    try:
        value = parse_json(raw)
    except ValueError as error:
        return Skipped(record, str(error))
    if told["member"]:
        return RunPart(record, {"id": told["id"], told["member"]: value})
    if not isinstance(value, dict):
        return Skipped(record, "the part is no object, as a run is")
    return RunPart(record, {**value, "id": told["id"]})


def _parts(stream: BinaryIO, limit: int) -> Iterator[tuple[str, bytes | None]]:
    """The name and the body of each part; None for a body beyond the bound."""
    border = b""
    line = stream.readline(_LINE)
    while line:
        if not (border and line.startswith(border)) and not line.startswith(b"--"):
            line = stream.readline(_LINE)
            continue
        border = border if border and line.startswith(border) else line.strip()
        if line.strip() == border + b"--":
            border, line = b"", stream.readline(_LINE)
            continue
        name = _name(stream)
        body, line = _body(stream, border, limit)
        yield name, body


def _name(stream: BinaryIO) -> str:
    """The name in the headers of a part, read to the empty line behind them."""
    name = ""
    for _ in range(_HEADERS):
        line = stream.readline(_LINE)
        if not line.strip():
            break
        if found := _NAME.match(line):
            name = found["name"].decode("utf-8", "replace")
    return name


def _body(stream: BinaryIO, border: bytes, limit: int) -> tuple[bytes | None, bytes]:
    """A part's bytes up to the border, and the line of that; `b""` at the end of the file."""
    pieces: list[bytes] = []
    left, begins_line = limit, True
    while line := stream.readline(_LINE):
        if begins_line and line.startswith(border):
            break
        begins_line = line.endswith(b"\n")
        left -= len(line)
        if left >= 0:
            pieces.append(line)
        else:
            pieces.clear()
    return (b"".join(pieces).removesuffix(b"\n").removesuffix(b"\r") if left >= 0 else None), line
