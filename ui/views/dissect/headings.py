"""What stands above the text of each turn and part in the stream."""

from collections.abc import Iterator
from itertools import islice

from inspector.diagnostics import Diagnostic
from inspector.model import CallHeader
from ui.views.call import UNNAMED
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.dissection import Dissection
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, width_of
from ui.views.turn import answers, error_words, turn_facts
from ui.views.visible import visible_line
from ui.views.wording import counted, help_line, title, wrapped


def turn_heading(dissection: Dissection, number: int, width: int) -> Iterator[Line]:
    """A rule with a turn's number, role and facts; below it what is wrong with it and lies in none of its texts.

    Turn 0 stands for a trace that has none.
    """
    if not number:
        yield (Run("The trace holds no turns.", Style.DIM),)
        return
    turn = dissection.trace.turns[number - 1]
    told = islice(answers(turn, number, dissection.steps), width)  # no more fit
    facts = " · ".join(visible_line(fact) for fact in (*told, *turn_facts(turn, dissection.outline.model)))
    role = (Run(f"── {number} ", Style.GUTTER), Run(turn.role.value, Style.STRONG))
    left = clipped((*role, Run(f" {facts} " if facts else " ", Style.DIM)), max(width - 2, 1))
    if number > 1:
        yield ()
    yield (*left, Run("─" * max(width - width_of(left), 0), Style.GUTTER))
    if turn.generation is not None and turn.generation.error is not None:
        yield from wrapped(error_words(turn.generation.error), width, indent=4)
    for one in dissection.without_part(number):
        yield from _fault(one, width)


def part_heading(dissection: Dissection, part: DissectedPart, width: int) -> Iterator[Line]:
    """The name of a part that is not the turn's only text, and of a call its tool and id."""
    turn = dissection.trace.turns[part.turn - 1]
    if len(turn.parts) == 1 and part.name == "text":
        return
    header = next((one for one in turn.calls if one.part == part.name), None)
    said = (Run(" ┄ ", Style.GUTTER), Run(visible_line(part.name), Style.KEY), *(_called(header) if header else ()))
    length = Run(f"  {counted(len(part.text), 'character')}", Style.DIM)
    yield clipped((*said, length), width)


def _called(header: CallHeader) -> Line:
    name = Run(f"  {visible_line(header.name) if header.name else UNNAMED}", Style.STRONG)
    return (name, Run(f"  {visible_line(header.id)}", Style.DIM)) if header.id else (name,)


def _fault(diagnostic: Diagnostic, width: int) -> Iterator[Line]:
    yield from wrapped(title(diagnostic.fault), width, indent=2)
    if diagnostic.fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(diagnostic.fault.hint), width - 2, indent=6))
