"""`weaklink import --to DIR`: writes the results of blocks as Parquet: the plan, the totals, the blocks set aside."""

import sys
from collections import Counter
from collections.abc import Sequence

import click

from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.ui.cli.console import print_notice, progress_bar
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import plan_traces
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.importing.result_tables import BlockImporter, BlockResult, ResultsFolder
from weaklink.ui.views.styled_text import counted

_FAILED, _COULD_NOT_RUN = 1, 2
_MAX_PRINTED = 20
_ELSEWHERE = "its results are on another machine; name a folder that all nodes share, or a URL"


def import_results(paths: Sequence[str], to: str, source: str | None, jobs: EngineOptions, *, as_json: bool) -> None:
    """Write the results of every block that is not in the manifest yet, and print the totals of all.

    Exits with 1 if a block was set aside, and with 2 if no trace could be read.
    """
    blocks = plan_traces(paths, source, jobs.block_bytes)
    folder = ResultsFolder(to)
    folder.begin(blocks, repr(source))
    finished = folder.finished()
    missing = [block for block in blocks if block.number not in finished]
    set_aside: list[tuple[str, str]] = []
    fresh: dict[int, BlockResult] = {}
    with progress_bar("Inspecting", len(missing)) as advance:
        for piece in run_blocks(missing, BlockImporter(to, source), jobs):
            for answer in piece.answers:
                fresh[piece.block.number] = answer
            if piece.failed:
                set_aside.append((piece.block.name, piece.failed))
            advance(piece.is_last)
    for number in sorted(fresh.keys() - folder.entries() if fresh else ()):
        del fresh[number]
        set_aside.append((blocks[number].name, _ELSEWHERE))
    if not set_aside:
        folder.remove_unfinished()
    totals = _Totals()
    for block in blocks:
        if result := finished.get(block.number) or fresh.get(block.number):
            totals.add(block.path, result)
    for name, why in set_aside:
        print_notice(f"{name} was set aside: {why}; the same command tries it again")
    totals.report(to, resumed=len(finished), set_aside=set_aside, as_json=as_json)
    if set_aside or not totals.rows["traces"]:
        click.get_current_context().exit(_FAILED if totals.rows["traces"] else _COULD_NOT_RUN)


class _Totals:
    """The sums over the results of blocks; the first notices are printed as they come."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.skipped = self.refused = self._printed = 0

    def add(self, path: str, result: BlockResult) -> None:
        self.rows.update(result.rows)
        self.statuses.update(result.statuses)
        self.skipped += result.skipped
        self.refused += result.refused is not None
        for notice in (*result.notices, *([result.refused] if result.refused else [])):
            self._printed += 1
            if self._printed <= _MAX_PRINTED:
                print_notice(notice if notice == result.refused else f"{path}: {notice}")

    def report(self, to: str, *, resumed: int, set_aside: list[tuple[str, str]], as_json: bool) -> None:
        if self.skipped + self.refused > _MAX_PRINTED:
            print_notice(f"{self.skipped:,} records were skipped, {self.refused:,} files refused; the first are listed")
        if as_json:
            aside: list[Json] = [{"block": name, "reason": why} for name, why in set_aside]
            value: dict[str, Json] = {
                "rows": dict(sorted(self.rows.items())),
                "statuses": dict(sorted(self.statuses.items())),
                "skipped": self.skipped,
                "refused": self.refused,
                "finished_before": resumed,
                "set_aside": aside,
            }
            sys.stdout.write(write_json(value) + "\n")
            return
        shown = ", ".join(f"{count:,} {status}" for status, count in sorted(self.statuses.items()))
        sys.stdout.write(f"{to}: {counted(self.rows['traces'], 'trace')}{f' ({shown})' if shown else ''}\n")
