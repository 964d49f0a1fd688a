"""Output and rejected rows of all `weaklink data` commands, and rows processed in parallel."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import NoReturn, Protocol, TypeAlias, TypeVar, runtime_checkable

import click

from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.dataset import rows
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow, find_data_files
from weaklink.inspector.dataset.rows import RowWriter
from weaklink.inspector.importers.blocks import Block
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice, progress_bar
from weaklink.ui.cli.declaring import COULD_NOT_RUN, FAILED
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.engine import IN_PROCESS, EngineOptions
from weaklink.ui.importing.worker_process import collect_rarely
from weaklink.ui.views.styled_text import visible_line


def _column_map(_: click.Context, __: click.Parameter, words: Iterable[str]) -> Mapping[str, str]:
    """The names of a row's members, and the members that they are read as. Raises BadParameter."""
    pairs = [pair.partition("=") for word in words for pair in word.split(",") if pair.strip()]
    if any(not equals or not name.strip() or not member.strip() for name, equals, member in pairs):
        raise click.BadParameter("expected NAME=MEMBER, such as question=prompt", param_hint="--map")
    return {name.strip(): member.strip() for name, _, member in pairs}


map_option = click.option(
    "--map",
    "columns",
    callback=_column_map,
    multiple=True,
    metavar="NAME=MEMBER,...",
    help="Read the rows' member NAME as MEMBER: --map question=prompt,reply=completion. Can be repeated.",
)

paths_argument = declaring.all_of(click.argument("paths", metavar="PATH...", nargs=-1, required=True), map_option)

seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of every random choice."
)

rejected_option = click.option(
    "--rejected",
    metavar="FILE",
    help="Write rows that cannot be read to FILE, one JSON line each with file, record, line, column and error. Such"
    " rows are always reported on stderr, and the command exits with 1.",
)

output_option = click.option(
    "--output", metavar="FILE", help="Write rows to FILE, as Parquet if its name ends in .parquet.  [default: stdout]"
)

making_options = declaring.all_of(output_option, rejected_option, jobs_options, seed_option)

_Answer = TypeVar("_Answer")
_Answer_co = TypeVar("_Answer_co", covariant=True)
_Answer_contra = TypeVar("_Answer_contra", contravariant=True)
_MAX_REPORTED = 20
_BATCH_ROWS, _BATCH_BYTES = 64, 1 << 20
NO_COLUMNS: Mapping[str, str] = {}
"""Every member has its own name."""


NO_CALLS = (
    "no call could be read in any row; `--format NAME` reads the texts in another wire format, and `weaklink formats` "
    "lists them"
)
"""The warning about a set in which nothing was judged."""

NO_ANSWERS = "no row has an answer: the set has prompts only, whose tools and references were read"
"""The same for a set of prompts."""


def no_rows(paths: Sequence[str], unread: int) -> str:
    """Why nothing was judged: each of the `unread` rows was reported, or there are none in the files."""
    return "no row could be read" if unread else f"there is no row in {visible_line(', '.join(paths))}"


def end(paths: Sequence[str], rows: int, unread: int, *, failed: bool = False) -> NoReturn:
    """Exit with 2 if no row could be read, after saying so, with 1 if one was `unread` or `failed`, else with 0."""
    if not rows:
        print_notice(no_rows(paths, unread))
    click.get_current_context().exit(COULD_NOT_RUN if not rows else FAILED if unread or failed else 0)


class RowMix(Protocol[_Answer_contra]):
    """Writes rows and others that are made of them; counts both."""

    rows: int

    def add(self, answer: _Answer_contra, writer: RowWriter, /) -> None:
        """Write what is due once the answer for one more row is known."""
        ...

    def summary(self) -> Iterable[str]:
        """Sentences on what was written."""
        ...


def make_rows(
    paths: Sequence[str],
    work: Callable[[DataRow], _Answer],
    mix: RowMix[_Answer],
    *,
    output: str | None,
    rejected: str | None,
    jobs: EngineOptions,
    label: str,
    columns: Mapping[str, str],
) -> NoReturn:
    """Write the rows of the paths and those that `work` makes of each, as `mix` mixes them; print its summary; exit."""
    with row_output(output, paths) as writer, rejected_rows(rejected, paths) as unread:
        for answer in map_rows(paths, work, unread, jobs=jobs, label=label, columns=columns):
            if not isinstance(answer, RejectedRow):
                mix.add(answer, writer)
    for line in mix.summary():
        print_notice(line)
    end(paths, mix.rows, unread.count)


@contextmanager
def row_output(path: str | None, inputs: Iterable[str]) -> Iterator[RowWriter]:
    """A writer to the file at `path`, which is replaced when the block ends, or of JSON lines to stdout."""
    if path is None or path == "-":
        yield rows.JsonLinesWriter(sys.stdout)
        return
    with rows.open_row_file(path, find_data_files(inputs)) as writer:
        yield writer


class RejectedRows:
    """Counts rows that could not be read, reports the first of them on stderr, writes all to a file if one is given.

    A file that cannot be opened counts as one row. With `is_silent`, nothing is written to stderr.
    """

    def __init__(self, writer: RowWriter | None) -> None:
        self._writer = writer
        self.count = 0
        self.is_silent = False

    def add(self, row: RejectedRow) -> None:
        """Count and report one row."""
        self.count += 1
        if self.count <= _MAX_REPORTED and not self.is_silent:
            where = f"{row.file}:{row.line}:{row.column}" if row.line is not None else row.file
            print_notice(f"{where}: {row.record}: {row.reason}")
        if self._writer is not None:
            self._writer.write(row.value)


@contextmanager
def rejected_rows(path: str | None, inputs: Iterable[str] = ()) -> Iterator[RejectedRows]:
    """A collector of rows that cannot be read; it writes them to the file at `path`, if one is given."""
    if path is not None:
        rows.refuse_inputs(path, find_data_files(inputs))
    with whole_file(path) if path is not None else nullcontext() as stream:
        rejected = RejectedRows(rows.JsonLinesWriter(stream) if stream is not None else None)
        yield rejected
    if rejected.count > _MAX_REPORTED and not rejected.is_silent:
        print_notice(f"{rejected.count} rows could not be read; the first {_MAX_REPORTED} are listed")


@runtime_checkable
class BatchWork(Protocol[_Answer_co]):
    """Work that is faster on several rows at once: `of_rows` returns an answer for each, in order."""

    def of_rows(self, rows: Sequence[DataRow], /) -> Sequence[_Answer_co]:
        """The answers for at most 64 rows, and hardly more than 1 MiB."""
        ...


RowWork: TypeAlias = Callable[[DataRow], _Answer] | BatchWork[_Answer]
"""Work on rows. It must be picklable, such as a module's function or a `functools.partial` of one."""


def map_rows(
    paths: Sequence[str],
    work: RowWork[_Answer],
    rejected: RejectedRows,
    *,
    jobs: EngineOptions = IN_PROCESS,
    label: str = "Reading rows",
    keep_rejected: bool = False,
    columns: Mapping[str, str] = NO_COLUMNS,
) -> Iterator[_Answer | RejectedRow]:
    """The result of `work` for each row of the paths, in order; `jobs` decides where it runs.

    `work` must not depend on earlier rows, and its results must be picklable too. Rows that cannot be read go to
    `rejected`, and with `keep_rejected` are yielded too; the same is true for a block that failed repeatedly. `columns`
    are those of `DataRow.renamed`.
    """
    collect_rarely()
    with progress_bar(label) as advance:
        for answer in _answers(paths, work, dict(columns), jobs):
            advance(1)
            if isinstance(answer, RejectedRow):
                rejected.add(answer)
                if keep_rejected:
                    yield answer
            else:
                yield answer


def data_rows(paths: Sequence[str], columns: Mapping[str, str] = NO_COLUMNS) -> Iterator[DataRow]:
    """The rows of the paths that can be read; `columns` are those of `DataRow.renamed`."""
    for row in rows.read_data(paths):
        if isinstance(row, DataRow):
            yield row.renamed(columns) if columns else row


def _answers(
    paths: Sequence[str], work: RowWork[_Answer], columns: Mapping[str, str], jobs: EngineOptions
) -> Iterator[_Answer | RejectedRow]:
    if jobs.is_plain:
        all_rows = (row for path in find_data_files(paths) for row in rows.read_file(path))
        yield from _worked(work, columns, all_rows)
        return
    for piece in run_blocks(rows.plan_rows(paths, jobs.block_bytes), partial(_of_block, work, columns), jobs):
        yield from piece.answers
        if piece.failed:
            yield RejectedRow(piece.block.path, "file", f"{piece.block.name} was set aside: {piece.failed}")


def _of_block(work: RowWork[_Answer], columns: Mapping[str, str], block: Block) -> Iterator[_Answer | RejectedRow]:
    return _worked(work, columns, rows.read_block(block))


def _worked(
    work: RowWork[_Answer], columns: Mapping[str, str], given: Iterable[DataRow | RejectedRow]
) -> Iterator[_Answer | RejectedRow]:
    renamed = (row.renamed(columns) if columns and isinstance(row, DataRow) else row for row in given)
    if not isinstance(work, BatchWork):
        for row in renamed:
            yield row if isinstance(row, RejectedRow) else work(row)
        return
    for batch in _batches(renamed):
        answers = iter(work.of_rows([row for row in batch if isinstance(row, DataRow)]))
        for row in batch:
            yield row if isinstance(row, RejectedRow) else next(answers)


def _batches(given: Iterable[DataRow | RejectedRow]) -> Iterator[list[DataRow | RejectedRow]]:
    batch: list[DataRow | RejectedRow] = []
    size = 0
    for row in given:
        batch.append(row)
        size += len(row.raw) if isinstance(row, DataRow) else 0
        if len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
