"""The strict tracker agrees with the standard library, cut anywhere."""

import json

from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.json_scanner.tracker import JsonTracker, ends_within_string, tracked
from weaklink.inspector.segmenter.events import read_on

PIECES = st.lists(
    st.sampled_from(
        ['{"a": ', '"', "\\", "\\u12", "[", "]", "{", "}", ",", ":", "1", "-", "e5", "tru", "e", " ", "\n", "x"]
    ),
    max_size=14,
).map("".join)


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=lambda word: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return True


@given(PIECES | st.recursive(st.integers() | st.text(max_size=3), st.lists, max_leaves=5).map(json.dumps))
def test_a_text_it_takes_whole_is_json(text: str) -> None:
    tracker = JsonTracker()
    whole = f"[{text}]"
    took_all = tracker.feed(whole) == len(whole) and tracker.completed
    assert took_all == is_json(whole)


@given(PIECES, st.data())
def test_it_may_be_cut_anywhere(text: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(text)))
    whole, in_pieces = JsonTracker(), JsonTracker()
    read_on(whole, text)
    read_on(in_pieces, text[:position])
    if not in_pieces.broken:
        read_on(in_pieces, text[position:])
    assert (whole.broken, whole.in_string) == (in_pieces.broken, in_pieces.in_string)


@given(PIECES)
def test_counting_quotes_agrees_with_reading(text: str) -> None:
    assert ends_within_string(text) == tracked(text).in_string
