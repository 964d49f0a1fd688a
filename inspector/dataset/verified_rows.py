"""Rows of candidates with the verdicts of verifiers: the unit that `weaklink data verify` works on."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.dataset.atropos import is_group, rollouts
from inspector.dataset.candidates import row_candidate
from inspector.dataset.rejection import group_key
from inspector.dataset.rows import DataRow, RejectedRow
from inspector.dataset.verifiers import find_verifier, run_verifier
from inspector.diagnostics import Diagnostic
from inspector.errors import UnknownFormatError
from inspector.importers.source import JsonObject
from inspector.model import Trace

_SCORES = ("score", "reward", "quality_score")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Which verifiers run, by name, with which rules, in which format; `score` names the column to rank by."""

    verifiers: tuple[str, ...] = ("tool-use",)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    format: str = ""
    score: str | None = None


@dataclass(frozen=True, slots=True)
class VerifiedRow:
    """One candidate with its verdicts, as (verifier, diagnostics that made it fail), and what ranks and groups it."""

    row: DataRow
    id: str | None
    trace: Trace
    verdicts: tuple[tuple[str, tuple[Diagnostic, ...]], ...]
    group: str
    score: float

    @property
    def passed(self) -> bool:
        """Whether it passed every verifier."""
        return not any(found for _, found in self.verdicts)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the rules that made it fail, each once."""
        return tuple(sorted({one.rule.code for _, found in self.verdicts for one in found}))


def verify_row(row: DataRow, options: VerifyOptions) -> Iterator[VerifiedRow | RejectedRow]:
    """The verdicts of a row's candidate, or of each rollout of an Atropos group; a RejectedRow where it has none."""
    try:
        for one in _candidates(row):
            yield _verified(one, options)
    except (ValueError, UnknownFormatError) as error:
        line = row.number if row.record.startswith("line ") else None
        yield RejectedRow(
            row.file, row.record, str(error), line, 1 if line else None, row.raw.decode("utf-8", "replace")
        )


def _candidates(row: DataRow) -> Iterator[DataRow]:
    if not is_group(row.value):
        yield row
        return
    for at, value in enumerate(rollouts(row.value, f"{row.file}:{row.record}"), 1):
        yield DataRow(row.file, f"{row.record}, rollout {at}", row.number, value)


def _verified(row: DataRow, options: VerifyOptions) -> VerifiedRow:
    candidate = row_candidate(row.value, format=options.format)
    verdicts = tuple(
        (name, run_verifier(find_verifier(name), candidate, select=options.select, ignore=options.ignore).diagnostics)
        for name in options.verifiers
    )
    names = _SCORES if options.score is None else (options.score,)
    values = (row.value.get(name) for name in names)
    score = next((float(one) for one in values if isinstance(one, int | float) and not isinstance(one, bool)), 0.0)
    return VerifiedRow(row, _id_of(row.value), candidate.trace, verdicts, group_key(row.value), score)


def _id_of(row: JsonObject) -> str | None:
    value = row.get("id")
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
