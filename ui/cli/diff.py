"""`weaklink diff`: compare runs of one task, and show where they first diverge."""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import click

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Trace
from weaklink.storage.filter import filter_value
from weaklink.storage.store import open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.paths import is_path, placed_files, records_of
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, filter_of, recover_traces, trace_ids
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.views.context import request_pair_lines
from weaklink.ui.views.layers import Layer
from weaklink.ui.views.run_diff import ComparedRun, compare, diff_lines, diff_object
from weaklink.ui.views.styled_text import counted
from weaklink.ui.views.task_diff import compare_task, task_diff_lines, task_diff_object

_MAX_RUNS = 26
_MAX_TASK_RUNS = 200
_TASK_IDS = ("task_id", "task", "sample", "sample_id", "prompt_index", "instance_id")
_TASK_NAMES = ("{}", "task {}", "task {}, *", "* task {}", "* task {}, *")


def read_turns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """The two turns of `4,6`, or the turn of `4` twice; None if the option is not given. Raises BadParameter."""
    if value is None:
        return None
    numbers = value.split(",")
    if len(numbers) > 2 or not all(number.isdecimal() and 0 < len(number) < 10 for number in numbers):
        raise click.BadParameter(f"`{value}` is neither a turn, such as 4, nor two, such as 4,6.")
    return int(numbers[0]), int(numbers[-1])


@declaring.command("diff")
@click.argument("words", metavar="[RUN]...", nargs=-1)
@click.option("--task", metavar="ID", help="Compare all runs of this task: the good with the bad ones.")
@declaring.filter_option
@click.option("--full", is_flag=True, help="Print every step and every difference in full.")
@click.option(
    "--requests",
    "turns",
    metavar="TURN[,TURN]",
    callback=read_turns,
    help="Print the requests of the first two runs for this turn, side by side.",
)
@click.option(
    "--layer",
    type=click.Choice([layer.value for layer in Layer]),
    help="Compare calls and results as this layer recorded them; steps without it are left out.",
)
@declaring.source_option
@declaring.json_option
@declaring.database_option
@declaring.color_option
def diff(
    words: tuple[str, ...],
    expression: str,
    *,
    task: str | None,
    full: bool,
    turns: tuple[int, int] | None,
    layer: str | None,
    source: str | None,
    where: str | None,
    as_json: bool,
    color: str,
) -> None:
    """Show where runs of one task first diverge, and what differs there.

    A RUN is the number that `weaklink list` prints, `@marked` or `@shown`; a file of any source that `weaklink import`
    reads, with all its traces; or FILE#RECORD, one of them by its number, name or id. All are compared with the first.
    Differences between the requests come first.

    --task or --filter compare all runs of a task: where the bad runs most often diverge from the good ones.

    \b
    weaklink diff 12 15
    weaklink diff 12 15 --requests 4
    weaklink diff 12 15 --layer executed
    weaklink diff before.jsonl#3 after.jsonl#3
    weaklink diff --task 46
    weaklink diff --filter 'session:task_id=46 model:qwen*'
    """
    if task is not None or expression:
        if words or turns is not None or layer is not None:
            raise click.UsageError(
                "--task and --filter select the runs; they cannot be combined with RUN, --requests or --layer."
            )
        compared = compare_task(_runs_of_task(task, expression, where))
        if as_json:
            sys.stdout.write(write_json(task_diff_object(compared)) + "\n")
        else:
            print_lines(task_diff_lines(compared, screen_width()), color=color)
        return
    runs = list(islice((run for word in words for run in _runs(word, source, where)), _MAX_RUNS + 1))
    if len(runs) > _MAX_RUNS:
        raise click.UsageError(
            f"more than {_MAX_RUNS} runs cannot be compared at once; FILE#RECORD selects one of a file."
        )
    if len(runs) < 2:
        raise click.UsageError(
            "a comparison requires two runs; FILE#RECORD names one of a file, a number names a trace."
        )
    if turns is not None:
        if as_json:
            raise click.UsageError("--requests prints text; `weaklink show --json` has the requests of a trace.")
        first, second = ((run.trace, turn) for run, turn in zip(runs[:2], turns, strict=True))
        print_lines(request_pair_lines(first, second, screen_width(), whole=full), color=color)
        return
    run_diff = compare([run.at(Layer(layer)) for run in runs] if layer is not None else runs)
    if as_json:
        sys.stdout.write(write_json(diff_object(run_diff)) + "\n")
    else:
        print_lines(diff_lines(run_diff, screen_width(), full=full), color=color)


def _runs(word: str, source: str | None, where: str | None) -> Iterator[ComparedRun]:
    path, record = _file_and_record(word)
    if not is_path(path):
        with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
            for id_ in trace_ids(store, [word]):
                yield ComparedRun(str(id_) if word.startswith("@") else word, *store.inspected(id_))
        return
    with placed_files([path], source) as files:
        named_traces = (named for file in files for named in _traces(file, source))
        chosen = named_traces if record is None else _chosen(named_traces, word, record)
        for called, trace in chosen:
            yield ComparedRun(called, trace, inspect_trace(trace))


def _runs_of_task(task: str | None, expression: str, where: str | None) -> list[ComparedRun]:
    """The newest runs that are of a task and match a filter, if given; answers of experiments are no runs of a task."""
    terms = ([task_filter(task)] if task is not None else []) + ([expression] if expression else [])
    terms += ["forks:no"] if task is not None and "forks:" not in expression else []  # `session:` would find them
    combined = filter_of([" ".join(f"({term})" for term in terms)] if len(terms) > 1 else terms)
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        fill_text_index(store)
        page = store.paging().page(combined, limit=_MAX_TASK_RUNS + 1)
        if len(page) < 2:
            what = (
                f"{counted(len(page), 'run')} of the task `{task}`" if task is not None else counted(len(page), "trace")
            )
            named = f" that match `{expression}`" if expression else ""
            hint = " --task takes an id that a source recorded, or a name; --filter takes any filter." if task else ""
            raise click.UsageError(f"the database has {what}{named}; a comparison requires two runs.{hint}")
        if len(page) > _MAX_TASK_RUNS:
            print_notice(f"the newest {_MAX_TASK_RUNS} runs are compared")
        ids = [listed.summary.id for listed in page[:_MAX_TASK_RUNS]]
        return [ComparedRun(str(id_), *store.inspected(id_)) for id_ in ids]


def task_filter(task: str) -> str:
    """A filter for the runs of a task: by an id of its source, or by a name such as `airline task 46, trial 1`."""
    ids = [f"session:{filter_value(f'{name}={task}')}" for name in _TASK_IDS]
    names = [f"name:{filter_value(pattern.format(task))}" for pattern in _TASK_NAMES]
    return " or ".join([*ids, *names])


def _file_and_record(word: str) -> tuple[str, str | None]:
    """Split a word into file and record; the name of the file may contain `#` too."""
    path, mark, record = word.rpartition("#")
    return (word, None) if not mark or Path(word).exists() or not is_path(path) else (path, record)


def _traces(file: InputFile, source: str | None) -> Iterator[tuple[str, Trace]]:
    number = 0
    for record in records_of(file, source):
        if isinstance(record, Skipped):
            print_notice(f"{file.name}: {record.record}: {record.reason}")
        else:
            number += 1
            yield f"{file.name}#{number}", record


def _chosen(traces: Iterator[tuple[str, Trace]], word: str, record: str) -> Sequence[tuple[str, Trace]]:
    """The trace with this number, or the first with this name or id. Raises UnreadableFileError."""
    count = 0
    for count, (_, trace) in enumerate(traces, 1):
        if count == int(record) if record.isdecimal() else _is_called(trace, record):
            return [(word, trace)]
    raise UnreadableFileError(
        f"{word}: none of its {count:,} traces is called `{record}`; #1 to #{count} name them all"
    )


def _is_called(trace: Trace, record: str) -> bool:
    return record in (trace.provenance.record, trace.name, *(id.value for id in trace.external_ids))
