"""`data fix` on Parquet and Arrow: copies of a table in which single cells are replaced.

A row is repaired as the JSON text that weaklink makes of it. The copy has the file's schema, metadata, row groups or
batches, and every cell as it was, except for those whose JSON a repair changed. These get the column's own type; a
repair that does not fit into it is not made. One row group or batch is in memory at a time.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from weaklink.inspector.dataset.data_files import RejectedRow
from weaklink.inspector.dataset.rows import json_columns, load_arrow, table_row
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.blocks import Block, open_parquet
from weaklink.inspector.importers.records import Row, parse_json_bytes
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Trace
from weaklink.ui.cli.data.renamed_records import read_renamed


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
        found: JsonObject = {}
        for name, value in after.items():
            if value == before.get(name) and type(value) is type(before.get(name)):
                continue
            found[name] = write_json(value) if name in decoded else value
            try:
                arrow.array([found[name]], self._schema.field(name).type)
            except (arrow.ArrowException, KeyError, TypeError, ValueError):
                return False
        self._new = found
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
        magic = stored.read(6)
        stored.seek(0)
        if magic[:4] == b"PAR1":
            with open_parquet(Block(0, path)) as file:
                yield _ParquetPieces(file)
        elif magic == b"ARROW1":
            reader = arrow.ipc.open_file(stored)
            batches = map(reader.get_batch, range(reader.num_record_batches))
            yield _ArrowPieces(reader.schema, batches, is_stream=False)
        else:
            stream = arrow.ipc.open_stream(stored)
            yield _ArrowPieces(stream.schema, stream, is_stream=True)
