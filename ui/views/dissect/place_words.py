"""Where one is in a trace, in one line: the field, its characters, the chunk that brought them; and which trace."""

from inspector.chain.steps import Step
from inspector.diagnostics import Location
from inspector.model import Grade, Liveness
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.lanes import chunk_words
from ui.views.dissect.tree_row import TreeRow
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.status import LIVENESS, status_run
from ui.views.visible import visible_line

_LONGEST = 80


def place_line(dissection: Dissection, place: Location, row: TreeRow | None, step: Step | None) -> Line:
    """What is selected, where it stands in its part, and what is known of its arrival."""
    part = dissection.part(place.turn, place.part)
    named: list[Run] = []
    if step is not None:
        named.append(Run(f"step {step.number} {visible_line((step.call.name or '')[:_LONGEST])}", Style.TOOL_CALL))
    if row is not None and row.pointer:
        named.append(Run(f" {visible_line(row.pointer[:_LONGEST])}", Style.KEY))
    where = f"turn {place.turn} {visible_line(place.part[:_LONGEST])}"
    if part is None:
        return (*named, Run(f"{'  ' if named else ''}{where}", Style.DIM))
    start = place.range.start
    line, column = part.lines.position(start)
    length = f"{start:,}–{place.range.end:,}" if len(place.range) > 1 else f"{start:,}"
    said = f"{where} {length} of {len(part.text):,}  line {line:,} column {column:,}"
    return (
        *named,
        Run(f"{'  ' if named else ''}{said}  ", Style.DIM),
        Run(chunk_words(part.source, start), Style.INFO),
    )


def trace_line(dissection: Dissection, place: Location | None, liveness: Liveness | None = None) -> Line:
    """How the trace ended, in which format it was read, and what the source kept of the stream here."""
    chain = dissection.inspection.chain
    ended = status_run(chain.status, chain.broken.outcome if chain.broken else None)
    status = ended if liveness is None else LIVENESS[liveness]
    model = visible_line(dissection.outline.model[:_LONGEST])
    facts = [fact for fact in (model, dissection.inspection.format) if fact]
    part = dissection.part(place.turn, place.part) if place is not None else None
    if part is not None:
        facts.append(f"{_GRADES[part.source.grade]}")
    return (status, Run("  "), Run(" · ".join(facts), Style.DIM))


_GRADES = {
    Grade.TOKEN_IDS: "token ids kept",
    Grade.CHUNKS: "chunks kept",
    Grade.TEXT_ONLY: "text only",
}
