"""The redactor for what a command records or imports, by its options."""

import click

from inspector.capture.redacting import NoRedaction, Redacts
from inspector.redaction.redactor import Redactor


def redactor_of(patterns: tuple[str, ...], *, no_redact: bool, no_content: bool) -> Redacts:
    """The redactor that the options select. Raises UsageError."""
    if no_redact and (patterns or no_content):
        raise click.UsageError("--no-redact keeps everything; it cannot be combined with --redact or --no-content.")
    if no_redact:
        return NoRedaction()
    try:
        return Redactor(patterns, keep_content=not no_content)
    except ValueError as error:
        raise click.UsageError(f"--redact: {error}.") from error
