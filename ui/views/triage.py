"""Statistics of many traces as chart rows (days, rules, models by rules), and numbers and bars as text."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from weaklink.inspector.chain.metrics import Estimate, Measure, MeasureKind
from weaklink.inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.errors import UnknownRuleError
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.storage.statistics import Prompt
from weaklink.storage.store import Store
from weaklink.ui.views.status import UNNAMED
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line

STATUSES = (Status.BROKEN, Status.ABORTED, Status.RECOVERED, Status.UNKNOWN, Status.OK)
"""The statuses of traces, worst first."""
LAST_STEP = 12
_MAX_DAYS, _MAX_MODELS, _MAX_CODES = 60, 10, 12
HEADS = ("chain", "task passed", "task failed", "no outcome")
"""The titles of the columns."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_UNKNOWN = {
    GroupKey.MODEL: "(unknown model)",
    GroupKey.TOOL: UNNAMED,
    GroupKey.FORMAT: "(no format)",
    GroupKey.SOURCE: "(unknown source)",
    GroupKey.REASONING: "(no answer)",
    GroupKey.PROMPT: "(no prompt or tools recorded)",
    GroupKey.CODE: "(no code)",
    GroupKey.LAYER: "(no layer)",
    GroupKey.OWNER: "(no owner)",
    GroupKey.DAY: "(no time recorded)",
}
_HASH_DIGITS = 8


class Triage(Struct, frozen=True):
    """The figures of the traces that match a filter; there is at least one."""

    whole: GroupFigures
    by_day: tuple[GroupFigures, ...]
    by_model: tuple[GroupFigures, ...]
    by_model_and_code: tuple[GroupFigures, ...]
    codes: tuple[Slice, ...]
    steps: tuple[Slice, ...]

    @property
    def broken(self) -> int:
        """The number of traces that broke."""
        return self.whole.tally(Status.BROKEN.value).hits


class Heat(Struct, frozen=True):
    """A table of models and the rules that reported faults in their traces, most frequent first.

    `cells` has the number of traces by model and code, `traces` the total by model.
    """

    models: tuple[str, ...]
    codes: tuple[str, ...]
    cells: Mapping[tuple[str, str], int]
    traces: Mapping[str, int]

    def share(self, model: str, code: str) -> float:
        """The share of a model's traces in which a rule reported a fault."""
        return self.cells.get((model, code), 0) / self.traces[model]


def read_triage(store: Store, wanted: str) -> Triage | None:
    """The figures for a filter; None if nothing matches. Raises FilterError."""
    whole = store.statistics.figures(wanted)
    if not whole:
        return None
    return Triage(
        whole[0],
        tuple(store.statistics.figures(wanted, by=(GroupKey.DAY,))),
        tuple(store.statistics.figures(wanted, by=(GroupKey.MODEL,))),
        tuple(store.statistics.figures(wanted, by=(GroupKey.MODEL, GroupKey.CODE))),
        tuple(store.statistics.breakdown(Aspect.CODE, wanted)),
        tuple(store.statistics.breakdown(Aspect.STEP, wanted)),
    )


def days(triage: Triage) -> list[tuple[str, tuple[int, ...]]]:
    """The last days with traces, oldest first, each with its traces by status; before them those without a date."""
    groups = sorted(triage.by_day, key=lambda group: group.keys)
    undated, dated = ([group for group in groups if bool(group.keys[0]) is is_dated] for is_dated in (False, True))
    shown = [*undated, *dated[-_MAX_DAYS:]]
    return [(group.keys[0], tuple(group.tally(status.value).hits for status in STATUSES)) for group in shown]


def break_steps(triage: Triage) -> list[tuple[str, int]]:
    """The number of chains that broke at each step, in order; steps after `LAST_STEP` are one row at the end."""
    counts = {int(step.value): step.traces for step in triage.steps if int(step.value) <= LAST_STEP}
    rows = [(str(number), counts.get(number, 0)) for number in range(1, max(counts, default=0) + 1)]
    later = sum(step.traces for step in triage.steps if int(step.value) > LAST_STEP)
    return [*rows, (f">{LAST_STEP}", later)] if later else rows


def heat(triage: Triage) -> Heat:
    """The named models and the codes with the most traces."""
    traces = {group.keys[0]: group.traces for group in triage.by_model if group.keys[0]}
    models = tuple(traces)[:_MAX_MODELS]
    cells = {(group.keys[0], group.keys[1]): group.traces for group in triage.by_model_and_code}
    counts: dict[str, int] = {}
    for (_, code), number in cells.items():
        counts[code] = counts.get(code, 0) + number
    codes = tuple(sorted(counts, key=lambda code: (-counts[code], code))[:_MAX_CODES])
    return Heat(models, codes, cells, traces)


class TaskCase(Struct, frozen=True):
    """One row: a status of the chain, and how many of those traces the source counts as passed, failed or neither."""

    chain: str
    passed: int
    failed: int
    unjudged: int

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers in the order of the columns."""
        return self.passed, self.failed, self.unjudged


def task_cases(whole: GroupFigures) -> Sequence[TaskCase]:
    """The rows of the table; none if no source has outcomes.

    A chain is ok if its status is `ok` or `recovered`. Traces that were aborted, or whose last answer was not kept,
    have a separate row if there are any.
    """
    judged = whole.tally("source_success")
    if not judged.trials:
        return ()
    return tuple(_rows(whole, judged.hits, judged.trials))


def _rows(whole: GroupFigures, passed: int, judged: int) -> Iterator[TaskCase]:
    done = {name: whole.tally(name).hits for name in ("ok", "recovered", "broken", "aborted", "unknown")}
    ok = _case("ok", whole, "unbroken", done["ok"] + done["recovered"])
    broken = _case("broken", whole, "broken", done["broken"])
    yield ok
    yield broken
    others = done["aborted"] + done["unknown"]
    if others:
        others_passed = passed - ok.passed - broken.passed
        others_failed = judged - passed - ok.failed - broken.failed
        yield TaskCase("cut or not kept", others_passed, others_failed, others - others_passed - others_failed)


def _case(name: str, whole: GroupFigures, chain: str, traces: int) -> TaskCase:
    passed, failed = whole.tally(f"{chain}_success").hits, whole.tally(f"{chain}_failure").hits
    return TaskCase(name, passed, failed, traces - passed - failed)


def bar(share: float, cells: int) -> str:
    """A share as a bar of at most `cells` cells, to an eighth of a cell; a share above 0 is never an empty bar."""
    eighths = min(max(round(share * cells * 8), int(share > 0)), cells * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def value_text(estimate: Estimate, fewest: int) -> str:
    """A value with its interval: `0.83 (0.78–0.87)`, `0.75 (too few)`, or `–` if there is none."""
    if estimate.value is None:
        return "–"
    measure, value = estimate.measure, estimate.value
    digits = _digits(measure, value)
    if estimate.interval is None:
        return f"{value:,.{digits}f} ({'too few' if estimate.tally.traces < fewest else 'all equal'})"
    return f"{value:,.{digits}f} ({estimate.interval.low:,.{digits}f}–{estimate.interval.high:,.{digits}f})"


def page_value_text(estimate: Estimate, fewest: int) -> str:
    """The same for pages, shares in per cent: `83 % (78–87)`, `67 % (2 of 3)` for few traces, `-` for none."""
    if estimate.value is None:
        return "-"
    if estimate.measure.kind is MeasureKind.MEAN:
        return value_text(estimate, fewest)
    share_text = f"{percent(estimate.value)} %"
    if estimate.interval is None:
        return f"{share_text} ({estimate.tally.hits:,} of {estimate.tally.trials:,})"
    return f"{share_text} ({percent(estimate.interval.low)}–{percent(estimate.interval.high)})"


def page_number_text(measure: Measure, value: float) -> str:
    """A value without interval for pages; a share in per cent."""
    return number_text(measure, value) if measure.kind is MeasureKind.MEAN else f"{percent(value)} %"


def page_difference_text(measure: Measure, difference: float) -> str:
    """A difference of two values with its sign; of shares, in percentage points: `−12.3`."""
    text = f"{difference:+.2f}" if measure.kind is MeasureKind.MEAN else f"{100 * difference:+.1f}"
    return text.replace("-", "−")


def number_text(measure: Measure, value: float) -> str:
    """A number with its significant digits."""
    return f"{value:,.{_digits(measure, value)}f}"


def percent(share: float) -> str:
    """A share in per cent, without its sign: `23`, `0.4`."""
    return f"{100 * share:.0f}" if share in (0, 1) or 0.01 <= share <= 0.99 else f"{100 * share:.1f}"


def code_title(code: str) -> str:
    """A rule's code with its name; the outcome of a step unchanged."""
    try:
        return str(find_rule(code))
    except UnknownRuleError:
        return visible_line(code)


def key_title(key: GroupKey, value: str, prompts: Mapping[str, Prompt]) -> str:
    """The value of a key as a table shows it."""
    if not value:
        return _UNKNOWN[key]
    if key is GroupKey.CODE:
        return code_title(value)
    if key is GroupKey.PROMPT:
        prompt = prompts.get(value)
        details = [] if prompt is None else [counted(prompt.tools, "tool") if prompt.tools else "", prompt.words]
        return visible_line(" · ".join([value[:_HASH_DIGITS], *filter(None, details)]))
    return visible_line(value)


def group_title(by: Sequence[GroupKey], values: Sequence[str], prompts: Mapping[str, Prompt]) -> str:
    """A group as words of a sentence: `model hermes-4, reasoning on`."""
    return ", ".join(f"{key.value} {key_title(key, value, prompts)}" for key, value in zip(by, values, strict=True))


def dim(text: str) -> Line:
    """A dimmed text."""
    return (Run(text, Style.DIM),)


def _digits(measure: Measure, value: float) -> int:
    """The number of decimals: two for a share, and more near 0 and 1, so that it is not rounded to them."""
    if measure.kind is MeasureKind.MEAN:
        return 0 if value >= 100 else 1 if value >= 10 else 2
    near = min(value, 1 - value)
    return 2 if near == 0 or near >= 0.01 else 3 if near >= 0.001 else 4
