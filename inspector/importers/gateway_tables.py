"""Rows of gateways' logs from files of JSON, or from tables: Helicone exports CSV, and so do the tools of databases."""

import csv
import io
import json
from collections.abc import Iterator

from inspector.importers.lines import too_long
from inspector.importers.packing import DamagedDataError
from inspector.importers.rows import Row, read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.memory import RECORD_BYTES
from inspector.text import decode

_MANY_COLUMNS = 1_000
_BLANK = "\ufeff \t\r\n"


def read_entries(file: SourceFile) -> Iterator[Row | Skipped]:
    """The objects of a JSON file, as `read_rows` gives them, or the rows of a table with a line of names at its head.

    A table's members are texts; an empty field is no member. A field may have 64 MiB: an error in the quotes of one
    ends the table there.
    """
    if not _columns(decode(file.head)):
        yield from read_rows(file)
        return
    try:
        with file.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as text:
            yield from _rows(text)
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def rows_shown(sample: Sample) -> Iterator[JsonObject]:
    """The first rows of a sample; of a table only the names of its columns, as the members of an object."""
    columns = _columns(sample.text)
    if columns:
        yield dict.fromkeys(columns)
    else:
        yield from sample.rows


def _columns(head: str) -> list[str]:
    """The names at the head of a table; none where the file is no table."""
    first = head.lstrip(_BLANK).partition("\n")[0]
    if not first or first[0] in "{[" or "," not in first:
        return []
    try:
        names = next(csv.reader([first], strict=True), [])
    except csv.Error:
        return []
    is_table = 1 < len(names) <= _MANY_COLUMNS and all(name.strip().isidentifier() for name in names)
    return [name.strip() for name in names] if is_table else []


def _rows(text: io.TextIOWrapper) -> Iterator[Row | Skipped]:
    csv.field_size_limit(RECORD_BYTES)  # the library has one bound for all, of 128 KiB
    reader = csv.reader(text)
    names = [name.strip() for name in next(reader)]
    number = 0
    try:
        for number, fields in enumerate(reader, 1):  # the handler tells it
            if len(fields) > len(names):
                yield Skipped(f"row {number}", f"it has {len(fields)} fields, and the table {len(names)} columns")
            elif fields:
                value: JsonObject = {name: field for name, field in zip(names, fields, strict=False) if field}
                yield Row("row", number, value, json.dumps(value).encode("ascii"))
    except csv.Error as error:
        limit = too_long(RECORD_BYTES) if "field limit" in str(error) else str(error)
        yield Skipped(f"row {number + 1}", f"{limit}; what follows it was not read")
