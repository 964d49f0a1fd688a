"""The option `--chat-template`, and `weaklink formats --derive`."""

import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from weaklink.inspector.capture.served_properties import served_properties
from weaklink.inspector.chat_templates.derivation import derive_format
from weaklink.inspector.chat_templates.files import read_chat_template, served_chat_template
from weaklink.inspector.formats.format_table import FormatTable, read_format_table, register_table, write_format_table
from weaklink.inspector.json_text import write_json
from weaklink.ui.cli.files import is_address, read_text


def registered_format(file: str) -> str:
    """The name of the format of a table or a chat template, which is registered in this process.

    Raises ChatTemplateError, FormatTableError and UnreadableFileError.
    """
    return register_table(format_table(file), file)


def format_table(file: str) -> FormatTable:
    """The table in a TOML file, or the one that is derived from a chat template: a file's, or a server's.

    Raises as `registered_format`.
    """
    return read_format_table(read_text(file), Path(file).name) if file.endswith(".toml") else _derived(file)


def put_derived(file: str, *, as_json: bool) -> None:
    """Print the table of the format that is derived from a chat template."""
    table = _derived(file)
    text = write_json(msgspec.to_builtins(table)) + "\n" if as_json else write_format_table(table)
    sys.stdout.write(text)


def _derived(file: str) -> FormatTable:
    if is_address(file):
        template, stem = served_chat_template(served_properties(file), file), urlsplit(file).netloc.rpartition("@")[2]
    else:
        template, stem = read_chat_template(Path(file)), Path(file).stem
    words = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return derive_format(template, f"{words[:48]}-template" if words else "template")
