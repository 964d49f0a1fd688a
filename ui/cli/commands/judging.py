"""Commands that judge: check, ask, doctor, stats, sql, report, rules and formats."""

import click

from weaklink.ui.cli.commands import declaring


@declaring.command("check")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@declaring.judging_options
@click.option(
    "--fail-on",
    type=click.Choice([*declaring.SEVERITIES, "broken", "never"]),
    help="Exit with 1 from this severity up, and for broken chains; `broken`: for these only.  [default: error]",
)
@click.option(
    "--allow-skipped",
    is_flag=True,
    default=None,
    help="Do not fail for records and files that could not be read; print them.",
)
@click.option("--strict", is_flag=True, default=None, help="Also fail for files of unknown sources found in a folder.")
@click.option("--format", metavar="NAME", help="Read every text in this format; see `weaklink formats`.")
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@declaring.jobs_options
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.check:check")
def check() -> None:
    """Inspect log files without a database, and fail for wrong calls and broken chains.

    Each PATH is a file, a folder, a pattern like `logs/**/*.jsonl`, or `-` for standard input. A record or file that
    could not be read is an error, C511 or C513. Defaults of the options come from the nearest weaklink.toml, or
    pyproject.toml with [tool.weaklink]; see docs/ci.md.

    Exits with 1 when something at least as bad as --fail-on or a broken chain was found, and with 2 when no trace could
    be read.

    \b
    Examples:
      weaklink check logs/ --select J,S2 --fail-on warning
      weaklink check logs/ --write-baseline baseline.json
      weaklink check logs/ --baseline baseline.json --output sarif > weaklink.sarif
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("ask")
@click.argument("word", metavar="ID")
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    metavar="N",
    help="The turn whose request is sent again.  [default: the break]",
)
@click.option("--upstream", metavar="URL", help="The server; without it, nothing is sent.")
@click.option("-n", "count", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Number of requests.")
@click.option(
    "--parallel", type=click.IntRange(1, 64), default=4, show_default=True, help="Maximum number of requests at a time."
)
@click.option("--model", metavar="NAME", help="Send to another model.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a member of the request, such as temperature=0; no value removes it. Can be repeated.",
)
@click.option(
    "--system", type=click.Path(exists=True, dir_okay=False), help="Replace the system prompt with this file."
)
@click.option("--tools", type=click.Path(exists=True, dir_okay=False), help="Replace the tools with this JSON file.")
@click.option("--edit", is_flag=True, help="Edit the request in $EDITOR.")
@click.option("--with-fix", is_flag=True, help="Add advice against the turn's fault to the prompt or the tool.")
@click.option("--max-requests", type=click.IntRange(min=1), metavar="N", help="Send at most N requests.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Spend at most N tokens.")
@click.option("--yes", is_flag=True, help="Do not ask before sending.")
@click.option("--api", type=click.Choice(("openai", "anthropic")), help="Rebuild the request for this API.")
@click.option("--key-env", metavar="NAME", help="The environment variable with the key, instead of the provider's.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.ask:ask")
def ask() -> None:
    """Send a turn's request again and count which rules the answers break.

    The request of the turn (by default the one that broke the chain) is sent -n times to --upstream. A changed request
    is compared with the original in pairs. Every answer is saved as a fork of the trace. Without --upstream, prints
    what would be sent. Keys come from the environment (OPENAI_API_KEY, ...) and are never stored. `@marked` or `@shown`
    as ID repeats this for each of those traces.

    \b
    weaklink ask 12 --upstream https://api.openai.com
    weaklink ask 12 --turn 4 --upstream http://localhost:8000 --set temperature=0 -n 50
    weaklink ask latest --with-fix --upstream https://api.anthropic.com --max-requests 40 --max-tokens 100000
    """  # noqa: D301  # Click needs the backspace itself


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
@click.option("--traces/--no-traces", default=True, show_default=True, help="Keep answers with faults in the database.")
@click.option("--yes", is_flag=True, help="Do not ask before sending.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.probe:probe")
def probe() -> None:
    """Measure which tool calls an endpoint breaks, and whose fault that is.

    URL is a server with OpenAI's chat completions. Each of 62 requests has one right answer, and is sent whole and
    streamed. After a fault, weaklink asks for the model's raw text, to tell its faults from the server's. Two URLs are
    compared. Keys come from the environment (OPENAI_API_KEY, ...) and are never stored.

    \b
    weaklink probe http://localhost:8000 --model qwen3
    weaklink probe http://localhost:8000 --model qwen3 --output results.jsonl --fail-under schema=0.99 --yes
    weaklink probe https://a.example/v1 https://b.example/v1 --model kimi-k2 --suite samples.jsonl --mode written

    The exit code is 1 below --fail-under, 2 if nothing was answered.
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("doctor", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("-n", "count", type=click.IntRange(2, 100), default=5, show_default=True, help="Number of runs.")
@click.option("--upstream", metavar="URL", help="The server to forward to, for all clients.")
@declaring.no_default_upstreams_option
@click.option("--fail-on-findings", is_flag=True, help="Exit with 1 if runs diverge or a chain is broken.")
@click.option("--show-output", is_flag=True, help="Print what the command prints, to stderr.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.doctor:doctor")
def doctor() -> None:
    """Run COMMAND several times and show where and why its runs first diverge.

    Each run is recorded as by `weaklink run`, with the same servers, and sends what the command sends. The runs are
    aligned by their requests. The first difference has one of these sources: other answers to equal requests, the
    result of a tool, a date or time or a random id in the prompt, the order of parallel calls, the list of tools.

    \b
    weaklink doctor -- python agent.py
    weaklink doctor -n 20 --fail-on-findings -- ./evaluate.sh

    The exit code is 0; 1 with --fail-on-findings if something was found; 125, 126 and 127 as for `weaklink run`.
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("stats")
@click.argument("words", metavar="[PATH|FILTER]...", nargs=-1)
@click.option("--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces that match, as in `list`.")
@click.option(
    "--by",
    multiple=True,
    metavar="KEYS",
    help="Group by model, tool, format, source, reasoning, prompt, code, layer, owner or day; commas separate.",
)
@click.option("--compare", "compares", is_flag=True, help="Show which groups differ significantly.")
@click.option(
    "--min",
    "fewest",
    default=declaring.FEWEST_TRACES,
    show_default=True,
    type=click.IntRange(min=2),
    metavar="N",
    help="Minimum number of traces for an interval or a comparison.",
)
@click.option("--expected", "expected_path", metavar="FILE", help="JSON lines with the expected calls of each task.")
@click.option("--source", metavar="NAME", help="Treat every PATH as this source instead of detecting it.")
@click.option("--full", is_flag=True, help="Show every group with every measure.")
@declaring.jobs_options
@declaring.json_option
@declaring.database_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.stats:stats")
def stats() -> None:
    """Measure traces in the database or in files: how often calls are valid, chains succeed and errors are recovered.

    \b
    weaklink stats --by model,reasoning
    weaklink stats since:1d --by tool
    weaklink stats --compare model=hermes-4 model=qwen3
    weaklink stats logs/ --by day
    weaklink stats s3://bucket/runs/ --engine ray

    Every value has a 95 % interval, which does not assume that calls of one trace are independent. With --compare,
    p-values are corrected for multiple comparisons. Tool selection and parameter accuracy require --expected: lines of
    {"id", "expected": [{"name", "arguments"}]}, or of the Berkeley leaderboard's possible answers.
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("sql")
@click.argument("statement", metavar="SELECT")
@click.option("--on", "where", required=True, metavar="DIR", help="The folder or URL that `import --to` wrote.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Maximum rows.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@declaring.json_option
@declaring.implemented_by("weaklink.ui.cli.sql:sql")
def sql() -> None:
    """Run one SELECT over results in Parquet, with DuckDB (the extra `duckdb`).

    The tables are traces, turns, calls, steps and diagnostics; docs/scaling.md lists their columns. The statement can
    read nothing else, and runs for at most 10 seconds in 1 GB. --json prints one object per row.

    \b
    Examples:
      weaklink sql 'SELECT status, count(*) FROM traces GROUP BY 1' --on results/
      weaklink sql 'SELECT code, count(*) AS n FROM diagnostics GROUP BY 1 ORDER BY n DESC' --on s3://bucket/results
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("report")
@click.argument("words", metavar="[PATH|FILTER]...", nargs=-1)
@click.option("--out", "-o", required=True, metavar="DIR", help="The folder to write; created if missing.")
@click.option("--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces that match, as in `list`.")
@click.option("--title", default="What breaks", show_default=True, metavar="T", help="The report's title.")
@click.option(
    "--worst", default=20, show_default=True, type=click.IntRange(0, 500), metavar="N", help="Number of chains to add."
)
@click.option("--force", is_flag=True, help="Write even into a folder that contains other files; they are kept.")
@click.option("--source", metavar="NAME", help="Treat every PATH as this source instead of detecting it.")
@declaring.jobs_options
@declaring.database_option
@declaring.implemented_by("weaklink.ui.cli.report:report")
def report() -> None:
    """Write a report: what breaks, how often and where, and a page for each of the worst chains.

    It covers the traces of the database that match FILTER, or those of PATHs: files, folders, patterns and URLs. Open
    DIR/index.html first. The pages load nothing from elsewhere, so they can be mailed. An existing report is replaced
    as a whole; any other folder is left alone.

    The pages of the worst chains contain the texts of the traces: check them before you share them.
    """


@declaring.command("rules")
@click.argument("word", metavar="[CODE_OR_NAME]", required=False)
@declaring.json_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.rules:rules")
def rules() -> None:
    """List every rule, by family; explain one by its code (J104) or its name (trailing-comma)."""


@declaring.command("formats")
@click.argument("file", required=False)
@click.option("--detect", is_flag=True, help="Detect the format of FILE.")
@click.option("--model", default="", metavar="NAME", help="With --detect: the model's name, with or without a FILE.")
@click.option(
    "--derive",
    metavar="TEMPLATE",
    type=declaring.FileOrAddress(exists=True, dir_okay=False),
    help="Print the format in which this chat template shows calls, as TOML for --chat-template.",
)
@declaring.json_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.formats:formats")
def formats() -> None:
    """List the formats that weaklink reads, or detect the format of a text.

    With --detect, FILE is one raw model output; `-`, or neither FILE nor --model, is standard input.

    With --derive, TEMPLATE is a Jinja file, a tokenizer_config.json, a GGUF file, or the URL of a llama.cpp server,
    which publishes its template. The format is derived by rendering
    probes, and printed only if it reads all of them right (needs the extra `templates`).
    """
