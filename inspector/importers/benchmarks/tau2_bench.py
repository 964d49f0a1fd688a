"""Results of tau2-bench: one trace per simulation, and one of its simulated user if that calls tools too.

A file is one document `{"info": {...}, "tasks": [...], "simulations": [...]}`, read whole up to 64 MiB, or one
simulation (tau2-bench, `data_model/simulation.py`). `raw_data` of a generated message contains the provider's own
answer.
"""

from collections.abc import Iterator

from msgspec import Struct, structs

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import (
    CALLS,
    argument_texts,
    calls_in,
    message_object,
    read_message,
    read_tools,
)
from weaklink.inspector.importers.agents.record_maps import words_at
from weaklink.inspector.importers.generations import stored_generation, usage_of
from weaklink.inspector.importers.identity import instant, reward_of, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource, traces_in_each_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import compact_json, member_at, object_of, objects_of
from weaklink.inspector.scanning import lazy_pattern

_RESULTS = lazy_pattern(r'\s*\{\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"info"\s*:\s*\{\s*"git_commit"')
_SIMULATION = frozenset({"task_id", "start_time", "termination_reason"})
_ENDED = frozenset({"user_stop", "agent_stop"})
_NO_CHUNKS = "the source does not store chunks"
_POLICY = "the system prompt is not stored: the domain's policy, which is part of it, is used instead"
_ALONE = "the simulation was read without the run's `results.json`, which contains its model, tools and policy"
_NO_TOOLS = "the run does not store the tools"
_REWRITTEN = "the arguments of calls are stored parsed; their original text is lost"
_USER = "tool use of the simulated user is a child trace"
_NO_USER_TOOLS = "the simulated user's prompt and tools are not stored"
_SYNTHETIC = frozenset({model.TurnFlag.SYNTHETIC})
_ROLES = {role.value: role for role in model.Role}


def _simulations(row: Row) -> Iterator[model.Trace | Skipped]:
    listed = row.value.get("simulations")
    if _is_simulation(row.value):
        yield from _traces(row.value, _Run(row.value, is_alone=True), row.record)
    elif not isinstance(listed, list) or not listed:
        yield Skipped(row.record, "the run has no list `simulations` with simulations in it")
    else:
        run = _Run(object_of(row.value.get("info")))
        for number, one in enumerate(listed, 1):
            record = f"{row.record}, simulation {number}"
            if isinstance(one, dict):
                yield from _traces(one, run, record)
            else:
                yield Skipped(record, "the simulation is not an object")


def _is_run(row: JsonObject) -> bool:
    return isinstance(row.get("simulations"), list) and "tasks" in row and isinstance(row.get("info"), dict)


def _is_simulation(row: JsonObject) -> bool:
    return row.keys() >= _SIMULATION and bool({"messages", "ticks"} & row.keys())


class _Run:
    """The facts of a run about all its simulations."""

    def __init__(self, info: JsonObject, *, is_alone: bool = False) -> None:
        environment, agent, user = (object_of(info.get(f"{key}_info")) for key in ("environment", "agent", "user"))
        self.is_alone = is_alone
        self.domain = text_of(environment, "domain_name")
        self.policy = text_of(environment, "policy")
        tools = environment.get("tool_defs")
        self.tools = read_tools(list(tools.values()) if isinstance(tools, dict) else tools)
        self.agent = _Side(model.Role.ASSISTANT, agent, self.tools)
        self.user = _Side(model.Role.USER, user, ())


class _Side:
    """One of the two sides of a conversation: its role in the messages, and the facts about its model."""

    def __init__(self, role: model.Role, info: JsonObject, tools: tuple[model.ToolDefinition, ...]) -> None:
        self.role = role
        self.model = text_of(info, "llm")
        settings = info.get("llm_args")
        self.parameters = compact_json(settings) if isinstance(settings, dict) and settings else ""
        self.tools = tools


class _Message(Struct, frozen=True):
    """A message of the simulation with its sender's role, and for a result the role that made the call."""

    value: JsonObject
    role: model.Role
    requestor: model.Role


def _traces(simulation: JsonObject, run: _Run, record: str) -> Iterator[model.Trace | Skipped]:
    messages = tuple(_messages(simulation))
    if not messages:
        spoken = ": it is a speech simulation, timed in `ticks`" if simulation.get("ticks") else ""
        yield Skipped(record, f"the simulation has no messages{spoken}")
        return
    trial = simulation.get("trial")
    simulation_id = model.ExternalId("id", text_of(simulation, "id") or f"{simulation.get('task_id')}/{trial}/{record}")
    name = f"{run.domain} task {simulation.get('task_id')}".strip()
    if isinstance(trial, int):
        name += f", trial {trial}"
    turns = tuple(_turns(messages, run.agent))
    policy = (
        [model.Turn(model.Role.SYSTEM, (model.Part("text", run.policy),), "policy", flags=_SYNTHETIC)]
        if run.policy
        else []
    )
    user_has_calls = any(message.role is model.Role.USER and message.value.get(CALLS) for message in messages)
    trace = model.Trace(
        turns=(*policy, *turns),
        name=name,
        model=run.agent.model,
        started=instant(simulation.get("start_time")),
        external_ids=(simulation_id,),
        recognised_by=model.RecognisedBy.FIELD,
        outcome=_simulation_outcome(simulation),
        provenance=model.Provenance(
            record=record,
            warnings=(
                _NO_CHUNKS,
                *([_POLICY] if policy else []),
                *([_ALONE] if run.is_alone else [] if run.tools else [_NO_TOOLS]),
                *([_REWRITTEN] if _are_rewritten(messages, model.Role.ASSISTANT) else []),
                *([_USER] if user_has_calls else []),
            ),
        ),
    )
    yield trace
    if user_has_calls:
        rewritten = [_REWRITTEN] if _are_rewritten(messages, model.Role.USER) else []
        yield structs.replace(
            trace,
            turns=tuple(_turns(messages, run.user)),
            name=f"{name}, user",
            model=run.user.model,
            external_ids=(model.ExternalId("user", simulation_id.value),),
            outcome=None,
            parent=model.ParentTrace(simulation_id, model.ParentWhy.SUBAGENT),
            provenance=model.Provenance(record=f"{record}, user", warnings=(_NO_CHUNKS, _NO_USER_TOOLS, *rewritten)),
        )


def _messages(simulation: JsonObject) -> Iterator[_Message]:
    """The messages in order; grouped tool messages one by one."""
    for outer in objects_of(simulation.get("messages")):
        for value in objects_of(outer.get("tool_messages")) or [outer]:
            role = _ROLES.get(text_of(value, "role"), model.Role.USER)
            yield _Message(value, role, model.Role.USER if value.get("requestor") == "user" else model.Role.ASSISTANT)


def _turns(messages: tuple[_Message, ...], side: _Side) -> Iterator[model.Turn]:
    """The conversation as one side saw it: its own calls and results, and the other side's messages."""
    for index, message in enumerate(messages):
        value = message.value
        if message.role is model.Role.TOOL:
            if message.requestor is side.role:
                yield _result(value)
        elif message.role is side.role:
            is_greeting = index == 0 and not any(value.get(key) for key in ("usage", "raw_data", CALLS))
            yield _greeting(value) if is_greeting else _answer(value, side)
        elif not value.get(CALLS):
            role = "system" if message.role is model.Role.SYSTEM else "user"
            yield structs.replace(
                read_message({"role": role, "content": value.get("content")}), source_role=message.role.value
            )


def _result(value: JsonObject) -> model.Turn:
    return read_message(
        {
            "role": "tool",
            "content": value.get("content") or "",
            "tool_call_id": value.get("id"),
            "is_error": True if value.get("error") is True else None,
        }
    )


def _greeting(value: JsonObject) -> model.Turn:
    """The first message of every simulation, which no model generated."""
    turn = read_message({"role": "assistant", "content": value.get("content")})
    return structs.replace(turn, source_role=text_of(value, "role"), flags=_SYNTHETIC)


def _answer(value: JsonObject, side: _Side) -> model.Turn:
    choice = _raw_choice(value)
    raw, exact = object_of(choice.get("message")) or choice, _exact_arguments(choice)
    calls: list[model.Json] = [
        {**call, "arguments": exact.get(text_of(call, "id"), call.get("arguments"))} for call in calls_in(value)
    ]
    thoughts = text_of(raw, "reasoning_content", "reasoning") or words_at(raw, "thinking_blocks[].thinking")
    turn = read_message(
        message_object("assistant", value.get("content"), reasoning_content=thoughts or None, calls=calls)
    )
    ended, duration_s = instant(value.get("timestamp")), value.get("generation_time_seconds")
    began_s = ended.at_s - duration_s if ended is not None and isinstance(duration_s, float) else None
    return structs.replace(
        turn,
        source_role=text_of(value, "role"),
        generation=stored_generation(
            api="chat.completions",
            requested_model=side.model,
            answered_model=text_at(value, "raw_data.model"),
            parameters=side.parameters,
            tools=side.tools,
            started=None if began_s is None else model.Instant(began_s, model.InstantSource.DERIVED),
            ended=ended,
            usage=usage_of(object_of(value.get("usage")), "prompt_tokens", "completion_tokens"),
            finish=text_of(choice, "finish_reason", "stop_reason"),
        ),
    )


def _are_rewritten(messages: tuple[_Message, ...], role: model.Role) -> bool:
    return any(
        text_of(call, "id") not in _exact_arguments(_raw_choice(message.value))
        for message in messages
        if message.role is role
        for call in calls_in(message.value)
    )


def _simulation_outcome(simulation: JsonObject) -> model.Outcome:
    reason = text_of(simulation, "termination_reason")
    return model.Outcome(
        completed=reason in _ENDED if reason else None,
        exit_status=reason or None,
        reward=reward_of(member_at(simulation, "reward_info.reward")),
    )


def _raw_choice(message: JsonObject) -> JsonObject:
    """The choice in the provider's own answer (`raw_data`); all of that if it lists none, and empty without one."""
    response = object_of(message.get("raw_data"))
    return next(iter(objects_of(response.get("choices"))), response)


def _exact_arguments(choice: JsonObject) -> dict[str, str]:
    """The exact texts of the calls' arguments, by the calls' ids."""
    texts = argument_texts([object_of(choice.get("message")) or choice])
    return {call_id: text for call_id, text in texts if isinstance(call_id, str) and isinstance(text, str)}


TAU2_BENCH = LogSource(
    name="tau2-bench",
    signs="`simulations` beside their `tasks`",
    is_row=lambda row: _is_run(row) or _is_simulation(row),
    confidence=0.9,
    score=lambda sample: 0.9 if _RESULTS.match(sample.text.lstrip("\ufeff")) else 0.0,
    reader=lambda file: traces_in_each_row(file, _simulations),
)
"""One trace per simulation, and one for its user if that called tools; a simulation without messages is skipped."""
