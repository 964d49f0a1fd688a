"""A diagnostic as a good compiler prints it: what is wrong, where, the line with carets, and the repair."""

from collections.abc import Iterator

from inspector.diagnostics import Diagnostic, Fix, Location
from inspector.text import LineIndex, Range
from ui.views.excerpt import Excerpt
from ui.views.palette import Style, style_of
from ui.views.run import Line, Run
from ui.views.visible import visible_line, visible_runs
from ui.views.wording import help_line, quoted, title, wrapped

_SMALL_FIX = 200
_INDENT = 6


def diagnostic_lines(
    diagnostic: Diagnostic, text: str, *, width: int, file: str = "", lines: LineIndex | None = None
) -> Iterator[Line]:
    """The lines of a diagnostic; `text` is that of the part it lies in, `lines` its lines where they are known.

    `file` names the text where it is a file of its own; else the turn and the part say where it lies.
    """
    fault = diagnostic.fault
    index = lines or LineIndex(text)
    places = (fault.range, *(related.range for related in fault.related))
    digits = max(len(str(index.position(place.end)[0])) for place in places)
    excerpt = Excerpt(index, digits, width)
    yield from wrapped(title(fault), width, indent=_INDENT)
    yield (Run(f"{'':{digits}}--> ", Style.GUTTER), Run(_where(diagnostic, file, index)))
    yield excerpt.gutter()
    yield from excerpt.lines(fault.range, style_of(fault.rule.severity))
    for related in fault.related:
        yield from wrapped((Run("note: ", Style.INFO), *quoted(related.message)), width, indent=_INDENT)
        yield from excerpt.lines(related.range, Style.INFO, "-")
    if fault.hint:
        yield from wrapped(help_line(fault.hint), width, indent=_INDENT)
    if fault.fix is not None and fault.fix.edits:
        yield from _fix_lines(excerpt, fault.fix)


def place_words(place: Location, index: LineIndex) -> str:
    """Where a place begins, in words; `index` holds the lines of the part that it lies in."""
    line, column = index.position(place.range.start)
    return f"turn {place.turn}, {visible_line(place.part)}, line {line} column {column}"


def _where(diagnostic: Diagnostic, file: str, index: LineIndex) -> str:
    if not file:
        return place_words(diagnostic.location, index)
    line, column = index.position(diagnostic.location.range.start)
    return f"{visible_line(file)}:{line}:{column}"


def _fix_lines(excerpt: Excerpt, fix: Fix) -> Iterator[Line]:
    """The line before and after the edits, where they lie on one line and near each other."""
    place = Range(fix.edits[0].range.start, fix.edits[-1].range.end)
    number = excerpt.index.position(place.start)[0]
    line, text = excerpt.index.line(number), excerpt.index.text
    shown = excerpt.window(number, place)
    added = sum(len(edit.text) for edit in fix.edits)
    if place.end > shown.end or len(place) + added > _SMALL_FIX or any("\n" in edit.text for edit in fix.edits):
        return
    new, at = "", shown.start
    for edit in fix.edits:
        new += text[at : edit.range.start] + edit.text
        at = edit.range.end
    new += text[at : shown.end]
    for sign, style, said in (("-", Style.REMOVED, shown.of(text)), ("+", Style.ADDED, new)):
        lead, tail = "…" if shown.start > line.start else "", "…" if shown.end < line.end else ""
        yield (Run(f"{number:>{excerpt.digits}} {sign} ", style), *visible_runs(f"{lead}{said}{tail}", style))
