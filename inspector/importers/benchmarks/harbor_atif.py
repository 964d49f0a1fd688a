"""Harbor's agent trajectories (ATIF 1.4 to 1.8): one JSON document per trajectory, of any agent that Harbor runs.

A step is a message of the system, the user or the agent; an agent's step includes the results of its calls. Steps that
a continuation or a sub-agent takes from another trajectory are marked `is_copied_context`. Terminus, Harbor's own
agent, may write its commands as JSON in the message: each becomes a call whose part is the exact text of the command's
object.
"""

from collections import deque
from collections.abc import Iterator

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import call_objects, calls_in, message_object, read_message, read_tools
from weaklink.inspector.importers.generations import stored_generation, usage_of
from weaklink.inspector.importers.identity import instant, place_of, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_scanner import JsonKind, read_json
from weaklink.inspector.json_text import compact_json, object_of, objects_of
from weaklink.inspector.scanning import lazy_pattern

_NOT_STORED = "the source stores the arguments of calls parsed, without their original text, and does not store chunks"
_NO_TEXTS = "the token ids of answers are left out: the source does not store the text of each id"
_SEVERAL = "a step covers several requests, which count as one"
_TERMINUS = "commands in the text of answers are shown as calls of `bash_command`, as Harbor names them"
_CONTINUED = lazy_pattern(r"(?P<base>.+)-cont-(?P<number>\d+)")
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_COPIED = frozenset({model.TurnFlag.COPIED_CONTEXT})
_SYNTHETIC = frozenset({model.TurnFlag.SYNTHETIC})


def _trace(
    value: JsonObject, record: str, unnamed: list[model.ExternalId], seen: set[tuple[model.ExternalId, ...]]
) -> model.Trace | Skipped:
    """A trajectory at `record`, a place in a row; `unnamed` are its ids if it names none."""
    steps = objects_of(value.get("steps"))
    if not steps:
        return Skipped(record, "the trajectory has no list `steps` with steps in it")
    agent = object_of(value.get("agent"))
    tools = read_tools(agent.get("tool_definitions"))
    warnings = {_NOT_STORED: None}
    turns = [turn for step in steps for turn in _turns(step, text_of(agent, "model_name"), tools, warnings)]
    ids = _ids(value, steps, unnamed)
    while ids in seen:
        ids = (*ids, model.ExternalId("record", f"{record} {len(ids)}"))
    seen.add(ids)
    return model.Trace(
        turns=tuple(turns),
        name=text_of(agent, "name"),
        model=text_of(agent, "model_name"),
        started=next((at for step in steps if (at := instant(step.get("timestamp")))), None),
        external_ids=ids,
        recognised_by=model.RecognisedBy.FIELD if text_of(value, "session_id") else model.RecognisedBy.FILE,
        parent=_parent(value, agent),
        provenance=model.Provenance(
            source_version=text_of(value, "schema_version").removeprefix("ATIF-v"),
            record=record,
            warnings=tuple(warnings),
        ),
    )


def _ids(value: JsonObject, steps: list[JsonObject], unnamed: list[model.ExternalId]) -> tuple[model.ExternalId, ...]:
    """The session's and the trajectory's ids; after copied steps, also the id of the first step that is not copied."""
    named = [
        model.ExternalId(key, text_of(value, key)) for key in ("session_id", "trajectory_id") if text_of(value, key)
    ]
    first_own = next((step for step in steps if step.get("is_copied_context") is not True), steps[0])
    later = [model.ExternalId("step_id", str(first_own.get("step_id")))] if first_own is not steps[0] else []
    return (*(named or unnamed), *later)


def _parent(value: JsonObject, agent: JsonObject) -> model.ParentTrace | None:
    parent_id = text_at(agent, "extra.parent_session_id")
    if parent_id:
        return model.ParentTrace(model.ExternalId("session_id", parent_id), model.ParentWhy.SUBAGENT)
    continued = _CONTINUED.fullmatch(text_of(value, "session_id"))
    if continued is None:
        return None
    number = int(continued["number"][:9])
    previous = f"{continued['base']}-cont-{number - 1}" if number > 1 else continued["base"]
    return model.ParentTrace(model.ExternalId("session_id", previous), model.ParentWhy.RESUME)


def _turns(
    step: JsonObject, model_name: str, tools: tuple[model.ToolDefinition, ...], warnings: dict[str, None]
) -> Iterator[model.Turn]:
    copied = _COPIED if step.get("is_copied_context") is True else frozenset()
    source = text_of(step, "source")
    turn = _message_turn(step, _ROLES.get(source, "user"))
    if turn.role is not model.Role.ASSISTANT:
        yield structs.replace(turn, source_role=source, flags=copied)
    elif step.get("llm_call_count") == 0:
        yield structs.replace(turn, source_role=source, flags=copied | _SYNTHETIC)
    else:
        turn = _with_commands(turn, warnings)
        generation = _generation(step, model_name, tools, warnings)
        yield structs.replace(turn, source_role=source, flags=copied, generation=generation)
    for result in objects_of(object_of(step.get("observation")).get("results")):
        yield structs.replace(_result(result), flags=copied)


def _message_turn(step: JsonObject, role: str) -> model.Turn:
    calls = call_objects(calls_in(step), name="function_name", call_id="tool_call_id")
    thoughts = step.get("reasoning_content")
    return read_message(message_object(role, step.get("message"), reasoning_content=thoughts, calls=calls))


def _result(result: JsonObject) -> model.Turn:
    """A result; a reference to the sub-agent that returned it is kept as another part."""
    read = read_message(
        {"role": "tool", "content": result.get("content", ""), "tool_call_id": result.get("source_call_id")}
    )
    reference = result.get("subagent_trajectory_ref")
    part = [model.Part("content:subagent_trajectory_ref", compact_json(reference))] if reference else []
    return structs.replace(read, parts=(*read.parts, *part), source_role="observation")


def _with_commands(turn: model.Turn, warnings: dict[str, None]) -> model.Turn:
    """An answer with a call for each command in Terminus's JSON; one call for all if the JSON is broken."""
    text = turn.part("text")
    if turn.calls or text is None or not text.text.lstrip().startswith("{") or '"commands"' not in text.text:
        return turn
    reading = read_json(text.text)
    texts = [text.text]
    if reading.strict:
        listed = reading.nodes[0].member("commands")
        items = listed.value.items if listed and listed.value.kind is JsonKind.ARRAY else ()
        texts = [node.range.of(text.text) for node in items if node.member("keystrokes")]
    parts = tuple(model.Part(f"call:{index}", command) for index, command in enumerate(texts))
    if parts:
        warnings[_TERMINUS] = None
    return structs.replace(
        turn, parts=(*turn.parts, *parts), calls=tuple(model.CallHeader(part.name, "bash_command") for part in parts)
    )


def _generation(
    step: JsonObject, model_name: str, tools: tuple[model.ToolDefinition, ...], warnings: dict[str, None]
) -> model.Generation:
    metrics = object_of(step.get("metrics"))
    if metrics.get("completion_token_ids"):
        warnings[_NO_TEXTS] = None
    count = step.get("llm_call_count")
    if isinstance(count, int) and count > 1:
        warnings[_SEVERAL] = None
    return stored_generation(
        requested_model=model_name,
        answered_model=text_of(step, "model_name"),
        tools=tools,
        ended=step.get("timestamp"),
        usage=usage_of(metrics, "prompt_tokens", "completion_tokens", cached="cached_tokens"),
    )


def _trajectories(file: SourceFile) -> Iterator[model.Trace | Skipped]:
    """The trajectory of each document, then those of its sub-agents; one without steps is skipped."""
    seen: set[tuple[model.ExternalId, ...]] = set()
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
            continue
        pending: deque[tuple[JsonObject, str, model.ParentTrace | None]] = deque([(row.value, row.record, None)])
        while pending:
            value, record, parent = pending.popleft()
            unnamed = [place_of(file.path), model.ExternalId("sha256", row.digest)]
            trace = _trace(value, record, unnamed, seen)
            yield structs.replace(trace, parent=trace.parent or parent) if isinstance(trace, model.Trace) else trace
            if isinstance(trace, model.Trace):
                parent_trace = model.ParentTrace(trace.external_ids[0], model.ParentWhy.SUBAGENT)
                embedded = objects_of(value.get("subagent_trajectories"))
                pending += ((one, f"{record}, sub-agent {at}", parent_trace) for at, one in enumerate(embedded, 1))


HARBOR_ATIF = LogSource(
    name="harbor-atif",
    signs="a `schema_version` that begins with `ATIF-v`",
    is_row=lambda row: text_of(row, "schema_version").startswith("ATIF-v"),
    confidence=1.0,
    reader=_trajectories,
)
"""One trace per trajectory, and one for each that is embedded in it."""
