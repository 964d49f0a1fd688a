"""The option `--chat-template`, and `weaklink formats --derive`."""

import re
import sys
from pathlib import Path

import msgspec

from weaklink.inspector.chat_templates.derivation import derive_format
from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.formats.format_table import FormatTable, read_format_table, write_format_table
from weaklink.inspector.json_text import write_json
from weaklink.ui.cli.configured_formats import register_table
from weaklink.ui.cli.files import read_text


def registered_format(file: str) -> str:
    """The name of the format of a table or a chat template, which is registered in this process.

    Raises ChatTemplateError, FormatTableError and UnreadableFileError.
    """
    return register_table(format_table(file), file)


def format_table(file: str) -> FormatTable:
    """The table in a TOML file, or the one that is derived from a chat template. Raises as `registered_format`."""
    path = Path(file)
    return read_format_table(read_text(file), path.name) if path.suffix == ".toml" else _derived(path)


def put_derived(file: str, *, as_json: bool) -> None:
    """Print the table of the format that is derived from a chat template."""
    table = _derived(Path(file))
    text = write_json(msgspec.to_builtins(table)) + "\n" if as_json else write_format_table(table)
    sys.stdout.write(text)


def _derived(path: Path) -> FormatTable:
    words = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    return derive_format(read_chat_template(path), f"{words[:48]}-template" if words else "template")
