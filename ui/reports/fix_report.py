"""What a repair of files makes, one trace after the other, and what it leaves."""

from dataclasses import dataclass
from typing import Protocol

from inspector.dataset.repair import Change
from inspector.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of one record: the repairs in its copy, those without a place there, and those that would do harm.

    A repair has no place where its text is no single value of the record.
    """

    path: str
    record: str
    title: str
    changes: tuple[Change, ...]
    unplaced: tuple[Change, ...] = ()
    harmful: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class FixedFile:
    """What became of one file: its traces, the records that gave none, those that are repaired, and how often.

    `left` counts the repairs that were not made. `output` is where the copy lies, None where none was written;
    `refused` a sentence where the file is none that is repaired.
    """

    path: str
    source: str | None = None
    traces: int = 0
    skipped: int = 0
    records: int = 0
    changes: int = 0
    left: int = 0
    output: str | None = None
    refused: str | None = None


class FixReport(Protocol):
    """Says what is repaired, as it is."""

    def repaired(self, repaired: Repaired) -> None:
        """One more record; those of a file come before the file."""
        ...

    def file(self, file: FixedFile) -> None:
        """A file is done."""
        ...

    def close(self) -> None:
        """Everything is done."""
        ...
