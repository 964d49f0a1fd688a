"""`weaklink data render`: write each scenario in many formats, one row each, or in the layout of a trainer."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

import click
from msgspec import structs

from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.chat_templates.renderer import ChatTemplate, Rendering, render_all
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.rendering import (
    FORMATS,
    STRUCTURED,
    RenderedRow,
    RowLayout,
    count_tokens,
    render_sample,
    template_context,
)
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.segmentation import AUTO
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.data.options import (
    end,
    map_rows,
    output_option,
    paths_argument,
    rejected_option,
    rejected_rows,
    row_output,
)
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.views.styled_text import counted

_ROWS_AT_ONCE = 200


@declaring.command("render")
@paths_argument
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME,...",
    help=f"The formats to write.  [default: {', '.join(FORMATS)}]",
)
@click.option("--from", "source", default=AUTO, show_default=True, metavar="NAME", help="The input format.")
@click.option(
    "--as",
    "layout",
    type=click.Choice([layout.value for layout in RowLayout]),
    default="messages",
    show_default=True,
    help="The shape of the rows. The last three have separate fields for calls, one row per scenario.",
)
@click.option(
    "--on-loss",
    type=click.Choice(["simplify", "skip"]),
    default="simplify",
    show_default=True,
    help="What to do when a format cannot express everything: list the loss in `dropped`, or skip the row.",
)
@click.option(
    "--chat-template",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Write `text` as this chat template renders it: Jinja, tokenizer_config.json or GGUF.",
)
@click.option("--tokenizer", metavar="FILE", help="Count tokens by this tokenizer.json, as the column `tokens`.")
@output_option
@rejected_option
@jobs_options
def render(
    paths: tuple[str, ...],
    *,
    columns: Mapping[str, str],
    formats: tuple[str, ...],
    source: str,
    layout: str,
    on_loss: str,
    chat_template: str | None,
    tokenizer: str | None,
    output: str | None,
    rejected: str | None,
    jobs: EngineOptions,
) -> None:
    """Write each conversation in all eleven formats, or in those chosen, one row each.

    The rows of one conversation share `scenario`; `format` names the format. `messages` has the conversation with
    tools, calls, results and reasoning in the form of the format, `text` all of it, and `dropped` what the format
    cannot express. The forms are weaklink's own: a model's chat template may present tools in other words, so `text` is
    not the prompt of a model.

    \b
    Examples:
      weaklink data render train.jsonl --output train.eleven.jsonl
      weaklink data render train.jsonl --format hermes,qwen,mistral --on-loss skip
      weaklink data render train.jsonl --as llama-factory --output train.llama-factory.jsonl
    """
    template = _template(chat_template, excludes=bool(formats) or layout != RowLayout.MESSAGES)
    # The rows of TRL have what templates read: arguments as objects, and tools in OpenAI's form.
    shape = RowLayout.TRL if template else RowLayout(layout)
    names = tuple(word for piece in formats for word in piece.replace(",", " ").split())
    if names and shape in STRUCTURED:
        raise click.UsageError(
            f"`--as {layout}` has separate fields for calls: the trainer chooses the format; omit `--format`."
        )
    targets = tuple(find_format(name).name for name in names or FORMATS)
    source_format = source if source == AUTO else find_format(source).name
    if tokenizer is not None:
        try:
            count_tokens("", tokenizer)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--tokenizer") from error
    written, skipped = Counter[str](), Counter[str]()
    work = partial(_rendered, targets=targets, source=source_format, layout=shape, tokenizer=tokenizer)
    scenarios = 0
    with row_output(output, paths) as writer, rejected_rows(rejected, paths) as unread:
        answers = map_rows(paths, work, unread, jobs=jobs, label="Rendering", columns=columns)
        for answer in answers if template is None else _with_text(answers, template, tokenizer):
            if isinstance(answer, RejectedRow):
                unread.add(answer)
                continue
            scenarios += 1
            for row in answer:
                if on_loss == "skip" and row.is_lossy:
                    skipped[row.format] += 1
                else:
                    writer.write(row.value)
                    written[row.format] += 1
    _print_counts(scenarios, written, skipped, has_forms=shape not in STRUCTURED)
    end(paths, scenarios, unread.count)


def _template(file: str | None, *, excludes: bool) -> ChatTemplate | None:
    if file is None:
        return None
    if excludes:
        raise click.UsageError("--chat-template writes the rows of one model; omit --format and --as.")
    return read_chat_template(Path(file))


def _print_counts(scenarios: int, written: Counter[str], skipped: Counter[str], *, has_forms: bool) -> None:
    print_notice(f"{counted(scenarios, 'scenario')} as {counted(written.total(), 'row')}")
    if has_forms and written:
        print_notice("`text` has the form of each format, not a model's prompt: --chat-template renders that")
    if skipped:
        counts = ", ".join(f"{count} {name}" for name, count in skipped.most_common())
        print_notice(f"{counted(skipped.total(), 'row')} skipped, since the format cannot express everything: {counts}")


def _with_text(
    answers: Iterable[list[RenderedRow] | RejectedRow], template: ChatTemplate, tokenizer: str | None
) -> Iterator[list[RenderedRow] | RejectedRow]:
    """The rows with `text` as the chat template renders them; a row that the template refuses is rejected."""
    remaining = iter(answers)
    while batch := list(islice(remaining, _ROWS_AT_ONCE)):
        rows = [row for answer in batch if not isinstance(answer, RejectedRow) for row in answer]
        rendered = iter(render_all(template, [template_context(row.value) for row in rows]))
        for answer in batch:
            if isinstance(answer, RejectedRow):
                yield answer
                continue
            for row, rendering in ((row, next(rendered)) for row in answer):
                yield _texted(row, rendering, tokenizer)


def _texted(row: RenderedRow, rendering: Rendering, tokenizer: str | None) -> list[RenderedRow] | RejectedRow:
    if rendering.error:
        return RejectedRow("chat template", str(row.value.get("scenario")), f"it raises {rendering.error}")
    counts: JsonObject = {"tokens": count_tokens(rendering.text, tokenizer)} if tokenizer is not None else {}
    return [structs.replace(row, value={**row.value, "text": rendering.text, **counts}, format="chat template")]


def _rendered(
    row: DataRow, *, targets: tuple[str, ...], source: str, layout: RowLayout, tokenizer: str | None
) -> list[RenderedRow] | RejectedRow:
    formats = [find_format(name) for name in targets]
    try:
        return list(render_sample(read_sample(row, format=source), formats, layout, tokenizer=tokenizer))
    except (ValueError, UnknownFormatError) as error:
        return row.rejected(str(error))
