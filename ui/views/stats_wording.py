"""Numbers, bars and names as tables of metrics write them."""

from collections.abc import Mapping, Sequence

from inspector.chain.metrics import Estimate, Measure, MeasureKind
from inspector.chain.metrics_groups import GroupKey
from inspector.errors import UnknownRuleError
from inspector.rules.catalogue import find_rule
from storage import Prompt
from ui.views.status import UNNAMED
from ui.views.styled_text import Line, Run, Style, visible_line
from ui.views.wording import counted

_EIGHTHS = " ▏▎▍▌▋▊▉"
_UNKNOWN = {
    GroupKey.MODEL: "(model not known)",
    GroupKey.TOOL: UNNAMED,
    GroupKey.FORMAT: "(no format)",
    GroupKey.SOURCE: "(source not known)",
    GroupKey.REASONING: "(no answer)",
    GroupKey.PROMPT: "(no prompt or tools kept)",
    GroupKey.CODE: "(no code)",
    GroupKey.LAYER: "(no layer)",
    GroupKey.OWNER: "(no owner)",
    GroupKey.DAY: "(no time kept)",
}
_DIGITS = 8


def bar(share: float, cells: int) -> str:
    """A share as a bar of so many cells at most, to an eighth of a cell; a share above 0 is never an empty bar."""
    eighths = min(max(round(share * cells * 8), int(share > 0)), cells * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def value_text(estimate: Estimate, fewest: int) -> str:
    """A value with its interval: `0.83 (0.78–0.87)`, `0.75 (too few)`, or `–` where there is none."""
    if estimate.value is None:
        return "–"
    measure, value = estimate.measure, estimate.value
    digits = _digits(measure, value)
    if estimate.interval is None:
        return f"{value:,.{digits}f} ({'too few' if estimate.tally.traces < fewest else 'all alike'})"
    return f"{value:,.{digits}f} ({estimate.interval.low:,.{digits}f}–{estimate.interval.high:,.{digits}f})"


def page_value_text(estimate: Estimate, fewest: int) -> str:
    """The same as pages write it, shares in per cent: `83 % (78–87)`, of few traces `67 % (2 of 3)`, `-` for none."""
    if estimate.value is None:
        return "-"
    if estimate.measure.kind is MeasureKind.MEAN:
        return value_text(estimate, fewest)
    said = f"{percent(estimate.value)} %"
    if estimate.interval is None:
        return f"{said} ({estimate.tally.hits:,} of {estimate.tally.trials:,})"
    return f"{said} ({percent(estimate.interval.low)}–{percent(estimate.interval.high)})"


def page_number_text(measure: Measure, value: float) -> str:
    """A value alone as pages write it, a share in per cent."""
    return number_text(measure, value) if measure.kind is MeasureKind.MEAN else f"{percent(value)} %"


def page_difference_text(measure: Measure, difference: float) -> str:
    """A difference of two values with its sign, that of shares in percentage points: `−12.3`."""
    said = f"{difference:+.2f}" if measure.kind is MeasureKind.MEAN else f"{100 * difference:+.1f}"
    return said.replace("-", "−")


def number_text(measure: Measure, value: float) -> str:
    """A number to the digits that it is worth."""
    return f"{value:,.{_digits(measure, value)}f}"


def percent(share: float) -> str:
    """A share in per cent, without its sign: `23`, `0.4`."""
    return f"{100 * share:.0f}" if share in (0, 1) or 0.01 <= share <= 0.99 else f"{100 * share:.1f}"


def code_title(code: str) -> str:
    """A rule's code with its name; the outcome of a step as it is."""
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
        told = [] if prompt is None else [counted(prompt.tools, "tool") if prompt.tools else "", prompt.words]
        return visible_line(" · ".join([value[:_DIGITS], *filter(None, told)]))
    return visible_line(value)


def group_title(by: Sequence[GroupKey], values: Sequence[str], prompts: Mapping[str, Prompt]) -> str:
    """A group as a sentence names it: `model hermes-4, reasoning on`."""
    return ", ".join(f"{key.value} {key_title(key, value, prompts)}" for key, value in zip(by, values, strict=True))


def dim(text: str) -> Line:
    """A piece of text that stands back."""
    return (Run(text, Style.DIM),)


def _digits(measure: Measure, value: float) -> int:
    """The digits behind the point: two of a share, and more near 0 and 1, so that it is not rounded to them."""
    if measure.kind is MeasureKind.MEAN:
        return 0 if value >= 100 else 1 if value >= 10 else 2
    near = min(value, 1 - value)
    return 2 if near == 0 or near >= 0.01 else 3 if near >= 0.001 else 4
