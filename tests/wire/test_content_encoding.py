"""Compressed bodies: cut anywhere, cut off, damaged, misnamed, several layers deep, and bombs."""

import gzip
import sys
import zlib
from collections.abc import Callable
from itertools import pairwise
from random import Random

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.wire.content_encoding import ContentDecoder

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b'data: {"choices": [{"delta": {"content": "Gr\xc3\xbc\xc3\x9fe"}}]}\n\n' * 40


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def unpack(encoding: str, *pieces: bytes, max_bytes: int = 1 << 30) -> tuple[bytes, str]:
    decoder = ContentDecoder(encoding, max_bytes=max_bytes)
    return b"".join([*(decoder.feed(piece) for piece in pieces), decoder.close()]), decoder.fault


def cut(body: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(min(position, len(body)) for position in places), len(body)]
    return [body[start:end] for start, end in pairwise(bounds)]


@pytest.mark.parametrize("encoding", PACK)
def test_a_body_is_unpacked_whole_and_byte_by_byte(encoding: str) -> None:
    packed = PACK[encoding](BODY)
    assert unpack(encoding, packed) == (BODY, "")
    assert unpack(encoding, *(packed[index : index + 1] for index in range(len(packed)))) == (BODY, "")


@pytest.mark.parametrize("encoding", PACK)
def test_what_was_flushed_comes_out_at_once(encoding: str) -> None:
    first, second = flushed(encoding, b"data: 1\n\n", b"data: 2\n\n")
    decoder = ContentDecoder(encoding)
    assert decoder.feed(first) == b"data: 1\n\n"
    assert decoder.feed(second) + decoder.close() == b"data: 2\n\n"
    assert decoder.fault == ""


def flushed(encoding: str, first: bytes, second: bytes) -> tuple[bytes, bytes]:
    match encoding:
        case "gzip" | "deflate":
            packer = zlib.compressobj(wbits=zlib.MAX_WBITS + (16 if encoding == "gzip" else 0))
            return packer.compress(first) + packer.flush(zlib.Z_SYNC_FLUSH), packer.compress(second) + packer.flush()
        case "br":
            press = brotli.Compressor()
            return press.process(first) + press.flush(), press.process(second) + press.finish()
    squeeze = zstd.ZstdCompressor()
    begun = squeeze.compress(first, zstd.ZstdCompressor.FLUSH_BLOCK)
    return begun, squeeze.compress(second, zstd.ZstdCompressor.FLUSH_FRAME)


@pytest.mark.parametrize("encoding", PACK)
def test_a_truncated_body_gives_what_it_held_and_says_so(encoding: str) -> None:
    first, _ = flushed(encoding, b"data: 1\n\n", b"data: 2\n\n")
    assert unpack(encoding, first) == (b"data: 1\n\n", f"The body ends before its {encoding} data does.")


@pytest.mark.parametrize("encoding", PACK)
def test_a_damaged_body_gives_what_came_before_the_damage(encoding: str) -> None:
    first, _ = flushed(encoding, b"data: 1\n\n", b"data: 2\n\n")
    body, fault = unpack(encoding, first, b"\xff" * 40, b"more")
    assert (body, fault) == unpack(encoding, first + b"\xff" * 40 + b"more")
    assert body == b"data: 1\n\n"
    assert fault.startswith(f"The body's {encoding} data is damaged after 9 unpacked bytes: ")


@pytest.mark.parametrize("encoding", PACK)
def test_what_is_good_of_bytes_that_came_at_once_does_not_depend_on_how_they_came(encoding: str) -> None:
    dice = Random(5)
    for _ in range(150):
        first, second = flushed(encoding, dice.randbytes(dice.randint(1, 40)).hex().encode(), b"data: 2\n\n" * 9)
        body = bytearray(first + second)
        start = dice.randrange(2, len(body))
        body[start : start + dice.randint(0, 3)] = dice.randbytes(dice.randint(1, 30))
        whole, at_once = bytes(body), unpack(encoding, bytes(body))
        assert at_once == unpack(encoding, *(whole[n : n + 1] for n in range(len(whole))))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_what_stands_behind_a_body_does_not_cost_the_body(encoding: str) -> None:
    body, fault = unpack(encoding, PACK[encoding](BODY) + b"\x01 something else")
    assert body == BODY
    assert fault.startswith(f"The body's {encoding} data is damaged after {len(BODY)} unpacked bytes: ")


def test_damage_within_bytes_that_came_at_once_costs_only_what_is_near_it() -> None:
    body = Random(7).randbytes(20_000).hex().encode()
    packed = bytearray(gzip.compress(body))
    packed[15_000:15_020] = b"\xff" * 20
    unpacked, fault = unpack("gzip", bytes(packed))
    assert len(unpacked) > 20_000
    assert body.startswith(unpacked[:20_000])
    assert "damaged after" in fault


@pytest.mark.parametrize("encoding", PACK)
def test_a_body_that_is_damaged_from_its_start_gives_nothing(encoding: str) -> None:
    body, fault = unpack(encoding, b"\xff\x00\x01\x02" * 30)
    assert body == b""
    assert encoding in fault


@pytest.mark.parametrize("encoding", PACK)
@pytest.mark.parametrize("plain", [b'{"error": "quota"}', b"data: [DONE]\n\n", b" \n{}", BODY])
def test_a_plain_body_with_a_wrong_header_is_read_as_it_stands(encoding: str, plain: bytes) -> None:
    for pieces in ([plain], [plain[index : index + 1] for index in range(len(plain))]):
        assert unpack(encoding, *pieces) == (
            plain,
            f"The header declares the body as {encoding}, but it is not compressed; it is read as it is.",
        )


def test_deflate_without_a_header_is_read_too() -> None:
    packed = raw_deflate(BODY)
    assert unpack("deflate", packed) == (BODY, "")
    assert unpack("deflate", *(packed[index : index + 1] for index in range(len(packed)))) == (BODY, "")


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_streams_one_behind_the_other_are_one_body(encoding: str) -> None:
    packed = PACK[encoding](b"one ") + PACK[encoding](b"two")
    assert unpack(encoding, packed) == (b"one two", "")
    assert unpack(encoding, *(packed[index : index + 1] for index in range(len(packed)))) == (b"one two", "")


def test_encodings_are_taken_off_in_the_reverse_of_their_order() -> None:
    packed = brotli.compress(gzip.compress(BODY))
    assert unpack("gzip, br", *cut(packed, [1, 7, 30])) == (BODY, "")


@pytest.mark.parametrize("encoding", ["", "identity", "Identity, none"])
def test_a_body_without_encoding_passes(encoding: str) -> None:
    assert unpack(encoding, b"a", b"b") == (b"ab", "")


def test_an_unknown_encoding_and_too_many_are_told_and_kept() -> None:
    assert unpack("dcb", b"ab") == (
        b"ab",
        "The body's encoding `dcb` is unknown; the body is kept as it is.",
    )
    body, fault = unpack("gzip, gzip, gzip, gzip", b"ab")
    assert (body, fault) == (b"ab", "The body has 4 encodings; at most 3 are decoded.")


@pytest.mark.parametrize("encoding", PACK)
def test_a_bomb_is_stopped_at_its_bound(encoding: str) -> None:
    packed = PACK[encoding](bytes(40 << 20))
    body, fault = unpack(encoding, packed)
    bound = max(16 << 20, 200 * len(packed))
    assert len(body) == bound
    assert fault == f"The body unpacks to more than {bound} bytes; the rest is not read."


def test_no_body_unpacks_to_more_than_it_may() -> None:
    assert unpack("gzip", gzip.compress(BODY), max_bytes=100) == (
        BODY[:100],
        "The body unpacks to more than 100 bytes; the rest is not read.",
    )


@pytest.mark.invariants
@given(
    st.sampled_from([*PACK, "gzip, br", "zz"]),
    st.lists(st.binary(max_size=60) | st.sampled_from([pack(b"{}" * 9) for pack in PACK.values()]), max_size=6),
)
def test_no_bytes_make_it_raise_and_what_comes_is_bounded(encoding: str, pieces: list[bytes]) -> None:
    body, _ = unpack(encoding, *pieces, max_bytes=1000)
    assert len(body) <= max(1000, sum(map(len, pieces)))


@pytest.mark.invariants
@given(st.sampled_from(list(PACK)), st.binary(max_size=3000), st.lists(st.integers(0, 3000), max_size=8))
def test_where_the_bytes_are_cut_does_not_matter(encoding: str, body: bytes, places: list[int]) -> None:
    assert unpack(encoding, *cut(PACK[encoding](body), places)) == (body, "")
