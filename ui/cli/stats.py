"""`weaklink stats`: metrics over any set of traces, with intervals, in groups, and compared."""

import sys
from collections.abc import Sequence

import click
from msgspec.structs import asdict

from inspector.chain.metrics import MEASURES, MeasureKind, estimate
from inspector.chain.metrics_groups import GroupFigures, GroupKey, MeasureComparison, Slice
from inspector.json_text import write_json
from inspector.model import Json
from storage import open_store
from ui.cli.console import print_lines, print_notice, screen_width
from ui.cli.engine_options import takes_engine
from ui.cli.paths import placed_files
from ui.cli.stats_options import (
    ComparedGroups,
    is_compared_group,
    parse_compared_groups,
    parse_group_keys,
    read_expected,
)
from ui.cli.stats_sources import BlockCounter, FileStatistics, count_blocks, stored_statistics
from ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, paths_and_filter, recover_traces
from ui.importing.engine import EngineOptions, needs_blocks
from ui.views.segment_json import JsonObject
from ui.views.stats import Statistics, statistics_lines

_COULD_NOT_RUN = 2


@takes_engine
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
    """`weaklink stats`; see its help."""
    named = [word for word in words if compares and is_compared_group(word)]
    paths, expression = paths_and_filter([word for word in words if word not in named], expression)
    sides = parse_compared_groups(named)
    keys = parse_group_keys(by) if sides is None else sides.by
    _check(paths, expression, by, source, sides, compares=compares)
    expected = read_expected(expected_path)
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
        ctx.exit(_COULD_NOT_RUN)


def _report(found: Statistics, nothing: str, *, as_json: bool, full: bool, color: str) -> None:
    if as_json:
        sys.stdout.write(write_json(statistics_object(found)) + "\n")
    if found.whole is None:
        print_notice(nothing)
    elif not as_json:
        print_lines(statistics_lines(found, width=screen_width(), full=full), color=color)


def _check(
    paths: list[str],
    expression: str,
    by: tuple[str, ...],
    source: str | None,
    sides: ComparedGroups | None,
    *,
    compares: bool,
) -> None:
    if paths and expression:
        raise click.UsageError("a filter asks the database; import the files to filter them, or leave --filter out.")
    if source and not paths:
        raise click.UsageError(
            "--source says how files are read, and no PATH is named; `--filter source:NAME` filters."
        )
    if sides is not None and by:
        raise click.UsageError("the groups that are named to be compared make --by needless; leave one of both out.")
    if compares and sides is None and not by:
        raise click.UsageError("--compare requires groups: `--by model`, or `model=a model=b`.")


def _nothing(expression: str, paths: list[str]) -> str:
    if paths:
        return "no trace could be read, so there is nothing to measure"
    if expression:
        return "no trace matches this filter, so there is nothing to measure; `weaklink list` shows what there is"
    return "the database holds no traces yet; `weaklink import PATH` or `weaklink demo` puts some in"


def statistics_object(found: Statistics) -> JsonObject:
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
        "violations": [
            {"tool": one.tool, "path": one.path, "code": one.code, "times": one.times, "traces": one.traces}
            for one in found.violations
        ],
        "baseline": _keys(found.by, found.baseline.keys) if found.baseline else None,
        "comparisons": [_comparison(found, one) for one in found.comparisons],
    }


def _group(found: Statistics, group: GroupFigures) -> JsonObject:
    keys = _keys(found.by, group.keys)
    known = [
        found.prompts.get(value) for key, value in zip(found.by, group.keys, strict=True) if key is GroupKey.PROMPT
    ]
    prompt = known[0] if known else None
    return {
        "keys": keys,
        "prompt": {"words": prompt.words, "tools": prompt.tools} if prompt is not None else None,
        "schema": _schema(found, group),
        "traces": group.traces,
        "measures": _measures(group, found.fewest),
    }


def _schema(found: Statistics, group: GroupFigures) -> JsonObject | None:
    """How intricate the schema of a group's tool is, where that is known."""
    tools = [value for key, value in zip(found.by, group.keys, strict=True) if key is GroupKey.TOOL]
    schema = found.schemas.get(tools[0]) if tools else None
    return None if schema is None else asdict(schema)


def _keys(by: Sequence[GroupKey], values: Sequence[str]) -> JsonObject:
    """The keys of a group; null where a trace's is not known. An unreadable tool's name is `""`."""
    return {key.value: value if value or key is GroupKey.TOOL else None for key, value in zip(by, values, strict=True)}


def _measures(group: GroupFigures, fewest: int) -> JsonObject:
    return {measure.name: _measure(group, measure.name, fewest) for measure in MEASURES}


def _measure(group: GroupFigures, name: str, fewest: int) -> JsonObject:
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


def _slices(slices: Sequence[Slice]) -> list[Json]:
    return [{"value": one.value, "traces": one.traces} for one in slices]


def _comparison(found: Statistics, one: MeasureComparison) -> JsonObject:
    seen = one.difference
    return {
        "keys": _keys(found.by, one.group.keys),
        "measure": one.measure.name,
        "difference": seen.value if seen else None,
        "low": seen.interval.low if seen else None,
        "high": seen.interval.high if seen else None,
        "p": seen.p if seen else None,
        "adjusted_p": one.adjusted_p,
        "more_than_noise": one.is_more_than_noise,
    }
