"""Copies of files in which single records are replaced; everything between them stays as it is.

`data fix` finds each record that it repairs in the order of the file, and puts its new text:

    copy.find("line 3")         # writes lines 1 and 2 as they are -> the bytes of line 3
    copy.put(b'{"text": ...}')  # writes these bytes, and the line's own ending
    copy.close()                # writes the rest

A file of JSON lines is copied as it is read; an array, a document and a raw text are held in memory. A row of Parquet
or Arrow is repaired as the JSON text that weaklink makes of it. The copy has the file's schema, metadata, row groups or
batches, and every cell as it was, except for those whose JSON a repair changed. These get the column's own type; a
repair that does not fit into it is not made. One row group or batch is in memory at a time.

With `--map`, a record's text gets the names that weaklink reads, is repaired, and gets its own keys back, so that the
copy differs from the file only where it was repaired. A member that has one of the new names already is set aside
meanwhile.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from msgspec import Struct

from weaklink.inspector.dataset.data_files import RejectedRow
from weaklink.inspector.dataset.rows import json_columns, load_arrow, table_kind, table_row
from weaklink.inspector.diagnostics import Edit, edited
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.blocks import Block, open_parquet
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.training_rows import read_conversation_rows, read_training_row
from weaklink.inspector.importers.records import NotJsonError, Row, layout_of, parse_json_bytes, read_elements
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_scanner import JsonMember, read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.text import decode

_BOM = b"\xef\xbb\xbf"
_RECORD = re.compile(r"(line|entry|document) (\d+)")
_SET_ASIDE = " (set aside by --map)"


class RecordCopy(Protocol):
    """A copy in progress. Callers find records in file order; everything between them is copied unchanged."""

    def find(self, record: str) -> bytes | None:
        """Copy everything before a record (`line 3`), and return its bytes; None if no remaining record has the name.

        If the record is found, call `put` next.
        """
        ...

    def put(self, raw: bytes) -> bool:
        """Write these bytes in place of the record that was found; False if they cannot be, and the record stays."""
        ...

    def close(self) -> None:
        """Copy the rest."""
        ...


def copy_records(file: SourceFile, out: BinaryIO) -> RecordCopy:
    """Begin a copy of a JSON file to `out`. A file that is not JSON lines is held in memory."""
    if layout_of(file.head) == "line":
        return _NumberedLines(file.open(), out)
    return _ElementCopy(file, out)


class TextCopy:
    """A copy of a file that is one text; its only record is `file`."""

    def __init__(self, file: SourceFile, out: BinaryIO) -> None:
        with file.open() as stream:
            self._content = stream.read()
        self._out = out

    def find(self, record: str) -> bytes | None:
        """The text, if the record is the file."""
        return self._content if record == "file" else None

    def put(self, raw: bytes) -> bool:
        """Replace the text."""
        self._content = raw
        return True

    def close(self) -> None:
        """Write the text."""
        self._out.write(self._content)


class _NumberedLines:
    """Copies lines, numbered as by `inspector.importers.records`: blank lines count."""

    def __init__(self, stream: BinaryIO, out: BinaryIO) -> None:
        self._stream, self._out = stream, out
        self._number = 0

    def find(self, record: str) -> bytes | None:
        number = _number(record, "line")
        if number is None or number <= self._number:
            return None
        line = b""
        while self._number < number:
            self._out.write(line)
            self._number += 1
            line = self._stream.readline()
        raw = line.removeprefix(_BOM) if number == 1 else line
        self._out.write(line[: len(line) - len(raw)])
        content = raw.rstrip(b"\r\n")
        self._ending = raw[len(content) :]
        return content

    def put(self, raw: bytes) -> bool:
        self._out.write(raw + self._ending)
        return True

    def close(self) -> None:
        while block := self._stream.read(1 << 20):
            self._out.write(block)
        self._stream.close()


class _ElementCopy:
    """Copies elements. Each is searched for after the previous one: they come in order, with their exact bytes."""

    def __init__(self, file: SourceFile, out: BinaryIO) -> None:
        self._out, self._at = out, 0
        with file.open() as stream:
            self._content = stream.read()
        self._unit = layout_of(file.head)
        self._places = self._placed(file)
        self._number = 0

    def find(self, record: str) -> bytes | None:
        number = _number(record, self._unit)
        if number is None or number <= self._number:
            return None
        for place_number, start, end in self._places:
            self._number = place_number
            if place_number == number:
                self._out.write(self._content[self._at : start])
                self._at = end
                return self._content[start:end]
        return None

    def put(self, raw: bytes) -> bool:
        self._out.write(raw)
        return True

    def close(self) -> None:
        self._out.write(self._content[self._at :])

    def _placed(self, file: SourceFile) -> Iterator[tuple[int, int, int]]:
        end = 0
        with file.open() as stream:
            for element in read_elements(stream):
                if isinstance(element, Skipped):
                    continue
                start = self._content.find(element.raw, end)
                if start < 0:
                    return
                end = start + len(element.raw)
                yield element.number, start, end


def _number(record: str, unit: str) -> int | None:
    match = _RECORD.fullmatch(record)
    return int(match[2]) if match is not None and match[1] == unit else None


def renamed_traces(file: SourceFile, columns: Mapping[str, str]) -> Iterator[Trace | Skipped]:
    """The conversation of each row; `columns` maps the rows' names to those that weaklink reads."""
    for row in read_conversation_rows(file):
        yield row if isinstance(row, Skipped) else read_renamed(row, columns)


def read_renamed(row: Row, columns: Mapping[str, str]) -> Trace | Skipped:
    """The conversation of one row under these names."""
    value: Json = row.value
    if columns and not row.instance:
        raw = _encoded(_renamed(decode(row.raw), columns))
        try:
            value = parse_json_bytes(raw)
        except NotJsonError as error:
            return Skipped(row.record, str(error))
        row = Row(row.unit, row.number, value, raw) if isinstance(value, dict) else row
    read = read_training_row(row) if isinstance(value, dict) else None
    return read.trace if read is not None else Skipped(row.record, f"the row has {refusal(row.value)}")


class RenamedCopy:
    """A copy whose records have other names while they are repaired."""

    def __init__(self, copy: RecordCopy, columns: Mapping[str, str]) -> None:
        self._copy, self._columns = copy, columns
        self._original = b""

    def find(self, record: str) -> bytes | None:
        """The record with the names that weaklink reads; see `RecordCopy.find`."""
        raw = self._copy.find(record)
        if raw is None:
            return None
        self._original = raw
        return _encoded(_renamed(decode(raw), self._columns))

    def put(self, raw: bytes) -> bool:
        """Write the record under its own names; see `RecordCopy.put`."""
        keys = [member.key_range.of(decode(self._original)) for member in _members(decode(self._original))]
        text = decode(raw)
        members = _members(text)
        if len(members) != len(keys):
            return self._copy.put(self._original)
        edits = [Edit(member.key_range, key) for member, key in zip(members, keys, strict=True)]
        return self._copy.put(_encoded(edited(text, edits)))

    def close(self) -> None:
        """Copy the rest."""
        self._copy.close()


def _renamed(text: str, columns: Mapping[str, str]) -> str:
    members = _members(text)
    new_names = {columns[member.key] for member in members if member.key in columns}
    edits: list[Edit] = []
    for member in members:
        name = columns.get(member.key)
        if name is None and member.key in new_names:
            name = f"{member.key}{_SET_ASIDE}"
        if name is not None:
            edits.append(Edit(member.key_range, write_json(name)))
    return edited(text, edits)


def _members(text: str) -> Sequence[JsonMember]:
    nodes = read_json(text).nodes
    return nodes[0].members if nodes else ()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class TableCopy:
    """A copy in progress: a `RecordCopy` that finds only the row that `traces` read last."""

    def __init__(self, path: str, out: BinaryIO) -> None:
        self._path, self._out = path, out
        self._row: Row | None = None
        self._schema: Any = None
        self._new: JsonObject = {}

    def traces(self, columns: Mapping[str, str]) -> Iterator[Trace | Skipped]:
        """The conversation of each row, whose members `columns` renames; the copy is complete after the last one.

        Raises UnreadableFileError for a table that cannot be read to its end.
        """
        arrow = load_arrow()
        number = 0
        try:
            with _open_pieces(self._path) as pieces, pieces.writer(self._out) as writer:
                for piece in pieces.tables():
                    cells: dict[str, dict[int, Json]] = {}
                    for index, row in enumerate(_rows_of(self._path, piece, number)):
                        number += 1
                        if isinstance(row, RejectedRow):
                            yield Skipped(row.record, row.reason)
                            continue
                        self._row, self._new, self._schema = row, {}, piece.schema
                        yield read_renamed(row, columns)
                        for name, value in self._new.items():
                            cells.setdefault(name, {})[index] = value
                    self._row = None
                    writer.write_table(_replaced(piece, cells), max(piece.num_rows, 1))
        except (arrow.ArrowException, OSError) as error:
            message = " ".join(str(error).split())
            raise UnreadableFileError(f"{self._path}: cannot read the table after row {number}: {message}") from error

    def find(self, record: str) -> bytes | None:
        """The row as JSON text; None if another row was read last."""
        return self._row.raw if self._row is not None and self._row.record == record else None

    def put(self, raw: bytes) -> bool:
        """Replace the cells of the row whose values differ; False, and nothing is replaced, if one does not fit."""
        assert self._row is not None
        before, after = parse_json_bytes(self._row.raw), parse_json_bytes(raw)
        assert isinstance(before, dict)
        assert isinstance(after, dict)
        arrow, decoded = load_arrow(), json_columns(self._schema.metadata)
        values: JsonObject = {}
        for name, value in after.items():
            if value == before.get(name) and type(value) is type(before.get(name)):
                continue
            values[name] = write_json(value) if name in decoded else value
            try:
                arrow.array([values[name]], self._schema.field(name).type)
            except (arrow.ArrowException, KeyError, TypeError, ValueError):
                return False
        self._new = values
        return True

    def close(self) -> None:
        """Nothing is left to copy after the last row."""


def _rows_of(path: str, piece: Any, before: int) -> Iterator[Row | RejectedRow]:
    decoded = json_columns(piece.schema.metadata)
    for number, value in enumerate(piece.to_pylist(maps_as_pydicts="lossy"), before + 1):
        row = table_row(path, number, value, decoded)
        yield row if isinstance(row, RejectedRow) else Row("row", number, row.value, write_json(row.value).encode())


def _replaced(piece: Any, cells: Mapping[str, Mapping[int, Json]]) -> Any:
    """The table with these cells, by column and row."""
    arrow = load_arrow()
    for name, by_index in cells.items():
        position = piece.schema.get_field_index(name)
        column, field = piece.column(position), piece.schema.field(position)
        chunks, start = [], 0
        for index, value in sorted(by_index.items()):
            chunks += [*column.slice(start, index - start).chunks, arrow.array([value], field.type)]
            start = index + 1
        chunks += column.slice(start).chunks
        piece = piece.set_column(position, field, arrow.chunked_array(chunks, field.type))
    return piece.combine_chunks()


class _ParquetPieces(Struct):
    """The row groups of a Parquet file."""

    file: Any

    @property
    def schema(self) -> Any:
        return self.file.schema_arrow

    def tables(self) -> Iterator[Any]:
        return map(self.file.read_row_group, range(self.file.num_row_groups))

    def writer(self, out: BinaryIO) -> Any:
        from pyarrow import parquet  # noqa: PLC0415  # 60 ms, and optional

        groups = self.file.metadata
        used = groups.row_group(0).column(0).compression if groups.num_row_groups and groups.num_columns else "SNAPPY"
        return parquet.ParquetWriter(out, self.schema, compression="NONE" if used == "UNCOMPRESSED" else used)


class _ArrowPieces(Struct):
    """The batches of an Arrow file, in the stream format as `datasets` writes it or in the file format."""

    schema: Any
    batches: Iterable[Any]
    is_stream: bool

    def tables(self) -> Iterator[Any]:
        return (load_arrow().Table.from_batches([batch]) for batch in self.batches)

    def writer(self, out: BinaryIO) -> Any:
        ipc = load_arrow().ipc
        return (ipc.new_stream if self.is_stream else ipc.new_file)(out, self.schema)


@contextmanager
def _open_pieces(path: str) -> Iterator[_ParquetPieces | _ArrowPieces]:
    arrow = load_arrow()
    with Path(path).open("rb") as stored:
        kind = table_kind(stored, path)
        stored.seek(0)
        if kind == "parquet":
            with open_parquet(Block(0, path)) as file:
                yield _ParquetPieces(file)
        elif kind == "arrow file":
            reader = arrow.ipc.open_file(stored)
            batches = map(reader.get_batch, range(reader.num_record_batches))
            yield _ArrowPieces(reader.schema, batches, is_stream=False)
        else:
            stream = arrow.ipc.open_stream(stored)
            yield _ArrowPieces(stream.schema, stream, is_stream=True)
