"""Which step a call or a result in a turn belongs to."""

from array import array
from collections.abc import Callable, Sequence

from inspector.chain.steps import Chain, Status, Step
from inspector.diagnostics import Location
from inspector.model import ToolCall
from inspector.model.columns import Made
from inspector.text import Range
from ui.views.places import NO_PART, Places


class StepPlaces:
    """The steps of a chain by the places of their calls, and by those of their results; no step is kept.

    `number` gives the number of a part by its turn and name; without it parts are numbered as the steps name them.
    `failed` says how many steps failed, and the number of the first, 0 where none did.
    """

    def __init__(self, chain: Chain, number: Callable[[int, str], int] | None = None) -> None:
        self._steps = chain.steps
        names: dict[str, int] = {}
        self._number = number or (lambda _, name: names.get(name, NO_PART))
        self.calls, self.results, answered = Places(), Places(), array("I")
        failed = first = 0
        for index, step in enumerate(chain.steps):
            for place in (step.location, step.result_location) if number is None else ():
                if place is not None:
                    names.setdefault(place.part, len(names))
            if step.outcome.failed:
                failed, first = failed + 1, first or step.number
            self.calls.add(*self._order(step.location))
            if step.result_location is not None:
                self.results.add(*self._order(step.result_location))
                answered.append(index)
        self.failed = failed, first
        self.calls.settle()
        self.results.settle(answered)

    def of_call(self, turn: int, part: str, call: ToolCall) -> Step | None:
        """The step of a call that stands in this part of this turn."""
        held = self._at(self.calls, turn, part, call.range)
        return next((step for step in reversed(held) if step.location == Location(turn, part, call.range)), None)

    def of_result(self, turn: int, part: str, place: Range) -> Step | None:
        """The step whose result stands at this place of this part of this turn."""
        held = self._at(self.results, turn, part, place)
        return next((step for step in held if step.result_location == Location(turn, part, place)), None)

    def answered_in(self, turn: int) -> Sequence[Step]:
        """The steps whose results this turn brings."""
        return Made(self.results.numbers(self.results.of_turn(turn)), self._steps.__getitem__)

    def answered_at(self, turn: int, part: str, at: int) -> Step | None:
        """The first step whose result holds a character."""
        places = self.results
        held = sorted(places.indices[one] for one in places.holding(self._in(places, turn, part), at))
        steps = (self._steps[index] for index in held)
        return next((step for step in steps if step.result_location and step.result_location.part == part), None)

    def _order(self, place: Location) -> tuple[int, int, int, int]:
        return place.turn, self._number(place.turn, place.part), place.range.start, place.range.end

    def _in(self, places: Places, turn: int, part: str) -> range:
        return places.of_part(turn, self._number(turn, part))

    def _at(self, places: Places, turn: int, part: str, place: Range) -> Sequence[Step]:
        """The steps that stand where a place begins."""
        held = places.begun(self._in(places, turn, part), place.start, place.start + 1)
        return Made(places.numbers(held), self._steps.__getitem__)


NO_STEPS = StepPlaces(Chain((), Status.OK))
"""Where no chain is known."""
