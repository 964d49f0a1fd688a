"""Traces as one HTML page that needs nothing else: no script, no font, no picture, nothing from any network."""

from collections.abc import Iterable, Iterator, Sequence

from inspector.inspection import Inspection
from inspector.model import Trace
from inspector.version import __version__
from storage import TraceSummary
from ui.reports.html_head import head_html, policy_for
from ui.reports.html_style import style_sheet
from ui.reports.html_text import escaped, runs_html
from ui.reports.html_trace import trace_html
from ui.views.status import status_run
from ui.views.trace_list import break_words, trace_title

_STYLE = style_sheet()

POLICY = policy_for(_STYLE)
"""The page's Content-Security-Policy: a browser loads nothing and runs nothing, and takes no style but ours."""


def html_page(
    traces: Iterable[tuple[int, Trace, Inspection]], *, title: str, contents: Sequence[TraceSummary] = ()
) -> Iterator[str]:
    """The page in pieces; one trace at a time is in memory. Several `contents` are listed at the head."""
    yield head_html(title, _STYLE)
    if len(contents) > 1:
        yield f"<nav>\n<h1>{len(contents):,} traces</h1>\n<ul>\n{''.join(map(_entry, contents))}</ul>\n</nav>\n"
    for id, trace, inspection in traces:
        yield from trace_html(id, trace, inspection)
    yield f"<footer>Written by weaklink {__version__}.</footer>\n</body>\n</html>\n"


def _entry(summary: TraceSummary) -> str:
    broken = summary.broken
    status = runs_html([status_run(summary.status, broken.outcome if broken else None)])
    why = f", broke at {runs_html(break_words(broken))}" if broken else ""
    return f'<li>{status} <a href="#trace-{summary.id}">{summary.id} {escaped(trace_title(summary))}</a>{why}</li>\n'
