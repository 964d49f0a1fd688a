"""`weaklink formats`: the formats there are, and which one a text is in."""

import sys

import click

from inspector.formats.detection import Detection, detect_format
from inspector.formats.format import Format
from inspector.formats.registry import broken_plugins
from inspector.formats.registry import formats as all_formats
from inspector.json_text import write_json
from inspector.model import Json, SpanKind
from ui.cli.inputs import STDIN, read_text
from ui.cli.options import color_option, json_option
from ui.cli.paint import put, screen_width
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.table import table_lines
from ui.views.visible import visible_line

_SAMPLE = 65_536


@click.command("formats")
@click.argument("file", required=False)
@click.option("--detect", is_flag=True, help="Say which format FILE is in.")
@click.option("--model", default="", metavar="NAME", help="With --detect: the model's name, with or without a FILE.")
@json_option
@color_option
def formats(file: str | None, model: str, *, detect: bool, as_json: bool, color: str) -> None:
    """List the formats that weaklink reads, or with --detect find that of a text.

    With --detect, FILE is one raw model output; `-`, or neither FILE nor --model, is standard input.
    """
    if detect:
        text = read_text(file or STDIN)[:_SAMPLE] if file or not model else ""
        _put_detection(detect_format(text, model), as_json=as_json, color=color)
    elif file or model:
        raise click.UsageError("FILE and --model need --detect.")
    elif as_json:
        sys.stdout.write(write_json([_format_object(one) for one in all_formats()]) + "\n")
    else:
        heads = ("format", "aliases", "reads", "what it looks like")
        rows = [_row(one) for one in all_formats()]
        put(table_lines(rows, heads=heads, width=screen_width(), widest=28), color=color)
    for trouble in broken_plugins():
        click.echo(trouble, err=True)


def _put_detection(found: Detection, *, as_json: bool, color: str) -> None:
    if as_json:
        answer: dict[str, Json] = {
            "format": found.format.name,
            "confidence": found.confidence,
            "reason": found.reason,
        }
        sys.stdout.write(write_json(answer) + "\n")
        return
    put(
        [
            (
                Run(found.format.name, Style.STRONG),
                Run(f" (confidence {found.confidence:.2f}): {visible_line(found.reason)}"),
            )
        ],
        color=color,
    )


def _row(format: Format) -> tuple[Line, ...]:
    name, aliases, summary = Run(format.name, Style.STRONG), Run(", ".join(format.aliases)), Run(format.summary)
    return (name,), (aliases,), (Run(" ".join(_beside_calls(format))),), (summary,)


def _beside_calls(format: Format) -> list[str]:
    """What a format reads beside calls."""
    kinds = {SpanKind.TOOL_RESULT: "results", SpanKind.REASONING: "reasoning", SpanKind.TOOL_DEFINITIONS: "tools"}
    return [word for kind, word in kinds.items() if kind in format.readers] + ["ids"] * format.ids


def _format_object(format: Format) -> dict[str, Json]:
    return {
        "name": format.name,
        "aliases": list(format.aliases),
        "models": list(format.models),
        "summary": format.summary,
        "reads": ["calls", *_beside_calls(format)],
        "writes": ["calls"],
    }
