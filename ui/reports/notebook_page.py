"""Traces, inspections and segmentations in the output of a notebook's cell, and as text.

The page is that of the HTML export in a frame: `srcdoc` keeps its styles and the notebook's apart, `sandbox`
without a word forbids scripts, and the page's own policy forbids everything that would be loaded. A page is bounded as
the export is, and left out if it is longer than `MAX_PAGE_CHARACTERS`, since a notebook stores what it shows.
"""

from collections.abc import Iterator

from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.segmentation import Segmentation
from weaklink.ui.reports.html import escaped, faults_html, head_html, runs_html
from weaklink.ui.reports.html_page import STYLE, chain_html, html_page
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import plain
from weaklink.ui.views.trace import ending, fault_counts, title_of, trace_lines

MAX_PAGE_CHARACTERS = 2_000_000
_HEIGHT = 480
_WIDTH = 100
_MAX_FAULTS = 100


def notebook_html(value: Trace | Inspection | Segmentation) -> str:
    """A value as a frame of at most 480 pixels in height."""
    page = "".join(_page(value))
    if len(page) > MAX_PAGE_CHARACTERS:
        return f"<p>This page has {len(page):,} characters, too many for a notebook; `weaklink web` shows it.</p>"
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    frame = f'<iframe sandbox srcdoc="{quoted}" style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
    return f"<div>{frame}</div>"  # IPython warns of HTML that begins with a frame


def notebook_text(value: Trace | Inspection | Segmentation) -> str:
    """A value as the lines of `weaklink show`."""
    if isinstance(value, Inspection):
        counts = f" · {counts}" if (counts := fault_counts(value)) else ""
        words = [f"{value.chain.status.value} {ending(value.chain)}{counts}"]
        return "\n".join(
            [*words, *(f"{diagnostic.rule}: {diagnostic.fault.message}" for diagnostic in value.diagnostics)]
        )
    trace, inspection = _inspected(value)
    return "\n".join(plain(line).rstrip() for line in trace_lines(trace, inspection, id=1, width=_WIDTH))


def _page(value: Trace | Inspection | Segmentation) -> Iterator[str]:
    if isinstance(value, Inspection):
        yield from _inspection_page(value)
        return
    trace, inspection = _inspected(value)
    yield from html_page([(1, trace, inspection)], title=title_of(trace))


def _inspected(value: Trace | Segmentation) -> tuple[Trace, Inspection]:
    if isinstance(value, Trace):
        return value, inspect_trace(value)
    trace = Trace((Turn(Role.ASSISTANT, (Part("text", value.text),)),), format=value.format)
    return trace, inspect_trace(trace)


def _inspection_page(inspection: Inspection) -> Iterator[str]:
    """The verdict, the chain and the faults; an inspection has no texts."""
    chain = inspection.chain
    yield head_html("inspection", STYLE)
    status = runs_html([status_run(chain.status, chain.broken)])
    words = " · ".join(word for word in (ending(chain), fault_counts(inspection)) if word)
    yield f'<section class="trace"><p>{status} {escaped(words)}</p>\n'
    yield from chain_html(1, chain)
    faults = [diagnostic.fault for diagnostic in inspection.diagnostics]
    yield from faults_html(faults[:_MAX_FAULTS], left_out=max(len(faults) - _MAX_FAULTS, 0))
    yield "</section>\n</body>\n</html>\n"
