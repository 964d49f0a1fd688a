"""Results of a probe: one record per answer, as a line of JSON, and the counts of K2-Vendor-Verifier.

A record has the fields of the verifier's `results.jsonl` (`data_index`, `request`, `response`, `status`,
`finish_reason`, `tool_calls_valid`, `last_run_at`, `duration_ms`, `hash`; `tool_calls_eval.py` of
MoonshotAI/K2-Vendor-Verifier at 7e5a06e0), and `weaklink`, which has everything else. So either program reads the
other's files.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, structs

from weaklink.inspector.checks.json_schema import RejectedSchemaError, build, unsafe_part
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.json_text import list_of, object_of, objects_of, word_of, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.probe.answers import ProbeAnswer
from weaklink.inspector.probe.judging import JudgedAnswer, Owner, ProbeFinding, answer_fits
from weaklink.inspector.probe.promises import PROMISES
from weaklink.inspector.probe.suite import request_hash
from weaklink.inspector.text import Range

_MIN_STREAM_S = 0.05  # what comes at once has no speed


class ResultsError(WeaklinkError):
    """A file of results cannot be read; the message has the file and the line."""


class ProbeMode(StrEnum):
    """How an answer was requested."""

    WHOLE = "whole"
    STREAMED = "streamed"


class ProbeRecord(Struct, frozen=True, omit_defaults=False):
    """What is counted of one answer. None is what does not apply, or what a file of the verifier does not have.

    `wants_call`: the right answer has a call. `right`: the answer is right. `session` is the id of its trace in the
    database, `""` if it is not there.
    """

    number: int
    id: str
    family: str
    mode: ProbeMode
    hash: str
    model: str
    answered: bool
    finish_reason: str
    tool_calls_valid: bool | None
    refused: bool = False
    is_extension: bool = False
    wants_call: bool | None = None
    right: bool | None = None
    has_calls: bool | None = None
    has_tools: bool | None = None
    invalid_json: bool | None = None
    unknown_name: bool | None = None
    schema_mismatch: bool | None = None
    promises_kept: bool | None = None
    streamed_equals_whole: bool | None = None
    first_token_ms: float | None = None
    tokens_per_s: float | None = None
    findings: tuple[ProbeFinding, ...] = ()
    session: str = ""

    @property
    def key(self) -> tuple[int, ProbeMode]:
        """What two results of the same suite have in common for the same request."""
        return self.number, self.mode

    @property
    def calls(self) -> bool:
        """Whether the answer ended in calls, as the verifier counts it."""
        return self.finish_reason == "tool_calls"


def record_of(judged: JudgedAnswer, findings: Sequence[ProbeFinding], *, equal: bool | None = None) -> ProbeRecord:
    """The record of a judged answer; `equal`: the streamed answer equals the whole one."""
    request, answer = judged.request, judged.answer
    expected = request.expected
    has_expectation = expected.calls is not None or bool(expected.text) or expected.json_schema is not None
    is_answered = answer.is_answered
    errors = judged.errors if is_answered else None
    return ProbeRecord(
        number=request.number,
        id=request.id,
        family=request.family,
        mode=ProbeMode.STREAMED if answer.asked_stream else ProbeMode.WHOLE,
        hash=request_hash(answer.body),
        model=word_of(answer.body.get("model")),
        answered=is_answered,
        finish_reason=answer.finish_reason if is_answered else "",
        tool_calls_valid=tool_calls_valid(answer.response, answer.body) if is_answered else None,
        refused=answer.is_refused,
        is_extension=request.is_extension,
        wants_call=bool(expected.calls) if expected.calls is not None else None,
        right=answer_fits(expected, judged.calls, judged.content) if has_expectation and is_answered else None,
        has_calls=bool(judged.calls) if is_answered else None,
        has_tools=bool(list_of(answer.body.get("tools"))),
        invalid_json=errors.invalid_json if errors is not None else None,
        unknown_name=errors.unknown_name if errors is not None else None,
        schema_mismatch=errors.schema_mismatch if errors is not None else None,
        promises_kept=not any(finding.kind in PROMISES for finding in findings) if is_answered else None,
        streamed_equals_whole=equal,
        first_token_ms=None if answer.first_token_s is None or not is_answered else answer.first_token_s * 1000,
        tokens_per_s=_tokens_per_s(answer) if is_answered else None,
        findings=tuple(findings),
    )


def _tokens_per_s(answer: ProbeAnswer) -> float | None:
    """Tokens per second after the first, as the server counts tokens; None for a whole body, and for a short stream."""
    first_s, tokens = answer.first_token_s, answer.output_tokens
    if first_s is None or tokens is None or tokens < 2:
        return None
    took_s = answer.ended_s - answer.began_s - first_s
    return (tokens - 1) / took_s if took_s >= _MIN_STREAM_S else None


def tool_calls_valid(response: Mapping[str, Json], body: Mapping[str, Json]) -> bool | None:
    """Whether all calls of an answer that ended with `tool_calls` follow their schemas, as the verifier decides it."""
    choice = next(iter(objects_of(response.get("choices"))), {})
    if choice.get("finish_reason") != "tool_calls":
        return None
    schemas = {
        word_of(function.get("name")): function.get("parameters")
        for function in (object_of(tool.get("function")) for tool in reversed(objects_of(body.get("tools"))))
    }
    calls = objects_of(object_of(choice.get("message")).get("tool_calls"))
    return all(_is_valid_call(object_of(call.get("function")), schemas) for call in calls)


def _is_valid_call(function: Mapping[str, Json], schemas: Mapping[str, Json]) -> bool:
    schema, arguments = schemas.get(word_of(function.get("name"))), function.get("arguments")
    if not schema or unsafe_part(schema) is not None:
        return False
    try:
        value: Json = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return False
    try:
        return unsafe_part(value) is None and build(schema).is_valid(value)
    except RejectedSchemaError:
        return False


def result_line(record: ProbeRecord, answer: ProbeAnswer, run_at: datetime) -> str:
    """The record and its answer as a line of `results.jsonl`, without the line end."""
    no_completion = f"the answer is no chat completion: {answer.raw[:300].decode('utf-8', 'replace')}"
    response: Json = answer.response if answer.is_answered else {"error": answer.failure or no_completion}
    own = {
        "id": record.id,
        "family": record.family,
        "mode": record.mode.value,
        "refused": record.refused,
        "extension": record.is_extension,
        "wants_call": record.wants_call,
        "right": record.right,
        "has_calls": record.has_calls,
        "has_tools": record.has_tools,
        "invalid_json": record.invalid_json,
        "unknown_name": record.unknown_name,
        "schema_mismatch": record.schema_mismatch,
        "promises_kept": record.promises_kept,
        "streamed_equals_whole": record.streamed_equals_whole,
        "first_token_ms": _rounded(record.first_token_ms),
        "tokens_per_s": _rounded(record.tokens_per_s),
        "findings": [finding_json(finding) for finding in record.findings],
        "session": record.session or None,
    }
    return write_json(
        {
            "data_index": record.number,
            "request": answer.body,
            "response": response,
            "status": "success" if record.answered else "failed",
            "finish_reason": record.finish_reason or None,
            "tool_calls_valid": record.tool_calls_valid,
            "last_run_at": run_at.isoformat(),
            "duration_ms": round((answer.ended_s - answer.began_s) * 1000),
            "hash": record.hash,
            "weaklink": own,
        },
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def finding_json(finding: ProbeFinding) -> dict[str, Json]:
    """A finding as JSON; `start` and `end` are code points of the part's text."""
    return {
        "kind": finding.kind,
        "owner": finding.owner.value,
        "message": finding.message,
        "evidence": finding.evidence or None,
        "code": finding.code or None,
        "part": finding.part or None,
        "start": finding.range.start if finding.range is not None else None,
        "end": finding.range.end if finding.range is not None else None,
        "as_predicted": finding.as_predicted,
    }


def read_results(path: str | Path) -> list[ProbeRecord]:
    """The records of a results file, ours or the verifier's; of two with the same hash, the later one.

    ResultsError for a file or line that cannot be read. An incomplete last line, which an interrupt leaves, is ignored.
    """
    records: dict[str, ProbeRecord] = {}
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                break
            raise ResultsError(f"{path}, line {number}: not JSON ({error})") from error
        record = _record(object_of(value))
        if record is None:
            raise ResultsError(f"{path}, line {number}: not a result of a probe (no `data_index`, `request`, `status`)")
        records[record.hash] = record
    return list(records.values())


def _record(value: Mapping[str, Json]) -> ProbeRecord | None:
    number, request, status = value.get("data_index"), value.get("request"), value.get("status")
    if not isinstance(number, int) or not isinstance(request, dict) or status not in ("success", "failed"):
        return None
    own = object_of(value.get("weaklink"))
    valid = value.get("tool_calls_valid")
    is_streamed = own.get("mode") == ProbeMode.STREAMED.value or (not own and request.get("stream") is True)
    record = ProbeRecord(
        number=number,
        id=word_of(own.get("id")) or f"line-{number}",
        family=word_of(own.get("family")) or "file",
        mode=ProbeMode.STREAMED if is_streamed else ProbeMode.WHOLE,
        hash=word_of(value.get("hash")) or request_hash(request),
        model=word_of(request.get("model")),
        answered=status == "success",
        finish_reason=word_of(value.get("finish_reason")),
        tool_calls_valid=valid if isinstance(valid, bool) else None,
        has_tools=bool(list_of(request.get("tools"))),
        findings=tuple(_finding(finding) for finding in objects_of(own.get("findings"))),
        session=word_of(own.get("session")),
    )
    flags = {name: own.get(key) for name, key in _FLAGS.items()}
    numbers = {name: own.get(name) for name in ("first_token_ms", "tokens_per_s")}
    return structs.replace(
        record,
        **{name: flag for name, flag in flags.items() if isinstance(flag, bool)},
        **{name: float(number) for name, number in numbers.items() if isinstance(number, int | float)},
    )


_FLAGS = {
    **{
        name: name
        for name in (
            "refused",
            "wants_call",
            "right",
            "has_calls",
            "has_tools",
            "invalid_json",
            "unknown_name",
            "schema_mismatch",
            "promises_kept",
            "streamed_equals_whole",
        )
    },
    "is_extension": "extension",
}


def _finding(value: Mapping[str, Json]) -> ProbeFinding:
    start, end, as_predicted = value.get("start"), value.get("end"), value.get("as_predicted")
    text_range = Range(start, end) if isinstance(start, int) and isinstance(end, int) else None
    owner = word_of(value.get("owner"))
    return ProbeFinding(
        word_of(value.get("kind")),
        Owner(owner) if owner in tuple(Owner) else Owner.UNKNOWN,
        word_of(value.get("message")),
        word_of(value.get("evidence")),
        word_of(value.get("code")),
        word_of(value.get("part")),
        text_range,
        as_predicted if isinstance(as_predicted, bool) else None,
    )


def verifier_summary(records: Iterable[ProbeRecord], model: str) -> dict[str, Json]:
    """The counts of the verifier's `summary.json` (`compute_summary`)."""
    listed = list(records)
    reasons = [record.finish_reason for record in listed if record.finish_reason]
    others = [reason for reason in reasons if reason not in ("stop", "tool_calls")]
    valid = sum(record.calls and bool(record.tool_calls_valid) for record in listed)
    return {
        "model": model,
        "success_count": sum(record.answered for record in listed),
        "failure_count": sum(not record.answered for record in listed),
        "finish_stop": reasons.count("stop"),
        "finish_tool_calls": reasons.count("tool_calls"),
        "finish_others": len(others),
        "finish_others_detail": {reason: others.count(reason) for reason in dict.fromkeys(others)},
        "schema_validation_error_count": reasons.count("tool_calls") - valid,
        "successful_tool_call_count": valid,
    }
