"""JSON objects as typed structures: the slow road gives what the fast one gives, and names what does not fit."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from weaklink.inspector.apis.gemini import camel_case
from weaklink.inspector.model import Json
from weaklink.inspector.wire.provider_json import NOTHING, StructReader, raw_text


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    number: int | None = None
    raw: msgspec.Raw = NOTHING


class Outer(msgspec.Struct, rename="camel"):
    a_text: str | None = None
    inner: Inner | None = None
    inners: list[Inner] | None = None
    raws: list[msgspec.Raw] | None = None
    anything: Any = None


read = StructReader(Outer, rename=camel_case)


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("{}", []),
        ('{"aText": 7}', ["aText"]),
        ('{"inner": 7, "inners": {}}', ["inner", "inners"]),
        ('{"inner": null, "inners": null, "raws": null}', []),
        ('{"inner": {"number": "7", "other": 1, "none": null, "empty": {}}}', ["inner.number", "inner.other"]),
        ('{"inners": [{"number": 1}, {"number": []}, null]}', ["inners[1].number", "inners[2]"]),
        ('{"raws": 7, "aText": "\\ud83d"}', ["raws"]),
    ],
)
def test_what_does_not_fit_is_named(text: str, strange: list[str]) -> None:
    assert read(text)[1] == strange


def test_a_raw_member_keeps_its_exact_text() -> None:
    shape, _ = read('{"inner": {"raw": {"a" : 1.0,\n "a":1e2}}, "raws": [ "\\u00e9" ,[ ]]}')
    assert shape.inner is not None
    assert raw_text(shape.inner.raw) == '{"a" : 1.0,\n "a":1e2}'
    assert [raw_text(raw) for raw in shape.raws or ()] == ['"\\u00e9"', "[ ]"]
    odd, _ = read('{"aText": 7, "inner": {"raw": {"a" : "\udcff\\ud83d"}}}')
    assert odd.inner is not None
    assert raw_text(odd.inner.raw) == '{"a" : "\udcff\\ud83d"}'


def test_a_key_in_snake_case_is_known() -> None:
    assert read('{"a_text": "b", "aText": 7}')[0].a_text == "b"


@pytest.mark.parametrize("text", ["", "[]", "7", '{"a": ', "[" * 100_000, '{"a": 1} {}'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(text)


@pytest.mark.invariants
@given(
    value=st.dictionaries(
        st.sampled_from(["aText", "inner", "inners", "raws", "anything", "x"]),
        json_values() | st.fixed_dictionaries({"number": json_values(), "raw": json_values()}),
    )
)
def test_the_slow_road_gives_what_the_fast_one_gives(value: dict[str, Json]) -> None:
    text = json.dumps(value, default=str)
    try:
        fast = msgspec.json.decode(text, type=Outer)
    except ValueError:
        read(text)
        return
    slow, strange = read(text[:-1] + (', "aText": "\\ud83d"}' if value else '"aText": "\\ud83d"}'))
    assert not strange
    expected = msgspec.structs.replace(fast, a_text="\ud83d")
    assert [getattr(slow, name) for name in ("a_text", "inner", "inners", "raws")] == [
        getattr(expected, name) for name in ("a_text", "inner", "inners", "raws")
    ]
