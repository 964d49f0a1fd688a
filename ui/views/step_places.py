"""Which step a call or a result in a turn belongs to."""

from collections import defaultdict
from collections.abc import Sequence

from inspector.chain.steps import Chain, Status, Step
from inspector.model import ToolCall


class StepPlaces:
    """The steps of a chain by the places of their calls, and by the turns of their results."""

    def __init__(self, chain: Chain) -> None:
        self._calls = {(step.location.turn, step.location.part, step.location.range): step for step in chain.steps}
        self._answered: defaultdict[int, list[Step]] = defaultdict(list)
        for step in chain.steps:
            if step.result_location is not None:
                self._answered[step.result_location.turn].append(step)

    def of_call(self, turn: int, part: str, call: ToolCall) -> Step | None:
        """The step of a call that stands in this part of this turn."""
        return self._calls.get((turn, part, call.range))

    def answered_in(self, turn: int) -> Sequence[Step]:
        """The steps whose results this turn brings."""
        return self._answered.get(turn, ())


NO_STEPS = StepPlaces(Chain((), Status.OK))
"""Where no chain is known."""
