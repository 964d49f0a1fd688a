"""Metrics as a person reads them: a sentence, every measure with its interval, and where and by what chains broke."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from inspector.chain.intervals import wilson
from inspector.chain.metrics import Estimate, estimate
from inspector.chain.metrics_groups import GroupFigures, Slice
from inspector.chain.metrics_measures import MEASURES, TASK_CASES, MeasureKind
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped
from ui.views.stats_comparison import comparison_lines, comparison_sentence
from ui.views.stats_groups import group_lines
from ui.views.stats_report import Statistics
from ui.views.stats_schemas import schema_lines
from ui.views.stats_wording import bar, code_title, dim, percent, value_text
from ui.views.table import table_lines
from ui.views.task_cases import HEADS as TASK_HEADS
from ui.views.task_cases import task_cases
from ui.views.visible import visible_line
from ui.views.wording import counted, wrapped

_ROOMY = 120
_BAR = 20
_SINGLE_STEPS, _STEP_ENDS = 10, (20, 50, 100)
_MOST_CODES, _MOST_VIOLATIONS = 8, 12


def statistics_lines(found: Statistics, *, width: int, full: bool = False) -> Iterator[Line]:
    """The lines of `weaklink stats` within `width` cells; there must be a trace.

    With `full` every group is shown, and every measure of it.
    """
    assert found.whole is not None
    for sentence in _sentences(found, found.whole):
        yield from wrapped((Run(sentence, Style.STRONG),), width)
    blocks: tuple[Iterator[Line], ...] = (
        _measure_lines(found.whole, found.fewest, width)
        if not found.by
        else group_lines(found, width=width, full=full),
        _case_lines(found.whole, width),
        comparison_lines(found, width=width),
        schema_lines(found, width=width),
        _step_lines(found.steps, width),
        _code_lines("first fault", found.codes, width),
        _code_lines("cut off by", found.aborts, width),
        _violation_lines(found, width),
    )
    for block in blocks:
        lines = list(block)
        if lines:
            yield ()
            yield from lines


def _sentences(found: Statistics, whole: GroupFigures) -> Iterator[str]:
    broken = whole.tally("broken")
    said = f"{counted(broken.trials, 'trace')}, {broken.hits:,} broken"
    if broken.trials >= found.fewest:
        interval = wilson(broken.share)
        said += f" ({percent(broken.share.value)} %, {percent(interval.low)}–{percent(interval.high)})"
    yield f"{said}." + _most(found)
    sentence = comparison_sentence(found)
    if sentence:
        yield sentence
    if found.uncounted:
        one = counted(found.uncounted, "trace")
        yield f"{one} could not be counted; `weaklink reinspect` tries again."


def _most(found: Statistics) -> str:
    if not found.codes:
        return ""
    code, step = found.codes[0], max(found.steps, key=lambda one: one.traces)
    breaks = sum(one.traces for one in found.codes)
    said = f" Most breaks: {code_title(code.value)} ({code.traces:,} of {breaks:,})"
    return f"{said}, at step {step.value} ({step.traces:,} of {breaks:,})."


def _measure_lines(whole: GroupFigures, fewest: int, width: int) -> Iterator[Line]:
    shown = (measure for measure in MEASURES if measure.name not in TASK_CASES)
    estimates = [estimate(measure, whole.tally(measure.name), fewest) for measure in shown]
    rows = [_measure_row(one, fewest, width) for one in estimates]
    heads = ("measure", "value (95 %)", "n", "traces", "", *(("what is counted",) if width >= _ROOMY else ()))
    yield from table_lines(rows, width=width, heads=heads, numbers=(2, 3))


def _case_lines(whole: GroupFigures, width: int) -> Iterator[Line]:
    """Traces by how the chain ended and by what the source says of the task; no lines where no source says it."""
    rows = [((Run(one.chain),), *((Run(f"{count:,}"),) for count in one.counts)) for one in task_cases(whole)]
    if rows:
        yield from table_lines(rows, width=width, heads=TASK_HEADS, numbers=(1, 2, 3))


def _measure_row(one: Estimate, fewest: int, width: int) -> Sequence[Line]:
    measure = one.measure
    share = one.value if one.value is not None and measure.kind is not MeasureKind.MEAN else 0.0
    room = _BAR if width >= _ROOMY else max(min(_BAR, width - 64), 6)
    lead: tuple[Line, ...] = (
        (Run(measure.title, Style.STRONG),),
        (Run(value_text(one, fewest)),),
        (Run(f"{one.tally.trials:,}" if one.value is not None else ""),),
        (Run(f"{one.tally.traces:,}" if one.value is not None else ""),),
    )
    said = dim(measure.absent) if one.value is None else (Run(bar(share, room), Style.KEY),)
    return (*lead, said) if width < _ROOMY else (*lead, said, dim(measure.meaning))


def _step_lines(steps: Sequence[Slice], width: int) -> Iterator[Line]:
    """The histogram of the steps at which chains broke: the first one by one, those far back together."""
    if not steps:
        return
    binned: dict[str, int] = {}
    for one in steps:
        name = _bin(int(one.value))
        binned[name] = binned.get(name, 0) + one.traces
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
    shown = [(code_title(one.value), one.traces) for one in slices[:_MOST_CODES]]
    rest = sum(one.traces for one in slices[_MOST_CODES:])
    others = counted(len(slices) - _MOST_CODES, "other")
    yield from _bars(head, [*shown, *([(others, rest)] if rest else [])], width, adds_up=True)


def _bars(head: str, counts: Sequence[tuple[str, int]], width: int, *, adds_up: bool = False) -> Iterator[Line]:
    """A bar for each name; with `adds_up` also the share of this and all before it, as a Pareto chart has it."""
    total, most = sum(n for _, n in counts), max(n for _, n in counts[:_MOST_CODES])
    sums = accumulate(n for _, n in counts)
    rows = [
        (
            (Run(name),),
            (Run(f"{n:,}"),),
            (Run(f"{percent(n / total)} %"),),
            *(((Run(f"{percent(so_far / total)} %", Style.DIM),),) if adds_up else ()),
            (Run(bar(n / most, _BAR if width < _ROOMY else 2 * _BAR), Style.ERROR),),
        )
        for (name, n), so_far in zip(counts, sums, strict=True)
    ]
    heads = (head, "traces", "share", *(("in all",) if adds_up else ()), "")
    numbers = (1, 2, 3) if adds_up else (1, 2)
    yield from table_lines(rows, width=width, heads=heads, numbers=numbers, widest=max(width - 34, 16))


def _violation_lines(found: Statistics, width: int) -> Iterator[Line]:
    """Which places of schemas were broken most often."""
    shown = found.violations[:_MOST_VIOLATIONS]
    if not shown:
        return
    rows = [
        (
            (Run(visible_line(one.tool) or "–"),),
            (Run(visible_line(one.path) or "(the whole)", Style.KEY),),
            (Run(f"{one.times:,}"),),
            (Run(f"{one.traces:,}"),),
            (Run(code_title(one.code), Style.ERROR),),
        )
        for one in shown
    ]
    heads = ("schema of", "argument", "calls", "traces", "broken by")
    for line in table_lines(rows, width=width, heads=heads, numbers=(2, 3), widest=max((width - 40) // 2, 12)):
        yield clipped(line, width)
    left = len(found.violations) - len(shown)
    if left:
        yield dim(f"and {counted(left, 'more place')}; --json tells all")
