"""`weaklink data score`: the quality of each call in four dimensions, as columns, as a filter, or as a table."""

import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import cache

import click
from msgspec import Struct, field

from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.dataset.scoring import DIMENSIONS, CallScore, SampleScore, score_sample
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Role
from weaklink.inspector.segmentation import AUTO
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.data.options import (
    NO_ANSWERS,
    NO_CALLS,
    end,
    map_rows,
    output_option,
    paths_argument,
    rejected_option,
    rejected_rows,
    row_output,
)
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.cli.stats_options import read_expected
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.views.styled_text import visible_line

_COLUMN = "score"
_expected = cache(read_expected)


@declaring.command("score")
@paths_argument
@click.option("--expected", metavar="FILE", help="JSON lines of the calls that each sample should have.")
@click.option(
    "--min", "minimum", type=click.FloatRange(0, 1), metavar="X", help="Keep rows with at least this overall score."
)
@click.option(
    "--by", type=click.Choice(["tool", "model"]), default="tool", show_default=True, help="Group the table by this."
)
@click.option("--format", default=AUTO, metavar="NAME", help="Read every text in this format.")
@output_option
@declaring.json_option
@jobs_options
@rejected_option
def score(
    paths: tuple[str, ...],
    *,
    columns: Mapping[str, str],
    expected: str | None,
    minimum: float | None,
    by: str,
    format: str,
    output: str | None,
    as_json: bool,
    jobs: EngineOptions,
    rejected: str | None,
) -> None:
    """Score each call: completeness, accuracy, type precision, no hallucination, and overall.

    The reference is --expected (lines of {"id", "expected": [{"name", "arguments"}]}, or of the Berkeley leaderboard's
    possible answers), else the row's own `expected` or `ground_truth`. Without a reference, accuracy and type
    precision are not measured. Prints a table, or with --json a line for each sample; --output writes the rows with a
    column `score`.

    \b
    Examples:
      weaklink data score train.jsonl --expected truth.jsonl
      weaklink data score train.jsonl --min 0.9 --output good.parquet
    """
    work = RowScorer(format, expected)
    table = _Table()
    writes = output is not None or (minimum is not None and not as_json)
    with rejected_rows(rejected, paths) as unread, row_output(output, paths) if writes else nullcontext() as writer:
        for scored in map_rows(paths, work, unread, jobs=jobs, label="Scoring", columns=columns):
            assert not isinstance(scored, RejectedRow)  # `keep_rejected` is off
            table.rows += 1
            table.answered += scored.is_answered
            if minimum is not None and scored.score.overall < minimum:
                continue
            table.add(scored, by)
            if as_json:
                sys.stdout.write(write_json(scored.line) + "\n")
            if writer is not None:
                writer.write({**scored.row, _COLUMN: scored.column})
    if not as_json and writer is None:
        sys.stdout.writelines(f"{line}\n" for line in table.lines(by))
    if minimum is not None:
        print_notice(f"{table.kept:,} of {table.rows:,} samples have an overall score of {minimum} or more")
    table.print_notices()
    end(paths, table.rows, unread.count)


class ScoredRow(Struct, frozen=True):
    """A row with its score."""

    file: str
    record: str
    id: str | None
    model: str
    row: JsonObject
    score: SampleScore
    is_answered: bool = True

    @property
    def line(self) -> JsonObject:
        """The line of `--json`."""
        calls: list[Json] = [call.value for call in self.score.calls]
        return {"id": self.id, "file": self.file, "record": self.record, "overall": self.score.overall, "calls": calls}

    @property
    def column(self) -> JsonObject:
        """The value of the column `score`."""
        means: JsonObject = {name: self.score.mean(name) for name in DIMENSIONS}
        return {**means, "overall": self.score.overall, "calls": [call.value for call in self.score.calls]}


class RowScorer(Struct, frozen=True):
    """Scores one row; it can be sent to another process."""

    format: str = AUTO
    expected: str | None = None

    def __call__(self, row: DataRow) -> ScoredRow | RejectedRow:
        """The score of a row, against the file of expected calls if that has the row's id.

        A row without a conversation, or whose own reference cannot be read, is rejected.
        """
        sample = read_sample(row, format=self.format)
        if sample.shape is None:
            return row.rejected(f"the row has {refusal(row.value)}")
        reference = _expected(self.expected).get(sample.id or "") if self.expected else None
        try:
            score = score_sample(sample, reference)
        except ValueError as error:
            return row.rejected(str(error))
        model = row.value.get("model")
        return ScoredRow(
            row.file,
            row.record,
            sample.id,
            model if isinstance(model, str) else "",
            row.value,
            score,
            any(turn.role is Role.ASSISTANT for turn in sample.trace.turns),
        )


_MEANS = (*DIMENSIONS, "overall")


class _Means(Struct):
    """The means of some calls' scores, kept as sums; a dimension counts only if it was measured."""

    calls: int = 0
    sums: list[float] = field(default_factory=lambda: [0.0] * len(_MEANS))
    counts: list[int] = field(default_factory=lambda: [0] * len(_MEANS))

    def add(self, call: CallScore) -> None:
        self.calls += 1
        for index, name in enumerate(_MEANS):
            value = getattr(call, name)
            if value is not None:
                self.sums[index] += value
                self.counts[index] += 1

    def line(self, name: str, width: int) -> str:
        sums = zip(self.sums, self.counts, strict=True)
        means = (format(total / count, ".3f") if count else "-" for total, count in sums)
        return f"{name:{width}}  {self.calls:>7,}  " + "  ".join(f"{mean:>16}" for mean in means)


class _Table(Struct):
    rows: int = 0
    answered: int = 0
    kept: int = 0
    scores: dict[str, _Means] = field(default_factory=dict)
    all: _Means = field(default_factory=_Means)

    def add(self, scored: ScoredRow, by: str) -> None:
        self.kept += 1
        for call in scored.score.calls:
            self.scores.setdefault(call.tool if by == "tool" else scored.model, _Means()).add(call)
            self.all.add(call)

    def print_notices(self) -> None:
        """Report on stderr why nothing could be scored, if nothing was."""
        if self.rows and not self.answered:
            print_notice(NO_ANSWERS)
        elif self.rows and not self.all.calls:
            print_notice(NO_CALLS)

    def lines(self, by: str) -> Iterable[str]:
        width = max([len(by), 5, *(min(len(name), 40) for name in self.scores)])
        yield f"{by:{width}}  {'calls':>7}  " + "  ".join(f"{name:>16}" for name in _MEANS)
        for name, means in sorted(self.scores.items(), key=lambda row: (-row[1].calls, row[0])):
            yield means.line(visible_line(name)[:40] or "-", width)
        yield self.all.line("all", width)
