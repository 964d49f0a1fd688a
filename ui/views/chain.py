"""The chain of a trace as a list, and its break with what was expected instead."""

import json
from collections.abc import Iterator, Sequence

from inspector.chain.steps import Break, Chain, Reaction, Status, Step, StepOutcome
from inspector.diagnostics import Diagnostic
from inspector.json_text import write_json
from inspector.rules.rule import Severity
from ui.views.call import call_brief
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded
from ui.views.status import step_glyph
from ui.views.visible import visible_line
from ui.views.wording import quoted, wrapped

_EXPECTED = {
    StepOutcome.MALFORMED: "a payload that is strict in its format and names a tool",
    StepOutcome.UNKNOWN_TOOL: "one of the tools that the request offers",
    StepOutcome.INVALID: "arguments that the tool's schema allows",
    StepOutcome.ERROR_RESULT: "a result without an error, or a later call that does this one's work",
    StepOutcome.UNANSWERED: "a result for this call before the conversation goes on",
}
_WRAPPER = frozenset({"name", "content", "tool_call_id", "call_id", "id"})
_LONGEST_UNWRAPPED = 100_000
_REACTIONS = {
    Reaction.REPORTED: "The agent reported it.",
    Reaction.IGNORED: "The agent went on as if nothing had happened.",
    Reaction.CONCEALED: "The agent went on with values that it invented.",
}


def chain_lines(chain: Chain, width: int) -> Iterator[Line]:
    """One line a step: number, call, outcome, result in short. No lines where no tool was called."""
    digits = len(str(len(chain.steps)))
    outcomes = max((len(outcome_words(step)) for step in chain.steps), default=0)
    calls = max((width - digits - outcomes - 8) // 2, 16)
    for step in chain.steps:
        glyph = step_glyph(step)
        line = (
            Run(f"{step.number:>{digits + 1}} "),
            glyph,
            Run(" "),
            *padded((Run(call_brief(step.call, calls), Style.TOOL_CALL),), calls),
            Run(f"  {outcome_words(step):{outcomes}}  ", glyph.style),
            *result_words(step, width),
        )
        yield clipped(line, width)


def break_lines(broken: Break, diagnostics: Sequence[Diagnostic], width: int) -> Iterator[Line]:
    """The break: the step, what is wrong in a sentence, what was expected, and how the agent took it."""
    head = (Run(f"✖ broke at step {broken.step}", Style.ERROR), Run(f" (turn {broken.turn}): "))
    yield from wrapped((*head, *quoted(broken.message)), width, indent=2)
    yield from wrapped((Run("  expected: ", Style.STRONG), Run(_EXPECTED[broken.outcome])), width, indent=4)
    cause = next((one for one in diagnostics if _causes(one, broken)), None)
    if cause is not None and cause.fault.hint:
        yield from wrapped((Run("  help: ", Style.HINT), *quoted(cause.fault.hint)), width, indent=4)
    if broken.reaction is not None:
        yield (Run(f"  {_REACTIONS[broken.reaction]}"),)


def ending(chain: Chain) -> str:
    """How the chain ended, in a few words that follow its status."""
    match chain.status:
        case Status.BROKEN if chain.broken is not None:
            return f"at step {chain.broken.step} of {len(chain.steps)}"
        case Status.ABORTED:
            return f"by {chain.abort_reason}" if chain.abort_reason else ""
        case Status.RECOVERED:
            failed = sum(step.outcome.failed for step in chain.steps)
            return f"from {failed} failed of {len(chain.steps)} steps"
        case _:
            return "" if chain.steps else "no tool was called"


def outcome_words(step: Step) -> str:
    """What became of a step, how sure that is, and whether it was made good."""
    certainty = f" ({step.certainty.value})" if step.certainty else ""
    recovered = ", recovered" if step.recovery is not None else ""
    return f"{step.outcome.value}{certainty}{recovered}"


def result_words(step: Step, room: int) -> Line:
    """The beginning of a step's result on one line, as much of it as `room` code points hold."""
    if step.result is None:
        return (Run("no result", Style.DIM),)
    text = _without_wrapper(step.result.content.strip())
    return (Run(visible_line(text[:room]), Style.TOOL_RESULT),) if text else (Run("empty", Style.DIM),)


def _without_wrapper(text: str) -> str:
    """A result without the `{"name", "content"}` that some formats put around it."""
    if len(text) > _LONGEST_UNWRAPPED or not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or "content" not in value or not value.keys() <= _WRAPPER:
        return text
    content = value["content"]
    return content if isinstance(content, str) else write_json(content, ascii_only=False)


def _causes(diagnostic: Diagnostic, broken: Break) -> bool:
    return (
        diagnostic.location.turn == broken.turn
        and diagnostic.rule.code == broken.code
        and diagnostic.rule.severity is Severity.ERROR
    )
