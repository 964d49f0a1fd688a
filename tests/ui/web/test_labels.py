"""Text where Streamlit reads markdown, as the markdown that says it and nothing else."""

import re

import pytest

from tests.ui.web.hostile import ATTACKS
from weaklink.ui.views.styled_text import visible_line
from weaklink.ui.web.markup import label, message

# What Streamlit's page looks for in words once their markdown is read.
_REREAD = (
    r"https?://\w",
    r"www\.\w",
    r"[-.\w+]+@[-\w]+\.",
    r":[\w+-]+:",
    r":material[/_]\w+:",
    r"(^|\s)(<->|->|<-|--|>=|<=|~=)(\s|$)",
)


@pytest.mark.parametrize("text", [*ATTACKS, "1. one", "    code", "- -", "a  \nb", "mail@a.b www.a.b WWW.A.B", "# #"])
def test_every_mark_is_taken_as_a_character_and_nothing_can_be_read_into_it_afterwards(text: str) -> None:
    said = label(text, most=10_000)
    assert re.search(r"(?<!\\)(\\\\)*[!-/:-@\[`{-~\]^_]", said) is None
    read = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", said)
    assert read.replace("\u2060", "").replace("\u00a0", " ") == visible_line(text)
    assert not read.startswith(" ")
    assert [reread for reread in _REREAD if re.search(reread, read, re.IGNORECASE | re.ASCII)] == []


def test_a_message_shows_names_in_another_font_and_no_backquotes() -> None:
    assert message("run `weaklink db upgrade --db a.db` or `x`") == "run `weaklink db upgrade --db a.db` or `x`"
    assert message("one ` only") == "one \\` only"
    assert message("`[a](b)` is `c`") == "\\`\\[a\\]\\(b\\)\\` is `c`"


@pytest.mark.parametrize("text", [*ATTACKS, *(f"no trace `{attack}`; `weaklink list` lists" for attack in ATTACKS)])
def test_nothing_in_a_message_is_read_as_markup(text: str) -> None:
    said = re.sub(r"(?<!\\)`[\w ./=<>*+,:-]+`", "", message(text, most=10_000))
    assert re.search(r"(?<!\\)(\\\\)*[!-/:-@\[`{-~\]^_]", said) is None


def test_a_long_text_is_cut() -> None:
    assert label("ab" * 50, most=5) == "ababa…"
