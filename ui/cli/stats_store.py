"""Metrics over the traces of a database, which adds them up itself; read are only those whose calls are expected."""

from collections.abc import Iterator, Sequence

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Groups
from storage import ListCursor, Store, TraceSummary
from storage.figure_rows import figures_in
from storage.statistics_keys import keys_of
from ui.cli.stats_asked import Sides, shown_groups
from ui.cli.stats_expected import Expected, id_among, with_agreement, with_expected
from ui.views.stats_report import Statistics

_PAGE = 500
_MOST_VIOLATIONS = 1_000
_MOST_PROMPTS = 100


def stored_statistics(
    store: Store,
    expression: str,
    by: Sequence[GroupKey],
    *,
    sides: Sides | None,
    compares: bool,
    expected: Expected,
    fewest: int,
) -> Statistics:
    """What the traces that a filter lets through come to. Raises FilterError, and UsageError for a group not there."""
    whole, groups = store.figures(expression), store.figures(expression, by=by) if by else []
    if expected and whole:
        in_all, in_groups = Groups(), Groups(by)
        for summary in _expected_traces(store, expression, expected):
            _count(store, summary, expected, (in_all, in_groups))
        whole = with_agreement(whole, in_all)
        if GroupKey.TOOL not in by:
            groups = with_agreement(groups, in_groups)
    shown = shown_groups(groups, sides, compares=compares, fewest=fewest)
    return Statistics(
        whole[0] if whole else None,
        tuple(by),
        steps=store.breakdown(Aspect.STEP, expression),
        codes=store.breakdown(Aspect.CODE, expression),
        aborts=store.breakdown(Aspect.ABORT, expression),
        violations=store.violations(expression, limit=_MOST_VIOLATIONS),
        prompts=store.prompts(_values(shown["groups"], by, GroupKey.PROMPT)[:_MOST_PROMPTS]),
        schemas=store.schemas(_values(shown["groups"], by, GroupKey.TOOL)),
        uncounted=store.uncounted(expression),
        fewest=fewest,
        **shown,
    )


def _values(groups: Sequence[GroupFigures], by: Sequence[GroupKey], key: GroupKey) -> list[str]:
    """The values that groups have of a key, each once; none where they are not grouped by it."""
    if key not in by:
        return []
    at = list(by).index(key)
    return list(dict.fromkeys(group.keys[at] for group in groups if group.keys[at]))


def _expected_traces(store: Store, expression: str, expected: Expected) -> Iterator[TraceSummary]:
    after: ListCursor | None = None
    while page := store.traces(expression, limit=_PAGE, after=after):
        yield from (one for one in page if id_among(one.external_ids.items(), expected) is not None)
        after = page[-1].cursor


def _count(store: Store, summary: TraceSummary, expected: Expected, sums: Sequence[Groups]) -> None:
    wanted = id_among(summary.external_ids.items(), expected)
    assert wanted is not None  # only such are read
    trace, inspection = store.inspected(summary.id)
    figures = with_expected(figures_in(trace, inspection), inspection, expected[wanted])
    for groups in sums:
        groups.add(keys_of(trace, inspection), figures)
