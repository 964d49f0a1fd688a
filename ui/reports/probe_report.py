"""The report of a probe: for a terminal, as one HTML page, and as JUnit XML for CI servers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TextIO

from msgspec import Struct

from weaklink.inspector.probe.judging import KINDS, Owner, ProbeFinding
from weaklink.inspector.probe.measures import MeasuredMedian, MeasuredShare, PairedShare, ProbeMeasures
from weaklink.inspector.probe.results import ProbeRecord
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.version import __version__
from weaklink.ui.reports.ci_reports import xml_attribute, xml_text
from weaklink.ui.reports.html import escaped, head_html
from weaklink.ui.reports.static_report import BAR_STYLE, share_bar, table_html
from weaklink.ui.views.status import GLYPHS, OK_GLYPH
from weaklink.ui.views.styled_text import Line, Run, Style, counted, quoted, table_lines, visible_line

_MAX_FINDINGS = 20
_OWNER_WORDS = {Owner.SERVER: "the server", Owner.MODEL: "the model", Owner.UNKNOWN: "unknown"}
_NO_ANSWER = "No answer came, so nothing was measured."


class ProbeReport(Struct, frozen=True):
    """The results of one endpoint."""

    url: str
    model: str
    records: tuple[ProbeRecord, ...]
    measures: ProbeMeasures

    @property
    def findings(self) -> list[tuple[ProbeRecord, ProbeFinding]]:
        """Every finding, with the record that has it."""
        return [(record, finding) for record in self.records for finding in record.findings]

    @property
    def owners(self) -> Counter[Owner]:
        """The number of findings of each owner."""
        return Counter(finding.owner for _, finding in self.findings)


def report_lines(report: ProbeReport, *, width: int) -> Iterator[Line]:
    """What was measured as a table, then the findings by kind, then the first of each kind in full."""
    yield (Run(f"{visible_line(report.url)}  {visible_line(report.model)}".rstrip(), Style.STRONG),)
    if not report.records:
        yield (Run(_NO_ANSWER, Style.WARNING),)
        return
    rows = [*map(_share_row, report.measures.shares), *map(_median_row, report.measures.medians)]
    heads = ("measure", "value", "95 % interval", "count", "")
    yield from table_lines([row for row in rows if row], width=width, heads=heads, numbers=(1, 2, 3))
    errors = report.measures.errors
    if any(errors.values()):
        words = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in errors.items())
        yield (Run(f"Requests with tool-call errors (a request may have several): {words}."),)
    yield from _finding_lines(report, width)


def _share_row(share: MeasuredShare) -> Sequence[Line]:
    """The row of a measure; empty if nothing was measured."""
    if share.value is None:
        return ()
    style = Style.OK if share.value == 1 else Style.WARNING
    interval = f"{percent_text(share.interval.low)} to {percent_text(share.interval.high)}"
    count = (Run(f"{share.hits}/{share.trials}"),)
    value = (Run(percent_text(share.value), style),)
    return (Run(share.name, Style.KEY),), value, (Run(interval),), count, (Run(share.title, Style.DIM),)


def _median_row(median: MeasuredMedian) -> Sequence[Line]:
    if median.value is None or median.interval is None:
        return ()
    name, title = (Run(median.name, Style.KEY),), (Run(f"{median.title} (median)", Style.DIM),)
    interval = f"{median.interval.low:.1f} to {median.interval.high:.1f}"
    return name, (Run(f"{median.value:.1f}"),), (Run(interval),), (Run(f"{median.trials}"),), title


def percent_text(share: float) -> str:
    """A share as per cent with one digit; below 100 % it never reads as 100."""
    text = f"{100 * share:.1f}"
    return "99.9 %" if text == "100.0" and share < 1 else f"{text} %"


def _finding_lines(report: ProbeReport, width: int) -> Iterator[Line]:
    if not report.findings:
        yield (Run(f"{OK_GLYPH} No findings in {counted(len(report.records), 'answer')}.", Style.OK),)
        return
    owners = ", ".join(f"{_OWNER_WORDS[owner]} {count}" for owner, count in report.owners.most_common())
    yield ()
    yield (
        Run(f"{GLYPHS[Severity.ERROR]} {counted(len(report.findings), 'finding')}", Style.ERROR),
        Run(f" by owner: {owners}."),
    )
    rows = [
        ((Run(kind, Style.KEY),), (Run(f"{sum(owners.values())}"),), (Run(_owner_words(owners)),))
        for kind, owners in report.measures.findings.items()
    ]
    yield from table_lines(rows, width=width, heads=("finding", "count", "owner"), numbers=(1,))
    predicted = [finding.as_predicted for _, finding in report.findings if finding.as_predicted is not None]
    if predicted:
        known = f"What the parser of --server does is known for {counted(len(predicted), 'finding')}: "
        yield (Run(known), Run(f"this server did the same in {sum(predicted)}, and something else in the others."))
    yield ()
    shown: dict[tuple[str, Owner], tuple[ProbeRecord, ProbeFinding]] = {}
    for record, example in report.findings:
        shown.setdefault((example.kind, example.owner), (record, example))
    for record, example in list(shown.values())[:_MAX_FINDINGS]:
        where = f"{record.id} ({record.mode.value})"
        yield (Run(f"{example.kind}", Style.ERROR), Run(f"  {where}, owner: {_OWNER_WORDS[example.owner]}", Style.DIM))
        yield (Run("  "), *quoted(visible_line(example.message)))
        if example.evidence:
            yield (Run("  "), *quoted(visible_line(example.evidence), Style.DIM))
    if len(shown) > _MAX_FINDINGS:
        yield (Run(f"and {len(shown) - _MAX_FINDINGS} more kinds", Style.DIM),)


def _owner_words(owners: Mapping[str, int]) -> str:
    return ", ".join(f"{_OWNER_WORDS[Owner(owner)]} {count}" for owner, count in owners.items())


def comparison_lines(compared: Sequence[PairedShare], *, width: int) -> Iterator[Line]:
    """Two endpoints on the same requests: the shares of both, and the paired difference with its interval."""
    yield (Run("The first endpoint compared with the second, on the requests that both answered", Style.STRONG),)
    rows: list[Sequence[Line]] = []
    for share in compared:
        if share.difference is None:
            continue
        n, difference = share.trials, share.difference
        is_sure = difference.p < 0.05
        interval = f"{100 * difference.interval.low:+.1f} to {100 * difference.interval.high:+.1f}"
        style = Style.PLAIN if not is_sure else Style.OK if difference.value > 0 else Style.ERROR
        rows.append(
            (
                (Run(share.name, Style.KEY),),
                (Run(percent_text((share.both + share.only_first) / n)),),
                (Run(percent_text((share.both + share.only_second) / n)),),
                (Run(f"{100 * difference.value:+.1f}", style),),
                (Run(interval),),
                (Run(f"{n} requests{'; more than noise' if is_sure else ''}", Style.DIM),),
            )
        )
    heads = ("measure", "first", "second", "difference", "95 % interval", "")
    yield from table_lines(rows, width=width, heads=heads, numbers=(1, 2, 3, 4))


def probe_html(reports: Sequence[ProbeReport], compared: Sequence[PairedShare], made_at: str) -> Iterator[str]:
    """The report as one HTML page, which loads and runs nothing."""
    title = "Endpoints: " + ", ".join(report.url for report in reports)
    yield head_html(title, BAR_STYLE)
    yield f"<main>\n<h1>{escaped(title)}</h1>\n"
    for report in reports:
        yield from endpoint_html(report)
    if compared:
        yield "<h2>Comparison</h2>\n<p>On the requests that both answered; "
        yield "a positive difference favours the first.</p>\n"
        heads = ("measure", "first", "second", "difference", "95 % interval", "requests")
        yield from table_html(heads, (cells for share in compared if (cells := _paired_cells(share))))
    yield f"</main>\n<footer>Written by weaklink {__version__}, {escape(made_at)}.</footer>\n</body>\n</html>\n"


def endpoint_html(report: ProbeReport) -> Iterator[str]:
    """One endpoint: its measures, its findings by kind and owner, and every finding."""
    yield f"<section>\n<h2>{escaped(report.url)} {escaped(report.model)}</h2>\n"
    if not report.records:
        yield f"<p>{_NO_ANSWER}</p>\n</section>\n"
        return
    yield from table_html(
        ("measure", "", "value", "95 % interval", "count"), (_share_cells(share) for share in report.measures.shares)
    )
    medians = [median for median in report.measures.medians if median.value is not None]
    if medians:
        yield from table_html(
            ("median", "value", "95 % interval", "count"), (_median_cells(median) for median in medians)
        )
    if not report.findings:
        yield f"<p>No findings in {counted(len(report.records), 'answer')}.</p>\n</section>\n"
        return
    kinds = report.measures.findings
    yield from table_html(
        ("finding", "what is promised", "server", "model", "unknown"),
        (
            (escaped(kind), escaped(KINDS.get(kind, "")), *(f"{owners.get(owner, 0):,}" for owner in Owner))
            for kind, owners in kinds.items()
        ),
    )
    yield "<details><summary>Every finding</summary>\n<ul>\n"
    for record, finding in report.findings:
        where = f"{record.id} ({record.mode.value})"
        evidence = f"<br><span class='dim'>{escaped(finding.evidence)}</span>" if finding.evidence else ""
        yield (
            f"<li><strong>{escaped(finding.kind)}</strong> {escaped(where)}, owner: {_OWNER_WORDS[finding.owner]}<br>"
            f"{escaped(finding.message)}{evidence}</li>\n"
        )
    yield "</ul>\n</details>\n</section>\n"


def _share_cells(share: MeasuredShare) -> tuple[str, ...]:
    title = f"{escaped(share.name)} <span class='dim'>{escaped(share.title)}</span>"
    if share.value is None:
        return title, "", "–", "", ""
    interval = f"{percent_text(share.interval.low)} to {percent_text(share.interval.high)}"
    return title, share_bar(share.value), percent_text(share.value), interval, f"{share.hits:,}/{share.trials:,}"


def _median_cells(median: MeasuredMedian) -> tuple[str, ...]:
    bounds = median.interval
    interval = f"{bounds.low:.1f} to {bounds.high:.1f}" if bounds is not None else ""
    return escaped(median.title), f"{median.value:.1f}", interval, f"{median.trials:,}"


def _paired_cells(share: PairedShare) -> tuple[str, ...]:
    if share.difference is None:
        return ()
    n, bounds = share.trials, share.difference.interval
    return (
        escaped(share.title),
        percent_text((share.both + share.only_first) / n),
        percent_text((share.both + share.only_second) / n),
        f"{100 * share.difference.value:+.1f}",
        f"{100 * bounds.low:+.1f} to {100 * bounds.high:+.1f}",
        f"{n:,}",
    )


def write_probe_junit(out: TextIO, reports: Iterable[ProbeReport]) -> None:
    """One suite per endpoint, one case per answer; an answer with findings is a failure, a refusal is skipped."""
    out.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="weaklink probe">\n')
    for report in reports:
        failures = sum(bool(record.findings) for record in report.records)
        head = f'name={xml_attribute(report.url)} tests="{len(report.records)}" failures="{failures}" errors="0"'
        out.write(f"<testsuite {head}>\n")
        out.writelines(_case(record) for record in report.records)
        out.write("</testsuite>\n")
    out.write("</testsuites>\n")


def _case(record: ProbeRecord) -> str:
    head = (
        f"<testcase classname={xml_attribute(record.family)} name={xml_attribute(f'{record.id} ({record.mode.value})')}"
    )
    if record.findings:
        first = record.findings[0]
        text = "\n".join(_finding_text(finding) for finding in record.findings)
        failure = f"<failure message={xml_attribute(first.message)} type={xml_attribute(first.kind)}>"
        return f"{head}>\n{failure}{xml_text(text)}</failure>\n</testcase>\n"
    if not record.answered:
        return f'{head}><skipped message="refused"/></testcase>\n'
    return f"{head}/>\n"


def _finding_text(finding: ProbeFinding) -> str:
    evidence = f" {finding.evidence}" if finding.evidence else ""
    return f"{finding.kind} (owner: {_OWNER_WORDS[finding.owner]}): {finding.message}{evidence}"
