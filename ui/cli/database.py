"""`weaklink db`, `weaklink db reinspect` and `weaklink db join`: maintenance of the database and its traces."""

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from msgspec.structs import asdict, replace

from weaklink.inspector.capture.exchange_record import masked_exchanges
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.chain.joining import join_traces, without_joined
from weaklink.inspector.errors import StoreError, UnknownFormatError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Trace
from weaklink.inspector.model.exchange import RecordedExchange, RecordedTrace, expanded, with_exchanges
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.version import __version__
from weaklink.storage.access_tokens import AccessToken, TokenRole
from weaklink.storage.copying import CopyReport, copy_traces
from weaklink.storage.engine import location_of
from weaklink.storage.exchanges import packed_exchanges
from weaklink.storage.maintenance import IntegrityReport, Retention
from weaklink.storage.store import Store, open_store, upgrade_store
from weaklink.storage.writing import TraceRows, trace_rows
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice, progress_bar
from weaklink.ui.cli.redaction_options import redactor_of
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S, recover_traces, trace_id, trace_ids
from weaklink.ui.views.redactions import scan_lines
from weaklink.ui.views.stats import size_text, stats_lines, stats_object
from weaklink.ui.views.styled_text import Line, counted, visible_line

_AGE = re.compile(r"(\d{1,9})\s*(h|d|w|y)", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([KMGT]?B)", re.IGNORECASE)
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_HOURS = {"h": 1, "d": 24, "w": 168, "y": 8766}


class Moment(click.ParamType[datetime]):
    """`2026-01-31`, `2026-01-31T18:00` (UTC unless it has an offset) or an age: `12h`, `30d`, `8w`, `1y`.

    With `ahead`, an age counts from now into the future.
    """

    name = "date or age"

    def __init__(self, *, ahead: bool = False) -> None:
        self._sign = 1 if ahead else -1

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The moment, with its time zone. Raises BadParameter."""
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
        """The number of bytes. Raises BadParameter."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"`{value}` is not a size such as 500MB, 10GB or 2TB.", param, ctx)
        return round(float(match[1]) * _BYTES[match[2].upper()])


@click.group("db", cls=declaring.CommandGroup)
def database() -> None:
    """Manage the database and its traces."""


@database.group("token")
def token() -> None:
    """Manage the tokens with which people open the dashboard (`weaklink web --tokens`)."""


@database.command("upgrade")
@declaring.database_option
def upgrade(where: str | None) -> None:
    """Upgrade the database schema to this version of weaklink.

    Does nothing if the schema is current. All recordings are kept.
    """
    changed = upgrade_store(where)
    state = "was upgraded to this version" if changed else "already has this version"
    sys.stdout.write(visible_line(f"{location_of(where)} {state}") + "\n")


@token.command("create")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([role.value for role in TokenRole]),
    default="read",
    show_default=True,
    help="`read` sees every trace; `write` also sets marks and imports.",
)
@click.option(
    "--expires",
    type=Moment(ahead=True),
    metavar="DATE_OR_AGE",
    help="When the token expires: a date in UTC, or 90d from now.",
)
@declaring.database_option
def create_token(where: str | None, *, name: str, role: str, expires: datetime | None) -> None:
    """Create a token for NAME, and print it once.

    The database keeps a hash of it, so it cannot be shown again. Marks and notes show NAME.
    """
    with open_store(where, create=False) as store:
        word = store.tokens.create(name, TokenRole(role), expires_at_s=expires.timestamp() if expires else None)
    sys.stdout.write(f"{word}\n")


@token.command("list")
@declaring.json_option
@declaring.database_option
def list_tokens(where: str | None, *, as_json: bool) -> None:
    """List the tokens, including revoked and expired ones."""
    with open_store(where, create=False, read_only=True) as store:
        tokens = store.tokens.all()
    if as_json:
        sys.stdout.write(write_json({"tokens": [asdict(token) for token in tokens]}) + "\n")
        return
    for token in tokens:
        sys.stdout.write(f"{visible_line(token.name)}: {token.role}, created {_day(token.made_at_s)}{_end(token)}\n")
    if not tokens:
        print_notice("no tokens yet; `weaklink db token create NAME` creates one")


@token.command("revoke")
@click.argument("name")
@declaring.database_option
def revoke_token(where: str | None, *, name: str) -> None:
    """Revoke the token of NAME; open pages lose access within seconds."""
    with open_store(where, create=False) as store:
        store.tokens.revoke(name)
    sys.stdout.write(f"the token of {visible_line(name)} is revoked\n")


def _end(token: AccessToken) -> str:
    if token.revoked_at_s is not None:
        return f", revoked {_day(token.revoked_at_s)}"
    if token.expires_at_s is None:
        return ""
    return f", {'expires' if token.is_valid(time.time()) else 'expired'} {_day(token.expires_at_s)}"


def _day(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).date().isoformat()


@database.command("stats")
@declaring.json_option
@declaring.database_option
@declaring.color_option
def stats(where: str | None, *, as_json: bool, color: str) -> None:
    """Count what the database contains."""
    with open_store(where, create=False) as store:
        figures, location = store.maintenance.stats(), str(store.location)
    if as_json:
        sys.stdout.write(write_json(stats_object(figures, location)) + "\n")
    else:
        print_lines(stats_lines(figures, location), color=color)


@database.command("check")
@declaring.json_option
@declaring.database_option
@click.pass_context
def check(ctx: click.Context, where: str | None, *, as_json: bool) -> None:
    """Check the whole database for damage.

    SQLite checks its pages and indexes; then every trace is read, its checksums are verified, and the rows that lists,
    filters and figures read are compared with it. Prints a line for each problem; the exit code is then 1.
    """
    with open_store(where, create=False, read_only=True) as store:
        with progress_bar("checking", _traces_in(store)) as advance:
            report = store.maintenance.check(advance)
        location = str(store.location)
    if as_json:
        sys.stdout.write(write_json({"database": location, **asdict(report), "problems": list(report.problems)}) + "\n")
    else:
        for problem in report.problems:
            sys.stdout.write(f"{visible_line(problem)}\n")
        for line in _checked_lines(report):
            sys.stdout.write(f"{line}\n")
    ctx.exit(1 if report.problems else 0)


def _traces_in(store: Store) -> int:
    try:
        return store.maintenance.stats().traces
    except StoreError:
        return 0  # the check reports why


def _checked_lines(report: IntegrityReport) -> Iterator[str]:
    result = counted(len(report.problems), "problem") if report.problems else "no problem"
    tools = counted(report.toolsets, "set of tools", "sets of tools")
    yield f"{counted(report.traces, 'trace')}, {counted(report.turns, 'turn')}, {tools} checked: {result} found"
    if report.without_checksums:
        yield f"{counted(report.without_checksums, 'trace')} without checksums: stored by an earlier version"
    if report.outdated:
        yield f"{counted(report.outdated, 'trace')} inspected by another version: their derived rows were not compared"


@database.command("repair")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@declaring.database_option
@click.pass_context
def repair(ctx: click.Context, ids: tuple[str, ...], where: str | None) -> None:
    """Rebuild what can be rebuilt of damaged traces: all, or those with these ids.

    Checksums, the values that lists and filters read, and inspections are computed again from what was recorded.
    Recorded texts that are damaged stay as they are, and are shown as far as they can be read. The exit code is 1 if
    damage is left.
    """
    with open_store(where, create=False) as store:
        numbers = list(dict.fromkeys(trace_ids(store, ids))) if ids else None
        with progress_bar("repairing", _traces_in(store) if numbers is None else len(numbers)) as advance:
            report = store.maintenance.repair(inspect_trace, numbers, advance)
    for sentence in (*report.repaired, *(f"not repaired: {sentence}" for sentence in report.left)):
        sys.stdout.write(f"{visible_line(sentence)}\n")
    if not report.repaired and not report.left:
        sys.stdout.write("nothing to repair\n")
    ctx.exit(1 if report.left else 0)


@database.command("scan")
@click.option(
    "--redact",
    "patterns",
    metavar="REGEX",
    multiple=True,
    help="Also replace what this matches (its first group, if it has one). Can be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Report the secrets, and replace nothing.")
@click.option("--yes", "-y", is_flag=True, help="Replace without asking.")
@declaring.database_option
@declaring.color_option
@click.pass_context
def scan(
    ctx: click.Context, where: str | None, patterns: tuple[str, ...], *, dry_run: bool, yes: bool, color: str
) -> None:
    """Search all traces for secrets with today's rules, and replace what earlier versions stored.

    Prints how many secrets each trace has and the rules that find them, never a secret. Asks before it replaces them
    for good by asterisks of the same length; without a terminal it requires --yes or --dry-run. A PostgreSQL server
    overwrites old rows only with `VACUUM FULL`. Marks, notes and traces that are being recorded are not searched. The
    exit code is 1 if secrets were found and not replaced.

    \b
    weaklink db scan --dry-run
    weaklink db scan --yes
    """
    redactor = redactor_of(patterns, no_redact=False, no_content=False)
    if not (dry_run or yes or sys.stdin.isatty()):
        raise click.UsageError("there is no terminal for the confirmation; give --yes or --dry-run.")
    with open_store(where, create=False, read_only=dry_run) as store:
        ids = store.maintenance.ended_ids()
        with_secrets: list[int] = []
        with progress_bar("scanning", len(ids)) as advance:
            for id_ in ids:
                lines = _scanned(store, id_, redactor)
                with_secrets += [id_] if lines else []
                print_lines(lines, color=color)
                advance(1)
        if (
            with_secrets
            and not dry_run
            and (
                yes
                or click.confirm(f"Replace the secrets of {counted(len(with_secrets), 'trace')} for good?", err=True)
            )
        ):
            for start in range(0, len(with_secrets), _REPLACED_AT_ONCE):
                store.rewrite(
                    {id_: _redacted(store, id_, redactor) for id_ in with_secrets[start:][:_REPLACED_AT_ONCE]}
                )
            store.search.index_pending()
            state = "secrets replaced"
        else:
            state = "nothing replaced" if with_secrets else "no secret found"
    sys.stdout.write(f"{counted(len(ids), 'trace')} scanned, {len(with_secrets):,} with secrets: {state}\n")
    ctx.exit(1 if with_secrets and state != "secrets replaced" else 0)


_REPLACED_AT_ONCE = 100
"""Traces that are rewritten in one transaction."""


def _scanned(store: Store, id_: int, redactor: Redacts) -> Sequence[Line]:
    """The report of one trace; empty if it has no secret."""
    trace, clean, exchanges, clean_exchanges = _with_exchanges(store, id_, redactor)
    changed = sum(before != after for before, after in zip(exchanges, clean_exchanges, strict=True))
    return scan_lines(id_, expanded(trace), changed) if changed or clean != trace else ()


def _redacted(store: Store, id_: int, redactor: Redacts) -> TraceRows:
    _, clean, _, exchanges = _with_exchanges(store, id_, redactor)
    rows = trace_rows(clean, inspect_trace(clean))
    return replace(rows, record=replace(rows.record, exchanges=packed_exchanges(exchanges)))


def _with_exchanges(
    store: Store, id_: int, redactor: Redacts
) -> tuple[Trace, Trace, tuple[RecordedExchange, ...], tuple[RecordedExchange, ...]]:
    """A trace and its exchanges, before and after redaction."""
    trace, exchanges = store.trace(id_), store.exchanges.of(id_).traces.get(id_, ())
    clean = redactor.trace(trace)
    recorded = with_exchanges(trace, exchanges)
    masked = masked_exchanges(recorded, clean, redactor) if isinstance(recorded, RecordedTrace) else ()
    return trace, clean, exchanges, masked


@database.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@declaring.database_option
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
@declaring.json_option
@click.pass_context
def copy(ctx: click.Context, source: str, target: str, *, as_json: bool) -> None:
    """Copy all traces of the database FROM into the database TO.

    Each is an SQLite file or a PostgreSQL URL; TO is created if it does not exist. Inspections, marks and recorded
    requests are copied too, and a trace keeps its id if TO never had a trace with that id. Traces that TO has already
    are not copied again: to continue a copy that was interrupted, or to bring TO up to date, run the command again.

    Every copy is compared with its original; the exit code is 1 if one differs. Access tokens are not copied.
    """
    with open_store(source, create=False, read_only=True) as origin, open_store(target) as copies:
        if origin.location.address == copies.location.address:
            raise click.UsageError("FROM and TO are the same database.")
        with progress_bar("copying", 2 * _traces_in(origin)) as advance:
            report = copy_traces(origin, copies, advance)
        locations = {"from": str(origin.location), "to": str(copies.location)}
    if as_json:
        sys.stdout.write(write_json({**locations, **asdict(report), "problems": list(report.problems)}) + "\n")
    else:
        for problem in report.problems:
            sys.stdout.write(f"{visible_line(problem)}\n")
        sys.stdout.write(f"{visible_line(_copied_line(report))}\n")
        if report.tokens_left_out:
            left = counted(report.tokens_left_out, "access token")
            sys.stdout.write(f"{left} of FROM not copied; `weaklink db token create NAME --db TO` creates new ones\n")
    ctx.exit(1 if report.problems else 0)


def _copied_line(report: CopyReport) -> str:
    parts = [f"{counted(report.copied, 'trace')} copied"]
    if report.replaced:
        parts.append(f"{report.replaced:,} replaced by a longer version")
    if report.present:
        parts.append(f"{report.present:,} already there")
    if report.running:
        parts.append(f"{report.running:,} still being recorded and left out")
    parts.append(f"{counted(len(report.problems), 'difference')} found" if report.problems else "no difference found")
    return ", ".join(parts)


@database.command("prune")
@click.option(
    "--before", "--older-than", "before", type=Moment(), metavar="DATE_OR_AGE", help="A date in UTC, or an age: 30d."
)
@click.option("--max-size", type=Size(), metavar="SIZE", help="Delete the oldest until the rest fits this size: 10GB.")
@click.option("--keep-broken", is_flag=True, help="Keep the traces that broke.")
@click.option(
    "--keep-ok",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Keep this share of the traces that did not break, and all that broke: 0.05.",
)
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@declaring.database_option
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

    A trace is as old as its first request, or as its import if the source records no times. --keep-ok chooses by
    the identity of a trace, so that a later run keeps the same ones. Asks before it deletes; without a terminal it
    requires --yes. `weaklink db vacuum` frees the space.

    \b
    weaklink db prune --older-than 30d
    weaklink db prune --before 7d --keep-ok 0.05 --yes
    weaklink db prune --max-size 10GB --yes
    """
    if before is None and max_size is None:
        raise click.UsageError("name what to delete: --before DATE_OR_AGE, --max-size SIZE, or both.")
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal for the confirmation; --yes deletes without asking.")
    retention = Retention(before.timestamp() if before else None, max_size, keep_broken, keep_ok)
    with open_store(where, create=False) as store:
        if not yes and not _agreed(store, store.maintenance.count_to_prune(retention)):
            ctx.exit(0)
        gone = store.maintenance.prune(retention)
    sys.stdout.write(f"{counted(gone, 'trace')} deleted\n")


@database.command("delete")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@declaring.database_option
@click.pass_context
def delete(ctx: click.Context, ids: tuple[str, ...], where: str | None, *, yes: bool) -> None:
    """Delete traces and everything that is stored with them: texts, search index, sums, marks, recorded requests.

    ID is a trace's number or an id from its source; an id that several traces have, such as that of a session or a
    run, deletes all of them. In an SQLite file what was deleted is overwritten. A PostgreSQL server overwrites it
    with `VACUUM FULL`, and keeps it in its write-ahead log and in backups until those are gone.
    """
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal for the confirmation; --yes deletes without asking.")
    with open_store(where, create=False) as store:
        numbers = store.ids_of(ids)
        if not yes and not _agreed(store, len(numbers)):
            ctx.exit(0)
        store.erase(numbers)
    sys.stdout.write(f"{counted(len(numbers), 'trace')} deleted\n")


@database.command("vacuum")
@declaring.database_option
def vacuum(where: str | None) -> None:
    """Free the space of deleted traces; needs as much free space while it runs."""
    with open_store(where, create=False) as store:
        before = store.maintenance.stats().size_bytes
        store.maintenance.vacuum()
        after = store.maintenance.stats().size_bytes
    sys.stdout.write(f"{size_text(before)} before, {size_text(after)} now\n")


def _agreed(store: Store, doomed: int) -> bool:
    """Whether there is anything to delete, and the user confirms it."""
    if not doomed:
        print_notice("there is no trace to delete")
        return False
    return click.confirm(f"Delete {counted(doomed, 'trace')} in {visible_line(str(store.location))}?", err=True)


@database.command("reinspect")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@declaring.database_option
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
        with progress_bar("inspecting", total) as advance:
            done = store.maintenance.reinspect(_counting(advance), numbers, on_damaged=damaged.append)
    for error in damaged:
        print_notice(str(error))
    sys.stdout.write(f"{counted(done, 'trace')} inspected again by weaklink {__version__}\n")
    if damaged:
        ctx.exit(1)


def _counting(advance: Callable[[int], None]) -> Callable[[Trace], Inspection]:
    def inspect(trace: Trace) -> Inspection:
        try:
            inspection = inspect_trace(trace)
        except UnknownFormatError as error:
            origin = " ".join(word for word in (trace.provenance.file, trace.provenance.record) if word)
            raise UnknownFormatError(f"the trace from {origin or 'an unknown source'}: {error}") from error
        advance(1)
        return inspection

    return inspect


@database.command("join")
@click.argument("first", metavar="ID")
@click.argument("second", metavar="[OTHER]", required=False)
@click.option("--undo", is_flag=True, help="Remove what `join` added to the trace.")
@declaring.database_option
def join(first: str, second: str | None, where: str | None, *, undo: bool) -> None:
    """Join two traces of one session, such as a recording of the proxy and the agent's own log.

    The trace ID keeps its texts and its number; each of its calls gets what OTHER recorded of its run: the arguments
    that were executed, and the result that was returned. Where they differ, the trace shows a difference between
    layers. The traces must share an id of the session, of a response or of a call. OTHER is not changed.

    \b
    weaklink db join 12 15
    weaklink db join 12 --undo
    """
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
            sys.stdout.write(f"trace {number}: `join` was undone\n")
            return
        other = trace_id(store, second)
        joined = join_traces(without_joined(trace), store.inspected(other)[0])
        inspection = inspect_trace(joined.trace)
        store.save([(joined.trace, inspection)])
    differences = sum(
        diagnostic.rule.layer != "" and diagnostic.rule.severity is not Severity.INFO
        for diagnostic in inspection.diagnostics
    )
    runs, missing = counted(joined.runs, "run"), counted(joined.left_out, "call")
    sys.stdout.write(f"trace {number}: {runs} of trace {other}, by the id {visible_line(joined.shared)}; ")
    sys.stdout.write(f"{missing} without one; {counted(differences, 'difference')} between layers\n")
