"""Gemini CLI's recordings of chats: one JSON object per session, since 2026 as lines.

Lines repeat a message each time its tokens or calls arrive: the last version counts, at the place of the first.
`{"$set": {...}}` changes the session (its `messages` replace all), `{"$rewindTo": id}` drops that message and all after
it: what was left is a fork of the session. A call has its result. Source: `chatRecordingTypes` and
`chatRecordingService` of gemini-cli-core 0.61.
"""

from collections.abc import Iterator
from itertools import takewhile

from weaklink.inspector.apis.openai.messages import call_object
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import compact_json, object_of, objects_of
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Json, ParentTrace, ParentWhy, Trace, Turn, TurnFlag

_SOURCE = "gemini-cli"
_NOTES = (
    PARSED_ARGUMENTS,
    "the source stores summaries of thoughts, and neither the system prompt, the tools, finish reasons nor chunks",
    "calls of a later request are part of the answer before it if no text or thought came in between",
)
_PROMPTS_ONLY = (
    "this is Gemini CLI's list of prompts, without answers; its sessions are in the folder `chats` beside it"
)
_DROPPED = "$dropped"  # beside a summary, the id of the last message that it stands for
_BEGINNING = frozenset({"sessionId", "projectHash", "startTime"})
_TYPES = frozenset({"user", "gemini", "info", "warning", "error"})


class _Recording:
    """A session as it was last; `_left` are its messages before each rewind, the first that is gone, and the row."""

    def __init__(self, *_: object) -> None:
        self._record: JsonObject = {}
        self._messages: dict[str, JsonObject] = {}
        self._left: list[tuple[dict[str, JsonObject], str, str]] = []
        self._is_prompts = False

    def add(self, row: Row) -> Iterator[Skipped]:
        if self._is_prompts:
            return
        if _is_prompt(row.value):
            self._is_prompts = True
            yield Skipped("file", _PROMPTS_ONLY, is_irrelevant=True)
        elif first_gone := text_of(row.value, "$rewindTo"):
            first_gone = first_gone if first_gone in self._messages else next(iter(self._messages), "")
            self._left.append((self._messages, first_gone, row.record))
            self._messages = dict(takewhile(lambda item: item[0] != first_gone, self._messages.items()))
        elif text_of(row.value, "type") in _TYPES and "id" in row.value:
            self._messages[text_of(row.value, "id")] = row.value
        else:
            changed = object_of(row.value.get("$set")) or row.value
            self._record |= changed
            if isinstance(changed.get("messages"), list):
                listed = objects_of(changed["messages"])
                now = {text_of(one, "id") or str(at): one for at, one in enumerate(listed)}
                self._messages = _compressed(self._messages, now) or now

    def traces(self) -> Iterator[Trace | Skipped]:
        if self._is_prompts:
            return
        if self._record or self._messages:
            yield _session(self._record, self._messages).trace()
        for branch, first_gone, place in self._left:
            fork = _session(self._record, branch, first_gone, place)
            if any(TurnFlag.COPIED_CONTEXT not in turn.flags for turn in fork.turns):
                yield fork.trace()


def _compressed(before: dict[str, JsonObject], now: dict[str, JsonObject]) -> dict[str, JsonObject]:
    """The messages before, and the new ones, if those begin with a summary of the oldest; empty if they do not.

    The summary is a message of the user that was not there before; what follows the oldest messages is kept.
    """
    dropped = [id_ for id_ in before if id_ not in now]
    first = next(iter(now), "")
    is_summary = first not in before and text_of(now.get(first, {}), "type") == "user"
    if not dropped or not is_summary or list(before)[: len(dropped)] != dropped:
        return {}
    marked: dict[str, JsonObject] = {first: {**now[first], _DROPPED: dropped[-1]}}
    return {**before, **now, **marked}


def _is_prompt(row: JsonObject) -> bool:
    """Whether a row is of `logs.json`, which looks like Claude Code's rows."""
    return {"sessionId", "messageId", "type"} <= row.keys() and isinstance(row.get("message"), str)


def _session(record: JsonObject, messages: dict[str, JsonObject], own: str = "", place: str = "line 1") -> AgentSession:
    """The session, or a branch that the user left at the row `place`: `own` is the first message that only it has."""
    ids = (("sessionId", text_of(record, "sessionId")), ("message", own))
    session = AgentSession(_SOURCE, ids, place, _NOTES)
    if own and len(session.ids) > 1:
        session.parent = ParentTrace(session.ids[0], ParentWhy.FORK)
    maps.Facts(title="summary", started="startTime")(record, session)
    turns_after: dict[str, int] = {}
    for id_, message in messages.items():
        if id_ == own:
            session.copied()
        match text_of(message, "type"):
            case "user" if _DROPPED in message:
                kept = len(session.turns) - turns_after.get(text_of(message, _DROPPED), 0)
                session.summary(maps.words_at(message, "content[].text"), kept=kept)
            case "user":
                session.say("user", maps.words_at(message, "content[].text"))
            case "error":
                session.answer(
                    None, ended=message.get("timestamp"), error=failure(maps.words_at(message, "content[].text"))
                )
            case "gemini":
                turns, model = _answer(message)
                session.turns += turns
                session.model = session.model or model
        turns_after[id_] = len(session.turns)
    return session


@memoized
def _answer(message: JsonObject) -> tuple[tuple[Turn, ...], str]:
    """The turns of an answer and of the results of its calls, and the model."""
    session = AgentSession(_SOURCE, (), "")
    thoughts = (
        ": ".join(filter(None, (text_of(thought, "subject"), text_of(thought, "description"))))
        for thought in objects_of(message.get("thoughts"))
    )
    _ANSWER({**message, "reasoning": "\n".join(thoughts)}, session)
    for call in objects_of(message.get("toolCalls")):
        responses = maps.objects_at(call, "result[].functionResponse")
        words = "".join(_words(object_of(response.get("response"))) for response in responses)
        _RESULT({**call, "call_id": _id_of(call), "words": words}, session)
    return tuple(session.turns), session.model


def _id_of(call: JsonObject) -> str:
    """The id that the server gave a call: since 0.61 Gemini CLI writes the tool's name and `__` before it."""
    return text_of(call, "id").removeprefix(f"{text_of(call, 'name')}__")


def _words(response: JsonObject) -> str:
    value: Json = next((response[key] for key in ("output", "error") if key in response), response)
    return value if isinstance(value, str) else compact_json(value)


_ANSWER = maps.Answer(
    content="content[].text",
    reasoning="reasoning",
    calls=lambda message: [
        call_object(call.get("name"), call.get("args"), _id_of(call)) for call in objects_of(message.get("toolCalls"))
    ],
    model="model",
    usage=maps.TokenCounts("tokens.input", "tokens.output", cached="tokens.cached", reasoning="tokens.thoughts"),
    ended="timestamp",
)
_RESULT = maps.Result(
    *("call_id", "words resultDisplay", "name"),
    is_error="status",
    states={"success": False, "error": True, "cancelled": False},
    may_be_pending=True,  # any other never finished
)

GEMINI_CLI = LogSource(
    name=_SOURCE,
    signs="a `sessionId` with a `projectHash`",
    is_row=_is_prompt,
    score=lambda sample: 0.9 if any(row.keys() >= _BEGINNING for row in sample.rows) else 0.0,
    reader=SessionLogs(_Recording, lambda row: text_of(row, "sessionId") if row.keys() >= _BEGINNING else ""),
)
"""One trace per session as it was last, then one per branch that was left by a rewind, in their order."""
