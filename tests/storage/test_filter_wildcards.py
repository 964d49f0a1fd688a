"""Stars in a filter match in linear time, whatever the stored names and the patterns are, on each database."""

import re
import signal
from collections.abc import Iterator
from fnmatch import translate
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.conftest import NewStore
from tests.storage.samples import GOOD_CALL, inspected, trace
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.model import (
    ExternalId,
    Generation,
    Outcome,
    Part,
    Provenance,
    Role,
    ToolDefinition,
    Trace,
    Turn,
)
from weaklink.storage.filter import FilterError, FilterKey
from weaklink.storage.filter.parsing import MAX_FILTER_CHARS
from weaklink.storage.filter.reading import UNITS, WORDS_OF
from weaklink.storage.filter.wildcards import matching_values
from weaklink.storage.store import Store

_HOSTILE_NAME = "b" * 100
_FEWEST_STARS, _MANY_STARS = 12, 150
_PATTERNS = (
    "*b" * _FEWEST_STARS + "*c",
    "*b" * _MANY_STARS + "*c",
    "*" * _MANY_STARS + "c",
    "*bb*" * _FEWEST_STARS + "bc",
    "*_%b\\*" * _FEWEST_STARS + "*c",
)
_MATCHING = "*b" * _FEWEST_STARS + "*"
_HANGS_S = 60  # linear work takes milliseconds; an exponential one would not end in a lifetime
_WITH_TEXTS = tuple(
    key
    for key in FilterKey
    if key not in (*UNITS, *WORDS_OF, FilterKey.SINCE, FilterKey.BEFORE, FilterKey.ARG, FilterKey.CODE)
)
"""The keys whose values are any text."""


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """Interrupt a test that hangs: the engine of regular expressions looks for signals."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError("a pattern takes more than linear time")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(_HANGS_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def hostile(new_store: NewStore) -> Store:
    """A trace in which every name that a filter can match is long, and full of the letter that patterns repeat."""
    name = _HOSTILE_NAME
    store = new_store()
    call = f'<tool_call>\n{{"name": "{name}", "arguments": {{"{name}": "{name}"}},}}\n</tool_call>'
    generation = Generation(answered_model=name, tools=(ToolDefinition(name, "", {"type": "object"}),))
    whole = Trace(
        (
            Turn(Role.USER, (Part("text", "hello"),)),
            Turn(Role.ASSISTANT, (Part("text", call),), generation=generation),
        ),
        name=name,
        format="hermes",
        external_ids=(ExternalId("k", name), ExternalId("project", f"/{name}")),
        provenance=Provenance(name, "log.jsonl", record="line 1"),
        outcome=Outcome(completed=True),
    )
    (saved,) = store.save(inspected(whole))
    store.marks.put(saved.id, note=name)
    return store


@pytest.mark.one_in(4)
@pytest.mark.parametrize("key", _WITH_TEXTS)
def test_a_hostile_pattern_of_each_key_ends(hostile: Store, key: FilterKey) -> None:
    for pattern in _PATTERNS:
        for sign in ("", "-"):
            hostile.traces(f'{sign}{key.value}:"{pattern}"'.replace("\\", "\\\\"))


@pytest.mark.parametrize(
    "term", ["model", "source", "tool", "name", "session", "break_tool", "arg:$.{name}=", "arg:{name}=", "arg:*b=b"]
)
def test_many_stars_match(hostile: Store, term: str) -> None:
    begun = term.format(name=_HOSTILE_NAME) if term.startswith("arg:") else f"{term}:"
    assert len(hostile.traces(f"{begun}{_MATCHING}")) == 1
    assert hostile.traces(f"{begun}{_PATTERNS[0]}") == []


@pytest.mark.parametrize("pattern", _PATTERNS)
@pytest.mark.parametrize("sign", ["=", "!=", "~"])
def test_a_hostile_pattern_of_an_argument_ends(hostile: Store, sign: str, pattern: str) -> None:
    quoted = pattern.replace("\\", "\\\\")
    hostile.traces(f'arg:{_HOSTILE_NAME}{sign}"{quoted}"')
    path = "*b" * _FEWEST_STARS + "*c"
    assert hostile.traces(f'arg:$.{path}{sign}"{quoted}"') == []


@pytest.mark.parametrize("key", WORDS_OF)
def test_a_hostile_pattern_of_a_key_with_known_words_ends(hostile: Store, key: FilterKey) -> None:
    for pattern in _PATTERNS:
        try:
            assert hostile.traces(f'{key.value}:"{pattern}"'.replace("\\", "\\\\")) == []
        except FilterError as error:
            assert "no " in str(error)  # noqa: PT017  # a key that stands for codes refuses what matches none


@pytest.mark.parametrize("key", ["marked", "forks"])
def test_a_star_that_is_neither_yes_nor_no_matches_nothing(new_store: NewStore, key: str) -> None:
    store = new_store()
    store.save(inspected(trace("unmarked", GOOD_CALL)))
    assert [len(store.traces(f"{key}:{value}")) for value in ("*x", "n*", "*")] == [0, 1, 1]


def test_a_filter_is_refused_before_it_is_longer_than_a_database_accepts(hostile: Store) -> None:
    longest = f"name:*{'x' * (MAX_FILTER_CHARS - len('name:**'))}*"
    assert hostile.traces(longest) == []
    with pytest.raises(FilterError, match="a filter has at most 10,000 characters"):
        hostile.traces(f"{longest}x")
    with pytest.raises(WeaklinkError):
        hostile.traces(longest * 1_000)


@given(st.text("ab*", max_size=8), st.lists(st.text("ab", max_size=8)))
def test_a_star_is_any_text(pattern: str, stored: list[str]) -> None:
    plain = re.compile(translate(pattern))
    assert matching_values(stored, [pattern]) == [value for value in stored if plain.match(value)]


def test_cases_are_folded_and_long_patterns_are_whole() -> None:
    assert matching_values(["Straße", "HERMES-4", "ſ", "x"], ["straSSE", "hermes*", "S"]) == ["Straße", "HERMES-4", "ſ"]
    long = "a" * 390
    assert matching_values([long], [f"*{'*'.join(long)}*"]) == [long]
    assert matching_values([long], [f"*{'*'.join(long)}*b*"]) == []
