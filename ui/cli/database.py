"""`weaklink db`, `weaklink reinspect` and `weaklink join`: maintenance of the database and its traces."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from msgspec.structs import asdict

from inspector.chain.joining import join_traces, without_joined
from inspector.errors import StoreError, UnknownFormatError
from inspector.inspection import Inspection, inspect_trace
from inspector.json_text import write_json
from inspector.model import Trace
from inspector.rules.rule import Severity
from inspector.scanning import lazy_pattern
from inspector.version import __version__
from storage import IntegrityReport, Store, open_store, place_of, upgrade_store
from storage.access_tokens import AccessToken, TokenRole
from storage.copying import CopyReport, copy_traces
from storage.maintenance import Retention
from ui.cli.console import color_option, database_option, json_option, print_lines, progress_bar
from ui.cli.store_options import LOCK_TIMEOUT_S, recover_traces, trace_id, trace_ids
from ui.views.store_stats import size_text, stats_lines, stats_object
from ui.views.styled_text import visible_line
from ui.views.wording import counted

_AGE = lazy_pattern(r"(\d{1,9})\s*(h|d|w|y)", re.IGNORECASE)
_SIZE = lazy_pattern(r"(\d{1,9}(?:\.\d{1,6})?)\s*([KMGT]?B)", re.IGNORECASE)
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_HOURS = {"h": 1, "d": 24, "w": 168, "y": 8766}


class Moment(click.ParamType[datetime]):
    """`2026-01-31`, `2026-01-31T18:00` (UTC, or with an offset of its own) or an age: `12h`, `30d`, `8w`, `1y`.

    With `ahead` an age is a time from now on.
    """

    name = "date or age"

    def __init__(self, *, ahead: bool = False) -> None:
        self._sign = 1 if ahead else -1

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The moment, with its zone; fails as click's own types do."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if age := _AGE.fullmatch(text):
                return datetime.now(UTC) + self._sign * timedelta(hours=int(age[1]) * _HOURS[age[2].lower()])
            moment = datetime.fromisoformat(text)
        except (ValueError, OverflowError):
            self.fail(f"`{text}` is neither a date (2026-01-31, in UTC) nor an age (12h, 30d, 8w, 1y).", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Size(click.ParamType[int]):
    """`500MB`, `10GB`, `2TB`: a number of bytes, in powers of 1000."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes; fails as click's own types do."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"`{value}` is no size such as 500MB, 10GB or 2TB.", param, ctx)
        return round(float(found[1]) * _BYTES[found[2].upper()])


@click.group("db")
def database() -> None:
    """Manage the database: upgrade, check, copy, count, tokens, delete old traces, free space."""


@database.command("upgrade")
@database_option
def upgrade(where: str | None) -> None:
    """Upgrade the database schema to this version of weaklink.

    Does nothing if the schema is current. All recordings are kept.
    """
    changed = upgrade_store(where)
    said = "is upgraded to this version" if changed else "is of this version already"
    sys.stdout.write(visible_line(f"{place_of(where)} {said}") + "\n")


@database.group("token")
def token() -> None:
    """Manage the tokens with which people open the dashboard (`weaklink web --tokens`)."""


@token.command("create")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([role.value for role in TokenRole]),
    default=TokenRole.READ.value,
    show_default=True,
    help="`read` sees every trace; `write` also sets marks and imports.",
)
@click.option(
    "--expires", type=Moment(ahead=True), metavar="DATE_OR_AGE", help="When it ends: a date in UTC, or 90d from now."
)
@database_option
def create_token(where: str | None, *, name: str, role: str, expires: datetime | None) -> None:
    """Make a token for NAME, and print it once.

    The database keeps a hash of it, so it cannot be shown again. Marks and notes have NAME.
    """
    with open_store(where, create=False) as store:
        word = store.tokens.create(name, TokenRole(role), expires_at_s=expires.timestamp() if expires else None)
    sys.stdout.write(f"{word}\n")


@token.command("list")
@json_option
@database_option
def list_tokens(where: str | None, *, as_json: bool) -> None:
    """List the tokens, those that were revoked or have ended too."""
    with open_store(where, create=False, read_only=True) as store:
        found = store.tokens.all()
    if as_json:
        sys.stdout.write(write_json({"tokens": [asdict(one) for one in found]}) + "\n")
        return
    for one in found:
        sys.stdout.write(f"{visible_line(one.name)}: {one.role}, made {_day(one.made_at_s)}{_end(one)}\n")
    if not found:
        sys.stderr.write("weaklink: no token yet; `weaklink db token create NAME` makes one\n")


@token.command("revoke")
@click.argument("name")
@database_option
def revoke_token(where: str | None, *, name: str) -> None:
    """Make the token of NAME invalid, within seconds on every open page."""
    with open_store(where, create=False) as store:
        store.tokens.revoke(name)
    sys.stdout.write(f"the token of {visible_line(name)} is revoked\n")


def _end(token: AccessToken) -> str:
    if token.revoked_at_s is not None:
        return f", revoked {_day(token.revoked_at_s)}"
    if token.expires_at_s is None:
        return ""
    return f", {'ends' if token.is_valid(time.time()) else 'ended'} {_day(token.expires_at_s)}"


def _day(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).date().isoformat()


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


@database.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
@click.pass_context
def copy(ctx: click.Context, source: str, target: str, *, as_json: bool) -> None:
    """Copy all traces of the database FROM into the database TO.

    Each is an SQLite file or a PostgreSQL URL; TO is created if it does not exist. Inspections, marks and recorded
    requests are copied too, and a trace keeps its id if TO never had a trace with that id. Traces that TO has already
    are not copied again: to continue a copy that was interrupted, or to bring TO up to date, run the command again.

    Every copy is compared with its original; the exit code is 1 if one differs. Access tokens are not copied.
    """
    with open_store(source, create=False, read_only=True) as origin, open_store(target) as copies:
        if origin.place.address == copies.place.address:
            raise click.UsageError("FROM and TO are the same database.")
        with progress_bar("copying", 2 * _traces_in(origin)) as advance:
            report = copy_traces(origin, copies, advance)
        places = {"from": str(origin.place), "to": str(copies.place)}
    if as_json:
        sys.stdout.write(write_json({**places, **asdict(report), "problems": list(report.problems)}) + "\n")
    else:
        for problem in report.problems:
            sys.stdout.write(f"{visible_line(problem)}\n")
        sys.stdout.write(f"{visible_line(_copied_line(report))}\n")
        if report.tokens_left_out:
            left = counted(report.tokens_left_out, "access token")
            sys.stdout.write(f"{left} of FROM not copied; `weaklink db token create NAME --db TO` makes new ones\n")
    ctx.exit(1 if report.problems else 0)


def _copied_line(report: CopyReport) -> str:
    said = [f"{counted(report.copied, 'trace')} copied"]
    if report.replaced:
        said.append(f"{report.replaced:,} replaced by a longer version")
    if report.present:
        said.append(f"{report.present:,} already there")
    if report.running:
        said.append(f"{report.running:,} still being recorded and left out")
    said.append(f"{counted(len(report.problems), 'difference')} found" if report.problems else "no difference found")
    return ", ".join(said)


@database.command("prune")
@click.option(
    "--before", "--older-than", "before", type=Moment(), metavar="DATE_OR_AGE", help="A date in UTC, or an age: 30d."
)
@click.option("--max-size", type=Size(), metavar="SIZE", help="Delete the oldest until the rest takes so much: 10GB.")
@click.option("--keep-broken", is_flag=True, help="Keep the traces that broke.")
@click.option(
    "--keep-ok",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Keep this share of the traces that did not break, and all that broke: 0.05.",
)
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@database_option
@click.pass_context
def prune(
    ctx: click.Context,
    before: datetime | None,
    max_size: int | None,
    keep_ok: float,
    where: str | None,
    *,
    keep_broken: bool,
    yes: bool,
) -> None:
    """Delete old traces: those from before a date or an age (12h, 30d, 8w, 1y), or the oldest beyond a size.

    A trace is as old as its first request, or as its import where the source keeps no times. What --keep-ok keeps is
    chosen by the trace, so that a later run keeps the same ones. Asks before it deletes; without a terminal it
    requires --yes. `weaklink db vacuum` frees the space; on PostgreSQL a partition of old traces is dropped at once.

    \b
    weaklink db prune --older-than 30d
    weaklink db prune --before 7d --keep-ok 0.05 --yes
    weaklink db prune --max-size 10GB --yes
    """  # noqa: D301  # Click wants the backspace itself
    if before is None and max_size is None:
        raise click.UsageError("name what to delete: --before DATE_OR_AGE, --max-size SIZE, or both.")
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; --yes deletes without asking.")
    retention = Retention(before.timestamp() if before else None, max_size, keep_broken, keep_ok)
    with open_store(where, create=False) as store:
        if not yes and not _agreed(store, store.maintenance.doomed(retention)):
            ctx.exit(0)
        gone = store.maintenance.prune(retention)
        store.statistics.sum_pending()
    sys.stdout.write(f"{counted(gone, 'trace')} deleted\n")


@database.command("delete")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@database_option
@click.pass_context
def delete(ctx: click.Context, ids: tuple[str, ...], where: str | None, *, yes: bool) -> None:
    """Delete traces with everything that was kept of them: texts, search index, sums, marks, recorded requests.

    ID is a trace's number or an id from its source; an id that several traces have, such as that of a session or a
    run, deletes all of them. In an SQLite file what was deleted is overwritten. A PostgreSQL server overwrites it
    with `VACUUM FULL`, and keeps it in its write-ahead log and in backups until those are gone.
    """
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; --yes deletes without asking.")
    with open_store(where, create=False) as store:
        numbers = store.ids_of(ids)
        if not yes and not _agreed(store, len(numbers)):
            ctx.exit(0)
        store.erase(numbers)
        store.statistics.sum_pending()
    sys.stdout.write(f"{counted(len(numbers), 'trace')} deleted\n")


@database.command("vacuum")
@database_option
def vacuum(where: str | None) -> None:
    """Free the space of deleted traces; needs as much free space while it runs."""
    with open_store(where, create=False) as store:
        before = store.maintenance.stats().size_bytes
        store.maintenance.vacuum()
        after = store.maintenance.stats().size_bytes
    sys.stdout.write(f"{size_text(before)} before, {size_text(after)} now\n")


def _agreed(store: Store, doomed: int) -> bool:
    """Whether there is anything to delete, and the user wants that."""
    if not doomed:
        sys.stderr.write("weaklink: there is no trace to delete\n")
        return False
    return click.confirm(f"Delete {counted(doomed, 'trace')} in {visible_line(str(store.place))}?", err=True)


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
        numbers = list(dict.fromkeys(trace_ids(store, ids))) if ids else None
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


@click.command("join")
@click.argument("first", metavar="ID")
@click.argument("second", metavar="[OTHER]", required=False)
@click.option("--undo", is_flag=True, help="Take out of the trace what `join` brought into it.")
@database_option
def join(first: str, second: str | None, where: str | None, *, undo: bool) -> None:
    """Join two traces of one session, such as a recording of the proxy and the agent's own log.

    The trace ID keeps its texts and its number; each of its calls gets what OTHER recorded of its run: the arguments
    that were executed, and the result that was returned. What differs is then a difference between layers. The traces
    must share an id of the session, of a response or of a call. OTHER stays as it is.

    \b
    weaklink join 12 15
    weaklink join 12 --undo
    """  # noqa: D301  # Click wants the backspace itself
    if undo == (second is not None):
        raise click.UsageError("name two traces to join them, or one trace and --undo.")
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        number = trace_id(store, first)
        trace, _ = store.inspected(number)
        if second is None:
            before = without_joined(trace)
            if before is trace:
                sys.stdout.write(f"trace {number}: nothing was joined to it\n")
                return
            store.save([(before, inspect_trace(before))])
            sys.stdout.write(f"trace {number}: it is as it was before `join`\n")
            return
        other = trace_id(store, second)
        found = join_traces(without_joined(trace), store.inspected(other)[0])
        inspection = inspect_trace(found.trace)
        store.save([(found.trace, inspection)])
    differences = sum(one.rule.layer != "" and one.rule.severity is not Severity.INFO for one in inspection.diagnostics)
    runs, missing = counted(found.runs, "run"), counted(found.left_out, "call")
    sys.stdout.write(f"trace {number}: {runs} of trace {other}, by the id {visible_line(found.shared)}; ")
    sys.stdout.write(f"{missing} without one; {counted(differences, 'difference')} between layers\n")
