"""`weaklink log`: records a model's output from standard input or a file while it is written."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from enum import Enum, auto
from pathlib import PurePath

import click
from click.core import ParameterSource

from inspector.capture.logger import TraceLogger
from inspector.capture.sinks import is_database, open_sink
from inspector.errors import UnreadableFileError
from inspector.segmentation import AUTO
from storage import StoreSink
from ui.cli.inputs import STDIN, read_tool_file
from ui.cli.log_form import AS, Form
from ui.cli.log_input import Restarted, followed, from_file, from_stdin
from ui.cli.log_session import LastTurn, LoggedSession
from ui.cli.options import color_option, database_option
from ui.cli.redaction_options import redaction_options, redactor_of


@click.command("log")
@click.argument("file", default=STDIN)
@click.option("--follow", "-F", is_flag=True, help="Go on reading while FILE grows, until Ctrl-C or its deletion.")
@click.option("--format", "-f", default=AUTO, show_default=True, metavar="NAME", help="The text's format.")
@click.option("--model", default="", metavar="NAME", help="The model's name, which helps to detect the format.")
@click.option("--name", default="", metavar="NAME", help="A name for the trace.  [default: that of FILE]")
@click.option(
    "--prompt", default="", metavar="TEXT", help="The end of the prompt; what it left open belongs to the text."
)
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools that were offered.")
@click.option("--as", "form", type=click.Choice(AS), default=AUTO, show_default=True, help="What FILE holds.")
@click.option(
    "--to", "to", metavar="PLACE", help="A database, a trace file (*.jsonl), or the URL of a running `weaklink record`."
)
@click.option("--quiet", "-q", is_flag=True, help="Do not pass standard input on to standard output.")
@redaction_options
@database_option
@color_option
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
    """Record a model's raw output as one assistant turn, live.

    Without FILE, standard input is recorded and passed on unchanged, so that the command may stand in a pipe; faults
    are told on stderr as soon as they are known. The input is text, or server-sent events or lines of JSON as a
    provider streams them, which its first bytes tell. Each rotated or truncated file that is followed begins a new
    trace. Ctrl-C and a reader that left end the trace with what it has.
    """
    if follow and file == STDIN:
        raise click.UsageError("--follow wants a FILE; standard input is followed anyway.")
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
    return followed(file) if follow else from_file(file)


def _pass_on(raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]


def _sink(place: str | None) -> LastTurn:
    """The sink for a place; raises what opening it does."""
    return LastTurn(StoreSink(place) if place is None or is_database(place) else open_sink(place))
