"""The place of an error's words in a result with colours, and in the same result without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import inspection_of
from weaklink.inspector.text import Range, terminal_range, without_terminal_sequences

_SEQUENCES = ("\x1b[31m", "\x1b[0m", "\x1b(B", "\x1b]0;title\x07", "\x1b[2K", "\\u001b[1m")
_PIECES = st.lists(st.one_of(st.sampled_from(_SEQUENCES), st.text("abc \n", min_size=1, max_size=6)), max_size=12)


@given(_PIECES, st.data())
def test_a_range_of_the_plain_text_has_the_same_characters_in_the_coloured_one(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    plain = without_terminal_sequences(text)
    assert plain == "".join(piece for piece in pieces if piece not in _SEQUENCES)
    if not plain:
        return
    start = data.draw(st.integers(0, len(plain) - 1))
    wanted = Range(start, data.draw(st.integers(start + 1, len(plain))))
    coloured = terminal_range(text, wanted)
    assert without_terminal_sequences(coloured.of(text)) == wanted.of(plain)
    assert text[coloured.start] == plain[wanted.start]
    assert text[coloured.end - 1] == plain[wanted.end - 1]


@pytest.mark.parametrize("colour", ["\x1b[31m", "\x1b(B\x1b[m"])
def test_an_error_is_known_in_any_colour_and_marked_where_it_stands(colour: str) -> None:
    result = f"{colour}Error: cannot connect to db\x1b[0m"
    inspection = inspection_of("user: Go.", 'call a: query {"x": 1}', f"result a!: {result}", "say: It failed.")
    (fault,) = (diagnostic.fault for diagnostic in inspection.diagnostics if diagnostic.rule.code == "T406")
    assert fault.range.of(result) == "Error: cannot connect to db"
