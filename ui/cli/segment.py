"""`weaklink segment`: one raw text, or lines of them, into spans, calls and diagnostics."""

import sys

import click

from inspector.json_text import write_json
from inspector.segmentation import AUTO, segment
from ui.cli.inputs import STDIN, open_binary, read_text, read_tool_file
from ui.cli.options import color_option
from ui.cli.paint import put, screen_width
from ui.cli.segment_lines import Defaults, answers
from ui.views.segment_json import segmentation_object
from ui.views.segmented import segmented_lines


@click.command("segment")
@click.argument("file", default=STDIN)
@click.option("--format", "-f", default=AUTO, show_default=True, metavar="NAME", help="The text's format.")
@click.option("--model", default="", metavar="NAME", help="The model's name, which helps to detect the format.")
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools that were offered.")
@click.option(
    "--prompt", default="", metavar="TEXT", help="The end of the prompt; what it left open belongs to the text."
)
@click.option("--jsonl", is_flag=True, help="Read requests as JSON lines, answer each with one line.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also on a terminal.")
@click.option("--text", "as_text", is_flag=True, help="Print for people, also without a terminal.")
@click.option("--full", is_flag=True, help="For people: print long spans whole.")
@color_option
def segment_text(
    file: str,
    format: str,
    model: str,
    tool_file: str | None,
    prompt: str,
    *,
    jsonl: bool,
    as_json: bool,
    as_text: bool,
    full: bool,
    color: str,
) -> None:
    """Cut one raw model output into spans, calls and diagnostics.

    FILE holds the output, exactly as the model wrote it; `-`, or nothing, is standard input. Prints one JSON object,
    or on a terminal the text itself with what is wrong marked below it.

    With --jsonl each line is {"id", "text" or "deltas", "prompt"?, "format"?, "model"?, "tools"?}, and each answer is
    one line, in order; a bad line is answered by {"id", "error"}.
    """
    if as_json and as_text:
        raise click.UsageError("--json and --text exclude each other.")
    if jsonl and as_text:
        raise click.UsageError("--jsonl answers in JSON only; leave out --text.")
    tools = read_tool_file(tool_file) if tool_file else ()
    if jsonl:
        _answer_lines(file, Defaults(format, model, prompt, tools))
        return
    text = read_text(file)
    if not text:
        click.echo(f"weaklink: {'standard input' if file == STDIN else file} is empty", err=True)
    found = segment(text, format, prompt=prompt, tools=tools, model=model)
    if as_text or (sys.stdout.isatty() and not as_json):
        name = "<stdin>" if file == STDIN else file
        put(segmented_lines(found, name=name, width=screen_width(), full=full), color=color)
    else:
        sys.stdout.write(write_json(segmentation_object(found)) + "\n")


def _answer_lines(file: str, defaults: Defaults) -> None:
    with open_binary(file) as lines:
        for line in answers(lines, defaults):
            sys.stdout.write(line)
            sys.stdout.flush()
