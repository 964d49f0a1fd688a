"""The first and the last line of a result are what splitting it into lines gives, wherever the lines end."""

from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain.failure_words import HEAD, first_line, last_line

TEXTS = st.text("ab \t\n\r\x0b\x0c\x1c\x85\u2028é", max_size=40)


@given(st.tuples(TEXTS, TEXTS, st.sampled_from((0, 1, 250, 2_100))).map(lambda one: one[0] + "x" * one[2] + one[1]))
def test_the_ends_are_those_of_the_lines(text: str) -> None:
    head, tail = text[:HEAD].splitlines(), text[-HEAD:].splitlines()
    assert first_line(text) == next((line.strip() for line in head if line.strip()), "")
    assert last_line(text) == next((line.strip() for line in reversed(tail) if line.strip()), "")
