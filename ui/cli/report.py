"""`weaklink report`: the pictures of the dashboard and the worst chains, as pages for a pull request or a mail."""

import sys
import time
from pathlib import Path

import click

from inspector.atomic_write import check_folder, whole_folder
from inspector.scanning import lazy_pattern
from storage import Store, open_store
from ui.cli.console import print_notice
from ui.cli.engine_options import takes_engine
from ui.cli.report_blocks import triage_of_files
from ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, paths_and_filter, recover_traces
from ui.importing.engine import EngineOptions
from ui.reports.html_page import html_page
from ui.reports.static_report import GENERATOR, StaticReport, report_html, trace_file_name, worst_chains
from ui.views.styled_text import visible_line
from ui.views.trace_list import trace_title
from ui.views.triage import read_triage
from ui.views.wording import counted

_COULD_NOT_RUN = 2
_FIRST = "index.html"
_TRACE = lazy_pattern(r"trace-\d+\.html")
_HEAD = 2_000


@takes_engine
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
    """`weaklink report`; see its help."""
    folder = Path(out)
    paths, expression = paths_and_filter(words, expression)
    if not force:
        check_folder(folder, _is_ours)
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    if paths:
        if expression or where:
            raise click.UsageError("--filter and --db go with the database; import the files to filter them.")
        with triage_of_files(paths, source, worst, jobs) as (found, store):
            if found is None:
                print_notice("no trace could be read, so there is nothing to report")
                ctx.exit(_COULD_NOT_RUN)
            _write(store, folder, StaticReport(title, "", made, found, worst_chains(store, "", worst)))
        return
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        if expression:
            fill_text_index(store)
        found = read_triage(store, expression)
        if found is None:
            print_notice(_nothing(expression))
            ctx.exit(_COULD_NOT_RUN)
        _write(store, folder, StaticReport(title, expression, made, found, worst_chains(store, expression, worst)))


def _write(store: Store, folder: Path, made: StaticReport) -> None:
    with whole_folder(folder) as target:
        with (target / _FIRST).open("w", encoding="utf-8", newline="\n") as page:
            page.writelines(report_html(made))
        for one in made.worst:
            title = f"trace {one.id} {trace_title(one)}"[:200]
            with (target / trace_file_name(one.id)).open("w", encoding="utf-8", newline="\n") as page:
                page.writelines(html_page([(one.id, *store.inspected(one.id))], title=title))
    told = f"{counted(made.triage.whole.traces, 'trace')}; pages on {counted(len(made.worst), 'broken chain')}"
    sys.stdout.write(f"{visible_line(str(folder / _FIRST))}: {told}\n")


def _is_ours(entry: Path) -> bool:
    """Whether a file in a folder was written by an earlier report."""
    if entry.name != _FIRST:
        return _TRACE.fullmatch(entry.name) is not None and entry.is_file()
    with entry.open(encoding="utf-8", errors="replace") as page:
        return f'content="{GENERATOR}"' in page.read(_HEAD)


def _nothing(expression: str) -> str:
    if expression:
        return "no trace matches this filter, so there is nothing to report; `weaklink list` shows what there is"
    return "the database holds no traces yet; `weaklink import PATH` or `weaklink demo` puts some in"
