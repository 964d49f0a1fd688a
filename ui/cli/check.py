"""`weaklink check`: files inspected without a database, for people and for CI."""

import os
import sys
from functools import partial

import click

from inspector.formats.registry import find_format
from inspector.rules.catalogue import select_rules
from inspector.rules.rule import Severity
from inspector.segmentation import AUTO
from ui.cli.check_files import Wanted, check_file
from ui.cli.import_places import files_below
from ui.cli.options import color_option
from ui.cli.paint import put
from ui.reports.check_json import CheckJson
from ui.reports.check_lines import CheckLines
from ui.reports.check_report import CheckedFile, CheckReport, Totals
from ui.views.visible import visible_line

_FOUND, _COULD_NOT_RUN = 1, 2
_LATER = ("sarif", "junit", "github")
_NEVER = "never"


@click.command("check")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--output", type=click.Choice(["text", "json", *_LATER]), default="text", show_default=True, help="How to report."
)
@click.option("--select", multiple=True, metavar="RULES", help="Only these rules: codes, names or prefixes, J1,F301.")
@click.option("--ignore", multiple=True, metavar="RULES", help="All but these rules.")
@click.option(
    "--fail-on",
    type=click.Choice([*(severity.value for severity in Severity), _NEVER]),
    default=Severity.ERROR.value,
    show_default=True,
    help="Exit with 1 from this severity up.",
)
@click.option("--format", default=AUTO, metavar="NAME", help="Read every text in this format; see `weaklink formats`.")
@click.option("--source", metavar="NAME", help="Read every file as one of this source, instead of recognising it.")
@color_option
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    output: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    format: str,
    source: str | None,
    color: str,
) -> None:
    """Inspect log files without a database, and fail where their tool calls are wrong.

    Each PATH is a file, a folder, which is walked, or a pattern like `logs/**/*.jsonl`; the source of a file is
    recognised by its content. Exits with 0 when nothing as bad as --fail-on was found, with 1 when something was, and
    with 2 when a PATH cannot be read, a file broke off, or no trace could be read at all. What is refused or skipped is
    said on stderr.
    """
    if output in _LATER:
        raise click.UsageError(f"`--output {output}` is not there yet; `text` and `json` are.")
    wanted = Wanted(source, format, _words(select), _words(ignore))
    select_rules((*wanted.select, *wanted.ignore))
    if format != AUTO:
        find_format(format)
    report: CheckReport = CheckJson(sys.stdout) if output == "json" else CheckLines(partial(put, color=color), _say)
    totals, complete = _checked(paths, wanted, report)
    report.close(totals)
    if not totals.traces:
        _say("no trace could be read")
    if not complete or not totals.traces:
        ctx.exit(_COULD_NOT_RUN)
    ctx.exit(_FOUND if _fails(totals, fail_on) else 0)


def _checked(paths: tuple[str, ...], wanted: Wanted, report: CheckReport) -> tuple[Totals, bool]:
    """The sums, and whether everything that was named is there and was read to its end."""
    totals, complete = Totals(), True
    for path in files_below(paths):
        file = check_file(path, wanted, report)
        report.file(file)
        totals.add(file)
        complete = complete and not _failed(file)
    return totals, complete


def _failed(file: CheckedFile) -> bool:
    """Whether a file is not there, may not be read, or broke off; one that is merely not for us did not fail."""
    return file.refused is not None and (file.source is not None or not os.access(file.path, os.R_OK))


def _words(given: tuple[str, ...]) -> tuple[str, ...]:
    """What an option that may be repeated, with commas within, names."""
    return tuple(word for piece in given for word in piece.replace(",", " ").split())


def _fails(totals: Totals, fail_on: str) -> bool:
    if fail_on == _NEVER:
        return False
    severities = list(Severity)
    return any(totals.of(severity) for severity in severities[: severities.index(Severity(fail_on)) + 1])


def _say(sentence: str) -> None:
    sys.stderr.write(f"weaklink: {visible_line(sentence)}\n")
