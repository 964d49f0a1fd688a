"""ShareGPT conversations: fine-tuning data sets, hermes-function-calling-v1, and Hermes Agent's trajectories.

A row is `{"conversations": [{"from": "gpt", "value": "..."}], ...}`. It may also have `tools` (a list, or its JSON as a
string), `system` (LLaMA-Factory), `id`, `model`, and, from Hermes Agent 0.19, `timestamp` (the time the row was
written, without a zone) and `completed`.

Rows that are messages themselves are together one conversation; a row that is a list of messages is one too. In a file
of several shapes, a row of OpenAI's or Anthropic's messages is read as theirs.

A value is the model's raw stream and becomes the turn's part `text` unchanged. The exception is the role
`function_call` (LLaMA-Factory), whose value is calls as JSON (`written_calls`): each becomes a structured call, the
part `call:N` being the exact characters of its arguments, and a thought before it the part `reasoning`. A value that is
not valid JSON of this shape becomes the part `call:0` as a whole, in a call without a name, so that its faults are
reported at their positions.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import message_object, read_tools
from weaklink.inspector.importers.data.conversation_rows import read_conversations
from weaklink.inspector.importers.data.openai_messages import is_anthropic, messages_trace
from weaklink.inspector.importers.data.written_calls import CALL_ROLES, read_calls, split_thought
from weaklink.inspector.importers.generations import stored_generation
from weaklink.inspector.importers.identity import instant, recognised_by, reward_of, row_ids, text_of
from weaklink.inspector.importers.log_source import LogSource, traces_of
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import flag_of, write_json

ROLE_WORDS = {
    "system": model.Role.SYSTEM,
    **dict.fromkeys(("human", "user"), model.Role.USER),
    **dict.fromkeys(
        ("gpt", "chatgpt", "assistant", "model", "bot", "function_call", "tool_call"), model.Role.ASSISTANT
    ),
    **dict.fromkeys(("tool", "observation", "function_response", "tool_response"), model.Role.TOOL),
    **dict.fromkeys(("function", "ipython", "environment"), model.Role.TOOL),
}
"""The words for roles in training data."""

_LISTS = ("conversations", "conversation", "items", "messages")  # only few data sets use the last three


def _is_conversation(value: JsonObject) -> bool:
    listed = _messages(value)
    return isinstance(listed, list) and any(isinstance(one, dict) and {"from", "value"} <= one.keys() for one in listed)


def _is_message(value: JsonObject) -> bool:
    sender = value.get("from")
    return isinstance(sender, str) and sender.lower() in ROLE_WORDS and isinstance(value.get("value"), str)


def _is_answer(value: JsonObject) -> bool:
    return ROLE_WORDS[text_of(value, "from").lower()] is model.Role.ASSISTANT


def _messages(value: JsonObject) -> model.Json:
    return next((value[key] for key in _LISTS if key in value), None)


def _trace_of_any(row: Row) -> model.Trace | Skipped:
    """The conversation of a row; a row of OpenAI's or Anthropic's messages, in a set of several shapes, is read as one.

    Otherwise its structured calls would be lost.
    """
    listed = _messages(row.value)
    has_roles = isinstance(listed, list) and any(isinstance(one, dict) and "role" in one for one in listed)
    if not isinstance(listed, list) or not has_roles or _is_conversation(row.value):
        return sharegpt_trace(row)
    system = text_of(row.value, "system")
    if not system or is_anthropic(row.value, listed):
        return messages_trace(row)
    value: JsonObject = {**row.value, "messages": [message_object("system", system), *listed]}
    return messages_trace(replace(row, value=value))


def sharegpt_trace(row: Row) -> model.Trace | Skipped:
    """The conversation of a row with a list `conversations` of `from` and `value`."""
    value = row.value
    messages = _messages(value)
    if not isinstance(messages, list):
        return Skipped(row.record, "the row has no list `conversations`")
    if not messages:
        return Skipped(row.record, "the conversation is empty")
    model_name = text_of(value, "model")
    read = read_tools(value.get("tools"))
    tools = tuple(tool for tool in read if tool.name)
    written = instant(value.get("timestamp"))
    turns = [_turn(message, model_name, tools) for message in messages]
    if system := text_of(value, "system"):
        turns.insert(0, model.Turn(model.Role.SYSTEM, (model.Part("text", system),), "system"))
    return model.Trace(
        turns=tuple(turns),
        name=text_of(value, "task", "title", "name"),
        model=model_name,
        started=model.Instant(written.at_s, model.InstantSource.DERIVED) if written else None,
        external_ids=row_ids(row),
        recognised_by=recognised_by(row),
        outcome=_outcome(value),
        provenance=model.Provenance(
            source_version="hermes-agent" if {"timestamp", "completed"} <= value.keys() else "",
            record=row.record,
            warnings=tuple(_warnings(messages, tools_are_whole=len(tools) == len(read))),
        ),
    )


def _turn(message: model.Json, model_name: str, tools: tuple[model.ToolDefinition, ...]) -> model.Turn:
    if not isinstance(message, dict):
        return model.Turn(model.Role.USER, (model.Part("text", _text(message)),))
    source_role = text_of(message, "from", "role")
    role = ROLE_WORDS.get(source_role.lower(), model.Role.USER)
    text = _text(message.get("value", message.get("content")))
    if role is not model.Role.ASSISTANT:
        return model.Turn(
            role, (model.Part("text", text),), source_role, result=_result(message) if role is model.Role.TOOL else None
        )
    generation = stored_generation(answered_model=model_name, tools=tools)
    if source_role.lower() not in CALL_ROLES:
        return model.Turn(role, (model.Part("text", text),), source_role, generation=generation)
    thought, written = split_thought(text)
    calls = tuple(read_calls(written))
    reasoning = (model.Part("reasoning", thought),) if thought is not None else ()
    return model.Turn(
        role,
        (*reasoning, *(model.Part(header.part, arguments) for header, arguments in calls)),
        source_role,
        calls=tuple(header for header, _ in calls),
        generation=generation,
    )


def _text(value: model.Json) -> str:
    """A text unchanged; any other value as JSON, and `""` for null."""
    if isinstance(value, str):
        return value
    return "" if value is None else write_json(value, ascii_only=False)


def _result(message: JsonObject) -> model.ResultHeader | None:
    """The id and name in a tool message, which some writers add; everything else is in the value."""
    header = model.ResultHeader(text_of(message, "tool_call_id") or None, text_of(message, "name") or None)
    return header if header.call_id or header.name else None


def _outcome(value: JsonObject) -> model.Outcome | None:
    partial = "partial" if value.get("partial") is True else None
    outcome = model.Outcome(flag_of(value.get("completed")), partial, reward_of(value.get("reward")))
    return None if outcome == model.Outcome() else outcome


def _warnings(messages: list[model.Json], *, tools_are_whole: bool) -> Iterator[str]:
    """Warnings about content of the row that could not be read as intended."""
    if not all(isinstance(message, dict) for message in messages):
        yield "a message is not an object; it was read as a user turn"
    if not tools_are_whole:
        yield "a tool definition without a name was left out"


SHAREGPT = LogSource(
    name="sharegpt",
    signs="rows with `conversations` of `from` and `value`",
    is_row=_is_conversation,
    confidence=0.9,
    score=lambda sample: 0.7 if any(map(_is_message, sample.rows)) else 0.0,
    reader=lambda file: traces_of(read_conversations(file, _is_message, _is_answer), _trace_of_any),
)
"""One trace per row, or one for all rows that are messages. The module's docstring describes the values."""
