"""`weaklink doctor -- COMMAND`: run a command several times, and show where and why its runs diverge."""

import secrets
import subprocess
import sys
from collections.abc import Sequence

import click

from weaklink.inspector.json_text import write_json
from weaklink.storage.store import open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, progress_bar
from weaklink.ui.cli.recording import no_default_upstreams_option
from weaklink.ui.cli.run import DEFAULT_HINT, FAILED
from weaklink.ui.experiments.doctor import CommandRun, compare_runs, comparison_json, comparison_lines, recorded_run
from weaklink.ui.views.styled_text import visible_line

_OWN_WORDS = "weaklink: "
_COULD_NOT_RUN = frozenset({FAILED, 126, 127})


@declaring.command("doctor", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("-n", "count", type=click.IntRange(2, 100), default=5, show_default=True, help="Number of runs.")
@click.option("--upstream", metavar="URL", help="The server to forward to, for all clients.")
@no_default_upstreams_option
@click.option("--fail-on-findings", is_flag=True, help="Exit with 1 if runs diverge or a chain is broken.")
@click.option("--show-output", is_flag=True, help="Print what the command prints, to stderr.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
def doctor(
    command: tuple[str, ...],
    *,
    count: int,
    upstream: str | None,
    no_default_upstreams: bool,
    fail_on_findings: bool,
    show_output: bool,
    as_json: bool,
    where: str | None,
    color: str,
) -> None:
    """Run COMMAND several times and show where and why its runs first diverge.

    Each run is recorded as by `weaklink run`, with the same servers, and sends what the command sends. The runs are
    aligned by their requests. The first difference has one of these sources: other answers to equal requests, the
    result of a tool, a date or time or a random id in the prompt, the order of parallel calls, the list of tools.

    \b
    weaklink doctor -- python agent.py
    weaklink doctor -n 20 --fail-on-findings -- ./evaluate.sh

    The exit code is 0; 1 with --fail-on-findings if something was found; 125, 126 and 127 as for `weaklink run`.
    """
    options = [*(("--upstream", upstream) if upstream else ()), *(("--db", where) if where else ())]
    options += ["--no-default-upstreams"] if no_default_upstreams else []
    runs = []
    with progress_bar("Runs", count) as advance:
        for number in range(1, count + 1):
            runs.append(_recorded(command, number, options, where, show_output=show_output))
            advance(1)
    compared = compare_runs(runs)
    if as_json:
        sys.stdout.write(write_json(comparison_json(compared)) + "\n")
    else:
        print_lines(comparison_lines(compared), color=color)
    raise SystemExit(1 if fail_on_findings and compared.has_findings else 0)


def _recorded(
    command: Sequence[str], number: int, options: Sequence[str], where: str | None, *, show_output: bool
) -> CommandRun:
    """Record one run in a separate process, since a Supervisor must be made before the program has threads."""
    run = secrets.token_hex(8)
    own = ("-m", "weaklink", "run", "--quiet", "--run-id", run, "--experiment", "doctor")
    words = [sys.executable, *own, *options, "--", *command]
    stdout = sys.stderr if show_output else subprocess.DEVNULL
    message = ""
    with subprocess.Popen(words, stdout=stdout, stderr=None if show_output else subprocess.PIPE) as process:
        for line in process.stderr or ():
            message = line.decode("utf-8", "replace").strip() or message
            if number == 1 and message.startswith(_OWN_WORDS) and message.endswith(DEFAULT_HINT):
                sys.stderr.write(f"{visible_line(message)}\n")
    if process.returncode in _COULD_NOT_RUN:
        sys.stderr.write(f"{visible_line(message)}\n" if message else f"weaklink: run {number} could not be recorded\n")
        raise SystemExit(process.returncode)
    with open_store(where) as store:
        return recorded_run(store, run, number, process.returncode)
