"""Sessions in which a provider's own tools, searches for tools and programs call, as streams of events."""

import json
from typing import Any, TypeAlias

from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.sessions.exchange import Exchange, RequestHead
from weaklink.inspector.sessions.gathering import traces_of

Item: TypeAlias = dict[str, Any]

_START_S = 1_700_000_000.0
_SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
USER: Item = {"role": "user", "content": "Look at it."}


def responses_tool(name: str, **more: Any) -> Item:
    return {"type": "function", "name": name, "description": "", "parameters": _SCHEMA, **more}


def messages_tool(name: str, **more: Any) -> Item:
    return {"name": name, "description": "", "input_schema": _SCHEMA, **more}


def said(text: str) -> Item:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def called(name: str, call_id: str, **more: Any) -> Item:
    call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "status": "completed"}
    return {**call, "arguments": '{"q":"x"}', **more}


def returned(call_id: str, output: Any = "ok") -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def responses_session(rounds: list[tuple[list[Item], list[Item]]], tools: list[Item], *, stored: bool) -> list[Trace]:
    """The traces of rounds of an answer's items and what the client adds; `stored`: by `previous_response_id`."""
    exchanges: list[Exchange] = []
    items: list[Item] = [USER]
    for number, (answer, added) in enumerate(rounds):
        request: Item = {"model": "example-large", "stream": True, "input": list(items), "tools": tools}
        if stored and number:
            request["previous_response_id"] = f"resp_{number - 1}"
        exchanges.append(_exchange(number, "/v1/responses", request, _responses_events(f"resp_{number}", answer)))
        items = added if stored else [*items, *map(_as_sent_back, answer), *added]
    return _traces(exchanges)


def messages_session(rounds: list[tuple[list[Item], list[Item]]], tools: list[Item]) -> list[Trace]:
    """The traces of rounds of an answer's blocks and the user's message after it."""
    exchanges: list[Exchange] = []
    messages: list[Item] = [USER]
    for number, (answer, added) in enumerate(rounds):
        request = {"model": "example-large", "stream": True, "max_tokens": 9, "messages": [*messages], "tools": tools}
        exchanges.append(_exchange(number, "/v1/messages", request, _messages_events(f"msg_{number}", answer)))
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": added}]
    return _traces(exchanges)


def inspected(traces: list[Trace]) -> tuple[Trace, Inspection]:
    """The only trace of a session, and its inspection."""
    (trace,) = traces
    return trace, inspect_trace(trace)


def steps(inspection: Inspection) -> list[tuple[str | None, str]]:
    return [(step.call.name, step.outcome.value) for step in inspection.chain.steps]


def codes(inspection: Inspection) -> list[str]:
    return [diagnostic.rule.code for diagnostic in inspection.diagnostics]


def _as_sent_back(item: Item) -> Item:
    """An item as an SDK sends it back: without what only the server keeps."""
    return {key: value for key, value in item.items() if value is not None and key != "status"}


def _responses_events(id_: str, items: list[Item]) -> list[Item]:
    response = {"id": id_, "object": "response", "model": "example-large"}
    events: list[Item] = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
    for index, item in enumerate(items):
        begun = {**item, **({"status": "in_progress"} if "status" in item else {})}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        if item["type"] == "function_call":
            begun["arguments"] = ""
            piece = {"output_index": index, "item_id": item["id"], "delta": item["arguments"]}
            events.append({"type": "response.function_call_arguments.delta", **piece})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return [*events, {"type": "response.completed", "response": {**response, "status": "completed", "output": items}}]


def _messages_events(id_: str, blocks: list[Item]) -> list[Item]:
    message = {"id": id_, "type": "message", "role": "assistant", "model": "example-large", "content": []}
    events: list[Item] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(blocks):
        begun, delta = dict(block), None
        if "input" in block:
            begun["input"] = {}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        elif block["type"] == "text":
            begun["text"] = ""
            delta = {"type": "text_delta", "text": block["text"]}
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        if delta is not None:
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    return [*events, {"type": "message_delta", "delta": {"stop_reason": stop}}, {"type": "message_stop"}]


def _exchange(number: int, path: str, request: Item, events: list[Item]) -> Exchange:
    at_s = _START_S + 10 * number
    body = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
    head = RequestHead("POST", path, client="client", at_s=at_s)
    headers = (("Content-Type", "text/event-stream"),)
    return Exchange(head, json.dumps(request).encode(), 200, headers, ((at_s + 1, body),), ended_s=at_s + 2)


def _traces(exchanges: list[Exchange]) -> list[Trace]:
    return [record for record in traces_of(exchanges) if isinstance(record, Trace)]
