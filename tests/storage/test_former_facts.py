"""The facts of traces and turns that weaklink 0.2.0 packed come back as the values that it packed."""

import math
from typing import Any

from tests.test_trace_file import EXAMPLE
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Instant,
    InstantSource,
    ParentTrace,
    ParentWhy,
    Part,
    RecognisedBy,
    RecordedRun,
    RecordedState,
    ResultHeader,
    Role,
    RunState,
    SentMessage,
    SentPart,
    SentRequest,
    Trace,
    Turn,
    Usage,
)
from weaklink.inspector.model.exchange import compacted
from weaklink.storage.packing.former_records import with_request_of
from weaklink.storage.packing.records import pack_facts, trace_from, turn_facts, turn_from, unpack_facts
from weaklink.storage.packing.values import pack

# The facts of the example of a trace file as weaklink 0.2.0 packed them.
FORMER_TRACE: dict[str, Any] = {
    "name": "weather",
    "external_ids": [["x-session-id", "s1"]],
    "recognised_by": "record",
    "outcome": [True, None, math.inf],
}
FORMER_TURNS: list[dict[str, Any]] = [
    {"source_role": "human", "flags": ["injected"]},
    {
        "calls": [["call:0", "f", "c1"]],
        "generation": {
            "api": "chat.completions",
            "attempt": 1,
            "started": [1.5, "recorded"],
            "usage": {"input_tokens": [10], "output_tokens": [2]},
            "finish": "tool_calls",
            "body": "complete",
            "request": [0, 0, 1],
        },
    },
    {"result": ["c1", None, None], "run": ["span", "f", "c1", "{}", "50", False, None, [2.5, "recorded"]]},
    {
        "generation": {
            "attempt": 1,
            "body": "complete",
            "request": [
                2,
                1,
                [2, "assistant", [["call:0", " ", 5, 3]], "assistant", [["call:0", "f", "c1"]], None],
                3,
                [None, "tool", [["text", "6"]], "", [], ["c2", None, None]],
                [2, 0],
            ],
        },
    },
]
FORMER_RARE: dict[str, Any] = {
    "calls": [["call:0", None, None, True]],
    "result": ["", "f", True, [1, "timed-out", "exit"]],
    "run": ["otlp", "", None, None, [2, "-", 3], None, [1.0, "derived"], None, ["arguments"]],
    "generation": {
        "retry_of": [""],
        "finish_reason": [""],
        "usage": {"input_tokens": [0], "computed": True},
        "error": ["http", "busy", 503, None],
        "body": "truncated",
        "context_window": 8,
    },
}


def test_former_facts_of_a_trace_are_read() -> None:
    assert (
        trace_from(unpack_facts(pack(FORMER_TRACE)), {"source": "har", "file": "a.har"}, tuple(EXAMPLE.turns))
        == EXAMPLE
    )
    fork = trace_from(unpack_facts(pack({"recognised_by": "file", "parent": ["id", "", "fork"]})), {}, ())
    assert fork == Trace((), recognised_by=RecognisedBy.FILE, parent=ParentTrace(ExternalId("id", ""), ParentWhy.FORK))


def test_former_facts_of_turns_are_read() -> None:
    for turn, facts in zip(EXAMPLE.turns, FORMER_TURNS, strict=True):
        tools = turn.generation.tools if turn.generation else ()
        assert turn_from(turn.role.value, unpack_facts(pack(facts)), turn.parts, tools) == turn
    usage = Usage(0, computed=True)
    error = GenerationError(ErrorPhase.HTTP, "busy", 503)
    assert turn_from("tool", unpack_facts(pack(FORMER_RARE)), (Part("text", "ab cde"),), ()) == Turn(
        Role.TOOL,
        (Part("text", "ab cde"),),
        calls=(CallHeader("call:0", None, custom=True),),
        result=ResultHeader("", "f", True, RecordedState(1, RunState.TIMED_OUT, "exit")),
        run=RecordedRun(
            "otlp", "", result="ab-cde", started=Instant(1.0, InstantSource.DERIVED), own_form=("arguments",)
        ),
        generation=Generation(
            attempt=0,
            retry_of="",
            finish_reason="",
            usage=usage,
            error=error,
            body=BodyState.TRUNCATED,
            context_window=8,
        ),
    )


def test_former_facts_can_have_the_request_in_its_compact_form() -> None:
    before = Turn(Role.USER, (Part("text", "word " * 20),))
    sent = SentMessage(Role.USER, (SentPart("text", "word " * 20 + "!"),), 1)
    answer = Turn(Role.ASSISTANT, (), generation=Generation(request=SentRequest(messages=(sent,))))
    short = compacted(Trace((before, answer))).turns[1]
    whole, compact = (
        {"generation": {"attempt": 1, "body": "complete", "request": [0, 0, [1, "user", parts, "", [], None]]}}
        for parts in ([["text", "word " * 20 + "!"]], [["text", "!", 100, 0]])
    )
    assert turn_from("assistant", unpack_facts(pack(whole)), (), ()) == answer
    assert with_request_of(pack(whole), short) == pack(compact)
    assert turn_from("assistant", unpack_facts(pack(compact)), (), ()) == short
    today = pack_facts(turn_facts(answer))
    assert with_request_of(today, short) == today
