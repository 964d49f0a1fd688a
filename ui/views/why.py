"""Why a trace has its verdict, for `weaklink show --why`: per step the facts, words and places that decided."""

from collections.abc import Iterator

from weaklink.inspector.chain.explanation import StepExplanation, explanations
from weaklink.inspector.chain.steps import Chain, Status, Step
from weaklink.inspector.chain.verdict_rules import RULE_MEANINGS, VerdictRule
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.inspector.text import LineIndex
from weaklink.ui.views.diagnostic import place_words
from weaklink.ui.views.status import UNNAMED, outcome_words, status_run, step_glyph
from weaklink.ui.views.styled_text import Line, Run, Style, visible_line, wrapped

_MAX_QUOTE_CHARS = 160


def why_lines(trace: Trace, inspection: Inspection, *, width: int) -> Iterator[Line]:
    """The verdict with its certainty, then each step that is no plain success with what decided."""
    chain = inspection.chain
    yield from wrapped((status_run(chain.status), Run(f"  {_verdict(chain)}")), width, indent=2)
    yield from _rule_lines(chain.rule, width)
    has_lines = False
    for explanation in explanations(trace, chain):
        has_lines = True
        yield ()
        yield from _step_lines(trace, chain, explanation, width)
    if not has_lines:
        yield (Run("Every call did what it was made for."),)


def _verdict(chain: Chain) -> str:
    certainty = f"certainty {chain.certainty.value}"
    if chain.broken is not None:
        return f"the first step that nothing repaired is {chain.broken.step}; {certainty}"
    if chain.status is Status.ABORTED:
        return f"stopped early ({chain.abort_reason}); {certainty}"
    return f"no step broke the chain; {certainty}"


def _step_lines(trace: Trace, chain: Chain, explanation: StepExplanation, width: int) -> Iterator[Line]:
    step = explanation.step
    name = visible_line(step.call.name) if step.call.name else UNNAMED
    kind = f" ({step.result_kind.value})" if step.result_kind is not None else ""
    head = (
        step_glyph(step),
        Run(f" step {step.number} "),
        Run(name, Style.STRONG),
        Run(f": {outcome_words(step)}{kind}"),
    )
    yield from wrapped(head, width, indent=2)
    yield from _fact("call", _place(trace, step.location), width)
    if explanation.polls:
        yield from _fact("polls", "the command of an earlier call", width)
    if explanation.effect:
        yield from _fact("was to do", explanation.effect, width)
    if step.result_location is not None:
        yield from _fact("result", _place(trace, step.result_location), width)
    if step.error and all(evidence.quote != step.error for evidence in explanation.evidence):
        yield from _fact("error", _quoted(step.error), width)
    for evidence in explanation.evidence:
        yield from _fact(evidence.source, _quoted(evidence.quote), width)
    yield from _fact("became", _became(trace, chain, step), width)
    if step.said is not None:
        where = f" {_place(trace, step.said_at)}: {_quoted(_text(trace, step.said_at))}" if step.said_at else ""
        yield from _fact("the agent", f"{step.said.value}{where}", width)
    for rule in step.rules:
        yield from _rule_lines(rule, width)


def _became(trace: Trace, chain: Chain, step: Step) -> str:
    if not step.outcome.failed:
        return "nothing to repair"
    if step.recovery is None:
        return "nothing repaired it"
    if step.recovered_by is None:
        return step.recovery.value
    by = chain.steps[step.recovered_by - 1]
    return (
        f"{step.recovery.value}, by step {by.number} ({_place(trace, by.location)}): {_quoted(by.call.raw_arguments)}"
    )


def _rule_lines(rule: VerdictRule, width: int) -> Iterator[Line]:
    yield from _fact(f"rule {rule.value}", RULE_MEANINGS[rule], width)


def _fact(name: str, words: str, width: int) -> Iterator[Line]:
    yield from wrapped((Run(f"  {name}: ", Style.KEY), Run(visible_line(words))), width, indent=4)


def _place(trace: Trace, location: Location) -> str:
    part = trace.turns[location.turn - 1].part(location.part)
    return place_words(location, LineIndex(part.text if part is not None else ""))


def _text(trace: Trace, location: Location) -> str:
    part = trace.turns[location.turn - 1].part(location.part)
    return location.range.of(part.text) if part is not None else ""


def _quoted(text: str) -> str:
    line = " ".join(text[: 4 * _MAX_QUOTE_CHARS].split())
    short = line if len(line) <= _MAX_QUOTE_CHARS else f"{line[: _MAX_QUOTE_CHARS - 1]}…"
    return f"“{short}”"
