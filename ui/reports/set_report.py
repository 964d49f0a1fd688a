"""The report on a set of training data, or on two side by side: as lines of text and as one HTML page."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from shlex import quote
from typing import Any

from inspector.dataset.diversity import TOLERANCE
from inspector.version import __version__
from ui.reports.html import escaped, head_html, style_sheet
from ui.reports.static_report import share_bar
from ui.views.styled_text import visible_line
from ui.views.wording import counted

_TITLES = {
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
    "ref_chain": "chains of $ref",
    "argument_depth": "nesting of arguments",
}
_MOST = 20
_STYLE = style_sheet() + "svg { display: block; width: 12rem; height: .9rem; } svg rect { fill: currentColor; }"

Report = Mapping[str, Any]


def share_rows(report: Report) -> Iterator[tuple[str, str, float, float | None, float | None]]:
    """Group, value, share, recommended share and deviation of every share."""
    for group, share in report["shares"].items():
        wanted, off = report["recommended"].get(group), report["deviations"].get(group)
        if isinstance(share, Mapping):
            for name, one in share.items():
                yield group, name, one, (wanted or {}).get(name), (off or {}).get(name)
        else:
            yield group, "yes", share, wanted, off


def is_gap(deviation: float | None) -> bool:
    """Whether a share is so far from the recommended one that it is marked."""
    return deviation is not None and abs(deviation) > TOLERANCE


def set_lines(paths: Sequence[str], report: Report, other: Report | None = None) -> Iterator[str]:
    """The report as text; `other` is a second set beside it."""
    yield f"{counted(report['samples'], 'sample')}, {report['samples_with_calls']:,} with calls" + (
        f"; beside them {other['samples']:,}, {other['samples_with_calls']:,} with calls" if other is not None else ""
    )
    beside = {(group, name): share for group, name, share, *_ in share_rows(other)} if other is not None else {}
    before = ""
    for group, name, share, wanted, off in share_rows(report):
        if group != before:
            yield ""
            yield f"{_TITLES[group]:32}   share" + ("   other" if other is not None else "") + "   recommended"
            before = group
        second = f"  {beside.get((group, name), 0.0):6.1%}" if other is not None else ""
        shown = "" if wanted is None else f"   {'at least ' if group == 'error_recovery' else ''}{wanted:.0%}"
        mark = f"   <- {off:+.1%}" if off is not None and is_gap(off) else ""
        yield f"  {visible_line(name):30}  {share:6.1%}{second}{shown}{mark}"
    gaps = [(group, name, off) for group, name, _, _, off in share_rows(report) if is_gap(off)]
    if gaps:
        yield ""
        yield "Samples of each share that is off:"
        for group, name, _ in gaps:
            yield f"  weaklink data report {' '.join(map(quote, paths))} --list {group}={quote(name)}"
    yield ""
    yield from _count_lines(report, other)


def _count_lines(report: Report, other: Report | None) -> Iterator[str]:
    for key, title in _COUNTS.items():
        yield f"{title}: {_counts(report[key])}"
        if other is not None:
            yield f"  other: {_counts(other[key])}"
    for one, word in ((report, ""), *([(other, "  other: ")] if other is not None else [])):
        for unit, found in one["lengths"].items():
            if found is not None:
                quantiles = f"median {found['median']:,}, 95 % {found['p95']:,}, longest {found['max']:,}"
                yield f"{word}length in {unit}: {quantiles}"
        mean = one["quality"]["mean"]
        low = one["quality"]["below_0.9"]
        yield f"{word}quality score: mean {'-' if mean is None else format(mean, '.3f')}, below 0.9: {low:,}"
        yield f"{word}duplicates: {one['duplicates']:,}"


def _counts(found: Mapping[str, int]) -> str:
    listed = [f"{visible_line(name)} {number:,}" for name, number in list(found.items())[:_MOST]]
    more = len(found) - _MOST
    return ", ".join(listed + ([f"{more:,} more"] if more > 0 else [])) or "none"


def set_page(paths: Sequence[str], report: Report, other: Report | None = None) -> Iterator[str]:
    """The same as one HTML page, which loads and runs nothing."""
    title = "Training data: " + ", ".join(paths)
    yield head_html(title, _STYLE)
    yield f"<h1>{escaped(title)}</h1>\n<p>{escape(next(set_lines(paths, report, other)))}.</p>\n"
    beside = {(group, name): share for group, name, share, *_ in share_rows(other)} if other is not None else {}
    for group, title_ in _TITLES.items():
        yield f"<h2>{escape(title_)}</h2>\n<table><tr><th></th><th>share</th><th></th>"
        yield ("<th>other</th><th></th>" if other is not None else "") + "<th>recommended</th><th>deviation</th></tr>\n"
        for of, name, share, wanted, off in share_rows(report):
            if of == group:
                second = beside.get((group, name), 0.0)
                more = f"<td>{second:.1%}</td><td>{share_bar(second)}</td>" if other is not None else ""
                said = "" if wanted is None else f"{wanted:.0%}"
                mark = "" if off is None else f"{off:+.1%}"
                cell = f'<td class="error">▲ {mark}</td>' if is_gap(off) else f"<td>{mark}</td>"
                yield f"<tr><td>{escaped(name)}</td><td>{share:.1%}</td><td>{share_bar(share)}</td>{more}"
                yield f"<td>{said}</td>{cell}</tr>\n"
        yield "</table>\n"
    yield "<h2>What else it consists of</h2>\n<ul>\n"
    yield from (f"<li>{escaped(line.strip())}</li>\n" for line in _count_lines(report, other))
    yield f"</ul>\n<footer>Written by weaklink {escape(__version__)}.</footer>\n</body>\n</html>\n"
