"""What the triage page asks, and the numbers that come as the rows of its charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from inspector.errors import UnknownRuleError
from inspector.rules.catalogue import find_rule
from ui.views.stats_wording import code_title, percent
from ui.views.visible import visible_line
from ui.web.charts import Rows
from ui.web.counter import CountQuery
from ui.web.facets import STATUSES
from ui.web.figures import grouped, hits, sliced
from ui.web.sheets import Sheet

Groups: TypeAlias = tuple[GroupFigures, ...]
Slices: TypeAlias = tuple[Slice, ...]

_MOST_BARS = 10
_MOST_MODELS, _MOST_CODES = 10, 12
_MOST_DAYS = 60
_LAST_STEP = 12


@dataclass(frozen=True, slots=True)
class TriageQuestions:
    """What the triage page asks of the traces that a filter lets through, the soonest wanted first."""

    whole: CountQuery[Groups]
    codes: CountQuery[Slices]
    days: CountQuery[Groups]
    models: CountQuery[Groups]
    models_and_codes: CountQuery[Groups]
    steps: CountQuery[Slices]

    def all(self) -> tuple[CountQuery[Any], ...]:
        """Each of them."""
        return (self.whole, self.codes, self.days, self.models, self.models_and_codes, self.steps)


@dataclass(frozen=True, slots=True)
class TriageFigures:
    """The questions, and the answers that are there."""

    asked: TriageQuestions
    sheet: Sheet

    def has(self, *questions: CountQuery[Any]) -> bool:
        """Whether all of these are answered."""
        return all(one in self.sheet for one in questions)

    def whole(self) -> GroupFigures:
        """What all the traces together come to, where that is answered and there are any."""
        return self.sheet[self.asked.whole][0]

    def is_uncounted(self) -> bool:
        """Whether no trace is in any figure."""
        return self.has(self.asked.whole) and not self.sheet[self.asked.whole]


def triage_questions(wanted: str) -> TriageQuestions:
    """The questions for a filter."""
    return TriageQuestions(
        whole=grouped(wanted),
        codes=sliced(wanted, Aspect.CODE),
        days=grouped(wanted, GroupKey.DAY),
        models=grouped(wanted, GroupKey.MODEL),
        models_and_codes=grouped(wanted, GroupKey.MODEL, GroupKey.CODE),
        steps=sliced(wanted, Aspect.STEP),
    )


def day_rows(days: Sequence[GroupFigures]) -> Rows:
    """A row for each status of each of the last days; traces without a date are in none."""
    dated = sorted((group for group in days if group.keys[0]), key=lambda group: group.keys)
    return [
        {"day": group.keys[0], "status": status, "traces": hits(group, status), "rank": rank}
        for group in dated[-_MOST_DAYS:]
        for rank, status in enumerate(STATUSES)
        if hits(group, status)
    ]


def code_rows(codes: Sequence[Slice]) -> Rows:
    """A row for each of the most frequent reasons of breaks, with the share of all breaks down to it."""
    total = sum(one.traces for one in codes)
    sums = list(accumulate(one.traces for one in codes))
    return [
        {
            "rule": rule_title(one.value),
            "value": one.value,
            "traces": one.traces,
            "cumulated": upto / total,
            "said": f"{one.traces:,} · {percent(upto / total)} %",
        }
        for one, upto in zip(codes[:_MOST_BARS], sums, strict=False)
    ]


def heat_rows(by_model: Sequence[GroupFigures], by_model_and_code: Sequence[GroupFigures]) -> Rows:
    """A row for each pair of a frequent model and a frequent rule, also for those that never met."""
    totals = {group.keys[0]: group.traces for group in by_model if group.keys[0]}
    found = {(group.keys[0], group.keys[1]): group.traces for group in by_model_and_code if group.keys[0]}
    codes = _frequent_codes(found)
    met = {model for model, code in found if code in codes}
    models = [model for model in totals if model in met][:_MOST_MODELS]
    return [
        {
            "model": visible_line(model),
            "value": model,
            "rule": code,
            "title": code_title(code),
            "traces": found.get((model, code), 0),
            "share": found.get((model, code), 0) / totals[model],
        }
        for model in models
        for code in codes
    ]


def step_rows(steps: Sequence[Slice]) -> Rows:
    """A row for each step at which chains broke; the late ones are one."""
    counts: dict[str, int] = {}
    for one in steps:
        label = one.value if int(one.value) <= _LAST_STEP else f">{_LAST_STEP}"
        counts[label] = counts.get(label, 0) + one.traces
    return [{"step": step, "traces": traces} for step, traces in counts.items()]


def code_of(value: str) -> str | None:
    """The code of the rule that a reason of breaks stands for: of the rule's code, or of an outcome that it names."""
    try:
        return find_rule(value).code
    except UnknownRuleError:
        return None


def rule_title(value: str) -> str:
    """A reason of breaks with code and name, an outcome by the rule that says it."""
    return code_title(code_of(value) or value)


def _frequent_codes(found: dict[tuple[str, str], int]) -> list[str]:
    counts: dict[str, int] = {}
    for (_, code), traces in found.items():
        counts[code] = counts.get(code, 0) + traces
    return sorted(counts, key=lambda code: (-counts[code], code))[:_MOST_CODES]
