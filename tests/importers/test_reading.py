"""From a path to traces: what is refused and how, what is unpacked, what a plug-in may do, and what it costs."""

import contextlib
import gzip
import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import weaklink
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers import reading, registry
from weaklink.inspector.importers.reading import group_files, read_source
from weaklink.inspector.importers.registry import source_names
from weaklink.inspector.importers.source import FileSample, Skipped, SourceFile
from weaklink.inspector.model import Part, Role, Trace, Turn

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CASES = Path(__file__).parents[1] / "cases" / "importers"
CHAT = b'{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello!"}]}\n'


def refusal(path: str | Path, source: str | None = None) -> str:
    with pytest.raises(UnreadableFileError) as refused:
        read_source(path, source)
    return str(refused.value)


def file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(content)
    return path


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == f"{tmp_path / 'none'}: there is no such file"
    assert refusal(tmp_path) == f"{tmp_path}: this is a folder"
    assert "there is no such file" in refusal("a\0b")
    os.mkfifo(tmp_path / "pipe")
    assert "this is a named pipe (FIFO)" in refusal(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        assert "this is a socket" in refusal(tmp_path / "socket")
    assert "this is a device" in refusal("/dev/zero")


def test_a_database_of_weaklink_is_called_so(tmp_path: Path) -> None:
    with weaklink.TraceLogger(tmp_path / "runs.db") as log:
        log.user("Hello")
    assert "this is a database of weaklink: `weaklink list --db FILE`" in refusal(tmp_path / "runs.db")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (b"SQLite format 3\0" + b"\0" * 100, "an SQLite database"),
        (b"PK\x03\x04\0\0", "a ZIP archive"),
        (b"\x80\x04\x95\x10\0\0", "a Python pickle"),
        *((pickle.dumps([{"messages": []}], protocol), "a Python pickle") for protocol in range(6)),
        *((pickle.dumps(Path("x"), protocol), "a Python pickle") for protocol in range(6)),
        (gzip.compress(pickle.dumps({"messages": []}), mtime=0), "a Python pickle"),
        (b"\0\1\2\3", "unknown format: a binary file"),
        (b"Dear diary,\n", "neither JSON nor a transcript"),
        (b"\n" * 1000, "only white space"),
        (
            b"\xef\xbb\xbf5\n[1]\n",
            "no JSON object found at the beginning of the file: line 1: expected an object, found a number",
        ),
        (b'{"a" 1}\n', "line 1: invalid JSON: expecting ':' delimiter at column 6"),
        (b'{"a": "' + b"x" * (33 << 20), "line 1: it is longer than 32 MiB; use `--source` to choose the importer"),
        (b"[]", "no JSON object found at the beginning of the file: the file contains none"),
        (b'event: ping\ndata: {"type": "ping"}\n\n', "unknown format: an event stream"),
        (b'data: {"object": "price", "value": 1}\n\n', "unknown format: an event stream"),
        (b"# How calls look\n" * 30 + b'<tool_call>\n{"name": "f"}\n</tool_call>', "neither JSON nor a transcript"),
        (b'{"shop": 1, "items": []}\n', "the first row has the keys `shop`, `items`"),
        (b'[{"jsonrpc": "2.0", "id": 1, "result": "x"}]', "the first row has the keys `jsonrpc`, `id`, `result`"),
    ],
)
def test_what_nobody_knows_is_refused_in_words(content: bytes, why: str, tmp_path: Path) -> None:
    assert why in refusal(file(tmp_path, content))


def test_a_source_can_be_named(tmp_path: Path) -> None:
    path = file(tmp_path, b"Dear diary,\n")
    (trace,) = read_source(path, "raw-text").records
    assert isinstance(trace, Trace)
    assert "did you mean `sharegpt`?" in refusal(path, "shargpt")


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress, lambda raw: zstd.compress(gzip.compress(raw, mtime=0))])
def test_compressed_files_are_unpacked(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    plain = [*read_source(file(tmp_path, CHAT)).records]
    packed = [*read_source(file(tmp_path, pack(CHAT))).records]
    assert [trace.turns for trace in packed if isinstance(trace, Trace)] == [
        trace.turns for trace in plain if isinstance(trace, Trace)
    ]


def test_a_compressed_trace_file_is_unpacked(tmp_path: Path) -> None:
    plain = CASES / "trace-file" / "streamed.jsonl"
    packed = file(tmp_path, gzip.compress(plain.read_bytes()))
    assert list(read_source(packed).records) == list(read_source(plain).records)


def test_of_a_file_that_is_still_written_only_what_counts_is_read(tmp_path: Path) -> None:
    path = file(tmp_path, CHAT + CHAT[:20])
    assert len([*read_source(path).records]) == 2
    (trace,) = read_source(path, size_bytes=len(CHAT)).records
    assert isinstance(trace, Trace)
    whole = CASES / "trace-file" / "streamed.jsonl"
    streamed = whole.read_bytes()
    path.write_bytes(streamed + b'{"trace')
    assert [*read_source(path, size_bytes=len(streamed)).records] == [*read_source(whole).records]
    with SourceFile(path, size_bytes=len(streamed)).open_seekable() as copy:
        assert copy.read() == streamed


def test_provenance_names_the_file_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file(tmp_path, CHAT)
    monkeypatch.chdir(tmp_path)
    (trace,) = read_source("file").records
    assert isinstance(trace, Trace)
    assert (trace.provenance.source, trace.provenance.file, trace.provenance.record) == ("sharegpt", "file", "line 1")
    assert len(trace.provenance.file_sha256) == 64


def test_moved_and_grown_files_give_the_same_identities(tmp_path: Path) -> None:
    (before,) = read_source(file(tmp_path, CHAT)).records
    moved = tmp_path / "moved"
    moved.write_bytes(CHAT + CHAT)
    after = [*read_source(moved).records]
    assert isinstance(before, Trace)
    ids = [trace.external_ids for trace in after if isinstance(trace, Trace)]
    assert ids[0] == before.external_ids
    assert ids[1] != ids[0]


def test_a_file_comes_with_the_reason_why_it_was_recognised(tmp_path: Path) -> None:
    path = file(tmp_path, CHAT)
    assert read_source(path).why == (
        "Recognised as `sharegpt`: rows with `conversations` of `from` and `value` (confidence 0.9)."
    )
    assert read_source(path, "raw-text").why == ("Set by `--source raw-text`; the content of the file was not checked.")


class PlugIn:
    """A source of another's making, which fails half-way."""

    name = "diary"

    def recognises(self, sample: FileSample) -> float:
        return 1.0 if sample.text.startswith("Dear diary") else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        with file.open() as stream:
            yield Trace((Turn(Role.USER, (Part("text", stream.read().decode()),)),))
        yield Skipped("page 2", "it is torn out")
        raise RuntimeError("the ink is gone")


def test_a_plug_in_needs_no_change_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "importers", lambda: (PlugIn(),))
    read = read_source(file(tmp_path, b"Dear diary,\n"))
    assert read.source == "diary"
    assert "the first rows match its format (confidence 1)" in read.why
    trace = next(read.records)
    assert isinstance(trace, Trace)
    assert trace.provenance.source == "diary"
    assert next(read.records) == Skipped("page 2", "it is torn out")
    with pytest.raises(UnreadableFileError, match="the importer `diary` failed: RuntimeError"):
        next(read.records)


_GROWTH = """
import sys
from benchmarks.measuring import peak_kib
from weaklink.inspector.importers.reading import read_source
list(read_source(sys.argv[1]).records)
before = peak_kib()
print(sum(1 for _ in read_source(sys.argv[2]).records), peak_kib() - before)
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("as_array", [False, True])
def test_memory_does_not_grow_with_the_file(as_array: bool, tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "x" * 600}, {"from": "gpt", "value": "y" * 600}] * 4
    line = json.dumps({"conversations": turns}).encode()
    before, between, after = (b"[", b",\n", b"]") if as_array else (b"", b"\n", b"\n")
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(before + line + after)
    with large.open("wb") as stream:
        stream.write(before + line)
        for _ in range(9_999):
            stream.write(between + line)
        stream.write(after)
    assert large.stat().st_size > 50_000_000
    done = subprocess.run(
        [sys.executable, "-c", _GROWTH, str(small), str(large)], capture_output=True, text=True, check=True
    )
    count, grown_kib = map(int, done.stdout.split())
    assert count == 10_000
    assert grown_kib < 16 * 1024


def test_a_short_file_that_is_cut_within_its_compression_keeps_what_came(tmp_path: Path) -> None:
    said = ({"messages": [{"role": "user", "content": f"{at} {at * 7919}"}]} for at in range(400))
    packed = gzip.compress("".join(json.dumps(row) + "\n" for row in said).encode())
    *records, last = read_source(file(tmp_path, packed[: len(packed) * 3 // 4])).records
    assert len([one for one in records if isinstance(one, Trace)]) > 100
    assert isinstance(last, Skipped)
    assert "the compressed data is damaged" in last.reason


BLANKS = [
    b" ",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"\xef\xbb\xbf\r\n",
    b"\t\x0b\x0c\n",
    b"\n" * 200_000,
    gzip.compress(b" \n" * 99),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("source", [None, *source_names()])
@pytest.mark.parametrize("content", BLANKS, ids=range(len(BLANKS)))
def test_a_blank_file_is_refused_with_that_reason(tmp_path: Path, content: bytes, source: str | None) -> None:
    path = file(tmp_path, content)
    with pytest.raises(UnreadableFileError) as refused:
        read_source(path, source)
    assert str(refused.value) == f"{path}: the file contains only white space"


@pytest.mark.parametrize("source", source_names())
@pytest.mark.parametrize("content", [b"[]", b"{}", b"0", b'{"type":"summary","sessionId":"s"}\n'])
def test_no_file_gives_nothing_without_a_reason(tmp_path: Path, content: bytes, source: str) -> None:
    with contextlib.suppress(UnreadableFileError):  # which has a reason
        assert list(read_source(file(tmp_path, content), source).records)


def test_a_file_that_was_recognised_is_not_recognised_again_unless_it_begins_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, case in zip(paths, ("pi/branches.jsonl", "codex/rollout.jsonl"), strict=True):
        path.write_bytes((CASES / case).read_bytes())
    first, second = (group.recognised for group in group_files([str(path) for path in paths]))
    as_before = [read_source(path).why for path in paths]
    asked: list[str] = []
    recognise = reading._recognised

    def recognised(file: SourceFile) -> reading.RecognisedSource:
        asked.append(file.name)
        return recognise(file)

    monkeypatch.setattr(reading, "_recognised", recognised)
    assert [read_source(paths[0], recognised=first).why, read_source(paths[1], recognised=second).why] == as_before
    assert asked == []
    assert read_source(paths[1], recognised=first).source == "codex"
    assert asked == [str(paths[1])]
    paths[1].write_bytes(b"")
    with pytest.raises(UnreadableFileError, match="the file is empty"):
        read_source(paths[1], recognised=second)
