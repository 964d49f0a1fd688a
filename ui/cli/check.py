"""`weaklink check`: inspect files without a database, for people and for CI."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from msgspec import Struct

from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.rules.catalogue import words_of
from weaklink.inspector.rules.rule import Severity
from weaklink.ui.cli import declaring
from weaklink.ui.cli.check_baseline import Baseline, write_baseline
from weaklink.ui.cli.check_files import CheckOptions, FileEvent, FileTally, RecordsEnd, check_file, inspected_records
from weaklink.ui.cli.check_settings import NEVER, CheckConfig, CheckSettings, check_settings
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.declaring import COULD_NOT_RUN, FAILED
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.cli.paths import separate_files
from weaklink.ui.importing.engine import EngineOptions, needs_blocks
from weaklink.ui.reports.check_output import CheckJson, CheckLines, copy_spool, text_spool
from weaklink.ui.reports.check_report import BROKEN, CheckedFile, CheckedTrace, CheckReporter, CheckTotals, UnreadRecord

if TYPE_CHECKING:
    from weaklink.inspector.importers.blocks import Block


class ReportFileType(click.ParamType[tuple[str, str]]):
    """`FORMAT=FILE`: a report and the file that it is written to, whose folder must exist."""

    name = "report"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The format and the path; fails for another format and a folder that does not exist."""
        if isinstance(value, tuple):
            return value
        format, equals, path = value.partition("=")
        if not equals or not path or format not in REPORT_FILE_FORMATS:
            self.fail(f"{value!r} is not FORMAT=FILE; the formats are {', '.join(REPORT_FILE_FORMATS)}.", param, ctx)
        if not Path(path).parent.is_dir():
            self.fail(f"The folder of {path} does not exist.", param, ctx)
        return format, path


REPORT_FILE_FORMATS = ("json", "sarif", "junit", "gitlab", "markdown")
"""The reports that `--write-report` writes; the others are lines for a terminal or the log of a job."""

judging_options = declaring.all_of(
    click.option(
        "--output",
        type=click.Choice(("text", "json", "sarif", "junit", "github", "gitlab", "markdown")),
        default="text",
        show_default=True,
        help="Format of the report.",
    ),
    click.option(
        "--write-report",
        "report_files",
        type=ReportFileType(),
        multiple=True,
        metavar="FORMAT=FILE",
        help="Also write this report to a file: json, sarif, junit, gitlab or markdown. Can be repeated.",
    ),
    click.option(
        "--select", multiple=True, metavar="RULES", help="Only these rules: codes, names, prefixes (J1,F301)."
    ),
    click.option("--ignore", multiple=True, metavar="RULES", help="All but these rules."),
    click.option("--baseline", metavar="FILE", help="Fail only for faults that are not in FILE."),
    click.option("--write-baseline", "new_baseline", metavar="FILE", help="Write all faults of this run to FILE."),
    click.option("--config", "config_file", metavar="FILE", help="Read the configuration from FILE."),
    click.option("--no-config", is_flag=True, help="Ignore configuration files."),
)
"""Options of every command that fails on faults: rules, severity, report, baseline and configuration."""


@declaring.command("check")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@judging_options
@click.option(
    "--fail-on",
    type=click.Choice([*(severity.value for severity in Severity), BROKEN, NEVER]),
    help="Exit with 1 from this severity up, and for broken chains; `broken`: for these only.  [default: error]",
)
@click.option(
    "--allow-skipped",
    is_flag=True,
    default=None,
    help="Do not fail for records and files that could not be read; print them.",
)
@click.option("--strict", is_flag=True, default=None, help="Also fail for files of unknown sources found in a folder.")
@click.option("--format", metavar="NAME", help="Read every text in this format; see `weaklink formats`.")
@declaring.source_option
@jobs_options
@declaring.color_option
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    output: str,
    report_files: tuple[tuple[str, str], ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    allow_skipped: bool | None,
    strict: bool | None,
    baseline: str | None,
    new_baseline: str | None,
    format: str | None,
    source: str | None,
    config_file: str | None,
    no_config: bool,
    jobs: EngineOptions,
    color: str,
) -> None:
    """Inspect log files without a database, and fail for wrong calls and broken chains.

    Each PATH is a file, a folder, a pattern like `logs/**/*.jsonl`, or `-` for standard input. A record or file that
    could not be read is an error, C511 or C513. Defaults of the options come from the nearest weaklink.toml, or
    pyproject.toml with [tool.weaklink]; see docs/ci.md.

    Exits with 1 when something at least as bad as --fail-on or a broken chain was found, and with 2 when no trace could
    be read.

    \b
    Examples:
      weaklink check logs/ --select J,S2 --fail-on warning
      weaklink check logs/ --write-baseline baseline.json
      weaklink check logs/ --baseline baseline.json --output sarif > weaklink.sarif
      weaklink check logs/ --write-report gitlab=gl-code-quality-report.json
    """
    given = CheckConfig(
        select=words_of(select),
        ignore=words_of(ignore),
        fail_on=fail_on,
        format=format,
        source=source,
        baseline=baseline,
        allow_skipped=allow_skipped,
        strict=strict,
    )
    settings = check_settings(given, config_file, no_config=no_config)
    report = check_report(output, settings, color, report_files)
    totals, checked_paths, is_whole = CheckTotals(), list[str](), True
    for file in _checked(paths, settings, report, jobs):
        report.file(file)
        totals.add(file)
        checked_paths.append(file.path)
        is_whole = is_whole and not file.is_failure
    totals.gone = settings.baseline.gone(checked_paths, settings.rules)
    report.close(totals)
    if not checked_paths:
        print_notice(f"there are no files in {', '.join(paths)}")
    elif not totals.traces:
        print_notice("no trace could be read")
    if new_baseline is not None and not (is_whole and totals.traces):
        print_notice(f"{new_baseline} was not written: not everything could be read")
        ctx.exit(COULD_NOT_RUN)
    if not totals.traces:
        ctx.exit(COULD_NOT_RUN)
    if new_baseline is not None:
        write_baseline(new_baseline, settings.baseline.met())
        ctx.exit(0)
    ctx.exit(exit_code(settings, totals))


def exit_code(settings: CheckSettings, totals: CheckTotals) -> int:
    """1 if a new fault is at least as severe as `--fail-on`, or a new broken chain counts for it, else 0."""
    counts = {BROKEN: totals.broken, **{severity.value: totals.of(severity) for severity in Severity}}
    return FAILED if any(count and settings.fails(kind) for kind, count in counts.items()) else 0


def check_report(
    output: str, settings: CheckSettings, color: str, report_files: Sequence[tuple[str, str]] = ()
) -> CheckReporter:
    """The reporter for an output format; it writes to stdout, its notes to stderr, and other formats to their files."""
    if output == "text":
        report: CheckReporter = CheckLines(partial(print_lines, color=color), print_notice, screen_width())
    elif output == "github":
        from weaklink.ui.reports.ci_reports import CheckGithub  # noqa: PLC0415  # 15 ms: XML loads HTTP

        report = CheckGithub(sys.stdout, print_notice)
    else:
        report = _machine_report(output, sys.stdout, settings)
    return _CheckReports(report, [_FileReport(*file, settings) for file in report_files]) if report_files else report


def _machine_report(output: str, out: TextIO, settings: CheckSettings) -> CheckReporter:
    if output == "json":
        return CheckJson(out)
    if output in ("gitlab", "markdown"):
        from weaklink.ui.reports.code_host_reports import CheckGitlab, CheckMarkdown  # noqa: PLC0415  # the page of a trace

        return CheckGitlab(out) if output == "gitlab" else CheckMarkdown(out)
    from weaklink.ui.reports.ci_reports import CheckJunit, CheckSarif  # noqa: PLC0415  # 15 ms: XML loads HTTP

    return CheckSarif(out) if output == "sarif" else CheckJunit(out, settings.fails)


class _FileReport:
    """A report that is written to its file when it is complete; until then it is on disk without a name."""

    def __init__(self, output: str, path: str, settings: CheckSettings) -> None:
        self._path = path
        self._spool = text_spool()
        self.report = _machine_report(output, self._spool, settings)

    def close(self, totals: CheckTotals) -> None:
        """Write the file; raises UnwritableFileError."""
        self.report.close(totals)
        with whole_file(self._path) as out:
            copy_spool(self._spool, out)


class _CheckReports:
    """A report on stdout and others in files, which are written first: output may be a pipe that has closed."""

    def __init__(self, report: CheckReporter, files: Sequence[_FileReport]) -> None:
        self._report, self._files = report, files
        self._reports = (*(file.report for file in files), report)

    def trace(self, trace: CheckedTrace) -> None:
        """Pass it on."""
        for report in self._reports:
            report.trace(trace)

    def unread(self, unread: UnreadRecord) -> None:
        """Pass it on."""
        for report in self._reports:
            report.unread(unread)

    def file(self, file: CheckedFile) -> None:
        """Pass it on."""
        for report in self._reports:
            report.file(file)

    def close(self, totals: CheckTotals) -> None:
        """Write the files, then the end of the report on stdout; raises UnwritableFileError."""
        for file in self._files:
            file.close(totals)
        self._report.close(totals)


def _checked(
    paths: Sequence[str], settings: CheckSettings, report: CheckReporter, jobs: EngineOptions
) -> Iterator[CheckedFile]:
    """The summary of each file, in order, after its traces were reported."""
    if needs_blocks(paths) or not jobs.is_plain:
        yield from _checked_blocks(paths, settings.options, settings.baseline, report, jobs)
        return
    with separate_files(paths) as files:
        for file in files:
            yield check_file(file, settings.options, settings.baseline, report)


class BlockChecker(Struct, frozen=True):
    """Inspects the records of a block; it can be sent to another process."""

    options: CheckOptions

    def __call__(self, block: "Block") -> Iterator[FileEvent]:
        """The events of the block, record by record."""
        from weaklink.ui.importing.block_records import placed_block  # noqa: PLC0415  # few runs have blocks

        with placed_block(block) as file:
            yield from inspected_records(file, self.options)


def _checked_blocks(
    paths: Sequence[str], options: CheckOptions, baseline: Baseline, report: CheckReporter, jobs: EngineOptions
) -> Iterator[CheckedFile]:
    """The files, of which workers inspect blocks; a block that was set aside fails its file."""
    from weaklink.ui.importing.block_jobs import run_blocks  # noqa: PLC0415  # few runs have blocks
    from weaklink.ui.importing.block_records import plan_traces  # noqa: PLC0415  # the same

    path, tally = "", FileTally("", baseline, report)
    for piece in run_blocks(plan_traces(paths, options.source, jobs.block_bytes), BlockChecker(options), jobs):
        if piece.block.path != path:
            if path:
                yield tally.checked()
            path = piece.block.path
            tally = FileTally(path, baseline, report)
        for event in piece.answers:
            tally.add(event)
        if piece.failed:
            refused = f"{path}: {piece.block.name} was set aside: {piece.failed}"
            tally.add(RecordsEnd(None, refused, is_failure=True))
    if path:
        yield tally.checked()
