"""Figures as pictures of HTML and SVG that need no script: days, rules, models by rules, steps."""

from collections.abc import Iterator, Sequence
from html import escape

from inspector.chain.metrics_groups import Slice
from inspector.chain.steps import Status
from ui.reports.html_text import escaped
from ui.views.palette import Style
from ui.views.stats_wording import code_title, percent
from ui.views.status import status_run
from ui.views.triage import STATUSES, Heat
from ui.views.visible import visible_line
from ui.views.wording import counted

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
_WIDE, _TALL, _ROOM = 340, 110, 14
_STYLES = (Style.ERROR, Style.WARNING, Style.REASONING, Style.INFO, Style.OK)
_MOST_BARS = 12
_LONGEST = 80


def days_html(days: Sequence[tuple[str, tuple[int, ...]]]) -> Iterator[str]:
    """Traces by day and status, stacked, the worst at the bottom; the numbers can be opened below."""
    most = max(sum(counts) for _, counts in days)
    width = _WIDE / max(len(days), 12)
    label = f"traces of {len(days)} days by status, {most:,} on the fullest"
    yield f'<figure>\n<svg viewBox="0 0 {_WIDE} {_TALL}" role="img" aria-label="{label}">'
    for index, (_, counts) in enumerate(days):
        top = float(_TALL)
        for style, count in zip(_STYLES, counts, strict=True):
            height = count / most * (_TALL - 4)
            top -= height
            if count:
                yield _rect(index * width + 0.5, top, max(width - 1, 0.8), height, style)
    words = " · ".join(
        f'<span class="{style}">{_word(one)}</span>' for style, one in zip(_STYLES, STATUSES, strict=True)
    )
    yield f"</svg>\n<figcaption>{escape(_stretch([day for day, _ in days]))}, {most:,} traces at most. {words}"
    yield "</figcaption>\n</figure>\n<details><summary>The numbers</summary>\n"
    yield from table_html(
        ("day", *(one.value for one in STATUSES)),
        ((escape(day or "no date"), *(f"{count:,}" for count in counts)) for day, counts in days),
    )
    yield "</details>\n"


def rules_html(codes: Sequence[Slice]) -> Iterator[str]:
    """What chains broke by, the most frequent first, with the share that a row and all above it come to."""
    total, sum_ = sum(one.traces for one in codes), 0
    yield '<table>\n<thead><tr><th scope="col">rule</th><th scope="col"><span class="unseen">share</span></th>'
    yield '<th scope="col">traces</th><th scope="col">together</th></tr></thead>\n<tbody>\n'
    for one in codes[:_MOST_BARS]:
        sum_ += one.traces
        yield f'<tr><td>{escaped(code_title(one.value))}</td><td class="bar">{_bar(one.traces / codes[0].traces)}</td>'
        yield f'<td class="number">{one.traces:,}</td><td class="number">{percent(sum_ / total)} %</td></tr>\n'
    yield "</tbody>\n</table>\n"
    if len(codes) > _MOST_BARS:
        yield f'<p class="dim">{counted(len(codes) - _MOST_BARS, "rarer kind")} of break: not shown.</p>\n'


def heat_html(heat: Heat) -> Iterator[str]:
    """Models against rules: each cell says its share and is the darker the larger that is."""
    yield '<div class="wide" tabindex="0" role="region" aria-label="models and rules"><table class="heat">\n'
    yield '<thead><tr><th scope="col">model</th>'
    yield from (f'<th scope="col" title="{escaped(code_title(code))}">{escaped(code)}</th>' for code in heat.codes)
    yield "</tr></thead>\n<tbody>\n"
    for model in heat.models:
        yield f'<tr><th scope="row">{escape(visible_line(model[:_LONGEST]))}</th>'
        for code in heat.codes:
            share = heat.share(model, code)
            said = f"{percent(share)} %" if share else '<span class="dim">–</span>'
            yield f'<td class="h{round(share * 10)}">{said}</td>'
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"
    yield '<p class="dim">The share of a model\'s traces in which a rule found something.</p>\n'


def steps_html(steps: Sequence[tuple[str, int]]) -> Iterator[str]:
    """How many chains broke at which step."""
    most = max(count for _, count in steps)
    width = _WIDE / max(len(steps), 6)
    said = ", ".join(f"{count:,} at step {step}" for step, count in steps)
    yield f'<figure>\n<svg viewBox="0 0 {_WIDE} {_TALL + 2 * _ROOM}" role="img" aria-label="{escape(said)}">'
    for index, (step, count) in enumerate(steps):
        height, middle = count / most * _TALL, (index + 0.5) * width
        yield _rect(index * width + 2, _ROOM + _TALL - height, width - 4, height, Style.ERROR)
        yield f'<text x="{middle:.1f}" y="{_ROOM + _TALL - height - 3:.1f}">{count:,}</text>'
        yield f'<text x="{middle:.1f}" y="{_TALL + 2 * _ROOM - 3}">{escape(step)}</text>'
    yield "</svg>\n<figcaption>The step at which chains broke first.</figcaption>\n</figure>\n"


def table_html(heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """A table of cells that are HTML already; all but the first of a row are numbers."""
    named = "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield f"<table>\n<thead><tr>{named}</tr></thead>\n<tbody>\n"
    for first, *rest in rows:
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in rest)
        yield f"<tr><td>{first}</td>{numbers}</tr>\n"
    yield "</tbody>\n</table>\n"


def _stretch(days: Sequence[str]) -> str:
    """From when to when, and whether the first column stands for traces without a date."""
    dated = [day for day in days if day]
    if not dated:
        return "Traces without a date"
    said = dated[0] if len(dated) == 1 else f"{dated[0]} to {dated[-1]}"
    return said if len(dated) == len(days) else f"{said}, and in front the traces without a date"


def _rect(x: float, y: float, width: float, height: float, style: Style) -> str:
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _bar(share: float, style: Style = Style.ERROR) -> str:
    inner = f'<rect class="{style}" width="{100 * share:.1f}" height="10"/>'
    return f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{inner}</svg>'


def share_bar(share: float) -> str:
    """A share of the whole as a bar."""
    return _bar(share, Style.INFO)


def _word(status: Status) -> str:
    return escape(status_run(status).text)
