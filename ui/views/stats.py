"""Metrics of traces as lines: measures with intervals, in groups, compared between groups, by schema complexity."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct, field

from weaklink.inspector.chain import metrics
from weaklink.inspector.chain.intervals import wilson
from weaklink.inspector.chain.metrics_groups import (
    COMPARED,
    MANY_VALUED,
    GroupFigures,
    GroupKey,
    MeasureComparison,
    Slice,
)
from weaklink.inspector.chain.steps import ResultKind, Status
from weaklink.inspector.checks.schema_complexity import SchemaComplexity
from weaklink.storage.maintenance import StoreStats
from weaklink.storage.statistics import CallVerdicts, Prompt, Violations
from weaklink.ui.json_types.database import DatabaseStatsJson
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    clipped,
    counted,
    padded,
    right_aligned,
    table_lines,
    visible_line,
    width_of,
    wrapped,
)
from weaklink.ui.views.triage import HEADS as TASK_HEADS
from weaklink.ui.views.triage import (
    bar,
    code_title,
    dim,
    group_title,
    key_title,
    number_text,
    percent,
    task_cases,
    value_text,
)

_ROOMY_CELLS = 120
_BAR, _LEAST_BAR = 20, 8  # cells
_SINGLE_STEPS, _STEP_ENDS = 10, (20, 50, 100)
_MAX_CODES, _MAX_VIOLATIONS = 8, 12
_MAX_COMPARISONS = 60
_WIDE_CELLS = 120
_AT_LEAST, _MAX_CHARS = 12, 40  # rows
_GAP = "  "
_MAX_SCHEMAS = 12
_SCHEMA_BAR = 16
_COMPLIANCE = metrics.BY_NAME["schema_compliance"]

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_NAME_CELLS = 12


class Statistics(Struct, frozen=True):
    """Metrics over a set of traces.

    `whole` is the group of all traces, or None if there are none; `groups` are grouped by `by`. `verdicts` counts the
    calls by the kind of their result and what the agent said of it. `steps`, `codes` and
    `aborts` count the traces by the step and the rule of the break, and by the reason of an abort. `comparisons`
    compare each group with `baseline`. `prompts` maps hashes to prompts, and `schemas` tools to the complexity of their
    offered schemas. `uncounted` traces are in none of the numbers. Groups of fewer than `fewest` traces have no
    intervals.
    """

    whole: GroupFigures | None
    by: Sequence[GroupKey] = ()
    groups: Sequence[GroupFigures] = ()
    steps: Sequence[Slice] = ()
    codes: Sequence[Slice] = ()
    aborts: Sequence[Slice] = ()
    verdicts: CallVerdicts = field(default_factory=dict)
    violations: Sequence[Violations] = ()
    comparisons: Sequence[MeasureComparison] = ()
    baseline: GroupFigures | None = None
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    schemas: Mapping[str, SchemaComplexity] = field(default_factory=dict)
    uncounted: int = 0
    fewest: int = metrics.FEWEST


def statistics_lines(statistics: Statistics, *, width: int, full: bool = False) -> Iterator[Line]:
    """The lines of `weaklink stats` within `width` cells; there must be at least one trace.

    With `full`, every group is shown with every measure.
    """
    assert statistics.whole is not None
    for sentence in _sentences(statistics, statistics.whole):
        yield from wrapped((Run(sentence, Style.STRONG),), width)
    blocks: tuple[Iterator[Line], ...] = (
        _measure_lines(statistics.whole, statistics.fewest, width)
        if not statistics.by
        else group_lines(statistics, width=width, full=full),
        _case_lines(statistics.whole, width),
        comparison_lines(statistics, width=width),
        schema_lines(statistics, width=width),
        _step_lines(statistics.steps, width),
        _code_lines("first fault", statistics.codes, width),
        _code_lines("aborted by", statistics.aborts, width),
        _verdict_lines("result kind", kind_counts(statistics.verdicts), width),
        _verdict_lines("the agent", said_counts(statistics.verdicts), width),
        _violation_lines(statistics, width),
    )
    for block in blocks:
        lines = list(block)
        if lines:
            yield ()
            yield from lines


def _sentences(statistics: Statistics, whole: GroupFigures) -> Iterator[str]:
    broken = whole.tally("broken")
    summary = f"{counted(broken.trials, 'trace')}, {broken.hits:,} broken"
    if broken.trials >= statistics.fewest:
        interval = wilson(broken.share)
        summary += f" ({percent(broken.share.value)} %, {percent(interval.low)}–{percent(interval.high)})"
    yield f"{summary}." + _most(statistics)
    sentence = comparison_sentence(statistics)
    if sentence:
        yield sentence
    if statistics.uncounted:
        uncounted = counted(statistics.uncounted, "trace")
        yield f"{uncounted} could not be counted; `weaklink db reinspect` tries again."


def _most(statistics: Statistics) -> str:
    if not statistics.codes:
        return ""
    code, step = statistics.codes[0], max(statistics.steps, key=lambda step: step.traces)
    breaks = sum(code.traces for code in statistics.codes)
    text = f" Most breaks: {code_title(code.value)} ({code.traces:,} of {breaks:,})"
    return f"{text}, at step {step.value} ({step.traces:,} of {breaks:,})."


def _measure_lines(whole: GroupFigures, fewest: int, width: int) -> Iterator[Line]:
    measures = (measure for measure in metrics.MEASURES if measure.name not in metrics.TASK_CASES)
    shown = (measure for measure in measures if whole.tally(measure.name).trials)
    estimates = [metrics.estimate(measure, whole.tally(measure.name), fewest) for measure in shown]
    rows = [_measure_row(estimate, fewest, width) for estimate in estimates]
    heads = ("measure", "value (95 %)", "n", "traces", "", *(("what is counted",) if width >= _ROOMY_CELLS else ()))
    yield from table_lines(rows, width=width, heads=heads, numbers=(2, 3))


def _case_lines(whole: GroupFigures, width: int) -> Iterator[Line]:
    """Traces by the status of the chain and the task outcome in the source; no lines if no source has outcomes."""
    rows = [((Run(case.chain),), *((Run(f"{count:,}"),) for count in case.counts)) for case in task_cases(whole)]
    if rows:
        yield from table_lines(rows, width=width, heads=TASK_HEADS, numbers=(1, 2, 3))


def _measure_row(estimate: metrics.Estimate, fewest: int, width: int) -> Sequence[Line]:
    measure = estimate.measure
    share = estimate.value if estimate.value is not None and measure.kind is not metrics.MeasureKind.MEAN else 0.0
    room = _BAR if width >= _ROOMY_CELLS else max(min(_BAR, width - 64), 6)
    lead: tuple[Line, ...] = (
        (Run(measure.title, Style.STRONG),),
        (Run(value_text(estimate, fewest)),),
        (Run(f"{estimate.tally.trials:,}" if estimate.value is not None else ""),),
        (Run(f"{estimate.tally.traces:,}" if estimate.value is not None else ""),),
    )
    last_cell = dim(measure.absent) if estimate.value is None else (Run(bar(share, room), Style.KEY),)
    return (*lead, last_cell) if width < _ROOMY_CELLS else (*lead, last_cell, dim(measure.meaning))


def _step_lines(steps: Sequence[Slice], width: int) -> Iterator[Line]:
    """The histogram of the steps at which chains broke: single bins for the first steps, wider bins for later ones."""
    if not steps:
        return
    binned: dict[str, int] = {}
    for step in steps:
        name = _bin(int(step.value))
        binned[name] = binned.get(name, 0) + step.traces
    yield from _bars("broke at step", list(binned.items()), width)


def _bin(step: int) -> str:
    if step <= _SINGLE_STEPS:
        return str(step)
    start = _SINGLE_STEPS
    for end in _STEP_ENDS:
        if step <= end:
            return f"{start + 1}–{end}"
        start = end
    return f"{start + 1} or later"


def _code_lines(head: str, slices: Sequence[Slice], width: int) -> Iterator[Line]:
    if not slices:
        return
    shown = [(code_title(slice_.value), slice_.traces) for slice_ in slices[:_MAX_CODES]]
    rest = sum(slice_.traces for slice_ in slices[_MAX_CODES:])
    others = counted(len(slices) - _MAX_CODES, "other")
    yield from _bars(head, [*shown, *([(others, rest)] if rest else [])], width, adds_up=True)


def kind_counts(verdicts: CallVerdicts) -> list[tuple[str, int]]:
    """The calls whose result is not as wanted, by its kind, the most frequent first."""
    counts: Counter[str] = Counter()
    for (kind, _), calls in verdicts.items():
        counts[kind] += calls
    return counts.most_common()


def said_counts(verdicts: CallVerdicts) -> list[tuple[str, int]]:
    """The failures and findings by what the agent said of them, the most frequent first."""
    counts: Counter[str] = Counter()
    for (kind, said), calls in verdicts.items():
        if kind in (ResultKind.FAILURE, ResultKind.FINDING) and said:
            counts[said] += calls
    return counts.most_common()


def _verdict_lines(head: str, counts: Sequence[tuple[str, int]], width: int) -> Iterator[Line]:
    if counts:
        yield from _bars(head, counts, width, unit="calls")


def _bars(
    head: str, counts: Sequence[tuple[str, int]], width: int, *, adds_up: bool = False, unit: str = "traces"
) -> Iterator[Line]:
    """A bar for each name; with `adds_up` also the cumulative share, as in a Pareto chart."""
    total, most = sum(n for _, n in counts), max(n for _, n in counts[:_MAX_CODES])
    sums = accumulate(n for _, n in counts)
    cells: list[tuple[Line, ...]] = [
        (
            (Run(name),),
            (Run(f"{n:,}"),),
            (Run(f"{percent(n / total)} %"),),
            *(((Run(f"{percent(so_far / total)} %", Style.DIM),),) if adds_up else ()),
        )
        for (name, n), so_far in zip(counts, sums, strict=True)
    ]
    heads = (head, unit, "share", *(("cumulative",) if adds_up else ()))
    widest = max(width - 34, 16)
    columns = zip(heads, *cells, strict=True)
    used = sum(min(max(len(title), *map(width_of, column)), widest) + len(_GAP) for title, *column in columns)
    room = max(min(_BAR if width < _ROOMY_CELLS else 2 * _BAR, width - used), _LEAST_BAR)
    rows = [(*row, (Run(bar(n / most, room), Style.ERROR),)) for row, (_, n) in zip(cells, counts, strict=True)]
    yield from table_lines(rows, width=width, heads=(*heads, ""), numbers=range(1, len(heads)), widest=widest)


def _violation_lines(statistics: Statistics, width: int) -> Iterator[Line]:
    """The places of schemas that were violated most often."""
    shown = statistics.violations[:_MAX_VIOLATIONS]
    if not shown:
        return
    rows = [
        (
            (Run(visible_line(violations.tool) or "–"),),
            (Run(visible_line(violations.path) or "(all arguments)", Style.KEY),),
            (Run(f"{violations.times:,}"),),
            (Run(f"{violations.traces:,}"),),
            (Run(code_title(violations.code), Style.ERROR),),
        )
        for violations in shown
    ]
    heads = ("schema of", "argument", "calls", "traces", "rule")
    for line in table_lines(rows, width=width, heads=heads, numbers=(2, 3), widest=max((width - 40) // 2, 12)):
        yield clipped(line, width)
    left = len(statistics.violations) - len(shown)
    if left:
        yield dim(f"and {counted(left, 'more place')}; --json lists all")


def comparison_sentence(statistics: Statistics, number: Callable[[metrics.Measure, float], str] = number_text) -> str:
    """A sentence on whether any group differs from the baseline by more than noise; `""` if nothing was compared.

    `number` formats a value of a measure.
    """
    if statistics.baseline is None:
        return ""
    baseline = group_title(statistics.by, statistics.baseline.keys, statistics.prompts)
    judged = [comparison for comparison in statistics.comparisons if comparison.difference is not None]
    if not judged:
        return f"Nothing can be compared with {baseline}: one side has fewer than {statistics.fewest} traces."
    significant = [comparison for comparison in judged if comparison.is_more_than_noise]
    if not significant:
        which = "The one difference" if len(judged) == 1 else f"None of {len(judged):,} differences"
        verb = "is not" if len(judged) == 1 else "is"
        return f"{which} from {baseline} {verb} more than noise (Holm-corrected, at 5 %)."
    best = min(significant, key=lambda comparison: comparison.adjusted_p or 0.0)
    clearest = _comparison_sentence(statistics, best, number)
    verb = "is" if len(significant) == 1 else "are"
    counts = f"{len(significant):,} of {counted(len(judged), 'difference')} from {baseline} {verb}"
    return f"{counts} more than noise (Holm-corrected, at 5 %); the clearest: {clearest}."


def comparison_lines(statistics: Statistics, *, width: int) -> Iterator[Line]:
    """Every difference that could be tested, with its interval and whether it is more than noise."""
    judged = [comparison for comparison in statistics.comparisons if comparison.difference is not None]
    if statistics.baseline is None or not judged:
        return
    baseline = group_title(statistics.by, statistics.baseline.keys, statistics.prompts)
    yield from wrapped(dim(f"differences from {baseline} ({counted(statistics.baseline.traces, 'trace')})"), width)
    rows = [
        (
            (Run(group_title(statistics.by, comparison.group.keys, statistics.prompts)),),
            (Run(comparison.measure.title, Style.STRONG),),
            (Run(_difference_text(comparison)),),
            (Run(p_text(comparison.adjusted_p)),),
            (
                Run("more than noise", Style.WARNING)
                if comparison.is_more_than_noise
                else Run("may be noise", Style.DIM),
            ),
        )
        for comparison in judged[:_MAX_COMPARISONS]
    ]
    heads = ("group", "measure", "difference (95 %)", "p", "")
    yield from table_lines(rows, width=width, heads=heads, widest=max(width - 70, 22))
    if len(judged) > _MAX_COMPARISONS:
        yield dim(f"and {counted(len(judged) - _MAX_COMPARISONS, 'more difference')}; --json lists all")
    if any(key in MANY_VALUED for key in statistics.by):
        note = "A trace may be in several of these groups, so they are not independent: treat p as a hint."
        yield from wrapped(dim(note), width)


def p_text(p: float | None) -> str:
    """A p-value with its significant digits."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _comparison_sentence(
    statistics: Statistics, comparison: MeasureComparison, number: Callable[[metrics.Measure, float], str]
) -> str:
    first, second = (group.tally(comparison.measure.name) for group in (comparison.group, comparison.baseline))
    value, baseline_value = (number(comparison.measure, tally.hits / tally.trials) for tally in (first, second))
    group = group_title(statistics.by, comparison.group.keys, statistics.prompts)
    return (
        f"{comparison.measure.title} {value} in {group}, against {baseline_value} (p {p_text(comparison.adjusted_p)})"
    )


def _difference_text(comparison: MeasureComparison) -> str:
    difference = comparison.difference
    assert difference is not None  # only such are shown
    value, low, high = (
        _signed(comparison.measure, number)
        for number in (difference.value, difference.interval.low, difference.interval.high)
    )
    return f"{value} ({low} to {high})"


def _signed(measure: metrics.Measure, value: float) -> str:
    digits = f"{value:+.2f}" if measure.kind is not metrics.MeasureKind.MEAN or abs(value) < 10 else f"{value:+,.0f}"
    return digits.replace("-", "−")


def group_lines(statistics: Statistics, *, width: int, full: bool = False) -> Iterator[Line]:
    """The tables of the groups, the largest first.

    Without `full`, only the measures that are compared are shown, and only groups large enough for an interval, or a
    dozen groups if few are. A last line lists the measures that no group has.
    """
    shown = statistics.groups if full else _informative_measures(statistics.groups, statistics.fewest)
    candidates = [measure for measure in metrics.MEASURES if full or measure.name in COMPARED]
    measures = [candidate for candidate in candidates if any(group.tally(candidate.name).trials for group in shown)]
    lead = _lead(statistics, shown, width)
    columns = [_column(statistics, measure, shown, width) for measure in measures]
    for number, some in enumerate(_fitting(columns, width - sum(width_of(cell) for cell in lead[0]))):
        if number:
            yield ()
        for index, cells in enumerate(lead):
            row = (*cells, *(column[index] for column in some))
            yield clipped([run for cell in row for run in cell], width)
    yield from _left_out(
        statistics,
        len(statistics.groups) - len(shown),
        [candidate for candidate in candidates if candidate not in measures],
        width,
    )


def _informative_measures(groups: Sequence[GroupFigures], fewest: int) -> Sequence[GroupFigures]:
    large = sum(group.traces >= fewest for group in groups)
    return groups[: min(max(large, _AT_LEAST), _MAX_CHARS)]


def _left_out(statistics: Statistics, groups: int, measures: Sequence[metrics.Measure], width: int) -> Iterator[Line]:
    missing = [
        f"{measure.title} ({measure.absent})" for measure in measures if measure.name in statistics.groups[0].tallies
    ]
    if groups or missing:
        yield ()
    if groups:
        yield dim(f"and {counted(groups, 'smaller group')}, which --full shows")
    if missing:
        yield from wrapped(dim(f"not present in any of these groups: {', '.join(missing)}"), width)


def _lead(statistics: Statistics, groups: Sequence[GroupFigures], width: int) -> list[tuple[Line, ...]]:
    """The names of the groups and their numbers of traces, one row each under a head; columns have a fixed width."""
    most = max(min(width - 34, width // 2) // len(statistics.by), 10)
    titles = [
        [key_title(key, value, statistics.prompts) for key, value in zip(statistics.by, group.keys, strict=True)]
        for group in groups
    ]
    columns: list[list[Line]] = []
    for index, key in enumerate(statistics.by):
        cells: list[Line] = [dim(key.value), *((Run(row[index], Style.STRONG),) for row in titles)]
        room = min(max(width_of(cell) for cell in cells), most)
        columns.append([padded(cell, room) for cell in cells])
    counts: list[Line] = [dim("traces"), *((Run(f"{group.traces:,}"),) for group in groups)]
    room = max(width_of(cell) for cell in counts)
    columns.append([(Run(_GAP), *right_aligned(cell, room)) for cell in counts])
    for column in columns[1:-1]:
        column[:] = [(Run(_GAP), *cell) for cell in column]
    return list(zip(*columns, strict=True))


def _column(statistics: Statistics, measure: metrics.Measure, groups: Sequence[GroupFigures], width: int) -> list[Line]:
    """One measure of every group under its title: bar (if there is room), value, interval and count."""
    estimates = [metrics.estimate(measure, group.tally(measure.name), statistics.fewest) for group in groups]
    bars = 6 if width >= _WIDE_CELLS and measure.kind is not metrics.MeasureKind.MEAN else 0
    values = [value_text(estimate, statistics.fewest) for estimate in estimates]
    # A count equal to the number of traces, which has its own column, is not repeated.
    counts = [
        f" n={estimate.tally.trials:,}" if estimate.tally.trials not in (0, group.traces) else ""
        for estimate, group in zip(estimates, groups, strict=True)
    ]
    room = max(map(len, values))
    cells: list[Line] = [dim(measure.title)]
    for group_estimate, value, count in zip(estimates, values, counts, strict=True):
        drawn = f"{bar(group_estimate.value or 0.0, bars):{bars}} " if bars else ""
        style = Style.PLAIN if group_estimate.interval is not None else Style.DIM
        cells.append(
            (Run(drawn, Style.KEY), Run(f"{value:{room if any(counts) else 0}}", style), Run(count, Style.DIM))
        )
    widest = max(width_of(cell) for cell in cells)
    return [(Run(_GAP), *padded(cell, widest)) for cell in cells]


def _fitting(columns: Sequence[list[Line]], room: int) -> Iterator[Sequence[list[Line]]]:
    """The columns in as few tables as fit, with at least one column each."""
    taken = 0
    some: list[list[Line]] = []
    for column in columns:
        needed = width_of(column[0])
        if some and taken + needed > room:
            yield some
            taken, some = 0, []
        some.append(column)
        taken += needed
    if some:
        yield some


def schema_lines(statistics: Statistics, *, width: int) -> Iterator[Line]:
    """Compliance by the depth of schemas, and the tools with the most complex schemas; only for groups by tool."""
    rows_by_tool = [(tool, schema, tally) for tool, schema, tally in _schema_sentence(statistics) if tally.trials]
    if not rows_by_tool:
        return
    yield from _by_depth(rows_by_tool, statistics.fewest, width)
    yield ()
    intricate = sorted(rows_by_tool, key=lambda row: (-row[1].depth, -row[1].references, -row[1].properties, row[0]))
    rows = [
        (
            (Run(visible_line(tool), Style.STRONG),),
            *(
                (Run(f"{count:,}"),)
                for count in (schema.depth, schema.properties, schema.references, schema.alternatives)
            ),
            (
                Run(value_text(metrics.estimate(_COMPLIANCE, tally, statistics.fewest), statistics.fewest)),
                *dim(f" n={tally.trials:,}"),
            ),
        )
        for tool, schema, tally in intricate[:_MAX_SCHEMAS]
    ]
    heads = ("most complex", "depth", "properties", "$ref", "anyOf", "schema compliance")
    yield from table_lines(rows, width=width, heads=heads, numbers=(1, 2, 3, 4), widest=max(width - 56, 12))


def _schema_sentence(statistics: Statistics) -> Iterator[tuple[str, SchemaComplexity, metrics.Tally]]:
    """Each tool with a known schema, with the tally of its compliance over all its groups."""
    index = list(statistics.by).index(GroupKey.TOOL) if GroupKey.TOOL in statistics.by else None
    sums: dict[str, metrics.Tally] = {}
    for group in statistics.groups if index is not None else ():
        tool = group.keys[index or 0]
        sums[tool] = sums.get(tool, metrics.Tally()) + group.tally(_COMPLIANCE.name)
    yield from ((tool, statistics.schemas[tool], tally) for tool, tally in sums.items() if tool in statistics.schemas)


def _by_depth(
    rows_by_tool: Sequence[tuple[str, SchemaComplexity, metrics.Tally]], fewest: int, width: int
) -> Iterator[Line]:
    """One row for each depth; a trace counts once for each tool of that depth."""
    rows = []
    for depth in sorted({schema.depth for _, schema, _ in rows_by_tool}):
        same = [(schema, tally) for _, schema, tally in rows_by_tool if schema.depth == depth]
        estimate = metrics.estimate(_COMPLIANCE, sum((tally for _, tally in same), metrics.Tally()), fewest)
        rows.append(
            (
                (Run(str(depth)),),
                (Run(f"{len(same):,}"),),
                (Run(f"{sum(schema.references > 0 for schema, _ in same):,}"),),
                (Run(f"{estimate.tally.trials:,}"),),
                (Run(value_text(estimate, fewest)),),
                (Run(bar(estimate.value or 0.0, _SCHEMA_BAR), Style.KEY),),
            )
        )
    heads = ("schema depth", "tools", "with $ref", "calls", "schema compliance", "")
    yield from table_lines(rows, width=width, heads=heads, numbers=(0, 1, 2, 3))


def stored_traces(stats: StoreStats) -> str:
    """How many traces a database contains, and how many of them lists leave out."""
    further = f", {stats.experiments:,} of them of experiments, which lists leave out" if stats.experiments else ""
    return f"{stats.traces:,}{further}"


def stats_lines(stats: StoreStats, database: str) -> Iterator[Line]:
    """The lines of `weaklink db stats`; a command that helps is next to the number."""
    yield from _fact("database", f"{visible_line(database)}, {size_text(stats.size_bytes)}")
    yield from _fact("traces", stored_traces(stats))
    for status in Status:
        if stats.by_status.get(status.value):
            yield (Run(" " * _NAME_CELLS), status_run(status), Run(f" {stats.by_status[status.value]:,}"))
    for name in ("turns", "characters", "chunks", "tool_calls", "errors", "tools"):
        yield from _fact(name.replace("_", " "), f"{getattr(stats, name):,}")
    if stats.not_indexed:
        yield from _fact("not indexed", f"{stats.not_indexed:,}; the next search reads them")
    if stats.outdated:
        yield from _fact("outdated", f"{stats.outdated:,}; `weaklink db reinspect` inspects them again")


def stats_object(stats: StoreStats, database: str) -> DatabaseStatsJson:
    """The JSON of `weaklink db stats --json`; every key and every status is always present."""
    return {
        "database": database,
        "size_bytes": stats.size_bytes,
        "traces": stats.traces,
        "by_status": {status.value: stats.by_status.get(status.value, 0) for status in Status},
        "turns": stats.turns,
        "characters": stats.characters,
        "chunks": stats.chunks,
        "tool_calls": stats.tool_calls,
        "errors": stats.errors,
        "tools": stats.tools,
        "not_indexed": stats.not_indexed,
        "outdated": stats.outdated,
    }


def size_text(size_bytes: int) -> str:
    """A human-readable size: `412 bytes`, `1.5 MiB`."""
    size, unit = float(size_bytes), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size_bytes:,} bytes"


def _fact(name: str, value: str) -> Iterator[Line]:
    yield (Run(f"{name:{_NAME_CELLS}}", Style.DIM), Run(value))
