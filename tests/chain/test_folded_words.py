"""The words of a text are the same whether its symbols are replaced first or not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain.provenance_terms import folded_names, folded_words, word_spans

_LETTERS = st.sampled_from(list("aZ_7 \n→…éİß²天한\u0301\ud800"))
_TEXTS = st.lists(_LETTERS | st.characters(), max_size=30).map("".join)


@given(_TEXTS)
def test_names_are_the_runs_of_letters_digits_and_underscores(text: str) -> None:
    assert folded_names(text) == [name.casefold() for name in re.findall(r"\w+", text)]


@given(_TEXTS)
def test_words_are_those_of_their_spans(text: str) -> None:
    assert folded_words(text) == [text[start:end].casefold() for start, end in word_spans(text)]


@pytest.mark.parametrize("symbols", ["→", "«»“”", "→é", "".join(map(chr, range(0x2190, 0x21B0)))])
def test_a_numbered_file_has_the_same_words(symbols: str) -> None:
    text = "".join(f"{number}{symbol}Def run_it{symbol}\n" for number, symbol in enumerate(symbols * 3))
    assert folded_names(text) == [name.casefold() for name in re.findall(r"\w+", text)]
    assert folded_words(text) == [text[start:end].casefold() for start, end in word_spans(text)]
