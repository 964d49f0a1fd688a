"""`weaklink data render`: write each scenario in many formats, one row each, or in the layout of a trainer."""

from collections import Counter
from functools import partial

import click

from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.rendering import (
    FORMATS,
    STRUCTURED,
    RenderedRow,
    RowLayout,
    count_tokens,
    render_sample,
)
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.segmentation import AUTO
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.data.options import column_map, map_rows, rejected_rows, row_output
from weaklink.ui.importing.engine import EngineOptions, takes_engine
from weaklink.ui.views.styled_text import counted

_FAILED = 1
_COULD_NOT_RUN = 2


@takes_engine
@click.pass_context
def render(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    columns: tuple[str, ...],
    formats: tuple[str, ...],
    source: str,
    layout: str,
    on_loss: str,
    tokenizer: str | None,
    output: str | None,
    rejected: str | None,
    jobs: EngineOptions,
) -> None:
    """`weaklink data render`; see its help."""
    shape, renamed = RowLayout(layout), column_map(columns)
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
        for answer in map_rows(paths, work, unread, jobs=jobs, label="Rendering", columns=renamed):
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
        counts = ", ".join(f"{count} {name}" for name, count in skipped.most_common())
        print_notice(f"{counted(skipped.total(), 'row')} skipped, since the format cannot express everything: {counts}")
    if not scenarios or unread.count:
        ctx.exit(_FAILED if scenarios else _COULD_NOT_RUN)


def _rendered(
    row: DataRow, *, targets: tuple[str, ...], source: str, layout: RowLayout, tokenizer: str | None
) -> list[RenderedRow] | RejectedRow:
    formats = [find_format(name) for name in targets]
    try:
        return list(render_sample(read_sample(row, format=source), formats, layout, tokenizer=tokenizer))
    except (ValueError, UnknownFormatError) as error:
        return row.rejected(str(error))
