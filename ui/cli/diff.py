"""`weaklink diff`: runs of one task side by side, and where they first part."""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import click

from inspector.errors import UnreadableFileError
from inspector.importers.source import Skipped
from inspector.inspection import inspect_trace
from inspector.json_text import write_json
from inspector.model import Trace
from storage import open_store
from ui.cli.console import color_option, database_option, json_option, print_lines, print_notice, screen_width
from ui.cli.paths import is_path, placed_files, records_of
from ui.cli.store_options import LOCK_TIMEOUT_S, trace_id
from ui.importing.file_places import PlacedFile
from ui.views.run_diff import ComparedRun, compare, diff_lines, diff_object

_MOST = 26


@click.command("diff")
@click.argument("words", metavar="RUN...", nargs=-1, required=True)
@click.option("--full", is_flag=True, help="Print every step and every difference in full.")
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@json_option
@database_option
@color_option
def diff(
    words: tuple[str, ...], *, full: bool, source: str | None, where: str | None, as_json: bool, color: str
) -> None:
    """Show where runs of one task first diverge, and what differs there.

    A RUN is the number that `weaklink list` prints; a FILE of any source that `weaklink import` reads, which means all
    its traces; or FILE#RECORD for one of them: its number from 1, its record (`line 3`), its name or an id from its
    source. All others are compared with the first.

    Steps are aligned by their calls. Differences between the requests come first: prompts, tools, model, parameters.

    \b
    weaklink diff 12 15
    weaklink diff before.jsonl#3 after.jsonl#3
    weaklink diff 12 15 16 17 --json
    """  # noqa: D301  # Click wants the backspace itself
    runs = list(islice((run for word in words for run in _runs(word, source, where)), _MOST + 1))
    if len(runs) > _MOST:
        raise click.UsageError(f"more than {_MOST} runs cannot be compared at once; FILE#RECORD selects one of a file.")
    if len(runs) < 2:
        raise click.UsageError("it takes two runs to compare them; FILE#RECORD names one of a file, a number a trace.")
    found = compare(runs)
    if as_json:
        sys.stdout.write(write_json(diff_object(found)) + "\n")
    else:
        print_lines(diff_lines(found, screen_width(), full=full), color=color)


def _runs(word: str, source: str | None, where: str | None) -> Iterator[ComparedRun]:
    path, record = _file_and_record(word)
    if not is_path(path):
        with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
            yield ComparedRun(word, *store.inspected(trace_id(store, word)))
        return
    with placed_files([path], source) as files:
        found = (named for file in files for named in _traces(file, source))
        chosen = found if record is None else _chosen(found, word, record)
        for called, trace in chosen:
            yield ComparedRun(called, trace, inspect_trace(trace))


def _file_and_record(word: str) -> tuple[str, str | None]:
    """A word as file and record; the file's own name may hold `#`."""
    path, mark, record = word.rpartition("#")
    return (word, None) if not mark or Path(word).exists() or not is_path(path) else (path, record)


def _traces(file: PlacedFile, source: str | None) -> Iterator[tuple[str, Trace]]:
    number = 0
    for record in records_of(file, source):
        if isinstance(record, Skipped):
            print_notice(f"{file.name}: {record.record}: {record.reason}")
        else:
            number += 1
            yield f"{file.name}#{number}", record


def _chosen(found: Iterator[tuple[str, Trace]], word: str, record: str) -> Sequence[tuple[str, Trace]]:
    """The trace of that number, else the first that bears the name."""
    count = 0
    for count, (_, trace) in enumerate(found, 1):
        if count == int(record) if record.isdecimal() else _is_called(trace, record):
            return [(word, trace)]
    raise UnreadableFileError(
        f"{word}: none of its {count:,} traces is called `{record}`; #1 to #{count} name them all"
    )


def _is_called(trace: Trace, record: str) -> bool:
    return record in (trace.provenance.record, trace.name, *(id.value for id in trace.external_ids))
