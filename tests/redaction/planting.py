"""Puts secrets into files of every kind that an importer reads, and finds what is left of them in bytes."""

import csv
import gzip
import io
import json
import random
import re
import shutil
import sqlite3
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]  # it has no stubs
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.importers.archives import Packed, archive
from tests.importers.flow_files import tnetstring
from tests.redaction.planted import Planted

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_ZSTD, _GZIP, _ZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"PK\x03\x04"
_SQLITE = b"SQLite format 3\0"
_TELLING = re.compile(r"[A-Za-z0-9]{8,}")
_WORD = re.compile(rb"[A-Za-z0-9]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d|HTTP/")
_JSON_IN_LINE = re.compile(r"^[^{\[]*?(?=[{\[])")


def rounds(planted: Sequence[Planted], seed: int) -> Iterator[Planted]:
    """The secrets in an order that the seed gives, again and again."""
    order = list(planted)
    random.Random(seed).shuffle(order)
    while True:
        yield from order


class Needles:
    """Finds secrets, or telling pieces of them, in bytes; each different content is looked through once."""

    def __init__(self, planted: Iterable[Planted]) -> None:
        self._names: dict[bytes, str] = {}
        for one in planted:
            for piece in _pieces(one):
                self._names.setdefault(piece.encode(), one.name)

    def left(self, *written: bytes) -> list[str]:
        """The names of secrets of which a piece is in what was written."""
        whole = b"\n".join(dict.fromkeys(written))
        words = b"\n".join(set(_WORD.findall(whole)))  # a few percent of all that commands give out
        return sorted({name for piece, name in self._names.items() if _core(piece) in words and piece in whole})


def _core(piece: bytes) -> bytes:
    """The longest part of a piece that is in one word of any text which has the piece."""
    return max(_WORD.findall(piece), key=len, default=b"")


def _pieces(one: Planted) -> Iterator[str]:
    """The end of the secret as it is, and a run of letters and digits in it that no escape changes."""
    if one.after.startswith("----"):  # PEM; the line ends within it may be escaped otherwise
        yield one.secret[20:32]
        return
    yield one.secret.strip("\n")[-12:]
    run = max(_TELLING.findall(one.secret), key=len, default="")
    if run:
        yield run[-12:]


def written_in(folder: Path, *, without: Path) -> Iterator[bytes]:
    """Every byte of the files of a folder, and of the columns of its databases, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_relative_to(without):
            yield path.read_bytes()
            if path.suffix == ".db":
                yield from _columns(path)


def _columns(path: Path) -> Iterator[bytes]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                yield from values_unpacked(row)
    database.close()


def values_unpacked(row: Iterable[object]) -> Iterator[bytes]:
    """The texts and blobs of a row, packed ones unpacked too."""
    for value in row:
        if isinstance(value, str):
            yield value.encode("utf-8", "surrogatepass")
        elif isinstance(value, bytes | memoryview):
            raw = bytes(value)
            yield raw
            if _ZSTD in raw[:8]:
                yield zstd.decompress(raw[raw.index(_ZSTD) :])


def plant_file(path: Path, target: Path, source: Iterator[Planted]) -> bool:
    """Write a copy of a file with secrets in it; False, and no copy, for a file that holds no place for one."""
    raw = path.read_bytes()
    if raw.startswith(_SQLITE):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
        _plant_database(target, source)
        return True
    planted = _planted_bytes(raw, path.suffix, source)
    if planted == raw:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(planted)
    return True


def _planted_bytes(raw: bytes, suffix: str, source: Iterator[Planted]) -> bytes:
    if raw.startswith(_GZIP):
        return gzip.compress(_planted_bytes(gzip.decompress(raw), "", source))
    if raw.startswith(_ZIP):
        return _planted_archive(raw, source)
    if suffix == ".pb":
        return _planted_protobuf(raw, source)
    if suffix == ".zhar":
        return zlib.compress(_planted_bytes(zlib.decompress(raw), "", source))
    if suffix == ".mitm":
        return _planted_flows(raw, source)
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    planted = _planted_csv(text, source) if suffix == ".csv" else _planted_text(text, source)
    return planted.encode("utf-8", "surrogateescape")


def _planted_text(text: str, source: Iterator[Planted]) -> str:
    """A JSON document, or lines of which some are JSON or hold it, or plain text."""
    try:
        return json.dumps(_planted_json(json.loads(text), source))
    except (ValueError, RecursionError):
        lines = re.split(r"(?<=\n)", text)
        planted = "".join(_planted_line(line, source) for line in lines)
        return planted if planted != text else f"{text}\n{next(source).text}\n"


def _planted_line(line: str, source: Iterator[Planted]) -> str:
    found = _JSON_IN_LINE.match(line)
    if found is None:
        return line
    body = line[found.end() :]
    content = body.rstrip("\r\n")
    try:
        return found[0] + json.dumps(_planted_json(json.loads(content), source)) + body[len(content) :]
    except (ValueError, RecursionError):
        return line


def _planted_json(value: Any, source: Iterator[Planted]) -> Any:
    """The JSON value with a secret behind every text that has words, also within JSON in its texts."""
    if isinstance(value, Mapping):
        return {name: _planted_json(one, source) for name, one in value.items()}
    if isinstance(value, list):
        return [_planted_json(one, source) for one in value]
    return _planted_words(value, source) if isinstance(value, str) else value


def _planted_words(text: str, source: Iterator[Planted]) -> str:
    if " " not in text or _TIME.match(text):
        return text
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.dumps(_planted_json(json.loads(text), source))
        except (ValueError, RecursionError):
            return text
    if text.startswith("data: "):
        return "".join(_planted_line(line, source) for line in re.split(r"(?<=\n)", text))
    return f"{text}\n{next(source).text}"


def _planted_csv(text: str, source: Iterator[Planted]) -> str:
    rows = list(csv.reader(io.StringIO(text)))
    out = io.StringIO()
    csv.writer(out).writerows([rows[0], *([_planted_words(cell, source) for cell in row] for row in rows[1:])])
    return out.getvalue()


def _planted_archive(raw: bytes, source: Iterator[Planted]) -> bytes:
    """The archive with secrets in its JSON members; one whose directory is cut off stays as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as opened:
            members = [(one.filename, _member(opened, one, raw)) for one in opened.infolist()]
    except zipfile.BadZipFile:
        return raw
    return archive(Packed(name, _planted_bytes(content, "", source), 8) for name, content in members)


def _member(opened: zipfile.ZipFile, member: zipfile.ZipInfo, raw: bytes) -> bytes:
    if member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return opened.read(member)
    start = member.header_offset + 30 + len(member.filename.encode())
    return zstd.decompress(raw[start : start + member.compress_size])  # written by `archive`, without an extra field


def _planted_protobuf(raw: bytes, source: Iterator[Planted]) -> bytes:
    """A request of OTLP; several of them, each behind its length, stay as they are."""
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(raw)
    except DecodeError:
        return raw
    if request.SerializeToString() != raw:
        return raw
    _plant_message(request, source)
    planted: bytes = request.SerializeToString()
    return planted


def _plant_message(message: Message, source: Iterator[Planted]) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in [value] if isinstance(value, Message) else list(value):
                _plant_message(one, source)
        elif isinstance(value, str):
            setattr(message, field.name, _planted_words(value, source))


def _planted_flows(raw: bytes, source: Iterator[Planted]) -> bytes:
    """The flows with secrets in them; what a cut left of the last one stays as it is."""
    planted, at = b"", 0
    while at < len(raw):
        try:
            flow, end = _tnetstring_at(raw, at)
        except (ValueError, RecursionError):
            return planted + raw[at:]
        planted += tnetstring(_planted_flow(flow, source))
        at = end
    return planted


def _tnetstrings(raw: bytes) -> Iterator[object]:
    at = 0
    while at < len(raw):
        value, at = _tnetstring_at(raw, at)
        yield value


def _tnetstring_at(raw: bytes, at: int) -> tuple[object, int]:
    colon = raw.index(b":", at)
    end = colon + 1 + int(raw[at:colon])
    body, kind = raw[colon + 1 : end], raw[end : end + 1]
    match kind:
        case b",":
            return body, end + 1
        case b";":
            return body.decode(), end + 1
        case b"#":
            return int(body), end + 1
        case b"^":
            return float(body), end + 1
        case b"!":
            return body == b"true", end + 1
        case b"~":
            return None, end + 1
    items = list(_tnetstrings(body))
    return (dict(zip(items[::2], items[1::2], strict=True)) if kind == b"}" else items), end + 1


def _planted_flow(value: object, source: Iterator[Planted]) -> object:
    """A flow with secrets in its bodies, and in each request's address and headers."""
    if isinstance(value, list):
        return [_planted_flow(one, source) for one in value]
    if not isinstance(value, dict):
        return value
    planted = {name: _planted_flow(one, source) for name, one in value.items()}
    if isinstance(body := planted.get("content"), bytes) and body:
        planted["content"] = _planted_bytes(body, "", source)
    if isinstance(path := planted.get("path"), bytes):
        key = next(one for one in source if one.text.isascii() and one.text.isalnum()).text.encode()
        planted["path"] = path + b"?key=" + key
        headers = planted["headers"]
        assert isinstance(headers, list)
        planted["headers"] = [*headers, [b"x-session-id", key], [b"cookie", b"sid=" + key]]
    return planted


def _plant_database(path: Path, source: Iterator[Planted]) -> None:
    """A secret behind the words of every text of every table."""
    with sqlite3.connect(path) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if table.startswith("sqlite_") or not _has_row_ids(database, table):
                continue
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            for column in columns:
                texts = database.execute(
                    f'SELECT rowid, "{column}" FROM "{table}" WHERE typeof("{column}") = ?', ("text",)
                )
                for row_id, text in texts.fetchall():
                    words = (_planted_words(text, source), row_id)
                    database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', words)
    database.close()


def _has_row_ids(database: sqlite3.Connection, table: str) -> bool:
    try:
        database.execute(f'SELECT rowid FROM "{table}" LIMIT 1')
    except sqlite3.OperationalError:
        return False
    return True
