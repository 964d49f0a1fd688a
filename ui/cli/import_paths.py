"""`weaklink import`: import log files into the database, and report every file and every skipped record."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import click
from msgspec import structs

from weaklink.inspector.json_text import write_json
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import line_width, print_lines, print_notice
from weaklink.ui.cli.discovery import discovered_paths
from weaklink.ui.cli.engine_options import block_size_option, engine_of, engine_option, ray_address_option
from weaklink.ui.cli.files import STDIN, chat_template_option
from weaklink.ui.cli.paths import separate_files
from weaklink.ui.cli.redaction_options import redaction_options, redactor_of
from weaklink.ui.cli.suggestions import suggested
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.importing.unchanged_files import ImportOptions, unchanged_reports
from weaklink.ui.importing.worker_process import collect_rarely
from weaklink.ui.reports.import_report import FileReport, import_lines, report_object
from weaklink.ui.views.styled_text import counted

if TYPE_CHECKING:
    from weaklink.storage.store import Store

_MAX_NOTES = 6
_PAUSE_S, _MAX_WAIT_S = 0.2, 600.0  # for another import, which writes a file as a whole

_COULD_NOT_RUN = 2


@declaring.command("import")
@click.argument("paths", metavar="[PATH | AGENT]...", nargs=-1)
@click.option("--discover", is_flag=True, help="Only list the logs of agents on this machine.")
@click.option("--since", metavar="TIME", help="Without PATH: only logs written since then, such as 7d or 12h.")
@click.option("--project", metavar="NAME", help="Only sessions of this project, the name of the agent's folder.")
@declaring.source_option
@chat_template_option
@click.option("--watch", is_flag=True, help="Keep importing files that appear or grow, until Ctrl-C.")
@click.option("--dry-run", is_flag=True, help="Read and report only; write nothing and open no database.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Read in N processes besides the one that writes.  [default: one a core, at most 6, if there is much to read]",
)
@click.option("--verbose", "-v", is_flag=True, help="List every file, every skipped record and every refused file.")
@click.option(
    "--to",
    metavar="DIR",
    help="Inspect into Parquet files in DIR (a folder or URL) instead of the database; an interrupted run continues. "
    "See docs/scaling.md.",
)
@engine_option
@block_size_option
@ray_address_option
@redaction_options
@declaring.json_option
@declaring.database_option
@declaring.color_option
@click.pass_context
def import_paths(
    ctx: click.Context,
    paths: tuple[str, ...],
    source: str | None,
    where: str | None,
    patterns: tuple[str, ...],
    *,
    discover: bool,
    since: str | None,
    project: str | None,
    no_redact: bool,
    no_content: bool,
    watch: bool,
    dry_run: bool,
    jobs: int | None,
    verbose: bool,
    chat_template: str | None,
    to: str | None,
    engine: str,
    block_size: float,
    ray_address: str | None,
    as_json: bool,
    color: str,
) -> None:
    """Import log files into the database.

    Without PATH: the logs of every agent on this machine, in their usual places; `import pi` those of one. A PATH is a
    file, a folder, a pattern like `logs/**/*.jsonl`, or `-` for standard input; gzip and zstd are unpacked. The source
    is detected from the content. Keys, tokens and passwords are replaced before anything is written. Importing a file
    again changes nothing; a longer version of a session replaces the shorter. Ctrl-C keeps the files that are finished.
    """
    if watch and (dry_run or discover or since is not None or STDIN in paths):
        raise click.UsageError(
            "--watch imports files as they are written; it cannot be combined with --dry-run or `-`, nor with "
            "--discover or --since."
        )
    discovered = None
    if not watch:
        discovered = discovered_paths(
            paths, since, project, lists_only=discover, where=where, as_json=as_json, color=color
        )
    if discover or discovered == ():
        ctx.exit(0 if discover else _COULD_NOT_RUN)
    paths = paths if discovered is None else discovered
    if to is not None:
        if (
            watch
            or dry_run
            or patterns
            or no_redact
            or no_content
            or project is not None
            or chat_template
            or STDIN in paths
        ):
            raise click.UsageError("--to can be combined with PATHs, --source, --jobs, --engine and --json only.")
        from weaklink.ui.cli.import_results import import_results  # noqa: PLC0415  # all checks: an import of nothing new needs none

        import_results(paths, to, source, engine_of(jobs, engine, block_size, ray_address), as_json=as_json)
        return
    if engine != "local":
        raise click.UsageError("--engine ray writes Parquet files; name their folder with --to.")
    redactor_of(patterns, no_redact=no_redact, no_content=no_content)  # fails at once for an invalid pattern
    collect_rarely()
    options = ImportOptions(source, patterns, no_redact=no_redact, no_content=no_content, project=project)
    if chat_template:
        from weaklink.ui.cli.format_options import kept_table  # noqa: PLC0415  # loads every format

        options = structs.replace(options, format_table=kept_table(chat_template))
    put = partial(_put, as_json=as_json, every_file=verbose, color=color)
    if watch:
        from weaklink.storage.store import open_store  # noqa: PLC0415  # loads SQLAlchemy
        from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S  # noqa: PLC0415  # the same
        from weaklink.ui.cli.watch import check_paths, check_source, watch_paths  # noqa: PLC0415  # the same

        check_paths(paths)
        check_source(source)
        with open_store(where, busy_timeout_s=LOCK_TIMEOUT_S) as store:
            watch_paths(store, paths, options, jobs, put)
        return
    _import_once(paths, options, where, jobs, put, dry_run=dry_run)
    if discovered is not None and not dry_run and not as_json:
        print_notice(f"what broke, newest first: `{suggested('list status:broken', where)}`")


def _import_once(
    paths: tuple[str, ...],
    options: ImportOptions,
    where: str | None,
    jobs: int | None,
    put: Callable[[list[FileReport]], object],
    *,
    dry_run: bool,
) -> None:
    """Import the files once, and report each; exits with 2 if none could be read."""
    reports: list[FileReport] = []
    with separate_files(paths) as files:
        order = {file.name: number for number, file in enumerate(files)}
        try:
            is_stored = not dry_run and any(file.is_readable for file in files)  # if not, no database is created
            known = unchanged_reports(files, options, where) if is_stored else None
            if known is not None:
                reports += known
            else:
                from weaklink.storage.store import open_store  # noqa: PLC0415  # loads SQLAlchemy

                with open_store(where) if is_stored else nullcontext() as store:
                    _import_all(store, files, options, jobs, reports)
            reports.sort(key=lambda report: order.get(report.path, 0))
        except KeyboardInterrupt:
            print_notice(_interrupted(len(reports), len(files), dry_run=dry_run))
            raise
        finally:
            put(reports)
    if dry_run:
        print_notice("dry run: nothing was written")
    if not files:
        print_notice(f"there are no files in {', '.join(paths)}")
    if all(report.refused is not None for report in reports):
        click.get_current_context().exit(_COULD_NOT_RUN)


def _import_all(
    store: "Store | None",
    files: Sequence[InputFile],
    options: ImportOptions,
    jobs: int | None,
    reports: list[FileReport],
) -> None:
    """Import the files, and add their reports; while another program writes to the database, keep trying."""
    from weaklink.storage.engine import DatabaseLockedError  # noqa: PLC0415  # loads SQLAlchemy
    from weaklink.ui.cli.import_rounds import import_new  # noqa: PLC0415  # the same

    until_s: float | None = None
    while True:
        done = {report.path for report in reports}
        try:
            import_new(store, [file for file in files if file.name not in done], options, jobs, reports)
        except DatabaseLockedError as error:
            if until_s is None:
                print_notice(f"{error}; weaklink keeps trying")
                until_s = time.monotonic() + _MAX_WAIT_S
            if time.monotonic() > until_s:
                raise
            time.sleep(_PAUSE_S)  # a database may refuse at once
        else:
            return


def _interrupted(done: int, files: int, *, dry_run: bool) -> str:
    if dry_run:
        return f"interrupted; {counted(done, 'file')} of {files:,} {'was' if done == 1 else 'were'} read."
    if done == files:
        return "interrupted while the text was indexed; every file is in the database."
    kept = f"{counted(done, 'file')} of {files:,} {'is' if done == 1 else 'are'} in the database"
    return f"interrupted; {kept}, nothing of the rest. Run the same command again to continue."


def _put(reports: list[FileReport], *, as_json: bool, every_file: bool, color: str) -> None:
    if as_json:
        sys.stdout.write(write_json(report_object(reports)) + "\n")
    elif reports:
        most_notes = None if every_file else _MAX_NOTES
        lines = import_lines(reports, width=line_width(), every_file=every_file, most_notes=most_notes)
        print_lines(lines, color=color)
    sys.stdout.flush()
