"""The options `--format` and `--server-parser`: in which format a server expects the calls of its model."""

import click

from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.formats.server_parsers import formats_of_parser
from weaklink.inspector.segmentation import AUTO


def expected_format_name(format: str, server_parser: str) -> str:
    """The name of the format that the options name, `""` if none is named.

    UsageError for an unknown name, or if both options are given and do not fit each other.
    """
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
