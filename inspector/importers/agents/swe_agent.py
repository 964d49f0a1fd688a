"""Trajectories of SWE-agent and mini-swe-agent.

SWE-agent's trajectories: `<instance>.traj`, one JSON document per run. `history` is the conversation, with structured
calls, or with a command in the text of each answer, which SWE-agent repeats in `action`. Such commands are read as
calls of the tool that they mean.

mini-swe-agent's trajectories: `<instance>.traj.json`, one JSON document per run. `messages` are the conversation: in
version 2 with structured calls, or as items of the Responses API, in version 1 with a fenced command in the text of
each answer. An answer that could not be parsed is not among the assistant's messages: it is only in `extra` of the
user's message that requests another, and becomes a turn before it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import CALLS, first_choice, first_message, read_message, stored_usage
from weaklink.inspector.apis.openai.responses import read_responses_request
from weaklink.inspector.importers.generations import stored_generation
from weaklink.inspector.importers.identity import instant, place_of, row_ids, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped
from weaklink.inspector.json_text import member_at, object_of, objects_of, write_json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.titles import first_words

_NOT_STORED = "the source does not store times, tools, usage per answer or chunks"
_LOST = "of answers that the agent rejected, the source stores only the text, not the calls"
_DEMONSTRATION = frozenset({model.TurnFlag.DEMONSTRATION})
DERIVED = "commands in the text of answers are shown as calls of `bash`, as the agent itself parsed them"
"""The warning in a trace's provenance if `with_commands` was used."""
_COMMAND = lazy_pattern(
    r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n```", re.DOTALL
)  # mini-swe-agent's default patterns
_MINI_NOT_STORED = "the source does not store the tools or the chunks of answers"
_NO_RAW = "the source did not store an answer that the agent rejected"
_INJECTED = frozenset({model.TurnFlag.INJECTED})


def _has_history(row: JsonObject) -> bool:
    return any("role" in one and "agent" in one for one in objects_of(row.get("history")))


def _full_trace(row: Row, path: Path) -> model.Trace | Skipped:
    history, steps = objects_of(row.value.get("history")), objects_of(row.value.get("trajectory"))
    if not history and not steps:
        return Skipped(row.record, "the document has neither a `history` nor a `trajectory` with messages")
    info = object_of(row.value.get("info"))
    turns, hidden = _turns(history, steps)
    derived = any(turn.calls and CALLS not in message for turn, message in turns)
    warnings = (_NOT_STORED, *([_LOST] if hidden else []), *([DERIVED] if derived else []))
    return model.Trace(
        turns=tuple(turn for turn, _ in turns),
        external_ids=row_ids(row, [place_of(path)]),
        recognised_by=model.RecognisedBy.FILE,
        name=_full_name(text_of(row.value, "environment"), [turn for turn, _ in turns]),
        outcome=_full_outcome(info),
        provenance=model.Provenance(
            source_version=text_of(info, "swe_agent_version"), record=row.record, warnings=warnings
        ),
    )


def _full_name(environment: str, turns: list[model.Turn]) -> str:
    """The environment if it names an instance, else what the user wanted: `swe_main` is SWE-agent's default."""
    return environment if environment and environment != "swe_main" else first_words(turns)


def _full_outcome(info: JsonObject) -> model.Outcome | None:
    status = text_of(info, "exit_status")
    return model.Outcome(status.startswith("submitted") and "(" not in status, status) if status else None


def _turns(history: list[JsonObject], steps: list[JsonObject]) -> tuple[list[tuple[model.Turn, JsonObject]], bool]:
    """Each turn with the message that it was made from; whether there were answers that are not in the history."""
    unmatched = Counter(_key(message) for message in history if _is_answer(message))
    hidden: dict[int, list[str]] = {}
    answered = 0
    for step in steps:
        key = _key(step)
        if unmatched[key] > 0:
            unmatched[key] -= 1
            answered += 1
        elif history and key.strip() and not text_of(step, "action").startswith("exit"):
            hidden.setdefault(answered, []).append(key)
    turns: list[tuple[model.Turn, JsonObject]] = []
    answered = 0
    for message in history or _from_steps(steps):
        if _is_answer(message):
            turns += ((_unread(words), {}) for words in hidden.pop(answered, ()))
            answered += 1
        turns.append((_turn(message, turns[-1][0] if turns else None), message))
    turns += ((_unread(words), {}) for at in sorted(hidden) for words in hidden[at])
    return turns, any(not message for _, message in turns)


def _is_answer(message: JsonObject) -> bool:
    return message.get("role") == "assistant" and message.get("is_demo") is not True


def _key(answer: JsonObject) -> str:
    """The text of an answer, in the history or in a step."""
    content = answer.get("response", answer.get("content"))
    if isinstance(content, list):
        return "".join(text_of(block, "text") for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


def _from_steps(steps: list[JsonObject]) -> Iterator[JsonObject]:
    """The conversation of a document that has no history."""
    for step in steps:
        yield {"role": "assistant", "content": _key(step), "action": step.get("action")}
        yield {"role": "user", "content": step.get("observation"), "message_type": "observation"}


def _turn(message: JsonObject, before: model.Turn | None) -> model.Turn:
    ids = message.get("tool_call_ids")
    named = {"tool_call_id": ids[0]} if isinstance(ids, list) and len(ids) == 1 else {}
    turn = read_message({**message, **named})
    if message.get("is_demo") is True:
        return replace(turn, flags=_DEMONSTRATION)
    if turn.role is model.Role.ASSISTANT:
        action = text_of(message, "action")
        return replace(with_commands(turn, [action] if action.strip() else ()), generation=model.Generation())
    return as_result(turn) if turn.role is model.Role.USER and before is not None and awaits_result(before) else turn


def _unread(words: str) -> model.Turn:
    return model.Turn(model.Role.ASSISTANT, (model.Part("text", words),), "assistant", generation=model.Generation())


def with_commands(turn: model.Turn, commands: Iterable[str]) -> model.Turn:
    """An answer with a call of `bash` for each command; one that has structured calls is unchanged."""
    if turn.calls:
        return turn
    parts = tuple(
        model.Part(f"call:{index}", write_json({"command": command}, ascii_only=False))
        for index, command in enumerate(commands)
    )
    calls = tuple(model.CallHeader(part.name, "bash") for part in parts)
    return replace(turn, parts=(*turn.parts, *parts), calls=calls) if calls else turn


def as_result(turn: model.Turn) -> model.Turn:
    """The environment's output for a command, stored as a user's message, as a tool result."""
    return replace(turn, role=model.Role.TOOL, result=model.ResultHeader())


def awaits_result(turn: model.Turn) -> bool:
    """Whether a turn is an answer of the run with such calls; no id connects them with their results."""
    return bool(turn.calls) and turn.calls[0].id is None and turn.generation is not None


def _is_mini(row: JsonObject) -> bool:
    """Whether `info` is mini-swe-agent's: `save_traj` of version 1 wrote no `trajectory_format`."""
    info = object_of(row.get("info"))
    return "mini_version" in info or {"exit_status", "model_stats"} <= info.keys()


def _mini_trace(row: Row, path: Path) -> model.Trace | Skipped:
    messages = row.value.get("messages")
    if not isinstance(messages, list) or not messages:
        return Skipped(row.record, "the document has no list `messages` with messages in it")
    info = object_of(row.value.get("info"))
    model_name = text_at(info, "config.model.model_name")
    turns: list[model.Turn] = []
    warnings = {_MINI_NOT_STORED: None}
    for message in messages:
        for turn in _read(message, turns[-1] if turns else None, model_name, warnings):
            turns.append(turn)
    return model.Trace(
        turns=tuple(turns),
        name=text_of(row.value, "instance_id"),
        model=model_name,
        started=instant(member_at(messages[0], "extra.timestamp")),
        external_ids=row_ids(row, [place_of(path)]),
        recognised_by=model.RecognisedBy.FILE,
        outcome=_mini_outcome(text_of(info, "exit_status")),
        provenance=model.Provenance(
            source_version=text_of(row.value, "trajectory_format").removeprefix("mini-swe-agent-")
            or text_of(info, "mini_version"),
            record=row.record,
            warnings=tuple(warnings),
        ),
    )


def _mini_outcome(status: str) -> model.Outcome | None:
    return model.Outcome(status == "Submitted", status) if status else None


def _read(
    message: model.Json, before: model.Turn | None, model_name: str, warnings: dict[str, None]
) -> Iterator[model.Turn]:
    """The turns of a message; an answer that it hides comes first."""
    value = object_of(message)
    extra = object_of(value.get("extra"))
    if value.get("role") == "assistant" or isinstance(value.get("output"), list):
        yield _answer(value, extra, model_name, warnings)
        return
    refused = text_of(extra, "interrupt_type") == "FormatError" or "response" in extra or "model_response" in extra
    if refused and value.get("role") == "user":
        hidden = _hidden(extra)
        if hidden is None:
            warnings[_NO_RAW] = None
        else:
            yield _answer(hidden, extra, model_name, {})
        yield replace(read_message(value), flags=_INJECTED)
        return
    (turn,) = read_responses_request({"input": [message]}).turns if "call_id" in value else (read_message(message),)
    if value.get("role") == "exit":
        yield replace(turn, flags=_INJECTED)
    elif turn.role is model.Role.USER and before is not None and awaits_result(before):
        yield _with_state(as_result(turn), value)
    else:
        yield _with_state(turn, value)


def _with_state(turn: model.Turn, message: JsonObject) -> model.Turn:
    """A result with the exit code that its message records."""
    state = read_state("mini-swe-agent", message) if turn.result is not None else None
    return turn if turn.result is None or state is None else replace(turn, result=replace(turn.result, recorded=state))


def _hidden(extra: JsonObject) -> JsonObject | None:
    """The answer that a user's message rejects, as a message."""
    response = extra.get("response", extra.get("model_response"))
    if isinstance(response, str):
        return {"role": "assistant", "content": response}
    message = object_of(response)
    if isinstance(message.get("output"), list):
        return message
    return first_message(message)


def _answer(value: JsonObject, extra: JsonObject, model_name: str, warnings: dict[str, None]) -> model.Turn:
    output = value.get("output")
    if isinstance(output, list):
        turns = [turn for turn in read_responses_request({"input": output}).turns if turn.role is model.Role.ASSISTANT]
        turn = turns[0] if turns else read_message({"role": "assistant", "content": ""})
    else:
        turn = read_message(value)
    commands = list(_commands(extra, turn))
    if commands and not turn.calls:
        warnings[DERIVED] = None
        turn = with_commands(turn, commands)
    return replace(turn, role=model.Role.ASSISTANT, result=None, generation=_generation(value, extra, model_name))


def _commands(extra: JsonObject, turn: model.Turn) -> Iterator[str]:
    """The commands that mini-swe-agent took from the text; version 1 took a command only if there was exactly one."""
    actions = extra.get("actions")
    if isinstance(actions, list):
        yield from (command for action in actions if (command := text_of(object_of(action), "command")))
        return
    text = turn.part("text")
    found: list[str] = _COMMAND.findall(text.text) if text else []
    if len(found) == 1:
        yield found[0].strip()


def _generation(value: JsonObject, extra: JsonObject, model_name: str) -> model.Generation:
    response = object_of(extra.get("response")) or value
    return stored_generation(
        api="responses" if isinstance(value.get("output"), list) else "chat.completions",
        requested_model=model_name,
        answered_model=text_of(response, "model"),
        ended=extra.get("timestamp"),
        usage=stored_usage(response.get("usage")),
        finish=text_of(first_choice(response), "finish_reason"),
    )


def _mini_score(sample: FileSample) -> float:
    """By the member that names the format, or in earlier versions by `info` beside `messages`."""
    if any(text_of(row, "trajectory_format").startswith("mini-swe-agent") for row in sample.rows):
        return 1.0
    return 0.9 if any(isinstance(row.get("messages"), list) and _is_mini(row) for row in sample.rows) else 0.0


SWE_AGENT = LogSource(
    name="swe-agent",
    signs="a document with a `history` of messages, a `trajectory` and its `info`",
    is_row=lambda row: {"trajectory", "history", "info"} <= row.keys(),
    confidence=0.9,
    score=lambda sample: 0.8 if any(map(_has_history, sample.rows)) else 0.0,
    reader=lambda file: trace_of_each_row(file, partial(_full_trace, path=file.path)),
)
"""One trace per document; one without a history or steps is skipped."""

MINI_SWE_AGENT = LogSource(
    name="mini-swe-agent",
    signs="a `trajectory_format` of mini-swe-agent, or `messages` with its `info`",
    score=_mini_score,
    reader=lambda file: trace_of_each_row(file, partial(_mini_trace, path=file.path)),
)
"""One trace per document; one without messages is skipped."""
