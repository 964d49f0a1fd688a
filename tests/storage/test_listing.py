"""Lists go from the newest down, in pages; filters let through what they say."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from tests.storage.conftest import NewStore
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, RecordedRun, Trace, Usage
from weaklink.inspector.text import Range
from weaklink.storage.console import ask
from weaklink.storage.filter import FilterError, parse_filter
from weaklink.storage.listing import Order, _sorted
from weaklink.storage.store import Store

TEXT_CALL = GOOD_CALL.replace("get_weather", "get_time")


@pytest.fixture
def filled(store: Store) -> Store:
    """A store of its own for a test that changes it: traces of every kind, the oldest first, indexed."""
    return _filled(store)


@pytest.fixture(scope="module")
def filled_once(new_store: NewStore) -> Store:
    """The same for tests that only read it."""
    return _filled(new_store())


def _filled(store: Store) -> Store:
    store.save(
        inspected(
            trace("broken", BAD_CALL, started_s=1.0, words="Is it raining in Zürich today?"),
            trace("good", GOOD_CALL, started_s=2.0, model="qwen3", words="get_weather of naïve cafés"),
            trace("both", BAD_CALL, GOOD_CALL, started_s=3.0, source="otel", words="100% of x_y"),
            trace("other", TEXT_CALL, started_s=4.0, model="Hermes-4-70B", words='say "hello  world", please'),
            trace("still", started_s=5.0, model="", words="nothing"),
        )
    )
    assert store.search.index_pending() == 5
    return store


def _names(store: Store, wanted: str) -> list[str]:
    return [summary.name for summary in store.traces(wanted)]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("", ["still", "other", "both", "good", "broken"]),
        ("   ", ["still", "other", "both", "good", "broken"]),
        ("status:broken", ["both", "broken"]),
        ("status:BROKEN", ["both", "broken"]),
        ("status:recovered", []),
        ("status:*o*", ["still", "other", "both", "good", "broken"]),
        ("model:hermes-4", ["both", "broken"]),
        ("model:hermes*", ["other", "both", "broken"]),
        ("model:*e*", ["other", "both", "good", "broken"]),
        ('model:"qwen3"', ["good"]),
        ("model:qwen", []),
        ("source:otel", ["both"]),
        ("format:hermes", ["still", "other", "both", "good", "broken"]),
        ("tool:get_weather", ["both", "good", "broken"]),
        ("tool:get_*", ["other", "both", "good", "broken"]),
        ("tool:get", []),
        ("tool:get_weather tool:get_time", []),
        ("code:J1", ["both", "broken"]),
        ("code:j104", ["both", "broken"]),
        ("code:J104 status:broken model:hermes-4 tool:get_weather source:openai-messages", ["broken"]),
        ("code:X9", []),
        ("raining", ["broken"]),
        ("RAINING today", ["broken"]),
        ("rain", []),
        ("rain*", ["broken"]),
        ("zurich", ["broken"]),
        ("cafes naive", ["good"]),
        ("get_weather", ["both", "good", "broken"]),
        ("get_weather of", ["both", "good"]),
        ('"raining in"', ["broken"]),
        ('"in raining"', []),
        ('"hello world"', ["other"]),
        (r'"\"hello"', ["other"]),
        ("Oslo tool:get_time", ["other"]),
        ("100%", ["both"]),
        ("x_y", ["both"]),
        ('"nothing at all"', []),
        ("!!!", []),
        ("model:hermes* today", ["broken"]),
        ("tool:' OR 1=1 --", []),
    ],
)
def test_filters(filled_once: Store, wanted: str, names: list[str]) -> None:
    assert _names(filled_once, wanted) == names


@pytest.mark.parametrize(
    ("wanted", "position", "words"),
    [
        ("modell:x", 0, "did you mean `model:`"),
        ("ok  zzzz:x", 4, "the keys are status, certainty, model"),
        ("model:", 6, "requires a value"),
        ('status:ok "open', 10, "unclosed quote"),
        ('model:"open', 6, "unclosed quote"),
        ('ab"c', 2, "quote inside a word"),
        ("status:bad", 7, "broken, aborted, recovered, unknown, ok"),
    ],
)
def test_what_is_no_filter_says_where(store: Store, wanted: str, position: int, words: str) -> None:
    with pytest.raises(FilterError, match=words) as raised:
        store.traces(wanted)
    assert raised.value.position == position


@pytest.mark.one_in(3)
@pytest.mark.parametrize("wanted", ["", "status:ok", "tool:get_*", "code:J1", "weather", "model:h*", "weather code:J1"])
def test_pages_follow_each_other_without_gap_or_repeat(store: Store, wanted: str) -> None:
    calls = (GOOD_CALL, BAD_CALL, TEXT_CALL)
    store.save(
        inspected(*(trace(f"s{n}", calls[n % 3], started_s=float(n // 4), model=f"h{n % 2}") for n in range(30)))
    )
    store.search.index_pending()
    whole = store.traces(wanted, limit=100)
    paged, page = [], store.traces(wanted, limit=4)
    while page:
        paged += page
        page = store.traces(wanted, limit=4, after=page[-1].cursor)
    assert paged == whole
    assert len(whole) >= 10
    assert whole == sorted(whole, key=lambda row: (row.cursor.sort_at_s, row.id), reverse=True)


def test_words_fields_and_phrases_are_found_together(store: Store) -> None:
    store.save(inspected(*(trace(f"s{n}", BAD_CALL if n % 2 else GOOD_CALL, started_s=float(n)) for n in range(12))))
    store.search.index_pending()
    assert len(_names(store, "weather")) == 12
    assert len(_names(store, "weather code:J1")) == 6
    assert len(_names(store, "weather status:broken tool:get_weather")) == 6
    assert len(_names(store, 'oslo "get weather"')) == 12


_VOCABULARY = ("sun", "rain", "snow", "wind", "fog")


_DRAWN = Random(7)
_WORDS = {f"s{n}": " ".join(_DRAWN.choices(_VOCABULARY, [9, 5, 3, 1, 0.3], k=4)) for n in range(60)}
_CALLS = {name: _DRAWN.choice((GOOD_CALL, BAD_CALL)) for name in _WORDS}
_TIMES = {name: float(_DRAWN.randrange(20)) for name in _WORDS}


@pytest.fixture(scope="module")
def drawn(new_store: NewStore) -> Store:
    """Traces of words drawn at random, of which every fourth was deleted, indexed; for tests that only read it."""
    store = new_store()
    store.save(inspected(*(trace(word, _CALLS[word], words=_WORDS[word], started_s=_TIMES[word]) for word in _WORDS)))
    store.delete([n for n in range(1, 61) if n % 4 == 0])
    store.search.index_pending()
    return store


def test_words_are_found_as_if_every_text_were_read(drawn: Store) -> None:
    order = [summary.name for summary in drawn.traces(limit=100)]
    asked = [
        "sun",
        "fog",
        "sun rain",
        "rain fog",
        "sun sn*",
        '"sun rain"',
        "wind code:J104",
        "sun status:ok",
        "sun !!!",
    ]
    for wanted in asked:
        words = [word for word in wanted.replace('"sun rain"', "sun+rain").split() if ":" not in word]
        expected = [
            name
            for name in order
            if all(_holds(_WORDS[name], word) for word in words)
            and ("code:" not in wanted or _CALLS[name] == BAD_CALL)
            and ("status:" not in wanted or _CALLS[name] == GOOD_CALL)
        ]
        assert _names(drawn, wanted) == expected, wanted
        paged, page = [], drawn.traces(wanted, limit=3)
        while page:
            paged += [summary.name for summary in page]
            page = drawn.traces(wanted, limit=3, after=page[-1].cursor)
        assert paged == expected, wanted


def _holds(text: str, word: str) -> bool:
    if word.endswith("*"):
        return any(query_word.startswith(word[:-1]) for query_word in text.split())
    return f" {word.replace('+', ' ')} " in f" {text} " and word != "!!!"


def test_a_replaced_trace_is_found_by_its_new_words_alone(filled: Store) -> None:
    filled.save(inspected(trace("broken", BAD_CALL, GOOD_CALL, started_s=9.0, words="Is it snowing in Zürich today?")))
    assert _names(filled, "raining") == []
    assert _names(filled, "snowing") == []
    assert filled.maintenance.stats().not_indexed == 1
    filled.search.index_pending()
    assert _names(filled, "snowing") == ["broken"]
    assert _names(filled, "tool:get_weather") == ["broken", "both", "good"]


def test_a_deleted_trace_is_not_found(filled: Store) -> None:
    filled.delete(["broken"])
    assert _names(filled, "raining") == []
    assert _names(filled, "code:J1") == ["both"]


def test_a_word_that_two_chunks_cut_is_found(store: Store) -> None:
    store.save(inspected(trace("a", "it is rai" + "ning")))
    store.search.index_pending()
    assert _names(store, "raining") == ["a"]


def test_no_phrase_reaches_over_two_turns(store: Store) -> None:
    store.save(inspected(trace("a", "sunny", words="tomorrow")))
    store.search.index_pending()
    assert _names(store, "tomorrow sunny") == ["a"]
    assert _names(store, '"tomorrow sunny"') == []


@pytest.mark.one_in(2)
def test_a_very_long_text_is_found_to_its_end(store: Store) -> None:
    store.save(inspected(trace("a", words=" ".join(f"word{n}" for n in range(60_000)) + " " + "x" * 300_000)))
    store.search.index_pending()
    assert _names(store, "word59999") == ["a"]
    assert _names(store, '"word30000 word30001"') == ["a"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("raining", "raining"),
        ("zurich", "Zürich"),
        ('"IN zurich"', "in Zürich"),
        ("tod*", "tod"),
        ("code:J1 zürich", "Zürich"),
    ],
)
def test_a_search_shows_where_the_words_stand(filled: Store, words: str, shown: str) -> None:
    filled.save(inspected(trace("late", words="not yet indexed")))
    position = filled.search.find(words)
    (hit,) = position.hits
    assert (hit.trace.name, position.waiting) == ("broken", 1)
    assert hit.match.of(hit.excerpt) == shown
    assert hit.location is not None
    assert hit.location.range.of(filled.trace("broken").turns[0].parts[0].text) == shown
    assert (hit.location.turn, hit.location.part) == (1, "text")


def test_a_search_without_words_shows_no_place(filled: Store) -> None:
    assert [hit.location for hit in filled.search.find("source:otel").hits] == [None]


def test_indexing_goes_on_where_it_stopped(store: Store) -> None:
    store.save(inspected(*(trace(f"s{n}") for n in range(5))))
    assert store.search.index_pending(limit=2) == 2
    assert store.maintenance.stats().not_indexed == 3
    assert store.search.index_pending() == 3
    assert store.search.index_pending() == 0


def test_a_trace_in_a_list_has_the_layers_at_which_it_differs(store: Store) -> None:
    run = RecordedRun("otlp", "weather", "a1", '{"city": "Rome"}', "9 degrees and sun")
    traces = []
    for words, ran in (("Hi", None), ("Hello", run)):
        sample = trace_of(
            f"user: {words}", 'call a1: weather {"city": "Oslo"}', "result a1: 4 degrees", "say: 4 degrees."
        )
        turns = (*sample.turns[:2], replace(sample.turns[2], run=ran), *sample.turns[3:])
        traces.append(replace(sample, turns=turns))
    ids = [saved.id for saved in store.save([(session, inspect_trace(session)) for session in traces])]
    assert [store.summary(id_).layers for id_ in ids] == [(), ("executed", "read")]
    assert [summary.id for summary in store.traces("layer:executed")] == [ids[1]]


def test_the_row_of_a_difference_is_at_the_later_layer(store: Store) -> None:
    sample = trace_of("user: Hi", 'call a1: weather {"city": "Oslo"}', "result a1: 4 degrees", "say: 4 degrees.")
    run = RecordedRun("otlp", "weather", "a1", '{"city": "Rome"}')
    sample = replace(sample, turns=(*sample.turns[:2], replace(sample.turns[2], run=run), *sample.turns[3:]))
    (saved,) = store.save([(sample, inspect_trace(sample))])
    answer = ask(store.location, "SELECT turn, part, code FROM diagnostics")
    assert [tuple(row) for row in answer.rows] == [(3, "run:arguments", "L805")]
    (kept,) = store.inspected(saved.id)[1].diagnostics
    assert kept.fault.against == Location(2, "call:0", Range(0, 16))


def test_the_share_of_the_context_is_of_the_window_that_is_stated_also_in_estimates(store: Store) -> None:
    def made(words: str, **facts: Any) -> Trace:
        return trace_of(f"user: {words}", "say: Yes.", last=Generation(**facts))

    traces = [
        made("counted", usage=Usage(700, 100)),
        made("stated", usage=Usage(700, 100), context_window=1_000),
        made("asked", usage=Usage(300, 100), parameters='{"num_ctx":1000}'),
        made("estimated " * 100, parameters='{"options":{"num_ctx":400}}'),
    ]
    ids = [saved.id for saved in store.save([(sample, inspect_trace(sample)) for sample in traces])]
    by_word = {
        words: {summary.id for summary in store.traces(words)}
        for words in ("context:>50%", "context:<1%", "context:>=40%")
    }
    assert by_word["context:>50%"] == {ids[1], ids[3]}
    assert by_word["context:<1%"] == {ids[0]}
    assert by_word["context:>=40%"] == {ids[1], ids[2], ids[3]}


CONTEXT = "<environment_context>\n<cwd>/home/dev</cwd>\n</environment_context>"
LONG_CONTEXT = f"<system-reminder>{'one more skill ' * 4_000}</system-reminder>{CONTEXT}"


@pytest.mark.parametrize(
    ("lines", "opening"),
    [
        (("user: Move the files.", "user: And now?"), "Move the files."),
        ((f"user: {CONTEXT}", "user: Move the files."), "Move the files."),
        ((f"user: {CONTEXT} Move the files.", "user: And now?"), "Move the files."),
        ((f"user: {LONG_CONTEXT} Move the files.", "user: And now?"), "Move the files."),
        (("call: act {}",), ""),
        ((f"user: {CONTEXT}",), "<environment_context> <cwd>/home/dev</cwd> </environment_context>"),
    ],
)
def test_the_opening_of_a_trace_is_what_the_user_wrote_first(
    store: Store, lines: tuple[str, ...], opening: str
) -> None:
    traces = [replace(trace_of(*lines), name=""), replace(trace_of("user: Another."), name="")]
    store.save((sample, inspect_trace(sample)) for sample in traces)
    assert [store.summary(id).opening for id in (1, 2)] == [opening, "Another."]


@pytest.mark.parametrize("wanted", ["", "status:broken", "model:qwen3", "break:J104"])
def test_the_newest_matches_of_a_value_are_read_in_the_order_of_an_index(filled_once: Store, wanted: str) -> None:
    with filled_once._database.reading() as connection:
        if connection.dialect.name != "sqlite":
            pytest.skip("a small table is sorted there")
        query = _sorted(connection, parse_filter(wanted), Order.TIME, None).limit(100)
        text = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
        steps = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}")]
    assert not [step for step in steps if "TEMP B-TREE" in step], steps
