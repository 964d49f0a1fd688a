"""Files that commands read and write: standard streams, pipes, text, tool definitions, and atomic output."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, BinaryIO, TextIO

import click

from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.text import binary_kind, decode

STDIN = "-"
WRITER_TIMEOUT_S = 5.0
"""How long to wait for a writer to open a named pipe."""


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A stream of UTF-8 text: the file at `path`, or stdout if it is None or `-`.

    The file appears when everything is written, readable by its owner only; if anything fails, an old file stays.
    Raises UnwritableFileError.
    """
    if path is not None and path != STDIN:
        with whole_file(path) as stream:
            yield stream
        return
    out = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
    try:
        yield out
    finally:
        out.detach()


def open_binary(path: str) -> AbstractContextManager[BinaryIO]:
    """A file, a pipe, or standard input if `path` is `-`, as bytes.

    Raises UnreadableFileError, also for a named pipe that nothing writes to within `WRITER_TIMEOUT_S`, and for devices
    other than terminals and the null device: some of them never end.
    """
    if path == STDIN:
        if sys.stdin.isatty():
            sys.stderr.write("weaklink: reading from the terminal; end with Ctrl-D\n")
        return nullcontext(sys.stdin.buffer)
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISFIFO(mode):
            return _open_pipe(path)
        stream = Path(path).open("rb")  # noqa: SIM115  # the caller closes it
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise UnreadableFileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not (stream.isatty() or path == os.devnull):
        stream.close()
        raise UnreadableFileError(f"cannot read {path}: it is a device")
    return stream


def _open_pipe(path: str) -> BinaryIO:
    """Open a named pipe once something writes to it; those of a shell's `<(...)` open at once."""
    opened: Queue[BinaryIO] = Queue()
    Thread(target=lambda: opened.put(Path(path).open("rb")), daemon=True).start()  # noqa: SIM115  # the caller closes it
    try:
        return opened.get(timeout=WRITER_TIMEOUT_S)
    except Empty:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # lets the thread's `open` return
        opened.get().close()
        raise UnreadableFileError(f"cannot read {path}: nothing writes to this named pipe (FIFO)") from None


def is_address(file: str) -> bool:
    """Whether a file is named by the address of a server."""
    return file.startswith(("http://", "https://"))


class FileOrAddress(click.Path):
    """A file that exists, or the http address of a server."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path or the address as it was written."""
        return value if is_address(str(value)) else super().convert(value, param, ctx)


chat_template_option = click.option(
    "--chat-template",
    metavar="FILE_OR_URL",
    type=FileOrAddress(exists=True, dir_okay=False),
    help="The model's chat template (Jinja, tokenizer_config.json, GGUF, or the URL of a llama.cpp server, which "
    "publishes it), or a table of `weaklink formats --derive`.",
)


def read_text(path: str) -> str:
    """The whole text of a file or of standard input; bytes that are not UTF-8 are kept.

    Raises UnreadableFileError, also for more than `RECORD_BYTES` bytes, an image, an archive, text in UTF-16.
    """
    with open_binary(path) as file:
        try:
            raw = file.read(RECORD_BYTES + 1)
        except OSError as error:
            raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error
    if len(raw) > RECORD_BYTES:
        raise UnreadableFileError(f"cannot read {path}: {too_long(RECORD_BYTES)}")
    if b"\0" in raw and (kind := binary_kind(raw)) is not None:
        raise UnreadableFileError(f"cannot read {path}: it is {kind}, no text in UTF-8")
    return decode(raw)


def read_tool_file(path: str) -> tuple[ToolDefinition, ...]:
    """The tool definitions of a JSON file: a list of them, or an object that has it under `tools`.

    Raises UnreadableFileError if the file is not JSON or contains anything else.
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
