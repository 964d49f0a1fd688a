"""Long texts and long streams come back as they were, also those that weaklink 0.2.0 stored in windows."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct
from typing import Any
from zlib import crc32

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunks, Part, Role, Trace, Turn
from weaklink.storage import tables
from weaklink.storage.engine import location_of, new_engine
from weaklink.storage.packing import values
from weaklink.storage.packing.blobs import DamagedBlobError, from_blob, to_blob
from weaklink.storage.packing.chunks import chunks_from_blob, pack_chunks
from weaklink.storage.store import Store, open_store

_WINDOW = 4096
_MANY = 3 * _WINDOW + 5
_RANDOM = random.Random(9)


def _chunks(length: int, **columns: Sequence[Any]) -> Chunks:
    """Chunks of none to four characters, with these columns."""
    ends, end = [], 0
    for _ in range(length):
        end += _RANDOM.randrange(5)
        ends.append(end)
    return Chunks(tuple(ends), tuple(range(7, length + 7)), **{name: tuple(column) for name, column in columns.items()})


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
    "a whole number of windows": _stream(2 * _WINDOW),
    "times that are no microseconds": _chunks(_MANY, offsets_s=[number / 3 for number in range(_MANY)]),
    "times that are missing": _chunks(_MANY, offsets_s=[None if number % 5 else 0.25 for number in range(_MANY)]),
    "ids in one window alone": _chunks(_MANY, token_ids=[None] * (_MANY - 3) + [(1, 2), (), None]),
    "numbers beyond 64 bits": replace(_chunks(_MANY), sequences=tuple(range(2**70, 2**70 + _MANY))),
}


def _in_windows(chunks: Chunks) -> bytes:
    """The blob of weaklink 0.2.0, which stored the first number of a window apart if that made the others shorter."""
    names = [name for name in ("offsets_s", "token_ids", "logprobs") if getattr(chunks, name) is not None]
    pieces = [_window(chunks, names, slice(index, index + _WINDOW)) for index in range(0, len(chunks), _WINDOW)]
    lasts = chunks.ends[_WINDOW - 1 :: _WINDOW]
    header = [len(chunks), _WINDOW, names, values.pack_steps(lasts), values.pack_integers(list(map(len, pieces)))]
    begin, body = to_blob(values.pack(header)), b"".join(pieces)
    return Struct("<cII").pack(b"\x5a", crc32(begin + body), len(begin)) + begin + body


def _window(chunks: Chunks, names: Sequence[str], indices: slice) -> bytes:
    window = Chunks(chunks.ends[indices], chunks.sequences[indices], **{n: getattr(chunks, n)[indices] for n in names})
    ends, sequences, offsets, *others = values.unpack(pack_chunks(window))
    offsets = offsets and [offsets[0], _apart(offsets[1], "u") if offsets[1][0].startswith("u") else offsets[1]]
    return to_blob(values.pack([_apart(ends), _apart(sequences), offsets, *others]))


def _apart(packed: tuple[str, bytes], kind: str = "") -> tuple[str, bytes]:
    first, *steps = values.unpack_integers((packed[0].removeprefix(kind), packed[1]))
    if abs(first) >= 2**62:
        return packed
    code, raw = values.pack_integers([0, *steps])
    return f"{kind}^{code}", first.to_bytes(8, "little", signed=True) + raw


@pytest.mark.parametrize("mark", [b"\x5a", b"\2"], ids=["tables v0007", "before"])
@pytest.mark.parametrize("chunks", _STREAMS.values(), ids=list(_STREAMS))
def test_windows_of_an_older_version_are_read(chunks: Chunks, mark: bytes) -> None:
    result = chunks_from_blob(mark + _in_windows(chunks)[1:])
    for column in Chunks.__struct_fields__:
        assert getattr(result, column) == getattr(chunks, column)
    assert pack_chunks(result) == pack_chunks(chunks)


@pytest.mark.parametrize("chunks", _STREAMS.values(), ids=list(_STREAMS))
def test_chunks_are_those_that_were_packed(chunks: Chunks) -> None:
    result = chunks_from_blob(to_blob(pack_chunks(chunks)))
    for column in Chunks.__struct_fields__:
        assert getattr(result, column) == getattr(chunks, column)
    for offset in (0, chunks.ends[_WINDOW], chunks.ends[-1] - 1, chunks.ends[-1]):
        assert result.index_at(offset) == chunks.index_at(offset)


@pytest.mark.parametrize("index", [1, 5, 20, -1], ids=["the checksum", "the size", "the table", "a window"])
@pytest.mark.parametrize("blob_of", [_in_windows, lambda chunks: to_blob(pack_chunks(chunks))], ids=["windows", "one"])
def test_a_changed_byte_is_found_before_anything_is_read(blob_of: Callable[[Chunks], bytes], index: int) -> None:
    changed = bytearray(blob_of(_stream(_MANY)))
    changed[index] ^= 1
    with pytest.raises(ValueError, match=r"checksum|packed|valid|data"):
        chunks_from_blob(bytes(changed))


@pytest.mark.parametrize("size", [0, 1, 8, 2000, -1])
def test_windows_that_were_cut_short_are_found(size: int) -> None:
    with pytest.raises(DamagedBlobError):
        chunks_from_blob(_in_windows(_stream(_MANY))[:size])


@pytest.mark.parametrize("blob", [b"", b"\7abc", b"\1abc", to_blob(b"a" * 1000)[:-2]])
def test_a_damaged_text_is_told(blob: bytes) -> None:
    with pytest.raises(DamagedBlobError):
        from_blob(blob)


def _long_trace() -> Trace:
    text = "".join(map(chr, _RANDOM.choices((*range(0x20, 0x7F), *range(0x4E00, 0x9FFF), 0xD800), k=700_000)))
    stream = _stream(120_000)
    whole = "." * stream.ends[-1]
    parts = (Part("reasoning", text), Part("text", whole, stream), Part("refusal", ""))
    return Trace((Turn(Role.USER, (Part("text", "Hm?"),)), Turn(Role.ASSISTANT, parts)), format="hermes")


def test_a_store_gives_back_a_long_stream(store: Store) -> None:
    trace = _long_trace()
    store.save([(trace, inspect_trace(trace))])
    stored = store.trace(1)
    assert stored == trace
    assert list(stored.turns[1].parts[1].arrivals())[-3:] == list(trace.turns[1].parts[1].arrivals())[-3:]


def test_a_damaged_stream_is_told_when_the_trace_is_read(tmp_path: Path) -> None:
    where, trace = tmp_path / "weaklink.db", _long_trace()
    with open_store(where) as store:
        store.save([(trace, inspect_trace(trace))])
        engine = new_engine(location_of(where))
        with engine.begin() as connection:
            chunks = tables.part.c.chunks
            cut = sa.func.substr(chunks, 1, sa.func.length(chunks) - 1)
            connection.execute(sa.update(tables.part).where(chunks.is_not(None)).values(chunks=cut))
        engine.dispose()
        stored = store.trace(1)
        assert [part.text for part in stored.turns[1].parts[:2]] == [part.text for part in trace.turns[1].parts[:2]]
        assert all("checksum mismatch in a packed column" in warning for warning in stored.provenance.warnings)
        assert stored.provenance.warnings
