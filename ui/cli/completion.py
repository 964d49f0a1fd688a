"""`weaklink completion`: the script that teaches a shell to complete our commands."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash   weaklink completion bash >> ~/.bashrc
    zsh    weaklink completion zsh >> ~/.zshrc
    fish   weaklink completion fish > ~/.config/fish/completions/weaklink.fish
    """  # noqa: D301  # Click wants the backspace itself
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(ctx.find_root().command, {}, "weaklink", "_WEAKLINK_COMPLETE").source())
