"""`weaklink stats`: metrics of traces in files or a database, with intervals, groups and comparisons."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby

import click
from msgspec import Struct, structs

from weaklink.inspector.chain import metrics_groups
from weaklink.inspector.chain.metrics import FEWEST, MEASURES, Measure, MeasureKind, estimate
from weaklink.inspector.chain.metrics_figures import TraceFigures
from weaklink.inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from weaklink.inspector.errors import UnknownFormatError, UnreadableFileError
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import ToolDefinition, Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.derived_rows import figures_in
from weaklink.storage.reading import NO_TRACES_YET
from weaklink.storage.statistics import Prompt, Violations, keys_of, prompt_of
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.ui.cli import declaring, stats_options
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.declaring import COULD_NOT_RUN
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.cli.paths import placed_files, records_of
from weaklink.ui.cli.store_options import (
    LOCK_TIMEOUT_S,
    fill_text_index,
    paths_and_filter,
    recover_traces,
)
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import placed_block, plan_traces
from weaklink.ui.importing.engine import EngineOptions, needs_blocks
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.json_types.database import (
    ComparisonJson,
    CountedNameJson,
    StatisticJson,
    StatisticsGroupJson,
    StatisticsJson,
)
from weaklink.ui.views.stats import Statistics, kind_counts, said_counts, statistics_lines

_MAX_PRINTED = 5
_PAGE = 500
_MAX_VIOLATIONS = 1_000
_MAX_PROMPTS = 100
_expected = cache(stats_options.read_expected)


@declaring.command("stats")
@click.argument("words", metavar="[PATH|FILTER]...", nargs=-1)
@click.option("--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces that match, as in `list`.")
@click.option(
    "--by",
    multiple=True,
    metavar="KEYS",
    help="Group by model, tool, format, source, reasoning, prompt, code, layer, owner or day; commas separate.",
)
@click.option("--compare", "compares", is_flag=True, help="Show which groups differ significantly.")
@click.option(
    "--min",
    "fewest",
    default=FEWEST,
    show_default=True,
    type=click.IntRange(min=2),
    metavar="N",
    help="Minimum number of traces for an interval or a comparison.",
)
@click.option("--expected", "expected_path", metavar="FILE", help="JSON lines with the expected calls of each task.")
@click.option("--source", metavar="NAME", help="Treat every PATH as this source instead of detecting it.")
@click.option("--full", is_flag=True, help="Show every group with every measure.")
@jobs_options
@declaring.json_option
@declaring.database_option
@declaring.color_option
@click.pass_context
def stats(
    ctx: click.Context,
    words: tuple[str, ...],
    *,
    expression: str,
    by: tuple[str, ...],
    compares: bool,
    fewest: int,
    expected_path: str | None,
    source: str | None,
    full: bool,
    jobs: EngineOptions,
    as_json: bool,
    where: str | None,
    color: str,
) -> None:
    """Measure traces in the database or in files: how often calls are valid, chains succeed and errors are recovered.

    \b
    weaklink stats --by model,reasoning
    weaklink stats since:1d --by tool
    weaklink stats --compare model=hermes-4 model=qwen3
    weaklink stats logs/ --by day
    weaklink stats s3://bucket/runs/ --engine ray

    Every value has a 95 % interval, which does not assume that calls of one trace are independent. With --compare,
    p-values are corrected for multiple comparisons. Tool selection and parameter accuracy require --expected: lines of
    {"id", "expected": [{"name", "arguments"}]}, or of the Berkeley leaderboard's possible answers.
    """
    named = [word for word in words if compares and stats_options.is_compared_group(word)]
    paths, expression = paths_and_filter([word for word in words if word not in named], expression)
    sides = stats_options.parse_compared_groups(named)
    keys = stats_options.parse_group_keys(by) if sides is None else sides.by
    _check(paths, expression, by, source, sides, compares=compares)
    expected = stats_options.read_expected(expected_path)
    is_failed = False
    if paths:
        if needs_blocks(paths) or not jobs.is_plain:
            sums = count_blocks(paths, BlockCounter(keys, expected_path, source), jobs)
        else:
            reader = FileStatistics(keys, expected)
            with placed_files(paths, source) as files:
                for file in files:
                    _notice_rest(file.name, reader.read(file, source))
            sums = reader.sums
        statistics, is_failed = sums.statistics(sides, compares=compares, fewest=fewest), sums.is_failed
    else:
        with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
            recover_traces(store)
            if expression:
                fill_text_index(store)
            statistics = stored_statistics(
                store, expression, keys, sides=sides, compares=compares, expected=expected, fewest=fewest
            )
    _report(statistics, _nothing(expression, paths), as_json=as_json, full=full, color=color)
    if is_failed or (paths and statistics.whole is None):
        ctx.exit(COULD_NOT_RUN)


def _report(statistics: Statistics, nothing: str, *, as_json: bool, full: bool, color: str) -> None:
    if as_json:
        sys.stdout.write(write_json(statistics_object(statistics)) + "\n")
    if statistics.whole is None:
        print_notice(nothing)
    elif not as_json:
        print_lines(statistics_lines(statistics, width=screen_width(), full=full), color=color)


def _check(
    paths: list[str],
    expression: str,
    by: tuple[str, ...],
    source: str | None,
    sides: stats_options.ComparedGroups | None,
    *,
    compares: bool,
) -> None:
    if paths and expression:
        raise click.UsageError("a filter queries the database; import the files to filter them, or omit --filter.")
    if source and not paths:
        raise click.UsageError(
            "--source sets how files are read, but no PATH is given; `--filter source:NAME` filters."
        )
    if sides is not None and by:
        raise click.UsageError("named groups such as `model=a model=b` cannot be combined with --by; omit one of them.")
    if compares and sides is None and not by:
        raise click.UsageError("--compare requires groups: `--by model`, or `model=a model=b`.")


def _nothing(expression: str, paths: list[str]) -> str:
    if paths:
        return "no trace could be read, so there is nothing to measure"
    if expression:
        return "no trace matches this filter, so there is nothing to measure; `weaklink list` shows the traces"
    return NO_TRACES_YET


def statistics_object(statistics: Statistics) -> StatisticsJson:
    """The answer of `weaklink stats --json`. Shares are from 0 to 1; `low` and `high` bound 95 %, or are null."""
    return {
        "traces": statistics.whole.traces if statistics.whole else 0,
        "uncounted": statistics.uncounted,
        "by": [key.value for key in statistics.by],
        "fewest": statistics.fewest,
        "measures": _measures(statistics.whole, statistics.fewest) if statistics.whole else {},
        "groups": [_group(statistics, group) for group in statistics.groups],
        "breaks": {"steps": _slices(statistics.steps), "codes": _slices(statistics.codes)},
        "aborts": _slices(statistics.aborts),
        "result_kinds": dict(kind_counts(statistics.verdicts)),
        "said": dict(said_counts(statistics.verdicts)),
        "violations": [
            {
                "tool": violation.tool,
                "path": violation.path,
                "code": violation.code,
                "times": violation.times,
                "traces": violation.traces,
            }
            for violation in statistics.violations
        ],
        "baseline": _keys(statistics.by, statistics.baseline.keys) if statistics.baseline else None,
        "comparisons": [_comparison(statistics, comparison) for comparison in statistics.comparisons],
    }


def _group(statistics: Statistics, group: metrics_groups.GroupFigures) -> StatisticsGroupJson:
    keys = _keys(statistics.by, group.keys)
    known = [
        statistics.prompts.get(value)
        for key, value in zip(statistics.by, group.keys, strict=True)
        if key is metrics_groups.GroupKey.PROMPT
    ]
    prompt = known[0] if known else None
    return {
        "keys": keys,
        "prompt": {"words": prompt.words, "tools": prompt.tools} if prompt is not None else None,
        "schema": _schema(statistics, group),
        "traces": group.traces,
        "measures": _measures(group, statistics.fewest),
    }


def _schema(statistics: Statistics, group: metrics_groups.GroupFigures) -> dict[str, int] | None:
    """The complexity of the schema of a group's tool; None if unknown."""
    tools = [value for key, value in zip(statistics.by, group.keys, strict=True) if key is metrics_groups.GroupKey.TOOL]
    schema = statistics.schemas.get(tools[0]) if tools else None
    return None if schema is None else structs.asdict(schema)


def _keys(by: Sequence[metrics_groups.GroupKey], values: Sequence[str]) -> dict[str, str | None]:
    """The keys of a group; null if a trace's value is unknown. An unreadable tool's name is `""`."""
    return {
        key.value: value if value or key is metrics_groups.GroupKey.TOOL else None
        for key, value in zip(by, values, strict=True)
    }


def _measures(group: metrics_groups.GroupFigures, fewest: int) -> dict[str, StatisticJson]:
    return {measure.name: _statistic(measure, group, fewest) for measure in MEASURES}


def _statistic(measure: Measure, group: metrics_groups.GroupFigures, fewest: int) -> StatisticJson:
    estimated = estimate(measure, group.tally(measure.name), fewest)
    return {
        "value": estimated.value,
        "low": estimated.interval.low if estimated.interval else None,
        "high": estimated.interval.high if estimated.interval else None,
        "hits": estimated.tally.hits,
        "trials": estimated.tally.trials,
        "traces": estimated.tally.traces,
        "kind": "mean" if measure.kind is MeasureKind.MEAN else "share",
        "absent": measure.absent if estimated.value is None else None,
    }


def _slices(slices: Sequence[metrics_groups.Slice]) -> list[CountedNameJson]:
    return [{"value": counted.value, "traces": counted.traces} for counted in slices]


def _comparison(statistics: Statistics, comparison: metrics_groups.MeasureComparison) -> ComparisonJson:
    seen = comparison.difference
    return {
        "keys": _keys(statistics.by, comparison.group.keys),
        "measure": comparison.measure.name,
        "difference": seen.value if seen else None,
        "low": seen.interval.low if seen else None,
        "high": seen.interval.high if seen else None,
        "p": seen.p if seen else None,
        "adjusted_p": comparison.adjusted_p,
        "more_than_noise": comparison.is_more_than_noise,
    }


class StatisticsSums:
    """The sums over some traces; they can be sent to another process, and merged in any order.

    `is_failed`: a file could not be read to its end. Of a prompt's hash the first prompt is kept, of a tool the last
    schema.
    """

    def __init__(self, by: Sequence[metrics_groups.GroupKey] = ()) -> None:
        self.by = tuple(by)
        self.is_failed = False
        self.whole, self.groups = metrics_groups.FigureGroups(), metrics_groups.FigureGroups(by)
        aspects = (metrics_groups.Aspect.STEP, metrics_groups.Aspect.CODE, metrics_groups.Aspect.ABORT)
        self.slices = tuple(map(metrics_groups.FigureSlices, aspects))
        self.violations: dict[tuple[str, str, str], Violations] = {}
        self.verdicts: Counter[tuple[str, str]] = Counter()
        self.prompts: dict[str, Prompt] = {}
        self.schemas: dict[str, SchemaComplexity] = {}
        self._measured: tuple[ToolDefinition, ...] = ()

    def add(self, trace: Trace, inspection: Inspection, figures: TraceFigures) -> None:
        """Count a trace."""
        keys = keys_of(trace, inspection)
        self.whole.add(keys, figures)
        self.groups.add(keys, figures)
        for slices in self.slices:
            slices.add(keys, figures)
        for step in inspection.chain.steps:
            if step.result_kind is not None:
                self.verdicts[step.result_kind.value, step.said.value if step.said is not None else ""] += 1
        for violation in figures.violations:
            self._count_violation(Violations(violation.tool, violation.path, violation.code, violation.times, 1))
        for turn in trace.turns if metrics_groups.GroupKey.TOOL in self.by else ():
            tools = turn.generation.tools if turn.generation is not None else ()
            if tools is not self._measured:  # most turns offer the same tuple of tools
                self._measured = tools
                self.schemas |= {tool.name: schema_complexity(tool) for tool in tools}
        if keys.prompt and metrics_groups.GroupKey.PROMPT in self.by and keys.prompt not in self.prompts:
            self.prompts[keys.prompt] = prompt_of(trace)

    def merge(self, other: "StatisticsSums") -> None:
        """Add the sums of other traces."""
        self.whole.merge(other.whole)
        self.groups.merge(other.groups)
        for mine, theirs in zip(self.slices, other.slices, strict=True):
            mine.merge(theirs)
        for violation in other.violations.values():
            self._count_violation(violation)
        self.verdicts.update(other.verdicts)
        self.prompts = {**other.prompts, **self.prompts}
        self.schemas |= other.schemas
        self.is_failed = self.is_failed or other.is_failed

    def statistics(self, sides: stats_options.ComparedGroups | None, *, compares: bool, fewest: int) -> Statistics:
        """The figures of all counted traces. Raises UsageError for a group without traces."""
        whole = self.whole.all()
        steps, codes, aborts = (slices.all() for slices in self.slices)
        groups = self.groups.all() if self.by else []
        return Statistics(
            whole[0] if whole else None,
            self.by,
            steps=steps,
            codes=codes,
            aborts=aborts,
            verdicts=dict(self.verdicts),
            violations=sorted(
                self.violations.values(),
                key=lambda violation: (-violation.times, violation.tool, violation.path, violation.code),
            ),
            prompts=self.prompts,
            schemas=self.schemas,
            fewest=fewest,
            **stats_options.select_groups(groups, sides, compares=compares, fewest=fewest),
        )

    def _count_violation(self, violation: Violations) -> None:
        key = (violation.tool, violation.path, violation.code)
        known = self.violations.get(key, Violations(*key, 0, 0))
        self.violations[key] = Violations(*key, known.times + violation.times, known.traces + violation.traces)


class FileStatistics:
    """Adds up the figures of files in `sums`; calls `notify` with a sentence on what is unreadable or left out."""

    def __init__(
        self,
        by: Sequence[metrics_groups.GroupKey],
        expected: stats_options.Expected,
        notify: Callable[[str], None] = print_notice,
    ) -> None:
        self.sums = StatisticsSums(by)
        self._expected, self._notify = expected, notify
        self._redactor = Redactor()

    def read(self, file: InputFile, source: str | None) -> int:
        """Count the traces of a file. Returns how many records were skipped without a notice.

        A file of an unknown source is reported, but is not a failure.
        """
        skipped = 0
        is_ours = False
        try:
            for record in records_of(file, source):
                is_ours = True
                if isinstance(record, Trace):
                    self._add(self._redactor.trace(record))
                    continue
                skipped += 1
                if skipped <= _MAX_PRINTED:
                    self._notify(f"{record.file or file.name}, {record.record}: {self._redactor.text(record.reason)}")
        except UnreadableFileError as error:
            self.sums.is_failed = self.sums.is_failed or is_ours or not file.is_readable
            self._notify(str(error))
        return max(skipped - _MAX_PRINTED, 0)

    def _add(self, trace: Trace) -> None:
        try:
            inspection = inspect_trace(trace)
        except UnknownFormatError as error:
            self._notify(f"{trace.provenance.file}, {trace.provenance.record}: {error}")
            return
        figures = figures_in(trace, inspection)
        expected_id = stats_options.id_among(
            ((external_id.name, external_id.value) for external_id in trace.external_ids), self._expected
        )
        if expected_id is not None:
            figures = stats_options.with_expected(figures, inspection, self._expected[expected_id])
        self.sums.add(trace, inspection, figures)


class BlockStatistics(Struct, frozen=True):
    """The result of one block: its sums, its notices, and how many records it skipped without a notice."""

    sums: StatisticsSums
    notices: tuple[str, ...]
    left_out: int


class BlockCounter(Struct, frozen=True):
    """Counts the traces of a block; it can be sent to another process."""

    by: tuple[metrics_groups.GroupKey, ...] = ()
    expected_path: str | None = None
    source: str | None = None

    def __call__(self, block: Block) -> Iterator[BlockStatistics]:
        """Yield one answer, at the end of the block."""
        notices: list[str] = []
        counted = FileStatistics(self.by, _expected(self.expected_path), notices.append)
        with placed_block(block) as file:
            left_out = counted.read(file, self.source)
        yield BlockStatistics(counted.sums, tuple(notices), left_out)


def count_blocks(paths: Sequence[str], counter: BlockCounter, jobs: EngineOptions) -> StatisticsSums:
    """The sums over all blocks of paths. A block that failed repeatedly is reported, and counts as a failure."""
    whole = StatisticsSums(counter.by)
    pieces = run_blocks(plan_traces(paths, counter.source, jobs.block_bytes), counter, jobs)
    for path, pieces_of_file in groupby(pieces, lambda piece: piece.block.path):
        printed = left_out = 0
        for piece in pieces_of_file:
            for answer in piece.answers:
                whole.merge(answer.sums)
                for notice in answer.notices[: _MAX_PRINTED - printed]:
                    print_notice(notice)
                left_out += answer.left_out + max(len(answer.notices) - (_MAX_PRINTED - printed), 0)
                printed = min(printed + len(answer.notices), _MAX_PRINTED)
            if piece.failed:
                whole.is_failed = True
                print_notice(f"{piece.block.name} was set aside: {piece.failed}")
        _notice_rest(path, left_out)
    return whole


def _notice_rest(path: str, left_out: int) -> None:
    if left_out:
        print_notice(f"{path}: {left_out:,} more records were skipped")


def stored_statistics(
    store: Store,
    expression: str,
    by: Sequence[metrics_groups.GroupKey],
    *,
    sides: stats_options.ComparedGroups | None,
    compares: bool,
    expected: stats_options.Expected,
    fewest: int,
) -> Statistics:
    """The figures of the traces that match a filter. Raises FilterError, and UsageError for a group without traces."""
    whole, groups = store.statistics.figures(expression), store.statistics.figures(expression, by=by) if by else []
    if expected and whole:
        in_all, in_groups = metrics_groups.FigureGroups(), metrics_groups.FigureGroups(by)
        for summary in _expected_traces(store, expression, expected):
            _count(store, summary, expected, (in_all, in_groups))
        whole = stats_options.with_agreement(whole, in_all)
        if metrics_groups.GroupKey.TOOL not in by:
            groups = stats_options.with_agreement(groups, in_groups)
    shown = stats_options.select_groups(groups, sides, compares=compares, fewest=fewest)
    return Statistics(
        whole[0] if whole else None,
        tuple(by),
        steps=store.statistics.breakdown(metrics_groups.Aspect.STEP, expression),
        codes=store.statistics.breakdown(metrics_groups.Aspect.CODE, expression),
        aborts=store.statistics.breakdown(metrics_groups.Aspect.ABORT, expression),
        verdicts=store.statistics.verdicts_of_calls(expression),
        violations=store.statistics.violations(expression, limit=_MAX_VIOLATIONS),
        prompts=store.statistics.prompts(_values(shown["groups"], by, metrics_groups.GroupKey.PROMPT)[:_MAX_PROMPTS]),
        schemas=store.statistics.schemas(_values(shown["groups"], by, metrics_groups.GroupKey.TOOL)),
        uncounted=store.statistics.uncounted(expression),
        fewest=fewest,
        **shown,
    )


def _values(
    groups: Sequence[metrics_groups.GroupFigures], by: Sequence[metrics_groups.GroupKey], key: metrics_groups.GroupKey
) -> list[str]:
    """The distinct values of a key among groups; none if they are not grouped by it."""
    if key not in by:
        return []
    index = list(by).index(key)
    return list(dict.fromkeys(group.keys[index] for group in groups if group.keys[index]))


def _expected_traces(store: Store, expression: str, expected: stats_options.Expected) -> Iterator[TraceSummary]:
    after: ListCursor | None = None
    while page := store.traces(expression, limit=_PAGE, after=after):
        yield from (
            summary for summary in page if stats_options.id_among(summary.external_ids.items(), expected) is not None
        )
        after = page[-1].cursor


def _count(
    store: Store, summary: TraceSummary, expected: stats_options.Expected, sums: Sequence[metrics_groups.FigureGroups]
) -> None:
    expected_id = stats_options.id_among(summary.external_ids.items(), expected)
    assert expected_id is not None  # `_expected_traces` yields only such traces
    trace, inspection = store.inspected(summary.id)
    figures = stats_options.with_expected(figures_in(trace, inspection), inspection, expected[expected_id])
    for groups in sums:
        groups.add(keys_of(trace, inspection), figures)
