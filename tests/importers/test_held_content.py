"""What comes as a stream, or packed, is read as if it were a file, and leaves no file."""

import gzip
import io
import os
import random
import sys
import tempfile
from pathlib import Path

import pytest

from weaklink.inspector.importers.held_content import HeldContent
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.model import Trace
from weaklink.ui.importing.input_files import held_file, read_input

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CASES = Path("tests/cases/importers")
_FILES = (
    *("trace-file/streamed.jsonl", "sharegpt/rows.jsonl", "chat-completions/stream.sse", "claude-code/session.jsonl"),
    *("llm-database/conversations.db", "llm-database/threads.db", "phoenix/phoenix.db", "mitmproxy/flows.mitm"),
    *("inspect/log.eval", "inspect/chunked.eval", "har/playwright.zip", "har/packed.zhar", "har/browser.har"),
    *("otlp/collector.pb", "helicone/export.csv", "langsmith/ingest.multipart"),
)
_PIECE = 24


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept in memory, so that all that is held goes to the disk."""
    monkeypatch.setattr(HeldContent.__init__, "__kwdefaults__", {"memory_bytes": 0})


def test_held_bytes_are_read_from_any_position() -> None:
    source = random.Random(1)
    for size in (0, 1, 65_535, 65_536, 65_537, 200_000):
        content = source.randbytes(size)
        for memory_bytes in (0, 65_536, 100_000, 1 << 20):
            with HeldContent(io.BytesIO(content), memory_bytes=memory_bytes) as held, held.open() as stream:
                assert held.size_bytes == size
                assert stream.read() == content
                for _ in range(20):
                    at, length = source.randint(0, size + 9), source.randint(0, size + 9)
                    stream.seek(at)
                    assert stream.read(length) == content[at : at + length]
                assert stream.seek(-min(size, 5), io.SEEK_END) == size - min(size, 5)


def test_a_pipe_that_gives_little_at_once_is_held_whole() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"a" * 1000)
    os.write(write_end, b"b" * 1000)
    os.close(write_end)
    with os.fdopen(read_end, "rb", buffering=0) as pipe, HeldContent(pipe) as held, held.open() as stream:
        assert stream.read() == b"a" * 1000 + b"b" * 1000


def _case(name: str) -> Path:
    path = CASES / name
    return path if path.exists() else next(one for one in sorted(path.parent.iterdir()) if one.suffix == path.suffix)


@pytest.mark.parametrize("name", _FILES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_a_stream_is_read_as_its_file_and_leaves_no_file(
    name: str, pack: "type[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = _case(name)
    content = path.read_bytes()
    expected = [_facts(record) for record in read_source(path).records]
    with held_file(io.BytesIO(pack(content)), "-", path.name) as file:
        found = [_unnamed(record, tmp_path) for record in read_input(file, None).records]
    assert [_facts(record) for record in found] == expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", _FILES)
def test_a_packed_file_leaves_no_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "given" / "packed"
    packed.parent.mkdir()
    content = _case(name).read_bytes()
    packed.write_bytes(gzip.compress(content))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    assert [_unnamed(record, scratch) for record in read_source(packed).records]


def test_a_database_that_is_no_file_is_read_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weaklink.inspector.importers.sqlite_tables.HELD_BYTES", 4_096)
    packed = tmp_path / "logs.db.gz"
    packed.write_bytes(gzip.compress(_case("llm-database/threads.db").read_bytes()))
    (record,) = read_source(packed).records
    assert isinstance(record, Skipped)
    assert "import the database file itself" in record.reason


def test_a_held_file_says_how_large_it_is_and_what_it_is_packed_in() -> None:
    with HeldContent(io.BytesIO(gzip.compress(b"{}", mtime=0))) as held:
        file = SourceFile("nowhere", content=held)
        assert file.packing == ("gzip",)
        assert file.stored_bytes == held.size_bytes
        assert file.head == b"{}"


def _facts(record: Trace | Skipped) -> object:
    return (record.turns, record.name, record.model) if isinstance(record, Trace) else record


def _unnamed(record: Trace | Skipped, folder: Path) -> Trace | Skipped:
    """The record, after a look that the temporary file that it was read from has no name."""
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    return record
