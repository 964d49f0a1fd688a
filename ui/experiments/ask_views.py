"""The form, plan and result table of an experiment, for `weaklink ask` and the screens."""

import os
import re
import shlex
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.capture.replay_server import ReplayServer
from weaklink.inspector.capture.resending import ResendTarget, SpendingBounds, target_of
from weaklink.inspector.chain.intervals import Interval
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.replay.canonical import differences
from weaklink.inspector.replay.matching import Replayer, recording_of
from weaklink.inspector.replay.resend import RequestChange, ResendError
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.store import Store
from weaklink.ui.experiments import ask_again
from weaklink.ui.json_types.runs import AskJson, RateJson
from weaklink.ui.views.status import GLYPHS
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line

_MIN_KEY_CHARS = 8
_MAX_TIMES = 10_000
_MAX_CHANGES = 20
_TIMES = "number of times"
_NAMES = {rule.code: rule.name for rule in RULES}
HEADINGS = ("rule", "rate", "95 % interval", "original", "95 % interval", "difference", "95 % interval")


class AskForm(Struct, frozen=True):
    """The form's fields; each may be empty. `bounds` is the maximum requests and maximum tokens, space-separated."""

    server: str = ""
    times: str = "20"
    model: str = ""
    settings: str = ""
    bounds: str = ""
    is_advised: bool = False

    def plan(self, store: Store, id: int, turn: int | None) -> ask_again.AskPlan:  # as in `Store`
        """The plan of what would be sent. Raises ResendError for an invalid field."""
        question = ask_again.question_of(store, id, turn)
        change = RequestChange(self.model.strip(), tuple(setting_of(word) for word in self._words()))
        changed = ask_again.changed_request(question, change, is_advised=self.is_advised)
        return ask_again.plan_of(question, changed, _number(self.times or "20", _TIMES))

    def target(self, plan: ask_again.AskPlan) -> ResendTarget:
        """The target of the requests; the key comes from the environment."""
        if not self.server.strip():
            raise ResendError("a server URL is required, such as `https://api.openai.com`")
        request = plan.settings[0]
        return target_of(self.server.strip(), request.api, request.path, os.environ)

    def spending(self) -> SpendingBounds:
        """The spending bounds; a missing value means no bound."""
        words = [_number(word, "bound") for word in self.bounds.replace(",", " ").split()]
        return SpendingBounds(*words[:2])

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.settings)
        except ValueError as error:
            raise ResendError(f"cannot parse the settings: {error}") from error


def setting_of(word: str) -> tuple[str, str]:
    """Parse a setting of the form NAME=VALUE. Raises ResendError for anything else."""
    name, mark, value = word.partition("=")
    if not mark or not all(name.split(".")):
        raise ResendError(f"`{word}` is not of the form NAME=VALUE")
    return name, value


def _number(text: str, what: str) -> int:
    if not text.strip().isdecimal() or not 0 < int(text) <= 10**9:
        raise ResendError(f"`{text}` is not a valid {what}")
    return min(int(text), _MAX_TIMES) if what == _TIMES else int(text)


def experiment_of(
    plan: ask_again.AskPlan,
    target: ResendTarget,
    store: Store,
    bounds: SpendingBounds,
    changed: Callable[[ask_again.AskResult], None] = lambda result: None,
) -> ask_again.AskExperiment:
    """The experiment; its records are redacted, including the key of this target."""
    patterns = (re.escape(target.key),) if len(target.key) >= _MIN_KEY_CHARS else ()
    return ask_again.AskExperiment(plan, target, store, Redactor(patterns), bounds=bounds, changed=changed)


def replay_server_of(store: Store, id: int) -> tuple[ReplayServer, Trace]:  # as in `Store`
    """A server that answers from one trace, and the trace. Raises ResendError if the trace has no answers."""
    exchanges, trace = store.exchanges.of(id).traces.get(id, ()), store.trace(id)
    recording = recording_of([(trace, exchanges)])
    if not recording.exchanges:
        raise ResendError(f"trace {id} has no recorded model answers to serve")
    return ReplayServer(Replayer(recording), Redactor()), trace


def plan_lines(plan: ask_again.AskPlan, url: str) -> Iterator[Line]:
    """What will be sent, to which URL, and the changes of the request."""
    request = plan.question.request
    for note in request.notes:
        yield (Run(f"weaklink: {note}", Style.DIM),)
    if len(plan.settings) > 1:
        yield (Run("weaklink: changes to the request:"),)
        changes = list(differences(request.body, plan.settings[0].body))
        for difference in changes[:_MAX_CHANGES]:
            change = {"added": difference.live, "missing": f"{difference.recorded} removed"}.get(
                difference.kind.value, f"{difference.recorded} → {difference.live}"
            )
            yield (Run(f"  {visible_line(difference.pointer)}  ", Style.KEY), Run(visible_line(change)))
        if len(changes) > _MAX_CHANGES:
            yield (Run(f"  and {len(changes) - _MAX_CHANGES} more", Style.DIM),)
    yield (Run(f"weaklink: {spending_words(plan)} to {visible_line(url)}."),)


def spending_words(plan: ask_again.AskPlan) -> str:
    """The maximum number of requests, and the estimated number of tokens of their prompts."""
    arms = f"{plan.count} per setting; " if len(plan.settings) > 1 else ""
    return (
        f"the request of turn {plan.question.request.turn} will be sent {counted(plan.requests, 'time')} ({arms}about "
        f"{plan.prompt_tokens:,} prompt tokens, plus answers)"
    )


def result_lines(result: ask_again.AskResult) -> Iterator[Line]:
    """The result table, and sentences on its basis."""
    heads, rows = result_table(result)
    widths = [max(len(row[index]) for row in [heads, *(row for row, _ in rows)]) for index in range(len(heads))]
    yield (Run("  ".join(name.ljust(width) for name, width in zip(heads, widths, strict=True)), Style.STRONG),)
    for row, style in rows:
        yield (Run("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)), style),)
    for sentence in sentences(result):
        yield (Run(sentence),)


ResultTable: TypeAlias = tuple[tuple[str, ...], list[tuple[tuple[str, ...], Style]]]
"""Headings, and rows of as many cells, each with its style."""


def result_table(result: ask_again.AskResult) -> ResultTable:
    """The headings, and a row for each rule with its style; without changed settings there is nothing to compare."""
    columns = 7 if len(result.plan.settings) > 1 else 3
    return HEADINGS[:columns], [(_cells(rate)[:columns], _style(rate)) for rate in result.rates()]


def sentences(result: ask_again.AskResult) -> Iterator[str]:
    """The basis of the numbers: how many answers count, why the experiment stopped, and what the intervals mean."""
    pairs = len(result.counted())
    unit = "pair" if len(result.plan.settings) > 1 else "answer"
    yield f"{counted(pairs, unit)} of {result.plan.count} counted; {counted(result.kept, 'answer')} saved as forks."
    for failure, count in result.failures.most_common(5):
        yield f"{GLYPHS[Severity.ERROR]} {counted(count, 'answer')} failed: {visible_line(failure)}"
    if result.stop:
        yield f"Stopped: {visible_line(result.stop)}."
    yield "Each interval has 95 % confidence for its row (Wilson's for a rate, Newcombe's for a difference)."


def result_json(result: ask_again.AskResult) -> AskJson:
    """The experiment as JSON; rates are 0 to 1, intervals `[low, high]`."""
    plan, bounds = result.plan, result.bounds
    has_original = len(plan.settings) > 1
    return {
        "trace": plan.question.id,
        "turn": plan.question.request.turn,
        "experiment": result.experiment,
        "api": plan.question.request.api,
        "notes": list(plan.question.request.notes),
        "changes": [
            {
                "kind": difference.kind.value,
                "pointer": difference.pointer,
                "original": difference.recorded,
                "changed": difference.live,
            }
            for difference in differences(plan.question.request.body, plan.settings[0].body)
        ],
        "planned": plan.count,
        "counted": len(result.counted()),
        "kept": result.kept,
        "failures": [{"reason": reason, "answers": count} for reason, count in result.failures.most_common()],
        "stopped": result.stop or None,
        "interrupted": result.is_interrupted,
        "requests": bounds.requests,
        "tokens": bounds.tokens,
        "method": {
            "rate": "score interval (Wilson 1927)",
            "difference": "score intervals combined (Newcombe 1998, method 10)",
            "error": 0.05,
        },
        "rates": [_rate_json(rate, has_original=has_original) for rate in result.rates()],
    }


def _rate_json(rate: ask_again.ComparedRate, *, has_original: bool) -> RateJson:
    value: RateJson = {
        "rule": rate.code,
        "hits": rate.hits,
        "answers": rate.trials,
        "interval": _interval_json(rate.interval),
        "original": None,
        "difference": None,
    }
    if has_original and rate.original_interval is not None and rate.difference_interval is not None:
        interval = _interval_json(rate.original_interval)
        value["original"] = {"hits": rate.original_hits, "answers": rate.trials, "interval": interval}
        value["difference"] = {"value": rate.difference, "interval": _interval_json(rate.difference_interval)}
    return value


def _interval_json(interval: Interval) -> list[float]:
    return [round(interval.low, 6), round(interval.high, 6)]


def _cells(rate: ask_again.ComparedRate) -> tuple[str, ...]:
    name = "any error" if rate.code == ask_again.ANY else f"{rate.code} {_NAMES.get(rate.code, '')}".strip()
    cells = [name, _share(rate.hits, rate.trials), _range(rate.interval)]
    if rate.original_interval is None or rate.difference_interval is None or rate.difference is None:
        return (*cells, "", "", "", "")
    return (
        *cells,
        _share(rate.original_hits or 0, rate.trials),
        _range(rate.original_interval),
        f"{100 * rate.difference:+.0f} points",
        f"{100 * rate.difference_interval.low:+.0f} to {100 * rate.difference_interval.high:+.0f}",
    )


def _share(hits: int, trials: int) -> str:
    return f"{hits}/{trials} {100 * hits / trials:.0f} %" if trials else "0/0"


def _range(interval: Interval) -> str:
    return f"{100 * interval.low:.0f} to {100 * interval.high:.0f} %"


def _style(rate: ask_again.ComparedRate) -> Style:
    """The colour for better or worse if the interval of the difference excludes 0."""
    interval = rate.difference_interval
    if interval is None or interval.low <= 0 <= interval.high:
        return Style.PLAIN
    return Style.ERROR if interval.low > 0 else Style.OK
