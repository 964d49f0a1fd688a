"""`weaklink import`: log files into the database, with a report of every file and of every record skipped."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

from inspector.json_text import write_json
from storage import open_store
from ui.cli.import_files import files_below, import_file
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put, screen_width
from ui.cli.redaction_options import redaction_options, redactor_of
from ui.reports.import_lines import import_lines
from ui.reports.import_report import FileReport, report_object
from ui.views.visible import visible_line
from ui.views.wording import counted

_COULD_NOT_RUN = 2


class _Progress(Protocol):
    """Shows how far the import is."""

    def begin(self, path: str) -> None: ...
    def advance(self) -> None: ...


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--source", metavar="NAME", help="Read every file as one of this source, instead of recognising it.")
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
    as_json: bool,
    color: str,
) -> None:
    """Put log files into the database.

    Each PATH is a file or a folder, which is walked; the source of a file is recognised by its content. Importing a
    file again changes nothing, a longer version of a session replaces the shorter. Keys, tokens and
    passwords are replaced before anything is written. Each file is one transaction: Ctrl-C keeps the files that are
    finished. Exits with 2 when nothing could be read.
    """
    redacts = redactor_of(patterns, no_redact=no_redact, no_content=no_content)
    files = list(files_below(paths))
    reports: list[FileReport] = []
    try:
        with open_store(where) as store, _progress(len(files)) as progress:
            for path in files:
                progress.begin(path)
                reports.append(import_file(store, path, source, redacts, on_trace=progress.advance))
            progress.begin("text index")
            store.index_pending()
    except KeyboardInterrupt:
        sys.stderr.write(f"weaklink: {_interrupted(len(reports), len(files))}\n")
        raise
    finally:
        _put(reports, as_json=as_json, color=color)
    if not files:
        sys.stderr.write(f"weaklink: there are no files in {visible_line(', '.join(paths))}\n")
    if all(report.refused is not None for report in reports):
        ctx.exit(_COULD_NOT_RUN)


def _interrupted(done: int, files: int) -> str:
    if done == files:
        return "interrupted while the text was indexed; every file is in the database."
    kept = f"{counted(done, 'file')} of {files:,} {'is' if done == 1 else 'are'} in the database"
    return f"interrupted; {kept}, nothing of the rest. Run the same command again to go on."


def _put(reports: list[FileReport], *, as_json: bool, color: str) -> None:
    if as_json:
        sys.stdout.write(write_json(report_object(reports)) + "\n")
    elif reports:
        put(import_lines(reports, width=screen_width()), color=color)


class _Silent:
    def begin(self, path: str) -> None:
        """Nothing to show."""

    def advance(self) -> None:
        """Nothing to show."""


@contextmanager
def _progress(files: int) -> Iterator[_Progress]:
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console  # noqa: PLC0415  # Rich takes 50 ms, and only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415  # the same

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[traces]} traces"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=files, traces=0)

        class Shown:
            traces = 0
            done = -1

            def begin(self, path: str) -> None:
                self.done += 1
                bar.update(task, description=visible_line(path)[-40:], completed=self.done)

            def advance(self) -> None:
                self.traces += 1
                bar.update(task, traces=self.traces)

        yield Shown()
