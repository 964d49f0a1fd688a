"""The redactor for what a command records or imports, by its options."""

from collections.abc import Mapping

import click

from weaklink.inspector.capture.redacting import NoRedaction, Redacts
from weaklink.inspector.redaction.exact_values import secret_variables
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.ui.cli import declaring

redaction_options = declaring.all_of(
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
"""Options that redact what a command records or imports; `redactor_of` reads them."""


def redactor_of(
    patterns: tuple[str, ...], *, no_redact: bool, no_content: bool, environment: Mapping[str, str] | None = None
) -> Redacts:
    """The redactor that the options select; it knows the secrets of `environment`. Raises UsageError."""
    if no_redact and (patterns or no_content):
        raise click.UsageError("--no-redact keeps everything; it cannot be combined with --redact or --no-content.")
    if no_redact:
        return NoRedaction()
    try:
        return Redactor(patterns, keep_content=not no_content, values=secret_variables(environment or {}))
    except ValueError as error:
        raise click.UsageError(f"--redact: {error}.") from error
