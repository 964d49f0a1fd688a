"""A summary that an agent made of a session is named, with the turns that it stands for and the values that it lost."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Role, Trace
from weaklink.inspector.rules.layers import HISTORY_COMPACTED

Record: TypeAlias = dict[str, Any]
ID = "bk-7741"
BOOKED = f'{{"booking": "{ID}", "berth": 12}}'
TIME = "2026-11-03T08:00:00.000Z"
SILENT, FULL = "The user booked berth 12.", f"The user booked berth 12 as {ID}."


def lines(*records: Record) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def pi(path: Path, summary: str) -> None:
    def entry(number: int, role: str, content: Sequence[Record], **more: object) -> Record:
        message = {"role": role, "content": content, **more}
        return {
            "type": "message",
            "id": f"e{number}",
            "parentId": f"e{number - 1}" if number > 1 else None,
            "message": message,
        }

    path.write_text(
        lines(
            {"type": "session", "id": "s", "cwd": "/harbour", "version": 3},
            entry(1, "user", [words("Book a berth.")]),
            entry(2, "assistant", [{"type": "toolCall", "id": "a", "name": "book", "arguments": {}}]),
            entry(3, "toolResult", [words(BOOKED)], toolCallId="a", toolName="book"),
            entry(4, "assistant", [words("Booked.")]),
            {
                "type": "compaction",
                "id": "e5",
                "parentId": "e4",
                "summary": summary,
                "tokensBefore": 9,
                "firstKeptEntryId": "e4",
            },
            entry(6, "user", [words("Cancel it.")]),
            entry(7, "assistant", [{"type": "toolCall", "id": "b", "name": "cancel", "arguments": {"booking": ID}}]),
            entry(8, "toolResult", [words("cancelled")], toolCallId="b", toolName="cancel"),
        )
    )


def words(text: str) -> Record:
    return {"type": "text", "text": text}


def claude_code(path: Path, summary: str) -> None:
    rows: list[Record] = []

    def row(kind: str, content: object, **more: object) -> None:
        number = len(rows)
        message: Record = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": f"m{number}", "type": "message", "model": "demo"}
        rows.append(
            {
                "type": kind,
                "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number else None,
                "sessionId": "s",
                "cwd": "/harbour",
                "version": "2.1",
                "timestamp": TIME,
                "message": message,
                "isSidechain": False,
                "userType": "external",
                **more,
            }
        )

    row("user", "Book a berth.")
    row("assistant", [{"type": "tool_use", "id": "a", "name": "book", "input": {}}])
    row("user", [{"type": "tool_result", "tool_use_id": "a", "content": BOOKED}])
    row("assistant", [words("Booked.")])
    row("user", summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    row("user", "Cancel it.")
    row("assistant", [{"type": "tool_use", "id": "b", "name": "cancel", "input": {"booking": ID}}])
    row("user", [{"type": "tool_result", "tool_use_id": "b", "content": "cancelled"}])
    path.write_text(lines(*rows))


def codex(path: Path, summary: str) -> None:
    def item(**payload: object) -> Record:
        return {"timestamp": TIME, "type": "response_item", "payload": payload}

    def said(role: str, text: str) -> Record:
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    path.write_text(
        lines(
            {"timestamp": TIME, "type": "session_meta", "payload": {"id": "s", "cwd": "/harbour", "timestamp": TIME}},
            said("user", "Book a berth."),
            item(type="function_call", name="book", arguments="{}", call_id="a"),
            item(type="function_call_output", call_id="a", output=BOOKED),
            said("assistant", "Booked."),
            {"timestamp": TIME, "type": "compacted", "payload": {"message": summary}},
            said("user", "Cancel it."),
            item(type="function_call", name="cancel", arguments=json.dumps({"booking": ID}), call_id="b"),
            item(type="function_call_output", call_id="b", output="cancelled"),
        )
    )


def copilot_cli(path: Path, summary: str) -> None:
    def event(kind: str, **data: object) -> Record:
        return {"type": kind, "data": data, "id": kind, "timestamp": TIME, "parentId": None}

    def call(id_: str, name: str, arguments: Record) -> Record:
        request = {"toolCallId": id_, "name": name, "arguments": arguments, "type": "function"}
        return event("assistant.message", messageId=id_, content="", toolRequests=[request])

    def result(id_: str, text: str) -> Record:
        return event("tool.execution_complete", toolCallId=id_, success=True, result={"content": text})

    path.write_text(
        lines(
            event("session.start", sessionId="s", version=1, copilotVersion="1.0.102", startTime=TIME),
            event("user.message", content="Book a berth."),
            call("a", "book", {}),
            result("a", BOOKED),
            event("assistant.message", messageId="m", content="Booked.", toolRequests=[]),
            event("session.compaction_complete", summaryContent=summary, success=True),
            event("user.message", content="Cancel it."),
            call("b", "cancel", {"booking": ID}),
            result("b", "cancelled"),
        )
    )


def droid(path: Path, summary: str) -> None:
    def message(role: str, *blocks: Record) -> Record:
        return {"type": "message", "id": role, "timestamp": TIME, "message": {"role": role, "content": list(blocks)}}

    path.write_text(
        lines(
            {"type": "session_start", "id": "s", "title": "Berth", "cwd": "/harbour"},
            message("user", words("Book a berth.")),
            message("assistant", {"type": "tool_use", "id": "a", "name": "book", "input": {}}),
            message("user", {"type": "tool_result", "tool_use_id": "a", "content": BOOKED}),
            message("assistant", words("Booked.")),
            {"type": "compaction_state", "id": "c", "summary": summary},
            message("user", words("Cancel it.")),
            message("assistant", {"type": "tool_use", "id": "b", "name": "cancel", "input": {"booking": ID}}),
            message("user", {"type": "tool_result", "tool_use_id": "b", "content": "cancelled"}),
        )
    )


def gemini_messages() -> list[Record]:
    def call(id_: str, name: str, arguments: Record, output: str) -> Record:
        response = {"functionResponse": {"id": id_, "name": name, "response": {"output": output}}}
        return {
            "id": id_,
            "name": name,
            "args": arguments,
            "status": "success",
            "timestamp": TIME,
            "result": [response],
        }

    def message(id_: str, kind: str, text: str, *calls: Record) -> Record:
        more = {"toolCalls": list(calls), "model": "demo"} if kind == "gemini" else {}
        return {"id": id_, "timestamp": TIME, "type": kind, "content": text, **more}

    return [
        message("m1", "user", "Book a berth."),
        message("m2", "gemini", "", call("a", "book", {}, BOOKED)),
        message("m3", "gemini", "Booked."),
        message("m4", "user", "Cancel it."),
        message("m5", "gemini", "", call("b", "cancel", {"booking": ID}, "cancelled")),
    ]


def gemini_cli(path: Path, summary: str) -> None:
    listed = gemini_messages()
    new = {"id": "n1", "timestamp": TIME, "type": "user", "content": summary}
    path.write_text(
        lines(
            {"sessionId": "s", "projectHash": "p", "startTime": TIME, "lastUpdated": TIME},
            *listed[:3],
            {"$set": {"messages": [new, listed[2]]}},
            *listed[3:],
        )
    )


def qwen_code(path: Path, summary: str) -> None:
    rows: list[Record] = []

    def row(kind: str, *parts: Record, **more: object) -> None:
        number = len(rows)
        message = (
            {"message": {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}} if parts else {}
        )
        named = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s"}
        rows.append({**named, "timestamp": TIME, "type": kind, "cwd": "/harbour", "version": "0.24", **message, **more})

    def result(id_: str, name: str, output: str) -> Record:
        return {"functionResponse": {"id": id_, "name": name, "response": {"output": output}}}

    row("user", {"text": "Book a berth."})
    row("assistant", {"functionCall": {"id": "a", "name": "book", "args": {}}}, model="demo")
    row("tool_result", result("a", "book", BOOKED))
    row("assistant", {"text": "Booked."}, model="demo")
    history = [
        {"role": "user", "parts": [{"text": summary}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "model", "parts": [{"text": "Booked."}]},
    ]
    row("system", subtype="chat_compression", systemPayload={"info": {}, "compressedHistory": history})
    row("user", {"text": "Cancel it."})
    row("assistant", {"functionCall": {"id": "b", "name": "cancel", "args": {"booking": ID}}}, model="demo")
    row("tool_result", result("b", "cancel", "cancelled"))
    path.write_text(lines(*rows))


def roo_code(path: Path, summary: str) -> None:
    def message(role: str, *blocks: Record, **more: object) -> Record:
        return {"role": role, "content": list(blocks), "ts": 1_795_000_000_000, **more}

    path.write_text(
        json.dumps(
            [
                message("user", words("<task>\nBook a berth.\n</task>"), condenseParent="c"),
                message("assistant", {"type": "tool_use", "id": "a", "name": "book", "input": {}}, condenseParent="c"),
                message("user", {"type": "tool_result", "tool_use_id": "a", "content": BOOKED}, condenseParent="c"),
                message("assistant", words("Booked.")),
                message("user", words(summary), isSummary=True, condenseId="c"),
                message("user", words("<feedback>\nCancel it.\n</feedback>")),
                message("assistant", {"type": "tool_use", "id": "b", "name": "cancel", "input": {"booking": ID}}),
                message("user", {"type": "tool_result", "tool_use_id": "b", "content": "cancelled"}),
            ]
        )
    )


def database(path: Path, case: str, clear: Sequence[str], *inserts: tuple[str, Record]) -> None:
    """A database with the tables of a case, and these rows."""
    with closing(sqlite3.connect(CASES / case)) as known, closing(sqlite3.connect(path)) as made:
        known.backup(made)
        for table in clear:
            made.execute(f"DELETE FROM {table}")
        for table, row in inserts:
            values = [json.dumps(value) if isinstance(value, dict | list) else value for value in row.values()]
            columns = ", ".join(row)
            made.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(values))})", values)
        made.commit()


CASES = Path(__file__).parents[1] / "cases" / "importers"


def openclaw(path: Path, summary: str) -> None:
    pi(path, summary)
    events = path.read_text().splitlines()
    path.unlink()
    rows = [
        ("transcript_events", {"session_id": "s", "seq": number, "event_json": event, "created_at": number})
        for number, event in enumerate(events)
    ]
    database(path, "openclaw/agent.sqlite", ["transcript_events", "trajectory_runtime_events"], *rows)


def goose(path: Path, summary: str) -> None:
    session = {"id": "s", "name": "Berth", "working_dir": "/harbour", "created_at": TIME, "model_config_json": {}}
    hidden, shown, internal = ({"userVisible": user, "agentVisible": agent} for user, agent in ((1, 0), (1, 1), (0, 1)))

    def request(id_: str, name: str, arguments: Record) -> Record:
        value = {"name": name, "arguments": arguments}
        return {"type": "toolRequest", "id": id_, "toolCall": {"status": "success", "value": value}}

    def response(id_: str, text: str) -> Record:
        return {"type": "toolResponse", "id": id_, "toolResult": {"status": "success", "value": [words(text)]}}

    messages = [
        ("user", words("Book a berth."), hidden),
        ("assistant", request("a", "book", {}), hidden),
        ("user", response("a", BOOKED), hidden),
        ("assistant", words("Booked."), hidden),
        ("user", words(summary), internal),
        ("user", words("Cancel it."), shown),
        ("assistant", request("b", "cancel", {"booking": ID}), shown),
        ("user", response("b", "cancelled"), shown),
    ]
    rows = [
        (
            "messages",
            {
                "id": number,
                "session_id": "s",
                "role": role,
                "content_json": [block],
                "metadata_json": {key: bool(value) for key, value in visible.items()},
            },
        )
        for number, (role, block, visible) in enumerate(messages)
    ]
    database(path, "goose/sessions.db", ["sessions", "messages"], ("sessions", session), *rows)


def crush(path: Path, summary: str) -> None:
    def call(id_: str, name: str, arguments: str) -> Record:
        return {"type": "tool_call", "data": {"id": id_, "name": name, "input": arguments, "finished": True}}

    def result(id_: str, text: str) -> Record:
        return {"type": "tool_result", "data": {"tool_call_id": id_, "content": text}}

    def said(text: str) -> Record:
        return {"type": "text", "data": {"text": text}}

    messages = [
        ("user", said("Book a berth."), 0),
        ("assistant", call("a", "book", "{}"), 0),
        ("tool", result("a", BOOKED), 0),
        ("assistant", said("Booked."), 0),
        ("assistant", said(summary), 1),
        ("user", said("Cancel it."), 0),
        ("assistant", call("b", "cancel", json.dumps({"booking": ID})), 0),
        ("tool", result("b", "cancelled"), 0),
    ]
    rows = [
        (
            "messages",
            {
                "id": f"m{number}",
                "session_id": "s",
                "role": role,
                "parts": [part],
                "created_at": number,
                "is_summary_message": is_summary,
            },
        )
        for number, (role, part, is_summary) in enumerate(messages, 1)
    ]
    database(path, "crush/crush.db", ["sessions", "messages"], ("sessions", {"id": "s", "created_at": 1}), *rows)


def opencode(path: Path, summary: str) -> None:
    def tool(id_: str, name: str, arguments: Record, output: str) -> Record:
        state = {"status": "completed", "input": arguments, "output": output}
        return {"type": "tool", "callID": id_, "tool": name, "state": state}

    messages: list[tuple[Record, Record]] = [
        ({"role": "user"}, words("Book a berth.")),
        ({"role": "assistant", "finish": "tool-calls"}, tool("a", "book", {}, BOOKED)),
        ({"role": "assistant", "finish": "stop"}, words("Booked.")),
        ({"role": "user"}, {"type": "compaction", "auto": True}),
        ({"role": "assistant", "finish": "stop", "summary": True}, words(summary)),
        ({"role": "user"}, words("Cancel it.")),
        ({"role": "assistant", "finish": "tool-calls"}, tool("b", "cancel", {"booking": ID}, "cancelled")),
    ]
    rows: list[tuple[str, Record]] = []
    for number, (message, part) in enumerate(messages):
        named = {"id": f"msg_{number}", "session_id": "ses_s"}
        rows.append(("message", {**named, "data": message}))
        rows.append(("part", {"id": f"prt_{number}", "message_id": named["id"], "session_id": "ses_s", "data": part}))
    session = {"id": "ses_s", "title": "Berth", "version": "1.18.33", "time_created": 1_795_000_000_000}
    database(path, "opencode/sessions.db", ["session", "message", "part"], ("session", session), *rows)


SOURCES: dict[str, tuple[Callable[[Path, str], None], int]] = {
    "pi": (pi, 3),
    "openclaw": (openclaw, 3),
    "claude-code": (claude_code, 4),
    "codex": (codex, 4),
    "copilot-cli": (copilot_cli, 4),
    "droid": (droid, 4),
    "gemini-cli": (gemini_cli, 3),
    "qwen-code": (qwen_code, 3),
    "cline": (roo_code, 3),
    "goose": (goose, 4),
    "crush": (crush, 4),
    "opencode": (opencode, 4),
}
"""The sources whose logs have summaries: what writes one, and how many turns it stands for."""


def trace_with(source: str, summary: str, folder: Path) -> Trace:
    path = folder / "log"
    SOURCES[source][0](path, summary)
    (trace,) = read_source(path).records
    assert isinstance(trace, Trace), trace
    assert trace.provenance.source == source
    return trace


def compacted(trace: Trace) -> Diagnostic:
    (diagnostic,) = [one for one in inspect_trace(trace).diagnostics if one.fault.rule is HISTORY_COMPACTED]
    return diagnostic


@pytest.mark.parametrize("source", SOURCES)
def test_a_summary_names_what_it_stands_for_and_what_it_lost(source: str, tmp_path: Path) -> None:
    trace = trace_with(source, SILENT, tmp_path)
    count = SOURCES[source][1]
    assert [turn.summarises for turn in trace.turns if turn.summarises] == [count]
    number = next(number for number, turn in enumerate(trace.turns, 1) if turn.summarises)
    called = next(
        number for number, turn in enumerate(trace.turns, 1) if [call.name for call in turn.calls] == ["cancel"]
    )
    result = next(number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.TOOL)
    diagnostic = compacted(trace)
    assert (diagnostic.location.turn, diagnostic.location.part) == (number, "text")
    assert trace.turns[number - 1].parts[0].text == SILENT
    assert diagnostic.fault.message == (
        f"The model reads this summary in place of turns 1 to {count} (compacted); it lacks `{ID}` of turn {result}, "
        f"which the call of turn {called} has."
    )
    assert diagnostic.fault.against is not None
    assert diagnostic.fault.against.turn == result


@pytest.mark.parametrize("source", SOURCES)
def test_a_summary_with_the_value_lost_nothing(source: str, tmp_path: Path) -> None:
    diagnostic = compacted(trace_with(source, FULL, tmp_path))
    count = SOURCES[source][1]
    assert diagnostic.fault.message == f"The model reads this summary in place of turns 1 to {count} (compacted)."
    assert diagnostic.fault.against is not None
    assert diagnostic.fault.against.turn == 1


def test_a_rewound_chat_of_gemini_is_no_summary(tmp_path: Path) -> None:
    path = tmp_path / "log"
    listed = gemini_messages()
    head = {"sessionId": "s", "projectHash": "p", "startTime": TIME, "lastUpdated": TIME}
    path.write_text(lines(head, *listed, {"$set": {"messages": listed[:3]}}))
    (trace,) = read_source(path).records
    assert isinstance(trace, Trace)
    assert len(trace.turns) == 4
    assert not any(turn.summarises for turn in trace.turns)


def test_a_summary_that_kimi_does_not_store_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def wire(kind: str, **payload: object) -> Record:
        return {"timestamp": 1_795_000_000.0, "message": {"type": kind, "payload": payload}}

    path.write_text(
        lines(
            {"type": "metadata", "protocol_version": "1.10"},
            wire("TurnBegin", user_input="Book a berth."),
            wire("StepBegin", n=1),
            wire("ContentPart", type="text", text="Booked."),
            wire("CompactionBegin"),
            wire("CompactionEnd"),
            wire("TurnEnd"),
        )
    )
    (trace,) = read_source(path).records
    assert isinstance(trace, Trace)
    assert any("a summary, which is not in this file" in note for note in trace.provenance.warnings)
