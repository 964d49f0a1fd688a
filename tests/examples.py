"""How many examples a property gets, and how many of its cases a campaign checks, in the gate and elsewhere."""

from collections.abc import Iterable
from typing import TypeVar
from zlib import crc32

from hypothesis import settings

Case = TypeVar("Case")


def in_the_gate(examples: int, *, most: int | None = None) -> settings:
    """Settings for this many examples in the gate, elsewhere for those of the profile, but at most `most`."""
    profile = settings()
    if profile.derandomize:
        return settings(max_examples=examples)
    return settings(max_examples=min(profile.max_examples, most or profile.max_examples))


def one_in(most: int, cases: Iterable[Case], *, seed: str = "") -> list[Case]:
    """Choose one of `most` cases in the gate, for a seed always the same ones and never none; elsewhere all of them.

    A test that calls this is marked `@pytest.mark.campaign`, so that `make test-slow` runs it on all of its cases.
    """
    every = list(cases)
    if not settings().derandomize:
        return every
    chosen = [case for number, case in enumerate(every) if crc32(f"{seed}{number}".encode()) % most == 0]  # no stride
    return chosen or every[:1]
