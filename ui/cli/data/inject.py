"""`weaklink data inject`: make error-recovery samples from good ones, each verified before it is written."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from functools import partial
from math import ceil

import click
from msgspec import Struct, field

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.faults_to_inject import DEFAULT_RATES, KINDS
from weaklink.inspector.dataset.injection import InjectedRow, NotInjected, inject_faults, known_kinds
from weaklink.inspector.dataset.loss_marks import Trainer
from weaklink.inspector.dataset.rows import RowWriter
from weaklink.inspector.dataset.samples import as_listed
from weaklink.inspector.importers.source import JsonObject
from weaklink.ui.cli import declaring
from weaklink.ui.cli.data.options import make_rows, making_options, paths_argument
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.views.styled_text import counted

_RESERVE_ROWS = 1_000
_MARGIN = 1.5  # rows tried per row needed: some rows have no place for a fault
_MAX_INJECTIONS = 8


@declaring.command("inject")
@paths_argument
@click.option(
    "--rates",
    metavar="KIND=N,...",
    help=f"Which kinds of faults, and how often each: wrong-type=3,timeout=1. Kinds: {', '.join(KINDS)}.",
)
@click.option(
    "--share",
    type=click.FloatRange(0.0, 0.95),
    default=0.15,
    show_default=True,
    metavar="SHARE",
    help="Share of injected rows among all that are written.",
)
@click.option(
    "--trainer",
    type=click.Choice([trainer.value for trainer in Trainer]),
    default="openai",
    show_default=True,
    help="Whose mark leaves the message with the fault out of the loss: weight: 0, train: false, loss_weight: 0, "
    "loss: false, or no mark.",
)
@click.option("--only-injected", is_flag=True, help="Omit the copies of the rows: one injected row for each row.")
@making_options
def inject(
    paths: tuple[str, ...],
    *,
    columns: Mapping[str, str],
    rates: str | None,
    share: float,
    only_injected: bool,
    trainer: str,
    output: str | None,
    rejected: str | None,
    jobs: EngineOptions,
    seed: int,
) -> None:
    """Make error-recovery samples: a fault in one call, the tool's refusal, and the corrected call.

    Every row is copied, and some are written again with a fault. A faulty row is written only if weaklink's own
    inspection finds exactly that fault, at its position, and calls the chain recovered. It has the new column
    `injected`: the rule and the position of the fault, the seed and the row that it was made from.

    \b
    Examples:
      weaklink data inject train.jsonl --share 0.15 --seed 7 --output train.recovery.jsonl
      weaklink data inject train.parquet --only-injected --rates malformed-json=1 --output broken.parquet
    """
    weights = _rates(rates)
    needed = 1.0 if only_injected else share / (1 - share)
    work = partial(_variants, seed=seed, rates=weights, needed=needed, trainer=Trainer(trainer))
    mix = _Mix(needed, copies=not only_injected)
    make_rows(paths, work, mix, output=output, rejected=rejected, jobs=jobs, label="Injecting", columns=columns)


def _variants(
    row: DataRow, *, seed: int, rates: Mapping[str, float], needed: float, trainer: Trainer
) -> tuple[JsonObject, list[InjectedRow | NotInjected]]:
    """The row, and as many injected rows as may be needed of it; deterministic for a seed."""
    row = as_listed(row)
    expected = needed if needed == 1.0 else needed * _MARGIN
    whole = int(expected)
    drawn = row.random(seed, "share").random() < expected - whole
    count = min(whole + drawn, _MAX_INJECTIONS)
    if not count:
        return row.value, []
    return row.value, list(inject_faults(row, seed=seed, rates=rates, count=count, trainer=trainer))


class _Mix(Struct):
    """Writes copies and injected rows so that their ratio stays near the target; surplus waits in a bounded reserve."""

    needed: float
    copies: bool
    rows: int = 0
    injected: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    _reserve: deque[InjectedRow] = field(default_factory=lambda: deque(maxlen=_RESERVE_ROWS))

    def add(self, answer: tuple[JsonObject, Iterable[InjectedRow | NotInjected]], writer: RowWriter) -> None:
        """Write the copy of a row, and the injected rows that are due."""
        row, injection = answer
        self.rows += 1
        if self.copies:
            writer.write(row)
        for variant in injection:
            if isinstance(variant, NotInjected):
                self.skipped[variant.reason] += 1
            else:
                self._reserve.append(variant)
        due = ceil(self.needed * self.rows - 1e-9) if self.copies else self.injected + len(self._reserve)
        while self._reserve and self.injected < due:
            variant = self._reserve.popleft()
            writer.write(variant.value)
            self.injected += 1
            self.kinds[variant.kind] += 1

    def summary(self) -> list[str]:
        """Sentences on the rows that were written, by kind, and skipped, by reason."""
        written = self.injected + (self.rows if self.copies else 0)
        share = f" ({100 * self.injected / written:.1f} % of {written:,})" if written else ""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        lines = [f"{counted(self.injected, 'row')} injected{share}{': ' if kinds else ''}{kinds}"]
        return lines + [f"{counted(count, 'row')} skipped: {reason}" for reason, count in self.skipped.most_common()]


def _rates(text: str | None) -> Mapping[str, float]:
    if text is None:
        return DEFAULT_RATES
    rates: dict[str, float] = {}
    try:
        for word in text.replace(",", " ").split():
            kind, _, weight = word.partition("=")
            rates[kind] = float(weight or 1)
            if not 0 <= rates[kind] < float("inf"):
                raise ValueError(f"`{word}` is not a rate of 0 or more")
        if not any(rates.values()):
            raise ValueError("at least one kind needs a rate above 0")
        return known_kinds(rates)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--rates") from error
