"""The spool of spans: rows in any order, whatever they hold, in memory or on the disk."""

from typing import Any

import pytest

from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.otlp_span import ERROR, OtlpEvent, OtlpSpan
from weaklink.inspector.importers.telemetry.span_spool import SPOOL_BYTES, SpanSpool
from weaklink.inspector.importers.telemetry.tracing_stores import merged_rows
from weaklink.inspector.model import ExternalId, Json

SESSION = ExternalId("session_id", "s")


def spool() -> SpanSpool[JsonObject]:
    return SpanSpool[JsonObject](dict)


def test_spans_come_back_as_they_were_put_whether_in_memory_or_on_disk() -> None:
    values: list[Json] = ["text", "\ud800", 1 << 70, [1, {"a": None}], 1.5, True]
    spans = [
        OtlpSpan("t", str(at), "", "n", at + 0.5, None, {"k": value}, (OtlpEvent("e", None, {"x": 1}),), ERROR, "m")
        for at, value in enumerate(values)
    ]
    for spool_bytes in (1, 1 << 20):
        with SpanSpool(OtlpSpan, spool_bytes=spool_bytes) as spooled:
            for span in spans:
                spooled.put("t", span, trace="t")
            assert spooled.sessions() == {ExternalId("trace_id", "t"): ["t"]}
            assert list(spooled.rows(["t"])) == spans


def test_a_run_is_complete_with_all_that_was_told_of_it_in_any_order() -> None:
    with spool() as spooled:
        spooled.put("a", {"outputs": 1, "error": None})
        spooled.put("b", {"name": "b"}, trace="t", session=SESSION)
        spooled.put("a", {"outputs": None, "error": "x"}, trace="t", session=ExternalId("session_id", "later"))
        spooled.put("c", {"name": "\ud83d", "big": 1 << 70})
        sessions = spooled.sessions()
        assert sessions == {SESSION: ["a", "b"], ExternalId("trace_id", "c"): ["c"]}
        assert merged_rows(spooled.rows(["a"])) == {"outputs": 1, "error": "x"}
        assert list(spooled.rows(["c"])) == [{"name": "\ud83d", "big": 1 << 70}]


def test_rows_of_several_keys_come_in_the_order_they_were_put() -> None:
    with spool() as spooled:
        for number in range(6):
            spooled.put(str(number % 2), {"number": number})
        assert [row["number"] for row in spooled.rows(["1", "0"])] == [*range(6)]


def test_rows_beyond_memory_come_back_from_the_disk() -> None:
    text = "x" * 100_000
    with spool() as spooled:
        count = SPOOL_BYTES // len(text) + 3
        for number in range(count):
            spooled.put(str(number), {"text": text, "number": number})
        keys = [key for session in spooled.sessions().values() for key in session]
        assert [next(spooled.rows([key]))["number"] for key in keys] == list(range(count))


def test_a_row_that_is_nested_too_deeply_is_refused() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    with spool() as spooled, pytest.raises(RecursionError):
        spooled.put("a", {"x": value})
