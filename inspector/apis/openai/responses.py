"""OpenAI's Responses: the shapes, the answer (streamed or whole) as wire events, and the request.

A stream reports a response (`response.created`), its items and their texts, each under its `output_index` and
`item_id`, and ends with `response.completed`, `.incomplete` or `.failed`, which repeats all of it. Sources: OpenAI's
API reference (responses, streaming events) and the types of openai-python:src/openai/types/responses.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from weaklink.inspector.apis.openai import client_tools
from weaklink.inspector.apis.openai.chat import BLOCK_TEXTS, OpenAIUsageShape, TokenLogprob
from weaklink.inspector.apis.openai.messages import read_message, read_tools
from weaklink.inspector.apis.openai.tool_lists import ADDITIONAL_TOOLS
from weaklink.inspector.json_text import compact_json, flag_of, word_of
from weaklink.inspector.model import CallHeader, Json, Part, Role, Turn
from weaklink.inspector.wire import events
from weaklink.inspector.wire.answer_reader import ObjectReader
from weaklink.inspector.wire.provider_json import NOTHING, StructReader, raw_text

_NO_SETTINGS = ("model", "input", "instructions", "tools", "stream", "previous_response_id")
_BY_CLIENT = frozenset({"mcp_approval_response", ADDITIONAL_TOOLS})
"""The types of items that a client adds and that answer no call."""

ANNOTATIONS_PART = "wire:annotations"
"""The part that keeps, as JSON texts, the annotations of a text."""

CALL_ITEMS = frozenset(client_tools.CALL_MEMBERS)
"""The types of items that are calls."""

_READ = CALL_ITEMS | {"message", "reasoning"}
API = "responses"
"""The name of this kind of endpoint in a generation's facts."""

END_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""The types of events that end a stream; each contains the whole response."""

# Texts of server-side tools, which arrive in pieces; the finished item contains them whole.
_VERBATIM_TEXTS = frozenset(
    {"code_interpreter_call_code", "mcp_call_arguments", "mcp_call.arguments", "shell_call_command"}
)

# Events that report only progress; the items contain the same.
_STATES = re.compile(
    r"response\.(?:created|queued|in_progress|content_part\.(?:added|done)|reasoning_summary_part\.(?:added|done)|"
    r"(?:web_search|file_search|code_interpreter|image_generation|mcp|computer|local_shell|shell|apply_patch)_call"
    r"\.(?:in_progress|searching|interpreting|generating|completed|failed)|"
    r"shell_call_command\.added|mcp_list_tools\.(?:in_progress|completed|failed)|compaction\.compacting)|keepalive"
)


def read_responses_request(request: dict[str, Json]) -> events.DecodedRequest:
    """A request for a response; never raises.

    `instructions` are the system turn. Items of one answer that follow each other (reasoning, messages, calls) are one
    assistant turn; an item of a kind that weaklink does not read is kept as JSON text in a part `content:N`, N being
    its index in the input. Calls of OpenAI's tools that the client runs are calls (`client_tools` has the table), and
    their outputs tool turns; what OpenAI ran itself stays within the answer. With `previous_response_id`, the input
    contains only what is new.
    """
    input_value = request.get("input")
    items: list[Json] = input_value if isinstance(input_value, list) else [] if input_value is None else [input_value]
    return events.DecodedRequest(
        API,
        word_of(request.get("model")),
        (*_instructions(request.get("instructions")), *_turns(items)),
        read_tools(request.get("tools")),
        events.parameters_of(request, without=_NO_SETTINGS),
        flag_of(request.get("stream")) or False,
        word_of(request.get("previous_response_id")),
    )


def _instructions(instructions: Json) -> Iterator[Turn]:
    if instructions:
        yield read_message({"role": "system", "content": instructions})


def _turns(items: list[Json]) -> Iterator[Turn]:
    answer: list[tuple[int, dict[str, Json]]] = []
    run_by_provider = client_tools.ids_of_provider(items)
    for index, item in enumerate(items):
        if isinstance(item, dict) and _is_answer(item, run_by_provider):
            answer.append((index, item))
            continue
        yield from _answer(answer)
        answer = []
        yield _turn(item)
    yield from _answer(answer)


def _is_answer(item: dict[str, Json], run_by_provider: frozenset[str]) -> bool:
    kind = _kind(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in _BY_CLIENT and not client_tools.is_result(item, kind, run_by_provider)


def _kind(item: dict[str, Json]) -> str:
    """The kind of an item; in the API, an item without one is a message."""
    return word_of(item.get("type", "message"))


def _turn(item: Json) -> Turn:
    if not isinstance(item, dict):
        return read_message({"role": "user", "content": item} if isinstance(item, str) else item)
    kind = _kind(item)
    if kind == "message":
        return read_message(item)
    if kind in _BY_CLIENT:
        role = Role.SYSTEM if kind == ADDITIONAL_TOOLS else Role.USER
        return Turn(role, (Part("content:0", compact_json(item)),), kind)
    return client_tools.read_result(item, kind)


def _answer(items: list[tuple[int, dict[str, Json]]]) -> Iterator[Turn]:
    """The turn of items that follow each other, if there are any."""
    if not items:
        return
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    for index, item in items:
        kind = _kind(item)
        call_id, caller = word_of(item.get("call_id")) or None, client_tools.caller_id(item.get("caller"))
        part = f"call:{len(calls)}"
        if kind in CALL_ITEMS:
            calls.append(
                CallHeader(part, word_of(item.get("name")) or None, call_id, kind in client_tools.TEXT_ITEMS, caller)
            )
            arguments = item.get(client_tools.CALL_MEMBERS[kind], "")
            texts[part] = [arguments if isinstance(arguments, str) else compact_json(arguments)]
        elif client_tools.is_run_by_client(kind, item.get("execution"), item.get("environment")):
            calls.append(CallHeader(part, client_tools.OWN_CALLS[kind], call_id, caller=caller))
            texts[part] = [client_tools.own_arguments(item)]
        elif kind == "reasoning":
            texts.setdefault("reasoning", []).extend(_reasoning(item))
            if encrypted := word_of(item.get("encrypted_content")):
                texts[f"wire:encrypted_reasoning:{index}"] = [encrypted]
        elif kind == "message":
            for message_part in read_message(item).parts:
                texts.setdefault(message_part.name.replace("content:", f"content:{index}."), []).append(
                    message_part.text
                )
        else:
            texts[f"content:{index}"] = [compact_json(item)]
    parts = tuple(Part(name, "".join(pieces)) for name, pieces in texts.items())
    yield replace(Turn(Role.ASSISTANT, parts, "assistant"), calls=tuple(calls))


def _reasoning(item: dict[str, Json]) -> Iterator[str]:
    for key in ("summary", "content"):
        pieces = item.get(key)
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                yield word_of(piece.get("text"))


class OutputText(msgspec.Struct):
    """A text of a message, a reasoning text, or a summary of one."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None
    logprobs: list[TokenLogprob] | None = None
    annotations: msgspec.Raw = NOTHING


class OutputItem(msgspec.Struct):
    """An item of the output, of a kind that weaklink reads; an item of another kind is kept as its text."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    content: list[OutputText] | None = None
    summary: list[OutputText] | None = None
    encrypted_content: str | None = None
    caller: Any = None


class ItemKind(msgspec.Struct):
    """The type of an item, and where it runs, which decide how it is read."""

    type: str = ""
    execution: str | None = None
    environment: Any = None


class IncompleteDetails(msgspec.Struct):
    """Why a response is incomplete."""

    reason: str | None = None


class ResponseShape(msgspec.Struct):
    """A response: from an event, or the whole answer."""

    id: str | None = None
    object: str | None = None
    model: str | None = None
    status: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: OpenAIUsageShape | None = None
    error: Any = None
    incomplete_details: IncompleteDetails | None = None


class ResponseEvent(ResponseShape):
    """One event of a stream, or a response that came whole."""

    type: str | None = None
    response: ResponseShape | None = None
    item: msgspec.Raw = NOTHING
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: str | None = None
    text: str | None = None
    arguments: str | None = None
    input: str | None = None
    refusal: str | None = None
    annotation: msgspec.Raw = NOTHING
    logprobs: list[TokenLogprob] | None = None


read_event = StructReader(ResponseEvent)
read_item = StructReader(OutputItem)
_read_kind = StructReader(ItemKind)


def _read_item(text: str) -> tuple[OutputItem, list[str]]:
    """An item, and the paths of what did not fit; a call that the client runs has a name and its arguments' text."""
    kind, _ = _read_kind(text)
    if kind.type not in client_tools.OWN_CALLS and kind.type not in client_tools.OWN_RESULTS:
        return read_item(text)
    if not client_tools.is_run_by_client(kind.type, kind.execution, kind.environment):
        return OutputItem(kind.type, client_tools.read_own_item(text)[0].id), []
    own, strange = client_tools.read_own_item(text)
    name, arguments = client_tools.OWN_CALLS[own.type], own.arguments_text()
    return OutputItem(own.type, own.id, own.call_id, name, arguments, caller=own.caller), strange


def _named(part: str, item: OutputItem) -> events.CallNamed:
    caller = client_tools.caller_id(item.caller)
    is_text = item.type in client_tools.TEXT_ITEMS
    return events.CallNamed(part, item.name or None, item.call_id or None, is_text, caller)


class ItemText(NamedTuple):
    """A text of an item: its key among the item's texts, and the part that it goes to.

    The part is `call` for the arguments of a call, which go to the part of this call, and `content` for what is kept as
    it came.
    """

    key: str
    part: str


class _OpenItem:
    """An item as far as it came, and its texts by their keys."""

    __slots__ = ("call", "id", "index", "is_done", "is_named", "kind", "texts")

    def __init__(self, index: int, kind: str, id_: str | None) -> None:
        self.index = index
        self.kind = kind
        self.id = id_
        self.call = ""  # the part that holds a call's arguments
        self.is_named = False  # whether the call's name came
        self.is_done = False
        self.texts: dict[str, list[str]] = {}


class ItemsReader:
    """Assigns parts to each item. `last_part` is the part that grew last.

    `reused_index` is the index of the latest item if another call already has it, else None. `contradicting` are the
    keys of texts that came whole and differ from their pieces; the reader that has this object empties it.
    """

    __slots__ = (
        "_by_id",
        "_by_index",
        "_calls",
        "_count",
        "_token_texts",
        "contradicting",
        "last_part",
        "reused_index",
    )

    def __init__(self) -> None:
        self._by_index: dict[int, _OpenItem] = {}
        self._by_id: dict[str, _OpenItem] = {}
        self._calls = 0
        self._count = 0
        self._token_texts = events.TokenTexts()
        self.last_part = "text"
        self.reused_index: int | None = None
        self.contradicting: list[str] = []

    def open(self, index: int | None, text: str, at_s: float | None, wire_events: list[events.WireEvent]) -> list[str]:
        """Append the events of a new item, whose JSON text is `text`; returns the paths of unknown members."""
        try:
            item, strange = _read_item(text)
        except ValueError:
            return ["item"]
        known = self._by_index.get(self._count if index is None else index)
        self.reused_index = index if known and known.id != item.id and known.kind in CALL_ITEMS else None
        self._begin(index, item, text, at_s, wire_events)
        return [f"item.{path}" for path in strange]

    def finish(
        self, index: int | None, text: str, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> list[str]:
        """Append what a finished item adds to what came before; returns the paths of unknown members."""
        try:
            item, strange = _read_item(text)
        except ValueError:
            return ["item"]
        known = self._known(item.id, index)
        if known is None or known.kind != item.type:
            known = self._begin(index, item, "", at_s, wire_events)
        if known.is_done:
            return []
        known.is_done = True
        if not known.call and item.type not in _READ:
            wire_events.append(
                events.PartGrew(f"content:{known.index}:done" if known.texts else f"content:{known.index}", text, at_s)
            )
            return []
        if known.call and not known.is_named and item.name:
            wire_events.append(_named(known.call, item))
        strange += self._read_texts(known, item, at_s, wire_events)
        if item.encrypted_content:
            wire_events.append(events.PartGrew(f"wire:encrypted_reasoning:{known.index}", item.encrypted_content, at_s))
        return [f"item.{path}" for path in strange]

    def grow(
        self, item_text: ItemText, event: ResponseEvent, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> list[str]:
        """Append a piece of a text; returns the path of its item's index if there is no such item."""
        item = self._known(event.item_id, event.output_index)
        strange = []
        if item is None:
            strange = ["output_index"]
            kind = client_tools.FUNCTION if item_text.part == "call" else "message"
            item = self._begin(event.output_index, OutputItem(kind, event.item_id), "", at_s, wire_events)
        text = event.delta or ""
        item.texts.setdefault(item_text.key, []).append(text)
        self._grow(_part(item, item_text), text, at_s, wire_events, logprobs=event.logprobs)
        return strange

    def complete(
        self,
        item_text: ItemText,
        text: str | None,
        event: ResponseEvent,
        at_s: float | None,
        wire_events: list[events.WireEvent],
    ) -> list[str]:
        """Append a whole text if no piece of it came; returns the path of its item's index if there is no such item."""
        item = self._known(event.item_id, event.output_index)
        if item is None:
            return ["output_index"]
        self._complete(item, item_text, text, at_s, wire_events)
        return []

    def _known(self, id_: str | None, index: int | None) -> _OpenItem | None:
        if id_ and id_ in self._by_id:
            return self._by_id[id_]
        return None if index is None else self._by_index.get(index)

    def _begin(
        self, index: int | None, item: OutputItem, text: str, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> _OpenItem:
        """A new item; `text` is its JSON text if that is to be kept, else empty."""
        opened = _OpenItem(self._count if index is None else index, item.type, item.id)
        if opened.index in self._by_index:
            opened.index = self._count
        self._count = max(self._count, opened.index) + 1
        self._by_index[opened.index if index is None else index] = opened
        if item.id:
            self._by_id[item.id] = opened
        if item.type in CALL_ITEMS or (item.type in client_tools.OWN_CALLS and item.name):
            opened.call = self.last_part = f"call:{self._calls}"
            self._calls += 1
            opened.is_named = bool(item.name)
            wire_events.append(_named(opened.call, item))
        elif item.type not in _READ and text:
            opened.texts["item"] = [text]
            wire_events.append(events.PartGrew(f"content:{opened.index}", text, at_s))
        return opened

    def _read_texts(
        self, known: _OpenItem, item: OutputItem, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> list[str]:
        strange = []
        if known.call:
            text = getattr(item, client_tools.CALL_MEMBERS.get(item.type, "arguments"))
            self._complete(known, ItemText("call", "call"), text, at_s, wire_events)
        for index, piece in enumerate(item.summary or ()):
            self._complete(known, ItemText(f"summary[{index}]", "reasoning"), piece.text, at_s, wire_events)
        for index, piece in enumerate(item.content or ()):
            strange += self._read_content(known, index, piece, at_s, wire_events)
        return strange

    def _read_content(
        self, known: _OpenItem, index: int, piece: OutputText, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> list[str]:
        annotations = raw_text(piece.annotations)
        if annotations.strip("[] \t\r\n") and "annotations" not in known.texts:
            wire_events.append(events.PartGrew(ANNOTATIONS_PART, annotations, at_s))
        part, member = BLOCK_TEXTS.get(piece.type or "", ("", ""))
        if not hasattr(piece, member):
            return [f"content[{index}].type {piece.type}"]
        item_text = ItemText(f"{'refusal' if part == 'refusal' else 'content'}[{index}]", part)
        self._complete(known, item_text, getattr(piece, member), at_s, wire_events, logprobs=piece.logprobs)
        return []

    def annotate(self, event: ResponseEvent, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        """Append an annotation of a text."""
        item = self._known(event.item_id, event.output_index)
        if item is not None:
            item.texts.setdefault("annotations", [])
        wire_events.append(events.PartGrew(ANNOTATIONS_PART, raw_text(event.annotation), at_s))

    def _complete(
        self,
        item: _OpenItem,
        item_text: ItemText,
        text: str | None,
        at_s: float | None,
        wire_events: list[events.WireEvent],
        *,
        logprobs: list[TokenLogprob] | None = None,
    ) -> None:
        pieces = item.texts.get(item_text.key)
        if pieces:
            item.texts[item_text.key] = pieces = ["".join(pieces)]
            if text is not None and pieces[0] != text:
                self.contradicting.append(item_text.key)
        elif text:
            item.texts[item_text.key] = [text]
            self._grow(_part(item, item_text), text, at_s, wire_events, logprobs=logprobs)

    def _grow(
        self,
        part: str,
        text: str,
        at_s: float | None,
        wire_events: list[events.WireEvent],
        *,
        logprobs: list[TokenLogprob] | None = None,
    ) -> None:
        numbers = tuple(token.logprob for token in logprobs or () if token.logprob is not None) or None
        if text or numbers:
            if not part.startswith("content:"):
                self.last_part = part
            grew = events.PartGrew(part, text, at_s, None, numbers)
            wire_events.append(grew)
            if numbers:
                self._token_texts.keep(grew, [token.token for token in logprobs or ()], wire_events)


def _part(item: _OpenItem, item_text: ItemText) -> str:
    if item_text.part == "content" or (item_text.part == "call" and not item.call):
        return f"content:{item.index}:delta"
    return item.call if item_text.part == "call" else item_text.part


class EventText(NamedTuple):
    """The text that an event adds to; `member` is that of the event's end that has it whole."""

    item_text: ItemText
    member: str


_TEXTS = {
    "output_text": EventText(ItemText("content[{0}]", "text"), "text"),
    "refusal": EventText(ItemText("refusal[{0}]", "refusal"), "refusal"),
    "reasoning_text": EventText(ItemText("content[{0}]", "reasoning"), "text"),
    "reasoning": EventText(ItemText("content[{0}]", "reasoning"), "text"),
    "reasoning_summary_text": EventText(ItemText("summary[{1}]", "reasoning"), "text"),
    "reasoning_summary": EventText(ItemText("summary[{1}]", "reasoning"), "text"),
    **{f"{kind}_{key}": EventText(ItemText("call", "call"), key) for kind, key in client_tools.CALL_MEMBERS.items()},
}


def text_of_event(kind: str) -> tuple[EventText | None, str]:
    """The text that an event of this type adds to, None if it adds to none; and `delta` for a piece, `done` for all."""
    name, _, step = kind.removeprefix("response.").rpartition(".")
    return _TEXTS.get(name) if step in {"delta", "done"} else None, step


class ResponsesReader(ObjectReader):
    """Reads the events of one answer, or a response that came whole; see `inspector.wire.answer_reader`."""

    __slots__ = ("_is_over", "_items")

    api = API
    unended = "The stream ended without `response.completed`."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        super().__init__(status=status, whole=whole)
        self._items = ItemsReader()
        self._is_over = False

    @property
    def has_ended(self) -> bool:
        """Whether an event that ends the stream came."""
        return self._is_over

    def read(self, text: str, raw: str, at_s: float | None, wire_events: list[events.WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is its text on the wire. False if it is no answer at all."""
        try:
            event, strange = read_event(text)
        except ValueError:
            return self.faults.read_error(text, raw, at_s, wire_events)
        if event.object == "response" or (event.type is None and event.output is not None):
            strange += self._read_response(event, raw, at_s, wire_events, is_end=True)
        elif event.type is None or event.type == "error":
            return self.faults.read_error(text, raw, at_s, wire_events)
        else:
            more = self._read_event(event.type, event, raw, at_s, wire_events)
            if more is None:
                return False
            strange += more
        self.faults.last_part = self._items.last_part
        if self._items.contradicting:
            self.faults.keep_contradiction(self._items.contradicting, raw, at_s, wire_events)
            self._items.contradicting = []
        else:
            self._keep(strange, raw, at_s, wire_events)
        return True

    def _read_event(
        self, kind: str, event: ResponseEvent, raw: str, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> list[str] | None:
        """The paths of what could not be read; None for an unknown event."""
        if event.response is not None:
            return self._read_response(event.response, raw, at_s, wire_events, is_end=kind in END_EVENTS)
        match kind:
            case "response.output_item.added":
                strange = self._items.open(event.output_index, raw_text(event.item), at_s, wire_events)
                if self._items.reused_index is not None:
                    self.faults.keep_reused(self._items.reused_index, raw, at_s, wire_events)
                return strange
            case "response.output_item.done":
                return self._items.finish(event.output_index, raw_text(event.item), at_s, wire_events)
            case "response.output_text.annotation.added":
                self._items.annotate(event, at_s, wire_events)
                return []
        return self._read_text(kind, event, at_s, wire_events)

    def _read_text(
        self, kind: str, event: ResponseEvent, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> list[str] | None:
        text, step = text_of_event(kind)
        if text is not None:
            key = text.item_text.key.format(event.content_index or 0, event.summary_index or 0)
            item_text = ItemText(key, text.item_text.part)
            if step == "delta":
                return self._items.grow(item_text, event, at_s, wire_events)
            return self._items.complete(item_text, getattr(event, text.member), event, at_s, wire_events)
        name = kind.removeprefix("response.").rpartition(".")[0]
        if name in _VERBATIM_TEXTS and step in {"delta", "done"}:
            return self._items.grow(ItemText(name, "content"), event, at_s, wire_events) if step == "delta" else []
        return [] if _STATES.fullmatch(kind) else None

    def _read_response(
        self,
        response: ResponseShape,
        raw: str,
        at_s: float | None,
        wire_events: list[events.WireEvent],
        *,
        is_end: bool,
    ) -> list[str]:
        strange = []
        self._learn_head(response.id, response.model, wire_events)
        if is_end:
            self._is_over = True
            for index, item in enumerate(response.output or ()):
                strange += self._items.finish(index, raw_text(item), at_s, wire_events)
            self.faults.last_part = self._items.last_part
            self._learn_end(response, wire_events)
        if response.usage is not None:
            wire_events.append(events.FactsLearned(usage=response.usage.usage()))
        if response.error:
            self.faults.fail(response.error, raw, at_s, wire_events, in_answer=True)
        return strange

    def _learn_end(self, response: ResponseShape, wire_events: list[events.WireEvent]) -> None:
        incomplete = response.incomplete_details.reason if response.incomplete_details else None
        if finish := incomplete or response.status:
            self._learn_finish(finish, wire_events)
