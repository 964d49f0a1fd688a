"""Long texts and long streams come back as they were, and what nobody looks at stays where it lies."""

import errno
import io
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.strategies import texts
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunks, Part, Role, Trace, Turn
from weaklink.storage import Store, open_store, tables
from weaklink.storage.engine import new_engine, place_of
from weaklink.storage.packing import paged_blobs as spool
from weaklink.storage.packing.blobs import DamagedBlobError, text_from_pieces, text_to_bytes, to_blob
from weaklink.storage.packing.chunks import WINDOW, chunks_blob, chunks_from_blob, pack_chunks, read_windows
from weaklink.storage.packing.paged_blobs import Spool, checked_pages, is_paged

_MANY = 3 * WINDOW + 5
_RANDOM = random.Random(9)


def _chunks(length: int, **columns: Sequence[Any]) -> Chunks:
    """Chunks of none to four characters, with these columns."""
    ends, end = [], 0
    for _ in range(length):
        end += _RANDOM.randrange(5)
        ends.append(end)
    return Chunks(tuple(ends), tuple(range(7, length + 7)), **{name: tuple(one) for name, one in columns.items()})


def _stream(length: int) -> Chunks:
    return _chunks(
        length,
        offsets_s=[round(number * 0.02 + 1e6, 6) for number in range(length)],
        token_ids=[(_RANDOM.randrange(150_000),) for _ in range(length)],
        logprobs=[(-_RANDOM.expovariate(1.0),) for _ in range(length)],
    )


_STREAMS = {
    "all that a server sends": _stream(_MANY),
    "nothing but ends": _chunks(_MANY),
    "a whole number of windows": _stream(2 * WINDOW),
    "times that are no microseconds": _chunks(_MANY, offsets_s=[number / 3 for number in range(_MANY)]),
    "times that are missing": _chunks(_MANY, offsets_s=[None if number % 5 else 0.25 for number in range(_MANY)]),
    "ids in one window alone": _chunks(_MANY, token_ids=[None] * (_MANY - 3) + [(1, 2), (), None]),
    "numbers beyond 64 bits": replace(_chunks(_MANY), sequences=tuple(range(2**70, 2**70 + _MANY))),
}


@pytest.mark.parametrize("chunks", _STREAMS.values(), ids=list(_STREAMS))
def test_chunks_in_windows_are_those_that_were_packed(chunks: Chunks) -> None:
    blob = chunks_blob(chunks, pack_chunks(chunks))
    assert is_paged(blob)
    found = chunks_from_blob(blob)
    for column in Chunks.__struct_fields__:
        assert getattr(found, column) == getattr(chunks, column)
    assert [found.ends[index] for index in (0, WINDOW - 1, WINDOW, -1)] == [
        chunks.ends[index] for index in (0, WINDOW - 1, WINDOW, -1)
    ]


def test_a_short_stream_is_packed_in_one_piece() -> None:
    chunks = _stream(WINDOW)
    blob = chunks_blob(chunks, pack_chunks(chunks))
    assert not is_paged(blob)
    assert chunks_from_blob(blob) == chunks


def test_a_character_leads_to_the_chunk_that_brought_it_and_only_its_window_is_read() -> None:
    chunks = _stream(_MANY)
    blob = chunks_blob(chunks, pack_chunks(chunks))
    reads: list[int] = []

    def read(start: int, size: int) -> bytes:
        reads.append(start)
        return blob[start : start + size]

    found = read_windows(read)
    about_the_table = len(reads)
    for offset in (0, chunks.ends[WINDOW], chunks.ends[WINDOW] + 1, chunks.ends[-1] - 1):
        index = found.at(offset)
        assert index == chunks.at(offset)
        assert found.logprobs is not None
        assert chunks.logprobs is not None
        assert found.logprobs[index] == chunks.logprobs[index]
    assert found.at(chunks.ends[-1]) == len(chunks)
    assert len(reads) - about_the_table == 3


@pytest.mark.parametrize("at", [1, 5, 20, -1], ids=["the checksum", "the size", "the table", "a window"])
def test_a_changed_byte_is_found_before_anything_is_read(at: int) -> None:
    chunks = _stream(_MANY)
    blob = bytearray(chunks_blob(chunks, pack_chunks(chunks)))
    blob[at] ^= 1
    with pytest.raises((DamagedBlobError, ValueError)):
        chunks_from_blob(bytes(blob))


def test_a_blob_that_was_cut_short_is_found() -> None:
    chunks = _stream(_MANY)
    blob = chunks_blob(chunks, pack_chunks(chunks))
    with pytest.raises(DamagedBlobError, match="checksum mismatch in the pages"):
        list(checked_pages((blob[:2000], blob[2000:-1])))


@given(texts(), st.integers(1, 9))
def test_a_text_is_the_same_however_its_blob_is_cut(text: str, size: int) -> None:
    blob = to_blob(text_to_bytes(text * 40))
    assert text_from_pieces(blob[at : at + size] for at in range(0, len(blob), size)) == text * 40


def test_a_long_text_is_put_together_out_of_whole_characters() -> None:
    text = "a\ud800é漢😀" * 500_000
    blob = to_blob(text_to_bytes(text))
    assert text_from_pieces((blob[:1000], blob[1000:])) == text


@pytest.mark.parametrize("blob", [b"", b"\7abc", b"\1abc", to_blob(b"a" * 1000)[:-2]])
def test_a_damaged_text_is_told(blob: bytes) -> None:
    with pytest.raises(DamagedBlobError):
        text_from_pieces((blob,))


def _long_trace() -> Trace:
    text = "".join(map(chr, _RANDOM.choices((*range(0x20, 0x7F), *range(0x4E00, 0x9FFF), 0xD800), k=700_000)))
    stream = _stream(120_000)
    whole = "." * stream.ends[-1]
    parts = (Part("reasoning", text), Part("text", whole, stream), Part("refusal", ""))
    return Trace((Turn(Role.USER, (Part("text", "Hm?"),)), Turn(Role.ASSISTANT, parts)), format="hermes")


def test_a_store_gives_back_what_is_too_long_to_fetch_at_once(store: Store) -> None:
    trace = _long_trace()
    store.save([(trace, inspect_trace(trace))])
    found = store.trace(1)
    assert found == trace
    assert list(found.turns[1].parts[1].arrivals())[-3:] == list(trace.turns[1].parts[1].arrivals())[-3:]


def test_a_damaged_stream_is_told_when_the_trace_is_read(tmp_path: Path) -> None:
    where, trace = tmp_path / "weaklink.db", _long_trace()
    with open_store(where) as store:
        store.save([(trace, inspect_trace(trace))])
        engine = new_engine(place_of(where))
        with engine.begin() as connection:
            chunks = tables.part.c.chunks
            cut = sa.func.substr(chunks, 1, sa.func.length(chunks) - 1)
            connection.execute(sa.update(tables.part).where(chunks.is_not(None)).values(chunks=cut))
        engine.dispose()
        found = store.trace(1)
        assert [part.text for part in found.turns[1].parts[:2]] == [part.text for part in trace.turns[1].parts[:2]]
        assert all("checksum mismatch in the pages" in warning for warning in found.provenance.warnings)
        assert found.provenance.warnings


@pytest.mark.parametrize("room", [0, 9, 99], ids=["on the disk", "moved there", "in memory"])
def test_a_spool_gives_its_bytes_in_any_order(room: int) -> None:
    kept = Spool(room)
    letters, digits = kept.add((b"abc", b"", b"defgh"), 8), kept.add((b"123",), 3)
    assert [letters(*wanted) for wanted in ((5, 2), (0, 4), (5, 3))] == [b"fg", b"abcd", b"fgh"]
    assert [digits(*wanted) for wanted in ((0, 3), (1, 9), (7, 1))] == [b"123", b"23", b""]


class _FullDisk(io.BytesIO):
    """A file on a disk that has room for five bytes."""

    def write(self, piece: Any) -> int:
        room = 5 - self.tell()
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(bytes(piece)[:room])


def test_where_no_disk_takes_it_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "TemporaryFile", lambda **_: _FullDisk())
    assert Spool(0).add((b"abc", b"defgh", b"ij"), 10)(0, 99) == b"abcdefghij"


def test_what_lies_in_memory_stays_there_where_the_disk_does_not_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "TemporaryFile", lambda **_: _FullDisk())
    kept = Spool(9)
    letters, digits = kept.add((b"abcdefgh",), 8), kept.add((b"123",), 3)
    assert (letters(0, 9)[:8], digits(0, 9)) == (b"abcdefgh", b"123")


def test_where_no_file_can_be_made_memory_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(**_: Any) -> BinaryIO:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(spool, "TemporaryFile", refuses)
    assert Spool(2).add((b"abc", b"defgh"), 8)(1, 3) == b"bcd"
