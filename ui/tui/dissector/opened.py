"""A trace as the dissector opens it: read in one go, where nobody waits for it."""

from dataclasses import dataclass

from inspector.diagnostics import Location
from inspector.text import Range
from storage import Mark, Store, TraceSummary
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.verdict import landing
from ui.views.open_turns import continued

_LONG = 1_000_000
_OF_A_TURN = _OF_A_FAULT = 1_000  # characters that take as much memory as what is known of one


@dataclass(frozen=True, slots=True)
class Opened:
    """A trace, what the list says of it, and the marks on it; `open_turns` of its turns have not ended."""

    summary: TraceSummary
    dissection: Dissection
    marks: tuple[Mark, ...]
    open_turns: int = 0

    @property
    def id(self) -> int:
        """The trace's number in the database."""
        return self.summary.id

    @property
    def is_long(self) -> bool:
        """Whether it takes so much memory that it is let go of before another trace is read."""
        said = self.summary
        return (
            said.characters + _OF_A_TURN * (said.turns + said.tool_calls) + _OF_A_FAULT * (said.errors + said.warnings)
            > _LONG
        )

    def landing(self, step: int | None) -> Location | None:
        """Where to begin to look: the step that is named, else the break, the first fault, or the end."""
        inspection = self.dissection.inspection
        broken, steps = inspection.chain.broken, inspection.chain.steps
        if step is not None and 0 < step <= len(steps) and (broken is None or broken.step != step):
            return steps[step - 1].location
        return landing(inspection, self.dissection.gist) or self.end()

    def end(self) -> Location | None:
        """The last character of the trace; None where there is no text."""
        index = self.dissection.outline.blocks.last_text()
        if index is None:
            return None
        last = self.dissection.parts[index]
        return last.location(Range(len(last.text) - 1, len(last.text)))


def opened(store: Store, *, id: int) -> Opened:
    """Read a trace with all that is known of it; the turns of a running one that have not ended as far as they came."""
    summary = store.summary(id)
    trace, inspection = store.inspected(id, in_columns=True)
    marks = store.marks([id]).get(id, ())
    begun = store.open_turns(id) if summary.open_turns else {}
    if summary.is_open or begun:
        trace, inspection = continued(trace, inspection, begun)
    dissection = Dissection(trace, inspection).prepared()  # while nobody waits
    return Opened(summary, dissection, marks, len(begun))
