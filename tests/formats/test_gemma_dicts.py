"""Gemma's dicts: every place is exact, repairs read back, and the follower agrees with the reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.formats.gemma.calls import gemma_text, is_gemma_value
from weaklink.inspector.formats.gemma.dicts import GemmaReader, gemma_payload
from weaklink.inspector.model import Json
from weaklink.inspector.segmenter.events import read_on

DELIMITER = '<|"|>'
PIECES = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    DELIMITER,
    '<|"',
    "<",
    '"',
    "'",
    "a",
    "key:",
    "1",
    "-",
    ".",
    "true",
    "None",
    "\n",
    " ",
    "é",
    "\ud83d",
)
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=25).map("".join)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | HOSTILE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=10,
)


@given(text=HOSTILE)
def test_every_place_is_exact_whatever_the_text(text: str) -> None:
    text = "{" + text
    value_read = GemmaReader(text, 0, DELIMITER).read()
    assert value_read.range.start == 0 < value_read.range.end <= len(text)
    assert all(0 <= fault.range.start < fault.range.end <= len(text) for fault in value_read.faults)
    for parameter in value_read.parameters:
        assert parameter.range.of(text) == parameter.text
        assert parameter.name_range is not None
        assert parameter.name in parameter.name_range.of(text)


@given(value=st.dictionaries(st.text(alphabet="abc_1", min_size=1) | HOSTILE, VALUES, max_size=3))
def test_what_is_written_reads_back_and_is_followed_to_its_end(value: dict[str, Json]) -> None:
    if not is_gemma_value(value, DELIMITER):
        return
    text = gemma_text(value, DELIMITER)
    value_read = GemmaReader(text, 0, DELIMITER).read()
    assert (value_read.value, value_read.breaks, value_read.range.end) == (value, 0, len(text))
    follower = gemma_payload(DELIMITER).follower()
    read_on(follower, text)
    assert follower.completed


@pytest.mark.parametrize(
    "text",
    [
        "{a:\"x\",b:'y'}",
        "{a:New York}",
        '{"a":1}',
        '{a:<|"|>x<|"|>b:<|"|>y<|"|>}',
        "{a:[1,2}",
        "{a:True,}",
        '{a:<|"|>x',
        "{n:007,m:3.}",
    ],
)
def test_a_repaired_dict_holds_what_was_read(text: str) -> None:
    before = GemmaReader(text, 0, DELIMITER).read()
    after = GemmaReader(apply_fixes(text, before.faults, only_safe=False), 0, DELIMITER).read()
    assert before.breaks
    assert (after.value, after.breaks) == (before.value, 0)


@pytest.mark.parametrize("opener", ["[", "{a:", "{a:["])
def test_no_depth_is_too_much(opener: str) -> None:
    assert GemmaReader("{a:" + opener * 5_000, 0, DELIMITER).read().breaks
