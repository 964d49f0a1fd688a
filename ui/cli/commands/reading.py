"""Commands that read: demo, segment, list, search, show, diff, tui, web, mcp and skill."""

import click

from weaklink.ui.cli.commands import declaring


@declaring.command("demo")
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.demo:demo")
def demo() -> None:
    """Import sample traces into a new database and show what broke, and where.

    Works offline. Without --db the database is in your cache folder, and each demo replaces it.
    """


@declaring.command("segment")
@click.argument("file", default=declaring.STDIN)
@click.option("--format", "-f", default=declaring.AUTO, show_default=True, metavar="NAME", help="The text's format.")
@declaring.chat_template_option
@click.option("--model", default="", metavar="NAME", help="The model's name, which helps to detect the format.")
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools that were offered.")
@click.option(
    "--prompt", default="", metavar="TEXT", help="The end of the prompt; a tag that it opens continues in the text."
)
@click.option("--jsonl", is_flag=True, help="Read requests as JSON lines; answer each with one line.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON even on a terminal.")
@click.option("--text", "as_text", is_flag=True, help="Print readable text even without a terminal.")
@click.option("--full", is_flag=True, help="Print long spans in full (readable text only).")
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.segment:segment_text")
def segment_text() -> None:
    """Split one raw model output into spans, calls and diagnostics.

    FILE contains the output, exactly as the model wrote it; `-`, or no FILE, is standard input. Prints one JSON object,
    or on a terminal the text itself with what is wrong marked below it.

    With --jsonl each line is {"id", "text" or "deltas", "prompt"?, "format"?, "model"?, "tools"?}, and each answer is
    one line, in order; a bad line is answered by {"id", "error"}.
    """


@declaring.command("list")
@click.argument("words", metavar="[FILTER]...", nargs=-1, type=declaring.FilterType())
@declaring.filter_option
@click.option(
    "--limit", "-n", default=100, show_default=True, type=click.IntRange(min=1), help="Maximum number of results."
)
@click.option(
    "--sort",
    default="newest",
    show_default=True,
    type=click.Choice(("newest", "broken", "certainty", "longest", "errors", "tokens")),
    help="Order; `broken` puts broken traces first, the newest of them on top.",
)
@click.option("--columns", type=declaring.ColumnsType(), help=f"Columns, separated by commas, of {declaring.COLUMNS}.")
@click.option("--header", is_flag=True, help="Print the column names in a pipe too.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.list_traces:list_traces")
def list_traces() -> None:
    """List the traces in the database, the newest first; with a FILTER, those that match.

    A filter consists of words and `key:value` terms, combined with `and`, `or`, `not` and parentheses:

    \b
    weaklink list status:broken model:hermes*
    weaklink list 'code:J104,S2 (tool:get_weather or Oslo)'
    weaklink list 'arg:$.city=Oslo not status:ok' --sort tokens
    weaklink list 'duration:>2m tokens:>4k since:3d'

    \b
    What it was    status (or running, idle), model, source, project, format,
                   name, id, session, prompt
    What it did    tool, arg, kind, calls, turns, tokens, reasoning
    What failed    code, severity, errors, warnings, step (at which it broke)
    How long       duration, first_token, gap, since, before
    Your marks     marked:yes, note

    A comma is `or` between values, `*` matches anything, numbers take > >= < <= and units. docs/commands.md
    lists all keys. In a pipe, values are complete and separated by tabs. Later commands accept `@3` for the third
    trace of the last list, and `latest` for the newest trace that is not a fork.
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("search")
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, type=declaring.FilterType())
@declaring.filter_option
@click.option(
    "--limit", "-n", default=20, show_default=True, type=click.IntRange(min=1), help="Maximum number of results."
)
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.list_traces:search")
def search() -> None:
    """Find the traces that contain all of WORDS, the newest first, and show the first match of each.

    Case and accents are ignored, and so are chunk boundaries. `word*` finds words with this prefix, '"two words"'
    finds a phrase, and terms of `list --filter` can be added:

    \b
    weaklink search Oslo status:broken
    weaklink search '"could not parse"' tool:get_weather

    With --json, prints one JSON line per hit.
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("show")
@click.argument("named", metavar="[ID|LINK]", default="latest")
@click.option("--last-broken", is_flag=True, help="Show the newest trace whose chain broke, instead of ID.")
@click.option("--turns", "ranges", metavar="RANGES", help="Print only these turns, such as `4`, `2-5` or `1,7-`.")
@click.option("--full", is_flag=True, help="Print long texts in full, and valid calls as they were written.")
@click.option("--brief", "in_brief", is_flag=True, help="Print the verdict as Markdown of at most 2 kB, for an agent.")
@click.option("--why", is_flag=True, help="Print which facts, words and places decided the verdict.")
@click.option(
    "--context",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(min=0),
    metavar="[TURN]",
    help="Print the request that this turn answers, as the model read it; without TURN the last one.",
)
@click.option(
    "--context-diff",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(min=0),
    metavar="[TURN]",
    help="Print what changed in that request since the previous one.",
)
@click.option("--redactions", is_flag=True, help="Print where secrets were replaced, and which rule finds them.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.show:show")
def show() -> None:
    """Show one trace (the newest): its verdict, break and answer, its chain, and its turns with faults marked in place.

    ID is the number that `weaklink list` prints, the beginning of an id from its source, `latest`, or `@3` for the
    third trace of the last list. A link (`weaklink://trace/12?step=4`, or the address of a trace in the web page) shows
    only the turns that it points to. Long texts are shortened in the middle, faults never.
    """


@declaring.command("diff")
@click.argument("words", metavar="[RUN]...", nargs=-1)
@click.option("--task", metavar="ID", help="Compare all runs of this task: the good with the bad ones.")
@declaring.filter_option
@click.option("--full", is_flag=True, help="Print every step and every difference in full.")
@click.option(
    "--requests",
    "turns",
    metavar="TURN[,TURN]",
    callback=declaring.read_turns,
    help="Print the requests of the first two runs for this turn, side by side.",
)
@click.option(
    "--layer",
    type=click.Choice(("emitted", "parsed", "executed", "returned", "read")),
    help="Compare calls and results as this layer recorded them; steps without it are left out.",
)
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.diff:diff")
def diff() -> None:
    """Show where runs of one task first diverge, and what differs there.

    A RUN is the number that `weaklink list` prints, `@marked` or `@shown`; a file of any source that `weaklink import`
    reads, with all its traces; or FILE#RECORD, one of them by its number, name or id. All are compared with the first.
    Differences between the requests come first.

    --task or --filter compare all runs of a task: where the bad runs most often diverge from the good ones.

    \b
    weaklink diff 12 15
    weaklink diff 12 15 --requests 4
    weaklink diff 12 15 --layer executed
    weaklink diff before.jsonl#3 after.jsonl#3
    weaklink diff --task 46
    weaklink diff --filter 'session:task_id=46 model:qwen*'
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("tui")
@click.argument("trace", metavar="[ID|LINK|FILE]", required=False)
@click.option("--against", metavar="ID", help="Compare the trace with this one; `r` then shows both requests.")
@click.option("--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces that match.")
@click.option(
    "--theme",
    type=click.Choice(["auto", "dark", "light", "ansi"]),
    default="auto",
    show_default=True,
    help="Colours; `ansi` leaves them to the terminal. `auto` follows NO_COLOR and what the terminal reports.",
)
@declaring.database_option
@declaring.implemented_by("weaklink.ui.cli.tui:tui")
def tui() -> None:
    """Browse traces in the terminal; a trace opens at the step where it broke.

    ID opens a trace at once. A link opens the place that it points to: `weaklink://trace/12?step=4`, which `y` copies,
    or the address of a trace in the web page. FILE opens a file of training data, with the faults that `data lint`
    finds in each row, or any log that `import` reads; nothing of it is stored. `?` shows all keys; change them in
    keymap.toml in your config folder, or in the file that WEAKLINK_KEYMAP names.
    """


@declaring.command("web")
@declaring.database_option
@click.option(
    "--port", default=8789, show_default=True, type=click.IntRange(0, 65535), help="The port; 0: any free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on.")
@click.option("--token", default="", metavar="WORD", help="A token that browsers must send; `random` generates one.")
@click.option("--tokens", is_flag=True, help="Accept the tokens of the database; see `weaklink db token`.")
@click.option("--user-header", default="", metavar="HEADER", help="The header in which a reverse proxy names the user.")
@click.option("--on", "results", metavar="DIR", help="Show the results that `import --to DIR` wrote; folder or URL.")
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="A host name under which browsers may open the dashboard."
)
@declaring.implemented_by("weaklink.ui.cli.web:web")
def web() -> None:
    """Serve the dashboard: which models, tools and prompts break chains, how often, and where.

    Listens on this machine only. Another address requires `--token` or `--tokens`, since anyone who can open the page
    can read every trace. Nothing leaves the machine: no usage statistics, no fonts, no links are loaded. Press Ctrl-C
    to stop.
    """


@declaring.command("mcp")
@declaring.database_option
@click.option("--http", is_flag=True, help="Serve streamable HTTP on this machine instead of standard streams.")
@click.option("--port", default=8791, show_default=True, type=click.IntRange(1, 65535), help="The port for --http.")
@click.option("--allow-run", default="", metavar="COMMAND", help="Let agents replay runs of just this command.")
@declaring.implemented_by("weaklink.ui.cli.agents:mcp")
def mcp() -> None:
    """Serve the database to coding agents, as an MCP server.

    Its tools list traces, tell why one broke, show characters, compare two runs, explain rules and check texts. They
    only read; with `--allow-run` one more runs COMMAND with a recorded run's answers, offline. Answers are bounded, and
    secrets in them are masked.
    """


@click.group("skill")
def skill() -> None:
    """Install weaklink's skill, a page that tells coding agents when and how to use it."""


@skill.command("install")
@click.option("--to", "folder", required=True, metavar="DIR", help="The agent's folder of skills: `.claude/skills`.")
@declaring.implemented_by("weaklink.ui.cli.agents:install_skill")
def install_skill() -> None:
    """Write the skill to DIR/weaklink/SKILL.md, in place of an older one."""
