"""What became of a trace that was saved."""

from enum import StrEnum

from msgspec import Struct


class Verdict(StrEnum):
    """What the store did with a trace that was saved."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


class Saved(Struct, frozen=True):
    """The result of saving one trace: its id in the store, and what the store did with it."""

    id: int
    verdict: Verdict
