"""`weaklink check`: inspect files without a database, for people and for CI."""

import sys
from collections.abc import Callable
from functools import partial

import click

from weaklink.inspector.rules.rule import Severity
from weaklink.ui.cli import declaring
from weaklink.ui.cli.check_baseline import write_baseline
from weaklink.ui.cli.check_files import check_file
from weaklink.ui.cli.check_settings import CheckArguments, CheckSettings, check_settings
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.paths import is_own_database, separate_files
from weaklink.ui.importing.engine import EngineOptions, needs_blocks, takes_engine
from weaklink.ui.reports.check_output import CheckJson, CheckLines
from weaklink.ui.reports.check_report import BROKEN, CheckReporter, CheckTotals

_FOUND, _COULD_NOT_RUN = 1, 2


@declaring.command("check")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@declaring.judging_options
@click.option(
    "--fail-on",
    type=click.Choice([*(severity.value for severity in Severity), "broken", "never"]),
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
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@declaring.jobs_options
@declaring.color_option
@takes_engine
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    output: str,
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
    """  # noqa: D301  # Click needs the backspace itself
    arguments = CheckArguments(
        source, format, select, ignore, fail_on, baseline, allow_skipped=allow_skipped, strict=strict
    )
    settings = check_settings(arguments, config_file, no_config=no_config)
    report = check_report(output, settings, color)
    totals, is_whole = _checked(paths, settings, report, jobs)
    report.close(totals)
    if not totals.traces:
        print_notice("no trace could be read")
        for path in filter(is_own_database, paths):
            print_notice(f"{path} is a database of weaklink, and `check` reads files: see `weaklink list --db {path}`")
    if new_baseline is not None and not is_whole:
        print_notice(f"{new_baseline} was not written: not everything could be read")
    if not totals.traces or (new_baseline is not None and not is_whole):
        ctx.exit(_COULD_NOT_RUN)
    if new_baseline is not None:
        write_baseline(new_baseline, settings.baseline.met())
        ctx.exit(0)
    ctx.exit(exit_code(settings, totals))


def exit_code(settings: CheckSettings, totals: CheckTotals) -> int:
    """1 if a new fault is at least as severe as `--fail-on`, or a new broken chain counts for it, else 0."""
    counts = {BROKEN: totals.broken, **{severity.value: totals.of(severity) for severity in Severity}}
    return _FOUND if any(count and settings.fails(kind) for kind, count in counts.items()) else 0


def check_report(output: str, settings: CheckSettings, color: str) -> CheckReporter:
    """The reporter for an output format; it writes to stdout, and its notes to stderr."""
    if output == "text":
        return CheckLines(partial(print_lines, color=color), print_notice, screen_width())
    if output == "json":
        return CheckJson(sys.stdout)
    from weaklink.ui.reports.ci_reports import CheckGithub, CheckJunit, CheckSarif  # noqa: PLC0415  # 15 ms: XML loads HTTP

    reports: dict[str, Callable[[], CheckReporter]] = {
        "sarif": lambda: CheckSarif(sys.stdout),
        "junit": lambda: CheckJunit(sys.stdout, settings.fails),
        "github": lambda: CheckGithub(sys.stdout, print_notice),
    }
    return reports[output]()


def _checked(
    paths: tuple[str, ...], settings: CheckSettings, report: CheckReporter, jobs: EngineOptions
) -> tuple[CheckTotals, bool]:
    """The totals, and whether every file was read to its end and any trace was found."""
    totals, is_whole = CheckTotals(), True
    checked_paths: list[str] = []
    if needs_blocks(paths) or not jobs.is_plain:
        from weaklink.ui.cli.check_blocks import check_blocks  # noqa: PLC0415  # plans and workers, which few runs need

        for file in check_blocks(paths, settings.options, settings.baseline, report, jobs):
            report.file(file)
            totals.add(file)
            checked_paths.append(file.path)
            is_whole = is_whole and not file.is_failure
        totals.gone = settings.baseline.gone(checked_paths, settings.rules)
        return totals, is_whole and totals.traces > 0
    with separate_files(paths) as files:
        for placed in files:
            file = check_file(placed, settings.options, settings.baseline, report)
            report.file(file)
            totals.add(file)
            checked_paths.append(file.path)
            is_whole = is_whole and not file.is_failure
    totals.gone = settings.baseline.gone(checked_paths, settings.rules)
    return totals, is_whole and totals.traces > 0
