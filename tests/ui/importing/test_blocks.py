"""Work in blocks: the same answers for every partition, on every engine, after every death of a worker."""

import gzip
import json
import os
import random
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pyarrow import parquet

from tests.examples import in_the_gate
from tests.ui.conftest import run_text
from weaklink.inspector.chain.metrics_groups import GroupKey
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.rows import plan_rows, read_block, read_data
from weaklink.inspector.errors import StoreError
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.importers.source import local_path
from weaklink.inspector.model import Trace
from weaklink.storage.console.sql_executor import ask_tables
from weaklink.ui.cli.check import BlockChecker
from weaklink.ui.cli.check_files import CheckOptions, FileEvent, RecordsEnd, inspected_records
from weaklink.ui.cli.data.annotate import BlockAnnotator
from weaklink.ui.cli.group import weaklink
from weaklink.ui.cli.paths import records_of
from weaklink.ui.cli.report import BlockTriage, TriageSums, triage_of_files
from weaklink.ui.cli.stats import BlockCounter, FileStatistics, StatisticsSums, statistics_object
from weaklink.ui.importing.block_jobs import UnsafeFolderError, run_blocks
from weaklink.ui.importing.block_records import ATTEMPTS, placed_block, plan_traces
from weaklink.ui.importing.engine import EngineOptions, needs_blocks
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.importing.result_tables import TABLES, BlockImporter, OtherResultsError, ResultsFolder

ROWS = 60
BROKEN = (7, 31)
_BY = (GroupKey.MODEL, GroupKey.TOOL)


def conversation(number: int) -> dict[str, object]:
    """One call; every third has bad arguments, and the texts have different lengths."""
    arguments = '{"city": "Oslo"' + ("" if number % 3 else ', "days": ') + ("}" if number % 5 else "")
    call = {"id": f"c{number}", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    return {
        "messages": [
            {"role": "user", "content": f"{number}: how is it? {'Very long. ' * (number % 11)}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "4 degrees" if number % 4 else "Error: no city"},
            {"role": "assistant", "content": "It is 4 degrees. \N{SNOWMAN}"},
        ],
        "model": f"m{number % 3}",
    }


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """JSON lines with a blank line and two that are broken."""
    lines = [json.dumps(conversation(number)) for number in range(ROWS)]
    lines = ["{broken" if number in BROKEN else line for number, line in enumerate(lines)]
    lines.insert(20, "")
    path = tmp_path_factory.mktemp("blocks") / "log.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def table(log: str) -> str:
    rows = [json.dumps(row.value["messages"]) for row in read_data([log]) if isinstance(row, DataRow)]
    path = log.removesuffix(".jsonl") + ".parquet"
    schema = pa.schema([("messages", pa.string())], metadata={b"weaklink.json_columns": b'["messages"]'})
    parquet.write_table(pa.table({"messages": rows}, schema=schema), path, row_group_size=9)
    return path


def without_digest(record: object) -> object:
    """A trace without the digest of its file, which a block has not."""
    if not isinstance(record, Trace):
        return record
    return replace(record, provenance=replace(record.provenance, file_sha256=""))


sizes = st.integers(200, 20_000)
few = in_the_gate(3, most=8)


# ---------------------------------------------------------------- partitions


@few
@given(sizes)
def test_every_partition_gives_the_same_rows(log: str, size: int) -> None:
    blocks = plan_rows([log], size)
    assert [row for block in blocks for row in read_block(block)] == list(read_data([log]))
    assert [block.number for block in blocks] == list(range(len(blocks)))


@few
@given(sizes)
def test_every_partition_gives_the_same_traces(log: str, size: int) -> None:
    collected: list[object] = []
    for block in plan_traces([log], None, size):
        with placed_block(block) as file:
            collected += records_of(file, None)
    assert list(map(without_digest, collected)) == list(map(without_digest, records_of(InputFile(log), None)))


@few
@given(sizes, st.randoms(use_true_random=False))
def test_every_partition_in_any_order_gives_the_same_statistics(log: str, size: int, chance: random.Random) -> None:
    whole = FileStatistics(_BY, {}, lambda _: None)
    whole.read(InputFile(log), None)
    blocks = plan_traces([log], None, size)
    chance.shuffle(blocks)
    parts = StatisticsSums(_BY)
    for block in blocks:
        for counted in BlockCounter(_BY)(block):
            parts.merge(counted.sums)
    expected, statistics = (sums.statistics(None, compares=False, fewest=2) for sums in (whole.sums, parts))
    assert statistics_object(statistics) == statistics_object(expected)
    assert expected.whole is not None
    assert expected.whole.traces == ROWS - len(BROKEN)


@pytest.mark.slow
@few
@given(sizes, st.randoms(use_true_random=False))
def test_every_partition_in_any_order_gives_the_same_report(log: str, size: int, chance: random.Random) -> None:
    (whole,) = BlockTriage(3)(plan_traces([log], None, 1 << 30)[0])
    blocks = plan_traces([log], None, size)
    chance.shuffle(blocks)
    parts = TriageSums(3)
    for block in blocks:
        for sums in BlockTriage(3)(block):
            parts.merge(sums)
    assert parts.triage() == whole.triage()
    assert [checked.errors for checked in parts.chosen()] == [checked.errors for checked in whole.chosen()]
    assert len(whole.chosen()) == 3


def worst(log: str, size: int) -> list[str]:
    """The worst chains in the order of their pages."""
    with triage_of_files([log], None, 9, EngineOptions(block_bytes=size)) as (_, store):
        return [store.trace(number).provenance.record for number in range(1, len(store.traces()) + 1)]


@pytest.mark.slow
@in_the_gate(2, most=3)
@given(sizes)
def test_every_partition_gives_the_worst_chains_the_same_pages(log: str, size: int) -> None:
    whole = worst(log, 1 << 30)
    assert len(whole) == 9
    assert worst(log, size) == whole


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "command",
    [("lint",), ("report", "--json"), ("score",), ("verify", "--json")],
    ids=lambda words: words[0],
)
@in_the_gate(1, most=2)
@given(sizes)
def test_every_partition_gives_the_same_report_on_training_data(
    log: str, tmp_path_factory: pytest.TempPathFactory, command: tuple[str, ...], size: int
) -> None:
    folder = tmp_path_factory.mktemp("training")
    words = ("data", *command, log)
    whole = run_text(folder, *words)
    assert whole.stdout
    parts = run_text(folder, *words, "--block-size", str(max(size / (1 << 20), 0.001)), "--resume", "kept")
    assert len(list(folder.glob("kept/*/*.pieces"))) > 0
    assert (parts.stdout, parts.returncode) == (whole.stdout, whole.returncode)


def test_every_partition_gives_the_same_annotations(log: str) -> None:
    whole, *parts = (
        [annotator for block in plan_traces([log], None, size) for annotator in BlockAnnotator()(block)]
        for size in (1 << 30, 5_000, 700)
    )
    assert parts == [whole, whole]
    assert sum(event.is_skipped for event in whole) == len(BROKEN)


def events(file_events: Iterator[FileEvent]) -> list[FileEvent]:
    return [event for event in file_events if not isinstance(event, RecordsEnd)]


@few
@given(sizes)
def test_every_partition_gives_the_same_findings_with_places_and_fingerprints(log: str, size: int) -> None:
    options = CheckOptions()
    blocks = plan_traces([log], None, size)
    event_list = [event for block in blocks for event in events(BlockChecker(options)(block))]
    assert repr(event_list) == repr(events(inspected_records(InputFile(log), options)))


def test_a_log_whose_sessions_span_lines_is_one_block(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_text("\n".join(json.dumps({"role": "user", "content": "a" * 90}) for _ in range(50)), encoding="utf-8")
    assert [block.kind for block in plan_traces([str(path)], None, 500)] == ["file"]


def test_packed_files_are_one_block_each_with_the_same_rows(log: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(Path(log).read_bytes()))
    (block,) = plan_rows([str(path)], 500)
    assert [replace(row, file=log) for row in read_block(block)] == list(read_data([log]))


def test_row_groups_are_blocks_whose_rows_keep_their_numbers(table: str) -> None:
    blocks = plan_rows([table], 1)
    assert [block.first for block in blocks] == list(range(1, ROWS - 1, 9))
    assert [row for block in blocks for row in read_block(block)] == list(read_data([table]))


def test_traces_of_parquet_are_numbered_by_row(table: str) -> None:
    collected: list[str] = []
    for block in plan_traces([table], None, 1):
        with placed_block(block) as file:
            collected += [trace.provenance.record for trace in records_of(file, None) if isinstance(trace, Trace)]
    assert collected == [f"row {number}" for number in range(1, ROWS - 1)]


def test_urls_are_read_as_files_are(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec  # noqa: PLC0415  # comes with Ray

    monkeypatch.setattr(
        "weaklink.inspector.importers.blocks._COUNTERS", 1
    )  # who opens a file in memory shares its position

    with fsspec.filesystem("memory").open("/bucket/logs/log.jsonl", "wb") as stream:
        stream.write(Path(log).read_bytes())
    url = "memory://bucket/logs/log.jsonl"
    plain = [replace(row, file="") for row in read_data([log])]
    for path in (url, "memory://bucket/logs", "memory://bucket/*/log.*"):
        blocks = plan_rows([path], 3_000)
        assert len(blocks) > 3
        assert [replace(row, file="") for block in blocks for row in read_block(block)] == plain
    assert needs_blocks([url])
    assert local_path("file:///a%20b") == "/a b"


# ---------------------------------------------------------------- deaths, errors, resuming


@dataclass(frozen=True)
class Numbers:
    """Gives the numbers of a block; `fault` is called before each, `folder` is where it counts its attempts."""

    folder: str
    fault: Callable[[str, int], None]
    count: int = 250

    def __call__(self, block: Block) -> Iterator[int]:
        for number in range(self.count):
            self.fault(self.folder, block.number * 1_000 + number)
            yield block.number * 1_000 + number


def attempts(folder: str, name: str) -> int:
    """Count one more attempt."""
    path = Path(folder) / name
    with path.open("a", encoding="utf-8") as stream:
        stream.write(".")
    return path.stat().st_size


def dies_once(folder: str, number: int) -> None:
    if number == 2_150 and attempts(folder, "deaths") == 1:
        os.kill(os.getpid(), 9)


def dies_always(folder: str, number: int) -> None:
    if number == 1_120:
        attempts(folder, "deaths")
        os.kill(os.getpid(), 9)


def fails_always(folder: str, number: int) -> None:
    if number == 1_120:
        raise ValueError(f"attempt {attempts(folder, 'errors')}")


def counts(folder: str, number: int) -> None:
    if number % 1_000 == 0:
        attempts(folder, f"block-{number // 1_000}")


BLOCKS = [Block(number, f"file-{number}") for number in range(5)]
ALL = [number * 1_000 + index for number in range(5) for index in range(250)]
TWO = EngineOptions(jobs=2)


def test_a_worker_that_is_killed_loses_nothing_and_nothing_comes_twice(tmp_path: Path) -> None:
    pieces = list(run_blocks(BLOCKS, Numbers(str(tmp_path), dies_once), TWO))
    assert [answer for piece in pieces for answer in piece.answers] == ALL
    assert (tmp_path / "deaths").stat().st_size == 2
    assert not any(piece.failed for piece in pieces)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [(dies_always, "signal 9"), (fails_always, f"attempt {ATTEMPTS} (ValueError)")],
    ids=["kills its worker", "raises"],
)
def test_a_block_that_fails_again_and_again_is_set_aside(
    tmp_path: Path, fault: Callable[[str, int], None], reason: str
) -> None:
    pieces = list(run_blocks(BLOCKS, Numbers(str(tmp_path), fault), TWO))
    assert [(piece.block.number, reason in piece.failed) for piece in pieces if piece.failed] == [(1, True)]
    answers = [answer for piece in pieces for answer in piece.answers]
    assert [number for number in answers if number // 1_000 != 1] == [number for number in ALL if number // 1_000 != 1]
    assert next(iter(tmp_path.iterdir())).stat().st_size == ATTEMPTS


def test_a_run_that_ended_goes_on_with_the_blocks_that_are_missing(tmp_path: Path) -> None:
    work = Numbers(str(tmp_path), counts)
    options = EngineOptions(resume=str(tmp_path / "kept"))
    for piece in run_blocks(BLOCKS, work, options):
        if piece.block.number == 2 and piece.number == 1:
            break
    pieces = list(run_blocks(BLOCKS, work, options))
    assert [answer for piece in pieces for answer in piece.answers] == ALL
    assert [(tmp_path / f"block-{number}").stat().st_size for number in range(5)] == [1, 1, 2, 1, 1]
    other = list(run_blocks(BLOCKS, Numbers(str(tmp_path), counts, 10), options))
    assert sum(len(piece.answers) for piece in other) == 50


def test_a_folder_that_others_may_write_into_is_refused(tmp_path: Path) -> None:
    work, options = Numbers(str(tmp_path), counts, 1), EngineOptions(resume=str(tmp_path / "kept"))
    list(run_blocks(BLOCKS, work, options))
    next((tmp_path / "kept").iterdir()).chmod(0o777)
    with pytest.raises(UnsafeFolderError, match="writable by others"):
        list(run_blocks(BLOCKS, work, options))


# ---------------------------------------------------------------- results in Parquet


def results(where: Path) -> dict[str, bytes]:
    return {str(path.relative_to(where)): path.read_bytes() for path in sorted(where.rglob("*.parquet"))}


def run_import(log: str, where: Path, *, stop_after: int = 100) -> int:
    """Import what is missing; how many blocks that were."""
    blocks = plan_traces([log], None, 3_000)
    folder = ResultsFolder(str(where))
    folder.begin(blocks, "None")
    missing = [block for block in blocks if block.number not in folder.finished()]
    return len(list(map(list, map(BlockImporter(str(where)), missing[:stop_after]))))


def test_results_of_a_run_that_was_ended_are_those_of_one_that_was_not(log: str, tmp_path: Path) -> None:
    blocks = run_import(log, tmp_path / "whole")
    assert run_import(log, tmp_path / "ended", stop_after=2) == 2
    (tmp_path / "ended/traces/block-00000002.parquet").write_bytes(b"half")  # a worker died here
    assert ask(ResultsFolder(str(tmp_path / "ended")), "SELECT count(DISTINCT block) FROM traces") == [(2,)]
    assert run_import(log, tmp_path / "ended") == blocks - 2
    assert results(tmp_path / "ended") == results(tmp_path / "whole")
    assert len(results(tmp_path / "whole")) == blocks * len(TABLES)
    with pytest.raises(OtherResultsError, match="results of other files"):
        ResultsFolder(str(tmp_path / "whole")).begin(plan_traces([log], None, 5_000), "None")


def test_results_that_no_manifest_here_lists_are_set_aside(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ResultsFolder, "finish", lambda *_: None)
    done = CliRunner().invoke(weaklink, ["import", log, "--to", str(tmp_path / "results"), "--json"])
    assert done.exit_code == 2, done.output
    assert json.loads(done.stdout)["set_aside"] == [
        {"block": log, "reason": "its results are on another machine; name a folder that all nodes share, or a URL"}
    ]


def test_what_a_killed_worker_left_unfinished_is_deleted_at_the_end(log: str, tmp_path: Path) -> None:
    where = tmp_path / "results"
    words = ["import", log, "--to", str(where)]
    assert CliRunner().invoke(weaklink, words).exit_code == 0
    whole = {path.relative_to(where) for path in where.rglob("*") if path.is_file()}
    (where / "_manifest" / "00000000.json").unlink()
    for left in ("traces/.block-00000000.parquet.1", "_manifest/.00000000.json.1"):
        (where / left).write_bytes(b"half")
    assert CliRunner().invoke(weaklink, words).exit_code == 0
    assert {path.relative_to(where) for path in where.rglob("*") if path.is_file()} == whole


def test_a_file_that_could_not_be_written_to_its_end_is_not_there(tmp_path: Path) -> None:
    for where in (str(tmp_path), "memory://bucket/results"):
        folder = ResultsFolder(where)
        folder.write("x/whole", b"1")
        with pytest.raises(TypeError), folder.new_file("x/half") as stream:
            stream.write(None)
        assert folder.names("x") == ["whole"]


@pytest.fixture(scope="module")
def imported(log: str, tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    where = tmp_path_factory.mktemp("results")
    run_import(log, where)
    return ResultsFolder(str(where))


def ask(folder: ResultsFolder, statement: str, **bounds: float) -> list[tuple[object, ...]]:
    tables = {name: folder.dataset(name) for name in TABLES}
    return list(ask_tables(tables, statement, **bounds).rows)  # type: ignore[arg-type]  # seconds, limit


def test_sql_counts_what_the_check_finds(log: str, imported: ResultsFolder) -> None:
    counted = ask(imported, "SELECT code, count(*) FROM diagnostics GROUP BY 1")
    by_str = {str(code): count for code, count in counted}
    statistics = FileStatistics((), {}, lambda _: None)
    statistics.read(InputFile(log), None)
    traces = ask(imported, "SELECT count(*), count(*) FILTER (status = 'broken') FROM traces")
    whole = statistics.sums.statistics(None, compares=False, fewest=2).whole
    assert whole is not None
    assert traces == [(whole.traces, whole.tally("broken").hits)]
    expected: dict[str, int] = {}
    for event in inspected_records(InputFile(log), CheckOptions()):
        for checked in getattr(event, "diagnostics", ()):
            code = checked.diagnostic.rule.code
            expected[code] = expected.get(code, 0) + 1
    assert {code: n for code, n in by_str.items() if not code.startswith("D")} == {
        code: n for code, n in expected.items() if not code.startswith("D")
    }


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{log}')",
        "SELECT * FROM read_text('{log}')",
        "SELECT * FROM read_parquet('{folder}/traces/*.parquet')",
        "SELECT * FROM '{log}'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM TABLES",
        "COPY traces TO '{folder}/x.csv'",
        "ATTACH '{folder}/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "SELECT 1; SELECT 2",
        "CREATE TABLE x AS SELECT 1",
        "SELECT getenv('HOME')",
        "",
    ],
)
def test_sql_reads_the_tables_and_nothing_else(log: str, imported: ResultsFolder, statement: str) -> None:
    with pytest.raises(StoreError):
        ask(imported, statement.format(log=log, folder=imported.where))
    assert not list(Path(imported.where).glob("x.*"))


def test_sql_is_bounded_in_time_memory_and_rows(imported: ResultsFolder) -> None:
    with pytest.raises(StoreError, match=r"longer than 0\.3 seconds"):
        ask(imported, "SELECT count(*) FROM range(100000000000) a, range(1000000) b", seconds=0.3)
    with pytest.raises(StoreError, match="memory"):
        ask(imported, "SELECT list(range) FROM range(2000000000)", seconds=300)
    assert len(ask(imported, "SELECT * FROM range(100)", limit=7)) == 7


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "statement", ["SELECT repeat('a', 500000000)", "SELECT repeat('a', 10000000) FROM traces, range(10000)"]
)
def test_a_value_made_from_nothing_ends_in_another_process(imported: ResultsFolder, statement: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StoreError, match=r"memory|longer than 3 seconds"):
        ask(imported, statement, seconds=3)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KB; one value has 500 MB


# ---------------------------------------------------------------- Ray


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray warns of its own settings, and leaves sockets to the collector
def test_ray_gives_the_answers_of_one_process_though_workers_die(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = EngineOptions("ray", jobs=2)
    expected = [answer for block in plan_rows([log], 3_000) for answer in map(repr, read_block(block))]
    import ray  # noqa: PLC0415  # seconds to load

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    try:
        monkeypatch.chdir(Path(log).parent)  # workers that run elsewhere find relative paths
        pieces = list(run_blocks(plan_rows([Path(log).name], 3_000), partial(rows_as_text), options))
        assert [answer.replace("log.jsonl", log) for piece in pieces for answer in piece.answers] == expected
        killed = list(run_blocks(BLOCKS, Numbers(str(tmp_path), dies_once), options))
        assert [answer for piece in killed for answer in piece.answers] == ALL
        assert (tmp_path / "deaths").stat().st_size == 2
    finally:
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_ray_sets_a_block_aside_that_kills_its_worker_again_and_again(tmp_path: Path) -> None:
    pieces = list(run_blocks(BLOCKS, Numbers(str(tmp_path), dies_always), EngineOptions("ray", jobs=2)))
    aside = [(piece.block.number, piece.failed) for piece in pieces if piece.failed]
    assert aside == [(1, f"the worker process died {ATTEMPTS} times")]
    answers = [answer for piece in pieces for answer in piece.answers]
    assert [number for number in answers if number // 1_000 != 1] == [number for number in ALL if number // 1_000 != 1]


def rows_as_text(block: Block) -> Iterator[str]:
    return map(repr, read_block(block))
