"""Transcripts of exchanges as cases write them, and traces as goldens have them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from weaklink.inspector.model import Generation, Trace, Turn
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, RequestHead
from weaklink.inspector.sessions.gathering import SkippedExchange

EPOCH_S = 1_700_000_000.0


def read_case(path: Path) -> list[Exchange]:
    """The exchanges of a case; those without a time follow each other by three seconds, and each takes one."""
    written = json.loads(path.read_text(encoding="utf-8"))["exchanges"]
    return [exchange(written_exchange, number) for number, written_exchange in enumerate(written)]


def exchange(written: dict[str, Any], number: int) -> Exchange:
    """`answer` is a JSON value, a text, or a list of texts that came one after the other; null was not stored."""
    at_s = EPOCH_S + written.get("at", 3 * number)
    took_s = written.get("took", 1)
    answer = written.get("answer", "")
    pieces = None
    if answer is not None:
        texts = answer if isinstance(answer, list) else [answer if isinstance(answer, str) else json.dumps(answer)]
        step_s = took_s / (len(texts) + 1)
        pieces = tuple((at_s + step_s * (n + 1), text.encode()) for n, text in enumerate(texts))
    headers = {"Content-Type": "application/json", **written.get("headers", {})}
    request = written["request"]
    return Exchange(
        RequestHead("POST", written["path"], tuple(headers.items()), client=written.get("client", ""), at_s=at_s),
        None if request == "not stored" else b"" if request is None else json.dumps(request).encode(),
        written.get("status", 200),
        (("content-type", written.get("type", "application/json")),),
        pieces,
        ExchangeEnd(written.get("end", "complete")),
        at_s + took_s,
        written.get("message", ""),
    )


def plain(gathered: Iterable[Trace | SkippedExchange]) -> list[Any]:
    """Traces as JSON values; a trace's own id is its number among them."""
    records = list(gathered)
    numbers = {
        trace.external_ids[0].value: f"trace {n}"
        for n, trace in enumerate((r for r in records if isinstance(r, Trace)), 1)
    }
    return [
        f"{record.record}: {record.reason}" if isinstance(record, SkippedExchange) else _trace(record, numbers)
        for record in records
    ]


def _trace(trace: Trace, numbers: dict[str, str]) -> dict[str, Any]:
    own = trace.external_ids[0]
    facts: dict[str, Any] = {"trace": numbers[own.value], "own_id": own.name, "recognised_by": trace.recognised_by}
    facts["ids"] = {external_id.name: external_id.value for external_id in trace.external_ids[1:]}
    facts["parent"] = trace.parent and [numbers[trace.parent.external_id.value], trace.parent.why.value]
    facts["record"], facts["warnings"] = trace.provenance.record, list(trace.provenance.warnings)
    facts["turns"] = [_turn(turn, numbers) for turn in trace.turns]
    return facts


def _turn(turn: Turn, numbers: dict[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {turn.role.value: {part.name: part.text for part in turn.parts}}
    if turn.calls:
        said["calls"] = [[call.part, call.name, call.id] for call in turn.calls]
    if turn.result:
        said["answers"] = turn.result.call_id
    if turn.flags:
        said["flags"] = sorted(flag.value for flag in turn.flags)
    if turn.generation:
        said["generation"] = _generation(turn.generation, numbers)
    return said


def _generation(generation: Generation, numbers: dict[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {"model": generation.requested_model, "api": generation.api}
    for name, instant in (
        ("started", generation.started),
        ("first_token", generation.first_token),
        ("ended", generation.ended),
    ):
        facts[name] = instant and round(instant.at_s - EPOCH_S, 3)
    facts["finish"], facts["body"] = generation.finish, generation.body.value
    if generation.attempt > 1:
        own, _, number = (generation.retry_of or "").partition("/")
        facts["attempt"], facts["retry_of"] = generation.attempt, f"{numbers[own]}, turn {number}"
    if generation.error:
        error = generation.error
        facts["error"] = [error.phase.value, error.status, error.message]
    return facts
