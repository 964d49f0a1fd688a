"""`weaklink data negatives`: make samples without a call; verify for each that no offered tool fits."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import islice
from math import ceil

import click
from msgspec import Struct, field, structs

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.negatives import (
    KINDS,
    NegativeOptions,
    NegativeRow,
    NoNegative,
    has_call,
    make_negative,
    tool_pool,
)
from weaklink.inspector.dataset.rows import RowWriter
from weaklink.inspector.dataset.samples import as_listed, read_sample, without_rejected
from weaklink.inspector.importers.source import JsonObject
from weaklink.ui.cli import declaring
from weaklink.ui.cli.data.options import data_rows, make_rows, making_options, paths_argument
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.views.styled_text import counted

_POOL_ROWS = 2_000
_RESERVE = 1_000


@declaring.command("negatives")
@paths_argument
@click.option(
    "--share",
    type=click.FloatRange(0.0, 0.9),
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Share of rows without a call among all that are written, including existing ones.",
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Make only this kind. Can be repeated.")
@click.option("--leave-open", is_flag=True, help="Omit the last answer, for a model to write.")
@click.option("--only-negatives", is_flag=True, help="Omit the copies of the rows, and make all possible negatives.")
@making_options
def negatives(
    paths: tuple[str, ...],
    *,
    columns: Mapping[str, str],
    share: float,
    kinds: tuple[str, ...],
    leave_open: bool,
    only_negatives: bool,
    output: str | None,
    rejected: str | None,
    jobs: EngineOptions,
    seed: int,
) -> None:
    """Make samples in which no tool should be called, up to a share of the set, balanced over the tools.

    Every row is copied. New rows are made from its question: without the tool that it needs (`tool-removed`), with the
    tool's result in the user's words (`already-given`), or with unrelated tools of the set (`irrelevant-tools`). They
    have the new column `negative`. docs/training-data-making.md explains when no offered tool fits.

    \b
    Examples:
      weaklink data negatives train.jsonl --share 0.3 --seed 7 --output train.balanced.jsonl
      weaklink data negatives train.jsonl --only-negatives --leave-open --output questions.jsonl
    """
    pool = tool_pool(islice(data_rows(paths, columns), _POOL_ROWS))
    options = NegativeOptions(seed, kinds or KINDS, leave_open, pool)
    work = partial(_made, options=options)
    mix = _Balance(share, copies=not only_negatives)
    make_rows(paths, work, mix, output=output, rejected=rejected, jobs=jobs, label="Negatives", columns=columns)


def _made(row: DataRow, *, options: NegativeOptions) -> tuple[JsonObject, bool, NegativeRow | NoNegative]:
    given, row = row, as_listed(row)
    sample = read_sample(row)
    made = make_negative(sample, options)
    if isinstance(made, NegativeRow):
        made = structs.replace(made, value=without_rejected(given.value, made.value, "in this row"))
    return row.value, has_call(sample), made


class _Balance(Struct):
    """Writes copies and negatives so that the share stays near its target, those of the rarest tool first."""

    share: float
    copies: bool
    rows: int = 0
    without_call: int = 0
    added: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    _reserve: list[NegativeRow] = field(default_factory=list)

    def add(self, answer: tuple[JsonObject, bool, NegativeRow | NoNegative], writer: RowWriter) -> None:
        """Write the copy of a row, and the negatives that are due."""
        row, calls, negative = answer
        self.rows += 1
        self.without_call += not calls
        if self.copies:
            writer.write(row)
        if isinstance(negative, NoNegative):
            self.skipped[negative.reason] += 1
        else:
            self._reserve = [*self._reserve[-_RESERVE:], negative]
        while self._reserve and (not self.copies or self.added < self._due()):
            self._write(writer)

    def _due(self) -> int:
        return ceil((self.share * self.rows - self.without_call) / (1 - self.share) - 1e-9)

    def _write(self, writer: RowWriter) -> None:
        chosen = min(range(len(self._reserve)), key=lambda index: (self.tools[self._reserve[index].tool], index))
        negative = self._reserve.pop(chosen)
        writer.write(negative.value)
        self.added += 1
        self.tools[negative.tool] += 1
        self.kinds[negative.kind] += 1

    def summary(self) -> list[str]:
        """Sentences on the rows that were written, by kind, and skipped, by reason."""
        written = self.added + (self.rows if self.copies else 0)
        without = self.added + (self.without_call if self.copies else 0)
        share = f"; {100 * without / written:.1f} % of {counted(written, 'row')} without a call" if written else ""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        lines = [f"{counted(self.added, 'negative')}{f' ({kinds})' if kinds else ''}{share}"]
        return lines + [f"{counted(count, 'row')} skipped: {reason}" for reason, count in self.skipped.most_common()]
