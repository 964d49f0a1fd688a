"""Records and files that could not be read, as faults: a check must not pass what it did not read."""

import io
from collections.abc import Iterator

from inspector.diagnostics import Fault
from inspector.errors import UnreadableFileError
from inspector.importers.held_content import HeldContent
from inspector.importers.reading import read_source
from inspector.importers.source import Skipped
from inspector.rules.recording import UNREADABLE_FILE, UNREADABLE_RECORD
from inspector.text import LineIndex, Range

UNREAD_RULES = frozenset({UNREADABLE_RECORD, UNREADABLE_FILE})
"""The rules on what could not be read. They count whichever other rules a user selects."""


def unread_record(skipped: Skipped, text: str) -> Fault:
    """A record that was skipped, as a fault; its range is one character of `text`, the record's own text."""
    start = min(skipped.offset, max(len(text) - 1, 0))
    message = f"This record could not be read: {skipped.reason.removesuffix('.')}."
    return Fault(UNREADABLE_RECORD, Range(start, min(start + 1, len(text))), message)


def unread_file(name: str, reason: str) -> Fault:
    """A file that was refused, or broke off, as a fault at its beginning; `reason` may begin with its name."""
    said = reason.removeprefix(f"{name}: ").removesuffix(".")
    return Fault(UNREADABLE_FILE, Range(0, 0), f"This file could not be read: {said}.")


def unread_in(text: str) -> Iterator[Fault]:
    """What of a file with this text could not be read, each place within the text; its records are lines."""
    with HeldContent(io.BytesIO(text.encode("utf-8", "surrogateescape"))) as content:
        try:
            for record in read_source("file", content=content).records:
                if isinstance(record, Skipped) and not record.is_irrelevant:
                    yield _line_fault(record, LineIndex(text))
        except UnreadableFileError as error:
            yield unread_file("file", str(error))


def _line_fault(skipped: Skipped, lines: LineIndex) -> Fault:
    line = lines.line(int(skipped.record.removeprefix("line ")))
    return unread_record(skipped, line.of(lines.text)).moved(line.start)
