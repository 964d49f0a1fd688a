"""The option `--chat-template`, and `weaklink formats --derive`."""

import re
import sys
from pathlib import Path

import msgspec

from weaklink.inspector.chat_templates.derivation import derive_format
from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.errors import FormatTableError
from weaklink.inspector.formats.format_table import FormatTable, format_of, read_format_table, write_format_table
from weaklink.inspector.formats.registry import register_format
from weaklink.inspector.json_text import write_json
from weaklink.ui.cli.files import read_text


def registered_format(file: str) -> str:
    """The name of the format of a table or a chat template, which is registered in this process.

    Raises ChatTemplateError and FormatTableError.
    """
    format = format_of(_table(Path(file)))
    try:
        register_format(format)
    except ValueError as error:
        raise FormatTableError(f"{file}: {error}; choose another `name`") from error
    return format.name


def put_derived(file: str, *, as_json: bool) -> None:
    """Print the table of the format that is derived from a chat template."""
    table = _derived(Path(file))
    text = write_json(msgspec.to_builtins(table)) + "\n" if as_json else write_format_table(table)
    sys.stdout.write(text)


def _table(path: Path) -> FormatTable:
    return read_format_table(read_text(str(path)), path.name) if path.suffix == ".toml" else _derived(path)


def _derived(path: Path) -> FormatTable:
    words = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    return derive_format(read_chat_template(path), f"{words[:48]}-template" if words else "template")
