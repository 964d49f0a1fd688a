"""OpenHands' events: a trajectory as one JSON list, events as lines, or rows of an evaluation with their `history`.

An event is an `action` (of the user or the agent) or an `observation` of its effect. An answer is the model's own
response, which `tool_call_metadata` repeats with each of its actions and observations: it becomes one turn, with the
raw text of its calls. An action of the agent without a response is itself taken as an answer.
"""

from collections.abc import Iterator

from msgspec import structs

from weaklink.inspector.apis.openai.messages import (
    call_object,
    first_message,
    message_object,
    read_message,
    read_tools,
)
from weaklink.inspector.importers.agents.agent_session import AgentSession, rows_of
from weaklink.inspector.importers.generations import response_generation
from weaklink.inspector.importers.identity import place_of, row_ids, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import compact_json, object_of
from weaklink.inspector.model import (
    ExternalId,
    Json,
    Outcome,
    Part,
    RecognisedBy,
    ResultHeader,
    Role,
    Trace,
    Turn,
    TurnFlag,
)

_NOT_STORED = "the source does not store the chunks of answers, nor answers whose calls OpenHands could not parse"
_DERIVED = "actions without the model's response are shown as calls, with the arguments that OpenHands used"

_BOOKKEEPING = frozenset(
    {
        "agent_state_changed",
        "change_agent_state",
        "condensation",
        "condensation_request",
        "null",
        "pause",
        "recall",
        "resume",
        "start",
        "stop",
        "task_tracking",
    }
)

_WORDS = frozenset({"message", "system", "finish", "think"})
_ENDS = {"finished": True, "error": False, "stopped": False, "rejected": False}
_INJECTED = frozenset({TurnFlag.INJECTED})


def _is_event(value: Json) -> bool:
    return isinstance(value, dict) and "source" in value and ("action" in value or "observation" in value)


def _events(row: JsonObject) -> list[JsonObject]:
    """The events of a row; in older evaluations each action is paired with its observation."""
    listed = row.get("history")
    if not isinstance(listed, list):
        return []
    flat = (one for event in listed for one in (event if isinstance(event, list) else [event]))
    return [one for one in flat if isinstance(one, dict) and _is_event(one)]


class _Conversation:
    """The events of one conversation, in order."""

    def __init__(self, first: Row) -> None:
        self.session = AgentSession("openhands", (), first.record, (_NOT_STORED,))
        self.session.title = text_of(first.value, "instance_id")
        self.session.recognised_by = RecognisedBy.FILE
        self._responses: set[str] = set()
        self._derived_calls: set[str] = set()

    def take(self, event: JsonObject) -> None:
        self.session.began(event.get("timestamp"))
        action, args = text_of(event, "action"), object_of(event.get("args"))
        if not action:
            self._observe(event)
        elif action == "system":
            self.session.tools = read_tools(args.get("tools"))
            self.session.turns.append(Turn(Role.SYSTEM, (Part("text", text_of(args, "content")),), "system"))
        elif action in _BOOKKEEPING and "tool_call_metadata" not in event:
            return
        elif event.get("source") == "agent":
            self._answer(event, action)
        else:
            turn = Turn(Role.USER, (Part("text", _message_text(event)),), text_of(event, "source"))
            self.session.turns.append(turn)

    def traces(self, ids: tuple[ExternalId, ...]) -> Iterator[Trace | Skipped]:
        """The conversation as a trace; empty if it has no turns."""
        self.session.ids = ids
        if self.session.turns:
            yield self.session.trace()

    def _answer(self, event: JsonObject, action: str) -> None:
        if action == "finish":
            self.session.outcome = Outcome(completed=True, exit_status="finish")
        response = object_of(object_of(event.get("tool_call_metadata")).get("model_response"))
        response_id = text_of(response, "id")
        if response_id and response_id in self._responses:
            return
        self._responses.add(response_id)
        message = first_message(response) or self._as_message(event, action)
        self.session.model = self.session.model or text_of(response, "model")
        api = "chat.completions" if response else ""
        generation = response_generation(response, api=api, tools=self.session.tools, ended=event.get("timestamp"))
        self.session.turns.append(
            structs.replace(read_message(message), role=Role.ASSISTANT, source_role="agent", generation=generation)
        )

    def _as_message(self, event: JsonObject, action: str) -> JsonObject:
        args = object_of(event.get("args"))
        if action in _WORDS:
            return message_object("assistant", _message_text(event))
        self.session.notes[_DERIVED] = None
        self._derived_calls.add(compact_json(event.get("id")))
        arguments: JsonObject = {key: value for key, value in args.items() if key != "thought"}
        return message_object("assistant", text_of(args, "thought") or None, calls=[call_object(action, arguments)])

    def _observe(self, event: JsonObject) -> None:
        kind = text_of(event, "observation")
        state = text_of(object_of(event.get("extras")), "agent_state")
        if state in _ENDS:
            self.session.outcome = Outcome(_ENDS[state], state)
        called = object_of(event.get("tool_call_metadata"))
        if kind in _BOOKKEEPING and not called:
            return
        content = text_of(event, "content") or text_of(event, "message")
        if called or compact_json(event.get("cause")) in self._derived_calls:
            call_id, name = text_of(called, "tool_call_id") or None, text_of(called, "function_name") or None
            failed, recorded = True if kind == "error" else None, read_state("openhands", event)
            result = ResultHeader(call_id, name, failed, recorded)
            self.session.turns.append(Turn(Role.TOOL, (Part("text", content),), kind, result=result))
        elif content:
            self.session.turns.append(Turn(Role.USER, (Part("text", content),), kind, flags=_INJECTED))


def _message_text(event: JsonObject) -> str:
    args = object_of(event.get("args"))
    return text_of(args, "content", "final_thought", "thought") or text_of(event, "message")


def _conversations(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The conversation; a file's events are in memory at once, within a bound."""
    conversation: _Conversation | None = None
    began = ""
    for row in rows_of(file, _is_event):
        if isinstance(row, Skipped):
            yield row
        elif _is_event(row.value):
            if conversation is None:
                conversation, began = _Conversation(row), text_of(row.value, "timestamp")
            conversation.take(row.value)
        elif events := _events(row.value):
            evaluated = _Conversation(row)
            for event in events:
                evaluated.take(event)
            yield from evaluated.traces(row_ids(row))
        else:
            yield Skipped(row.record, "this is not an event: it has neither an `action` nor an `observation`")
    if conversation:
        yield from conversation.traces((place_of(file.path), ExternalId("timestamp", began)))


OPENHANDS = LogSource(
    name="openhands",
    signs="events with a `source` and an `action` or an `observation`",
    is_row=lambda row: _is_event(row) or _events(row),
    confidence=0.9,
    reader=_conversations,
)
"""One trace for all events of a file, or one per row of an evaluation."""
