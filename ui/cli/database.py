"""`weaklink db` and `weaklink reinspect`: maintenance of the database."""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from inspector.chain.steps import Status
from inspector.errors import StoreError, UnknownFormatError
from inspector.inspection import Inspection, inspect_trace
from inspector.json_text import write_json
from inspector.model import Trace
from inspector.version import __version__
from storage import IntegrityReport, ListCursor, Store, open_store, place_of, upgrade_store
from ui.cli.console import color_option, database_option, json_option, print_lines, progress_bar
from ui.cli.store_options import trace_id
from ui.views.store_stats import size_text, stats_lines, stats_object
from ui.views.styled_text import visible_line
from ui.views.wording import counted

_AGE = re.compile(r"(\d{1,9})\s*(h|d|w|y)", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168, "y": 8766}
_PAGE = 500


class Moment(click.ParamType[datetime]):
    """`2026-01-31`, `2026-01-31T18:00` (UTC, or with an offset of its own) or an age: `12h`, `30d`, `8w`, `1y`."""

    name = "date or age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The moment, with its zone; fails as click's own types do."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if age := _AGE.fullmatch(text):
                return datetime.now(UTC) - timedelta(hours=int(age[1]) * _HOURS[age[2].lower()])
            moment = datetime.fromisoformat(text)
        except (ValueError, OverflowError):
            self.fail(f"`{text}` is neither a date (2026-01-31, in UTC) nor an age (12h, 30d, 8w, 1y).", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@click.group("db")
def database() -> None:
    """Manage the database: upgrade, check, copy, count, delete old traces, free space."""


@database.command("upgrade")
@database_option
def upgrade(where: str | None) -> None:
    """Upgrade the database schema to this version of weaklink.

    Does nothing if the schema is current. All recordings are kept.
    """
    changed = upgrade_store(where)
    said = "is upgraded to this version" if changed else "is of this version already"
    sys.stdout.write(visible_line(f"{place_of(where)} {said}") + "\n")


@database.command("stats")
@json_option
@database_option
@color_option
def stats(where: str | None, *, as_json: bool, color: str) -> None:
    """Count what the database contains."""
    with open_store(where, create=False) as store:
        found, place = store.maintenance.stats(), str(store.place)
    if as_json:
        sys.stdout.write(write_json(stats_object(found, place)) + "\n")
    else:
        print_lines(stats_lines(found, place), color=color)


@database.command("check")
@json_option
@database_option
@click.pass_context
def check(ctx: click.Context, where: str | None, *, as_json: bool) -> None:
    """Check the whole database for damage.

    SQLite checks its pages and indexes; then every trace is read, its checksums are verified, and the rows that lists,
    filters and figures read are compared with it. Prints a line for each problem; the exit code is then 1.
    """
    with open_store(where, create=False, read_only=True) as store:
        with progress_bar("checking", _traces_in(store)) as advance:
            found = store.maintenance.check(advance)
        place = str(store.place)
    if as_json:
        sys.stdout.write(write_json({"database": place, **asdict(found), "problems": list(found.problems)}) + "\n")
    else:
        for problem in found.problems:
            sys.stdout.write(f"{visible_line(problem)}\n")
        for line in _checked_lines(found):
            sys.stdout.write(f"{line}\n")
    ctx.exit(1 if found.problems else 0)


def _traces_in(store: Store) -> int:
    try:
        return store.maintenance.stats().traces
    except StoreError:
        return 0  # the check says why


def _checked_lines(found: IntegrityReport) -> Iterator[str]:
    said = counted(len(found.problems), "problem") if found.problems else "no problem"
    tools = counted(found.toolsets, "set of tools", "sets of tools")
    yield f"{counted(found.traces, 'trace')}, {counted(found.turns, 'turn')}, {tools} checked: {said} found"
    if found.without_checksums:
        yield f"{counted(found.without_checksums, 'trace')} without checksums: stored by an earlier version"
    if found.outdated:
        yield f"{counted(found.outdated, 'trace')} inspected by another version: what is derived was not compared"


@database.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@database_option
def backup(file: Path, where: str | None) -> None:
    """Copy the database into a new FILE, while others may read and write it.

    The copy shows the database at one moment, and only this user can read it. For a database on a server, use the
    server's own tool: `pg_dump`.
    """
    with open_store(where, create=False, read_only=True) as store:
        store.maintenance.back_up(file)
    sys.stdout.write(f"{visible_line(str(file))}: {size_text(file.stat().st_size)} written\n")


@database.command("prune")
@click.option("--before", required=True, type=Moment(), metavar="DATE_OR_AGE", help="A date in UTC, or an age: 30d.")
@click.option("--keep-broken", is_flag=True, help="Keep the traces that broke.")
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@database_option
@click.pass_context
def prune(ctx: click.Context, before: datetime, where: str | None, *, keep_broken: bool, yes: bool) -> None:
    """Delete the traces from before a date, or older than an age such as 12h, 30d, 8w or 1y.

    A trace is as old as its first request, or as its import where the source keeps no times. Asks before it deletes;
    without a terminal it requires --yes. `weaklink db vacuum` frees the space.
    """
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; --yes deletes without asking.")
    with open_store(where, create=False) as store:
        if not yes and not _agreed(store, before, keep_broken=keep_broken):
            ctx.exit(0)
        gone = store.maintenance.prune(before_s=before.timestamp(), keep_broken=keep_broken)
        store.statistics.sum_pending()
    sys.stdout.write(f"{counted(gone, 'trace')} deleted\n")


@database.command("vacuum")
@database_option
def vacuum(where: str | None) -> None:
    """Free the space of deleted traces; needs as much free space while it runs."""
    with open_store(where, create=False) as store:
        before = store.maintenance.stats().size_bytes
        store.maintenance.vacuum()
        after = store.maintenance.stats().size_bytes
    sys.stdout.write(f"{size_text(before)} before, {size_text(after)} now\n")


def _agreed(store: Store, before: datetime, *, keep_broken: bool) -> bool:
    """Whether there is anything to delete, and the user wants that."""
    doomed = _count_before(store, before.timestamp(), keep_broken=keep_broken)
    when = f"{before:%Y-%m-%d %H:%M %Z}"
    if not doomed:
        sys.stderr.write(f"weaklink: no trace to delete is from before {when}\n")
        return False
    asked = f"Delete {counted(doomed, 'trace')} from before {when} in {visible_line(str(store.place))}?"
    return click.confirm(asked, err=True)


def _count_before(store: Store, before_s: float, *, keep_broken: bool) -> int:
    """How many traces a prune would delete; the list goes on from that time downwards."""
    found, after = 0, ListCursor(before_s, 0)
    while page := store.traces(limit=_PAGE, after=after):
        found += sum(not (keep_broken and one.status is Status.BROKEN) for one in page)
        after = page[-1].cursor
    return found


@click.command("reinspect")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@database_option
@click.pass_context
def reinspect(ctx: click.Context, ids: tuple[str, ...], where: str | None) -> None:
    """Inspect traces again with this version of weaklink: the given ones, or all.

    Recordings stay as they are; spans, calls, steps and diagnostics are derived again from them. Ctrl-C keeps the
    traces that are finished. A trace with a damaged record is left alone and reported; the exit code is then 1.
    """
    with open_store(where, create=False) as store:
        numbers = list(dict.fromkeys(trace_id(store, id) for id in ids)) if ids else None
        total = store.maintenance.stats().traces if numbers is None else len(numbers)
        damaged: list[StoreError] = []
        done = _reinspected(store, numbers, total, damaged.append)
        store.statistics.sum_pending()
    for error in damaged:
        sys.stderr.write(f"weaklink: {visible_line(str(error))}\n")
    sys.stdout.write(f"{counted(done, 'trace')} inspected again by weaklink {__version__}\n")
    if damaged:
        ctx.exit(1)


def _reinspected(store: Store, numbers: list[int] | None, total: int, on_damaged: Callable[[StoreError], None]) -> int:
    with progress_bar("inspecting", total) as advance:
        return store.maintenance.reinspect(_counting(advance), numbers, on_damaged=on_damaged)


def _counting(advance: Callable[[int], None]) -> Callable[[Trace], Inspection]:
    def inspect(trace: Trace) -> Inspection:
        try:
            found = inspect_trace(trace)
        except UnknownFormatError as error:
            came = " ".join(word for word in (trace.provenance.file, trace.provenance.record) if word)
            raise UnknownFormatError(f"the trace from {came or 'an unknown source'}: {error}") from error
        advance(1)
        return found

    return inspect
