"""The options `--format` and `--server-parser`, and the format that they or `--chat-template` name."""

import click

from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.format_table import FormatTable, register_table
from weaklink.inspector.formats.registry import find_format, registered_formats
from weaklink.inspector.formats.server_parsers import formats_of_parser
from weaklink.inspector.segmentation import AUTO
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.declaring import WEAKLINK_TOML

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
    from weaklink.ui.cli.chat_templates import format_table  # noqa: PLC0415  # what only this option needs

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
