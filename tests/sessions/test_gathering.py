"""Transcripts of exchanges with every API: which traces they make."""

import gzip
import json
from pathlib import Path
from random import Random

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sessions.transcripts import plain, read_case
from tests.strategies import json_values
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.sessions.exchange import Exchange, RequestHead
from weaklink.inspector.sessions.gathering import ExchangeSpool, SkippedExchange, traces_of

CASES = sorted((Path(__file__).parent.parent / "cases" / "sessions").glob("*.exchanges"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_exchanges_make_their_traces(case: Path, *, update_goldens: bool) -> None:
    golden = case.with_suffix(".json")
    text = json.dumps(plain(traces_of(read_case(case))), indent=1) + "\n"
    if update_goldens:
        golden.write_text(text, encoding="ascii")
    assert text == golden.read_text(encoding="ascii"), "pytest --update-goldens rewrites the expected traces"


def traces(exchanges: list[Exchange]) -> list[Trace]:
    records = list(traces_of(exchanges))
    assert not [record for record in records if isinstance(record, SkippedExchange)]
    return [record for record in records if isinstance(record, Trace)]


def case(name: str) -> list[Exchange]:
    return read_case(next(path for path in CASES if path.stem == name))


def packed(exchange: Exchange) -> Exchange:
    """The same, its request sent in gzip and its answer in br, byte by byte."""
    head = replace(exchange.head, headers=(*exchange.head.headers, ("content-encoding", "gzip")))
    assert exchange.body is not None
    assert exchange.answer is not None
    body = brotli.compress(b"".join(raw for _, raw in exchange.answer))
    pieces = tuple((exchange.ended_s, body[index : index + 1]) for index in range(len(body)))
    headers = (*exchange.headers, ("Content-Encoding", "br"))
    return replace(exchange, head=head, body=gzip.compress(exchange.body), headers=headers, answer=pieces)


@pytest.mark.parametrize("name", ["chat_continues", "messages", "gemini", "fork", "responses_previous_id"])
def test_encodings_do_not_matter(name: str) -> None:
    exchanges = case(name)
    assert plain(traces(list(map(packed, exchanges)))) == plain(traces(exchanges))


def test_an_answer_whose_encoding_is_damaged_is_kept_as_far_as_it_goes_and_told() -> None:
    exchange = packed(case("clients_apart")[0])
    assert exchange.answer is not None
    (trace,) = traces([replace(exchange, answer=exchange.answer[:-4])])
    assert trace.provenance.warnings == ("exchange 1: The body ends before its br data does.",)


@pytest.mark.parametrize("name", ["chat_continues", "fork", "subagents", "same_words_later"])
def test_the_order_in_a_log_does_not_matter_where_times_are_known(name: str) -> None:
    exchanges = [replace(exchange, record=f"entry {number}") for number, exchange in enumerate(case(name), 1)]
    shuffled = Random(3).sample(exchanges, len(exchanges))
    assert plain(traces(shuffled)) == plain(traces(exchanges))


@pytest.mark.parametrize("name", ["chat_continues", "fork", "agent_repeats"])
def test_without_times_the_order_of_the_log_counts(name: str) -> None:
    timed = case(name)
    timeless = [replace(exchange, head=replace(exchange.head, at_s=None), ended_s=None) for exchange in timed]
    shapes = [[[turn.role for turn in trace.turns] for trace in traces(log)] for log in (timed, timeless)]
    assert shapes[0] == shapes[1]


def test_a_log_without_times_does_not_say_what_overlapped() -> None:
    opening = case("siblings")[:2]
    timeless = [replace(exchange, head=replace(exchange.head, at_s=None), ended_s=None) for exchange in opening]
    (trace,) = traces(timeless)
    attempts = [turn.generation.attempt for turn in trace.turns if turn.generation is not None]
    assert attempts == [1, 2]


def test_an_exchange_that_stands_in_a_log_twice_does_not_overlap_itself() -> None:
    first = case("siblings")[0]
    (trace,) = traces([replace(first, record="1"), replace(first, record="2")])
    assert [turn.generation.attempt for turn in trace.turns if turn.generation is not None] == [1, 2]


def test_what_begins_in_the_moment_in_which_another_ended_does_not_overlap_it() -> None:
    first, second = case("siblings")[:2]
    later = replace(second, head=replace(second.head, at_s=first.ended_s), ended_s=None)
    for log in ([first, later], [later, first]):
        (trace,) = traces(log)
        assert [turn.generation.attempt for turn in trace.turns if turn.generation is not None] == [1, 2]


def test_an_answer_that_a_log_ends_late_is_still_known_by_its_words() -> None:
    first, second, _, _, third, *_ = case("siblings")
    late = [replace(exchange, ended_s=(third.head.at_s or 0) + 100) for exchange in (first, second)]
    assert [len(trace.turns) for trace in traces([*late, third])] == [3, 5]


def test_the_same_log_gives_the_same_ids_and_a_longer_one_too() -> None:
    exchanges = case("subagents")
    ids = [trace.external_ids for trace in traces(exchanges)]
    assert [trace.external_ids for trace in traces(exchanges)] == ids
    assert [trace.external_ids for trace in traces(exchanges[:3])] == ids
    assert len(set(ids)) == len(ids)


def test_two_conversations_that_begin_alike_at_one_moment_have_ids_of_their_own() -> None:
    exchange = case("clients_apart")[0]
    other = replace(exchange, head=replace(exchange.head, client="other"))
    first, second = (trace.external_ids[0].value for trace in traces([exchange, other]))
    assert second == f"{first}-2"


PATHS = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/api/chat",
    "/api/generate",
    "/v1/models/m:generateContent",
    "",
]
FIELDS = ["messages", "prompt", "input", "contents", "system", "instructions", "previous_response_id", "conversation"]


@pytest.mark.invariants
@given(
    st.lists(
        st.tuples(
            st.sampled_from(PATHS),
            st.dictionaries(st.sampled_from(FIELDS), json_values(), max_size=3),
            st.binary(max_size=40),
        ),
        max_size=3,
    )
)
def test_no_exchange_makes_it_raise_and_none_gets_lost(asked: list[tuple[str, dict[str, Json], bytes]]) -> None:
    exchanges = [
        Exchange(RequestHead("POST", path), write_json(body).encode(), 200, answer=((None, raw),))
        for path, body, raw in asked
    ]
    records = list(traces_of(exchanges))
    answers = sum(
        turn.generation is not None for record in records if isinstance(record, Trace) for turn in record.turns
    )
    assert answers + sum(isinstance(record, SkippedExchange) for record in records) == len(exchanges)


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[1]", b"{", b"[" * 100_000])
def test_a_body_that_is_no_request_is_skipped(body: bytes) -> None:
    exchange = Exchange(RequestHead("POST", "/v1/chat/completions"), body, 200, record="entry 7")
    reason = "the request's path is a model's, but its body is not a JSON object"
    assert list(traces_of([exchange])) == [SkippedExchange("entry 7", reason)]


@pytest.mark.parametrize(("method", "path"), [("OPTIONS", "/v1/chat/completions"), ("POST", "/health")])
def test_a_request_to_something_else_is_irrelevant(method: str, path: str) -> None:
    exchange = Exchange(RequestHead(method, path), b"", 200, record="entry 7")
    assert list(traces_of([exchange])) == [
        SkippedExchange("entry 7", "this is not a request to a model", is_irrelevant=True)
    ]


def test_exchanges_wait_on_the_disk_as_they_are() -> None:
    odd = Exchange(
        RequestHead("POST", "/v1/\ud83d", (("x", "\udcff"),), at_s=1.5), b"\xff{", 200, answer=((None, b"\0"),)
    )
    with ExchangeSpool(spool_bytes=1) as shelf:
        places = [shelf.put(odd), shelf.put(replace(odd, answer=None))]
        assert [shelf.get(slot) for slot in reversed(places)] == [replace(odd, answer=None), odd]


OF_APIS: dict[str, dict[str, Json]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hi"}]},
    "/v1/completions": {"prompt": "Hi"},
    "/v1/responses": {"input": "Hi"},
    "/v1/messages": {"messages": [{"role": "user", "content": "Hi"}]},
    "/api/chat": {"messages": [{"role": "user", "content": "Hi"}]},
    "/api/generate": {"prompt": "Hi"},
    "/v1beta/models/m:generateContent": {"contents": [{"parts": [{"text": "Hi"}]}]},
}
NO_ANSWERS = {
    "html": ("text/html", b"<!DOCTYPE html><html><body>Log in</body></html>"),
    "text": ("text/plain", b"upstream is starting"),
    "no type": ("", b"hello there"),
    "json": ("application/json", b'{"status": "ok"}'),
    "empty json": ("application/json", b"{}"),
    "list": ("application/json", b"[1]"),
    "null": ("application/json", b"null"),
    "word": ("application/json", b'"hello"'),
    "html for a stream": ("text/event-stream", b"<html>Log in</html>"),
    "only an end": ("text/event-stream", b"data: [DONE]\n\n"),
    "comments and an end": ("text/event-stream", b": ping\n\ndata: [DONE]\n\n"),
    "other events": ("text/event-stream", b'data: {"hello": 1}\n\n'),
}


def answered(path: str, kind: str, body: bytes, *, streams: bool = False, status: int = 200) -> Trace:
    request = write_json({"model": "m", "stream": streams, **OF_APIS[path]}).encode()
    exchange = Exchange(
        RequestHead("POST", path, at_s=1.0), request, status, (("content-type", kind),), ((2.0, body),), ended_s=3.0
    )
    (trace,) = traces([exchange])
    return trace


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", OF_APIS)
@pytest.mark.parametrize("body", NO_ANSWERS)
def test_a_body_that_is_no_answer_is_the_servers_failure(body: str, path: str, *, streams: bool) -> None:
    inspection = inspect_trace(answered(path, *NO_ANSWERS[body], streams=streams))
    assert (inspection.chain.status.value, inspection.chain.abort_reason) == ("aborted", "upstream")
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == ["C512"]


@pytest.mark.parametrize("status", [200, 302])
def test_the_status_that_came_with_it_is_kept_with_every_word(status: int) -> None:
    trace = answered("/v1/messages", *NO_ANSWERS["html"], status=status)
    turn = trace.turns[-1]
    assert turn.generation is not None
    assert turn.generation.error is not None
    assert turn.generation.error.status == status
    assert [(part.name, part.text) for part in turn.parts if part.text] == [
        ("wire:unread", "<!DOCTYPE html><html><body>Log in</body></html>")
    ]


@pytest.mark.parametrize(
    ("kind", "body", "codes"),
    [
        ("application/json", b'{"choices": [{"message": {"content": "Hi"}, "finish_re', ["C504"]),
        ("text/event-stream", b'data: {"choices": [{"delta": {"cont', ["C504"]),
        ("text/event-stream", b": ping\n\n", ["C504"]),
        ("application/json", b"", ["C504"]),
        ("application/json", b'{"error": {"message": "Too long."}}', ["C508"]),
        ("application/json", b'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}', ["T414"]),
        ("text/html", b'{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}', []),
    ],
)
def test_an_answer_that_is_cut_empty_or_an_error_is_told(kind: str, body: bytes, codes: list[str]) -> None:
    inspection = inspect_trace(answered("/v1/chat/completions", kind, body))
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == codes
