"""Commands that record: run, replay, record, import, watch and tail."""

import click

from weaklink.ui.cli.commands import declaring

_pattern_option = click.option(
    "--redact",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="A `--redact` pattern that was used for the recording.",
)
_pace_option = click.option("--pace", is_flag=True, help="Send answers at the recorded pace.")
_strict_option = click.option("--strict", is_flag=True, help="Require identical JSON bodies.")
_unused_option = click.option("--allow-unused", is_flag=True, help="Accept recorded requests that are never made.")
_report_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write the report as one line of JSON to stderr; `weaklink schema` has its schema.",
)

_port_option = click.option(
    "--port",
    default=declaring.DEFAULT_PORT,
    show_default=True,
    metavar="N",
    help="The port to listen on; 0 for any free port.",
)


@declaring.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--upstream", metavar="URL", help="The server to forward to, for all clients.")
@click.option("--check", is_flag=True, help="Exit with 1 if the command succeeded but a trace is broken or aborted.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing at the end.")
@declaring.no_default_upstreams_option
@declaring.expected_format_option
@declaring.server_parser_option
@declaring.chat_template_option
@click.option("--run-id", hidden=True, help="The id of the run, for `weaklink doctor`.")
@click.option("--experiment", default="", hidden=True, help="The source of the traces, for `weaklink doctor`.")
@declaring.redaction_options
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.run:run")
def run() -> None:
    """Run COMMAND and record its requests to models.

    Environment variables point the clients of model servers at a proxy, which forwards to the servers that they used
    before; docs/recording.md lists them. When the command ends, one line per session on stderr shows the result, and
    processes that it left behind are terminated.

    \b
    weaklink run -- python agent.py
    weaklink run --upstream http://localhost:8000 -- pytest tests/agents
    weaklink run --check -- ./evaluate.sh

    The exit code is the command's own; 128 plus the number of the signal that ended it, 125 if weaklink failed, 126
    and 127 if the command could not be started, 1 with --check.
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("replay")
@click.argument("word", metavar="ID")
@_pace_option
@_strict_option
@_unused_option
@click.option(
    "--on-divergence",
    type=click.Choice(("stop", "nearest", "live")),
    default="stop",
    show_default=True,
    help="The answer to a request that matches nothing: an error, the most similar answer, or the upstream's.",
)
@click.option("--upstream", metavar="URL", help="The server for requests that continue live.")
@click.option(
    "--fork", "fork_after", type=click.IntRange(min=0), metavar="N", help="Answer up to turn N, then continue live."
)
@click.option("--inject", metavar="KIND[@turnN]", help="Put a fault into a recorded answer; `all` tries every kind.")
@_pattern_option
@_report_option
@click.option(
    "--serve",
    is_flag=True,
    help="Print addresses for clients as variables, and answer them until Ctrl-C.",
)
@_port_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing at the end.")
@declaring.database_option
@declaring.color_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@declaring.implemented_by("weaklink.ui.cli.replay:replay")
def replay() -> None:
    """Run COMMAND again, or answer any client (--serve), from a recording.

    ID is a run, a trace, a trace file, or `latest`, the last run. Every request is answered with the recorded bytes;
    nothing is sent to a server. Requests are matched by their content; ids of calls, `user`, `metadata`, and dates in
    system texts may differ.

    \b
    weaklink run -- python agent.py
    weaklink replay latest -- python agent.py
    weaklink replay latest --serve

    The exit code is the command's own, or 3 if a request is not in the recording; see `weaklink help exit-codes`.
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("record")
@click.argument("file", metavar="[FILE | -]", required=False)
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="URL",
    help="The server to forward to; `PREFIX=URL` for requests below a path. Can be repeated.",
)
@_port_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--token",
    default="",
    envvar="WEAKLINK_TOKEN",
    metavar="TEXT",
    help="A token that clients must send; required for addresses other than loopback.",
)
@click.option(
    "--connect-timeout",
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds to wait for a connection to an upstream.",
)
@declaring.no_default_upstreams_option
@declaring.expected_format_option
@declaring.server_parser_option
@declaring.chat_template_option
@click.option("--read-timeout", default=None, type=float, metavar="S", help="Seconds to wait for more data.  [none]")
@click.option(
    "--idle-after",
    default=declaring.IDLE_AFTER_S,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds without an event after which a session is shown as idle.",
)
@declaring.removed_options(
    "--to-token",
    "--queue",
    "--queue-size",
    instead="recorders write to the team's PostgreSQL directly: use --db postgresql://HOST/NAME",
)
@click.option("--quiet", "-q", is_flag=True, help="Print no line per request; do not pass standard input on.")
@click.option(
    "--follow", "-F", is_flag=True, help="Keep reading while FILE grows, until Ctrl-C or until it is deleted."
)
@click.option("--model", default="", metavar="NAME", help="The model's name, which helps to detect the format.")
@click.option("--name", default="", metavar="NAME", help="A name for the trace.  [default: that of FILE]")
@click.option(
    "--prompt", default="", metavar="TEXT", help="The end of the prompt; a tag that it opens continues in the text."
)
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools that were offered.")
@click.option(
    "--as",
    "form",
    type=click.Choice((declaring.AUTO, "text", "sse", "ndjson")),
    default=declaring.AUTO,
    show_default=True,
    help="The content of FILE: text, or events as a provider streams them.",
)
@click.option("--to", metavar="PLACE", help="Record FILE into a database, or a trace file (*.jsonl).")
@click.option("--log", "reads_text", is_flag=True, hidden=True, help="What `weaklink log` was: FILE may be missing.")
@declaring.redaction_options
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.record:record")
def record() -> None:
    """Record requests to models while they pass through a proxy, or a model's raw output from a pipe or a file.

    Without FILE: point clients at this proxy instead of the server; they receive byte for byte what the server sends.
    Keys, tokens and passwords are redacted. One line per request shows its status and the faults found so far.

    FILE, or `-` for standard input, which is passed on unchanged, contains one model's output, recorded live as one
    turn: text, or events as a provider streams them, detected from the first bytes. Ctrl-C ends both.

    \b
    weaklink record --upstream http://127.0.0.1:8000
    ./server | weaklink record -
    weaklink record --follow out.txt
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("import")
@click.argument("paths", metavar="[PATH | AGENT]...", nargs=-1)
@click.option("--discover", is_flag=True, help="Only list the logs of agents on this machine.")
@click.option("--since", metavar="TIME", help="Without PATH: only logs written since then, such as 7d or 12h.")
@click.option("--project", metavar="NAME", help="Only sessions of this project, the name of the agent's folder.")
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@declaring.chat_template_option
@click.option("--watch", is_flag=True, help="Keep importing files that appear or grow, until Ctrl-C.")
@click.option("--dry-run", is_flag=True, help="Read and report only; write nothing and open no database.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Read in N processes besides the one that writes.  [default: 2 if there is a second core and much to read]",
)
@click.option("--verbose", "-v", is_flag=True, help="List every file, every skipped record and every refused file.")
@click.option(
    "--to",
    metavar="DIR",
    help="Inspect into Parquet files in DIR (a folder or URL) instead of the database; an interrupted run continues. "
    "See docs/scaling.md.",
)
@declaring.engine_option
@declaring.block_size_option
@declaring.ray_address_option
@declaring.redaction_options
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.import_paths:import_paths")
def import_paths() -> None:
    """Import log files into the database.

    Without PATH: the logs of every agent on this machine, in their usual places; `import pi` those of one. A PATH is a
    file, a folder, a pattern like `logs/**/*.jsonl`, or `-` for standard input; gzip and zstd are unpacked. The source
    is detected from the content. Keys, tokens and passwords are replaced before anything is written. Importing a file
    again changes nothing; a longer version of a session replaces the shorter. Ctrl-C keeps the files that are finished.
    """


@declaring.command("watch")
@click.argument("paths", metavar="[PATH | AGENT]...", nargs=-1)
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@click.option("--project", metavar="NAME", help="Only sessions of this project, the name of the agent's folder.")
@declaring.redaction_options
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.watch:watch")
def watch() -> None:
    """Import the logs of agents while they run, and print a line for each chain that breaks.

    Without PATH: all agents of this machine, in their usual places; `watch pi` one of them. New sessions, folders and
    lines are found by themselves. What was there before is imported first, without a line for each break. A line has
    the agent, the project, the number of the trace for `weaklink show`, and the step at which it broke; another one
    follows if the agent recovers. Ctrl-C ends it.
    """


@declaring.command("tail")
@click.argument("words", metavar="[FILTER]...", nargs=-1, type=declaring.FilterType())
@declaring.filter_option
@click.option("--all", "from_start", is_flag=True, help="Start with what running traces already contain.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.tail:tail")
def tail() -> None:
    """Follow what any process records: spans as they close, faults as soon as they are found.

    Each line begins with the trace's number and the turn's, `12/3`. The end of a turn shows how it ended; the end of a
    trace shows its status and where it broke. With a filter, as in `list`, a trace is printed from its beginning once
    it matches. Traces that are imported meanwhile are printed whole. Waits for the database to appear if there is none.
    Press Ctrl-C to stop.
    """
