"""Whether a failed step did harm: who did its work later, or why nobody missed it."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.chain.error_results import is_empty
from inspector.chain.intent import Intent, intent_of, same_intent
from inspector.chain.reaction import Aftermath
from inspector.chain.steps import Recovery, Step, StepOutcome
from inspector.chain.substitutes import Substitutes
from inspector.chain.terminal_tools import bare_name
from inspector.diagnostics import Location

# A tool may take what its schema forbids, or be there without having been offered; its own answer proves it.
# A payload that is no call is none, whatever a server made of it.
_MAY_BE_TAKEN = frozenset((StepOutcome.INVALID, StepOutcome.UNKNOWN_TOOL))
_CANDIDATES = 8  # how many steps under one key are compared; beyond, calls are alike only by chance


def with_recoveries(
    steps: Sequence[Step], aftermath: Aftermath, attempts: Container[Location] = ()
) -> tuple[Step, ...]:
    """The steps, the failed ones with what made them good. Looked up by keys, so linear but for a logarithm.

    `attempts` are the places of calls in a shape that their format does not read; a result shows that somebody did.
    """
    failed = [step for step in steps if step.outcome.failed]
    if not failed:
        return tuple(steps)
    intents = {step.number: intent_of(step.call) for step in failed}
    found = {step.number: Recovered(Recovery.ANSWERED) for step in failed if _is_answered(step, attempts)}
    good = [step for step in steps if step.outcome is StepOutcome.OK or step.number in found]
    comparable = _comparable(failed, intents)
    intents |= {step.number: intent_of(step.call) for step in good if comparable(step)}
    same = _SameIntent(steps, [step.number for step in good], intents)
    for step in failed:
        if step.number not in found and (recovered := same.after(step)) is not None:
            found[step.number] = recovered
    left = [step for step in failed if step.number not in found]
    substitutes = Substitutes(steps, [(step, intents[step.number]) for step in left])
    for step in left:
        if (number := substitutes.of(step, intents[step.number])) is not None:
            found[step.number] = Recovered(Recovery.OTHER_TOOL, number)
        elif (how := aftermath.harmless(step, intents[step.number])) is not None:
            found[step.number] = Recovered(how)
    return tuple(_marked(step, found.get(step.number)) for step in steps)


@dataclass(frozen=True, slots=True)
class Recovered:
    """How a failed step was made good, and by which."""

    how: Recovery
    by: int | None = None


class _SameIntent:
    """The good steps that have an intent, under every key of it."""

    def __init__(self, steps: Sequence[Step], good: Iterable[int], intents: Mapping[int, Intent]) -> None:
        self._steps, self._intents = steps, intents
        self._by_key: defaultdict[str, list[int]] = defaultdict(list)
        self._good = [number for number in good if number in intents]
        for number in self._good:
            for key in set(intents[number].keys()):
                self._by_key[key].append(number)

    def after(self, failed: Step) -> Recovered | None:
        """The first later step of the same intent that did its work, made when the failure could be known."""
        intent = self._intents[failed.number]
        candidates = sorted(set(self._candidates(failed, intent)))
        later = (number for number in candidates if same_intent(intent, self._intents[number]))
        by = next(later, None)
        return None if by is None else Recovered(Recovery.SAME_INTENT, by)

    def _candidates(self, failed: Step, intent: Intent) -> Iterator[int]:
        nameless = intent.tool is None
        for numbers in [self._good] if nameless else (self._by_key.get(key, []) for key in set(intent.keys())):
            first = bisect_right(numbers, failed.number)
            known = (number for number in numbers[first : first + 4 * _CANDIDATES] if self._is_after(failed, number))
            yield from (number for number, _ in zip(known, range(_CANDIDATES), strict=False))

    def _is_after(self, failed: Step, number: int) -> bool:
        turn = self._steps[number - 1].location.turn
        if failed.result_location is not None:
            return turn > failed.result_location.turn or failed.result_location.turn == failed.location.turn
        return turn > failed.location.turn or failed.outcome is StepOutcome.MALFORMED


def _comparable(failed: Sequence[Step], intents: Mapping[int, Intent]) -> Callable[[Step], bool]:
    """Which steps can be of the same intent as a failed one: those of its tool; any for a program or no known tool."""
    tools = {intents[step.number].tool for step in failed}
    if any(tool is None or tool.startswith("$ ") for tool in tools):
        return lambda _: True
    return lambda step: step.call.name is not None and bare_name(step.call.name) in tools


def _is_answered(step: Step, attempts: Container[Location]) -> bool:
    may_be_taken = step.outcome in _MAY_BE_TAKEN or step.location in attempts
    if not may_be_taken or step.result is None:
        return False
    return step.error is None and not is_empty(step.result)


def _marked(step: Step, recovered: Recovered | None) -> Step:
    return step if recovered is None else replace(step, recovery=recovered.how, recovered_by=recovered.by)
