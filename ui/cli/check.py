"""`weaklink check`: files inspected without a database, for people and for CI."""

import sys
from collections.abc import Callable
from functools import partial

import click

from inspector.rules.rule import Severity
from ui.cli.check_baseline import write_baseline
from ui.cli.check_files import check_file
from ui.cli.check_settings import CheckArguments, CheckSettings, check_settings
from ui.cli.console import print_lines, print_notice, screen_width
from ui.cli.paths import separate_files
from ui.importing.engine import EngineOptions, needs_blocks, takes_engine
from ui.reports.check_output import CheckJson, CheckLines
from ui.reports.check_report import CheckReporter, CheckTotals

_FOUND, _COULD_NOT_RUN = 1, 2


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
    """`weaklink check`; see its help."""
    given = CheckArguments(
        source, format, select, ignore, fail_on, baseline, allow_skipped=allow_skipped, strict=strict
    )
    chosen = check_settings(given, config_file, no_config=no_config)
    report = check_report(output, chosen, color)
    totals, is_whole = _checked(paths, chosen, report, jobs)
    report.close(totals)
    if not totals.traces:
        print_notice("no trace could be read")
    if new_baseline is not None and not is_whole:
        print_notice(f"{new_baseline} is not written: not everything could be read")
    if not totals.traces or (new_baseline is not None and not is_whole):
        ctx.exit(_COULD_NOT_RUN)
    if new_baseline is not None:
        write_baseline(new_baseline, chosen.baseline.met())
        ctx.exit(0)
    ctx.exit(exit_code(chosen, totals))


def exit_code(chosen: CheckSettings, totals: CheckTotals) -> int:
    """1 where a new fault is as bad as `--fail-on`, else 0."""
    return _FOUND if any(chosen.fails(severity) and totals.of(severity) for severity in Severity) else 0


def check_report(output: str, chosen: CheckSettings, color: str) -> CheckReporter:
    """The reporter for a kind of output, to stdout; notes go to stderr."""
    if output == "text":
        return CheckLines(partial(print_lines, color=color), print_notice, screen_width())
    if output == "json":
        return CheckJson(sys.stdout)
    from ui.reports.ci_reports import CheckGithub, CheckJunit, CheckSarif  # noqa: PLC0415  # 15 ms: XML loads HTTP

    reports: dict[str, Callable[[], CheckReporter]] = {
        "sarif": lambda: CheckSarif(sys.stdout),
        "junit": lambda: CheckJunit(sys.stdout, chosen.fails),
        "github": lambda: CheckGithub(sys.stdout, print_notice),
    }
    return reports[output]()


def _checked(
    paths: tuple[str, ...], chosen: CheckSettings, report: CheckReporter, jobs: EngineOptions
) -> tuple[CheckTotals, bool]:
    """The sums, and whether every file is there and was read to its end."""
    totals, is_whole = CheckTotals(), True
    looked_at: list[str] = []
    if needs_blocks(paths) or not jobs.is_plain:
        from ui.cli.check_blocks import check_blocks  # noqa: PLC0415  # plans and workers, which few runs need

        for file in check_blocks(paths, chosen.wanted, chosen.baseline, report, jobs):
            report.file(file)
            totals.add(file)
            looked_at.append(file.path)
            is_whole = is_whole and not file.is_failure
        totals.gone = chosen.baseline.gone(looked_at, chosen.rules)
        return totals, is_whole and totals.traces > 0
    with separate_files(paths) as files:
        for placed in files:
            file = check_file(placed, chosen.wanted, chosen.baseline, report)
            report.file(file)
            totals.add(file)
            looked_at.append(file.path)
            is_whole = is_whole and not file.is_failure
    totals.gone = chosen.baseline.gone(looked_at, chosen.rules)
    return totals, is_whole and totals.traces > 0
