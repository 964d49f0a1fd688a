"""Metrics as JSON; every key is always there."""

from collections.abc import Sequence
from dataclasses import asdict

from inspector.chain.metrics import MEASURES, MeasureKind, estimate
from inspector.chain.metrics_groups import GroupFigures, GroupKey, MeasureComparison, Slice
from inspector.model import Json
from ui.views.segment_json import JsonObject
from ui.views.stats import Statistics


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
