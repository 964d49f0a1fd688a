"""The parsers of inference servers, as far as they are installed beside weaklink; they are never required."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """One server's Hermes parser: `whole` reads a text in one go, `stream` reads one call's payload in deltas of four.

    `goal` is how many times as fast weaklink should be on whole text.
    """

    name: str
    goal: float
    whole: Callable[[str], object]
    stream: Callable[[str], object]


def installed() -> tuple[Peer, ...]:
    """Those that can be imported here."""
    return ()
