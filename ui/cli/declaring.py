"""Building blocks of commands: their class, and the options that most of them have."""

import gc
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from weaklink.inspector.scanning import lazy_pattern

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[Any], Any]

WEAKLINK_TOML = "weaklink.toml"
"""The name of configuration files."""

# Exit codes, as `weaklink help exit-codes` lists them.
FAILED, COULD_NOT_RUN, INTERRUPTED = 1, 2, 130


def all_of(*options: _Option) -> Callable[[_Command], _Command]:
    """A decorator that adds the options in this order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
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

source_option = click.option(
    "--source", metavar="NAME", help="Treat every file as this source instead of detecting it."
)

database_option = click.option(
    "--db",
    "where",
    envvar="WEAKLINK_DB",
    metavar="PATH_OR_URL",
    help="The database: a file, or a PostgreSQL URL.  [env: WEAKLINK_DB; default: weaklink.db in your data folder]",
)


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
