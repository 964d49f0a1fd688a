"""Rows of training sets in every shape that weaklink reads, and an importer for the shapes that have no other importer.

The shapes: lists `messages` and `conversations` of `role` and `content` or `from` and `value`; TRL's `prompt` and
`completion` as lists, and `prompt` with `chosen` and `rejected`; Alpaca's instruction rows, with LLaMA-Factory's
`history` and `system`; Axolotl's `segments`; and raw completions. A list may also be JSON text, as is common in Parquet
files.
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from weaklink.inspector.apis.openai.messages import message_object
from weaklink.inspector.importers.data.openai_messages import is_anthropic, messages_trace
from weaklink.inspector.importers.data.public_shapes import answer_messages, public_row
from weaklink.inspector.importers.data.raw_text import completion_trace
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.sharegpt import sharegpt_trace
from weaklink.inspector.importers.data.toolalpaca import instance_rows
from weaklink.inspector.importers.log_source import LogSource, traces_of
from weaklink.inspector.importers.records import Row, json_within, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import list_of, objects_of, write_json
from weaklink.inspector.model import Json, Trace

_LISTS = ("messages", "conversations", "conversation", "items")
COMPLETIONS = ("completion", "deltas", "text", "output", "response", "generated_text", "answer", "result")
"""The members with a raw output; the first one that is a text counts."""
_INSTRUCTION = ("instruction", "input", "output", "system", "history")
_PREFERENCE = ("prompt", "chosen", "rejected")
REJECTED = ("rejected", "rejected_response", "rejected_messages")
"""The members with the rejected answer of a preference."""


class Shape(StrEnum):
    """How a row stores its conversation."""

    MESSAGES = "messages"  # `role` and `content`, OpenAI's or Anthropic's
    SHAREGPT = "sharegpt"  # `from` and `value`
    PROMPT_COMPLETION = "prompt-completion"  # TRL: two lists of messages, one of which may be a text
    PREFERENCE = "preference"  # TRL: `chosen` is the conversation, `rejected` is not read
    INSTRUCTION = "instruction"  # `instruction`, `input`, `output`, `history`
    SEGMENTS = "segments"  # Axolotl: pieces of one text, with labels
    COMPLETION = "completion"  # a model's raw output, with or without its prompt


_MEMBERS_ONLY = (Shape.PROMPT_COMPLETION, Shape.INSTRUCTION)


class TrainingRow(Struct, frozen=True):
    """A row that was read: its shape, the row with its list under the shape's name, its messages, its trace.

    `messages` is empty if the row is one text. `public` is the row as OpenAI's messages if it had a shape of its own.
    """

    shape: Shape
    value: JsonObject
    messages: list[Json]
    trace: Trace
    public: JsonObject | None = None


def read_conversation_rows(file: SourceFile) -> Iterator[Row | Skipped]:
    """The rows of a file; a record that holds several conversations (ToolAlpaca) is several rows."""
    for row in read_rows(file):
        instances = [] if isinstance(row, Skipped) else instance_rows(row.value)
        if isinstance(row, Skipped) or not instances:
            yield row
            continue
        for number, value in enumerate(instances, 1):
            yield Row(row.unit, row.number, value, write_json(value).encode(), row.ids, number)


def _is_own(value: JsonObject) -> bool:
    if public_row(value) is not None or instance_rows(value):
        return True
    shape, _, _ = _conversation(value)
    if shape in (Shape.MESSAGES, Shape.SHAREGPT):
        return any(isinstance(value.get(key), str) for key in _LISTS)
    return shape not in (None, Shape.COMPLETION)


def _trace(row: Row) -> Trace | Skipped:
    read = read_training_row(row)
    return read.trace if read is not None else Skipped(row.record, f"the row has {refusal(row.value)}")


def read_training_row(row: Row, *, is_public: bool = True) -> TrainingRow | None:
    """The conversation of a row; None if it has none, such as a row of a log that is one message.

    `is_public`: the row may have a shape of its own; false for one that `public_row` has already read.
    """
    public = public_row(row.value) if is_public else None
    shape, value, messages = _conversation(public or row.value)
    if shape is None:
        return None
    read = {Shape.SHAREGPT: sharegpt_trace, Shape.COMPLETION: completion_trace, Shape.SEGMENTS: completion_trace}
    trace = read.get(shape, messages_trace)(Row(row.unit, row.number, value, row.raw))
    return None if isinstance(trace, Skipped) else TrainingRow(shape, value, messages, trace, public)


def listed_row(row: JsonObject) -> JsonObject:
    """The row with its conversation as a list of messages, the shape of rows that are made from it.

    A row without one, such as a raw completion, is unchanged, and so is a preference, whose rejected answer would go.
    """
    if any(row.get(name) is not None for name in REJECTED):
        return row
    public = public_row(row) or row
    shape, value, _ = _conversation(public)
    return value if shape in _MEMBERS_ONLY else public


def _conversation(row: JsonObject) -> tuple[Shape | None, JsonObject, list[Json]]:
    """The shape of a row that has no shape of its own, in the form that its importer takes, and its messages."""
    for key in _LISTS:
        listed = json_within(row.get(key))
        if isinstance(listed, list) and any(isinstance(one, dict) for one in listed):
            return _listed(row, key, listed)
    preferred = _preferred(row)
    if preferred is not None:
        return Shape.PREFERENCE, _as_messages(row, preferred, (*_PREFERENCE, *_INSTRUCTION)), preferred
    answered = _prompt_and_completion(row)
    if answered is not None:
        name, messages = answered
        return Shape.PROMPT_COMPLETION, _as_messages(row, messages, ("prompt", name)), messages
    if isinstance(row.get("instruction"), str) and isinstance(row.get("output"), str):
        messages = list(_instruction(row))
        return Shape.INSTRUCTION, _as_messages(row, messages, _INSTRUCTION), messages
    if isinstance(row.get("prompt"), str) and isinstance(row.get("chosen"), str):
        return Shape.COMPLETION, {**row, "completion": row["chosen"]}, []
    segments = objects_of(row.get("segments"))
    if any("text" in segment for segment in segments):
        return Shape.SEGMENTS, {**row, **_segments(segments)}, []
    if any(isinstance(row.get(key), str | list) for key in COMPLETIONS):
        text = next((one for key in COMPLETIONS if isinstance(one := row.get(key), str)), None)
        return Shape.COMPLETION, row if text is None or "deltas" in row else {**row, "completion": text}, []
    return None, row, []


def _as_messages(row: JsonObject, messages: list[Json], moved: tuple[str, ...]) -> JsonObject:
    """The row with `messages` in place of the members that they were read from."""
    return {**{key: one for key, one in row.items() if key not in moved}, "messages": messages}


def _preferred(row: JsonObject) -> list[Json] | None:
    """The messages of a prompt and its chosen answer, one of which may be a text, or of an instruction and the answer.

    Many sets repeat the prompt in `chosen`.
    """
    chosen, prompt = row.get("chosen"), row.get("prompt")
    answer, before = _messages(chosen), _messages(prompt)
    if answer is None and isinstance(chosen, str):
        if before is not None:
            return [*before, *answer_messages(chosen)]
        return list(_instruction({**row, "output": chosen})) if isinstance(row.get("instruction"), str) else None
    if answer is None:
        return None
    if (
        before is None
        and isinstance(prompt, str)
        and not any(one.get("role", one.get("from")) in ("user", "human") for one in objects_of(answer))
    ):
        before = [message_object("user", prompt)]
    before = before or []
    return answer if answer[: len(before)] == before else [*before, *answer]


def _prompt_and_completion(row: JsonObject) -> tuple[str, list[Json]] | None:
    """The name of the member with the completion, and all messages, if one of the two is a list of messages."""
    prompt, completion = row.get("prompt"), _messages(row.get("completion"))
    before = _messages(prompt)
    if before is not None and completion is None:
        name = next((key for key in COMPLETIONS if isinstance(row.get(key), str)), None)
        return None if name is None else (name, [*before, *answer_messages(row[name])])
    if before is None and isinstance(prompt, str):
        before = [{"role": "user", "content": prompt}]
    return None if before is None or completion is None else ("completion", [*before, *completion])


def _listed(row: JsonObject, key: str, listed: list[Json]) -> tuple[Shape, JsonObject, list[Json]]:
    kept = {name: one for name, one in row.items() if name not in _LISTS}
    if any({"from", "value"} <= one.keys() for one in objects_of(listed)):
        return Shape.SHAREGPT, {**kept, "conversations": listed}, listed
    system = row.get("system")
    has_system = any(one.get("role") == "system" for one in objects_of(listed))
    if isinstance(system, str) and system and not has_system and not is_anthropic(row, listed):
        return Shape.MESSAGES, {**kept, "messages": [message_object("system", system), *listed]}, listed
    return Shape.MESSAGES, {**kept, "messages": listed}, listed


def _messages(value: Json) -> list[Json] | None:
    """A list of messages; None for anything else."""
    listed = json_within(value)
    is_list = isinstance(listed, list) and bool(listed) and all(isinstance(one, dict) for one in listed)
    return listed if is_list and isinstance(listed, list) else None


def _instruction(row: JsonObject) -> Iterator[Json]:
    system, extra_input, history = row.get("system"), row.get("input"), row.get("history")
    if isinstance(system, str) and system:
        yield {"role": "system", "content": system}
    for pair in list_of(history):
        if isinstance(pair, list) and len(pair) == 2:
            yield {"role": "user", "content": pair[0]}
            yield {"role": "assistant", "content": pair[1]}
    prompt = (
        f"{row['instruction']}\n{extra_input}" if isinstance(extra_input, str) and extra_input else row["instruction"]
    )
    yield {"role": "user", "content": prompt}
    yield {"role": "assistant", "content": row["output"]}


def _segments(segments: list[JsonObject]) -> JsonObject:
    """The prompt and the completion: the first segment with a label begins the completion."""
    pieces = [(one.get("label") is True, str(one.get("text") or "")) for one in segments]
    first = next((index for index, (is_trained, _) in enumerate(pieces) if is_trained), len(pieces))
    texts = [text for _, text in pieces]
    return {"prompt": "".join(texts[:first]), "completion": "".join(texts[first:])}


TRAINING_DATA = LogSource(
    name="training-data",
    signs="rows with `chosen`, `segments`, `instruction` and `output`, or with lists as JSON texts",
    is_row=_is_own,
    confidence=0.6,
    reader=lambda file: traces_of(read_conversation_rows(file), _trace),
)
"""One trace per row, for shapes that no other importer reads; a row without a conversation is skipped."""
