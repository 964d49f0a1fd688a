"""Commands that keep: export, and the group `db`."""

from pathlib import Path

import click

from weaklink.ui.cli.commands.declaring import (
    CommandGroup,
    Moment,
    Size,
    color_option,
    command,
    database_option,
    implemented_by,
    json_option,
)


@command("export")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--as",
    "form",
    type=click.Choice(["trace", "json", "markdown", "html"]),
    help="What to write.  [default: by the suffix of --output, else trace]",
)
@click.option(
    "--to", "tool", type=click.Choice(["otlp", "messages"]), help="A format that other tools read, one line per trace."
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@database_option
@implemented_by("weaklink.ui.cli.export:export")
def export() -> None:
    """Write traces as files for other tools and people.

    \b
    trace      a trace file: everything that was recorded, for `weaklink import` anywhere else
    json       what `weaklink show --json` prints, one line per trace
    markdown   a report
    html       one self-contained page without scripts, pictures or fonts
    otlp       OTLP JSON with the GenAI conventions, for Phoenix, Langfuse or a collector
    messages   OpenAI messages; what they cannot express is listed on stderr

    ID is the number that `weaklink list` prints, or an id from its source; `@marked` means all marked traces,
    `@shown` those of the last list. FILE is written completely or not at all.
    """  # noqa: D301  # Click needs the backspace itself


@click.group("db", cls=CommandGroup)
def database() -> None:
    """Manage the database and its traces."""


@database.command("upgrade")
@database_option
@implemented_by("weaklink.ui.cli.database:upgrade")
def upgrade() -> None:
    """Upgrade the database schema to this version of weaklink.

    Does nothing if the schema is current. All recordings are kept.
    """


@database.group("token")
def token() -> None:
    """Manage the tokens with which people open the dashboard (`weaklink web --tokens`)."""


@token.command("create")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(("read", "write")),
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
@database_option
@implemented_by("weaklink.ui.cli.database:create_token")
def create_token() -> None:
    """Create a token for NAME, and print it once.

    The database keeps a hash of it, so it cannot be shown again. Marks and notes show NAME.
    """


@token.command("list")
@json_option
@database_option
@implemented_by("weaklink.ui.cli.database:list_tokens")
def list_tokens() -> None:
    """List the tokens, including revoked and expired ones."""


@token.command("revoke")
@click.argument("name")
@database_option
@implemented_by("weaklink.ui.cli.database:revoke_token")
def revoke_token() -> None:
    """Revoke the token of NAME; open pages lose access within seconds."""


@database.command("stats")
@json_option
@database_option
@color_option
@implemented_by("weaklink.ui.cli.database:stats")
def stats() -> None:
    """Count what the database contains."""


@database.command("check")
@json_option
@database_option
@implemented_by("weaklink.ui.cli.database:check")
def check() -> None:
    """Check the whole database for damage.

    SQLite checks its pages and indexes; then every trace is read, its checksums are verified, and the rows that lists,
    filters and figures read are compared with it. Prints a line for each problem; the exit code is then 1.
    """


@database.command("repair")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@database_option
@implemented_by("weaklink.ui.cli.database:repair")
def repair() -> None:
    """Rebuild what can be rebuilt of damaged traces: all, or those with these ids.

    Checksums, the values that lists and filters read, and inspections are computed again from what was recorded.
    Recorded texts that are damaged stay as they are, and are shown as far as they can be read. The exit code is 1 if
    damage is left.
    """


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
@database_option
@color_option
@implemented_by("weaklink.ui.cli.database:scan")
def scan() -> None:
    """Search all traces for secrets with today's rules, and replace what earlier versions stored.

    Prints how many secrets each trace has and the rules that find them, never a secret. Asks before it replaces them
    for good by asterisks of the same length; without a terminal it requires --yes or --dry-run. A PostgreSQL server
    overwrites old rows only with `VACUUM FULL`. Marks, notes and traces that are being recorded are not searched. The
    exit code is 1 if secrets were found and not replaced.

    \b
    weaklink db scan --dry-run
    weaklink db scan --yes
    """  # noqa: D301  # Click needs the backspace itself


@database.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@database_option
@implemented_by("weaklink.ui.cli.database:backup")
def backup() -> None:
    """Copy the database into a new FILE, while others may read and write it.

    The copy shows the database at one moment, and only this user can read it. For a database on a server, use the
    server's own tool: `pg_dump`.
    """


@database.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
@implemented_by("weaklink.ui.cli.database:copy")
def copy() -> None:
    """Copy all traces of the database FROM into the database TO.

    Each is an SQLite file or a PostgreSQL URL; TO is created if it does not exist. Inspections, marks and recorded
    requests are copied too, and a trace keeps its id if TO never had a trace with that id. Traces that TO has already
    are not copied again: to continue a copy that was interrupted, or to bring TO up to date, run the command again.

    Every copy is compared with its original; the exit code is 1 if one differs. Access tokens are not copied.
    """


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
@database_option
@implemented_by("weaklink.ui.cli.database:prune")
def prune() -> None:
    """Delete old traces: those from before a date or an age (12h, 30d, 8w, 1y), or the oldest beyond a size.

    A trace is as old as its first request, or as its import if the source records no times. --keep-ok chooses by
    the identity of a trace, so that a later run keeps the same ones. Asks before it deletes; without a terminal it
    requires --yes. `weaklink db vacuum` frees the space.

    \b
    weaklink db prune --older-than 30d
    weaklink db prune --before 7d --keep-ok 0.05 --yes
    weaklink db prune --max-size 10GB --yes
    """  # noqa: D301  # Click needs the backspace itself


@database.command("delete")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@database_option
@implemented_by("weaklink.ui.cli.database:delete")
def delete() -> None:
    """Delete traces and everything that is stored with them: texts, search index, sums, marks, recorded requests.

    ID is a trace's number or an id from its source; an id that several traces have, such as that of a session or a
    run, deletes all of them. In an SQLite file what was deleted is overwritten. A PostgreSQL server overwrites it
    with `VACUUM FULL`, and keeps it in its write-ahead log and in backups until those are gone.
    """


@database.command("vacuum")
@database_option
@implemented_by("weaklink.ui.cli.database:vacuum")
def vacuum() -> None:
    """Free the space of deleted traces; needs as much free space while it runs."""


@database.command("reinspect")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@database_option
@implemented_by("weaklink.ui.cli.database:reinspect")
def reinspect() -> None:
    """Inspect traces again with this version of weaklink: the given ones, or all.

    Recordings stay as they are; spans, calls, steps and diagnostics are derived again from them. Ctrl-C keeps the
    traces that are finished. A trace with a damaged record is left alone and reported; the exit code is then 1.
    """


@database.command("join")
@click.argument("first", metavar="ID")
@click.argument("second", metavar="[OTHER]", required=False)
@click.option("--undo", is_flag=True, help="Remove what `join` added to the trace.")
@database_option
@implemented_by("weaklink.ui.cli.database:join")
def join() -> None:
    """Join two traces of one session, such as a recording of the proxy and the agent's own log.

    The trace ID keeps its texts and its number; each of its calls gets what OTHER recorded of its run: the arguments
    that were executed, and the result that was returned. Where they differ, the trace shows a difference between
    layers. The traces must share an id of the session, of a response or of a call. OTHER is not changed.

    \b
    weaklink db join 12 15
    weaklink db join 12 --undo
    """  # noqa: D301  # Click needs the backspace itself
