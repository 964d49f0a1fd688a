"""Reads and writes rows of training data: JSON lines, JSON arrays, Parquet, and Hugging Face `datasets` folders.

Reading loads one row at a time (Parquet and Arrow: one small batch), so memory does not grow with the file. A row that
cannot be read becomes a `RejectedRow` with its position and the reason; reading continues after it.

Rows are written to a temporary file that replaces the output file when all are written. Parquet needs one type per
column, so rows are kept in a temporary file until the types are known. A column whose values have no common type, or
objects with different keys (Arrow would add nulls), is written as JSON text; the file's metadata lists these columns
under `weaklink.json_columns`, and reading decodes them again. Messages may have different keys; the arguments of their
calls become JSON text, as in OpenAI's API. Parquet does not distinguish an absent member from null: reading leaves out
null members of objects.
"""

import base64
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TextIO

from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow, find_data_files, missing_library
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.importers import records
from weaklink.inspector.importers.blocks import Block, BlockLines, expand_urls, open_parquet, plan_blocks
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.data.toolalpaca import instance_rows
from weaklink.inspector.importers.remote import find_remote_files
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile, is_url
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.text import decode
from weaklink.inspector.trace_file.lines import HEADER_KEY

_JSON_COLUMNS = b"weaklink.json_columns"
_BATCH_ROWS = 64
_WRITE_ROWS = 1_000
_MESSAGE_COLUMNS = frozenset({"messages", "conversations", "prompt", "completion", "chosen", "rejected"})
_ARGUMENT_KEYS = frozenset({"arguments", "input"})
_KINDS = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}

_TRACE_FILE = re.compile(rb'\s*\{\s*"%s"' % HEADER_KEY.encode())
_TRACE_FILE_REASON = (
    "this is a trace file, whose lines are no rows: `weaklink import` it, then `weaklink export ID --to messages`"
    " writes its traces as rows"
)


class OutputIsInputError(WeaklinkError):
    """The output would replace an input file."""


class RowWriter(Protocol):
    """Accepts rows one by one."""

    def write(self, row: JsonObject) -> None:
        """Add a row."""
        ...


# ---------------------------------------------------------------- reading


def read_data(paths: Iterable[str]) -> Iterator[DataRow | RejectedRow]:
    """The rows of files, folders and patterns in order; see `find_data_files`. Only one row or batch is in memory.

    Raises UnreadableFileError for a path without a file, and MissingLibraryError.
    """
    for file in find_data_files(paths):
        yield from read_file(file)


def plan_rows(paths: Iterable[str], block_bytes: int) -> list[Block]:
    """The blocks of files, folders, patterns and URLs. Raises the errors of `find_data_files`."""
    files = (file for path in find_data_files(paths) for file in expand_urls([path]))
    return plan_blocks(files, lambda _: True, block_bytes)


def read_file(path: str) -> Iterator[DataRow | RejectedRow]:
    """The rows of one file or URL. A file that cannot be opened, or not be read to its end, gives a RejectedRow."""
    try:
        remote = find_remote_files(path)[0] if is_url(path) else None
    except (WeaklinkError, OSError) as error:
        yield RejectedRow(path, "file", str(error))
        return
    block = Block(0, path, size_bytes=remote.size_bytes if remote else 0, version=remote.version if remote else "")
    yield from read_block(block)


def read_block(block: Block) -> Iterator[DataRow | RejectedRow]:
    """The rows of a block, numbered as in the whole file."""
    path = block.path
    if block.kind == "lines":
        yield from _block_lines(block)
        return
    try:
        with block.source_file().open_stored() as stream:
            kind = table_kind(stream, path)
    except OSError as error:
        yield RejectedRow(path, "file", f"cannot read the file: {error.strerror or error}")
        return
    if kind is None:
        yield from _json_rows(path, block.source_file())
    else:
        yield from _table_rows(block, _parquet_batches if kind == "parquet" else _arrow_batches)


def table_kind(stored: BinaryIO, path: str) -> Literal["parquet", "arrow file", "arrow stream"] | None:
    """The kind of table that a file is by its first bytes, or by the suffix of a stream of `datasets`; None if none."""
    magic = stored.read(6)
    if magic[:4] == b"PAR1":
        return "parquet"
    if magic == b"ARROW1":
        return "arrow file"
    return "arrow stream" if path.endswith(".arrow") else None


def _block_lines(block: Block) -> Iterator[DataRow | RejectedRow]:
    content = BlockLines(block)
    numbering = content.numbering
    try:
        with content.open() as stream, content.open() as again:
            counter = records.PositionCounter(again)
            for record in records.read_lines(stream):
                numbered = records.renumbered(record, numbering)
                is_head = numbering.has_head and _record_number(record) == 1
                if not is_head:
                    yield from _instances(_json_row(block.path, "line", numbered, counter))
    except OSError as error:
        yield RejectedRow(block.path, "end of file", str(error))


def _record_number(record: records.Line | records.Element | Skipped) -> int:
    return int(record.record.rpartition(" ")[2]) if isinstance(record, Skipped) else record.number


def _json_rows(path: str, file: SourceFile) -> Iterator[DataRow | RejectedRow]:
    try:
        if _TRACE_FILE.match(file.head):
            yield RejectedRow(path, "line 1", _TRACE_FILE_REASON, 1, 1)
            return
        unit = records.layout_of(file.head)
        with file.open() as stream, file.open() as again:
            counter = records.PositionCounter(again)
            for record in records.read_lines(stream) if unit == "line" else records.read_elements(stream):
                yield from _instances(_json_row(path, unit, record, counter))
    except (DamagedDataError, OSError) as error:
        yield RejectedRow(path, "end of file", str(error))


def _json_row(
    path: str, unit: str, record: records.Line | records.Element | Skipped, counter: records.PositionCounter
) -> DataRow | RejectedRow:
    if isinstance(record, Skipped):
        number = record.record.rpartition(" ")[2]
        line = int(number) if record.record.startswith("line ") and number.isdecimal() else None
        return RejectedRow(path, record.record, record.reason, line, 1 if line else None)
    name = f"{unit} {record.number}"
    try:
        value = records.parse_json_bytes(record.raw)
    except records.NotJsonError as error:
        return _rejected(path, name, error, record, counter)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return DataRow(path, name, record.number, {"messages": value}, record.raw)
    if not isinstance(value, dict):
        what = _KINDS.get(type(value), "a number")
        return _rejected(path, name, records.NotJsonError(f"the row is {what}, not an object"), record, counter)
    return DataRow(path, name, record.number, value, record.raw)


def _instances(row: DataRow | RejectedRow) -> Iterator[DataRow | RejectedRow]:
    """The row, or the conversations of a record that holds several."""
    instances = instance_rows(row.value) if isinstance(row, DataRow) and "Instances" in row.value else []
    if isinstance(row, RejectedRow) or not instances:
        yield row
        return
    for number, value in enumerate(instances, 1):
        yield DataRow(row.file, f"{row.record}{records.instance_words(number)}", row.number, value)


def _rejected(
    path: str,
    name: str,
    error: records.NotJsonError,
    record: records.Line | records.Element,
    counter: records.PositionCounter,
) -> RejectedRow:
    text = decode(record.raw)
    before = text[: error.offset]
    line, column = counter.at(record.offset) if isinstance(record, records.Element) else (record.number, 1)
    first, feed, rest = before.rpartition("\n")
    line += first.count("\n") + len(feed)
    return RejectedRow(path, name, str(error), line, len(rest) + (1 if feed else column), text)


def _table_rows(block: Block, batches: Callable[[Block], Iterator[Any]]) -> Iterator[DataRow | RejectedRow]:
    path, number = block.path, block.first - 1
    arrow = load_arrow()
    try:
        for batch in batches(block):
            decoded = json_columns(batch.schema.metadata)
            for value in batch.to_pylist(maps_as_pydicts="lossy"):
                number += 1
                yield from _instances(table_row(path, number, value, decoded))
    except (arrow.ArrowException, OSError, ValueError) as error:
        message = " ".join(str(error).split())
        yield RejectedRow(path, f"row {number + 1}" if number else "file", f"cannot read the table: {message}")


def table_row(path: str, number: int, value: dict[str, Any], decoded: Sequence[str]) -> DataRow | RejectedRow:
    """A row of a table, from 1, without null members; the columns `decoded` are JSON text."""
    row: JsonObject = {key: _plain(cell) for key, cell in value.items() if cell is not None}
    for key in decoded:
        text = row.get(key)
        if isinstance(text, str):
            try:
                row[key] = records.parse_json_bytes(text.encode("utf-8", "surrogatepass"))
            except records.NotJsonError as error:
                reason = f"the column `{key}` is not valid JSON: {error}"
                return RejectedRow(path, f"row {number}", reason, text=text)
    return DataRow(path, f"row {number}", number, row)


def json_columns(metadata: dict[bytes, bytes] | None) -> tuple[str, ...]:
    """The columns that weaklink wrote as JSON text, by the metadata of a table's schema."""
    raw = (metadata or {}).get(_JSON_COLUMNS)
    try:
        listed: Json = json.loads(raw) if raw else []
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


def _plain(value: Any) -> Json:
    """A table value as JSON; null members of objects are left out."""
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in value.items() if item is not None}
        case list() | tuple():
            return [_plain(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case None | bool() | int() | float() | str() | Decimal():
            return value
    return str(value)


def _parquet_batches(block: Block) -> Iterator[Any]:
    load_arrow()
    groups = range(block.start, block.end) if block.kind == "rows" else None
    with open_parquet(block) as file:
        yield from file.iter_batches(batch_size=_BATCH_ROWS, row_groups=groups)


def _arrow_batches(block: Block) -> Iterator[Any]:
    """The batches of an Arrow file as `datasets` writes it: in the stream format or the file format."""
    arrow = load_arrow()
    with arrow.memory_map(block.path) if block.content is None else arrow.PythonFile(block.content.open()) as mapped:
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        if is_file:
            file = arrow.ipc.open_file(mapped)
            batches = (file.get_batch(index) for index in range(file.num_record_batches))
        else:
            batches = iter(arrow.ipc.open_stream(mapped))
        for batch in batches:
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                yield batch.slice(start, _BATCH_ROWS)


def load_arrow() -> Any:
    """The module pyarrow, with `ipc`. Raises MissingLibraryError if it is not installed."""
    try:
        import pyarrow  # noqa: PLC0415  # 50 ms, and optional
        import pyarrow.ipc  # noqa: PLC0415  # the same
    except ImportError as error:
        raise missing_library("pyarrow", "Reading and writing Parquet and Arrow files") from error
    return pyarrow


# ---------------------------------------------------------------- writing


@contextmanager
def open_row_file(path: str, inputs: Iterable[str] = ()) -> Iterator[RowWriter]:
    """A writer for a new file: Parquet if its name ends in `.parquet`, otherwise JSON lines.

    The file is put in place when the block ends without an error. Raises OutputIsInputError if `path` is one of the
    `inputs`, even under another name, UnwritableFileError and MissingLibraryError.
    """
    refuse_inputs(path, inputs)
    if path.lower().endswith(".parquet"):
        load_arrow()
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as spool:
            yield JsonLinesWriter(spool)
            with whole_file(path) as stream:
                _write_parquet(spool, stream.buffer)
    else:
        with whole_file(path) as stream:
            yield JsonLinesWriter(stream)


def refuse_inputs(path: str, inputs: Iterable[str]) -> None:
    """Raises OutputIsInputError if `path` is one of the input files, or links to one."""
    target = file_identity(path)
    if target is not None and any(file_identity(input_) == target for input_ in inputs):
        raise OutputIsInputError(f"{path} is one of the input files; use another output path")


def file_identity(path: str) -> tuple[int, int] | None:
    """What is equal for every path of one file, also through links; None if there is no file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


class JsonLinesWriter:
    """Writes each row as one line of ASCII JSON."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, row: JsonObject) -> None:
        """Write a row."""
        self._stream.write(write_json(row) + "\n")


def _write_parquet(spool: TextIO, target: BinaryIO) -> None:
    arrow = load_arrow()
    from pyarrow import parquet  # noqa: PLC0415  # 60 ms, and optional

    schema = _common_schema(arrow, spool)
    with parquet.ParquetWriter(target, schema) as writer:
        as_json = frozenset(json_columns(schema.metadata))
        for rows in _spooled(spool):
            columns = [
                arrow.array([_cell(row.get(name), name, as_json) for row in rows], schema.field(name).type)
                for name in schema.names
            ]
            writer.write_batch(arrow.record_batch(columns, schema=schema))


def _common_schema(arrow: Any, spool: TextIO) -> Any:
    """A type for every column that fits all of its values; JSON text if there is none."""
    types: dict[str, Any] = {}
    as_json: set[str] = set()
    keys: dict[tuple[str, ...], frozenset[str]] = {}
    for rows in _spooled(spool):
        for name in dict.fromkeys(key for row in rows for key in row):
            if name in as_json:
                continue
            cells = [_cell(row.get(name), name, as_json) for row in rows]
            column_type = _type_of(arrow, cells) if all(_same_keys(cell, (name,), keys) for cell in cells) else None
            joined = _joined(arrow, types.get(name), column_type)
            if joined is None:
                as_json.add(name)
            types[name] = joined or arrow.string()
    fields = [(name, arrow.string() if arrow.types.is_null(kind) else kind) for name, kind in types.items()]
    return arrow.schema(fields, metadata={_JSON_COLUMNS: json.dumps(sorted(as_json)).encode()})


def _type_of(arrow: Any, cells: list[Json]) -> Any:
    try:
        return arrow.array(cells).type
    except (arrow.ArrowException, OverflowError, UnicodeError, TypeError):
        return None


def _joined(arrow: Any, known: Any, new: Any) -> Any:
    if known is None or new is None:
        return new
    try:
        schemas = [arrow.schema([("column", kind)]) for kind in (known, new)]
        return arrow.unify_schemas(schemas, promote_options="permissive").field("column").type
    except arrow.ArrowException:
        return None


def _same_keys(value: Json, path: tuple[str, ...], keys: dict[tuple[str, ...], frozenset[str]]) -> bool:
    """Whether all objects at one position of a column have the same keys; messages need not."""
    if isinstance(value, list):
        return all(_same_keys(item, (*path, "[]"), keys) for item in value)
    if not isinstance(value, dict):
        return True
    is_message = len(path) == 2 and path[0] in _MESSAGE_COLUMNS
    names = frozenset(value)
    if not is_message and (not names or keys.setdefault(path, names) != names):
        return False
    return all(_same_keys(item, (*path, key), keys) for key, item in value.items())


def _cell(value: Json, name: str, as_json: Iterable[str]) -> Any:
    """A value as it is stored in its column."""
    if value is None:
        return None
    if name in as_json:
        return write_json(value)
    return _with_text_arguments(value) if name in _MESSAGE_COLUMNS else value


def _with_text_arguments(value: Json) -> Json:
    if isinstance(value, list):
        return [_with_text_arguments(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: write_json(item) if key in _ARGUMENT_KEYS and isinstance(item, dict) else _with_text_arguments(item)
        for key, item in value.items()
        if item is not None
    }


def _spooled(spool: TextIO) -> Iterator[list[JsonObject]]:
    spool.seek(0)
    lines = iter(spool)
    while rows := [_object(line) for line in islice(lines, _WRITE_ROWS)]:
        yield rows


def _object(line: str) -> JsonObject:
    value = records.parse_json_bytes(line.encode())
    assert isinstance(value, dict)  # JsonLinesWriter wrote the spool
    return value
