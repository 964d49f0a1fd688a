"""Why a step has its verdict: the facts and words that decided, what was to be done, and where it is."""

from collections.abc import Iterator

from msgspec import Struct, structs

from weaklink.inspector.chain.analysis import others_texts
from weaklink.inspector.chain.background_runs import BackgroundRuns
from weaklink.inspector.chain.effects import effects_of, main_effect
from weaklink.inspector.chain.known_paths import KnownPaths
from weaklink.inspector.chain.outcomes import ErrorPatterns, judged_result
from weaklink.inspector.chain.pairing import LocatedCall
from weaklink.inspector.chain.result_kinds import ResultEvidence
from weaklink.inspector.chain.steps import Chain, Step
from weaklink.inspector.model import Trace


class StepExplanation(Struct, frozen=True):
    """A step that is no plain success, with what decided the kind of its result.

    `effect` is what the call was to do, in words; `""` if its tool is in no table. `polls` is whether it reports the
    result of an earlier command.
    """

    step: Step
    evidence: tuple[ResultEvidence, ...]
    effect: str
    polls: bool = False


def explanations(trace: Trace, chain: Chain, patterns: ErrorPatterns | None = None) -> Iterator[StepExplanation]:
    """The explanation of each step that is no plain success, computed again: an inspection does not store them."""
    paths, runs = KnownPaths(lambda: others_texts(trace)), BackgroundRuns()
    for step in chain.steps:
        call = runs.original(step.call)
        runs.add(step.call, step.result)
        if not step.outcome.failed and step.result_kind is None:
            continue
        judged = None
        if step.result is not None:
            placed = LocatedCall(call, step.location)
            judged = judged_result(placed, step.result, patterns or ErrorPatterns(), paths)
        effect = main_effect(effects_of(call))
        words = effect.in_words if effect is not None else ""
        yield StepExplanation(
            structs.replace(step, call=call), judged.evidence if judged else (), words, polls=call is not step.call
        )
