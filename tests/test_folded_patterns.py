"""Tables of words that are compiled without `re.IGNORECASE`: they find in folded texts what they would find with it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain import assertions
from weaklink.inspector.scanning import folded, folded_pattern

_TABLES = ("_NO_DENIAL", "_DENIES", "_FAILS", "_LEFT", "_ADMITS", "_SUPPOSES", "_DONE", "_WELL")
_LETTERS = st.text(st.characters(categories=["L"], max_codepoint=0x24FF) | st.sampled_from("iIıİsSſςσΣKkéÉßẞ"))


@given(_LETTERS)
def test_a_folded_text_has_the_same_length(text: str) -> None:
    assert len(folded(text)) == len(text)


@given(st.text(st.sampled_from("iIıİsSſςσΣkKéÉaABб"), min_size=1), st.text(st.sampled_from("iIıİsSſςσΣkKéÉaAbБ ")))
def test_a_folded_pattern_finds_what_one_that_ignores_case_finds(word: str, around: str) -> None:
    text = f"{around}{word.swapcase()}{around}"
    match = folded_pattern(word.lower().replace("i̇", "i")).search(folded(text))
    expected = re.search(word.lower().replace("i̇", "i"), text, re.IGNORECASE)
    assert (match and match.span()) == (expected and expected.span())


@pytest.mark.parametrize("name", _TABLES)
def test_each_word_of_a_table_is_found_in_any_case(name: str) -> None:
    table: re.Pattern[str] = getattr(assertions, name)
    ignoring = re.compile(table.pattern, re.IGNORECASE)
    words = set(re.findall(r"(?<!\\)[^\W\d_]{2,}(?: [^\W\d_]{2,})?", table.pattern))
    texts = [form for word in words for form in (word, word.upper(), word.title(), f"it {word.title()} 3 errors")]
    assert len(words) > 30
    assert [text for text in texts if (table.search(folded(text)) is None) != (ignoring.search(text) is None)] == []
