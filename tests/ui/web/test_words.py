"""Text from outside where Streamlit reads markdown."""

import re

import pytest

from ui.web.words import plain


@pytest.mark.parametrize(
    "text",
    [
        "**bold** _slanted_ `code` ~~struck~~ [x](y) ![i](j) # h > q | a |",
        "$x^2$ and <b>markup</b> &amp;",
        ":smile: :material/home: :red[x] :blue-badge[y]",
        "https://example.org www.example.org someone@example.org",
        "a -> b <- c -- d >= e <= f ~= g",
    ],
)
def test_every_mark_is_escaped_and_nothing_else_is_changed(text: str) -> None:
    shown = plain(text)
    assert shown.replace("\\", "").replace("\u2060", "") == text
    assert not re.search(r"(?<!\\)[*_`~\[\]()#>|$<&:!]", shown)


@pytest.mark.parametrize(
    "found", [":smile:", ":material/home:", "www.", "https://", "someone@example", "->", "<-", ">=", "--"]
)
def test_what_is_found_after_markdown_was_read_has_a_joiner_within(found: str) -> None:
    assert found not in plain(f"a {found} b").replace("\\", "")


def test_lines_and_what_turns_the_writing_round_are_made_visible() -> None:
    assert plain("a\nb\u202ec") == "a⏎b\\\\u202ec"
