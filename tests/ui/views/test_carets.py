"""Carets under a row: right below it, however many faults it has, with words that say which they speak of."""

from collections.abc import Sequence

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.text import Range
from weaklink.ui.views.marked_text import CaretLabel, caret_lines
from weaklink.ui.views.styled_text import Run, plain, width_of

_COMMA = next(rule for rule in RULES if rule.code == "J104")


def under(before: int, cells: int, *words: str) -> CaretLabel:
    fault = Fault(_COMMA, Range(before, before + cells), "A comma.")
    return CaretLabel(before, cells, [fault], [[(Run(word),)] for word in words])


def drawn(places: Sequence[CaretLabel], room: int = 40) -> list[str]:
    lines = list(caret_lines(places, room))
    assert all(width_of(line) <= room for line in lines)
    return [plain(line).rstrip() for line in lines]


def test_one_fault_has_its_words_beside_it_where_they_fit() -> None:
    assert drawn([under(4, 2, "a comma")]) == ["    ^^ a comma"]
    assert drawn([under(4, 2, "a comma")], room=13) == ["    ^^", "a comma"]


def test_the_carets_of_two_faults_share_the_line_below_the_row_and_bear_the_numbers_of_their_words() -> None:
    assert drawn([under(2, 3, "first"), under(12, 1, "second")]) == ["  ^^^ 1     ^ 2", "1 first", "2 second"]


def test_carets_that_would_touch_stand_below_each_other_and_still_before_all_words() -> None:
    assert drawn([under(0, 9, "around"), under(4, 2, "inside")]) == ["^^^^^^^^^ 1", "    ^^ 2", "1 around", "2 inside"]


def test_a_number_stands_before_carets_that_end_with_the_row() -> None:
    assert drawn([under(0, 2, "one"), under(37, 3, "two")])[0] == "^^ 1" + " " * 31 + "2 ^^^"


def test_carets_without_words_need_no_number() -> None:
    assert drawn([under(0, 9), under(4, 2, "here")]) == ["^^^^^^^^^", "    ^^ here"]
    assert drawn([under(0, 9)]) == ["^^^^^^^^^"]
