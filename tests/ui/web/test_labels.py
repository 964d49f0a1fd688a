"""A label shows its text and nothing else: Streamlit reads labels as markdown."""

import pytest

from ui.web.labels import label


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("**bold** `code`", r"\*\*bold\*\* \`code\`"),
        ("[a](http://b.example)", r"\[a\]\(http\://b\.example\)"),
        (":red[x] $y$ <b>", r"\:red\[x\] \$y\$ \<b\>"),
        ("a\\b", r"a\\b"),
        ("two\nlines\u202e", r"two⏎lines\\u202e"),
    ],
)
def test_nothing_in_a_label_is_markup(text: str, shown: str) -> None:
    assert label(text) == shown


def test_a_long_text_is_cut_before_it_is_escaped() -> None:
    assert label("*" * 100, most=3) == r"\*\*\*…"
