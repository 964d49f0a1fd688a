"""What may be folded on a phone."""

import pytest

from weaklink.ui.views.styled_text import Run
from weaklink.ui.web.markup import folds

SENTENCES = ("The call of `f` is not valid.", "    help: Delete the comma.", "✖ broken at step 1 of 4 · 7 warnings")
IN_COLUMNS = (
    "model    sample-8b",
    '2 | {"name": "f"}',
    "  |",
    "     ^^^^ ~~~",
    "  - A  step 1, turn 3",
    " 3 │ <tools>",
)


@pytest.mark.parametrize("words", SENTENCES)
def test_a_sentence_may_be_folded(words: str) -> None:
    assert folds([(Run(words[:5]), Run(words[5:]))]) == [True]


@pytest.mark.parametrize("words", IN_COLUMNS)
def test_what_stands_in_columns_may_not(words: str) -> None:
    assert folds([(Run(words[:5]), Run(words[5:]))]) == [False]


def test_a_line_with_marks_below_it_may_not() -> None:
    assert folds([(Run(words),) for words in ("status:brk or so", "       ^", "Status must be one of five.")]) == [
        False,
        False,
        True,
    ]
