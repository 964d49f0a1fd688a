"""`weaklink import`: log files into the database, with a report of every file and of every record skipped."""

import sys
from contextlib import nullcontext
from functools import partial

import click

from inspector.json_text import write_json
from storage import open_store
from ui.cli.console import line_width, print_lines
from ui.cli.engine_options import engine_of
from ui.cli.files import STDIN
from ui.cli.import_jobs import ImportOptions, collect_rarely
from ui.cli.import_results import import_results
from ui.cli.import_round import import_round, watch_paths
from ui.cli.paths import placed_files
from ui.cli.redaction_options import redactor_of
from ui.cli.store_options import LOCK_TIMEOUT_S
from ui.reports.import_report import FileReport, import_lines, report_object
from ui.views.styled_text import visible_line
from ui.views.wording import counted

_COULD_NOT_RUN = 2
_MOST_NOTES = 6


@click.pass_context
def import_paths(
    ctx: click.Context,
    paths: tuple[str, ...],
    source: str | None,
    where: str | None,
    patterns: tuple[str, ...],
    *,
    no_redact: bool,
    no_content: bool,
    watch: bool,
    dry_run: bool,
    jobs: int | None,
    verbose: bool,
    to: str | None,
    engine: str,
    block_size: float,
    ray_address: str | None,
    as_json: bool,
    color: str,
) -> None:
    """`weaklink import_paths`; see its help."""
    if to is not None:
        if watch or dry_run or patterns or no_redact or no_content or STDIN in paths:
            raise click.UsageError("--to goes with PATHs, --source, --jobs, --engine and --json only.")
        import_results(paths, to, source, engine_of(jobs, engine, block_size, ray_address), as_json=as_json)
        return
    if engine != "local":
        raise click.UsageError("--engine ray writes Parquet files; name their folder with --to.")
    if watch and (dry_run or STDIN in paths):
        raise click.UsageError("--watch imports what is written into files; neither --dry-run nor `-` goes with it.")
    redactor_of(patterns, no_redact=no_redact, no_content=no_content)  # says at once what is wrong with a pattern
    collect_rarely()
    wanted = ImportOptions(source, patterns, no_redact=no_redact, no_content=no_content)
    put = partial(_put, as_json=as_json, every_file=verbose, color=color)
    if watch:
        with open_store(where, busy_timeout_s=LOCK_TIMEOUT_S) as store:
            watch_paths(store, paths, wanted, jobs, put)
        return
    reports: list[FileReport] = []
    with placed_files(paths, source) as files:
        try:
            is_empty = not any(file.is_readable for file in files)  # then no database is made
            with nullcontext() if dry_run or is_empty else open_store(where) as store:
                import_round(store, files, wanted, jobs, lambda _, report: reports.append(report))
        except KeyboardInterrupt:
            whole = sum(1 + len(file.with_it) for file in files)
            sys.stderr.write(f"weaklink: {_interrupted(len(reports), whole, dry_run=dry_run)}\n")
            raise
        finally:
            put(reports)
    if dry_run:
        sys.stderr.write("weaklink: nothing was written; without --dry-run it is\n")
    if not files:
        sys.stderr.write(f"weaklink: there are no files in {visible_line(', '.join(paths))}\n")
    if all(report.refused is not None for report in reports):
        ctx.exit(_COULD_NOT_RUN)


def _interrupted(done: int, files: int, *, dry_run: bool) -> str:
    if dry_run:
        return f"interrupted; {counted(done, 'file')} of {files:,} {'was' if done == 1 else 'were'} read."
    if done == files:
        return "interrupted while the text was indexed; every file is in the database."
    kept = f"{counted(done, 'file')} of {files:,} {'is' if done == 1 else 'are'} in the database"
    return f"interrupted; {kept}, nothing of the rest. Run the same command again to go on."


def _put(reports: list[FileReport], *, as_json: bool, every_file: bool, color: str) -> None:
    if as_json:
        sys.stdout.write(write_json(report_object(reports)) + "\n")
        sys.stdout.flush()
    elif reports:
        most_notes = None if every_file else _MOST_NOTES
        lines = import_lines(reports, width=line_width(), every_file=every_file, most_notes=most_notes)
        print_lines(lines, color=color)
