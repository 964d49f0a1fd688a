"""What is wrong with a chain's calls and results, place by place: T402 to T408."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from inspector.chain.data_flow import DataFlow
from inspector.chain.empty_results import empty_results
from inspector.chain.excerpt import quoted, tool_named
from inspector.chain.outcomes import last_words
from inspector.chain.pairing import Pairing
from inspector.chain.retries import loops_in_turns, repetitions, same_result
from inspector.chain.steps import Certainty, Chain, Step, StepOutcome
from inspector.chain.terminal_tools import is_terminal
from inspector.checks.repetition import repeated_message
from inspector.diagnostics import Diagnostic, Fault, Location
from inspector.model import ToolResult, Trace
from inspector.rules import conversation as rules
from inspector.rules.rule import Rule
from inspector.text import Range

_KNOWN_ALREADY = "Go on with the result that is there already."
_ENDINGS = MappingProxyType({1: "st", 2: "nd", 3: "rd"})


def chain_diagnostics(trace: Trace, pairing: Pairing, chain: Chain, flow: DataFlow) -> Iterator[Diagnostic]:
    """The faults between calls and results; which of them broke the chain, the chain itself says."""
    yield from _pairing_faults(pairing)
    made = [step for step in chain.steps if step.location not in pairing.attempts]
    yield from _missing_results(made, last_words(trace))
    yield from _out_of_order(chain.steps)
    yield from _error_results(chain.steps)
    yield from _empty_results(chain.steps, flow)
    yield from _loops(chain.steps)


def _pairing_faults(pairing: Pairing) -> Iterator[Diagnostic]:
    for placed in pairing.repeated_ids:
        message = f"The id {quoted(placed.call.id or '')} belongs to an earlier call that is still open."
        hint = "Give every call an id of its own."
        yield _at(placed.location, rules.DUPLICATE_CALL_ID, message, hint)
    for orphan in pairing.orphans:
        named = f" for call {quoted(orphan.result.call_id)}" if orphan.result.call_id else ""
        yield _at(orphan.location, rules.RESULT_WITHOUT_CALL, f"This result{named} answers no open call.")


def _missing_results(steps: Sequence[Step], went_on_after: int) -> Iterator[Diagnostic]:
    for step in steps:
        if step.result is None and step.location.turn < went_on_after and not is_terminal(step.call.name):
            message = f"The call of {tool_named(step.call.name)} got no result, and the conversation went on."
            yield _at(step.location, rules.CALL_WITHOUT_RESULT, message)


def _out_of_order(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    """Results that come before that of a call made earlier in the same turn, or after later calls were answered."""
    answered = [step for step in steps if step.result_location is not None]
    earliest: Step | None = None
    for step in reversed(answered):
        if earliest is not None and _place(step) > _place(earliest) and not _share_id(step, earliest):
            mine, theirs = tool_named(step.call.name), tool_named(earliest.call.name)
            message = f"This result of {mine} comes after that of {theirs}, which was called later."
            yield _at(step.result_location, rules.RESULT_OUT_OF_ORDER, message)
        elif earliest is None or _place(step) < _place(earliest):
            earliest = step


def _share_id(step: Step, other: Step) -> bool:
    """Whether two calls bear one id, so that nobody knows whose result came first."""
    return step.call.id is not None and step.call.id == other.call.id


def _place(step: Step) -> Location:
    return step.result_location or step.location


def _error_results(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    for step in steps:
        if step.result is not None and step.outcome is StepOutcome.ERROR_RESULT:
            words = f": {quoted(step.error)}" if step.error else ""
            sure = ", judged by its words only" if step.certainty is Certainty.TEXTUAL else ""
            place = _place_of_words(step.result, step.error or "", step.result_location)
            message = f"{tool_named(step.call.name)} answered with an error{sure}{words}."
            yield _at(place, rules.ERROR_RESULT, message)


def _empty_results(steps: Sequence[Step], flow: DataFlow) -> Iterator[Diagnostic]:
    for empty in empty_results(steps, flow):
        said = empty.content
        shown = f"nothing but {quoted(said)}" if said else "nothing, neither a value nor an error"
        used = f"; the next call uses {quoted(empty.made_up)}, which was not found earlier" if empty.made_up else ""
        message = f"{tool_named(empty.step.call.name)} answered with {shown}{used}."
        yield _at(empty.step.result_location, rules.EMPTY_RESULT, message)


def _place_of_words(result: ToolResult, words: str, whole: Location | None) -> Location | None:
    """Where an error's words stand in its result, if they stand there as they are and once; else all of it."""
    at = result.content.find(words) if whole is not None and len(result.content) == len(whole.range) else -1
    if whole is None or not words or at < 0 or result.content.find(words, at + 1) >= 0:
        return whole
    start = whole.range.start + at
    return replace(whole, range=Range(start, start + len(words)))


def _loops(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    in_turns: set[int] = set()
    for same in loops_in_turns(steps):
        in_turns.update(step.number for step in same)
        message = repeated_message(tool_named(same[0].call.name), len(same))
        yield _at(same[1].location, rules.REPEATED_CALL, message, "Make the call once; stop the generation behind it.")
    for repetition in repetitions(steps):
        if repetition.step.number in in_turns:
            continue
        step, first = repetition.step, repetition.first
        came = "the same result" if same_result(step, first) else "no better result"
        message = (
            f"{tool_named(step.call.name)} is called with the same arguments as in turn {first.location.turn}, "
            f"for the {_ordinal(repetition.count)} time and with {came}."
        )
        hint = "Change the arguments, or stop and say what failed." if step.outcome.failed else _KNOWN_ALREADY
        yield _at(step.location, rules.REPEATED_CALL, message, hint)


def _ordinal(count: int) -> str:
    if 10 < count % 100 < 14:
        return f"{count}th"
    return f"{count}{_ENDINGS.get(count % 10, 'th')}"


def _at(place: Location | None, rule: Rule, message: str, hint: str | None = None) -> Diagnostic:
    assert place is not None
    return Fault(rule, place.range, message, hint).at(place.turn, place.part)
