"""Building blocks of commands: their class, shared options and parameter types."""

import gc
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from weaklink.inspector.scanning import lazy_pattern
from weaklink.ui.views.styled_text import visible_line

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[Callable[..., Any]], Callable[..., Any]]

AUTO = "auto"
STDIN = "-"
DEFAULT_PORT = 8788
CONTEXT_WINDOW = 131_072
FEWEST_TRACES = 5
IDLE_AFTER_S = 300.0
COLUMNS = (
    "status, id, when, age, title, project, model, format, source, task, turns, calls, errors, tokens, took, layer, "
    "sure, map, break"
)
BLOCK_MIB = 8
# Exit codes, as `weaklink help exit-codes` lists them.
FAILED, COULD_NOT_RUN, INTERRUPTED = 1, 2, 130


def all_of(*options: _Option) -> Callable[[_Command], _Command]:
    """A decorator that adds the options in this order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            option(command)
        return command

    return add


_PATH = lazy_pattern(r"FILE|PATH|DIR")

# The section of `--help` in which an option is listed, by the name of its parameter; all others come first.
_SECTIONS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "Report": ("output", "select", "ignore", "baseline", "new_baseline", "config_file", "no_config"),
        "Redaction": ("patterns", "no_redact", "no_content"),
        "General": ("as_json", "where", "color", "help"),
        "At scale": ("jobs", "engine", "resume", "block_size", "ray_address"),
    }
)


class WeaklinkCommand(click.Command):
    """A command whose `--help` has sections, and that takes `--db` and `--color` also from before its name.

    A command without a database or colours accepts both and does nothing with them.
    """

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        known = {option for param in self.params for option in param.opts}
        for name in ("--db", "--color"):
            if name not in known:
                self.params.append(click.Option([name], hidden=True, expose_value=False))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like Click's; what stands before the command's name comes first, so that what follows it decides."""
        given = ctx.find_root().params
        options = (("--db", given.get("where")), ("--color", given.get("color")))
        is_root = ctx.parent is None
        before = [word for name, value in options if value is not None and not is_root for word in (name, value)]
        rest = super().parse_args(ctx, [*before, *args] if args or not self.no_args_is_help else args)
        self._refuse_empty_words(ctx)
        return rest

    def _refuse_empty_words(self, ctx: click.Context) -> None:
        """UsageError for an empty argument or path: `"$FOLDER"` of an unset variable would be the current folder."""
        for param in self.params:
            value = ctx.params.get(param.name or "")
            words = value if isinstance(value, tuple) else (value,)
            is_argument = isinstance(param, click.Argument) and not isinstance(param.type, _MAY_BE_EMPTY)
            if "" in words and (is_argument or _PATH.search(param.make_metavar(ctx))):
                word = param.opts[0] if isinstance(param, click.Option) else "An argument"
                raise click.UsageError(f"{word} is empty; is a variable of the shell unset?", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Like Click's, with the garbage collector that `weaklink.command` turned off for the imports."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of `--help`, by sections."""
        section_of = {name: title for title, names in _SECTIONS.items() for name in names}
        listed: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *_SECTIONS)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                listed[section_of.get(param.name or "", "Options")].append(record)
        for title, records in listed.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class CommandGroup(click.Group):
    """A group of such commands."""

    command_class = WeaklinkCommand
    group_class = type


def command(name: str, **attributes: Any) -> Callable[[Callable[..., Any]], WeaklinkCommand]:
    """A decorator like `click.command` that makes a `WeaklinkCommand`."""
    return click.command(name, cls=WeaklinkCommand, **attributes)


def removed_options(*names: str, instead: str) -> Callable[[_Command], _Command]:
    """Hidden options of earlier versions; the error for using one says what to use `instead`."""

    def refuse(_: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{option.opts[0]} was removed; {instead}.")

    return all_of(*(click.option(name, hidden=True, expose_value=False, callback=refuse) for name in names))


color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Use colours; `auto` follows NO_COLOR and the terminal.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with a stable schema.")

database_option = click.option(
    "--db",
    "where",
    envvar="WEAKLINK_DB",
    metavar="PATH_OR_URL",
    help="The database: a file, or a PostgreSQL URL.  [env: WEAKLINK_DB; default: weaklink.db in your data folder]",
)

server_parser_option = click.option(
    "--server-parser",
    default="",
    metavar="NAME",
    help="The tool parser of the server, as in `--tool-call-parser` of vLLM and SGLang; instead of --format.",
)
expected_format_option = click.option(
    "--format",
    "-f",
    default="",
    metavar="NAME",
    help="The format in which the server expects calls.  [default: by the model's name]",
)


class FileOrAddress(click.Path):
    """A file that exists, or the http address of a server."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path or the address as it was written."""
        is_address = str(value).startswith(("http://", "https://"))
        return value if is_address else super().convert(value, param, ctx)


chat_template_option = click.option(
    "--chat-template",
    metavar="FILE_OR_URL",
    type=FileOrAddress(exists=True, dir_okay=False),
    help="The model's chat template (Jinja, tokenizer_config.json, GGUF, or the URL of a llama.cpp server, which "
    "publishes it), or a table of `weaklink formats --derive`.",
)

port_option = click.option(
    "--port",
    default=DEFAULT_PORT,
    show_default=True,
    metavar="N",
    help="The port to listen on; 0 for any free port.",
)

no_default_upstreams_option = click.option(
    "--no-default-upstreams",
    is_flag=True,
    help="Refuse requests to servers that neither --upstream nor an environment variable names.",
)

engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Work in processes of this machine, or on a Ray cluster (needs the extra `cluster`).",
)
block_size_option = click.option(
    "--block-size",
    type=click.FloatRange(min=0.001),
    default=BLOCK_MIB,
    show_default=True,
    metavar="MIB",
    help="Size of the blocks that workers process, in MiB.",
)
ray_address_option = click.option(
    "--ray-address",
    envvar="RAY_ADDRESS",
    metavar="ADDRESS",
    help="The Ray cluster to use.  [env: RAY_ADDRESS; default: a cluster on this machine]",
)
jobs_options = all_of(
    click.option(
        "--jobs",
        type=click.IntRange(min=0),
        metavar="N",
        help="Number of workers; 0 for one per core. The output is the same for any number."
        "  [default: 1; with --engine ray, one per CPU of the cluster]",
    ),
    engine_option,
    click.option("--resume", metavar="DIR", help="Keep finished blocks in DIR; the same command continues from there."),
    block_size_option,
    ray_address_option,
)
"""Options of commands that process many files; `ui.importing.engine.takes_engine` combines them into one value."""

redaction_options = all_of(
    click.option(
        "--redact",
        "patterns",
        multiple=True,
        metavar="REGEX",
        help="Also redact what this matches (its first group, if it has one). Can be repeated.",
    ),
    click.option("--no-redact", is_flag=True, help="Keep keys, tokens and passwords as they are."),
    click.option("--no-content", is_flag=True, help="Mask every word; keep structure, sizes and times."),
)
"""Options that redact what a command records or imports; `ui.cli.redaction_options.redactor_of` reads them."""


class ReportFileType(click.ParamType[tuple[str, str]]):
    """`FORMAT=FILE`: a report and the file that it is written to, whose folder must exist."""

    name = "report"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The format and the path; fails for another format and a folder that does not exist."""
        if isinstance(value, tuple):
            return value
        format, equals, path = value.partition("=")
        if not equals or not path or format not in REPORT_FILE_FORMATS:
            self.fail(f"{value!r} is not FORMAT=FILE; the formats are {', '.join(REPORT_FILE_FORMATS)}.", param, ctx)
        if not Path(path).parent.is_dir():
            self.fail(f"The folder of {path} does not exist.", param, ctx)
        return format, path


REPORT_FILE_FORMATS = ("json", "sarif", "junit", "gitlab", "markdown")
"""The reports that `--write-report` writes; the others are lines for a terminal or the log of a job."""

judging_options = all_of(
    click.option(
        "--output",
        type=click.Choice(("text", "json", "sarif", "junit", "github", "gitlab", "markdown")),
        default="text",
        show_default=True,
        help="Format of the report.",
    ),
    click.option(
        "--write-report",
        "report_files",
        type=ReportFileType(),
        multiple=True,
        metavar="FORMAT=FILE",
        help="Also write this report to a file: json, sarif, junit, gitlab or markdown. Can be repeated.",
    ),
    click.option(
        "--select", multiple=True, metavar="RULES", help="Only these rules: codes, names, prefixes (J1,F301)."
    ),
    click.option("--ignore", multiple=True, metavar="RULES", help="All but these rules."),
    click.option("--baseline", metavar="FILE", help="Fail only for faults that are not in FILE."),
    click.option("--write-baseline", "new_baseline", metavar="FILE", help="Write all faults of this run to FILE."),
    click.option("--config", "config_file", metavar="FILE", help="Read the configuration from FILE."),
    click.option("--no-config", is_flag=True, help="Ignore configuration files."),
)
"""Options of every command that fails on faults: rules, severity, report, baseline and configuration."""


class FilterType(click.ParamType[str]):
    """A filter, or one word of it; the shell completes it from the database."""

    name = "filter"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Completions from the filter language and the database; none if there is no database yet."""
        from weaklink.ui.cli.store_options import filter_completions  # noqa: PLC0415  # it loads the store

        return filter_completions(ctx.params.get("where") or None, incomplete)


_MAY_BE_EMPTY = (FilterType, click.types.UnprocessedParamType)

filter_option = click.option(
    "--filter",
    "-f",
    "expression",
    default="",
    metavar="EXPR",
    type=FilterType(),
    help="Only traces that match; see `weaklink list --help`.",
)

_AGE = lazy_pattern(r"(\d{1,9})\s*(h|d|w|y)", re.IGNORECASE)
_SIZE = lazy_pattern(r"(\d{1,9}(?:\.\d{1,6})?)\s*([KMGT]?B)", re.IGNORECASE)
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


class ColumnsType(click.ParamType[tuple[str, ...]]):
    """Names of columns, separated by commas."""

    name = "columns"

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The keys of the columns. Raises BadParameter."""
        from weaklink.ui.views.trace_columns import find_column  # noqa: PLC0415  # it loads the store

        if isinstance(value, tuple):
            return value
        found = [(name.strip(), find_column(name.strip())) for name in value.split(",")]
        unknown = next((name for name, column in found if column is None), None)
        if unknown is not None:
            self.fail(f"there is no column `{visible_line(unknown)}`; the columns are {COLUMNS}", param, ctx)
        return tuple(column.key for _, column in found if column is not None)


def read_turns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """The two turns of `4,6`, or the turn of `4` twice; None if the option is not given. Raises BadParameter."""
    if value is None:
        return None
    numbers = value.split(",")
    if len(numbers) > 2 or not all(number.isdecimal() and 0 < len(number) < 10 for number in numbers):
        raise click.BadParameter(f"`{value}` is neither a turn, such as 4, nor two, such as 4,6.")
    return int(numbers[0]), int(numbers[-1])
