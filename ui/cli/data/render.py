"""`weaklink data render`: each scenario in many formats, one row a format, or in the layout of a trainer."""

from collections import Counter
from functools import partial

import click

from inspector.dataset.data_row import DataRow, RejectedRow
from inspector.dataset.rendering import FORMATS, STRUCTURED, RenderedRow, RowLayout, count_tokens, render_sample
from inspector.dataset.samples import read_sample
from inspector.errors import UnknownFormatError
from inspector.formats.registry import find_format
from inspector.segmentation import AUTO
from ui.cli.console import print_notice
from ui.cli.data.options import (
    jobs_option,
    map_rows,
    output_option,
    paths_argument,
    rejected_option,
    rejected_rows,
    row_output,
)
from ui.importing.engine import EngineOptions
from ui.views.wording import counted

_FAILED = 1
_COULD_NOT_RUN = 2


@click.command("render")
@paths_argument
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME,...",
    help=f"The formats to write.  [default: {', '.join(FORMATS)}]",
)
@click.option("--from", "source", default=AUTO, show_default=True, metavar="NAME", help="The format of what comes in.")
@click.option(
    "--as",
    "layout",
    type=click.Choice([one.value for one in RowLayout]),
    default=RowLayout.MESSAGES.value,
    show_default=True,
    help="The shape of the rows. The last three hold calls in fields of their own, one row a scenario.",
)
@click.option(
    "--on-loss",
    type=click.Choice(["simplify", "skip"]),
    default="simplify",
    show_default=True,
    help="What to do when a format cannot express everything: list the loss in `dropped`, or skip the row.",
)
@click.option("--tokenizer", metavar="FILE", help="Count tokens by this tokenizer.json, as the column `tokens`.")
@output_option
@rejected_option
@jobs_option
@click.pass_context
def render(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    formats: tuple[str, ...],
    source: str,
    layout: str,
    on_loss: str,
    tokenizer: str | None,
    output: str | None,
    rejected: str | None,
    jobs: EngineOptions,
) -> None:
    """Write each conversation in all eleven formats, or in those chosen, one row each.

    The rows of one conversation share `scenario`; `format` names the format. `messages` has the conversation with
    tools, calls, results and reasoning as the format holds them, `text` all of it through the format's chat template,
    and `dropped` what the format cannot hold.

    \b
    Examples:
      weaklink data render train.jsonl --output train.eleven.jsonl
      weaklink data render train.jsonl --format hermes,qwen,mistral --on-loss skip
      weaklink data render train.jsonl --as llama-factory --output train.llama-factory.jsonl
    """  # noqa: D301  # Click wants the backspace itself
    shape = RowLayout(layout)
    names = tuple(word for piece in formats for word in piece.replace(",", " ").split())
    if names and shape in STRUCTURED:
        raise click.UsageError(f"`--as {layout}` holds calls in fields of their own: the trainer chooses the format.")
    targets = tuple(find_format(name).name for name in names or FORMATS)
    reads = source if source == AUTO else find_format(source).name
    if tokenizer is not None:
        try:
            count_tokens("", tokenizer)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--tokenizer") from error
    written, skipped = Counter[str](), Counter[str]()
    work = partial(_rendered, targets=targets, source=reads, layout=shape, tokenizer=tokenizer)
    scenarios = 0
    with row_output(output, paths) as writer, rejected_rows(rejected, paths) as unread:
        for answer in map_rows(paths, work, unread, jobs=jobs, label="Rendering"):
            if isinstance(answer, RejectedRow):
                unread.add(answer)
                continue
            scenarios += 1
            for one in answer:
                if on_loss == "skip" and one.is_lossy:
                    skipped[one.format] += 1
                else:
                    writer.write(one.value)
                    written[one.format] += 1
    print_notice(f"{counted(scenarios, 'scenario')} as {counted(written.total(), 'row')}")
    if skipped:
        told = ", ".join(f"{count} {name}" for name, count in skipped.most_common())
        print_notice(f"{counted(skipped.total(), 'row')} skipped, since the format cannot express everything: {told}")
    if not scenarios or unread.count:
        ctx.exit(_FAILED if scenarios else _COULD_NOT_RUN)


def _rendered(
    row: DataRow, *, targets: tuple[str, ...], source: str, layout: RowLayout, tokenizer: str | None
) -> list[RenderedRow] | RejectedRow:
    formats = [find_format(name) for name in targets]
    try:
        return list(render_sample(read_sample(row, format=source), formats, layout, tokenizer=tokenizer))
    except (ValueError, UnknownFormatError) as error:
        line = row.number if row.record.startswith("line ") else None
        return RejectedRow(row.file, row.record, str(error), line, 1 if line else None)
