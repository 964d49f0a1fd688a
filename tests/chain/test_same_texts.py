"""Searching many texts for those that mean the same as one finds what comparing it with each of them finds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain import layers
from weaklink.inspector.chain.layers import SameTexts, same_text

_WORDS = st.sampled_from(["a", "4 degrees", "5", "5.0", "true", "é\n", " a ", "", "x" * 9, "content='a'", "****ee"])
_VALUES = st.recursive(
    _WORDS | st.integers(0, 5) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def _blocks(texts: list[str]) -> object:
    return {"content": [{"type": "text", "text": text} for text in texts], "isError": False}


def _masked(text: str) -> str:
    return text[:1] + "*" * max(len(text) - 2, 4) + text[5:]


_PLAIN = _WORDS | st.builds(lambda word: f"content='{word}' name='t'", _WORDS)
_JSON = st.builds(json.dumps, _VALUES | st.lists(_WORDS, max_size=3).map(_blocks))
_NESTED = st.builds(lambda text: json.dumps({"output": text, "n": 1}), _JSON)
_TEXTS = _PLAIN | _JSON | _NESTED | st.builds(_masked, _PLAIN | _JSON) | st.builds(" {}\n".format, _PLAIN | _JSON)


@given(st.lists(_TEXTS, min_size=1, max_size=12), st.integers(0, 11), _TEXTS)
def test_what_is_found_is_what_comparing_each_finds(texts: list[str], own: int, other: str) -> None:
    same = SameTexts(lambda: texts)
    for text in (texts[own % len(texts)], other):
        assert list(dict.fromkeys(same.of(text))) == [
            index for index, each in enumerate(texts) if same_text(each, text)
        ]


def test_a_text_is_not_compared_with_each_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(text: str, other: str) -> bool:
        nonlocal compared
        compared += 1
        return same_text(text, other)

    monkeypatch.setattr(layers, "same_text", counted)
    texts = [json.dumps({"status": "ok", "row": number}) for number in range(300)]
    texts += [f"The file {number:04} was read." for number in range(300)]
    same = SameTexts(lambda: texts)
    for number in range(300):
        assert not list(same.of(f"The file {number:04} was kept."))
        assert list(same.of(json.dumps({"row": number, "status": "ok"})))[:1] == [number]
    assert compared <= 2 * len(texts)
