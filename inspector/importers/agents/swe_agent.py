"""Trajectories of SWE-agent (`<instance>.traj`) and mini-swe-agent (`<instance>.traj.json`): a JSON document per run.

Calls are structured, or commands in the text of answers, which are read as calls of the tool that they mean. SWE-agent:
`history` is the conversation, `action` repeats the command. mini-swe-agent: `messages` are the conversation, in version
2 with structured calls or as items of the Responses API, in version 1 with a fenced command in each answer. An answer
that could not be parsed is only in `extra` of the user's message that requests another, and becomes a turn before it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import first_message, message_object, read_message
from weaklink.inspector.apis.openai.responses import read_responses_request
from weaklink.inspector.importers.agents.record_maps import words_at
from weaklink.inspector.importers.generations import response_generation
from weaklink.inspector.importers.identity import instant, place_of, row_ids, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped
from weaklink.inspector.json_text import list_of, member_at, object_of, objects_of, write_json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.titles import first_words

_NOT_STORED = "the source does not store times, tools, usage per answer or chunks"
_LOST = "of answers that the agent rejected, the source stores only the text, not the calls"
_DERIVED = "commands in the text of answers are shown as calls of `bash`, as the agent itself parsed them"
_MINI_NOT_STORED = "the source does not store the tools or the chunks of answers"
_NO_RAW = "the source did not store an answer that the agent rejected"
_DEMONSTRATION = frozenset({model.TurnFlag.DEMONSTRATION})
_INJECTED = frozenset({model.TurnFlag.INJECTED})
# mini-swe-agent's default patterns
_COMMAND = lazy_pattern(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n```", re.DOTALL)


class _SweRun(Struct):
    """A run as its messages are read; `notes` are what its file does not keep."""

    row: Row
    path: Path
    notes: dict[str, None]
    turns: list[model.Turn] = []

    def answer(self, turn: model.Turn, commands: Iterable[str], generation: model.Generation) -> None:
        """Add an answer, with a call of `bash` for each command if it has no structured calls."""
        if not turn.calls:
            arguments = (write_json({"command": command}, ascii_only=False) for command in commands)
            parts = tuple(model.Part(f"call:{index}", text) for index, text in enumerate(arguments))
            self.notes |= {_DERIVED: None} if parts else {}
            calls = tuple(model.CallHeader(part.name, "bash") for part in parts)
            turn = replace(turn, parts=(*turn.parts, *parts), calls=calls)
        self.turns.append(replace(turn, role=model.Role.ASSISTANT, result=None, generation=generation))

    def add(self, turn: model.Turn, message: JsonObject) -> None:
        """Add any other message. A user's after such calls is the output of the command: no id connects them."""
        before = self.turns[-1] if self.turns else None
        awaits_result = before is not None and before.generation and before.calls and before.calls[0].id is None
        if turn.role is model.Role.USER and awaits_result:
            turn = replace(turn, role=model.Role.TOOL, result=model.ResultHeader())
        if turn.result is not None:
            turn = replace(turn, result=replace(turn.result, recorded=read_state("mini-swe-agent", message)))
        self.turns.append(turn)

    def trace(self, name: str, version: str, status: str, *, is_over: bool) -> model.Trace:
        """The run as a trace; `status` is how it ended, `""` if that is not stored."""
        provenance = model.Provenance(source_version=version, record=self.row.record, warnings=tuple(self.notes))
        return model.Trace(
            turns=tuple(self.turns),
            name=name,
            external_ids=row_ids(self.row, [place_of(self.path)]),
            recognised_by=model.RecognisedBy.FILE,
            outcome=model.Outcome(is_over, status) if status else None,
            provenance=provenance,
        )


def _full_trace(row: Row, path: Path) -> model.Trace | Skipped:
    history, steps = objects_of(row.value.get("history")), objects_of(row.value.get("trajectory"))
    if not history and not steps:
        return Skipped(row.record, "the document has neither a `history` nor a `trajectory` with messages")
    messages = list(_conversation(history, steps) if history else _from_steps(steps))
    run = _SweRun(row, path, {_NOT_STORED: None} | ({_LOST: None} if len(messages) > len(history) > 0 else {}))
    for message in messages:
        _take(message, run)
    info, environment = object_of(row.value.get("info")), text_of(row.value, "environment")
    name = environment if environment not in ("", "swe_main") else first_words(run.turns)  # the default is no name
    status = text_of(info, "exit_status")
    is_over = status.startswith("submitted") and "(" not in status
    return run.trace(name, text_of(info, "swe_agent_version"), status, is_over=is_over)


def _conversation(history: list[JsonObject], steps: list[JsonObject]) -> Iterator[JsonObject]:
    """The history, with the answers that only the steps have, each before the answer that follows it."""
    unmatched = Counter(_words(message) for message in history if _is_answer(message))
    hidden: dict[int, list[JsonObject]] = {}
    answered = 0
    for step in steps:
        words = _words(step)
        if unmatched[words] > 0:
            unmatched[words] -= 1
            answered += 1
        elif words.strip() and not text_of(step, "action").startswith("exit"):
            hidden.setdefault(answered, []).append({"role": "assistant", "content": words})
    answered = 0
    for message in history:
        if _is_answer(message):
            yield from hidden.pop(answered, ())
            answered += 1
        yield message
    yield from chain.from_iterable(hidden.values())


def _is_answer(message: JsonObject) -> bool:
    return message.get("role") == "assistant" and message.get("is_demo") is not True


def _words(answer: JsonObject) -> str:
    """The text of an answer, in the history or in a step."""
    return words_at({"content": answer.get("response", answer.get("content"))}, "content[].text")


def _from_steps(steps: list[JsonObject]) -> Iterator[JsonObject]:
    """The conversation of a document that has no history."""
    for step in steps:
        yield {"role": "assistant", "content": _words(step), "action": step.get("action")}
        yield {"role": "user", "content": step.get("observation"), "message_type": "observation"}


def _take(message: JsonObject, run: _SweRun) -> None:
    ids = list_of(message.get("tool_call_ids"))
    turn = read_message({**message, "tool_call_id": ids[0]} if len(ids) == 1 else message)
    if message.get("is_demo") is True:
        run.turns.append(replace(turn, flags=_DEMONSTRATION))
    elif turn.role is model.Role.ASSISTANT:
        action = text_of(message, "action")
        run.answer(turn, [action] if action.strip() else (), model.Generation())
    else:
        run.add(turn, message)


def _mini_trace(row: Row, path: Path) -> model.Trace | Skipped:
    messages = list_of(row.value.get("messages"))
    if not messages:
        return Skipped(row.record, "the document has no list `messages` with messages in it")
    info = object_of(row.value.get("info"))
    model_name, status = text_at(info, "config.model.model_name"), text_of(info, "exit_status")
    run = _SweRun(row, path, {_MINI_NOT_STORED: None})
    for message in messages:
        _take_mini(message, run, model_name)
    version = text_of(row.value, "trajectory_format").removeprefix("mini-swe-agent-") or text_of(info, "mini_version")
    name = text_of(row.value, "instance_id") or first_words(run.turns)
    trace = run.trace(name, version, status, is_over=status == "Submitted")
    return replace(trace, model=model_name, started=instant(member_at(messages[0], "extra.timestamp")))


def _take_mini(message: model.Json, run: _SweRun, model_name: str) -> None:
    """Add a message; an answer that it rejects comes first."""
    value = object_of(message)
    extra = object_of(value.get("extra"))
    if value.get("role") == "assistant" or isinstance(value.get("output"), list):
        _answer(value, extra, run, model_name)
        return
    response = extra.get("response", extra.get("model_response"))
    is_refusal = text_of(extra, "interrupt_type") == "FormatError" or "response" in extra or "model_response" in extra
    if is_refusal and value.get("role") == "user":
        body = object_of(response)
        refused = body if isinstance(body.get("output"), list) else first_message(body)
        if isinstance(response, str):
            refused = message_object("assistant", response)
        if refused is None:
            run.notes[_NO_RAW] = None
        else:
            _answer(refused, extra, run, model_name)
        run.turns.append(replace(read_message(value), flags=_INJECTED))
        return
    (turn,) = read_responses_request({"input": [message]}).turns if "call_id" in value else (read_message(message),)
    if value.get("role") == "exit":
        run.turns.append(replace(turn, flags=_INJECTED))
    else:
        run.add(turn, value)


def _answer(value: JsonObject, extra: JsonObject, run: _SweRun, model_name: str) -> None:
    api, turn = "chat.completions", read_message(value)
    if isinstance(value.get("output"), list):
        api, turns = "responses", read_responses_request({"input": value["output"]}).turns
        empty = read_message({"role": "assistant", "content": ""})
        turn = next((turn for turn in turns if turn.role is model.Role.ASSISTANT), empty)
    response, ended = object_of(extra.get("response")) or value, extra.get("timestamp")
    generation = response_generation(response, api=api, requested_model=model_name, ended=ended)
    run.answer(turn, _commands(extra, turn), generation)


def _commands(extra: JsonObject, turn: model.Turn) -> list[str]:
    """The commands that mini-swe-agent took from the text; version 1 took a command only if there was exactly one."""
    if isinstance(extra.get("actions"), list):
        return [command for action in objects_of(extra["actions"]) if (command := text_of(action, "command"))]
    text = turn.part("text")
    found: list[str] = _COMMAND.findall(text.text) if text else []
    return [found[0].strip()] if len(found) == 1 else []


def _full_score(sample: FileSample) -> float:
    """By messages that name their agent."""
    messages = (message for row in sample.rows for message in objects_of(row.get("history")))
    return 0.8 if any({"role", "agent"} <= message.keys() for message in messages) else 0.0


def _mini_score(sample: FileSample) -> float:
    """By the member that names the format; version 1 wrote none, and has `info` beside `messages`."""
    if any(text_of(row, "trajectory_format").startswith("mini-swe-agent") for row in sample.rows):
        return 1.0
    infos = (object_of(row.get("info")).keys() for row in sample.rows if isinstance(row.get("messages"), list))
    return 0.9 if any("mini_version" in info or {"exit_status", "model_stats"} <= info for info in infos) else 0.0


SWE_AGENT = LogSource(
    name="swe-agent",
    signs="a document with a `history` of messages, a `trajectory` and its `info`",
    is_row=lambda row: {"trajectory", "history", "info"} <= row.keys(),
    confidence=0.9,
    score=_full_score,
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
