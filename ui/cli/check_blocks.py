"""`weaklink check` in blocks: workers inspect; this process compares with the baseline and reports in order."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weaklink.inspector.importers.blocks import Block
from weaklink.ui.cli.check_baseline import Baseline
from weaklink.ui.cli.check_files import CheckOptions, FileEvent, FileTally, RecordsEnd, inspected_records
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import placed_block, plan_traces
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.reports.check_report import CheckedFile, CheckReporter


class BlockChecker(Struct, frozen=True):
    """Inspects the records of a block; it can be sent to another process."""

    options: CheckOptions

    def __call__(self, block: Block) -> Iterator[FileEvent]:
        """The events of the block, record by record."""
        with placed_block(block) as file:
            yield from inspected_records(file, self.options)


def check_blocks(
    paths: Sequence[str], options: CheckOptions, baseline: Baseline, report: CheckReporter, jobs: EngineOptions
) -> Iterator[CheckedFile]:
    """The summary of each file, in order, after its traces were reported. A block that was set aside fails its file."""
    path, tally = "", FileTally("", baseline, report)
    for piece in run_blocks(plan_traces(paths, options.source, jobs.block_bytes), BlockChecker(options), jobs):
        if piece.block.path != path:
            if path:
                yield tally.checked()
            path = piece.block.path
            tally = FileTally(path, baseline, report)
        for event in piece.answers:
            tally.take(event)
        if piece.failed:
            refused = f"{path}: {piece.block.name} was set aside: {piece.failed}"
            tally.take(RecordsEnd(None, refused, is_failure=True))
    if path:
        yield tally.checked()
