"""`weaklink db`: what keeps a database in order."""

import sys
from datetime import datetime

import click

from inspector.chain.steps import Status
from inspector.json_text import write_json
from storage import Cursor, Store, open_store, place_of, upgrade_store
from ui.cli.moments import Moment
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put
from ui.views.store_stats import size_text, stats_lines, stats_object
from ui.views.visible import visible_line
from ui.views.wording import counted

_PAGE = 500


@click.group("db")
def database() -> None:
    """Look after the database: lift it to this version, count, delete what is old, give back room."""


@database.command("upgrade")
@database_option
def upgrade(where: str | None) -> None:
    """Lift the database to this weaklink's version of the tables.

    Where it is of this version already, nothing is done. What was recorded is kept.
    """
    changed = upgrade_store(where)
    said = "is lifted to this version" if changed else "is of this version already"
    sys.stdout.write(visible_line(f"{place_of(where)} {said}") + "\n")


@database.command("stats")
@json_option
@database_option
@color_option
def stats(where: str | None, *, as_json: bool, color: str) -> None:
    """Count what the database holds."""
    with open_store(where, create=False) as store:
        found, place = store.stats(), str(store.place)
    if as_json:
        sys.stdout.write(write_json(stats_object(found, place)) + "\n")
    else:
        put(stats_lines(found, place), color=color)


@database.command("prune")
@click.option("--before", required=True, type=Moment(), metavar="DATE_OR_AGE", help="A date in UTC, or an age: 30d.")
@click.option("--keep-broken", is_flag=True, help="Keep the traces that broke.")
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@database_option
@click.pass_context
def prune(ctx: click.Context, before: datetime, where: str | None, *, keep_broken: bool, yes: bool) -> None:
    """Delete the traces from before a date, or older than an age such as 12h, 30d, 8w or 1y.

    A trace is as old as its first request, or as its import where the source keeps no times. Asks before it deletes;
    without a terminal it wants --yes. `weaklink db vacuum` gives back the room.
    """
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("without a terminal nobody can be asked; --yes deletes without asking.")
    with open_store(where, create=False) as store:
        if not yes and not _agreed(store, before, keep_broken=keep_broken):
            ctx.exit(0)
        gone = store.prune(before_s=before.timestamp(), keep_broken=keep_broken)
        store.sum_pending()
    sys.stdout.write(f"{counted(gone, 'trace')} deleted\n")


@database.command("vacuum")
@database_option
def vacuum(where: str | None) -> None:
    """Give back the room that deleted traces took; needs as much free room while it runs."""
    with open_store(where, create=False) as store:
        before = store.stats().size_bytes
        store.vacuum()
        after = store.stats().size_bytes
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
    found, after = 0, Cursor(before_s, 0)
    while page := store.traces(limit=_PAGE, after=after):
        found += sum(not (keep_broken and one.status is Status.BROKEN) for one in page)
        after = page[-1].cursor
    return found
