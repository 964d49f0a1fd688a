"""Where a trace stands among others: what the dissector asks of the list that it was opened from."""

from collections.abc import Awaitable
from typing import Protocol


class Siblings(Protocol):
    """A list of traces."""

    def beside(self, id: int, by: int) -> Awaitable[int | None]:
        """The id of the trace that stands `by` places behind this one; None at an end."""
        ...
