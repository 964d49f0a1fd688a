"""What the dashboard's process says on the terminal: the words of a trace may be in it, so every character shows."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

from ui.views.visible import visible


class VisibleStream(io.TextIOBase):
    """A stream before another one, to which it hands on what is written as something to read."""

    def __init__(self, to: TextIO) -> None:
        self._to = to

    def write(self, text: str, /) -> int:
        """Write what a reader can see of `text`."""
        self._to.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Hand on what waits."""
        self._to.flush()

    def writable(self) -> bool:
        """It always is."""
        return True


@contextmanager
def visible_output() -> Iterator[None]:
    """Whatever writes to the terminal in this block cannot steer it; to be begun before loggers take its streams."""
    with redirect_stdout(VisibleStream(sys.stdout)), redirect_stderr(VisibleStream(sys.stderr)):
        yield
