"""A row of the tree: one thing in a trace, where it stands, and how to come by what lies in it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from inspector.diagnostics import Diagnostic, Location
from inspector.rules.rule import Severity
from ui.views.dissect.dissection import worst_of
from ui.views.palette import GLYPHS, style_of
from ui.views.run import Line, Run

Grow = Callable[[], Iterable["TreeRow"]]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One thing in a trace; `key` is its way from the root, the same at every reading of the trace.

    `label` says what it is, `location` where its characters stand, None where it has none. `step` is the number of the
    step it belongs to, `pointer` its JSON Pointer within that call's arguments, None for what is no argument.
    `grow` makes the rows that lie in it, None where there are none; `heavy` is how many characters that has to read.
    `named` is where it stands with its name, where that is more than `location`: a member with its key.
    """

    key: tuple[str | int, ...]
    label: Line
    location: Location | None = None
    step: int | None = None
    pointer: str | None = None
    grow: Grow | None = field(default=None, compare=False, repr=False)
    wrong: tuple[Diagnostic, ...] = ()
    heavy: int = 0
    named: Location | None = None

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
        return worst_of(self.wrong)


def fault_mark(wrong: tuple[Diagnostic, ...]) -> Line:
    """The glyph of the gravest of some faults, and how many there are where it is more than one; else nothing."""
    worst = worst_of(wrong)
    if worst is None:
        return ()
    number = f"{len(wrong):,}" if len(wrong) > 1 else ""
    return (Run(f"{GLYPHS[worst.value]}{number} ", style_of(worst)),)
