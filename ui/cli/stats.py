"""`weaklink stats`: metrics of traces in files or a database, with intervals, groups and comparisons."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import click
from msgspec import Struct, structs

from weaklink.inspector.chain import metrics_groups
from weaklink.inspector.chain.metrics import FEWEST, MEASURES, MeasureKind, estimate
from weaklink.inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from weaklink.inspector.errors import UnknownFormatError, UnreadableFileError
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import ToolDefinition, Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage import CallVerdicts, ListCursor, Prompt, Store, TraceSummary, Violations, open_store
from weaklink.storage.derived_rows import figures_in
from weaklink.storage.statistics import keys_of, prompt_of
from weaklink.ui.cli import declaring, stats_options
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.declaring import COULD_NOT_RUN
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.cli.paths import placed_files, records_of
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, paths_and_filter, recover_traces
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import placed_block, plan_traces
from weaklink.ui.importing.engine import EngineOptions, needs_blocks
from weaklink.ui.importing.file_places import PlacedFile
from weaklink.ui.json_types.statistics import (
    ComparisonJson,
    CountedNameJson,
    StatisticJson,
    StatisticsGroupJson,
    StatisticsJson,
)
from weaklink.ui.views.stats import Statistics, kind_counts, said_counts, statistics_lines

_MOST_PRINTED = 5
_PAGE = 500
_MOST_VIOLATIONS = 1_000
_MOST_PROMPTS = 100


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
    complete = True
    if paths and (needs_blocks(paths) or not jobs.is_plain):
        sums = count_blocks(paths, BlockCounter(keys, expected_path, source), jobs)
        found, complete = sums.statistics(sides, compares=compares, fewest=fewest), not sums.failed
    elif paths:
        sums = FileStatistics(keys, expected)
        with placed_files(paths, source) as files:
            for file in files:
                sums.read(file, source)
                sums.report_rest(file.name)
        found, complete = sums.statistics(sides, compares=compares, fewest=fewest), not sums.failed
    else:
        with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
            recover_traces(store)
            if expression:
                fill_text_index(store)
            found = stored_statistics(
                store, expression, keys, sides=sides, compares=compares, expected=expected, fewest=fewest
            )
    _report(found, _nothing(expression, paths), as_json=as_json, full=full, color=color)
    if not complete or (paths and found.whole is None):
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
    return "the database contains no traces yet; `weaklink import PATH` or `weaklink run -- COMMAND` adds some"


def statistics_object(found: Statistics) -> StatisticsJson:
    """The answer of `weaklink stats --json`. Shares are from 0 to 1; `low` and `high` bound 95 %, or are null."""
    return {
        "traces": found.whole.traces if found.whole else 0,
        "uncounted": found.uncounted,
        "by": [key.value for key in found.by],
        "fewest": found.fewest,
        "measures": _measures(found.whole, found.fewest) if found.whole else {},
        "groups": [_group(found, group) for group in found.groups],
        "breaks": {"steps": _slices(found.steps), "codes": _slices(found.codes)},
        "aborts": _slices(found.aborts),
        "result_kinds": dict(kind_counts(found.verdicts)),
        "said": dict(said_counts(found.verdicts)),
        "violations": [
            {
                "tool": violation.tool,
                "path": violation.path,
                "code": violation.code,
                "times": violation.times,
                "traces": violation.traces,
            }
            for violation in found.violations
        ],
        "baseline": _keys(found.by, found.baseline.keys) if found.baseline else None,
        "comparisons": [_comparison(found, comparison) for comparison in found.comparisons],
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
    return {measure.name: _measure(group, measure.name, fewest) for measure in MEASURES}


def _measure(group: metrics_groups.GroupFigures, name: str, fewest: int) -> StatisticJson:
    measure = next(one for one in MEASURES if one.name == name)
    one = estimate(measure, group.tally(name), fewest)
    return {
        "value": one.value,
        "low": one.interval.low if one.interval else None,
        "high": one.interval.high if one.interval else None,
        "hits": one.tally.hits,
        "trials": one.tally.trials,
        "traces": one.tally.traces,
        "kind": "mean" if measure.kind is MeasureKind.MEAN else "share",
        "absent": measure.absent if one.value is None else None,
    }


def _slices(slices: Sequence[metrics_groups.Slice]) -> list[CountedNameJson]:
    return [{"value": one.value, "traces": one.traces} for one in slices]


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


class FileStatistics:
    """Adds up the figures of files. Calls `notify` with a sentence on input that is unreadable or left out."""

    def __init__(
        self,
        by: Sequence[metrics_groups.GroupKey],
        expected: stats_options.Expected,
        notify: Callable[[str], None] = print_notice,
    ) -> None:
        self._notify = notify
        self._by, self._expected = tuple(by), expected
        self._whole, self._groups = metrics_groups.FigureGroups(), metrics_groups.FigureGroups(by)
        self._steps, self._codes, self._aborts = (
            metrics_groups.FigureSlices(one)
            for one in (metrics_groups.Aspect.STEP, metrics_groups.Aspect.CODE, metrics_groups.Aspect.ABORT)
        )
        self._violations: dict[tuple[str, str, str], Violations] = {}
        self._verdicts: Counter[tuple[str, str]] = Counter()
        self._prompts: dict[str, Prompt] = {}
        self._schemas: dict[str, SchemaComplexity] = {}
        self._measured: tuple[ToolDefinition, ...] = ()
        self.failed = False
        self.left_out = 0
        self._redactor = Redactor()

    def read(self, file: PlacedFile, source: str | None) -> None:
        """Count the traces of a file. A file of an unknown source is reported, but is not a failure."""
        skipped: Counter[str] = Counter()
        is_ours = False
        try:
            for record in records_of(file, source):
                is_ours = True
                if isinstance(record, Trace):
                    self._add(self._redactor.trace(record))
                else:
                    self._skip(file, record, skipped)
        except UnreadableFileError as error:
            self.failed = self.failed or is_ours or not file.is_readable
            self._notify(str(error))
        self.left_out += max(skipped.total() - _MOST_PRINTED, 0)

    def report_rest(self, name: str) -> None:
        """Report how many records of the last files were skipped without a notice."""
        if self.left_out:
            self._notify(f"{name}: {self.left_out:,} more records were skipped")
        self.left_out = 0

    def sums(self) -> "StatisticsSums":
        """The sums so far, to be merged with those of other files."""
        return StatisticsSums(
            self._groups_of_traces,
            tuple(self._violations.values()),
            self._prompts,
            self._schemas,
            dict(self._verdicts),
            is_failed=self.failed,
        )

    def merge(self, other: "StatisticsSums") -> None:
        """Add the sums of other files; keeps the first prompt of a hash, and the last schema of a tool."""
        for mine, theirs in zip(self._groups_of_traces, other.groups, strict=True):
            mine.merge(theirs)  # type: ignore[arg-type]  # both tuples have the same kinds
        for violation in other.violations:
            self._count_violation(violation)
        self._verdicts.update(other.verdicts)
        self._prompts = {**other.prompts, **self._prompts}
        self._schemas |= other.schemas
        self.failed = self.failed or other.is_failed

    @property
    def _groups_of_traces(self) -> tuple[metrics_groups.FigureGroups | metrics_groups.FigureSlices, ...]:
        return self._whole, self._groups, self._steps, self._codes, self._aborts

    def _count_violation(self, one: Violations) -> None:
        place = (one.tool, one.path, one.code)
        known = self._violations.get(place, Violations(*place, 0, 0))
        self._violations[place] = Violations(*place, known.times + one.times, known.traces + one.traces)

    def statistics(self, sides: stats_options.ComparedGroups | None, *, compares: bool, fewest: int) -> Statistics:
        """The figures of all counted traces. Raises UsageError for a group without traces."""
        whole = self._whole.all()
        return Statistics(
            whole[0] if whole else None,
            self._by,
            steps=self._steps.all(),
            codes=self._codes.all(),
            aborts=self._aborts.all(),
            verdicts=dict(self._verdicts),
            violations=sorted(self._violations.values(), key=lambda one: (-one.times, one.tool, one.path, one.code)),
            prompts=self._prompts,
            schemas=self._schemas,
            fewest=fewest,
            **stats_options.select_groups(
                self._groups.all() if self._by else [], sides, compares=compares, fewest=fewest
            ),
        )

    def _skip(self, file: PlacedFile, record: Skipped, skipped: Counter[str]) -> None:
        skipped[file.name] += 1
        if skipped[file.name] <= _MOST_PRINTED:
            self._notify(f"{record.file or file.name}, {record.record}: {self._redactor.text(record.reason)}")

    def _add(self, trace: Trace) -> None:
        try:
            inspection = inspect_trace(trace)
        except UnknownFormatError as error:
            self._notify(f"{trace.provenance.file}, {trace.provenance.record}: {error}")
            return
        keys, figures = keys_of(trace, inspection), figures_in(trace, inspection)
        expected_id = stats_options.id_among(((one.name, one.value) for one in trace.external_ids), self._expected)
        if expected_id is not None:
            figures = stats_options.with_expected(figures, inspection, self._expected[expected_id])
        for sums in self._groups_of_traces:
            sums.add(keys, figures)
        for step in inspection.chain.steps:
            if step.result_kind is not None:
                self._verdicts[step.result_kind.value, step.said.value if step.said is not None else ""] += 1
        for one in figures.violations:
            self._count_violation(Violations(one.tool, one.path, one.code, one.times, 1))
        for turn in trace.turns if metrics_groups.GroupKey.TOOL in self._by else ():
            self._measure(turn.generation.tools if turn.generation is not None else ())
        if keys.prompt and metrics_groups.GroupKey.PROMPT in self._by and keys.prompt not in self._prompts:
            self._prompts[keys.prompt] = prompt_of(trace)

    def _measure(self, tools: tuple[ToolDefinition, ...]) -> None:
        """Store the complexity of these tools' schemas; most turns offer the same tuple of tools."""
        if tools is not self._measured:
            self._measured = tools
            self._schemas |= {tool.name: schema_complexity(tool) for tool in tools}


class StatisticsSums(Struct, frozen=True):
    """The sums of some files; they can be sent to another process and merged in any order."""

    groups: tuple[metrics_groups.FigureGroups | metrics_groups.FigureSlices, ...]
    violations: tuple[Violations, ...]
    prompts: dict[str, Prompt]
    schemas: dict[str, SchemaComplexity]
    verdicts: CallVerdicts
    is_failed: bool


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
            counted.read(file, self.source)
        yield BlockStatistics(counted.sums(), tuple(notices), counted.left_out)


@cache
def _expected(path: str | None) -> stats_options.Expected:
    return stats_options.read_expected(path)


def count_blocks(paths: Sequence[str], counter: BlockCounter, jobs: EngineOptions) -> FileStatistics:
    """The sums over all blocks of paths. A block that failed repeatedly is reported, and sets `failed`."""
    whole = FileStatistics(counter.by, {})
    path, printed = "", 0
    for piece in run_blocks(plan_traces(paths, counter.source, jobs.block_bytes), counter, jobs):
        if piece.block.path != path:
            whole.report_rest(path)
            path, printed = piece.block.path, 0
        for answer in piece.answers:
            whole.merge(answer.sums)
            for notice in answer.notices[: _MOST_PRINTED - printed]:
                print_notice(notice)
            whole.left_out += answer.left_out + max(len(answer.notices) - (_MOST_PRINTED - printed), 0)
            printed = min(printed + len(answer.notices), _MOST_PRINTED)
        if piece.failed:
            whole.failed = True
            print_notice(f"{piece.block.name} was set aside: {piece.failed}")
    whole.report_rest(path)
    return whole


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
        violations=store.statistics.violations(expression, limit=_MOST_VIOLATIONS),
        prompts=store.statistics.prompts(_values(shown["groups"], by, metrics_groups.GroupKey.PROMPT)[:_MOST_PROMPTS]),
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
    at = list(by).index(key)
    return list(dict.fromkeys(group.keys[at] for group in groups if group.keys[at]))


def _expected_traces(store: Store, expression: str, expected: stats_options.Expected) -> Iterator[TraceSummary]:
    after: ListCursor | None = None
    while page := store.traces(expression, limit=_PAGE, after=after):
        yield from (one for one in page if stats_options.id_among(one.external_ids.items(), expected) is not None)
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
