"""What can be replayed of traces: their recorded exchanges, or, of an imported session, its turns.

An imported session holds no requests and no bytes. Its answers are rebuilt, and a request matches where its messages,
read as turns, say what the turns before the answer say: roles, texts, calls and results, without the system prompt,
which many logs leave out.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from inspector.apis.providers import parse_request, read_request
from inspector.model import Json, Role, Trace, Turn
from inspector.model.exchange import RecordedExchange

CONVERSATION = "conversation"
"""The method of an exchange that was made from turns: its request is a conversation, see `conversation_of`."""


class Recording(Struct, frozen=True):
    """Exchanges, and for each the turn from which its answer is rebuilt, None where the bytes are kept."""

    exchanges: tuple[RecordedExchange, ...]
    turns: tuple[Turn | None, ...]

    @property
    def rebuilt(self) -> int:
        """How many answers are rebuilt."""
        return sum(turn is not None for turn in self.turns)

    @property
    def redacted(self) -> int:
        """How many answers held secrets."""
        return sum(one.is_redacted for one in self.exchanges)


def recording_of(traces: Iterable[tuple[Trace, Sequence[RecordedExchange]]]) -> Recording:
    """The recording of traces with their exchanges, in the order in which they began."""
    found = [pair for trace, some in traces for pair in (_recorded(trace, some) if some else _imported(trace))]
    found.sort(key=lambda pair: pair[0].began_s or 0.0)
    return Recording(tuple(one for one, _ in found), tuple(turn for _, turn in found))


def _recorded(trace: Trace, exchanges: Sequence[RecordedExchange]) -> Iterator[tuple[RecordedExchange, Turn | None]]:
    for one in exchanges:
        is_there = one.answer is None and 0 < one.turn <= len(trace.turns)
        yield one, trace.turns[one.turn - 1] if is_there else None


def _imported(trace: Trace) -> Iterator[tuple[RecordedExchange, Turn | None]]:
    began_s = trace.started.at_s if trace.started is not None else None
    for at, turn in enumerate(trace.turns):
        if turn.role is Role.ASSISTANT:
            request = json.dumps(conversation_of(trace.turns[:at])).encode()
            yield RecordedExchange(CONVERSATION, "", began_s, 200, request=request, answer=None, turn=at + 1), turn


def conversation_of(turns: Iterable[Turn]) -> Json:
    """Turns as JSON: `{"messages": [{"role", "content", "calls"}, ...]}`, without system prompts and reasoning."""
    return {"messages": [_message(turn) for turn in turns if turn.role is not Role.SYSTEM]}


def live_conversation(path: str, body: bytes) -> Json:
    """The same of a request; None for one that asks no model."""
    request = read_request(path, parse_request(body))
    return None if request is None else conversation_of(request.turns)


def _message(turn: Turn) -> Json:
    texts = {part.name: part.text for part in turn.parts}
    message: dict[str, Json] = {"role": turn.role.value, "content": texts.get("text", "").strip()}
    calls: list[Json] = [
        {"name": header.name, "arguments": _arguments(texts.get(header.part, ""))} for header in turn.calls
    ]
    if calls:
        message["calls"] = calls
    return message


def _arguments(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
