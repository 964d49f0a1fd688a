"""`weaklink probe`: send a suite of requests to an endpoint; measure what breaks, how often, and whose fault it is."""

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.capture.resending import ResendTarget, SpendingBounds
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.probe.builtin_suite import builtin_suite
from weaklink.inspector.probe.measures import FAIL_UNDER, compare_endpoints, measure, paired_json, summary_json
from weaklink.inspector.probe.results import ProbeMode, read_results
from weaklink.inspector.probe.running import FOLLOW_UPS, ProbePlan, ProbeRun, ProbeState, endpoint_target
from weaklink.inspector.probe.suite import ProbeRequest, read_suites
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.probe_runs import ProbeRunRecord
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import line_width, print_lines, print_notice, progress_bar
from weaklink.ui.cli.declaring import INTERRUPTED
from weaklink.ui.cli.format_options import expected_format_name
from weaklink.ui.cli.suggestions import suggested
from weaklink.ui.experiments.probing import (
    ProbeFiles,
    ProbeWriter,
    open_results,
    requests_of_traces,
    results_for_second,
)
from weaklink.ui.reports.probe_report import ProbeReport, comparison_lines, probe_html, report_lines, write_probe_junit
from weaklink.ui.views.styled_text import counted, visible_line

_MIN_KEY_CHARS = 8
_MODES = {"both": (ProbeMode.WHOLE, ProbeMode.STREAMED), "whole": (ProbeMode.WHOLE,), "streamed": (ProbeMode.STREAMED,)}
WRITTEN = "written"


@declaring.command("probe")
@click.argument("urls", metavar="URL [URL]", nargs=-1, required=True)
@click.option("--model", "models", multiple=True, metavar="NAME", help="The model to request; once for each URL.")
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Requests to send, instead of the built-in ones: chat requests as JSON lines, or BFCL. Can be repeated.",
)
@click.option(
    "--from",
    "expression",
    default="",
    metavar="FILTER",
    type=declaring.FilterType(),
    help="Send the recorded requests of the traces that match.",
)
@click.option(
    "--mode",
    type=click.Choice(("both", "whole", "streamed", "written")),
    default="both",
    show_default=True,
    help="Send each request whole, streamed, or both; `written`: as the suite has it.",
)
@click.option(
    "--baseline",
    metavar="RESULTS",
    type=click.Path(exists=True, dir_okay=False),
    help="Compare calls with these results of another endpoint.",
)
@click.option("--output", "-o", metavar="FILE", help="Write each result as a line of JSON, as soon as it is there.")
@click.option("--resume", is_flag=True, help="Continue the results in --output.")
@click.option("--summary", metavar="FILE", help="Write the counts and measures as JSON.")
@click.option("--html", metavar="FILE", help="Write the report as a page.")
@click.option("--junit", metavar="FILE", help="Write the report as JUnit XML.")
@click.option(
    "--fail-under",
    multiple=True,
    metavar="NAME=SHARE",
    help="Exit with 1 if a measure is lower, such as schema=0.99. Can be repeated.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Maximum number of requests at a time.",
)
@click.option("--max-requests", type=click.IntRange(min=1), metavar="N", help="Send at most N requests.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Spend at most N tokens.")
@click.option("--key-env", metavar="NAME", help="The environment variable with the key, instead of the provider's.")
@click.option(
    "--owners/--no-owners",
    default=True,
    show_default=True,
    help="Ask for the model's own text of an answer with faults, to find whose they are.",
)
@click.option(
    "--server",
    "server_parser",
    default="",
    metavar="NAME",
    help="The server's tool parser, such as vllm:hermes; compare what it returned with what that parser is known to.",
)
@click.option("--traces/--no-traces", default=True, show_default=True, help="Keep answers with faults in the database.")
@click.option("--yes", is_flag=True, help="Do not ask before sending.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
def probe(
    urls: tuple[str, ...],
    *,
    models: tuple[str, ...],
    suites: tuple[str, ...],
    expression: str,
    where: str | None,
    **options: Any,
) -> None:
    """Measure which tool calls an endpoint breaks, and whose fault that is.

    URL is a server with OpenAI's chat completions. Each of 62 requests has one right answer, and is sent whole and
    streamed. After a fault, weaklink asks for the model's raw text, to tell its faults from the server's. Two URLs are
    compared. Keys come from the environment (OPENAI_API_KEY, ...) and are never stored.

    \b
    weaklink probe http://localhost:8000 --model qwen3
    weaklink probe http://localhost:8000 --model qwen3 --output results.jsonl --fail-under schema=0.99 --yes
    weaklink probe https://a.example/v1 https://b.example/v1 --model kimi-k2 --suite samples.jsonl --mode written

    The exit code is 1 below --fail-under, 2 if nothing was answered.
    """
    if len(urls) > 2:
        raise click.UsageError("at most two endpoints can be compared.")
    if len(models) > len(urls):
        raise click.UsageError("there are more --model than URLs.")
    bars = [_bar(text) for text in options["fail_under"]]
    expected_format_name("", options["server_parser"])  # fails at once for an unknown parser
    baseline = read_results(options["baseline"]) if options["baseline"] else []
    requests = _requests(suites, expression, where)
    plans = [
        _plan(url, (models[index:] or models[-1:] or ("",))[0], requests, options) for index, url in enumerate(urls)
    ]
    targets = [_target(url, options["key_env"]) for url in urls]
    files = _files(options["output"], len(urls), resume=options["resume"])
    _confirm(plans, targets, options)
    bounds = SpendingBounds(options["max_requests"], options["max_tokens"])
    suite = suites or (("own traces",) if expression else ("built-in",))
    states, reports = [], []
    with open_store(where) if options["traces"] else nullcontext() as store:
        for plan, target, file in zip(plans, targets, files, strict=True):
            state, session = _run(plan, target, file, store, bounds)
            report = ProbeReport(plan.url, plan.model, tuple(file.records), measure(file.records, baseline))
            states.append(state)
            reports.append(report)
            if store is not None and not state.stop:
                summary = write_json(_summary(report, suite))
                store.probe_runs.put(ProbeRunRecord(plan.url, plan.model, time.time(), session, summary))
    _write(reports, options, suite)
    _end(reports, states, bars)


def _requests(suites: Sequence[str], expression: str, where: str | None) -> tuple[ProbeRequest, ...]:
    requests = read_suites(suites)
    if expression:
        with open_store(where, create=False) as store:
            of_traces, skipped = requests_of_traces(store, expression, len(requests) + 1)
        for sentence in skipped:
            print_notice(f"not sent: {sentence}")
        if not of_traces:
            raise WeaklinkError(f"no trace with a request that can be sent matches `{expression}`")
        requests += of_traces
    return tuple(requests) or builtin_suite()


def _plan(url: str, model: str, requests: tuple[ProbeRequest, ...], options: dict[str, Any]) -> ProbePlan:
    mode = options["mode"]
    lacking = next((request for request in requests if not model and not request.body.get("model")), None)
    if lacking is not None:
        raise click.UsageError(f"--model is required: the request `{visible_line(lacking.id)}` names no model.")
    return ProbePlan(
        url,
        requests,
        model,
        modes=_MODES.get(mode, _MODES["both"]),
        as_written=mode == WRITTEN,
        concurrency=options["concurrency"],
        is_owner_sought=options["owners"],
        server_parser=options["server_parser"],
    )


def _target(url: str, key_env: str | None) -> ResendTarget:
    target = endpoint_target(url, os.environ, key_env)
    if key_env and not target.key:
        raise click.UsageError(f"--key-env: the variable `{key_env}` is not set.")
    return target


def _files(output: str | None, count: int, *, resume: bool) -> list[ProbeFiles]:
    if output is None and resume:
        raise click.UsageError("--resume continues a results file; name it with --output.")
    first = Path(output) if output else None
    paths = [first] if count == 1 else [first, results_for_second(first) if first is not None else None]
    return [open_results(path, resume=resume) for path in paths]


def _confirm(plans: Sequence[ProbePlan], targets: Sequence[ResendTarget], options: dict[str, Any]) -> None:
    """Announce requests and tokens. Ask for consent on a terminal; without one, require --yes or both bounds."""
    for plan, target in zip(plans, targets, strict=True):
        more = f", and up to {FOLLOW_UPS} more for each answer with a fault whose owner is unknown"
        print_notice(
            f"{counted(plan.count, 'request')} (about {plan.prompt_tokens:,} prompt tokens, answers of at most "
            f"{plan.answer_tokens:,}{more if plan.is_owner_sought else ''}) to {target.url}."
        )
    if options["yes"]:
        return
    total = sum(plan.count for plan in plans)
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"Send {counted(total, 'request')}?", abort=True, err=True)
    elif options["max_requests"] is None or options["max_tokens"] is None:
        raise click.UsageError("without a terminal, confirm with --yes or set --max-requests and --max-tokens.")


def _run(
    plan: ProbePlan, target: ResendTarget, files: ProbeFiles, store: Store | None, bounds: SpendingBounds
) -> tuple[ProbeState, str]:
    """Run one plan; returns how it ended, and the id of its traces."""
    done = files.answered
    patterns = (re.escape(target.key),) if len(target.key) >= _MIN_KEY_CHARS else ()
    with progress_bar(f"Probing {target.upstream}", plan.count) as advance:
        writer = ProbeWriter(files, store, Redactor(patterns), target.upstream, advance)
        run = ProbeRun(plan, target, writer.finished, bounds=bounds, done=done)
        try:
            state = asyncio.run(_interruptible(run))
        finally:
            writer.close()
    if state.stop:
        left = f" `--resume` continues {files.path}." if files.path is not None else ""
        print_notice(f"stopped: {state.stop}; {counted(state.done, 'new answer')} kept.{left}")
    if store is not None and any(record.session.startswith(writer.id) for record in files.records):
        print_notice(f"`{suggested(f'list session:{writer.id}', store.location)}` lists the answers with findings.")
    return state, writer.id


async def _interruptible(run: ProbeRun) -> ProbeState:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, run.interrupt)
    return await run.run()


def _write(reports: Sequence[ProbeReport], options: dict[str, Any], suite: Sequence[str]) -> None:
    """The summary, the page, the XML and what is printed."""
    compared = compare_endpoints(reports[0].records, reports[1].records) if len(reports) == 2 else []
    summaries = [_summary(report, suite) for report in reports]
    if options["summary"]:
        first = Path(options["summary"])
        for path, summary in zip((first, results_for_second(first)), summaries, strict=False):
            with whole_file(path) as out:
                out.write(write_json(summary) + "\n")
    if options["html"]:
        with whole_file(options["html"]) as out:
            out.writelines(probe_html(reports, compared, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"))
    if options["junit"]:
        with whole_file(options["junit"]) as out:
            write_probe_junit(out, reports)
    if options["as_json"]:
        sys.stdout.write(write_json({"endpoints": summaries, "paired": paired_json(compared)}) + "\n")
        return
    for number, report in enumerate(reports):
        print_lines([*([()] if number else []), *report_lines(report, width=line_width())], color=options["color"])
    if compared:
        print_lines([(), *comparison_lines(compared, width=line_width())], color=options["color"])


def _summary(report: ProbeReport, suite: Sequence[str]) -> dict[str, Json]:
    listed: list[Json] = [*suite]
    return summary_json(report.records, report.measures, url=report.url, model=report.model, suite=listed)


def _bar(text: str) -> tuple[str, float]:
    """The measure and the value of `schema=0.99`."""
    name, mark, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if name not in FAIL_UNDER or not mark or not 0 <= number <= 1:
        raise click.UsageError(
            f"--fail-under: `{visible_line(text)}` is not NAME=SHARE, with a share from 0 to 1 and a name of: "
            f"{', '.join(FAIL_UNDER)}."
        )
    return name, number


def _end(reports: Sequence[ProbeReport], states: Sequence[ProbeState], bars: Sequence[tuple[str, float]]) -> None:
    """The exit code: 130 after an interrupt, 2 if no answer came, 1 if a measure is under its bar."""
    if any(state.is_interrupted for state in states):
        raise SystemExit(INTERRUPTED)
    if not all(any(record.answered for record in report.records) for report in reports):
        raise SystemExit(2)
    under = list(_under(reports, bars))
    for sentence in under:
        print_notice(sentence)
    if under:
        raise SystemExit(1)


def _under(reports: Sequence[ProbeReport], bars: Sequence[tuple[str, float]]) -> Iterator[str]:
    for report in reports:
        for name, bar in bars:
            value = report.measures.value_of(name)
            if value is None:
                yield f"{report.url}: `{name}` was not measured; --fail-under requires {bar:g}"
            elif value < bar:
                yield f"{report.url}: `{name}` is {value:.4f}, below {bar:g}"
