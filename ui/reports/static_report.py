"""The first page of a report of many traces: what breaks, how often, where, and the worst chains."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from inspector.chain.metrics import FEWEST, estimate
from inspector.chain.metrics_measures import MEASURES, MeasureKind
from inspector.version import __version__
from storage import Order, Store, TraceSummary
from ui.reports.html_head import head_html
from ui.reports.html_style import style_sheet
from ui.reports.html_text import escaped, runs_html
from ui.reports.static_pictures import (
    PICTURE_RULES,
    days_html,
    heat_html,
    rules_html,
    share_bar,
    steps_html,
)
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.stats_wording import percent, value_text
from ui.views.status import status_run
from ui.views.trace_list import break_words, trace_title
from ui.views.triage import Triage, break_steps, days, heat
from ui.views.visible import visible_line
from ui.views.wording import counted

GENERATOR = "weaklink report"
"""What the first page of every report calls itself, so that another report may take its place."""
_LOOKED_AT = 500
_LONGEST = 120
_STYLE = f"""{style_sheet()}
{PICTURE_RULES.strip()}
.two {{ display: grid; gap: 0 2.5rem; }} section + section {{ margin: 0; border: 0; min-width: 0; }}
.two > section {{ min-width: 0; }} .measures td {{ width: 30%; }} .measures td:first-child {{ width: 50%; }}
.measures th {{ white-space: normal; }}
.measures small {{ display: block; color: var(--dim); }}
@media (min-width: 60rem) {{ .two {{ grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }} }}
.unseen {{ position: absolute; clip-path: inset(50%); }}
ol.worst {{ padding-left: 1.75rem; }} ol.worst li {{ margin: .35rem 0; }}
@media print {{ body {{ max-width: none; padding: 0; }} section, tr, figure {{ break-inside: avoid; }} }}
"""


@dataclass(frozen=True, slots=True)
class StaticReport:
    """What a report is made of; `wanted` is the filter, `made_at` the moment in words."""

    title: str
    wanted: str
    made_at: str
    triage: Triage
    worst: Sequence[TraceSummary]


def worst_chains(store: Store, wanted: str, most: int) -> list[TraceSummary]:
    """Broken chains, those with the most errors first, but one of each kind of break before the next of the same."""
    narrowed = f"({wanted}) status:broken" if wanted.strip() else "status:broken"
    listed = store.paging().page(narrowed, Order.ERRORS, limit=_LOOKED_AT)
    met: dict[str, int] = {}
    ranked: list[tuple[int, int, TraceSummary]] = []
    for index, one in enumerate(listed):
        why = one.summary.broken.code if one.summary.broken else ""
        met[why] = met.get(why, 0) + 1
        ranked.append((met[why], index, one.summary))
    return [summary for _, _, summary in sorted(ranked, key=lambda rank: rank[:2])[:most]]


def trace_file_name(id_: int) -> str:
    """The page of a trace, beside the first page."""
    return f"trace-{id_}.html"


def report_html(report: StaticReport) -> Iterator[str]:
    """The first page in pieces."""
    triage = report.triage
    yield head_html(report.title, _STYLE, generator=GENERATOR)
    yield f"<main>\n<h1>{escaped(report.title)}</h1>\n<p>{_summary(triage)}</p>\n"
    if report.wanted.strip():
        yield f"<p>Only traces that match <code>{escaped(report.wanted)}</code>.</p>\n"
    yield '<div class="two">\n'
    yield from _section("Traces by day", days_html(days(triage)))
    yield from _section("First break by rule", rules_html(triage.codes) if triage.codes else _nothing())
    yield from _section("Models and rules", _heat(triage))
    yield from _section("The step that broke", steps_html(break_steps(triage)) if triage.steps else _nothing())
    yield "</div>\n"
    yield from _section("Measures", _measures(triage))
    yield from _section("The worst chains", _worst(report.worst, triage.broken))
    yield f"</main>\n<footer>Written by weaklink {__version__}, {escape(report.made_at)}.</footer>\n</body>\n</html>\n"


def _summary(triage: Triage) -> str:
    traces = triage.whole.traces
    share = percent(triage.broken / traces)
    return f"<strong>{counted(traces, 'trace')}, {triage.broken:,} broken</strong> ({share} %)."


def _section(title: str, body: Iterator[str]) -> Iterator[str]:
    yield f"<section>\n<h2>{title}</h2>\n"
    yield from body
    yield "</section>\n"


def _nothing() -> Iterator[str]:
    yield "<p>No chain broke.</p>\n"


def _heat(triage: Triage) -> Iterator[str]:
    found = heat(triage)
    if found.models and found.codes:
        yield from heat_html(found)
    else:
        yield "<p>No trace of a named model has a fault.</p>\n"


def _measures(triage: Triage) -> Iterator[str]:
    yield '<table class="measures">\n<thead><tr><th scope="col">measure, and what is counted</th>'
    yield '<th scope="col"><span class="unseen">share</span></th>'
    yield '<th scope="col">value, 95 % interval</th></tr></thead>\n'
    for measure in MEASURES:
        one = estimate(measure, triage.whole.tally(measure.name))
        drawn = share_bar(one.value) if one.value is not None and measure.kind is not MeasureKind.MEAN else ""
        value = Run(value_text(one, FEWEST), Style.PLAIN if one.value is not None else Style.DIM)
        yield f"<tr><td>{escape(measure.title)}<small>{escape(measure.meaning)}</small></td>"
        yield f'<td class="bar">{drawn}</td><td>{runs_html([value])}</td></tr>\n'
    yield "</table>\n"


def _worst(worst: Sequence[TraceSummary], broken: int) -> Iterator[str]:
    if not worst:
        yield "<p>No chain broke.</p>\n" if not broken else "<p>None is shown.</p>\n"
        return
    yield '<ol class="worst">\n'
    yield from map(_entry, worst)
    yield "</ol>\n"
    if broken > len(worst):
        said = (
            f"{len(worst):,} of {broken:,}: one of each kind of break first, those with the most errors before others."
        )
        yield f'<p class="dim">{said}</p>\n'


def _entry(summary: TraceSummary) -> str:
    broken = summary.broken
    status = runs_html([status_run(summary.status, broken.outcome if broken else None)])
    why = f"<p>broke at {runs_html(map(_short, break_words(broken)))}</p>" if broken else ""
    model = f' <span class="dim">{escape(visible_line(summary.model))}</span>' if summary.model else ""
    name = escape(visible_line(trace_title(summary)[:_LONGEST]))
    return f'<li>{status} <a href="{trace_file_name(summary.id)}">{summary.id} {name}</a>{model}{why}</li>\n'


def _short(run: Run) -> Run:
    return Run(visible_line(run.text[:_LONGEST]), run.style)
