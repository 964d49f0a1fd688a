"""A log that is imported again and again while it grows leaves the database that one import of all of it gives."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from weaklink.inspector.importers.records import layout_of
from weaklink.inspector.importers.registry import importers
from weaklink.inspector.importers.sqlite_tables import MAGIC
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli.import_rounds import import_new
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.reports.import_report import FileReport

CASES = Path(__file__).parents[2] / "cases" / "importers"
AGENTS = {
    importer.name
    for importer in importers()
    if type(importer).__module__.startswith("weaklink.inspector.importers.agents.")
}
_CUTS = 2


def is_lines(path: Path) -> bool:
    head = path.read_bytes()
    return not head.startswith(MAGIC) and layout_of(head) == "line" and head.count(b"\n") > 1


LOGS = [
    path
    for path in sorted(CASES.glob("*/*"))
    if path.parent.name in AGENTS and path.suffix != ".expected" and path.is_file() and is_lines(path)
]


def stored(store: Store) -> dict[tuple[object, ...], tuple[Trace, Inspection]]:
    """Every trace with its inspection, by its ids."""
    pairs = (store.inspected(summary.id) for summary in store.traces(limit=1_000))
    return {trace.external_ids: (trace, inspection) for trace, inspection in pairs}


def cuts(size: int, seed: str) -> Iterator[int]:
    """Where a file ends while it grows: anywhere, also inside a line."""
    yield from sorted(random.Random(seed).sample(range(1, size), min(_CUTS, size - 1)))


def import_again(store: Store, log: Path, source: str) -> FileReport:
    reports: list[FileReport] = []
    import_new(store, [InputFile(str(log))], ImportOptions(source=source), 1, reports)
    return reports[0]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_that_grew_gives_what_the_whole_file_gives(path: Path, tmp_path: Path) -> None:
    source, whole = path.parent.name, path.read_bytes()
    log = tmp_path / path.name
    log.write_bytes(whole)
    with open_store(tmp_path / "whole.db") as store:
        report = import_again(store, log, source)
        expected = stored(store)
    with open_store(tmp_path / "grown.db") as store:
        for cut in cuts(len(whole), path.name):
            log.write_bytes(whole[:cut])
            import_again(store, log, source)
        log.write_bytes(whole)
        assert import_again(store, log, source).counts.traces == report.counts.traces
        grown = stored(store)
    assert grown.keys() == expected.keys()
    for ids, (trace, inspection) in expected.items():
        assert grown[ids][0].turns == trace.turns
        assert grown[ids][1] == inspection


def pi_session(parents: Sequence[int | None]) -> str:
    """A session of Pi whose entries are numbered from 1 and alternate between the user and the model."""
    lines = [{"type": "session", "id": "harbour", "cwd": "/harbour", "version": 3}]
    for number, parent in enumerate(parents, 1):
        content = [{"type": "text", "text": f"word {number}"}]
        message = {"role": "assistant" if number % 2 == 0 else "user", "content": content}
        named = None if parent is None else f"e{parent}"
        lines.append({"type": "message", "id": f"e{number}", "parentId": named, "message": message})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def words(store: Store) -> list[list[str]]:
    return [[turn.parts[0].text for turn in trace.turns] for trace, _ in stored(store).values()]


def test_a_session_that_goes_on_from_an_earlier_branch_is_shown_so_though_it_is_shorter(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    straight = [None, 1, 2, 3, 4, 5]
    with open_store(tmp_path / "runs.db") as store:
        log.write_text(pi_session(straight))
        assert import_again(store, log, "pi").counts.traces == 1
        log.write_text(pi_session([*straight, 2]))
        assert import_again(store, log, "pi").replaced == 1
        assert sorted(words(store), key=len) == [
            ["word 1", "word 2", "word 7"],
            [f"word {number}" for number in range(1, 7)],
        ]


def test_a_file_that_was_written_anew_shortens_nothing(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    with open_store(tmp_path / "runs.db") as store:
        log.write_text(pi_session([None, 1, 2, 3]))
        import_again(store, log, "pi")
        log.write_text(pi_session([None, 1]).replace("/harbour", "/" + "harbour" * 100))
        assert import_again(store, log, "pi").replaced == 0
        assert words(store) == [[f"word {number}" for number in range(1, 5)]]
