"""Where runs first part, in one sentence: in which step, what each did there, and how each ended."""

from collections.abc import Sequence

from inspector.chain.alignment import Alignment, Divergence, Sameness
from inspector.chain.alignment_asked import named_runs, run_label
from inspector.chain.excerpt import quoted
from inspector.chain.steps import Chain, Step
from ui.views.run_diff_call import LONGEST, differing_call, excerpt
from ui.views.wording import counted


def run_verdict(alignment: Alignment, chains: Sequence[Chain], last_words: Sequence[str]) -> str:
    """The sentence; runs that did the same there are told together. `last_words` is what each agent said at the end."""
    parted, ended = alignment.divergence, _endings(chains)
    if parted is None:
        differ = any(said != last_words[0] for said in last_words)
        answers = ", and what they say at the end differs" if differ else ""
        if not alignment.rows:
            return f"No run calls a tool{answers}; {ended}."
        steps = len(alignment.rows)
        made = "step with the same result" if steps == 1 else f"{counted(steps, 'step')} with the same results"
        same = f"The runs make the same {made}"
        return f"{same}{answers}; {ended}."
    return f"Runs differ first at {_where(parted)}: {_what(parted)}; {ended}."


def _where(parted: Divergence) -> str:
    numbers = {step.number for step in parted.steps if step is not None}
    if len(numbers) == 1:
        return f"step {numbers.pop()}"
    return " and ".join(
        f"step {step.number} of {run_label(run)}" for run, step in enumerate(parted.steps) if step is not None
    )


def _what(parted: Divergence) -> str:
    stem = next(step for step in parted.steps if step is not None)
    match parted.what:
        case Sameness.RESULT:
            said = _grouped([_answer(step, parted.steps) for step in parted.steps])
            return f"{quoted(differing_call(stem), 2 * LONGEST)} answers {said}"
        case Sameness.OUTCOME:
            said = _grouped([step.outcome.value if step is not None else "nothing" for step in parted.steps])
            return f"{quoted(differing_call(stem), 2 * LONGEST)} has the same result and is judged {said}"
        case _:
            return _calls(parted.steps)


def _calls(steps: Sequence[Step | None]) -> str:
    made = [step for step in steps if step is not None]
    said = [
        quoted(differing_call(step, made), 2 * LONGEST) if step is not None else "no tool any more" for step in steps
    ]
    groups = _groups(said)
    lead = [f"{named_runs(runs)} {'calls' if len(runs) == 1 else 'call'} {what}" for what, runs in groups[:1]]
    return ", ".join([*lead, *(f"{named_runs(runs)} {what}" for what, runs in groups[1:])])


def _grouped(said: Sequence[str]) -> str:
    return ", ".join(f"{named_runs(runs)} {what}" for what, runs in _groups(said))


def _groups(said: Sequence[str]) -> list[tuple[str, list[str]]]:
    """What was said, each with the letters of the runs of which it was."""
    groups: dict[str, list[str]] = {}
    for run, what in enumerate(said):
        groups.setdefault(what, []).append(run_label(run))
    return list(groups.items())


def _endings(chains: Sequence[Chain]) -> str:
    said = [
        chain.status.value + (f" at step {chain.broken.step}" if chain.broken is not None else "") for chain in chains
    ]
    groups = _groups(said)
    if len(groups) == 1:
        return f"{'both' if len(chains) == 2 else 'all'} are {groups[0][0]}"
    lead = [f"{named_runs(runs)} {'is' if len(runs) == 1 else 'are'} {what}" for what, runs in groups[:1]]
    return ", ".join([*lead, *(f"{named_runs(runs)} {what}" for what, runs in groups[1:])])


def _answer(step: Step | None, steps: Sequence[Step | None]) -> str:
    if step is None or step.result is None:
        return "nothing"
    mine = step.result.content.strip()
    others = (one.result.content.strip() for one in steps if one is not None and one.result is not None)
    return quoted(excerpt(mine, next((text for text in others if text != mine), ""), LONGEST), LONGEST + 2)
