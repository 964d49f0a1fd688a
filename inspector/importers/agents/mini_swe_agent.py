"""mini-swe-agent's trajectories: `<instance>.traj.json`, one JSON document a run.

`messages` are the conversation: in version 2 with structured calls, or as items of the Responses API, in version 1
with
a command between fences in the words of each answer. An answer that could not be read is in none of the assistant's
messages: it stands only in `extra` of the user's message that asks for another, and becomes a turn before it.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from inspector.apis.openai.messages import first_choice, first_message, read_message, stored_usage
from inspector.apis.openai.responses import read_responses_request
from inspector.importers.agents.swe_agent import DERIVED, as_result, awaits_result, with_commands
from inspector.importers.identity import instant, place_of, row_ids, text_of
from inspector.importers.records import Row, read_rows
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.json_members import object_of
from inspector.model import Generation, Json, Outcome, Provenance, RecognisedBy, Role, Trace, Turn, TurnFlag
from inspector.scanning import lazy_pattern
from inspector.wire.answer_reader import finish_meaning

_COMMAND = lazy_pattern(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n```", re.DOTALL)  # its own default patterns
_NOT_STORED = "the source keeps neither the tools nor the chunks of an answer"
_NO_RAW = "an answer that could not be read is not stored"
_INJECTED = frozenset({TurnFlag.INJECTED})


class MiniSweAgentImporter:
    """One trace a document."""

    name = "mini-swe-agent"
    signs = "a `trajectory_format` of mini-swe-agent"

    def recognises(self, sample: FileSample) -> float:
        """By the member that names the format."""
        named = (text_of(row, "trajectory_format") for row in sample.rows)
        return 1.0 if any(name.startswith("mini-swe-agent") for name in named) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The run of each document; one without messages is skipped."""
        for row in read_rows(file):
            yield row if isinstance(row, Skipped) else _trace(row, file)


def _trace(row: Row, file: SourceFile) -> Trace | Skipped:
    messages = row.value.get("messages")
    if not isinstance(messages, list) or not messages:
        return Skipped(row.record, "the document has no list `messages` with messages in it")
    info = object_of(row.value.get("info"))
    model = text_of(object_of(object_of(info.get("config")).get("model")), "model_name")
    turns: list[Turn] = []
    warnings = {_NOT_STORED: None}
    for message in messages:
        for turn in _read(message, turns[-1] if turns else None, model, warnings):
            turns.append(turn)
    started = instant(object_of(object_of(messages[0]).get("extra")).get("timestamp"))
    return Trace(
        turns=tuple(turns),
        name=text_of(row.value, "instance_id"),
        model=model,
        started=started,
        external_ids=row_ids(row, [place_of(file.path)]),
        recognised_by=RecognisedBy.FILE,
        outcome=_outcome(text_of(info, "exit_status")),
        provenance=Provenance(
            source_version=text_of(row.value, "trajectory_format").removeprefix("mini-swe-agent-"),
            record=row.record,
            warnings=tuple(warnings),
        ),
    )


def _outcome(status: str) -> Outcome | None:
    return Outcome(status == "Submitted", status) if status else None


def _read(message: Json, before: Turn | None, model: str, warnings: dict[str, None]) -> Iterator[Turn]:
    """The turns of a message; an answer that it hides comes first."""
    value = object_of(message)
    extra = object_of(value.get("extra"))
    if value.get("role") == "assistant" or isinstance(value.get("output"), list):
        yield _answer(value, extra, model, warnings)
        return
    refused = text_of(extra, "interrupt_type") == "FormatError" or "response" in extra or "model_response" in extra
    if refused and value.get("role") == "user":
        hidden = _hidden(extra)
        if hidden is None:
            warnings[_NO_RAW] = None
        else:
            yield _answer(hidden, extra, model, {})
        yield replace(read_message(value), flags=_INJECTED)
        return
    (turn,) = read_responses_request({"input": [message]}).turns if "call_id" in value else (read_message(message),)
    if value.get("role") == "exit":
        yield replace(turn, flags=_INJECTED)
    elif turn.role is Role.USER and before is not None and awaits_result(before):
        yield as_result(turn)
    else:
        yield turn


def _hidden(extra: JsonObject) -> JsonObject | None:
    """The answer that a user's message is about, as a message."""
    response = extra.get("response", extra.get("model_response"))
    if isinstance(response, str):
        return {"role": "assistant", "content": response}
    told = object_of(response)
    if isinstance(told.get("output"), list):
        return told
    return first_message(told)


def _answer(value: JsonObject, extra: JsonObject, model: str, warnings: dict[str, None]) -> Turn:
    output = value.get("output")
    if isinstance(output, list):
        turns = [turn for turn in read_responses_request({"input": output}).turns if turn.role is Role.ASSISTANT]
        turn = turns[0] if turns else read_message({"role": "assistant", "content": ""})
    else:
        turn = read_message(value)
    commands = list(_commands(extra, turn))
    if commands and not turn.calls:
        warnings[DERIVED] = None
        turn = with_commands(turn, commands)
    return replace(turn, role=Role.ASSISTANT, result=None, generation=_generation(value, extra, model))


def _commands(extra: JsonObject, turn: Turn) -> Iterator[str]:
    """The commands that mini-swe-agent took from the words; in version 1 it took one, and only where one stood."""
    actions = extra.get("actions")
    if isinstance(actions, list):
        yield from (command for one in actions if (command := text_of(object_of(one), "command")))
        return
    text = turn.part("text")
    found: list[str] = _COMMAND.findall(text.text) if text else []
    if len(found) == 1:
        yield found[0].strip()


def _generation(value: JsonObject, extra: JsonObject, model: str) -> Generation:
    response = object_of(extra.get("response")) or value
    finish = text_of(first_choice(response), "finish_reason")
    return Generation(
        api="responses" if isinstance(value.get("output"), list) else "chat.completions",
        requested_model=model,
        answered_model=text_of(response, "model"),
        ended=instant(extra.get("timestamp")),
        usage=stored_usage(response.get("usage")),
        finish_reason=finish or None,
        finish=finish_meaning(finish) if finish else None,
    )
