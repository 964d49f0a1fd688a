"""Exchanges put aside until their turn comes: beyond a bound they wait in a temporary file that has no name."""

import pickle
from types import TracebackType
from typing import Self

from inspector.sealed_spool import SealedSpool
from inspector.sessions.exchange import Exchange

SPOOL_BYTES = 32 << 20
"""How much is kept in memory."""


class ExchangeShelf:
    """Takes exchanges, and gives each back by its place. A context: behind it nothing is left.

    In memory are some bytes an exchange, and `spool_bytes` of their bodies.
    """

    def __init__(self, *, spool_bytes: int = SPOOL_BYTES) -> None:
        self._spool = SealedSpool(spool_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._spool.close()

    def put(self, exchange: Exchange) -> tuple[int, int]:
        """Put one aside; its place comes back."""
        return self._spool.put(pickle.dumps(exchange, pickle.HIGHEST_PROTOCOL))  # msgspec refuses half a surrogate pair

    def take(self, place: tuple[int, int]) -> Exchange:
        """The exchange at a place."""
        exchange: Exchange = pickle.loads(self._spool.take(place))  # what `put` has written, and nobody else can reach
        return exchange
