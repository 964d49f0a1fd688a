"""`weaklink data report`: how diverse a set is, compared with the recommended distribution or another set."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from pathlib import Path

import click
from msgspec import Struct, structs

from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.chat_templates.renderer import ChatTemplate, Rendering, render_all
from weaklink.inspector.dataset.data_files import DataRow, MissingLibraryError, RejectedRow
from weaklink.inspector.dataset.diversity import SampleFacts, SetReport, facts_of
from weaklink.inspector.dataset.goals import RECOMMENDED, read_goals
from weaklink.inspector.dataset.lint.linting import LintOptions
from weaklink.inspector.dataset.lint.texts import TokenizerFile, require_detector
from weaklink.inspector.dataset.rendering import RowLayout, render_sample, template_context
from weaklink.inspector.dataset.rows import RowWriter
from weaklink.inspector.dataset.samples import Sample, read_sample
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import write_json
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
from weaklink.ui.reports.static_report import set_lines, set_page
from weaklink.ui.views.styled_text import counted

_ROWS_AT_ONCE = 200  # one process renders them
_MAX_GROUPS = 1_000  # each keeps two numbers a sample
_MAX_GROUP_CHARS = 200
_OTHERS, _NO_VALUE = "(other values)", "(none)"
_tokenizer = cache(TokenizerFile)


@declaring.command("report")
@paths_argument
@click.option("--against", multiple=True, metavar="PATH", help="A second set, shown beside the first.")
@click.option("--html", metavar="FILE", help="Write the report as one HTML page.")
@click.option("--by", metavar="COLUMN", help="Also measure the rows with each value of this member, such as source.")
@click.option(
    "--goals", metavar="FILE", help="JSON with the shares that the set should have.  [default: the recommended]"
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Count what a limit of N tokens a sample cuts, and the packed sequences; needs --tokenizer.",
)
@click.option("--list", "wanted", metavar="KEY=VALUE", help="Write the rows with this feature, such as steps=3+.")
@click.option("--tokenizer", metavar="FILE", help="A tokenizer.json; gives lengths in tokens.")
@click.option(
    "--chat-template",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Count the tokens of each row as this chat template renders it; needs --tokenizer.",
)
@click.option("--format", default=AUTO, metavar="NAME", help="Read every text in this format.")
@output_option
@declaring.json_option
@jobs_options
@rejected_option
def report(
    paths: tuple[str, ...],
    *,
    columns: Mapping[str, str],
    against: tuple[str, ...],
    html: str | None,
    wanted: str | None,
    by: str | None,
    goals: str | None,
    max_tokens: int | None,
    tokenizer: str | None,
    chat_template: str | None,
    format: str,
    output: str | None,
    as_json: bool,
    jobs: EngineOptions,
    rejected: str | None,
) -> None:
    """Show how diverse a set is, and where it differs from the recommended distribution.

    It shows shares of tools, calls, samples without a call, argument types, error recovery, languages, formats and
    faults, with lengths and duplicates. A share more than 5 points off is marked, and the command that lists its
    samples is printed. --list writes these rows instead of a report.

    \b
    Examples:
      weaklink data report train.jsonl
      weaklink data report train.jsonl --against before.jsonl --html report.html
      weaklink data report train.jsonl --by source --goals goals.json
      weaklink data report train.jsonl --tokenizer tokenizer.json --max-tokens 4096
      weaklink data report train.jsonl --tokenizer tokenizer.json --chat-template tokenizer_config.json
      weaklink data report train.jsonl --list faults=D709 --output placeholders.jsonl
    """
    if wanted is not None and "=" not in wanted:
        raise click.UsageError("`--list` takes KEY=VALUE, such as steps=3+.")
    if max_tokens is not None and tokenizer is None:
        raise click.UsageError("`--max-tokens` needs `--tokenizer FILE`, which counts the tokens.")
    template = _template(chat_template, tokenizer)
    wanted_shares = read_goals(goals) if goals is not None else RECOMMENDED
    work = RowMeasurer(format, tokenizer, wanted is not None, by, template)
    try:
        require_detector()
    except MissingLibraryError as error:
        print_notice(str(error))
    with rejected_rows(rejected, (*paths, *against)) as unread:
        read = partial(map_rows, work=work, rejected=unread, jobs=jobs, columns=columns)
        if wanted is not None:
            with row_output(output, paths) as writer:
                _list(read(paths, label="Searching"), wanted, writer)
            return
        groups: dict[str, SetReport] = {}
        measured = _measured(read(paths, label="Measuring"), work, groups)
        other = _measured(read(against, label="Measuring"), work, {}) if against else None
    value = measured.value(wanted_shares, max_tokens)
    other_value = other.value(wanted_shares, max_tokens) if other is not None else None
    if by is not None:
        value["by"] = {
            "column": by,
            "groups": {
                name: groups[name].value(wanted_shares, max_tokens)
                for name in sorted(groups, key=lambda name: (-groups[name].samples, name))
            },
        }
    if html is not None:
        with whole_file(html) as stream:
            stream.writelines(set_page(paths, value, other_value))
    if as_json:
        sys.stdout.write(write_json({**value, "against": other_value} if other_value is not None else value) + "\n")
    elif html is None and measured.samples:
        sys.stdout.writelines(f"{line}\n" for line in set_lines(paths, value, other_value))
    end(paths, measured.samples, unread.count)


def _template(file: str | None, tokenizer: str | None) -> ChatTemplate | None:
    if file is not None and tokenizer is None:
        raise click.UsageError("`--chat-template` needs `--tokenizer FILE`: it gives lengths in tokens.")
    return read_chat_template(Path(file)) if file is not None else None


def _measured(
    answers: Iterable["MeasuredRow | RejectedRow"], work: "RowMeasurer", groups: dict[str, SetReport]
) -> SetReport:
    """The report on all rows; adds that on each group to `groups`, if the rows are grouped."""
    report = SetReport()
    rows = (row for row in answers if isinstance(row, MeasuredRow))
    for measured in _rendered(rows, work.template, work.tokenizer) if work.template and work.tokenizer else rows:
        report.add(measured.facts)
        if work.by is not None:
            name = measured.group if measured.group in groups or len(groups) < _MAX_GROUPS else _OTHERS
            groups.setdefault(name, SetReport()).add(measured.facts)
    return report


def _rendered(rows: Iterator["MeasuredRow"], template: ChatTemplate, tokenizer: str) -> Iterator["MeasuredRow"]:
    """The rows with the lengths of their texts as the template renders them; none where it refuses a row."""
    refused, first = 0, ""
    counter = _tokenizer(tokenizer)
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        texts = iter(render_all(template, [row.context for row in batch if row.context is not None]))
        for row in batch:
            rendering = next(texts) if row.context is not None else Rendering(error="the row has no conversation")
            if rendering.error:
                refused += 1
                first = first or f"{row.facts.reference}: {rendering.error}"
            tokens = None if rendering.error else counter.count(rendering.text)
            yield structs.replace(row, facts=structs.replace(row.facts, tokens=tokens))
    if refused:
        print_notice(f"{counted(refused, 'row')} without a length: the chat template refuses them; the first: {first}")


def _list(answers: Iterable["MeasuredRow | RejectedRow"], wanted: str, writer: RowWriter) -> None:
    number = 0
    for measured in answers:
        if not isinstance(measured, RejectedRow) and wanted in measured.facts.features:
            writer.write(measured.row)
            number += 1
    print_notice(f"{number:,} samples with {wanted}")


class MeasuredRow(Struct, frozen=True):
    """The facts of a row, its value if it may be written, else `{}`, its group, and the variables of a template."""

    facts: SampleFacts
    row: JsonObject
    group: str = ""
    context: JsonObject | None = None


class RowMeasurer(Struct, frozen=True):
    """Measures one row; it can be sent to another process."""

    format: str = AUTO
    tokenizer: str | None = None
    keeps_row: bool = False
    by: str | None = None
    template: ChatTemplate | None = None

    def __call__(self, row: DataRow) -> MeasuredRow | RejectedRow:
        """The facts of a row; a row without a conversation is rejected."""
        sample = read_sample(row, format=self.format)
        if sample.shape is None:
            return row.rejected(f"the row has {refusal(row.value)}")
        counter = _tokenizer(self.tokenizer) if self.tokenizer is not None and not self.template else None
        facts = facts_of(sample, counter, LintOptions())
        context = _context(sample) if self.template else None
        return MeasuredRow(facts, row.value if self.keeps_row else {}, self._group(row), context)

    def _group(self, row: DataRow) -> str:
        """The value of the column by which rows are grouped, as a word."""
        value = row.value.get(self.by) if self.by is not None else None
        if value is None:
            return _NO_VALUE
        return (value if isinstance(value, str) else write_json(value, ascii_only=False))[:_MAX_GROUP_CHARS]


def _context(sample: Sample) -> JsonObject | None:
    """The row as a chat template reads it; None if nothing in it is a conversation."""
    try:
        rendered = next(render_sample(sample, (), RowLayout.TRL))
    except ValueError:
        return None
    return template_context(rendered.value)
