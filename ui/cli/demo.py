"""`weaklink demo`: import the sample traces into a separate database, and show what broke in them."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import click
from click.core import ParameterSource
from platformdirs import user_cache_path

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.errors import StoreError
from weaklink.inspector.json_text import object_of, word_of
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.wire.provider_json import parse_json
from weaklink.storage.store import open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.list_traces import minimaps
from weaklink.ui.importing.files import import_file
from weaklink.ui.importing.input_files import sample_files
from weaklink.ui.views.minimap import LEGEND
from weaklink.ui.views.styled_text import Line, Run, Style, counted
from weaklink.ui.views.trace_columns import ListedTrace, trace_table

_MAX_TRACES = 1_000
_COLUMNS = ("status", "id", "title", "map", "break")


@declaring.command("demo")
@declaring.database_option
@declaring.color_option
@click.pass_context
def demo(ctx: click.Context, where: str | None, color: str) -> None:
    """Import sample traces into a new database and show what broke, and where.

    Works offline. Without --db the database is in your cache folder, whatever WEAKLINK_DB names, and each demo
    replaces it.
    """
    chosen = where if ctx.get_parameter_source("where") is ParameterSource.COMMANDLINE else None
    database = chosen or str(_fresh(user_cache_path("weaklink") / "demo.db"))
    with open_store(database) as store:
        with sample_files() as paths:
            for path in paths:
                report = import_file(store, path, None, Redactor())
                if report.refused is not None:
                    print_notice(report.refused)
        store.search.index_pending()
        summaries = sorted(store.traces(limit=_MAX_TRACES), key=lambda summary: summary.id)
        width = screen_width()
        maps = minimaps(store, summaries, width // 5)
        rows = [ListedTrace(summary, time.time(), minimap=maps[summary.id]) for summary in summaries]
        print_lines(trace_table(rows, width=width, keys=_COLUMNS), color=color)
    print_lines(_next_steps(summaries, database), color=color)


def _fresh(path: Path) -> Path:
    """The path, after removing the database there. Raises StoreError."""
    try:
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot replace {path}: {error.strerror or error}") from error
    return path


def _next_steps(summaries: Sequence[TraceSummary], database: str) -> list[Line]:
    """The legend, the totals, and commands to try next."""
    broken = [summary for summary in summaries if summary.status is Status.BROKEN]
    shown, step, code = _latest_break(broken)
    db = f"--db {_short(database)}"
    counts = f"{counted(len(summaries), 'trace')}, {len(broken)} of them broken"
    headline = f"{counts}; trace {shown} broke at step {step}. Try next:"
    command = _command()
    commands = (
        f"{command} show {shown} {db}",
        f"{command} tui {db}",
        f"{command} web {db}",
        f"{command} list status:broken {db}",
        f"{command} rules {code}",
    )
    return [
        (),
        *((Run(line, Style.DIM),) for line in LEGEND),
        (),
        (Run(headline, Style.STRONG),),
        *((Run(f"  {command}", Style.KEY),) for command in commands),
    ]


def _command() -> str:
    """This command as the user can type it: its name if the shell finds it by that, else its path.

    uvx and `pipx run` install it for one run: what was typed to have it is needed again.
    """
    here = Path(sys.argv[0])
    folders = Path(sys.prefix).parts
    if any(folder.startswith("archive-v") for folder in folders):  # uv's cache; uv tool install has `uv/tools`
        return f"uvx --from {shlex.quote(_requirement())} weaklink"
    if ".cache" in folders and any(folder in ("pipx", ".pipx") for folder in folders):  # pipx install has `venvs`
        return f"pipx run --spec {shlex.quote(_requirement())} weaklink"
    if here.name != "weaklink" or shutil.which("weaklink") == str(here.absolute()):
        return "weaklink"
    relative = os.path.relpath(here)
    return shlex.quote(min(relative, str(here), key=len))


def _requirement() -> str:
    """What to install for all commands: from the package index, or from where this was installed (PEP 610)."""
    try:
        written = metadata.distribution("weaklink").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        written = None
    url = word_of(object_of(parse_json(written)).get("url")) if written else ""
    return f"weaklink[all] @ {url}" if url else "weaklink[all]"


def _short(database: str) -> str:
    """A path or URL as the user would type it: with `~` for the home folder, quoted if a shell requires it."""
    home = f"{Path.home()}/"
    rest = shlex.quote(database.removeprefix(home))
    return f"~/{rest}" if database.startswith(home) and rest[0] != "'" else shlex.quote(database)


def _latest_break(broken: Sequence[TraceSummary]) -> tuple[int, int, str]:
    """The trace to look at first: the one that broke after the most steps; with that step's number, and its code."""
    breaks = [(summary.broken.step, summary.id, summary.broken.code) for summary in broken if summary.broken]
    step, id_, code = max(breaks, default=(1, 1, "J104"))
    return id_, step, code
