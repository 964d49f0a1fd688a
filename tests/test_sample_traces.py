"""The sample traces show what their README says they show, according to the engine itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from weaklink.inspector.chain.steps import Break
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.trace_file import read_trace_file, write_trace_file

SAMPLES = Path(__file__).parents[1] / "sample_traces"
README = SAMPLES / "README.md"
FILES = sorted([*SAMPLES.glob("*.jsonl"), *SAMPLES.glob("*.sse")])
_MEND = "mend with: pytest tests/test_sample_traces.py --update-goldens"
_HEADING = "| file | what it shows | status | break | codes |\n| --- | --- | --- | --- | --- |\n"
_ROW = re.compile(r"^\| (\S+\.(?:jsonl|sse)) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """One line of the table; the last three cells are the engine's answer."""

    file: str
    words: str
    status: str
    broken: str
    codes: str

    def __str__(self) -> str:
        return f"| {self.file} | {self.words} | {self.status} | {self.broken} | {self.codes} |\n"


def one_trace(path: Path) -> Trace:
    """The trace of a file, or the one that its sub-agents belong to."""
    traces = [record for record in read_source(path).records if isinstance(record, Trace)]
    (trace,) = [trace for trace in traces if trace.parent is None]
    return trace


def told() -> dict[str, Shown]:
    """The table as it stands, by file."""
    return {cells[0]: Shown(*cells) for cells in _ROW.findall(README.read_text(encoding="utf-8"))}


def shown(path: Path, words: str) -> Shown:
    inspection = inspect_trace(one_trace(path))
    return Shown(
        path.name,
        words,
        _status(inspection),
        _broken(inspection.chain.broken),
        ", ".join(dict.fromkeys(diagnostic.rule.code for diagnostic in inspection.diagnostics)) or "none",
    )


def _status(inspection: Inspection) -> str:
    reason = inspection.chain.abort_reason
    return f"{inspection.chain.status} ({reason})" if reason else str(inspection.chain.status)


def _broken(broken: Break | None) -> str:
    if broken is None:
        return "none"
    tool = f"`{broken.tool}`" if broken.tool else "a call without a name"
    return f"step {broken.step}, turn {broken.turn}: {tool} {broken.outcome}{f', {broken.code}' if broken.code else ''}"


def test_the_table_is_what_the_engine_says(*, update_goldens: bool) -> None:
    words = {name: row.words for name, row in told().items()}
    table = "".join(str(shown(path, words.get(path.name, "(say it here)"))) for path in FILES)
    text = README.read_text(encoding="utf-8")
    before, after = text.partition(_HEADING)[0], _ROW.split(text)[-1].lstrip("\n")
    expected = before + _HEADING + table + (f"\n{after}" if after else "")
    if update_goldens:
        README.write_text(expected, encoding="utf-8")
    assert README.read_text(encoding="utf-8") == expected, _MEND


def test_every_sample_is_in_the_table_with_words_of_its_own() -> None:
    words = [row.words for row in told().values()]
    assert sorted(told()) == [path.name for path in FILES]
    assert len(FILES) >= 20
    assert len(set(words)) == len(words)
    assert "(say it here)" not in words


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_is_small_and_one_conversation(path: Path) -> None:
    assert path.stat().st_size < (20_000 if path.stem.startswith("agent-") else 8_000)
    assert len(one_trace(path).turns) >= (1 if path.suffix == ".sse" else 2)  # a capture is one answer


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_called_good_is_good_and_nothing_else(path: Path) -> None:
    inspection = inspect_trace(one_trace(path))
    is_clean = inspection.chain.status == "ok" and not inspection.diagnostics
    if path.stem.startswith("good-"):
        assert is_clean
    if path.stem.startswith("agent-"):
        assert len(inspection.chain.steps) >= 5
        assert inspection.chain.broken is None or inspection.chain.broken.step >= 3
    if path.stem.startswith("json-"):
        assert any(diagnostic.rule.code.startswith("J") for diagnostic in inspection.diagnostics)
    if path.stem.startswith("recovered-"):
        assert inspection.chain.status == "recovered"


def test_trace_files_are_what_the_writer_writes(tmp_path: Path) -> None:
    for path in _trace_files():
        again = tmp_path / path.name
        write_trace_file(again, read_trace_file(path))
        assert again.read_bytes() == path.read_bytes()


def _trace_files() -> Iterator[Path]:
    trace_files = [path for path in FILES if read_source(path).source == "trace-file"]
    assert trace_files
    yield from trace_files
