"""The first turn of a value: looked up in the texts, in tables of all values, and while a session grows."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weaklink.inspector.chain import invented_values
from weaklink.inspector.chain.invented_values import FirstAppearances, addresses, distinctive_values
from weaklink.inspector.memoized import forget_unused, memoizing
from weaklink.inspector.model import Part, Provenance, Role, Trace, Turn

_WORDS = st.sampled_from(
    [
        "u_88231",
        "12,400",
        "1,2",
        "12400",
        "Straße7",
        "STRASSE7",
        "x9→y10",
        "ana,b1@c.example",
        "İ3",
        "plain",
        "0x1F",
        "é5",
    ]
)
_TURNS = st.lists(
    st.builds(
        lambda role, words: Turn(role, (Part("text", " ".join(words)), Part("reasoning", ",".join(words[:1])))),
        st.sampled_from([Role.USER, Role.ASSISTANT, Role.TOOL]),
        st.lists(_WORDS, max_size=4),
    ),
    min_size=1,
    max_size=12,
)


def _appearances(trace: Trace, own_words: frozenset[int]) -> dict[str, tuple[int | None, bool]]:
    texts = [part.text for turn in trace.turns for part in turn.parts]
    values = dict.fromkeys(value for text in texts for value in (*distinctive_values(text), *addresses(text)))
    first = FirstAppearances(trace, own_words)
    return {
        value: (first.origin(value), first.invented(iter([value]), turn=5, since=3) is None)
        for value in (*values, "nowhere1")
    }


@given(turns=_TURNS, own_words=st.frozensets(st.integers(1, 12), max_size=2))
def test_values_are_found_alike_however_they_are_looked_up(turns: list[Turn], own_words: frozenset[int]) -> None:
    def trace(number: int) -> Trace:
        return Trace(tuple(turns[:number]), provenance=Provenance("", "", "", ""))

    few = invented_values._FEW_LOOKUPS
    try:
        invented_values._FEW_LOOKUPS = 1_000
        looked_up = _appearances(trace(len(turns)), own_words)
        invented_values._FEW_LOOKUPS = 0
        assert _appearances(trace(len(turns)), own_words) == looked_up
    finally:
        invented_values._FEW_LOOKUPS = few
    with memoizing():
        for number in range(1, len(turns)):
            growing = replace(turns[number - 1], parts=turns[number - 1].parts[:1])
            whole = trace(number)
            _appearances(replace(whole, turns=(*whole.turns[:-1], growing)), own_words)
        assert _appearances(trace(len(turns)), own_words) == looked_up
    forget_unused()
    forget_unused()
