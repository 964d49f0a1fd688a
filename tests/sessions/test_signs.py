"""What a request says of its session: every header and field, their order, and what is no session."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from weaklink.inspector.model import ExternalId, Json, RecognisedBy
from weaklink.inspector.sessions.exchange import RequestHead
from weaklink.inspector.sessions.trace_matching import SessionHints, read_session_hints

UUID = "0197c1f0-1111-7000-8000-000000000001"
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def signs(headers: dict[str, str] | None = None, body: Json = None) -> SessionHints:
    return read_session_hints(RequestHead("POST", "/v1/messages", tuple((headers or {}).items())), body)


@pytest.mark.parametrize(
    "name",
    [
        "x-session-id",
        "x-claude-code-session-id",
        "session-id",
        "session_id",
        "thread-id",
        "thread_id",
        "helicone-session-id",
        "x-portkey-trace-id",
    ],
)
def test_a_header_names_the_session_in_whatever_case(name: str) -> None:
    hints = signs({name.upper(): " s1 "})
    assert (hints.key, hints.recognised_by) == (ExternalId(name, "s1"), RecognisedBy.HEADER)


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"metadata": {"user_id": json.dumps({"session_id": "s1"})}}, ("metadata.user_id.session_id", "s1")),
        (
            {"metadata": {"user_id": f"user_ab12_account__session_{UUID}"}},
            ("metadata.user_id.session_id", UUID),
        ),
        ({"prompt_cache_key": UUID}, ("prompt_cache_key", UUID)),
        ({"client_metadata": {"session_id": "s1"}}, ("client_metadata.session_id", "s1")),
        ({"client_metadata": {"thread_id": "t1"}}, ("client_metadata.thread_id", "t1")),
        ({"litellm_session_id": "s1"}, ("litellm_session_id", "s1")),
        ({"litellm_trace_id": "s1"}, ("litellm_trace_id", "s1")),
        ({"metadata": {"session_id": "s1"}}, ("metadata.session_id", "s1")),
        ({"session_id": 7}, ("session_id", "7")),
        ({"conversation": {"id": "conv_1"}}, ("conversation", "conv_1")),
        ({"conversation": "conv_1"}, ("conversation", "conv_1")),
    ],
)
def test_a_field_names_the_session(body: Json, key: tuple[str, str]) -> None:
    hints = signs(body=body)
    assert (hints.key, hints.recognised_by) == (ExternalId(*key), RecognisedBy.FIELD)


@pytest.mark.parametrize(
    "body",
    [
        {"user": "u1"},
        {"prompt_cache_key": "my-app"},
        {"metadata": {"user_id": "u1"}},
        {"metadata": {"user_id": "[1]"}},
        {"metadata": []},
        {"session_id": ""},
        {"session_id": True},
        {"session_id": "x" * 513},
        {"client_metadata": {"turn_id": "t"}},
        [],
        None,
    ],
)
def test_what_many_sessions_may_share_is_no_session(body: Json) -> None:
    hints = signs(body=body)
    assert (hints.key, hints.recognised_by) == (None, RecognisedBy.PREFIX_CHAIN)


def test_a_user_and_a_shared_cache_key_are_kept_as_ids() -> None:
    hints = signs(body={"user": "u1", "prompt_cache_key": "my-app"})
    assert hints.ids == (ExternalId("prompt_cache_key", "my-app"), ExternalId("user", "u1"))


def test_the_first_in_the_order_counts_and_all_are_kept() -> None:
    hints = signs(
        {"traceparent": TRACEPARENT, "helicone-session-id": "h", "thread-id": "t", "X-Session-Id": "x"},
        {"session_id": "o", "metadata": {"user_id": json.dumps({"session_id": "c"})}, "prompt_cache_key": UUID},
    )
    assert hints.key == ExternalId("x-session-id", "x")
    assert [external_id.value for external_id in hints.ids] == [
        "x",
        "c",
        "t",
        UUID,
        "h",
        "o",
        "4bf92f3577b34da6a3ce929d0e0e4736",
    ]


def test_a_traceparent_is_a_trace_of_spans_and_no_session() -> None:
    hints = signs({"traceparent": TRACEPARENT})
    assert hints.key is None
    assert hints.span_trace == "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize("value", ["00-" + "0" * 32 + "-00f067aa0ba902b7-01", "nonsense", ""])
def test_a_traceparent_of_no_trace_says_nothing(value: str) -> None:
    assert signs({"traceparent": value}) == SessionHints()


@pytest.mark.parametrize(
    ("word", "count"), [("2", 2), ("0", 0), ("-1", None), ("²", None), ("9" * 20, None), ("", None)]
)
def test_the_client_counts_its_repetitions(word: str, count: int | None) -> None:
    assert signs({"X-Stainless-Retry-Count": word}).retry_count == count


@pytest.mark.parametrize(
    ("headers", "count"),
    [
        ({"X-Retry-Count": "3"}, 3),
        ({"amz-sdk-request": "attempt=1; max=3"}, 0),
        ({"amz-sdk-request": "attempt=2; max=3"}, 1),
        ({"amz-sdk-request": "ttl=20200101T000000Z"}, None),
        ({"x-envoy-attempt-count": "2"}, 1),
        ({"x-stainless-retry-count": "0", "x-envoy-attempt-count": "3"}, 2),
        ({}, None),
    ],
)
def test_clients_and_proxies_count_in_headers_of_their_own(headers: dict[str, str], count: int | None) -> None:
    assert signs(headers).retry_count == count


@pytest.mark.parametrize("name", ["Idempotency-Key", "X-Idempotency-Key", "amz-sdk-invocation-id"])
def test_a_key_of_the_request_is_kept_for_comparing(name: str) -> None:
    assert signs({name: "k1"}).request_key == "k1"
    assert signs({name: "k" * 513}).request_key == ""


@pytest.mark.invariants
@given(st.dictionaries(st.sampled_from(["x-session-id", "traceparent", "session_id", ""]), st.text()), json_values())
def test_no_request_makes_it_raise(headers: dict[str, str], body: Json) -> None:
    hints = signs(headers, body)
    assert hints.key is None or hints.key in hints.ids
