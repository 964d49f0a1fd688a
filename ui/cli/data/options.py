"""Options and output that all `weaklink data` commands share, and rows worked on by several processes."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import click

from inspector.atomic_write import whole_file
from inspector.dataset.rows import (
    DataRow,
    JsonLinesWriter,
    RejectedRow,
    RowWriter,
    find_data_files,
    open_row_file,
    read_file,
    refuse_inputs,
)
from ui.cli.console import print_notice, progress_bar

_Answer = TypeVar("_Answer")
_BATCH = 200
_REPORTED = 20

paths_argument = click.argument("paths", metavar="PATH...", nargs=-1, required=True)

jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of processes; 0 for one per core. The output is the same for any number.",
)

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


_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def making_options(command: _Decorated) -> _Decorated:
    """The options of every command that makes new rows."""
    for option in (seed_option, jobs_option, rejected_option, output_option):
        command = option(command)
    return command


def cores() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def row_output(path: str | None, inputs: Iterable[str]) -> Iterator[RowWriter]:
    """Where rows go: the file at `path`, which takes its place when the block ends, else stdout as JSON lines."""
    if path is None or path == "-":
        yield JsonLinesWriter(sys.stdout)
        return
    with open_row_file(path, find_data_files(inputs)) as writer:
        yield writer


class RejectedRows:
    """Counts rows that could not be read, reports the first of them on stderr, writes all to a file if one is given.

    What is no row of its own (a file that cannot be opened) counts too. `is_silent` leaves out what goes to stderr.
    """

    def __init__(self, writer: RowWriter | None) -> None:
        self._writer = writer
        self.count = 0
        self.is_silent = False

    def add(self, row: RejectedRow) -> None:
        """Take one more."""
        self.count += 1
        if self.count <= _REPORTED and not self.is_silent:
            place = f"{row.file}:{row.line}:{row.column}" if row.line is not None else row.file
            print_notice(f"{place}: {row.record}: {row.reason}")
        if self._writer is not None:
            self._writer.write(row.value)


@contextmanager
def rejected_rows(path: str | None, inputs: Iterable[str] = ()) -> Iterator[RejectedRows]:
    """The rows that cannot be read, which go to the file at `path` where one is given."""
    if path is not None:
        refuse_inputs(path, find_data_files(inputs))
    with whole_file(path) if path is not None else nullcontext() as stream:
        rejected = RejectedRows(JsonLinesWriter(stream) if stream is not None else None)
        yield rejected
    if rejected.count > _REPORTED and not rejected.is_silent:
        print_notice(f"{rejected.count} rows could not be read; the first {_REPORTED} are listed")


def map_rows(
    paths: Sequence[str],
    work: Callable[[DataRow], _Answer],
    rejected: RejectedRows,
    *,
    jobs: int = 1,
    label: str = "Reading rows",
    keep_rejected: bool = False,
) -> Iterator[_Answer | RejectedRow]:
    """What `work` returns for each row of the paths, in their order; with `jobs` other than 1 in as many processes.

    `work` must be a function of a module, or a `functools.partial` of one, and must not depend on rows before. Its
    answers cross from process to process, so they must pickle. Rows that cannot be read go to `rejected`, and with
    `keep_rejected` into what this gives too.
    """
    with progress_bar(label) as advance:
        for answer in _answers(paths, work, jobs or cores()):
            advance(1)
            if isinstance(answer, RejectedRow):
                rejected.add(answer)
                if keep_rejected:
                    yield answer
            else:
                yield answer


def _answers(paths: Sequence[str], work: Callable[[DataRow], _Answer], jobs: int) -> Iterator[_Answer | RejectedRow]:
    rows = (row for path in find_data_files(paths) for row in read_file(path))
    if jobs == 1:
        for row in rows:
            yield row if isinstance(row, RejectedRow) else work(row)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        pending = []
        for batch in iter(lambda: list(islice(rows, _BATCH)), []):
            pending.append(pool.apply_async(partial(_batch, work), (batch,)))
            if len(pending) >= 2 * jobs:
                yield from pending.pop(0).get()
        for one in pending:
            yield from one.get()


def _batch(work: Callable[[DataRow], _Answer], rows: Sequence[DataRow | RejectedRow]) -> list[_Answer | RejectedRow]:
    return [row if isinstance(row, RejectedRow) else work(row) for row in rows]
