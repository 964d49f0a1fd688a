"""A row of the tree: one thing in a trace, where it stands, and how to come by what lies in it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from inspector.diagnostics import Location
from inspector.rules.rule import Severity
from ui.views.dissect.faults import NO_FAULTS, Faults
from ui.views.palette import GLYPHS, style_of
from ui.views.run import Line, Run

Grow = Callable[[], Iterable["TreeRow"]]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One thing in a trace; `key` is its way from the root, the same at every reading of the trace.

    `label` says what it is, `place` where its characters stand, or how to find out; None where it has none. `step` is
    the number of the step it belongs to, `pointer` its JSON Pointer within that call's arguments, None for what is no
    argument. `grow` makes the rows that lie in it, None where there are none; `heavy` is how many characters that has
    to read. `named` is where it stands with its name, where that is more than its place: a member with its key.
    """

    key: tuple[str | int, ...]
    label: Line
    place: Location | Callable[[], Location] | None = None
    step: int | None = None
    pointer: str | None = None
    grow: Grow | None = field(default=None, compare=False, repr=False)
    wrong: Faults = NO_FAULTS
    heavy: int = 0
    named: Location | None = None

    @property
    def location(self) -> Location | None:
        """Where its characters stand, None where it has none."""
        return self.place() if callable(self.place) else self.place

    @property
    def is_bundle(self) -> bool:
        """Whether its place has to be found out; among others of its kind it lies in order."""
        return callable(self.place)

    @property
    def depth(self) -> int:
        """How many rows it lies in."""
        return len(self.key) - 1

    @property
    def expandable(self) -> bool:
        """Whether anything lies in it."""
        return self.grow is not None

    @property
    def faults(self) -> int:
        """How many diagnostics lie in it."""
        return len(self.wrong)

    @property
    def worst(self) -> Severity | None:
        """The gravest of them."""
        return self.wrong.worst


def fault_mark(wrong: Faults) -> Line:
    """The glyph of the gravest of some faults, and how many there are where it is more than one; else nothing."""
    worst = wrong.worst
    if worst is None:
        return ()
    number = f"{len(wrong):,}" if len(wrong) > 1 else ""
    return (Run(f"{GLYPHS[worst.value]}{number} ", style_of(worst)),)
