"""Traces as one HTML page that needs nothing else: no script, no font, no picture, nothing from any network."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from inspector.inspection import Inspection
from inspector.model import Trace
from inspector.version import __version__
from storage import TraceSummary
from ui.reports.html_style import style_sheet
from ui.reports.html_text import escaped, runs_html
from ui.reports.html_trace import trace_html
from ui.views.status import status_run
from ui.views.trace_list import break_words, trace_title

_STYLE = style_sheet()
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()

POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
"""The page's Content-Security-Policy: a browser loads nothing and runs nothing, and takes no style but ours."""


def html_page(
    traces: Iterable[tuple[int, Trace, Inspection]], *, title: str, contents: Sequence[TraceSummary] = ()
) -> Iterator[str]:
    """The page in pieces; one trace at a time is in memory. Several `contents` are listed at the head."""
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    yield '<meta name="referrer" content="no-referrer">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
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
