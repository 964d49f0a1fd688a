"""Which recorded exchange answers a request, and where a request that matches none differs."""

import json
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.model import Json
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.replay.canonical import differences
from weaklink.inspector.replay.matching import DivergenceKind, Match, Recording, ReplayDivergence, Replayer
from weaklink.inspector.text import Range

_PATH = "/v1/chat/completions"


def _body() -> dict[str, Json]:
    """A request with a system prompt, a call and its result, tools and settings."""
    call: Json = {"id": "call_9f", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    return {
        "model": "hermes-4",
        "user": "user-1",
        "metadata": {"run": "a"},
        "temperature": 1,
        "messages": [
            {
                "role": "system",
                "content": "You help. It is Monday, November 23, 2026, 10:15. \N{SNOWMAN} Brief.",
            },
            {"role": "user", "content": "Is it warm in \U0001f3d4 Oslo?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_9f", "content": "12 degrees"},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
    }


def _exchange(body: Json, answer: bytes = b"", began_s: float = 0.0) -> RecordedExchange:
    return RecordedExchange("POST", _PATH, began_s, 200, request=_raw(body), answer=answer, ends=(len(answer),))


def _raw(body: Json) -> bytes:
    return json.dumps(body).encode()


def _replayer(*exchanges: RecordedExchange, is_strict: bool = False) -> Replayer:
    return Replayer(Recording(exchanges, (None,) * len(exchanges)), is_strict=is_strict)


def _at(body: dict[str, Json], *path: str | int, to: Json) -> dict[str, Json]:
    inner: Json = body
    for step in path[:-1]:
        inner = inner[step]  # type: ignore[index]  # the path fits the body
    inner[path[-1]] = to  # type: ignore[index]  # the same
    return body


_IGNORED: list[tuple[Callable[[dict[str, Json]], Json], int]] = [
    (lambda body: _at(body, "user", to="user-2"), 1),
    (lambda body: _at(body, "metadata", to={"run": "b", "more": 1}), 2),
    (lambda body: dict(reversed(body.items())), 0),
    (lambda body: _at(body, "temperature", to=1.0), 0),
    (lambda body: json.loads(json.dumps(body).replace("call_9f", "call_zz")), 2),
    (lambda body: json.loads(json.dumps(body).replace("November 23, 2026, 10:15", "November 23, 2026, 11:47")), 1),
    (lambda body: {**body, "idempotency_key": "x"}, 1),
]


@pytest.mark.parametrize(("change", "count"), _IGNORED)
def test_volatile_differences_are_ignored_and_listed(change: Callable[[dict[str, Json]], Json], count: int) -> None:
    replayer = _replayer(_exchange(_body(), b"answer"))
    position = replayer.find("POST", _PATH, _raw(change(_body())))
    assert isinstance(position, Match)
    assert len(position.ignored) == len(replayer.ignored) == count
    strict = _replayer(_exchange(_body()), is_strict=True).find("POST", _PATH, _raw(change(_body())))
    assert isinstance(strict, Match if count == 0 else ReplayDivergence)


_PLANTED: list[tuple[tuple[str | int, ...], Json, str, int | None, tuple[int, int] | None]] = [
    (("messages", 1, "content"), "Is it warm in \U0001f3d4 Rome?", "/messages/1/content", 2, (16, 20)),
    (("messages", 0, "content"), "You help.", "/messages/0/content", 1, (9, 9)),
    (("messages", 3, "content"), "13 degrees", "/messages/3/content", 4, (1, 2)),
    (("messages", 2, "tool_calls", 0, "function", "name"), "news", "/messages/2/tool_calls/0/function/name", 3, (0, 4)),
    (
        ("messages", 2, "tool_calls", 0, "function", "arguments"),
        '{"city": "Bergen"}',
        "/messages/2/tool_calls/0/function/arguments",
        3,
        (10, 16),
    ),
    (("messages", 2, "role"), "user", "/messages/2/role", 3, (0, 4)),
    (("temperature",), 0.5, "/temperature", None, None),
    (("model",), "hermes-5", "/model", None, (7, 8)),
    (("tools", 0, "function", "parameters", "type"), "array", "/tools/0/function/parameters/type", None, (0, 5)),
    (("tools", 0, "function", "strict"), True, "/tools/0/function/strict", None, (97, 101)),
]


@pytest.mark.parametrize(("path", "value", "pointer", "message", "where"), _PLANTED)
def test_each_planted_change_is_named_at_its_characters(
    path: tuple[str | int, ...], value: Json, pointer: str, message: int | None, where: tuple[int, int] | None
) -> None:
    recorded = _exchange(_body())
    position = _replayer(recorded).find("POST", _PATH, _raw(_at(_body(), *path, to=value)))
    assert isinstance(position, ReplayDivergence)
    difference = position.differences[0]
    assert (position.kind, difference.pointer, difference.message) == (DivergenceKind.CHANGED, pointer, message)
    assert len(position.differences) == 1
    found_range = None if difference.live_range is None else (difference.live_range.start, difference.live_range.end)
    assert found_range == where


def test_of_several_runs_with_the_same_words_the_one_that_differs_least_is_compared() -> None:
    recorded = [_exchange(_at(_body(), "model", to=name)) for name in ("a", "b", "c")]
    position = _replayer(*recorded).find("POST", _PATH, _raw(_at(_at(_body(), "model", to="b"), "temperature", to=0)))
    assert isinstance(position, ReplayDivergence)
    assert (position.exchange, [difference.pointer for difference in position.differences]) == (2, ["/temperature"])
    unknown = _replayer(*recorded).find("POST", _PATH, _raw(_at(_body(), "model", to="d")))
    assert isinstance(unknown, ReplayDivergence)
    assert (unknown.exchange, [difference.pointer for difference in unknown.differences]) == (1, ["/model"])


def test_an_added_message_is_named_by_its_number() -> None:
    body = _body()
    messages = body["messages"]
    assert isinstance(messages, list)
    position = _replayer(_exchange(_body())).find(
        "POST", _PATH, _raw({**body, "messages": [*messages, {"role": "user", "content": "And?"}]})
    )
    assert isinstance(position, ReplayDivergence)
    assert [(difference.kind.value, difference.pointer, difference.message) for difference in position.differences] == [
        ("added", "/messages/4", 5)
    ]


_TEXTS = st.text(st.sampled_from('ab\U0001f600e\u0301\n"\\'), max_size=12)


@given(_TEXTS, _TEXTS)
def test_a_range_covers_what_differs_and_no_more(recorded: str, live: str) -> None:
    result = list(differences(recorded, live))
    assert bool(result) == (recorded != live)
    for difference in result:
        old, new = difference.recorded_range, difference.live_range
        assert isinstance(old, Range)
        assert isinstance(new, Range)
        assert recorded[: old.start] + live[new.start : new.end] + recorded[old.end :] == live
        assert recorded[old.start : old.end][:1] != live[new.start : new.end][:1] or old.start == old.end


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(0, 99))
def test_every_exchange_is_used_once_in_its_order_whatever_order_requests_come_in(words: list[int], seed: int) -> None:
    """Requests with equal contents get their answers in the recorded order; others do not disturb them."""
    exchanges = [
        _exchange({"messages": [{"role": "user", "content": str(word)}]}, f"{word}:{number}".encode(), number)
        for number, word in enumerate(words)
    ]
    replayer = _replayer(*exchanges)
    shuffled = Random(seed).sample(words, len(words))
    got: dict[int, list[int]] = {}
    for word in shuffled:
        position = replayer.find(
            "POST", f"/openai{_PATH}", _raw({"messages": [{"role": "user", "content": str(word)}]})
        )
        assert isinstance(position, Match)
        said, number = (position.exchange.answer or b"").decode().split(":")
        assert int(said) == word
        got.setdefault(word, []).append(int(number))
    assert all(numbers == sorted(numbers) for numbers in got.values())
    assert replayer.never_made() == ()
    assert replayer.used == len(words)
    extra = replayer.find("POST", _PATH, _raw({"messages": []}))
    assert isinstance(extra, ReplayDivergence)
    assert extra.kind is DivergenceKind.EXTRA


def test_bodies_that_are_no_json_match_as_texts() -> None:
    replayer = _replayer(RecordedExchange("POST", "/v1/files", request=b"\xff\x00 no JSON", answer=b""))
    assert isinstance(replayer.find("POST", "/v1/files", b"\xff\x00 other"), ReplayDivergence)
    assert isinstance(replayer.find("POST", "/v1/files", b"\xff\x00 no JSON"), Match)
