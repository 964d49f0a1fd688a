"""Exchanges put aside until their turn comes: beyond a bound they wait in a temporary file that has no name."""

import pickle
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Self

from inspector.sessions.exchange import Exchange

SPOOL_BYTES = 32 << 20
"""How much is kept in memory."""


class ExchangeShelf:
    """Takes exchanges, and gives each back by its place. A context: behind it nothing is left.

    In memory are some bytes an exchange, and `spool_bytes` of their bodies.
    """

    def __init__(self, *, spool_bytes: int = SPOOL_BYTES) -> None:
        self._file = SpooledTemporaryFile(max_size=spool_bytes)  # noqa: SIM115 - closed with the shelf
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def put(self, exchange: Exchange) -> tuple[int, int]:
        """Put one aside; its place comes back."""
        written = pickle.dumps(exchange, pickle.HIGHEST_PROTOCOL)  # msgspec refuses half a surrogate pair
        self._file.seek(self._end)
        self._file.write(written)
        place = (self._end, len(written))
        self._end += len(written)
        return place

    def take(self, place: tuple[int, int]) -> Exchange:
        """The exchange at a place."""
        self._file.seek(place[0])
        exchange: Exchange = pickle.loads(
            self._file.read(place[1])
        )  # what `put` has written, and nobody else can reach
        return exchange
