"""Lines of JSON and streamed arrays: texts that tile the stream, wherever it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink.inspector.text import decode
from weaklink.inspector.wire.framing import JsonArrayDecoder, JsonText, NdjsonDecoder

CUTTERS = [NdjsonDecoder, JsonArrayDecoder]


def cut(cutter: type[NdjsonDecoder] | type[JsonArrayDecoder], *pieces: bytes, limit: int = 1_000) -> list[JsonText]:
    decoder = cutter(max_length=limit)
    json_texts = [text for piece in pieces for text in decoder.feed(piece)]
    return json_texts + decoder.close()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", []),
        (b'{"a": 1}\n{"b": 2}\r\n', ['{"a": 1}', '{"b": 2}']),
        (b'{"a": 1}\n\n {"b": 2}', ['{"a": 1}', "", '{"b": 2}']),
        (b'\xef\xbb\xbf{"a": "\\n"}', ['{"a": "\\n"}']),
        ('{"a": "\u2028\x85"}\n'.encode(), ['{"a": "\u2028\x85"}']),
        (b"\xf0\x9f\n", ["\udcf0\udc9f"]),
    ],
)
def test_a_line_feed_alone_ends_a_line(raw: bytes, expected: list[str]) -> None:
    assert [text.text for text in cut(NdjsonDecoder, raw)] == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", []),
        (b"[]", [""]),
        (b'[{"a": 1},\r\n{"b": [2, {}]}\n]\n', ['{"a": 1}', '{"b": [2, {}]}', ""]),
        (b'\xef\xbb\xbf [{"a": "]}\\"[{"}]', ['{"a": "]}\\"[{"}', ""]),
        (b'[[{"a": 1}], {"b": "\\\\"}]', ['[{"a": 1}]', '{"b": "\\\\"}', ""]),
        (b'{"a": [1]}\n{"b": 2}', ['{"a": [1]}', '{"b": 2}']),
        (b'[{"a": 1}, 7, "x{"]', ['{"a": 1}', '7, "x{"']),
        (b'[{"a": 1}, {"b": "', ['{"a": 1}', '{"b": "']),
    ],
)
def test_an_array_gives_its_elements(raw: bytes, expected: list[str]) -> None:
    assert [text.text for text in cut(JsonArrayDecoder, raw)] == expected


def test_an_element_that_did_not_end_is_not_complete() -> None:
    assert [text.complete for text in cut(JsonArrayDecoder, b'[{"a": 1}, {"b": 2')] == [True, False]


@pytest.mark.parametrize("cutter", CUTTERS)
def test_a_text_without_end_is_handed_out_in_pieces(cutter: type[NdjsonDecoder] | type[JsonArrayDecoder]) -> None:
    json_texts = cut(cutter, *[b'{"a": "' + b"x" * 50] * 9, limit=100)
    assert max(len(text.raw) for text in json_texts) <= 100
    assert not json_texts[0].complete


@pytest.mark.invariants
@pytest.mark.parametrize("cutter", CUTTERS)
@given(
    pieces=st.lists(
        st.sampled_from([b"[", b"]", b"{", b"}", b'"', b"\\", b",", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xf0\x9f"])
        | texts(max_size=2).map(lambda text: text.encode("utf-8", "surrogatepass"))
    ),
    limit=st.sampled_from([3, 1_000]),
)
def test_raw_texts_tile_the_stream_and_no_cut_matters(
    cutter: type[NdjsonDecoder] | type[JsonArrayDecoder], pieces: list[bytes], limit: int
) -> None:
    raw = b"".join(pieces)
    whole = cut(cutter, raw, limit=limit)
    assert "".join(text.raw for text in whole) == decode(raw)
    assert cut(cutter, *pieces, limit=limit) == whole
    assert cut(cutter, *(raw[index : index + 1] for index in range(len(raw))), limit=limit) == whole
