"""`weaklink log`: records a model's output from standard input or a file while it is written."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from enum import Enum, auto
from pathlib import Path, PurePath

import click
from click.core import ParameterSource
from msgspec import Struct

from inspector.capture.logger import TraceLogger
from inspector.capture.sinks import is_database, open_sink
from inspector.errors import UnreadableFileError
from inspector.segmentation import AUTO
from storage import StoreSink
from ui.cli.files import STDIN, read_tool_file
from ui.cli.log_session import Form, LastTurn, LoggedSession
from ui.cli.redaction_options import redactor_of

_READ_BYTES = 65_536
_POLL_S = 0.1
_MISSING_S = 2.0  # whoever rotates a file moves it away before there is a new one


class Restarted(Struct, frozen=True):
    """The file was truncated, or another took its place: what follows is something new."""


def from_stdin() -> Iterator[bytes]:
    """Standard input, each piece as soon as it is there."""
    file = sys.stdin.fileno()
    if os.isatty(file):
        sys.stderr.write("weaklink: reading from the terminal; end with Ctrl-D\n")
    while raw := os.read(file, _READ_BYTES):
        yield raw


def from_file(path: str) -> Iterator[bytes]:
    """A file to its end; a named pipe until its writers are gone. UnreadableFileError."""
    file = _open(path)
    try:
        while raw := _read(path, file):
            yield raw
    finally:
        os.close(file)


def follow_file(path: str) -> Iterator[bytes | Restarted]:
    """A file from its beginning, and what is added to it, until it is deleted; a named pipe to its end.

    Looks ten times a second. A file of the same name that takes its place within two seconds is followed from its
    beginning, as is one that became shorter than what was read of it. UnreadableFileError.
    """
    if not Path(path).is_file():
        yield from from_file(path)
        return
    file, gone_at_s = _open(path), None
    try:
        while True:
            while raw := _read(path, file):
                yield raw
            there = _stat(path)
            if there is None:
                now_s = time.monotonic()
                gone_at_s = gone_at_s or now_s
                if now_s - gone_at_s >= _MISSING_S:
                    return
            elif not os.path.samestat(there, os.fstat(file)):
                # What was added to the old one since it was last read comes first.
                while raw := _read(path, file):
                    yield raw
                new = _open(path)
                os.close(file)
                file, gone_at_s = new, None
                yield Restarted()
                continue
            elif there.st_size < os.lseek(file, 0, os.SEEK_CUR):
                os.lseek(file, 0, os.SEEK_SET)
                yield Restarted()
                continue
            time.sleep(_POLL_S)
    finally:
        os.close(file)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def _read(path: str, file: int) -> bytes:
    try:
        return os.read(file, _READ_BYTES)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def _stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


@click.pass_context
def log(
    ctx: click.Context,
    file: str,
    *,
    format: str,
    model: str,
    name: str,
    prompt: str,
    tool_file: str | None,
    form: str,
    to: str | None,
    where: str | None,
    follow: bool,
    quiet: bool,
    patterns: tuple[str, ...],
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """`weaklink log`; see its help."""
    if follow and file == STDIN:
        raise click.UsageError("--follow requires a FILE; standard input is followed anyway.")
    if to is not None and ctx.get_parameter_source("where") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--db and --to exclude each other.")
    redacts = redactor_of(patterns, no_redact=no_redact, no_content=no_content)
    tools = read_tool_file(tool_file) if tool_file else ()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sink = _sink(where if to is None else to)
    shown = name or ("" if file == STDIN else PurePath(file).name)

    def begin() -> LoggedSession:
        logger = TraceLogger(sink, name=shown, model=model, format="" if format == AUTO else format, redactor=redacts)
        chosen = None if form == AUTO else Form(form)
        said = "<stdin>" if file == STDIN else file
        return LoggedSession(
            logger, sink, form=chosen, format=format, model=model, prompt=prompt, tools=tools, name=said, color=color
        )

    try:
        ended = _record(begin, _pieces(file, follow=follow), passes_on=file == STDIN and not quiet, goes_on=follow)
    finally:
        sink.close()
    if ended is _End.INTERRUPTED:
        raise KeyboardInterrupt


class _End(Enum):
    """Why nothing more is recorded."""

    INPUT_ENDED = auto()
    INTERRUPTED = auto()
    READER_LEFT = auto()


def _record(
    begin: Callable[[], LoggedSession], pieces: Iterator[bytes | Restarted], *, passes_on: bool, goes_on: bool
) -> _End:
    """Record pieces until they end; `goes_on` says that they never do by themselves, so that Ctrl-C is their end."""
    session = begin()
    try:
        for piece in pieces:
            if isinstance(piece, Restarted):
                session.end()
                session = begin()
                continue
            session.feed(piece)
            if passes_on:
                _pass_on(piece)
    except KeyboardInterrupt:
        session.end("" if goes_on else "Interrupted.")
        return _End.INPUT_ENDED if goes_on else _End.INTERRUPTED
    except BrokenPipeError:
        session.end("The reader of standard output left.")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _End.READER_LEFT
    except UnreadableFileError as error:
        session.end(str(error))
        raise
    session.end()
    return _End.INPUT_ENDED


def _pieces(file: str, *, follow: bool) -> Iterator[bytes | Restarted]:
    if file == STDIN:
        return from_stdin()
    return follow_file(file) if follow else from_file(file)


def _pass_on(raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]


def _sink(place: str | None) -> LastTurn:
    """The sink for a place; raises what opening it does."""
    return LastTurn(StoreSink(place) if place is None or is_database(place) else open_sink(place))
