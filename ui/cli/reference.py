"""`weaklink schema` and `weaklink completion`: JSON Schemas of command output, and completion scripts."""

import sys
from importlib import resources

import click
from click.shell_completion import get_completion_class

from weaklink.ui.views.styled_text import visible_line

_SUFFIX = ".json"


@click.command("schema")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
def schema(words: tuple[str, ...]) -> None:
    """Print the JSON Schema of what COMMAND prints with --json; without COMMAND, list the commands that have one.

    A schema describes one JSON document; commands that print JSON lines print one such document per line. Later
    versions may add keys; they rename and remove none.

    \b
    weaklink schema list
    weaklink schema db stats
    """  # noqa: D301  # Click needs the backspace itself
    if not words:
        sys.stdout.writelines(f"{name.replace('-', ' ')}\n" for name in schema_names())
        return
    name = "-".join(words)
    if name not in schema_names():
        known = ", ".join(one.replace("-", " ") for one in schema_names())
        raise click.UsageError(f"there is no schema for `{visible_line(' '.join(words))}`; the schemas are: {known}.")
    sys.stdout.write(schema_text(name))


def schema_names() -> list[str]:
    """The commands that have a schema, sorted; the words of a name are joined by `-`."""
    folder = resources.files("weaklink.ui.reports") / "json_schemas"
    return sorted(file.name.removesuffix(_SUFFIX) for file in folder.iterdir() if file.name.endswith(_SUFFIX))


def schema_text(name: str) -> str:
    """The schema of this name as JSON text."""
    return (resources.files("weaklink.ui.reports") / "json_schemas" / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash   weaklink completion bash >> ~/.bashrc
    zsh    weaklink completion zsh >> ~/.zshrc
    fish   weaklink completion fish > ~/.config/fish/completions/weaklink.fish
    """  # noqa: D301  # Click needs the backspace itself
    script_class = get_completion_class(shell)
    assert script_class is not None
    click.echo(script_class(ctx.find_root().command, {}, "weaklink", "_WEAKLINK_COMPLETE").source())
