"""What could stand in a filter is offered from the language and from what is in the database."""

import pytest

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.storage.filter import FilterCompletion, check_filter
from weaklink.storage.store import Store

TEXT_CALL = GOOD_CALL.replace("get_weather", 'say \\"hi\\"').replace("city", "a b").replace("Oslo", "New York")


@pytest.fixture
def filled(store: Store) -> Store:
    """Some traces; `hermes-4` is the most frequent model."""
    store.save(
        inspected(
            trace("a", GOOD_CALL, started_s=1.0),
            trace("b", BAD_CALL, started_s=2.0),
            trace("c", GOOD_CALL, started_s=3.0, model="a model, large"),
            trace("d", TEXT_CALL, started_s=4.0, model="qwen\x00 3", source="otel"),
        )
    )
    return store


def _offered(store: Store, text: str) -> list[str]:
    completions = store.complete(text)
    assert all(
        completion.end == len(text) and text[: completion.start] + completion.text != "" and completion.what
        for completion in completions
    )
    return [text[: completion.start] + completion.text for completion in completions]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("sta", ["status:"]),
        ("tt", ["ttft:"]),
        ("Oslo (not sess", ["Oslo (not session:"]),
        ("-mar", ["-marked:"]),
        ("an", ["and"]),
        (
            "status:",
            [f"status:{text}" for text in ("broken", "aborted", "recovered", "unknown", "ok", "running", "idle")],
        ),
        ("status:ok,R", ["status:ok,recovered", "status:ok,running"]),
        ("model:", ["model:hermes-4", 'model:"a model, large"', 'model:"qwen\x00 3"']),
        ('model:"a mo', ['model:"a model, large"']),
        ("x or source:o", ["x or source:openai-messages", "x or source:otel"]),
        ("tool:", ["tool:get_weather", r'tool:"say \"hi\""']),
        ("code:J", ["code:J104"]),
        ("arg:", ["arg:$.city", 'arg:$["a b"]']),
        ("arg:$.c", ["arg:$.city"]),
        ("arg:ci", ["arg:city"]),
        ("arg:$.city=o", ["arg:$.city=oslo"]),
        ("arg:a b=", []),
        ('arg:$["a b"]~', ['arg:$["a b"]~"new york"']),
        ("session:", ["session:session=", "session:a", "session:b", "session:c", "session:d"]),
        ("duration:", ["duration:>1ms", "duration:<1ms", "duration:>=1ms", "duration:<=1ms"]),
        ("since:t", ["since:today"]),
        ("zzz:", []),
        ("zzzz", []),
        ('"open sta', []),
    ],
)
def test_what_could_stand_at_the_end_is_offered(filled: Store, text: str, offered: list[str]) -> None:
    assert _offered(filled, text) == offered


def test_at_a_cursor_within_only_what_stands_before_it_counts(filled: Store) -> None:
    assert filled.complete("status:bro model:x", 10) == [FilterCompletion(7, 10, "broken", "how the trace ended")]
    assert len(filled.complete("", 0)) > 20


def test_what_is_offered_can_be_read(filled: Store) -> None:
    for key in (part.text for part in filled.complete("") if part.text.endswith(":")):
        for value in filled.complete(key):
            text = key[: value.start] + value.text
            assert text.endswith("=") or check_filter(text) is None, text


def test_at_most_fifty_are_offered(store: Store) -> None:
    store.save(inspected(*(trace(f"s{n}", "yes", model=f"model {n}") for n in range(60))))
    assert len(store.complete("model:")) == 50
