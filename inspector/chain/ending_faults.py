"""How a trace went on after an error, and how it ended: T413 and T414."""

from collections.abc import Iterator

from inspector.chain.endings import abort_reason, source_says_success
from inspector.chain.excerpt import quoted, tool_named
from inspector.chain.steps import Chain, Reaction, Step, StepOutcome
from inspector.chain.terminal_tools import is_terminal
from inspector.checks.turn_places import at_end, at_start
from inspector.diagnostics import Diagnostic, Fault, Location
from inspector.model import BodyState, Role, Trace, Turn
from inspector.rules import conversation as rules
from inspector.wire.events import WIRE_PREFIX

_SAY_SO = "Let the agent say that the call failed, or try another way, before it goes on."
_ANSWER = "Look at the client's step limit, and at what the model was sent after this."
_WENT_ON = {Reaction.IGNORED: "as if it had not", Reaction.CONCEALED: "with a value of its own making"}


def ending_diagnostics(trace: Trace, chain: Chain, invented_at: Location | None = None) -> Iterator[Diagnostic]:
    """T413 where the agent passed over the error that broke the chain, T414 where its last word is missing.

    `invented_at` are the characters of the value that the agent made up in place of the failed step's result.
    """
    if abort_reason(trace) is not None:  # what the agent would have said is not known
        return
    yield from _passed_over(trace, chain, invented_at)
    if chain.steps and not source_says_success(trace):
        yield from _without_answer(trace, chain.steps[-1])


def _passed_over(trace: Trace, chain: Chain, invented_at: Location | None) -> Iterator[Diagnostic]:
    broken = chain.broken
    how = _WENT_ON.get(broken.reaction) if broken is not None and broken.reaction is not None else None
    if broken is None or how is None or broken.outcome is not StepOutcome.ERROR_RESULT:
        return
    tried = [step for step in chain.steps if broken.step in (step.number, step.retry_of)]
    known = max((step.result_location or step.location).turn for step in tried)
    for number, turn in enumerate(trace.turns[known:], known + 1):
        if turn.role is Role.ASSISTANT and _says_something(turn):
            if not _is_kept(turn):  # cut off: it may have been about to say so
                return
            failed = f"{tool_named(broken.tool)} answered with an error in turn {known}, and the agent went on"
            if invented_at is not None and broken.reaction is Reaction.CONCEALED:
                yield _at_invented(trace, invented_at, failed)
            else:
                yield at_start(turn, number, rules.UNRECOVERED_ERROR, f"{failed} {how}.", _SAY_SO)
            return


def _at_invented(trace: Trace, place: Location, failed: str) -> Diagnostic:
    part = trace.turns[place.turn - 1].part(place.part)
    value = place.range.of(part.text) if part is not None else ""
    message = f"{failed} with {quoted(value)}, which was not found earlier."
    return Fault(rules.UNRECOVERED_ERROR, place.range, message, _SAY_SO).at(place.turn, place.part)


def _without_answer(trace: Trace, last: Step) -> Iterator[Diagnostic]:
    number, turn = len(trace.turns), trace.turns[-1]
    if is_terminal(last.call.name):
        return
    if turn.role is Role.TOOL:
        message = f"The recording ends with the result of {tool_named(last.call.name)}; the agent never answered it."
        yield at_end(turn, number, rules.NO_FINAL_ANSWER, message, _ANSWER)
    elif turn.role is Role.ASSISTANT and not _says_something(turn) and _is_kept(turn):
        what = "nothing but reasoning" if any(part.text.strip() for part in turn.parts) else "nothing at all"
        yield at_end(turn, number, rules.NO_FINAL_ANSWER, f"The last turn holds {what}: no answer, and no call.")


def _says_something(turn: Turn) -> bool:
    """Whether a turn holds a call, or words that are not in a part of reasoning."""
    said = (part for part in turn.parts if part.name != "reasoning" and not part.name.startswith(WIRE_PREFIX))
    return bool(turn.calls) or any(part.text.strip() for part in said)


def _is_kept(turn: Turn) -> bool:
    return turn.generation is None or turn.generation.body is BodyState.COMPLETE
