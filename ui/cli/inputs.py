"""What commands read: files and standard input, as bytes, text and tool definitions."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from inspector.errors import UnreadableFileError
from inspector.model import Json, ToolDefinition
from inspector.text import decode
from inspector.wire.openai_messages import read_tools

STDIN = "-"


def open_binary(path: str) -> AbstractContextManager[BinaryIO]:
    """A file, or standard input where `path` is `-`, as bytes. Raises UnreadableFileError."""
    if path == STDIN:
        if sys.stdin.isatty():
            sys.stderr.write("weaklink: reading from the terminal; end with Ctrl-D\n")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def read_text(path: str) -> str:
    """The whole text of a file or of standard input; bytes that are not UTF-8 are kept. Raises UnreadableFileError."""
    with open_binary(path) as file:
        try:
            return decode(file.read())
        except OSError as error:
            raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def read_tool_file(path: str) -> tuple[ToolDefinition, ...]:
    """The tool definitions of a JSON file: a list of them, or an object that holds it under `tools`.

    Raises UnreadableFileError where the file is no JSON or holds anything else.
    """
    try:
        value: Json = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{path} is not JSON: {error}") from error
    try:
        return tool_definitions(value.get("tools") if isinstance(value, dict) else value)
    except ValueError as error:
        raise UnreadableFileError(f"{path}: {error}") from error


def tool_definitions(value: Json) -> tuple[ToolDefinition, ...]:
    """Tool definitions from their list, each OpenAI-shaped or bare. Raises ValueError for anything else."""
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise ValueError("`tools` must be a list of tool definitions, each an object")
    return read_tools(value)
