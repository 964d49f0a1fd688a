"""The formats that a command line or weaklink.toml names.

`--format` and `--server-parser` name a format that weaklink knows. `--chat-template` names a file or a server whose
chat template shows one, or a table that `weaklink formats --derive` wrote from it. A project registers such tables:

    [formats]
    my-model = "formats/my-model.toml"

The key is the format's name, the value the table's path relative to weaklink.toml.
"""

import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from weaklink.inspector.errors import FormatTableError, UnknownFormatError
from weaklink.inspector.formats.format_table import FormatTable, read_format_table, register_table, write_format_table
from weaklink.inspector.formats.registry import find_format, registered_formats
from weaklink.inspector.formats.server_parsers import formats_of_parser
from weaklink.inspector.json_text import write_json
from weaklink.inspector.segmentation import AUTO
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.declaring import WEAKLINK_TOML
from weaklink.ui.cli.files import is_address, read_text

server_parser_option = click.option(
    "--server-parser",
    default="",
    metavar="NAME",
    help="The tool parser of the server, as in `--tool-call-parser` of vLLM and SGLang; instead of --format.",
)
expected_format_option = click.option(
    "--format",
    "-f",
    default="",
    metavar="NAME",
    help="The format in which the server expects calls.  [default: by the model's name]",
)


def expected_format_name(format: str, server_parser: str, chat_template: str | None = None) -> str:
    """The name of the format that the options name, `""` if none is named.

    UsageError for an unknown name, or if options are given that do not fit each other.
    """
    if chat_template is not None:
        if format not in ("", AUTO) or server_parser:
            raise click.UsageError("--chat-template excludes --format and --server-parser.")
        return register_table(kept_table(chat_template), chat_template)
    try:
        named = "" if format in ("", AUTO) else find_format(format).name
        readable = formats_of_parser(server_parser) if server_parser else ()
    except UnknownFormatError as error:
        raise click.UsageError(str(error)) from error
    if not readable:
        return named
    if named and named not in readable:
        raise click.UsageError(f"the parser `{server_parser}` reads {' and '.join(readable)}, not {named}")
    return named or readable[0]


def kept_table(chat_template: str) -> FormatTable:
    """The table of a chat template whose format traces will name; later commands know it only from weaklink.toml.

    Prints how to register it there, if it is not. Raises ChatTemplateError, FormatTableError and UnreadableFileError.
    """
    table = format_table(chat_template)
    if table.name not in (known.name for known in registered_formats()):
        is_table = chat_template.endswith(".toml")
        toml = chat_template if is_table else f"{table.name}.toml"
        first = "" if is_table else f"`weaklink formats --derive {chat_template} > {toml}`, and then "
        print_notice(
            f"later commands read these calls too if the format is registered: {first}"
            f'`{table.name} = "{toml}"` under `[formats]` in {WEAKLINK_TOML}'
        )
    return table


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
    from weaklink.inspector.capture.served_properties import served_properties  # noqa: PLC0415  # HTTP, for this alone
    from weaklink.inspector.chat_templates import derivation, files  # noqa: PLC0415  # rendering, for this alone

    if is_address(file):
        template = files.served_chat_template(served_properties(file), file)
        stem = urlsplit(file).netloc.rpartition("@")[2]
    else:
        template, stem = files.read_chat_template(Path(file)), Path(file).stem
    words = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return derivation.derive_format(template, f"{words[:48]}-template" if words else "template")


def register_configured_formats(folder: Path) -> None:
    """Register the formats of the nearest weaklink.toml, from `folder` upwards, that has a table `formats`.

    A file that is not TOML is left to the command that needs it. Raises FormatTableError and UnreadableFileError.
    """
    for parent in (folder, *folder.parents):
        path = parent / WEAKLINK_TOML
        named = _formats(path) if path.is_file() else None
        if named is not None:
            for name, file in named.items():
                _register(path, name, file)
            return


def _formats(path: Path) -> dict[str, object] | None:
    try:
        formats = tomllib.loads(path.read_text(encoding="utf-8")).get("formats")
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return None
    if formats is not None and not isinstance(formats, dict):
        raise FormatTableError(f"{path}: `formats` must be a table of names and files")
    return formats


def _register(path: Path, name: str, file: object) -> None:
    if not isinstance(file, str) or not file.endswith(".toml"):
        raise FormatTableError(f"{path}: `formats.{name}` must be the path of a table that `formats --derive` wrote")
    origin = f"{path}: `formats.{name}`"
    table = read_format_table(read_text(str(path.parent / file)), file)
    register_table(msgspec.structs.replace(table, name=name), origin)
