"""What a break caused: the later steps that went on with what the broken one returned or with values in its place."""

from collections.abc import Sequence

from inspector.chain.steps import Step
from inspector.chain.values import telling


def caused_by(broken: Step, steps: Sequence[Step], invented: str | None) -> tuple[int, ...]:
    """The numbers of the later steps that hang on `broken`, directly or by way of each other, in order.

    `steps` know what they depend on. `invented` is the value, in lower case, that the agent made up in place of what
    the broken step should have brought. Linear in the steps and their arguments.
    """
    run = broken.retry_of or broken.number
    tainted, caused = {broken.number}, []
    for step in steps[broken.number :]:
        if step.retry_of == run:  # the same call once more is the break itself, not what came of it
            tainted.add(step.number)
        elif not tainted.isdisjoint(step.depends_on) or _holds(step, invented):
            tainted.add(step.number)
            caused.append(step.number)
    return tuple(caused)


def _holds(step: Step, value: str | None) -> bool:
    return value is not None and value in telling(step.call.raw_arguments)
