"""`weaklink report`: the charts of the dashboard and the worst chains, as pages for a pull request or a mail."""

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from click.core import ParameterSource
from msgspec import Struct, field

from weaklink.inspector.atomic_write import check_folder, whole_folder
from weaklink.inspector.chain.metrics_groups import Aspect, FigureGroups, FigureSlices, GroupKey
from weaklink.inspector.errors import UnknownFormatError, UnreadableFileError
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.derived_rows import figures_in
from weaklink.storage.reading import NO_TRACES_YET
from weaklink.storage.statistics import keys_of
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.declaring import COULD_NOT_RUN
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.cli.paths import records_of
from weaklink.ui.cli.store_options import (
    LOCK_TIMEOUT_S,
    fill_text_index,
    paths_and_filter,
    recover_traces,
)
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import placed_block, plan_traces
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.reports.html_page import html_page
from weaklink.ui.reports.static_report import (
    GENERATOR,
    StaticReport,
    in_rounds,
    report_html,
    trace_file_name,
    worst_chains,
)
from weaklink.ui.views.styled_text import counted, visible_line
from weaklink.ui.views.trace_summary import trace_title
from weaklink.ui.views.triage import Triage, read_triage

_FIRST = "index.html"
_TRACE = re.compile(r"trace-\d+\.html")
_HEAD_CHARS = 2_000
_GROUPS = ((), (GroupKey.DAY,), (GroupKey.MODEL,), (GroupKey.MODEL, GroupKey.CODE))


@declaring.command("report")
@click.argument("words", metavar="[PATH|FILTER]...", nargs=-1)
@click.option("--out", "-o", required=True, metavar="DIR", help="The folder to write; created if missing.")
@click.option("--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces that match, as in `list`.")
@click.option("--title", default="What breaks", show_default=True, metavar="T", help="The report's title.")
@click.option(
    "--worst", default=20, show_default=True, type=click.IntRange(0, 500), metavar="N", help="Number of chains to add."
)
@click.option("--force", is_flag=True, help="Write even into a folder that contains other files; they are kept.")
@click.option("--source", metavar="NAME", help="Treat every PATH as this source instead of detecting it.")
@jobs_options
@declaring.database_option
@click.pass_context
def report(
    ctx: click.Context,
    words: tuple[str, ...],
    *,
    out: str,
    expression: str,
    title: str,
    worst: int,
    force: bool,
    source: str | None,
    jobs: EngineOptions,
    where: str | None,
) -> None:
    """Write a report: what breaks, how often and where, and a page for each of the worst chains.

    It covers the traces of the database that match FILTER, or those of PATHs: files, folders, patterns and URLs. Open
    DIR/index.html first. The pages load nothing from elsewhere, so they can be mailed. An existing report is replaced
    as a whole; any other folder is left alone.

    The pages of the worst chains contain the texts of the traces: check them before you share them.
    """
    folder = Path(out)
    paths, expression = paths_and_filter(words, expression)
    if not force:
        check_folder(folder, _is_ours)
    made_at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    if paths:
        if expression or ctx.get_parameter_source("where") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--filter and --db work only on the database; import the files to filter them.")
        with triage_of_files(paths, source, worst, jobs) as (figures, store):
            if figures is None:
                print_notice("no trace could be read, so there is nothing to report")
                ctx.exit(COULD_NOT_RUN)
            _write(store, folder, StaticReport(title, "", made_at, figures, worst_chains(store, "", worst)))
        return
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        if expression:
            fill_text_index(store)
        figures = read_triage(store, expression)
        if figures is None:
            print_notice(_nothing(expression))
            ctx.exit(COULD_NOT_RUN)
        _write(store, folder, StaticReport(title, expression, made_at, figures, worst_chains(store, expression, worst)))


def _write(store: Store, folder: Path, report: StaticReport) -> None:
    with whole_folder(folder) as target:
        with (target / _FIRST).open("w", encoding="utf-8", newline="\n") as page:
            page.writelines(report_html(report))
        for broken in report.worst:
            title = f"trace {broken.id} {trace_title(broken)}"[:200]
            with (target / trace_file_name(broken.id)).open("w", encoding="utf-8", newline="\n") as page:
                page.writelines(html_page([(broken.id, *store.inspected(broken.id))], title=title))
    counts = f"{counted(report.triage.whole.traces, 'trace')}; pages on {counted(len(report.worst), 'broken chain')}"
    sys.stdout.write(f"{visible_line(str(folder / _FIRST))}: {counts}\n")


def _is_ours(entry: Path) -> bool:
    """Whether an earlier report wrote this entry of the folder."""
    if entry.name != _FIRST:
        return _TRACE.fullmatch(entry.name) is not None and entry.is_file()
    with entry.open(encoding="utf-8", errors="replace") as page:
        return f'content="{GENERATOR}"' in page.read(_HEAD_CHARS)


def _nothing(expression: str) -> str:
    if expression:
        return "no trace matches this filter, so there is nothing to report; `weaklink list` shows the traces"
    return NO_TRACES_YET


class BrokenPlace(Struct, frozen=True):
    """Where a broken chain is: its block and its position among the traces of the block."""

    code: str
    errors: int
    block: Block
    position: int

    @property
    def rank(self) -> tuple[int, int, int]:
        """The sort key: most errors first, then in the order of files."""
        return -self.errors, self.block.number, self.position


class TriageSums(Struct):
    """The sums of a Triage, and the `most` worst chains of each kind of break. Sums can be merged in any order."""

    most: int
    groups: list[FigureGroups] = field(default_factory=lambda: [FigureGroups(by) for by in _GROUPS])
    codes: FigureSlices = field(default_factory=lambda: FigureSlices(Aspect.CODE))
    steps: FigureSlices = field(default_factory=lambda: FigureSlices(Aspect.STEP))
    worst: list[BrokenPlace] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def add(self, trace: Trace, inspection: Inspection, block: Block, position: int) -> None:
        """Count a trace."""
        keys, figures = keys_of(trace, inspection), figures_in(trace, inspection)
        for group in self.groups:
            group.add(keys, figures)
        for slices in (self.codes, self.steps):
            slices.add(keys, figures)
        if inspection.chain.broken is not None:
            errors = sum(diagnostic.rule.severity is Severity.ERROR for diagnostic in inspection.diagnostics)
            self.worst.append(BrokenPlace(inspection.chain.broken.code or "", errors, block, position))

    def merge(self, other: "TriageSums") -> None:
        """Add the sums of other traces."""
        for mine, theirs in zip(self.groups, other.groups, strict=True):
            mine.merge(theirs)
        self.codes.merge(other.codes)
        self.steps.merge(other.steps)
        self.unread += other.unread
        self.worst += other.worst
        self.limit()

    def limit(self) -> None:
        """Drop all but the worst chains of each kind of break."""
        kept: Counter[str] = Counter()
        ranked, self.worst = sorted(self.worst, key=lambda broken: broken.rank), []
        for broken in ranked:
            kept[broken.code] += 1
            if kept[broken.code] <= self.most:
                self.worst.append(broken)

    def triage(self) -> Triage | None:
        """The figures; None if there is no trace."""
        whole, days, models, codes = (sums.all() for sums in self.groups)
        if not whole:
            return None
        return Triage(
            whole[0], tuple(days), tuple(models), tuple(codes), tuple(self.codes.all()), tuple(self.steps.all())
        )

    def chosen(self) -> list[BrokenPlace]:
        """The worst chains: first one of each kind of break, then the second of each, and so on."""
        return in_rounds(self.worst, lambda broken: broken.code)[: self.most]


class BlockTriage(Struct, frozen=True):
    """Adds up the traces of a block; it can be sent to another process."""

    most: int
    source: str | None = None

    def __call__(self, block: Block) -> Iterator[TriageSums]:
        """Yield one answer, at the end of the block."""
        sums = TriageSums(self.most)
        try:
            for position, (trace, inspection) in enumerate(_inspected(block, self.source)):
                sums.add(trace, inspection, block, position)
        except UnreadableFileError as error:
            sums.unread.append(str(error))
        sums.limit()
        yield sums


@contextmanager
def triage_of_files(
    paths: Sequence[str], source: str | None, most: int, jobs: EngineOptions
) -> Iterator[tuple[Triage | None, Store]]:
    """The figures of files, and a temporary store with the worst chains; prints a notice for unread input."""
    sums = TriageSums(most)
    for piece in run_blocks(plan_traces(paths, source, jobs.block_bytes), BlockTriage(most, source), jobs):
        for answer in piece.answers:
            sums.merge(answer)
        if piece.failed:
            sums.unread.append(f"{piece.block.name} was set aside: {piece.failed}")
    for notice in sums.unread:
        print_notice(notice)
    with TemporaryDirectory(prefix="weaklink-") as folder, open_store(str(Path(folder) / "worst.db")) as store:
        store.save(_read_again(sums.chosen(), source))
        yield sums.triage(), store


def _read_again(breaks: Sequence[BrokenPlace], source: str | None) -> Iterator[tuple[Trace, Inspection]]:
    """The traces of these breaks, in the order of files; each block is read once, only as far as needed."""
    for block in sorted({broken.block for broken in breaks}, key=lambda block: block.number):
        positions = {broken.position for broken in breaks if broken.block == block}
        for position, inspected in enumerate(_inspected(block, source)):
            if position in positions:
                yield inspected
            if position == max(positions):
                break


def _inspected(block: Block, source: str | None) -> Iterator[tuple[Trace, Inspection]]:
    with placed_block(block) as file:
        for record in records_of(file, source):
            if isinstance(record, Trace):
                try:
                    yield record, inspect_trace(record)
                except UnknownFormatError:
                    continue  # a trace of an unknown format; `check` reports it
