"""Reports of many traces and of sets of training data: what breaks, how often and where, as HTML, SVG, text, JSON."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from shlex import quote
from typing import Any, TypeVar

from msgspec import Struct

from weaklink.inspector.chain.metrics import FEWEST, MEASURES, MeasureKind, estimate
from weaklink.inspector.chain.metrics_groups import Slice
from weaklink.inspector.dataset.diversity import TOLERANCE
from weaklink.inspector.version import __version__
from weaklink.storage.listing import Order
from weaklink.storage.store import Store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.reports.html import escaped, head_html, runs_html, style_sheet
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import Run, Style, counted, visible_line
from weaklink.ui.views.trace_summary import break_words, trace_title
from weaklink.ui.views.triage import (
    STATUSES,
    Heat,
    Triage,
    break_steps,
    code_title,
    days,
    heat,
    page_value_text,
    percent,
)

_WIDE, _TALL, _ROOM = 340, 110, 14
_STYLES = (Style.ERROR, Style.WARNING, Style.REASONING, Style.INFO, Style.OK)
_MAX_BARS = 12
_MAX_LABEL = 80
GENERATOR = "weaklink report"
"""The generator named in the first page of every report, so that a new report may replace an old one."""
_MAX_TRACES_READ = 500
_MAX_NAME_CHARS = 120
PICTURE_RULES = """
figure { margin: 0; } figcaption { color: var(--dim); font-size: .85rem; }
svg { display: block; width: 100%; height: auto; font: 10px system-ui, sans-serif; }
svg rect { fill: currentColor; } svg text { fill: var(--dim); text-anchor: middle; }
td, th { overflow-wrap: break-word; }
td.bar { width: 40%; vertical-align: middle; } td.bar svg { height: .9rem; }
@media (max-width: 40rem) { td.bar { width: 20%; } }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .wide:focus-visible { outline: 2px solid var(--info); }
.heat td { text-align: center; white-space: nowrap; padding: .3rem .5rem; print-color-adjust: exact; }
.heat th { min-width: 3rem; }
.heat th[scope=row] { min-width: 9rem; color: var(--ink); white-space: normal; overflow-wrap: anywhere; }
""" + "\n".join(
    f".heat .h{level} {{ background: color-mix(in srgb, var(--error) {level * 4.5:g}%, transparent); }}"
    for level in range(11)
)
SHARE_TITLES = {
    "tools": "distinct tools in a sample",
    "steps": "calls in a sample",
    "should_call": "should a tool be called",
    "parameter_types": "types of arguments",
    "error_recovery": "recovery from an error",
    "languages": "languages of the user",
}
_COUNTS = {
    "types": "types",
    "shapes": "shapes",
    "formats": "formats",
    "tools_by_frequency": "tools",
    "errors": "kinds of errors",
    "recoveries": "kinds of recoveries",
    "faults": "samples with a fault, by rule",
    "schema_depth": "depth of schemas",
    "ref_chain": "length of $ref chains",
    "argument_depth": "depth of arguments",
}
_MAX_VALUES = 20
BAR_STYLE = style_sheet() + "svg { display: block; width: 12rem; height: .9rem; } svg rect { fill: currentColor; }"
"""The style of a page whose only pictures are bars."""
Report = Mapping[str, Any]
_Item = TypeVar("_Item")


def days_html(days: Sequence[tuple[str, tuple[int, ...]]]) -> Iterator[str]:
    """A stacked chart of traces by day and status, the worst at the bottom, with a collapsible table of the numbers.

    Traces without a date are in the table alone.
    """
    dated = [(day, counts) for day, counts in days if day]
    undated = sum(sum(counts) for day, counts in days if not day)
    if dated:
        yield from _days_figure(dated)
    if undated:
        yield f'<p class="dim">{counted(undated, "trace")} without a date{": not drawn" if dated else ""}.</p>\n'
    yield "<details><summary>The numbers</summary>\n"
    yield from table_html(
        ("day", *(status.value for status in STATUSES)),
        ((escape(day or "no date"), *(f"{count:,}" for count in counts)) for day, counts in days),
    )
    yield "</details>\n"


def _days_figure(days: Sequence[tuple[str, tuple[int, ...]]]) -> Iterator[str]:
    most = max(sum(counts) for _, counts in days)
    width = _WIDE / max(len(days), 12)
    label = f"traces of {counted(len(days), 'day')} by status, at most {most:,} per day"
    yield f'<figure>\n<svg viewBox="0 0 {_WIDE} {_TALL}" role="img" aria-label="{label}">'
    for index, (_, counts) in enumerate(days):
        top = float(_TALL)
        for style, count in zip(_STYLES, counts, strict=True):
            height = count / most * (_TALL - 4)
            top -= height
            if count:
                yield _rect(index * width + 0.5, top, max(width - 1, 0.8), height, style)
    words = " · ".join(
        f'<span class="{style}">{escaped(status_run(status).text)}</span>'
        for style, status in zip(_STYLES, STATUSES, strict=True)
    )
    dates = days[0][0] if len(days) == 1 else f"{days[0][0]} to {days[-1][0]}"
    yield f"</svg>\n<figcaption>{escape(dates)}, at most {counted(most, 'trace')} per day. {words}"
    yield "</figcaption>\n</figure>\n"


def rules_html(codes: Sequence[Slice]) -> Iterator[str]:
    """The rules by which chains broke, most frequent first, with the cumulative share."""
    total, sum_ = sum(code.traces for code in codes), 0
    yield '<table>\n<thead><tr><th scope="col">rule</th><th scope="col"><span class="unseen">share</span></th>'
    yield '<th scope="col">traces</th><th scope="col">cumulative</th></tr></thead>\n<tbody>\n'
    for slice_ in codes[:_MAX_BARS]:
        sum_ += slice_.traces
        bar = _bar(slice_.traces / codes[0].traces)
        yield f'<tr><td>{escaped(code_title(slice_.value))}</td><td class="bar">{bar}</td>'
        yield f'<td class="number">{slice_.traces:,}</td><td class="number">{percent(sum_ / total)} %</td></tr>\n'
    yield "</tbody>\n</table>\n"
    if len(codes) > _MAX_BARS:
        yield f'<p class="dim">{counted(len(codes) - _MAX_BARS, "rarer kind")} of break: not shown.</p>\n'


def heat_html(heat: Heat) -> Iterator[str]:
    """A table of models and rules: each cell shows its share; a larger share is darker."""
    yield '<div class="wide" tabindex="0" role="region" aria-label="models and rules"><table class="heat">\n'
    yield '<thead><tr><th scope="col">model</th>'
    yield from (f'<th scope="col" title="{escaped(code_title(code))}">{escaped(code)}</th>' for code in heat.codes)
    yield "</tr></thead>\n<tbody>\n"
    for model in heat.models:
        yield f'<tr><th scope="row">{escape(visible_line(model[:_MAX_LABEL]))}</th>'
        for code in heat.codes:
            share = heat.share(model, code)
            label = f"{percent(share)} %" if share else '<span class="dim">–</span>'
            yield f'<td class="h{round(share * 10)}">{label}</td>'
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"
    yield '<p class="dim">The share of a model\'s traces in which a rule found something.</p>\n'


def steps_html(steps: Sequence[tuple[str, int]]) -> Iterator[str]:
    """A chart of the number of chains that broke at each step."""
    most = max(count for _, count in steps)
    width = _WIDE / max(len(steps), 6)
    description = ", ".join(f"{count:,} at step {step}" for step, count in steps)
    yield f'<figure>\n<svg viewBox="0 0 {_WIDE} {_TALL + 2 * _ROOM}" role="img" aria-label="{escape(description)}">'
    for index, (step, count) in enumerate(steps):
        height, middle = count / most * _TALL, (index + 0.5) * width
        yield _rect(index * width + 2, _ROOM + _TALL - height, width - 4, height, Style.ERROR)
        yield f'<text x="{middle:.1f}" y="{_ROOM + _TALL - height - 3:.1f}">{count:,}</text>'
        yield f'<text x="{middle:.1f}" y="{_TALL + 2 * _ROOM - 3}">{escape(step)}</text>'
    yield "</svg>\n<figcaption>The step at which chains broke first.</figcaption>\n</figure>\n"


def table_html(heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """A table of cells that are already HTML; all cells but the first of a row are numbers."""
    named = "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield f"<table>\n<thead><tr>{named}</tr></thead>\n<tbody>\n"
    for first, *rest in rows:
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in rest)
        yield f"<tr><td>{first}</td>{numbers}</tr>\n"
    yield "</tbody>\n</table>\n"


def _rect(x: float, y: float, width: float, height: float, style: Style) -> str:
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _bar(share: float, style: Style = Style.ERROR) -> str:
    inner = f'<rect class="{style}" width="{100 * share:.1f}" height="10"/>'
    return f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{inner}</svg>'


def share_bar(share: float) -> str:
    """A bar for a share of the whole."""
    return _bar(share, Style.INFO)


_STATIC_REPORT_STYLE = f"""{style_sheet()}
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


class StaticReport(Struct, frozen=True):
    """The data of a report; `wanted` is the filter, `made_at` the time as text."""

    title: str
    wanted: str
    made_at: str
    triage: Triage
    worst: Sequence[TraceSummary]


def worst_chains(store: Store, wanted: str, most: int) -> list[TraceSummary]:
    """Broken chains, most errors first, but one of each kind of break before a second one of the same kind."""
    narrowed = f"({wanted}) status:broken" if wanted.strip() else "status:broken"
    listed = store.paging().page(narrowed, Order.ERRORS, limit=_MAX_TRACES_READ)
    summaries = [entry.summary for entry in listed]
    return in_rounds(summaries, lambda summary: summary.broken.code if summary.broken else "")[:most]


def in_rounds(items: Iterable[_Item], kind: Callable[[_Item], str]) -> list[_Item]:
    """The first item of each kind, then the second of each, and so on; in their order within a round."""
    met: Counter[str] = Counter()
    rounds: list[tuple[int, _Item]] = []
    for item in items:
        met[kind(item)] += 1
        rounds.append((met[kind(item)], item))
    return [item for _, item in sorted(rounds, key=lambda ranked: ranked[0])]


def trace_file_name(id_: int) -> str:
    """The file name of a trace's page, in the folder of the first page."""
    return f"trace-{id_}.html"


def report_html(report: StaticReport) -> Iterator[str]:
    """The first page in pieces."""
    triage = report.triage
    yield head_html(report.title, _STATIC_REPORT_STYLE, generator=GENERATOR)
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
    share_of = heat(triage)
    if share_of.models and share_of.codes:
        yield from heat_html(share_of)
    else:
        yield "<p>No trace with a known model has a fault.</p>\n"


def _measures(triage: Triage) -> Iterator[str]:
    yield '<table class="measures">\n<thead><tr><th scope="col">measure, and what is counted</th>'
    yield '<th scope="col"><span class="unseen">share</span></th>'
    yield '<th scope="col">value, 95 % interval</th></tr></thead>\n'
    for measure in MEASURES:
        measured = estimate(measure, triage.whole.tally(measure.name))
        drawn = share_bar(measured.value) if measured.value is not None and measure.kind is not MeasureKind.MEAN else ""
        value = Run(page_value_text(measured, FEWEST), Style.PLAIN if measured.value is not None else Style.DIM)
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
        note = (
            f"{len(worst):,} of {broken:,}: one of each kind of break first, those with the most errors before others."
        )
        yield f'<p class="dim">{note}</p>\n'


def _entry(summary: TraceSummary) -> str:
    broken = summary.broken
    status = runs_html([status_run(summary.status, broken)])
    words = break_words(broken) if broken else ()
    shown = runs_html(Run(visible_line(run.text[:_MAX_NAME_CHARS]), run.style) for run in words)
    why = f"<p>broke at {shown}</p>" if broken else ""
    model = f' <span class="dim">{escape(visible_line(summary.model))}</span>' if summary.model else ""
    name = escape(visible_line(trace_title(summary)[:_MAX_NAME_CHARS]))
    return f'<li>{status} <a href="{trace_file_name(summary.id)}">{summary.id} {name}</a>{model}{why}</li>\n'


def share_rows(report: Report) -> Iterator[tuple[str, str, float, float | None, float | None]]:
    """The group, value, share, recommended share and deviation of every share."""
    for group, share in report["shares"].items():
        recommended, off = report["recommended"].get(group), report["deviations"].get(group)
        if isinstance(share, Mapping):
            for name, figure in share.items():
                yield group, name, figure, (recommended or {}).get(name), (off or {}).get(name)
        else:
            yield group, "yes", share, recommended, off


def recommended_words(group: str, recommended: float) -> str:
    """A recommended share; that of recoveries has no upper bound."""
    return f"{'at least ' if group == 'error_recovery' else ''}{recommended:.0%}"


def is_gap(deviation: float | None) -> bool:
    """Whether a share deviates so much from the recommended one that it is marked."""
    return deviation is not None and abs(deviation) > TOLERANCE


def set_lines(paths: Sequence[str], report: Report, other: Report | None = None) -> Iterator[str]:
    """The report as text; `other` is a second set for comparison."""
    yield f"{counted(report['samples'], 'sample')}, {report['samples_with_calls']:,} with calls" + (
        f"; compared with {other['samples']:,}, {other['samples_with_calls']:,} with calls" if other is not None else ""
    )
    other_shares = {(group, name): share for group, name, share, *_ in share_rows(other)} if other is not None else {}
    before = ""
    for group, name, share, recommended, off in share_rows(report):
        if group != before:
            yield ""
            yield f"{SHARE_TITLES[group]:32}   share" + ("   other" if other is not None else "") + "   recommended"
            before = group
        second = f"  {other_shares.get((group, name), 0.0):6.1%}" if other is not None else ""
        shown = "" if recommended is None else f"   {recommended_words(group, recommended)}"
        mark = f"   <- {off:+.1%}" if off is not None and is_gap(off) else ""
        yield f"  {visible_line(name):30}  {share:6.1%}{second}{shown}{mark}"
    gaps = [(group, name, off) for group, name, _, _, off in share_rows(report) if is_gap(off)]
    if gaps:
        yield ""
        yield "To list the samples of each deviating share:"
        for group, name, _ in gaps:
            yield f"  weaklink data report {' '.join(map(quote, paths))} --list {group}={quote(name)}"
    yield ""
    yield from count_lines(report, other)
    if "by" in report:
        yield ""
        yield from _group_lines(report["by"])


_GROUP_COLUMNS = ("samples", "with calls", "1 call", "no tool", "recovery", "score", "faults", "characters")


def _group_lines(by: Mapping[str, Any]) -> Iterator[str]:
    """A line for each value of the column: its samples, some shares, and the median length."""
    rows = [
        (visible_line(by["column"]), *_GROUP_COLUMNS),
        *(_group_cells(name, group) for name, group in by["groups"].items()),
    ]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield f"{name.ljust(widths[0])}  {'  '.join(numbers)}"


def _group_cells(name: str, group: Report) -> tuple[str, ...]:
    shares, mean, lengths = group["shares"], group["quality"]["mean"], group["lengths"]["characters"]
    return (
        visible_line(name[:_MAX_NAME_CHARS]),
        f"{group['samples']:,}",
        f"{group['samples_with_calls']:,}",
        f"{shares['steps']['1']:.0%}",
        f"{shares['should_call']['no']:.0%}",
        f"{shares['error_recovery']:.0%}",
        "-" if mean is None else f"{mean:.3f}",
        f"{sum(group['faults'].values()):,}",
        "-" if lengths is None else f"{lengths['median']:,}",
    )


def count_lines(report: Report, other: Report | None = None) -> Iterator[str]:
    """What is counted but has no recommended share: names with numbers, lengths, scores, duplicates."""
    for key, title in _COUNTS.items():
        yield f"{title}: {_counts(report[key])}"
        if other is not None:
            yield f"  other: {_counts(other[key])}"
    for counted_set, word in ((report, ""), *([(other, "  other: ")] if other is not None else [])):
        for unit, length in counted_set["lengths"].items():
            if length is not None:
                quantiles = f"median {length['median']:,}, 95 % {length['p95']:,}, longest {length['max']:,}"
                yield f"{word}length in {unit}: {quantiles}"
        budget = counted_set.get("budget")
        if budget is not None:
            fill = "" if budget["packed_fill"] is None else f", {budget['packed_fill']:.1%} full"
            yield (
                f"{word}limit of {budget['max_tokens']:,} tokens: cuts {counted(budget['samples_cut'], 'sample')} and "
                f"{budget['tokens_cut']:,} of {budget['tokens']:,} tokens; packed, the set is "
                f"{counted(budget['packed_sequences'], 'sequence')}{fill}"
            )
        mean = counted_set["quality"]["mean"]
        low = counted_set["quality"]["below_0.9"]
        yield f"{word}quality score: mean {'-' if mean is None else format(mean, '.3f')}, below 0.9: {low:,}"
        yield f"{word}duplicates: {counted_set['duplicates']:,}"


def _counts(counts: Mapping[str, int]) -> str:
    listed = [f"{visible_line(name)} {number:,}" for name, number in list(counts.items())[:_MAX_VALUES]]
    more = len(counts) - _MAX_VALUES
    return ", ".join(listed + ([f"{more:,} more"] if more > 0 else [])) or "none"


def set_page(paths: Sequence[str], report: Report, other: Report | None = None) -> Iterator[str]:
    """The report as one HTML page, which loads and runs nothing."""
    title = "Training data: " + ", ".join(paths)
    yield head_html(title, BAR_STYLE)
    yield f"<h1>{escaped(title)}</h1>\n<p>{escape(next(set_lines(paths, report, other)))}.</p>\n"
    other_shares = {(group, name): share for group, name, share, *_ in share_rows(other)} if other is not None else {}
    for group, title_ in SHARE_TITLES.items():
        yield f"<h2>{escape(title_)}</h2>\n<table><tr><th></th><th>share</th><th></th>"
        yield ("<th>other</th><th></th>" if other is not None else "") + "<th>recommended</th><th>deviation</th></tr>\n"
        for of, name, share, recommended, off in share_rows(report):
            if of == group:
                second = other_shares.get((group, name), 0.0)
                more = f"<td>{second:.1%}</td><td>{share_bar(second)}</td>" if other is not None else ""
                target = "" if recommended is None else f"{recommended:.0%}"
                mark = "" if off is None else f"{off:+.1%}"
                cell = f'<td class="error">▲ {mark}</td>' if is_gap(off) else f"<td>{mark}</td>"
                yield f"<tr><td>{escaped(name)}</td><td>{share:.1%}</td><td>{share_bar(share)}</td>{more}"
                yield f"<td>{target}</td>{cell}</tr>\n"
        yield "</table>\n"
    yield "<h2>Other figures</h2>\n<ul>\n"
    yield from (f"<li>{escaped(line.strip())}</li>\n" for line in count_lines(report, other))
    yield "</ul>\n"
    if "by" in report:
        lines = "\n".join(_group_lines(report["by"]))
        yield f"<h2>By {escaped(report['by']['column'])}</h2>\n<pre>{escaped(lines)}</pre>\n"
    yield f"<footer>Written by weaklink {escape(__version__)}.</footer>\n</body>\n</html>\n"
