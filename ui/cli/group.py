"""The command `weaklink` itself: subcommands that load when they run, and errors as one sentence each."""

import os
import sys
from importlib import import_module
from io import TextIOWrapper

import click
from click.shell_completion import CompletionItem, add_completion_class

from inspector.errors import WeaklinkError
from inspector.version import __version__
from ui.cli.bash_completion import WholeWords
from ui.cli.commands import COMMANDS
from ui.views.visible import visible_line

add_completion_class(WholeWords)

_COULD_NOT_RUN = 2
_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose subcommands stand in a table and are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name, imported now."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.place.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Click's, but a mistyped name is compared with the table."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(_no_such(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of subcommands in `--help`, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a shell offers while a subcommand is being typed, from the table."""
        found = [
            CompletionItem(name, help=entry.summary) for name, entry in COMMANDS.items() if name.startswith(incomplete)
        ]
        return found + (click.Command.shell_complete(self, ctx, incomplete) if incomplete.startswith("-") else [])

    def invoke(self, ctx: click.Context) -> object:
        """Click's, but the end of a pipe and Ctrl-C end the command quietly."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`weaklink COMMAND --help` says more. Begin with `weaklink demo`.",
)
@click.version_option(__version__, message="weaklink %(version)s")
def weaklink() -> None:
    """Find the link where an LLM agent's tool chain broke.

    Reads raw model output and the logs of agents, and marks what is wrong with each tool call at the exact characters.
    Data goes to stdout, everything else to stderr. The exit code is 0 when the command ran, whatever it found, and 2
    when it could not; `check` alone exits with 1 when it found what it is to fail on.
    """


def run() -> int:
    """Run the command with this process's arguments; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = weaklink.main(prog_name="weaklink", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return _COULD_NOT_RUN
    except click.ClickException as error:
        return _said(error.format_message())
    except click.Abort:
        return _INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (WeaklinkError, OSError) as error:
        return _said(str(error))
    return code if isinstance(code, int) else 0


def _said(sentence: str) -> int:
    """Say why the command could not run; the exit code for it."""
    sys.stderr.write(f"weaklink: {visible_line(sentence)}\n")
    return _COULD_NOT_RUN


def _no_such(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # 2 ms that only a mistyped name needs

    nearest = get_close_matches(name.lower(), COMMANDS, n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else "; `weaklink --help` lists them all."
    return f"there is no command `{visible_line(name)}`{hint}"
