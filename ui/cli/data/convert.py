"""`weaklink data convert`: rewrite raw outputs and conversations in another format, one JSON line each."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from weaklink.inspector.dataset.convert import convert_row
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow, renamed_members
from weaklink.inspector.dataset.rows import read_data, table_kind
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.data.toolalpaca import instance_rows
from weaklink.inspector.importers.records import layout_of, parse_json_bytes, read_lines
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.segmentation import AUTO
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.data.options import NO_COLUMNS, map_option
from weaklink.ui.cli.declaring import FAILED
from weaklink.ui.cli.files import STDIN, open_binary, read_tool_file
from weaklink.ui.views.styled_text import counted


@declaring.command("convert")
@click.argument("file", default=STDIN)
@click.option("--from", "source", default=AUTO, show_default=True, metavar="NAME", help="The input format.")
@click.option("--to", "target", required=True, metavar="NAME", help="The output format.")
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools, for lines that name none.")
@map_option
@click.pass_context
def convert(
    ctx: click.Context, *, file: str, source: str, target: str, tool_file: str | None, columns: Mapping[str, str]
) -> None:
    """Rewrite raw model outputs and conversations into another format.

    FILE contains JSON lines or an array, plain or packed, or is Parquet, Arrow or a folder of them; `-`, or nothing, is
    standard input, with JSON lines. A row is one raw output, {"id", "text", "prompt"?, "tools"?}, or a conversation of
    any shape in docs/training-data.md. Each is answered by one line of the same shape, or with `messages`; `dropped`
    lists what the new format cannot express and which calls were malformed.
    An invalid line is answered by {"id", "error"}, and the command then exits with 1.

    \b
    Example:
      weaklink data convert --from hermes --to mistral train.jsonl > train.mistral.jsonl
    """
    source_format = None if source == AUTO else find_format(source)
    target_format = find_format(target)
    tools = read_tool_file(tool_file) if tool_file else ()
    try:
        if is_line_file(file):
            with _open_unpacked(file) as lines:
                bad = sum(_put(line) for line in _answers(lines, source_format, target_format, tools, columns))
        else:
            rows = (row.renamed(columns) if isinstance(row, DataRow) else row for row in read_data([file]))
            bad = sum(_put(row_answer(row, source_format, target_format, tools)) for row in rows)
    except DamagedDataError as error:
        raise UnreadableFileError(f"cannot read {file} to its end: {error}") from error
    if bad:
        print_notice(f"{counted(bad, 'line')} could not be converted")
        ctx.exit(FAILED)


def is_line_file(path: str) -> bool:
    """Whether a file is read line by line: all but tables, arrays and folders; so is standard input, and a pipe."""
    if path == STDIN or not Path(path).is_file():
        return not Path(path).is_dir()
    file = SourceFile(path)
    with file.open_stored() as stored:
        kind = table_kind(stored, path)
    return kind is None and layout_of(file.head) != "entry"


def row_answer(
    row: DataRow | RejectedRow, source: Format | None, target: Format, tools: tuple[ToolDefinition, ...]
) -> dict[str, Json]:
    """The converted row, or `{"id", "error"}` if it cannot be read or converted."""
    if isinstance(row, RejectedRow):
        return {"id": None, "error": f"{row.record}: {row.reason}"}
    try:
        return convert_row(row.value, source, target, tools=tools)
    except ValueError as error:
        return {"id": row.value.get("id"), "error": str(error)}


@contextmanager
def _open_unpacked(path: str) -> Iterator[BinaryIO]:
    """The content of a file, unpacked if it is gzip or zstd; pipes and standard input are not unpacked."""
    with open_binary(path) as stored:
        if path == STDIN or not Path(path).is_file():
            yield stored
            return
        with SourceFile(path).open() as content:
            yield content


def _put(answer: dict[str, Json]) -> bool:
    """Print an answer at once, and return whether it is an error."""
    sys.stdout.write(write_json(answer) + "\n")
    sys.stdout.flush()
    return "error" in answer and len(answer) == 2


def _answers(
    lines: BinaryIO,
    source: Format | None,
    target: Format,
    tools: tuple[ToolDefinition, ...],
    columns: Mapping[str, str],
) -> Iterator[dict[str, Json]]:
    """The answers to each line in order; blank lines get none. Holds one line in memory at a time."""
    for line in read_lines(lines):
        if isinstance(line, Skipped):
            yield {"id": None, "error": f"{line.record}: {line.reason}"}
        else:
            yield from answers(line.raw, source, target, tools, columns=columns)


def answers(
    line: bytes,
    source: Format | None,
    target: Format,
    tools: tuple[ToolDefinition, ...] = (),
    *,
    columns: Mapping[str, str] = NO_COLUMNS,
) -> Iterator[dict[str, Json]]:
    """The converted row of one line, or `{"id", "error"}` if the line is not a row.

    A line that holds several conversations (ToolAlpaca) has an answer for each. `columns` are those of
    `DataRow.renamed`.
    """
    row_id: Json = None
    try:
        row = parse_json_bytes(line.removeprefix(b"\xef\xbb\xbf"))
        if not isinstance(row, dict):
            raise ValueError("not a JSON object")  # reported like any other bad line
        row_id = row.get("id")
        row = renamed_members(row, columns)
        for instance in instance_rows(row) or [row]:
            yield convert_row(instance, source, target, tools=tools)
    except ValueError as error:
        yield {"id": row_id, "error": str(error)}
