"""`weaklink import`: log files into the database, with a report of every file and of every record skipped."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext

import click

from inspector.json_text import write_json
from storage import Store, open_store
from ui.cli.import_files import report_only, save_file
from ui.cli.import_jobs import Wanted, jobs_for, readings
from ui.cli.import_places import PlacedFile, placed_files
from ui.cli.import_progress import import_progress
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put, screen_width
from ui.cli.redaction_options import redaction_options, redactor_of
from ui.reports.import_lines import import_lines
from ui.reports.import_report import FileReport, report_object
from ui.views.visible import visible_line
from ui.views.wording import counted

_COULD_NOT_RUN = 2


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--source", metavar="NAME", help="Read every file as one of this source, instead of recognising it.")
@click.option("--dry-run", is_flag=True, help="Only read and report: nothing is written, and no database is opened.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Read in N processes beside the one that writes.  [default: 2 where there is a second core and much to read]",
)
@redaction_options
@json_option
@database_option
@color_option
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
    dry_run: bool,
    jobs: int | None,
    as_json: bool,
    color: str,
) -> None:
    """Put log files into the database.

    Each PATH is a file, a folder, which is walked, a pattern like `logs/**/*.jsonl`, or `-` for standard input; gzip
    and zstd are unpacked. The source of a file is recognised by its content, and the report says why. Importing a file
    again changes nothing, a longer version of a session replaces the shorter. Keys, tokens and passwords are replaced
    before anything is written. Each file is one transaction: Ctrl-C keeps the files that are finished. Exits with 2
    when nothing could be read.
    """
    redactor_of(patterns, no_redact=no_redact, no_content=no_content)  # says at once what is wrong with a pattern
    wanted = Wanted(source, patterns, no_redact=no_redact, no_content=no_content)
    reports: list[FileReport] = []
    with placed_files(paths) as files:
        try:
            _import(None if dry_run else open_store(where), files, wanted, jobs or jobs_for(files), reports)
        except KeyboardInterrupt:
            sys.stderr.write(f"weaklink: {_interrupted(len(reports), len(files), dry_run=dry_run)}\n")
            raise
        finally:
            _put(reports, as_json=as_json, color=color)
    if dry_run:
        sys.stderr.write("weaklink: nothing was written; without --dry-run it is\n")
    if not files:
        sys.stderr.write(f"weaklink: there are no files in {visible_line(', '.join(paths))}\n")
    if all(report.refused is not None for report in reports):
        ctx.exit(_COULD_NOT_RUN)


def _import(
    opened: Store | None, files: Sequence[PlacedFile], wanted: Wanted, jobs: int, reports: list[FileReport]
) -> None:
    """Read the files into the store, or only read them where there is none; a report is added as each is done."""
    with (
        opened or nullcontext() as store,
        readings(files, wanted, jobs) as read,
        import_progress(len(files)) as progress,
    ):
        for file, items in zip(files, read, strict=True):
            progress.begin(file.name)
            if store is None:
                reports.append(report_only(items, on_trace=progress.advance))
            else:
                reports.append(save_file(store, items, on_trace=progress.advance))
        if store is not None:
            progress.begin("text index")
            store.index_pending()


def _interrupted(done: int, files: int, *, dry_run: bool) -> str:
    if dry_run:
        return f"interrupted; {counted(done, 'file')} of {files:,} {'was' if done == 1 else 'were'} read."
    if done == files:
        return "interrupted while the text was indexed; every file is in the database."
    kept = f"{counted(done, 'file')} of {files:,} {'is' if done == 1 else 'are'} in the database"
    return f"interrupted; {kept}, nothing of the rest. Run the same command again to go on."


def _put(reports: list[FileReport], *, as_json: bool, color: str) -> None:
    if as_json:
        sys.stdout.write(write_json(report_object(reports)) + "\n")
    elif reports:
        put(import_lines(reports, width=screen_width()), color=color)
