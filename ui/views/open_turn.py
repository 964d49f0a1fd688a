"""A turn that has not ended yet: what came of it so far, under a word that says so."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.diagnostics import Diagnostic
from inspector.inspection import PartInspection
from inspector.model import Turn
from ui.views.run import Line, Run
from ui.views.status import RUNNING
from ui.views.turn import characters_in, turn_lines
from ui.views.wording import counted


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn as far as it came; `faults` are those that nothing that follows can mend."""

    number: int
    turn: Turn
    parts: tuple[PartInspection, ...]
    faults: tuple[Diagnostic, ...] = ()


def open_turn_lines(opened: OpenTurn, *, width: int, model: str = "", full: bool = False) -> Iterator[Line]:
    """The lines of a turn, and below them that it goes on."""
    yield from turn_lines(opened.turn, opened.number, opened.parts, opened.faults, width=width, model=model, full=full)
    yield (Run("   "), RUNNING, Run(f", {counted(characters_in(opened.turn), 'character')} so far"))
