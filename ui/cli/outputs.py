"""Where commands write: a file that is whole or not there, or standard output."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

from ui.cli.inputs import STDIN
from ui.reports.whole_file import UnwritableFileError, whole_file

__all__ = ["UnwritableFileError", "open_output"]


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A stream of UTF-8 text: the file at `path`, or stdout where it is None or `-`.

    A file takes its place, readable by its owner only, when all is written; if anything fails, what was there stays.
    Raises UnwritableFileError.
    """
    if path is not None and path != STDIN:
        with whole_file(path) as stream:
            yield stream
        return
    out = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
    try:
        yield out
    finally:
        out.detach()
