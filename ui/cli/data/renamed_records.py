"""`data fix --map`: a file's rows read under other names of their members, and repaired under their own.

A record's text gets the names that weaklink reads, is repaired, and gets its own keys back, so that the copy differs
from the file only where it was repaired. A member that has one of the new names already is set aside meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence

from weaklink.inspector.diagnostics import Edit, edited
from weaklink.inspector.importers.data.public_shapes import refusal
from weaklink.inspector.importers.data.training_rows import read_conversation_rows, read_training_row
from weaklink.inspector.importers.records import NotJsonError, Row, parse_json_bytes
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.json_scanner import JsonMember, read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.text import decode
from weaklink.ui.cli.data.record_copies import RecordCopy

_SET_ASIDE = " (set aside by --map)"


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
