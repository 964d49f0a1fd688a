"""Reads one sample of an Inspect log as traces: its own conversation, and those of its sub-agents and graders.

Events repeat their input, or refer to messages in a pool of the sample; references to attachments are replaced by their
texts. A request whose answer is in the sample's `messages` belongs to the sample's own conversation. The others form
separate conversations; a request continues the conversation whose messages it repeats.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct, field, structs

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import CALLS, argument_texts, read_message, read_tools, with_calls
from weaklink.inspector.importers.identity import instant, text_of
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import compact_json, count_of, list_of, object_of, objects_of
from weaklink.inspector.memory import RECORD_BYTES
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.wire.answer_reader import finish_meaning
from weaklink.inspector.wire.events import TOKENS_PART, tokens_line

_PARSE_ERROR = lazy_pattern(
    r"Error parsing the following tool call arguments:\n\n(?P<arguments>.*)\n\nError details: ", re.DOTALL
)

_PROTOCOLS = ("attachment://", "tc://")
_KEY_MEMBERS = ("role", "content", CALLS, "tool_call_id")
_DEPTH = 64
_NESTED = 32
_MAX_COMPARED = 2_000_000
_MAX_KEPT = 200_000
_NO_CHUNKS = "the source does not store chunks"
_REWRITTEN = "the arguments of calls are stored parsed; their original text is lost"
_NO_REQUEST = "requests of some answers are not stored: their tools, times and usage are unknown"
_ID_MEMBERS = (("sample", "id"), ("epoch", "epoch"))
_SEPARATE_TRACES = "requests of sub-agents and graders, and discarded answers, are separate child traces"
_RETRIED = "failed attempts at a sample that were retried are left out"
_CONDENSED = "texts beyond 32 MiB in total remain references to attachments"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_DEMONSTRATION = frozenset({model.TurnFlag.DEMONSTRATION})


class Attachments:
    """The texts that a sample stores separately from their messages; references to images are not replaced.

    The replaced texts may have 32 MiB together; beyond, references remain, and `are_left` is true.
    """

    def __init__(self, value: model.Json) -> None:
        self._texts = value if isinstance(value, dict) else {}
        self._names = {text: name for name, text in self._texts.items() if isinstance(text, str)}
        self._left = RECORD_BYTES // 2
        self.are_left = False

    def key_of(self, message: model.Json) -> str:
        """A key that distinguishes a message from the others of its sample: an answer's id, or else the content.

        Answers in older logs have no id; their key is the content. Ids of other messages are not used: a request may
        repeat one user message where the conversation has several with equal content and different ids. The key is the
        same whether texts are in the message or attachments.
        """
        if not isinstance(message, dict):
            return compact_json(message)
        answer_id = text_of(message, "id") if message.get("role") == "assistant" else ""
        return answer_id or compact_json(
            [_with_texts(message.get(key), self._name, _DEPTH, keeps_null=False) for key in _KEY_MEMBERS]
        )

    def resolve(self, value: model.Json) -> model.Json:
        """A JSON value with every reference to a text replaced; values nested more than 64 deep are unchanged."""
        return _with_texts(value, self._text, _DEPTH)

    def _name(self, text: str) -> str:
        """The attachment that a text refers to, or that has this text; any other text unchanged."""
        return text.partition("://")[2] if text.startswith(_PROTOCOLS) else self._names.get(text, text)

    def _text(self, text: str) -> str:
        if not self._texts or not text.startswith(_PROTOCOLS):
            return text
        found = self._texts.get(text.partition("://")[2])
        if not isinstance(found, str) or found.startswith("data:"):
            return text
        self._left -= len(found)
        if self._left < 0:
            self.are_left = True
            return text
        return found


def _with_texts(value: model.Json, change: Callable[[str], str], depth: int, *, keeps_null: bool = True) -> model.Json:
    """A JSON value with changed texts; without members that are null, unless `keeps_null`."""
    if isinstance(value, str):
        return change(value)
    if depth and isinstance(value, list):
        return [_with_texts(one, change, depth - 1, keeps_null=keeps_null) for one in value]
    if depth and isinstance(value, dict):
        members = ((key, one) for key, one in value.items() if keeps_null or one is not None)
        return {key: _with_texts(one, change, depth - 1, keeps_null=keeps_null) for key, one in members}
    return value


def read_inspect_message(message: model.Json, attachments: Attachments, arguments: Mapping[str, str]) -> model.Turn:
    """A message as a turn; `arguments` maps call ids to the exact texts of the calls' arguments. Never raises."""
    if not isinstance(message, dict):
        return read_message(message)
    resolved = attachments.resolve(message)
    assert isinstance(resolved, dict)  # `resolve` keeps the type
    exact = with_calls(
        resolved, lambda calls: [_call(call, arguments) for call in calls] if isinstance(calls, list) else calls
    )
    turn = read_message({**exact, "content": _content(resolved.get("content"))})
    return _with_error(turn, resolved) if turn.role is model.Role.TOOL else turn


def _content(content: model.Json) -> model.Json:
    if not isinstance(content, list):
        return content
    return [read for block in content for read in _blocks(block)]


def _blocks(block: model.Json) -> list[model.Json]:
    """A block in the usual shape of messages; redacted reasoning keeps its block beside the summary."""
    if not isinstance(block, dict) or block.get("type") != "reasoning":
        return [block]
    if block.get("redacted") is not True:
        return [{"type": "reasoning", "text": text_of(block, "reasoning", "summary")}]
    summary = text_of(block, "summary")
    return [{"type": "reasoning", "text": summary}, block] if summary else [block]


def _call(call: model.Json, arguments: Mapping[str, str]) -> model.Json:
    if not isinstance(call, dict):
        return call
    exact = arguments.get(text_of(call, "id"))
    if exact is None and (quoted := _PARSE_ERROR.match(text_of(call, "parse_error"))):
        exact = quoted["arguments"]
    return call if exact is None else {**call, "arguments": exact}


def _with_error(turn: model.Turn, message: JsonObject) -> model.Turn:
    """A result; its error's message becomes the text if that is empty, else a separate part."""
    error = message.get("error")
    error_message = text_of(error, "message") if isinstance(error, dict) else text_of(message, "tool_error")
    header = model.ResultHeader(
        text_of(message, "tool_call_id") or None,
        text_of(message, "function") or None,
        True if error_message else None,
        read_state("inspect", message),
    )
    if not error_message:
        return structs.replace(turn, result=header)
    if not any(part.text for part in turn.parts):
        return structs.replace(turn, result=header, parts=(model.Part("text", error_message),))
    error_part = (
        [model.Part("content:error", error_message)]
        if not any(part.text == error_message for part in turn.parts)
        else []
    )
    return structs.replace(turn, result=header, parts=(*turn.parts, *error_part))


def pool_of(sample: JsonObject) -> list[model.Json]:
    """The messages that a sample stores once for all its events."""
    pooled = sample.get("events_data")
    return list_of(pooled.get("messages") if isinstance(pooled, dict) else sample.get("message_pool"))


def pooled_messages(pool: list[model.Json], refs: model.Json, limit: int) -> list[model.Json] | None:
    """The messages of a pool in the given ranges, in order; None if there are more than `limit`."""
    found: list[model.Json] = []
    for ref in list_of(refs):
        match ref:
            case [int(start), int(end)] if 0 <= start <= end:
                if len(found) + min(end, len(pool)) - start > limit:
                    return None
                found += pool[start:end]
    return found


class InspectRequest(Struct, frozen=True, dict=True):
    """One request: a `model` event."""

    event: JsonObject
    attachments: Attachments

    def input(self, pool: list[model.Json], limit: int) -> list[model.Json] | None:
        """The messages that were sent; None if there are more than `limit`."""
        listed = self.event.get("input")
        if isinstance(listed, list) and listed:
            return listed if len(listed) <= limit else None
        return pooled_messages(pool, self.event.get("input_refs"), limit)

    @cached_property
    def answer(self) -> model.Json:
        """The model's message, None if there was none: if the request failed, Inspect may store an empty message."""
        message = next((choice.get("message") for choice in self._choices), None)
        is_empty = not any(object_of(message).get(key) for key in ("content", CALLS))
        return None if is_empty and self.event.get("error") else message

    @property
    def name(self) -> str:
        """The role of the requested model, if it has one (`grader`)."""
        return text_of(self.event, "role")

    def turn(self) -> model.Turn:
        """The answer as a turn; without an answer, an empty turn with the error."""
        if self.answer is None:
            return model.Turn(model.Role.ASSISTANT, (model.Part("text", ""),), "assistant", generation=self.generation)
        turn = read_inspect_message(self.answer, self.attachments, self.arguments)
        further = [
            model.Part(f"choice{at}:{part.name}", part.text)
            for at, choice in enumerate(self._choices[1:], 1)
            for part in read_inspect_message(choice.get("message"), self.attachments, {}).parts
        ]
        parts = (*turn.parts, *further, *self._tokens())
        return structs.replace(turn, role=model.Role.ASSISTANT, result=None, parts=parts, generation=self.generation)

    def _tokens(self) -> Iterator[model.Part]:
        """The strings of the answer's tokens, if the log has them (`logprobs`)."""
        listed = objects_of(object_of(self._choices[0].get("logprobs")).get("content"))
        if listed:
            yield model.Part(TOKENS_PART, tokens_line("text", 0, [text_of(token, "token") for token in listed]))

    @cached_property
    def generation(self) -> model.Generation:
        """The facts about the answer, such as its model, times, usage and error."""
        event, output = self.event, object_of(self.event.get("output"))
        tools = read_tools(self.attachments.resolve(event.get("tools")))
        settings: JsonObject = {
            key: value for key, value in object_of(event.get("config")).items() if value is not None
        }
        if tools and event.get("tool_choice"):
            settings["tool_choice"] = event["tool_choice"]
        finish = text_of(self._choices[0], "stop_reason") if self.answer is not None else ""
        usage = object_of(output.get("usage"))
        retries = count_of(event.get("retries"))
        error_message = text_of(event, "error") or text_of(output, "error")
        return model.Generation(
            requested_model=text_of(event, "model"),
            answered_model=text_of(output, "model"),
            parameters=compact_json(settings) if settings else "",
            tools=tools,
            tools_origin=model.ToolsOrigin.REQUEST if tools else None,
            attempt=1 + max(0, retries or 0),
            started=instant(event.get("timestamp")),
            ended=instant(event.get("completed")),
            usage=model.Usage(
                count_of(usage.get("input_tokens")),
                count_of(usage.get("output_tokens")),
                count_of(usage.get("reasoning_tokens")),
                count_of(usage.get("input_tokens_cache_read")),
            ),
            finish_reason=finish or None,
            finish=finish_meaning(finish) if finish else None,
            error=model.GenerationError(model.ErrorPhase.HTTP, error_message) if error_message else None,
            body=model.BodyState.COMPLETE if self.answer is not None else model.BodyState.NOT_STORED,
        )

    @cached_property
    def arguments(self) -> dict[str, str]:
        """The exact texts of the answer's arguments by call id, if the provider's own answer is stored."""
        response = object_of(object_of(self.event.get("call")).get("response"))
        calls = [*argument_texts(choice.get("message") for choice in objects_of(response.get("choices")))]
        calls += [(item.get("call_id"), item.get("arguments")) for item in objects_of(response.get("output"))]
        texts = ((call_id, self.attachments.resolve(text)) for call_id, text in calls)
        return {call_id: text for call_id, text in texts if isinstance(call_id, str) and isinstance(text, str)}

    @cached_property
    def _choices(self) -> list[JsonObject]:
        return [
            choice for choice in objects_of(object_of(self.event.get("output")).get("choices")) if choice.get("message")
        ]


def requests_of(sample: JsonObject, attachments: Attachments) -> Iterator[InspectRequest]:
    """The sample's requests in order, including those nested in other events (older logs)."""
    events = sample.get("events")
    stack = [
        iter(objects_of(events if isinstance(events, list) else object_of(sample.get("transcript")).get("events")))
    ]
    while stack:
        event = next(stack[-1], None)
        if event is None:
            stack.pop()
        elif event.get("event") == "model" and event.get("pending") is not True:
            yield InspectRequest(event, attachments)
        elif (nested := objects_of(event.get("events"))) and len(stack) < _NESTED:
            stack.append(iter(nested))


class InspectConversation(Struct):
    """A conversation: its messages, and the requests by message number.

    `answers` maps an answer's index to its request; `failed` has the failed requests before the message with this
    index. `is_fork` is True if it begins like the sample's own conversation.
    """

    messages: list[model.Json] = field(default_factory=list)
    answers: dict[int, InspectRequest] = field(default_factory=dict)
    failed: dict[int, list[InspectRequest]] = field(default_factory=dict)
    is_fork: bool = False

    def requests(self) -> list[InspectRequest]:
        """All requests of the conversation, including failed ones."""
        return [*self.answers.values(), *(request for several in self.failed.values() for request in several)]


class InspectConversations:
    """The conversations of one sample: `own`, and `others` in the order in which they began.

    At most two million messages of the others are compared, and 200,000 kept; `left_out` counts the requests beyond.
    """

    def __init__(self, messages: list[model.Json], pool: list[model.Json], attachments: Attachments) -> None:
        self.own = InspectConversation(list(messages))
        self.others: list[InspectConversation] = []
        self.left_out = 0
        self._pool = pool
        self._attachments = attachments
        self._expected: dict[str, list[int]] = {}
        self._ends: dict[int, InspectConversation] = {}
        self._own_positions: dict[int, int] = {}
        self._compare_left, self._keep_left = _MAX_COMPARED, _MAX_KEPT
        self._keys_by_object: dict[int, str] = {}
        self._begin()

    def _begin(self) -> None:
        chain = 0
        for index, message in enumerate(self.own.messages):
            key = self._attachments.key_of(message)
            if isinstance(message, dict) and message.get("role") == "assistant":
                self._expected.setdefault(key, []).append(index)
            chain = hash((chain, key))
            self._own_positions[chain] = index + 1
        for positions in self._expected.values():
            positions.reverse()

    def take(self, request: InspectRequest) -> None:
        """Add a request to the conversation that it belongs to."""
        key = self._attachments.key_of(request.answer) if request.answer is not None else ""
        if key and (positions := self._expected.get(key)):
            self.own.answers[positions.pop()] = request
            return
        sent = request.input(self._pool, self._compare_left)
        if sent is None:
            self.left_out += 1
            return
        self._compare_left -= len(sent)
        chains = self._chains(sent)
        position = self._own_positions.get(chains[-1]) if sent else None
        if not key and position is not None:
            self.own.failed.setdefault(position, []).append(request)
            return
        if not key and not sent and not request.generation.error:
            return
        self._put(request, sent, chains, key, is_fork=position is not None)

    def _put(
        self, request: InspectRequest, sent: list[model.Json], chains: list[int], key: str, *, is_fork: bool
    ) -> None:
        shared = next((index for index in range(len(sent), 0, -1) if chains[index] in self._ends), 0)
        conversation = self._ends.pop(chains[shared], None) if shared else None
        more = len(sent) - shared + 1
        if more > self._keep_left:
            self.left_out += 1
            return
        self._keep_left -= more
        if conversation is None:
            conversation = InspectConversation(is_fork=is_fork)
            self.others.append(conversation)
            shared = 0
        conversation.messages += sent[shared:]
        if key:
            conversation.answers[len(conversation.messages)] = request
            conversation.messages.append(request.answer)
            self._ends[hash((chains[-1], key))] = conversation
        else:
            conversation.failed.setdefault(len(conversation.messages), []).append(request)
            self._ends[chains[-1]] = conversation

    def _chains(self, sent: list[model.Json]) -> list[int]:
        """Hashes of the beginnings of a conversation: entry N is the hash of its first N messages."""
        chains = [0]
        for message in sent:
            chains.append(hash((chains[-1], self._key(message))))
        return chains

    def _key(self, message: model.Json) -> str:
        key = self._keys_by_object.get(id(message))  # ids stay valid: pooled messages live as long as the sample
        if key is None:
            key = self._keys_by_object[id(message)] = self._attachments.key_of(message)
        return key


def read_sample(sample: JsonObject, header: JsonObject, record: str) -> Iterator[model.Trace | Skipped]:
    """The trace of a sample, then its other traces; a sample without messages is skipped. `header` is its log's."""
    attachments = Attachments(sample.get("attachments") or object_of(sample.get("transcript")).get("content"))
    conversations = InspectConversations(list_of(sample.get("messages")), pool_of(sample), attachments)
    for request in requests_of(sample, attachments):
        conversations.take(request)
    found = [
        conversation
        for conversation in (conversations.own, *conversations.others)
        if conversation.messages or conversation.failed
    ]
    if not found:
        error_message = text_of(object_of(sample.get("error")), "message")
        why = f"; it failed: `{error_message[:500]}`" if error_message else ""
        yield Skipped(record, f"the sample has no messages{why}")
        return
    spec = object_of(header.get("eval"))
    ids = _ids(sample, spec)
    sample_id = next((id_ for id_ in ids if id_.name in ("uuid", "sample")), model.ExternalId("sample", ""))
    for number, conversation in enumerate(found):
        trace = _trace(sample, header, conversation, attachments)
        more_ids = (model.ExternalId("conversation", str(number + 1)),) if number else ()
        position = record if not number else f"{record}, conversation {number + 1}"
        more = [_SEPARATE_TRACES] if len(found) > 1 and not number else []
        if conversations.left_out and not number:
            more.append(
                f"{conversations.left_out} requests outside the conversation are left out: they repeat too many "
                "messages"
            )
        yield structs.replace(
            trace,
            external_ids=(*ids, *more_ids),
            recognised_by=model.RecognisedBy.PREFIX_CHAIN if number else model.RecognisedBy.FIELD,
            parent=model.ParentTrace(
                sample_id, model.ParentWhy.FORK if conversation.is_fork else model.ParentWhy.SUBAGENT
            )
            if number
            else None,
            outcome=None if number else _outcome(sample),
            provenance=structs.replace(trace.provenance, record=position, warnings=(*trace.provenance.warnings, *more)),
        )


def _trace(
    sample: JsonObject, header: JsonObject, conversation: InspectConversation, attachments: Attachments
) -> model.Trace:
    spec, version = object_of(header.get("eval")), count_of(header.get("version"))
    model_name = text_of(spec, "model")
    turns = tuple(_turns(conversation, attachments, model_name))
    requests = conversation.requests()
    role = next((name for request in requests if (name := request.name)), "")
    task = text_of(spec, "task")
    named = f"{task} {sample.get('id')}, epoch {sample.get('epoch')}" + (f", {role}" if role else "")
    began = min(
        (at for request in requests if (at := request.generation.started)), key=lambda at: at.at_s, default=None
    )
    return model.Trace(
        turns=turns,
        name=named.strip(),
        model=next((name for request in requests if (name := request.generation.requested_model)), model_name),
        started=began or instant(sample.get("started_at")) or instant(spec.get("created")),
        provenance=model.Provenance(
            source_version="" if version is None else str(version),
            warnings=tuple(_warnings(sample, conversation, turns, attachments)),
        ),
    )


def _warnings(
    sample: JsonObject, conversation: InspectConversation, turns: tuple[model.Turn, ...], attachments: Attachments
) -> Iterator[str]:
    yield _NO_CHUNKS
    exact = {named for request in conversation.requests() for named in request.arguments}
    if any(call.id not in exact for turn in turns for call in turn.calls):
        yield _REWRITTEN
    if any(
        turn.generation == model.Generation(requested_model=turn.generation.requested_model)
        for turn in turns
        if turn.generation
    ):
        yield _NO_REQUEST
    if sample.get("error_retries"):
        yield _RETRIED
    if attachments.are_left:
        yield _CONDENSED


def _turns(conversation: InspectConversation, attachments: Attachments, model_name: str) -> Iterator[model.Turn]:
    for index, message in enumerate(conversation.messages):
        yield from (request.turn() for request in conversation.failed.get(index, ()))
        yield _turn(conversation, index, message, attachments, model_name)
    yield from (request.turn() for request in conversation.failed.get(len(conversation.messages), ()))


def _turn(
    conversation: InspectConversation, at: int, message: model.Json, attachments: Attachments, model_name: str
) -> model.Turn:
    request = conversation.answers.get(at)
    if request is not None:
        return request.turn()
    turn = read_inspect_message(message, attachments, {})
    if turn.role is not model.Role.ASSISTANT:
        return turn
    if isinstance(message, dict) and message.get("source") == "input":
        return structs.replace(turn, flags=_DEMONSTRATION)
    return structs.replace(turn, generation=model.Generation(requested_model=model_name, body=model.BodyState.COMPLETE))


def _ids(sample: JsonObject, spec: JsonObject) -> tuple[model.ExternalId, ...]:
    """The sample's `uuid`, its id and its epoch; without a `uuid` also the id of its run."""
    named, run = text_of(sample, "uuid"), text_of(spec, "run_id", "task_id", "created")
    first = model.ExternalId("uuid", named) if named else model.ExternalId("run", run)
    known = (model.ExternalId(name, str(sample[key])) for name, key in _ID_MEMBERS if sample.get(key) is not None)
    return (*((first,) if first.value else ()), *known)


def _outcome(sample: JsonObject) -> model.Outcome:
    error = text_of(object_of(sample.get("error")), "message")
    limit = text_of(object_of(sample.get("limit")), "type")
    scores = sample.get("scores")
    listed: list[model.Json] = list(scores.values()) if isinstance(scores, dict) else [sample.get("score")]
    values = (_value(one.get("value")) for one in listed if isinstance(one, dict))
    return model.Outcome(
        completed=not (error or limit),
        exit_status=error or (f"limit: {limit}" if limit else None),
        reward=next((value for value in values if value is not None), None),
    )


def _value(value: model.Json) -> float | None:
    """A score as a number; letters have Inspect's values (`scorer/_metric.py`, `value_to_float`)."""
    if isinstance(value, bool | int | float):
        return float(value)
    return _LETTERS.get(value) if isinstance(value, str) else None
