"""What sets groups apart, and whether that is more than noise."""

from collections.abc import Iterator

from inspector.chain.metrics_comparing import MeasureComparison
from inspector.chain.metrics_groups import GroupKey
from inspector.chain.metrics_measures import Measure, MeasureKind
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.stats_report import Statistics
from ui.views.stats_wording import dim, group_title, number_text
from ui.views.table import table_lines
from ui.views.wording import counted, wrapped

_MOST = 60


def comparison_sentence(found: Statistics) -> str:
    """Whether any group differs from the baseline by more than noise; `""` where nothing was compared."""
    if found.baseline is None:
        return ""
    baseline = group_title(found.by, found.baseline.keys, found.prompts)
    judged = [one for one in found.comparisons if one.difference is not None]
    if not judged:
        return f"Nothing can be compared with {baseline}: there are fewer than {found.fewest} traces on a side."
    sure = [one for one in judged if one.is_more_than_noise]
    if not sure:
        which = "The one difference" if len(judged) == 1 else f"None of {len(judged):,} differences"
        verb = "is not" if len(judged) == 1 else "is"
        return f"{which} from {baseline} {verb} more than noise (Holm-corrected, at 5 %)."
    best = min(sure, key=lambda one: one.adjusted_p or 0.0)
    told = _told(found, best)
    verb = "is" if len(sure) == 1 else "are"
    counts = f"{len(sure):,} of {counted(len(judged), 'difference')} from {baseline} {verb}"
    return f"{counts} more than noise (Holm-corrected, at 5 %); the surest: {told}."


def comparison_lines(found: Statistics, *, width: int) -> Iterator[Line]:
    """Every difference that could be judged, with its interval; those that are more than noise say so."""
    judged = [one for one in found.comparisons if one.difference is not None]
    if found.baseline is None or not judged:
        return
    baseline = group_title(found.by, found.baseline.keys, found.prompts)
    yield from wrapped(dim(f"differences from {baseline} ({counted(found.baseline.traces, 'trace')})"), width)
    rows = [
        (
            (Run(group_title(found.by, one.group.keys, found.prompts)),),
            (Run(one.measure.title, Style.STRONG),),
            (Run(_difference_text(one)),),
            (Run(p_text(one.adjusted_p)),),
            (Run("more than noise", Style.WARNING) if one.is_more_than_noise else Run("may be noise", Style.DIM),),
        )
        for one in judged[:_MOST]
    ]
    heads = ("group", "measure", "difference (95 %)", "p", "")
    yield from table_lines(rows, width=width, heads=heads, widest=max(width - 70, 22))
    if len(judged) > _MOST:
        yield dim(f"and {counted(len(judged) - _MOST, 'more difference')}; --json tells all")
    if GroupKey.TOOL in found.by or GroupKey.CODE in found.by:
        said = "One trace may stand in several of these groups, so they are not independent: take p as a hint."
        yield from wrapped(dim(said), width)


def p_text(p: float | None) -> str:
    """A p-value to the digits that it is worth."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _told(found: Statistics, one: MeasureComparison) -> str:
    first, second = (group.tally(one.measure.name) for group in (one.group, one.baseline))
    mine, theirs = (number_text(one.measure, tally.hits / tally.trials) for tally in (first, second))
    group = group_title(found.by, one.group.keys, found.prompts)
    return f"{one.measure.title} {mine} in {group}, against {theirs} (p {p_text(one.adjusted_p)})"


def _difference_text(one: MeasureComparison) -> str:
    found = one.difference
    assert found is not None  # only such are shown
    low, high = found.interval.low, found.interval.high
    return f"{_signed(one.measure, found.value)} ({_signed(one.measure, low)} to {_signed(one.measure, high)})"


def _signed(measure: Measure, value: float) -> str:
    digits = f"{value:+.2f}" if measure.kind is not MeasureKind.MEAN or abs(value) < 10 else f"{value:+,.0f}"
    return digits.replace("-", "−")
