"""Which importer knows a file best, and why, in words that a reader of the report can check."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.importers.source import Importer

_CLOSE = 0.25


@dataclass(frozen=True, slots=True)
class Recognised:
    """The importer that reads a file, and one sentence on why it is that one."""

    importer: Importer
    why: str


def surest(scores: Sequence[tuple[float, Importer]]) -> Recognised | None:
    """The importer that is surest of a file, the first of several that are equally sure; None where none knows it.

    The sentence tells the signs and the sureness; the runner-up too, where it was less than a quarter behind.
    """
    ranked = sorted(scores, key=lambda scored: -scored[0])
    if not ranked or ranked[0][0] <= 0:
        return None
    sureness, importer = ranked[0]
    why = f"It has what `{importer.name}` files have: {signs_of(importer)} (sureness {sureness:.2g} of 1)"
    return Recognised(importer, f"{why}{_runner_up(sureness, ranked[1:])}.")


def named(importer: Importer) -> Recognised:
    """The importer that the user named; what the file holds was not asked."""
    return Recognised(importer, f"`--source {importer.name}` names it; what the file holds was not asked.")


def signs_of(importer: Importer) -> str:
    """What the importer knows its files by, in its own words where it has some."""
    return str(getattr(importer, "signs", "")) or "its importer finds in the first rows what it looks for"


def _runner_up(sureness: float, others: Sequence[tuple[float, Importer]]) -> str:
    if not others or others[0][0] <= 0 or sureness - others[0][0] > _CLOSE:
        return ""
    second, importer = others[0]
    return f"; `{importer.name}` came close with {second:.2g}, for {signs_of(importer)}"
