"""`weaklink data annotate`: step-level data flow and decision points of traces, one JSON object per trace."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import TextIO, TypeAlias

import click
from msgspec import Struct, structs

from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.lint.linting import judged_chain
from weaklink.inspector.dataset.samples import SampleRows, read_sample
from weaklink.inspector.errors import UnknownFormatError, UnreadableFileError
from weaklink.inspector.exporters.annotation import annotation
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Trace
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import ListCursor
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.data.options import map_option, map_rows, rejected_rows
from weaklink.ui.cli.declaring import COULD_NOT_RUN, FAILED
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.cli.files import open_output
from weaklink.ui.cli.paths import is_path, placed_files, records_of
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, recover_traces, trace_ids
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import placed_block, plan_traces
from weaklink.ui.importing.engine import EngineOptions, needs_blocks
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.views.styled_text import counted

_PAGE = 200

_NumberedTrace: TypeAlias = tuple[int | None, Trace, Inspection]


@declaring.command("annotate")
@click.argument("words", metavar="[ID... | PATH...]", nargs=-1)
@click.option("--jsonl", "form", flag_value="jsonl", default=True, help="One JSON line per trace.  [default]")
@click.option("--json", "form", flag_value="json", help="One JSON array of all traces.")
@click.option(
    "--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces of the database that match."
)
@declaring.source_option
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@map_option
@jobs_options
@declaring.database_option
@click.pass_context
def annotate(
    ctx: click.Context,
    words: tuple[str, ...],
    *,
    form: str,
    expression: str,
    source: str | None,
    output: str | None,
    columns: Mapping[str, str],
    jobs: EngineOptions,
    where: str | None,
) -> None:
    """Write the data flow and the decision points of traces, for training data and for verifiers.

    ID is the number that `weaklink list` prints; PATH a file of any source that `weaklink import` reads, a folder, a
    pattern, or `-`. Without either, all traces of the database are written, or those that --filter chooses. Each is
    one JSON object, which docs/annotations.md explains. Exits with 1 if a record could not be read, and with 2 if
    nothing could.

    \b
    weaklink data annotate 12
    weaklink data annotate train.jsonl > train.annotated.jsonl
    weaklink data annotate --filter status:recovered
    """
    paths = [word for word in words if is_path(word)]
    ids = [word for word in words if not is_path(word)]
    if expression and words:
        raise click.UsageError(
            "--filter selects from all traces of the database; it cannot be combined with IDs or PATHs."
        )
    if columns and (source is not None or not paths):
        raise click.UsageError("--map names members of the rows of PATHs, so it cannot be combined with --source.")
    reader = _TraceReader(source)
    with open_output(output) as out, ExitStack() as opened:
        stored: Iterable[_NumberedTrace] = ()
        if ids or not paths:
            store = opened.enter_context(open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S))
            stored = _stored(store, ids, expression)
        if columns:
            lines = reader.lines_of_rows(paths, columns, jobs)
        elif needs_blocks(paths) or not jobs.is_plain:
            lines = reader.lines_of_blocks(paths, jobs)
        else:
            lines = map(_line, reader.of_files(paths))
        _write(out, chain(map(_line, stored), lines), form)
    if reader.skipped:
        print_notice(f"{counted(reader.skipped, 'record')} skipped")
    if reader.failed or (paths and not reader.traces):
        ctx.exit(COULD_NOT_RUN)
    if reader.skipped:
        ctx.exit(FAILED)


class _TraceReader:
    """Reads files trace by trace, and reports where and why it skips a record."""

    def __init__(self, source: str | None, notify: Callable[[str], None] = print_notice) -> None:
        self._source, self._notify = source, notify
        self.traces = self.skipped = 0
        self.failed = False

    def of_files(self, paths: Sequence[str]) -> Iterator[_NumberedTrace]:
        with placed_files(paths, self._source) as files:
            for file in files:
                yield from self.of_file(file)

    def of_file(self, file: InputFile) -> Iterator[_NumberedTrace]:
        """The traces of one file, or of a block."""
        before = self.traces + self.skipped
        try:
            yield from self._of(file)
        except UnreadableFileError as error:
            self.failed |= self.traces + self.skipped > before or not file.is_readable
            self._notify(str(error))

    def lines_of_rows(self, paths: Sequence[str], columns: Mapping[str, str], jobs: EngineOptions) -> Iterator[str]:
        """The output lines for rows whose members have other names."""
        with rejected_rows(None) as rejected:
            for answer in map_rows(paths, _annotated_row, rejected, jobs=jobs, columns=columns):
                if isinstance(answer, RejectedRow):
                    continue
                if answer.line is None:
                    self.skipped += 1
                    self._notify(answer.notice)
                else:
                    self.traces += 1
                    yield answer.line
            self.skipped += rejected.count

    def lines_of_blocks(self, paths: Sequence[str], jobs: EngineOptions) -> Iterator[str]:
        """The output lines for the traces of files, made by the workers of an engine."""
        blocks = plan_traces(paths, self._source, jobs.block_bytes)
        for piece in run_blocks(blocks, BlockAnnotator(self._source), jobs):
            for answer in piece.answers:
                self.traces += answer.line is not None
                self.skipped += answer.is_skipped
                self.failed |= answer.is_failed
                if answer.notice:
                    self._notify(answer.notice)
                if answer.line is not None:
                    yield answer.line
            if piece.failed:
                self.failed = True
                self._notify(f"{piece.block.name} was set aside: {piece.failed}")

    def _of(self, file: InputFile) -> Iterator[_NumberedTrace]:
        rows = SampleRows(file.source_file)
        for record in records_of(file, self._source):
            if isinstance(record, Skipped):
                self.skipped += 1
                self._notify(f"{record.file or file.name}: {record.record}: {record.reason}")
                continue
            try:
                inspection = _inspected(record, None if file.with_it else rows)
            except UnknownFormatError as error:
                self.skipped += 1
                self._notify(f"{file.name}: {record.provenance.record}: {error}")
                continue
            self.traces += 1
            yield None, record, inspection


def _inspected(trace: Trace, rows: SampleRows | None) -> Inspection:
    """The inspection. Faults that training data shows on purpose do not break its chain, as in `data lint`."""
    sample = rows.of(trace, trace.provenance.source) if rows is not None else None
    if sample is None:
        return inspect_trace(trace)
    sample = structs.replace(sample, trace=trace)
    return structs.replace(sample.inspection, chain=judged_chain(sample))


class AnnotatedRecord(Struct, frozen=True):
    """The output line of one trace, or a notice on a record without one."""

    line: str | None = None
    notice: str = ""
    is_skipped: bool = False
    is_failed: bool = False


def _annotated_row(row: DataRow) -> AnnotatedRecord:
    """The output line of a row of training data."""
    sample = read_sample(row)
    if sample.shape is None:
        return AnnotatedRecord(notice=f"{row.file}: {row.record}: the row has {refusal(row.value)}", is_skipped=True)
    inspection = structs.replace(sample.inspection, chain=judged_chain(sample))
    return AnnotatedRecord(_line((None, sample.trace, inspection)))


class BlockAnnotator(Struct, frozen=True):
    """Annotates the traces of a block; it can be sent to another process."""

    source: str | None = None

    def __call__(self, block: Block) -> Iterator[AnnotatedRecord]:
        """The lines and the notices, in the order of the block."""
        notices: list[str] = []
        reader = _TraceReader(self.source, notices.append)
        reported = skipped = 0
        with placed_block(block) as file:
            for trace in reader.of_file(file):
                for notice in notices[reported:]:
                    yield AnnotatedRecord(notice=notice, is_skipped=True)
                reported = skipped = len(notices)
                yield AnnotatedRecord(_line(trace))
        for notice in notices[reported:]:
            skipped += 1
            yield AnnotatedRecord(notice=notice, is_skipped=skipped <= reader.skipped, is_failed=reader.failed)


def _stored(store: Store, ids: Sequence[str], expression: str) -> Iterator[_NumberedTrace]:
    recover_traces(store)
    if expression:
        fill_text_index(store)
    numbers = trace_ids(store, ids) if ids else _matching(store, expression)
    for number in numbers:
        yield (number, *store.inspected(number))


def _matching(store: Store, expression: str) -> Iterator[int]:
    """The ids of the matching traces, the newest first, read in pages."""
    after: ListCursor | None = None
    while page := store.traces(expression, limit=_PAGE, after=after):
        yield from (summary.id for summary in page)
        after = page[-1].cursor


def _line(numbered: _NumberedTrace) -> str:
    id_, trace, inspection = numbered
    return write_json(annotation(trace, inspection, id_))


def _write(out: TextIO, lines: Iterable[str], form: str) -> None:
    """Write one object per line for `jsonl`, else one JSON array."""
    if form == "jsonl":
        out.writelines(line + "\n" for line in lines)
        return
    out.write("[")
    out.writelines((",\n" if index else "\n") + line for index, line in enumerate(lines))
    out.write("\n]\n")
