"""One segmented text for people: what it is, the text with its faults marked, and the calls it makes."""

from collections.abc import Iterator

from inspector.diagnostics import Diagnostic
from inspector.rules.rule import Severity
from inspector.segmentation import Segmentation
from ui.views.call import call_lines
from ui.views.marked import marked_lines
from ui.views.palette import Style, style_of
from ui.views.rows import Folding
from ui.views.run import Line, Run
from ui.views.visible import visible_line
from ui.views.wording import counted, wrapped

_FOLDING = Folding(head=24, tail=12)


def segmented_lines(found: Segmentation, *, name: str, width: int, full: bool = False) -> Iterator[Line]:
    """The lines that `weaklink segment` prints on a terminal; `name` says where the text came from."""
    faults = [diagnostic.fault for diagnostic in found.diagnostics]
    facts = (
        visible_line(found.format),
        counted(len(found.text), "character"),
        counted(len(found.spans), "span"),
        counted(len(found.calls), "call"),
    )
    yield from wrapped((Run(visible_line(name), Style.STRONG), Run(f": {', '.join(facts)}")), width, indent=4)
    yield ()
    yield from marked_lines(found.text, found.spans, faults, width=width, folding=None if full else _FOLDING)
    if found.calls:
        yield ()
    for call in found.calls:
        yield from call_lines(call, width=width)
    yield ()
    yield from wrapped(verdict(found.diagnostics), width, indent=4)


def verdict(diagnostics: tuple[Diagnostic, ...]) -> Line:
    """How many diagnostics of each severity, and the command that explains the first."""
    if not diagnostics:
        return (Run("✔ nothing is wrong", Style.OK),)
    counts: list[Run] = []
    for severity in Severity:
        number = sum(one.rule.severity is severity for one in diagnostics)
        if number:
            many = "infos" if severity is Severity.INFO else ""
            counts += (Run(", " if counts else ""), Run(counted(number, severity.value, many), style_of(severity)))
    worst = min(diagnostics, key=lambda one: list(Severity).index(one.rule.severity))
    return (*counts, Run(f"; `weaklink rule {worst.rule.code}` explains {worst.rule.code}.", Style.DIM))
