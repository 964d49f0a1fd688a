"""`weaklink formats`: list the formats, or detect the format of a text."""

import sys
from collections.abc import Iterator
from textwrap import wrap

import click

from weaklink.inspector.formats.detection import SAMPLE_CHARS, Detection, detect_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import broken_plugins
from weaklink.inspector.formats.registry import formats as all_formats
from weaklink.inspector.formats.templates.registry import TEMPLATES
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import SpanKind
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, screen_width
from weaklink.ui.cli.files import STDIN, FileOrAddress, read_text
from weaklink.ui.cli.format_options import put_derived
from weaklink.ui.json_types.faults import DetectionJson, FormatJson
from weaklink.ui.views.styled_text import Line, Run, Style, visible_line

_INDENT = 17


@declaring.command("formats")
@click.argument("file", required=False)
@click.option("--detect", is_flag=True, help="Detect the format of FILE.")
@click.option("--model", default="", metavar="NAME", help="With --detect: the model's name, with or without a FILE.")
@click.option(
    "--derive",
    metavar="TEMPLATE",
    type=FileOrAddress(exists=True, dir_okay=False),
    help="Print the format in which this chat template shows calls, as TOML for --chat-template.",
)
@declaring.json_option
@declaring.color_option
def formats(file: str | None, model: str, *, derive: str | None, detect: bool, as_json: bool, color: str) -> None:
    """List the formats that weaklink reads, or detect the format of a text.

    With --detect, FILE is one raw model output; `-`, or neither FILE nor --model, is standard input.

    With --derive, TEMPLATE is a Jinja file, a tokenizer_config.json, a GGUF file, or the URL of a llama.cpp server,
    which publishes its template. The format is derived by rendering
    probes, and printed only if it reads all of them right (needs the extra `templates`).
    """
    if derive is not None:
        if detect or file or model:
            raise click.UsageError("--derive excludes FILE, --model and --detect.")
        put_derived(derive, as_json=as_json)
        return
    if detect:
        text = read_text(file or STDIN)[:SAMPLE_CHARS] if file or not model else ""
        _put_detection(detect_format(text, model), as_json=as_json, color=color)
    elif file or model:
        raise click.UsageError("FILE and --model require --detect.")
    elif as_json:
        sys.stdout.write(write_json([_format_object(format_) for format_ in all_formats()]) + "\n")
    else:
        print_lines([line for format_ in all_formats() for line in _entry(format_, screen_width())], color=color)
    for trouble in broken_plugins():
        click.echo(trouble, err=True)


def _put_detection(detection: Detection, *, as_json: bool, color: str) -> None:
    if as_json:
        answer: DetectionJson = {
            "format": detection.format.name,
            "confidence": detection.confidence,
            "reason": detection.reason,
        }
        sys.stdout.write(write_json(answer) + "\n")
        return
    print_lines(
        [
            (
                Run(detection.format.name, Style.STRONG),
                Run(f" (confidence {detection.confidence:.2f}): {visible_line(detection.reason)}"),
            )
        ],
        color=color,
    )


def _entry(format: Format, width: int) -> Iterator[Line]:
    """A format's name and summary; below them its aliases, models, and what it reads and writes."""
    supports = f"reads {', '.join(_reads(format))}; writes {', '.join(_writes(format))}"
    facts = {"": format.summary, "also ": ", ".join(format.aliases), "models ": ", ".join(format.models), " ": supports}
    room, name = max(width - _INDENT, 20), Run(f"{format.name:{_INDENT}}", Style.STRONG)
    for word, fact in facts.items():
        for piece in wrap(f"{word.lstrip()}{visible_line(fact)}", room, break_on_hyphens=False) if fact else ():
            yield name, Run(piece, Style.PLAIN if not word else Style.DIM)
            name = Run(" " * _INDENT)


def _reads(format: Format) -> list[str]:
    kinds = {SpanKind.TOOL_RESULT: "results", SpanKind.REASONING: "reasoning", SpanKind.TOOL_DEFINITIONS: "tools"}
    others = [word for kind, word in kinds.items() if kind in format.readers]
    return ["calls", *others, *(["ids"] if format.ids else [])]


def _writes(format: Format) -> list[str]:
    """Calls; for a format with a chat template also results and tools."""
    return ["calls", "results", "tools"] if format.name in TEMPLATES else ["calls"]


def _format_object(format: Format) -> FormatJson:
    return {
        "name": format.name,
        "aliases": list(format.aliases),
        "models": list(format.models),
        "summary": format.summary,
        "reads": _reads(format),
        "writes": _writes(format),
    }
