"""The wire format of protobuf, and OTLP's messages in it, read and written by one table."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.json_text import Json
from weaklink.inspector.otlp_protobuf import fields_of, otlp_protobuf, read_message, varint_at

TEXTS = st.text(st.characters(codec="utf-8"), max_size=9)
SCALARS = st.one_of(
    st.builds(lambda text: {"stringValue": text}, TEXTS),
    st.builds(lambda value: {"boolValue": value}, st.booleans()),
    st.builds(lambda number: {"intValue": number}, st.integers(-(1 << 63), (1 << 63) - 1)),
    st.builds(lambda number: {"doubleValue": number}, st.floats(allow_nan=False)),
    st.builds(lambda raw: {"bytesValue": raw.hex()}, st.binary(min_size=1, max_size=9)),
)


def pairs(values: st.SearchStrategy[dict[str, Json]]) -> st.SearchStrategy[list[dict[str, Json]]]:
    return st.lists(st.builds(lambda key, value: {"key": key, "value": value}, TEXTS.filter(bool), values), min_size=1)


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda listed: {"arrayValue": {"values": listed}}, st.lists(inner, min_size=1)),
        st.builds(lambda listed: {"kvlistValue": {"values": listed}}, pairs(inner)),
    ),
    max_leaves=9,
)
IDS = st.text(string.hexdigits.lower()[:16], min_size=16, max_size=16)
SPANS = st.builds(
    lambda span_id, name, at, attributes, message: {
        "spanId": span_id,
        "name": name,
        "startTimeUnixNano": at,
        "attributes": attributes,
        "events": [{"timeUnixNano": at, "name": name, "attributes": attributes}],
        "status": {"message": message, "code": 2},
    },
    IDS,
    TEXTS.filter(bool),
    st.integers(1, (1 << 64) - 1),
    pairs(VALUES),
    TEXTS.filter(bool),
)


@given(st.lists(SPANS, min_size=1, max_size=3))
def test_what_is_written_is_read_again(spans: list[dict[str, Json]]) -> None:
    request: dict[str, Json] = {"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}]}]}
    assert read_message(otlp_protobuf(request), "request") == request


def test_values_of_any_depth_are_refused_before_they_are_too_deep() -> None:
    value: Json = {"stringValue": "x"}
    for _ in range(100):
        value = {"arrayValue": {"values": [value]}}
    body = otlp_protobuf({"resourceSpans": [{"resource": {"attributes": [{"key": "k", "value": value}]}}]})
    with pytest.raises(ValueError, match="nested too deeply"):
        read_message(body, "request")


@pytest.mark.parametrize("raw", [b"\x08", b"\x0a\x05ab", b"\x0d\x01", b"\x80" * 9])
def test_a_field_that_breaks_off_is_no_field(raw: bytes) -> None:
    with pytest.raises(ValueError, match="is truncated"):
        list(fields_of(raw))


@pytest.mark.parametrize("raw", [b"\x80" * 11, b"\x00\x00", b"\x0b", b"\x07"])
def test_what_is_no_protobuf_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"field|number"):
        list(fields_of(raw))


def test_numbers_of_the_wire_format_have_seven_bits_a_byte() -> None:
    assert varint_at(b"\x96\x01rest", 0) == (150, 2)  # protobuf.dev's own example
    assert list(fields_of(b"\x08\x96\x01\x12\x02hi")) == [(1, 150), (2, b"hi")]
