"""Rows of training data as values, and the error for a library that reading or judging them needs."""

from random import Random

from msgspec import Struct

from inspector.errors import WeaklinkError
from inspector.importers.source import JsonObject


class MissingLibraryError(WeaklinkError):
    """A library of the extra `data` is not installed; the text names it and the command that installs it."""


class DataRow(Struct, frozen=True):
    """One row as it was read.

    `record` is its place in the file: `line 12`, `entry 3`, `document 2`, or `row 7` in Parquet and Arrow, each counted
    from 1. `raw` are its exact bytes, empty in Parquet and Arrow.
    """

    file: str
    record: str
    number: int
    value: JsonObject
    raw: bytes = b""

    @property
    def reference(self) -> str:
        """`FILE:RECORD`, such as `train.jsonl:line 12`."""
        return f"{self.file}:{self.record}"

    def random(self, seed: int, use: str = "") -> Random:
        """A generator for what is chosen at random for this row: the same in whichever folder or bucket its file is."""
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return Random(f"{seed}\0{use}\0{name}\0{self.record}")


class RejectedRow(Struct, frozen=True):
    """A row that could not be read: its place and the reason, one sentence without a period.

    `line` and `column` count from 1; None where the file has none, as Parquet. `record` is `file` or `end of file`
    where what could not be read is no single row. `text` is the row's text, "" where there is none.
    """

    file: str
    record: str
    reason: str
    line: int | None = None
    column: int | None = None
    text: str = ""

    @property
    def reference(self) -> str:
        """`FILE:RECORD`, such as `train.jsonl:line 12`."""
        return f"{self.file}:{self.record}"

    @property
    def value(self) -> JsonObject:
        """The line for it in a file of rejected rows."""
        return {
            "file": self.file,
            "record": self.record,
            "line": self.line,
            "column": self.column,
            "error": self.reason,
            "text": self.text,
        }


def missing_library(name: str, use: str) -> MissingLibraryError:
    """The error for a library of the extra `data` that is not installed; `use` is what needs it: "Counting tokens"."""
    return MissingLibraryError(f"{use} needs `{name}`, which is not installed: pip install 'weaklink[data]'")
