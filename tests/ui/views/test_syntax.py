"""Syntax colours: what is coloured how, and that nothing of a text is lost or obeyed."""

from hypothesis import given
from hypothesis import strategies as st

from weaklink.ui.views.dissect.raw import syntax_line
from weaklink.ui.views.styled_text import Run, Style, plain, visible_line


def test_keys_and_values_of_json_have_different_colours() -> None:
    line = syntax_line('{"city": "Oslo", "days": 3}', "json")
    assert Run('"city"', Style.KEY) in line
    assert Run('"Oslo"', Style.OK) in line
    assert Run("3", Style.INFO) in line


def test_keywords_of_a_language_are_coloured() -> None:
    line = syntax_line("def f(): return 1", "python")
    assert Run("def", Style.REASONING) in line
    assert Run("return", Style.REASONING) in line


@given(
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=80), st.sampled_from(["json", "python", "bash", "sql"])
)
def test_no_character_is_lost_and_none_is_obeyed(text: str, language: str) -> None:
    assert plain(syntax_line(text, language)) == visible_line(text)
