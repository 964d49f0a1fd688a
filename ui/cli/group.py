"""The command group `weaklink`: a table of lazily imported subcommands, shell completion, one sentence per error."""

import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.version import __version__
from weaklink.ui.cli.declaring import COULD_NOT_RUN, INTERRUPTED, WEAKLINK_TOML
from weaklink.ui.views.styled_text import visible_line

_BREAK = lazy_pattern(r"[\s\"'@><=;|&(:]")
_WORDS, _LINE = 'COMP_WORDS="${COMP_WORDS[*]}"', 'COMP_WORDS="${COMP_LINE:0:COMP_POINT}"'


class WholeWords(BashComplete):
    """Click's bash completion, but it reads the line up to the cursor, and completes bash's last word."""

    source_template = BashComplete.source_template.replace(_WORDS, _LINE)
    name = "bash"
    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at the cursor, and that one as far as it is typed."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        begun = words.pop() if words and not line[-1:].isspace() else ""
        is_quoted = any(line.count(mark) % 2 for mark in "\"'")
        ends = [0] if is_quoted else [match.end() for match in _BREAK.finditer(begun)]
        self._before = begun[: max(ends, default=0)]
        return words[1:], begun

    def format_completion(self, item: CompletionItem) -> str:
        """One line: the kind of the completion, and the text that replaces bash's last word."""
        return f"{item.type},{str(item.value).removeprefix(self._before)}"


class CommandEntry(NamedTuple):
    """Where a subcommand is (`module:attribute` in `weaklink.ui.cli`), its line and its section in the list."""

    target: str
    summary: str
    section: str = "Commands"


_RECORD, _READ, _JUDGE, _DATA, _KEEP = "Record", "Read", "Judge", "Training data", "Keep"
COMMANDS = MappingProxyType(
    {
        "run": CommandEntry("run:run", "Run a command and record its requests to models.", _RECORD),
        "replay": CommandEntry("replay:replay", "Run a command again, or serve it, with recorded answers.", _RECORD),
        "record": CommandEntry(
            "record:record", "Record requests to models by a proxy, or output from a pipe.", _RECORD
        ),
        "import": CommandEntry("import_paths:import_paths", "Import log files into the database.", _RECORD),
        "watch": CommandEntry("watch:watch", "Import logs while agents write them; print breaks.", _RECORD),
        "tail": CommandEntry("tail:tail", "Follow what is being recorded.", _RECORD),
        "demo": CommandEntry("demo:demo", "Try weaklink on sample traces.", _READ),
        "segment": CommandEntry("segment:segment_text", "Split one raw model output into spans and calls.", _READ),
        "list": CommandEntry("list_traces:list_traces", "List traces, with status and break.", _READ),
        "show": CommandEntry("show:show", "Show one trace, and what is wrong with it.", _READ),
        "search": CommandEntry("list_traces:search", "Find words in the texts of traces.", _READ),
        "diff": CommandEntry("diff:diff", "Show where runs of one task diverge.", _READ),
        "tui": CommandEntry("tui:tui", "Browse the traces in the terminal.", _READ),
        "web": CommandEntry("web:web", "Browse the traces in a browser.", _READ),
        "mcp": CommandEntry("agents:mcp", "Serve the database to agents (MCP).", _READ),
        "skill": CommandEntry("agents:skill", "Install a skill for coding agents.", _READ),
        "check": CommandEntry("check:check", "Inspect log files without a database; for CI.", _JUDGE),
        "ask": CommandEntry("ask:ask", "Send a turn's request many times; count what breaks.", _JUDGE),
        "probe": CommandEntry("probe:probe", "Measure which calls an endpoint breaks, and why.", _JUDGE),
        "doctor": CommandEntry("doctor:doctor", "Run a command several times; find why runs differ.", _JUDGE),
        "stats": CommandEntry("stats:stats", "Measure how often calls and chains succeed.", _JUDGE),
        "sql": CommandEntry("sql:sql", "Query results of `import --to` with SQL.", _JUDGE),
        "report": CommandEntry("report:report", "Write HTML pages about what breaks.", _JUDGE),
        "rules": CommandEntry("rules:rules", "List the rules, or explain one.", _JUDGE),
        "formats": CommandEntry("formats:formats", "List the formats, or detect the format of a text.", _JUDGE),
        "data": CommandEntry("group:data", "Lint, score, verify and make training data.", _DATA),
        "export": CommandEntry("export:export", "Write traces as files for other tools.", _KEEP),
        "db": CommandEntry("database:database", "Upgrade, check, back up, measure or prune it.", _KEEP),
        "schema": CommandEntry("reference:schema", "Print the schema of a command's JSON.", _KEEP),
        "completion": CommandEntry("reference:completion", "Complete commands in your shell.", _KEEP),
        "help": CommandEntry("reference:help_pages", "Print help on a command or on exit codes.", _KEEP),
    }
)
DATA_COMMANDS = MappingProxyType(
    {
        "lint": CommandEntry("data.lint:lint", "Find faults in training data; for CI."),
        "score": CommandEntry("data.score:score", "Score each call of a set in four dimensions."),
        "report": CommandEntry("data.report:report", "Show how diverse a set is, and what it lacks."),
        "convert": CommandEntry("data.convert:convert", "Rewrite raw outputs and conversations into another format."),
        "verify": CommandEntry("data.verify:verify", "Judge candidates by binary verifiers, and keep those that pass."),
        "inject": CommandEntry(
            "data.inject:inject", "Make error-recovery samples: a fault, its refusal, and the corrected call."
        ),
        "negatives": CommandEntry("data.negatives:negatives", "Add samples without a call, up to a share of the set."),
        "render": CommandEntry(
            "data.render:render", "Write each scenario in all formats, or in the shape of a trainer."
        ),
        "fix": CommandEntry("data.fix:fix", "Write a copy with safe repairs, and a diff."),
        "annotate": CommandEntry(
            "data.annotate:annotate", "Write data flow and decision points, one JSON object per trace."
        ),
    }
)
EVERYDAY = frozenset(
    ("run", "replay", "record", "import", "tail", "demo", "segment", "list", "show", "search", "diff", "tui", "web")
) | {"check", "rules"}
"""What `weaklink --help` lists; `weaklink help --all` lists the rest too."""

LISTS_ALL = "weaklink.lists_all"
"""The key in a context's `meta` with which `--help` lists every command."""

RENAMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "rule": ("rules",),
        "serve": ("replay", "--serve"),
        "log": ("record", "--log"),
        "reinspect": ("db", "reinspect"),
        "join": ("db", "join"),
    }
)
"""The names of 0.2 and the words that replace them; they go with the release after 0.3."""


add_completion_class(WholeWords)


class LazyGroup(click.Group):
    """A group whose subcommands are in a table, `COMMANDS` or another, and are imported one at a time."""

    def __init__(self, *args: Any, table: Mapping[str, CommandEntry] = COMMANDS, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand with this name, imported on demand; None if there is none."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command = getattr(import_module(f"weaklink.ui.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like Click's, but suggests a name of the table for a mistyped one."""
        if ctx.parent is None:
            args = _current_words(args, is_quiet=ctx.resilient_parsing)
        if args[0] not in self.table and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(_unknown_command(args[0], self.table, ctx.command_path), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The lists of subcommands in `--help`: of the whole command those that a day of debugging needs, else all."""
        is_whole = ctx.parent is None and not ctx.meta.get(LISTS_ALL)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.table.items():
            if name in EVERYDAY or not is_whole:
                sections.setdefault(entry.section, []).append((name, entry.summary))
        for title, listed in sections.items():
            with formatter.section(title):
                formatter.write_dl(listed)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completions for a subcommand that is being typed, from the table."""
        items = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self.table.items()
            if name.startswith(incomplete)
        ]
        return items + (click.Command.shell_complete(self, ctx, incomplete) if incomplete.startswith("-") else [])

    def invoke(self, ctx: click.Context) -> object:
        """Like Click's, but a closed pipe or Ctrl-C ends the command quietly."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`weaklink COMMAND --help` has details, `weaklink help --all` lists every command, "
    "`weaklink help exit-codes` the exit codes. Start with `weaklink demo`.",
)
@click.version_option(__version__, message="weaklink %(version)s")
@click.option("--db", "where", metavar="PATH_OR_URL", help="The database; also after the command.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), help="Use colours; also after the command.")
def weaklink(where: str | None, color: str | None) -> None:  # `WeaklinkCommand` passes them on
    """Find the link where an LLM agent's tool chain broke.

    Reads raw model output and the logs of agents, and marks what is wrong with each tool call at the exact characters.
    Data goes to stdout, everything else to stderr.
    """
    _register_formats()


@click.group(
    cls=LazyGroup, table=DATA_COMMANDS, epilog="`weaklink data COMMAND --help` has details. See docs/training-data.md."
)
def data() -> None:
    """Work on training data: JSON lines, Parquet, and folders of Hugging Face `datasets`.

    No command changes the files that it reads.
    """


def _register_formats() -> None:
    """Register the formats of the nearest weaklink.toml."""
    try:
        folder = Path.cwd()
    except OSError:  # the folder was deleted
        return
    if any((parent / WEAKLINK_TOML).is_file() for parent in (folder, *folder.parents)):
        from weaklink.ui.cli.format_options import register_configured_formats  # noqa: PLC0415  # few folders need it

        register_configured_formats(folder)


def run() -> int:
    """Run the command with this process's arguments, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = weaklink.main(prog_name="weaklink", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return COULD_NOT_RUN
    except click.ClickException as error:
        return _fail(error.format_message())
    except click.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except WeaklinkError as error:
        return _fail(str(error))
    return code if isinstance(code, int) else 0


def _fail(sentence: str) -> int:
    """Print why the command could not run, and return the exit code for that."""
    sys.stderr.write(f"weaklink: {visible_line(sentence)}\n")
    return COULD_NOT_RUN


def _current_words(words: list[str], *, is_quiet: bool) -> list[str]:
    """The words with the command's present name; says so on stderr if that differs, unless `is_quiet`."""
    name, rest = words[0], words[1:]
    current = ("run", "--") if name == "record" and "--" in rest else RENAMED.get(name)
    if current is None:
        return words
    if not is_quiet:
        old, new = ("record -- COMMAND", "run -- COMMAND") if name == "record" else (name, " ".join(current))
        new = new.replace("--log", "FILE` or `weaklink record -")
        sys.stderr.write(f"weaklink: `weaklink {old}` is now `weaklink {new}`; the old name will go with 0.4.\n")
    return ["run", *rest] if name == "record" else [*current, *rest]


def _unknown_command(name: str, table: Iterable[str], group: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # 2 ms that only a mistyped name needs

    nearest = get_close_matches(name.lower(), table, n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else f"; `{group} help --all` lists them all."
    return f"there is no command `{visible_line(name)}`{hint}"
