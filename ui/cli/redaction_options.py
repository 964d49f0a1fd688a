"""What is kept of what a command records or imports: options that `record`, `log` and `import` share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from inspector.capture.redacting import NoRedaction, Redacts
from inspector.redaction.redactor import Redactor

_Command = TypeVar("_Command", bound=Callable[..., Any])


def redaction_options(command: _Command) -> _Command:
    """Give a command `--redact`, `--no-redact` and `--no-content`; `redactor_of` makes of them who redacts."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def redactor_of(patterns: tuple[str, ...], *, no_redact: bool, no_content: bool) -> Redacts:
    """The redactor that the options ask for. Raises UsageError."""
    if no_redact and (patterns or no_content):
        raise click.UsageError("--no-redact keeps everything; it goes with neither --redact nor --no-content.")
    if no_redact:
        return NoRedaction()
    try:
        return Redactor(patterns, keep_content=not no_content)
    except ValueError as error:
        raise click.UsageError(f"--redact: {error}.") from error


_OPTIONS = (
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
