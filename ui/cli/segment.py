"""`weaklink segment`: split one raw text, or JSON lines of texts, into spans, calls and diagnostics."""

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import BinaryIO

import click
from msgspec import Struct

from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.detection import SAMPLE_CHARS, detect_format
from weaklink.inspector.formats.server_parsers import sentences, wrong_predictions
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.rules.json_syntax import DUPLICATE_KEY, TOO_DEEP
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmentation import AUTO, Segmentation, Segmenter, segment
from weaklink.inspector.text import decode
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, screen_width
from weaklink.ui.cli.files import STDIN, chat_template_option, open_binary, read_text, read_tool_file, tool_definitions
from weaklink.ui.views.marked_text import Folding, marked_lines
from weaklink.ui.views.segment_json import segmentation_object
from weaklink.ui.views.status import call_lines
from weaklink.ui.views.styled_text import Line, Run, Style, counted, style_of, visible_line, wrapped

_MAX_DIGITS = 4_300
_FOLDING = Folding(head=24, tail=12)


class Defaults(Struct, frozen=True):
    """Values for lines that do not set them."""

    format: str = AUTO
    model: str = ""
    prompt: str = ""
    tools: tuple[ToolDefinition, ...] = ()


def answers(lines: BinaryIO, defaults: Defaults) -> Iterator[str]:
    """The answer to each line, as one line of JSON with its line feed; blank lines get none.

    Holds one line in memory at a time.
    """
    from weaklink.inspector.importers.records import read_lines  # noqa: PLC0415  # importing it takes a tenth of the time for one text
    from weaklink.inspector.importers.source import Skipped  # noqa: PLC0415  # the same

    for line in read_lines(lines):
        if isinstance(line, Skipped):
            yield write_json({"id": None, "error": f"{line.record}: {line.reason}"}) + "\n"
        else:
            yield answer(line.raw, defaults)


def answer(line: bytes, defaults: Defaults) -> str:
    """The answer to one line: the segmentation of `text` or `deltas`, or `{"id", "error"}` for an invalid request."""
    id: Json = None
    try:
        request = _request(line)
        id = request.get("id")
        return write_json(segmentation_object(_read(request, defaults), id)) + "\n"
    except (_BadLineError, UnknownFormatError) as error:
        return write_json({"id": id, "error": str(error)}) + "\n"


class _BadLineError(Exception):
    """A line is not a valid request; the message says why."""


def _request(line: bytes) -> dict[str, Json]:
    text = decode(line).removeprefix("\ufeff").strip(" \t\r\n")
    try:
        value = _JSON.decode(text)
    except json.JSONDecodeError as error:
        raise _BadLineError(f"not JSON: {error.msg} at column {error.colno}") from error
    except ValueError as error:
        raise _BadLineError(f"not JSON: {error}") from error
    except RecursionError:
        value = _deep_value(text)
    if not isinstance(value, dict):
        raise _BadLineError("not a JSON object")
    return value


def _deep_value(text: str) -> Json:
    """The value of a line that nests too deep for the decoder, as a tool's schema may; deeper parts are left out."""
    reading = read_json(text)
    if not reading.nodes or any(fault.rule not in (TOO_DEEP, DUPLICATE_KEY) for fault in reading.faults):
        raise _BadLineError("nested too deeply, and not JSON")
    return reading.nodes[0].value()


def _read(request: dict[str, Json], defaults: Defaults) -> Segmentation:
    text, deltas = request.get("text"), request.get("deltas")
    if text is not None and deltas is not None:
        raise _BadLineError("both `text` and `deltas` are given; use one of them")
    if text is None and deltas is None:
        raise _BadLineError("neither `text` nor `deltas` is given")
    format = _words(request, "format", defaults.format) or AUTO
    model = _words(request, "model", defaults.model)
    prompt = _words(request, "prompt", defaults.prompt)
    tools = _tools(request, defaults)
    if text is not None:
        return segment(_words(request, "text", ""), format, prompt=prompt, tools=tools, model=model)
    return _fed(_pieces(deltas), format, prompt, model, tools)


def _words(request: dict[str, Json], key: str, default: str) -> str:
    value = request.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _BadLineError(f"`{key}` must be a string")
    return value


def _tools(request: dict[str, Json], defaults: Defaults) -> tuple[ToolDefinition, ...]:
    tools = request.get("tools")
    try:
        return defaults.tools if tools is None else tool_definitions(tools)
    except ValueError as error:
        raise _BadLineError(str(error)) from error


def _pieces(deltas: Json) -> list[str]:
    if not isinstance(deltas, list) or not all(isinstance(piece, str) for piece in deltas):
        raise _BadLineError("`deltas` must be a list of strings")
    return [piece for piece in deltas if isinstance(piece, str)]


def _fed(deltas: list[str], format: str, prompt: str, model: str, tools: tuple[ToolDefinition, ...]) -> Segmentation:
    """The segmentation of the deltas, fed one by one as they arrived."""
    whole = "".join(deltas)
    chosen = detect_format(whole[:SAMPLE_CHARS], model).format if format == AUTO else format
    segmenter = Segmenter(chosen, prompt=prompt, tools=tools)
    for piece in deltas:
        segmenter.feed(piece)
    segmenter.close()
    return segmenter.segmentation(whole)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _MAX_DIGITS else Decimal(digits)


def _no_json_number(word: str) -> Json:
    raise ValueError(f"`{word}` is not a JSON number")


_JSON = json.JSONDecoder(parse_int=_integer, parse_constant=_no_json_number)


@declaring.command("segment")
@click.argument("file", default=STDIN)
@click.option("--format", "-f", default=AUTO, show_default=True, metavar="NAME", help="The text's format.")
@chat_template_option
@click.option("--model", default="", metavar="NAME", help="The model's name, which helps to detect the format.")
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools that were offered.")
@click.option(
    "--prompt", default="", metavar="TEXT", help="The end of the prompt; a tag that it opens continues in the text."
)
@click.option("--jsonl", is_flag=True, help="Read requests as JSON lines; answer each with one line.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON even on a terminal.")
@click.option("--text", "as_text", is_flag=True, help="Print readable text even without a terminal.")
@click.option("--full", is_flag=True, help="Print long spans in full (readable text only).")
@declaring.color_option
def segment_text(
    file: str,
    format: str,
    model: str,
    tool_file: str | None,
    prompt: str,
    *,
    chat_template: str | None,
    jsonl: bool,
    as_json: bool,
    as_text: bool,
    full: bool,
    color: str,
) -> None:
    """Split one raw model output into spans, calls and diagnostics.

    FILE contains the output, exactly as the model wrote it; `-`, or no FILE, is standard input. Prints one JSON object,
    or on a terminal the text itself with what is wrong marked below it.

    With --jsonl each line is {"id", "text" or "deltas", "prompt"?, "format"?, "model"?, "tools"?}, and each answer is
    one line, in order; a bad line is answered by {"id", "error"}.
    """
    if as_json and as_text:
        raise click.UsageError("--json and --text exclude each other.")
    if jsonl and as_text:
        raise click.UsageError("--jsonl answers in JSON only; omit --text.")
    if chat_template and format != AUTO:
        raise click.UsageError("--chat-template and --format exclude each other.")
    tools = read_tool_file(tool_file) if tool_file else ()
    if chat_template:
        from weaklink.ui.cli.format_options import registered_format  # noqa: PLC0415  # what only this option needs

        format = registered_format(chat_template)
    if jsonl:
        _answer_lines(file, Defaults(format, model, prompt, tools))
        return
    text = read_text(file)
    if not text:
        click.echo(f"weaklink: {'standard input' if file == STDIN else file} is empty", err=True)
    if format == AUTO and model and not (detection := detect_format(text[:SAMPLE_CHARS], model)).fits_model:
        click.echo(f"weaklink: {visible_line(detection.reason)}", err=True)
    segmentation = segment(text, format, prompt=prompt, tools=tools, model=model)
    if as_text or (sys.stdout.isatty() and not as_json):
        name = "<stdin>" if file == STDIN else file
        print_lines(segmented_lines(segmentation, name=name, width=screen_width(), full=full), color=color)
    else:
        sys.stdout.write(write_json(segmentation_object(segmentation)) + "\n")


def _answer_lines(file: str, defaults: Defaults) -> None:
    with open_binary(file) as lines:
        for line in answers(lines, defaults):
            sys.stdout.write(line)
            sys.stdout.flush()


def segmented_lines(segmentation: Segmentation, *, name: str, width: int, full: bool = False) -> Iterator[Line]:
    """The lines that `weaklink segment` prints on a terminal; `name` says where the text came from."""
    faults = [diagnostic.fault for diagnostic in segmentation.diagnostics]
    facts = (
        visible_line(segmentation.format),
        counted(len(segmentation.text), "character"),
        counted(len(segmentation.spans), "span"),
        counted(len(segmentation.calls), "call"),
    )
    yield from wrapped((Run(visible_line(name), Style.STRONG), Run(f": {', '.join(facts)}")), width, indent=4)
    yield ()
    yield from marked_lines(
        segmentation.text, segmentation.spans, faults, width=width, folding=None if full else _FOLDING
    )
    if segmentation.calls:
        yield ()
    for call in segmentation.calls:
        yield from call_lines(call, width=width)
    yield ()
    for sentence in sentences(
        wrong_predictions(segmentation.text, segmentation.format, segmentation.spans, segmentation.calls, faults)
    ):
        yield from wrapped((Run(visible_line(sentence), Style.DIM),), width, indent=4)
    yield from wrapped(verdict(segmentation.diagnostics), width, indent=4)


def verdict(diagnostics: tuple[Diagnostic, ...]) -> Line:
    """How many diagnostics of each severity, and the command that explains the first."""
    if not diagnostics:
        return (Run("✔ nothing is wrong", Style.OK),)
    counts: list[Run] = []
    for severity in Severity:
        number = sum(diagnostic.rule.severity is severity for diagnostic in diagnostics)
        if number:
            many = "infos" if severity is Severity.INFO else ""
            counts += (Run(", " if counts else ""), Run(counted(number, severity.value, many), style_of(severity)))
    worst = min(diagnostics, key=lambda diagnostic: list(Severity).index(diagnostic.rule.severity))
    return (*counts, Run(f"; `weaklink rules {worst.rule.code}` explains {worst.rule.code}.", Style.DIM))
