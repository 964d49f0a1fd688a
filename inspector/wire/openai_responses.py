"""OpenAI's Responses, streamed or whole: their JSON objects, in the order they come, as wire events.

A stream tells of a response (`response.created`), of its items and their texts, each under its `output_index` and
`item_id`, and ends with `response.completed`, `response.incomplete` or `response.failed`, which hold it whole.
"""

import re

from inspector.wire.answer_faults import AnswerFaults
from inspector.wire.events import FactsLearned, WireEvent
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.responses_items import ItemsReader, ItemText
from inspector.wire.responses_shapes import Response, ResponseEvent, read_event
from inspector.wire.shapes import raw_text

API = "responses"
"""The name of this kind of endpoint in a generation's facts."""

_INDEX = re.compile(r"\[\d+\]")
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})

# Which text a piece belongs to, by the event's name without `response.` and `.delta` or `.done`: the place in its item,
# the part that it goes to, and the member that holds it whole.
_TEXTS = {
    "output_text": (ItemText("content[{0}]", "text"), "text"),
    "refusal": (ItemText("refusal[{0}]", "refusal"), "refusal"),
    "reasoning_text": (ItemText("content[{0}]", "reasoning"), "text"),
    "reasoning": (ItemText("content[{0}]", "reasoning"), "text"),
    "reasoning_summary_text": (ItemText("summary[{1}]", "reasoning"), "text"),
    "reasoning_summary": (ItemText("summary[{1}]", "reasoning"), "text"),
    "function_call_arguments": (ItemText("call", "call"), "arguments"),
    "custom_tool_call_input": (ItemText("call", "call"), "input"),
}
# What the server's own tools grow by; the item that is done holds it whole.
_KEPT_TEXTS = frozenset(
    {"code_interpreter_call_code", "mcp_call_arguments", "mcp_call.arguments", "shell_call_command"}
)
# What only says how far something is; the items say the same.
_STATES = re.compile(
    r"response\.(?:created|queued|in_progress|content_part\.(?:added|done)|reasoning_summary_part\.(?:added|done)|"
    r"(?:web_search|file_search|code_interpreter|image_generation|mcp|computer|local_shell|shell|apply_patch)_call"
    r"\.(?:in_progress|searching|interpreting|generating|completed|failed)|"
    r"shell_call_command\.added|mcp_list_tools\.(?:in_progress|completed|failed)|compaction\.compacting)|keepalive"
)


class ResponsesReader:
    """Reads the events of one answer, or a response that came whole; see `inspector.wire.reader`."""

    __slots__ = ("_items", "_model", "_response_id", "faults", "finish", "has_ended")

    api = API
    unended = "The stream ended without `response.completed`."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        self.faults = AnswerFaults(status=status, whole=whole)
        self.finish = ""
        self.has_ended = False
        self._items = ItemsReader()
        self._response_id = ""
        self._model = ""

    def read(self, text: str, raw: str, at_s: float | None, found: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is what the wire held. False where it is no answer at all."""
        try:
            event, strange = read_event(text)
        except ValueError:
            return self.faults.read_error(text, raw, at_s, found)
        if event.object == "response" or (event.type is None and event.output is not None):
            strange += self._read_response(event, raw, at_s, found, is_end=True)
        elif event.type is None or event.type == "error":
            return self.faults.read_error(text, raw, at_s, found)
        else:
            more = self._read_event(event.type, event, raw, at_s, found)
            if more is None:
                return False
            strange += more
        self.faults.last_part = self._items.last_part
        if self._items.contradicting:
            self.faults.keep_contradiction(self._items.contradicting, raw, at_s, found)
            self._items.contradicting = []
        elif strange:
            self.faults.keep(raw, {_INDEX.sub("", path): path for path in strange}, at_s, found)
        return True

    def _read_event(
        self, kind: str, event: ResponseEvent, raw: str, at_s: float | None, found: list[WireEvent]
    ) -> list[str] | None:
        """The paths of what could not be read; None for an event that is not known."""
        if event.response is not None:
            return self._read_response(event.response, raw, at_s, found, is_end=kind in _ENDS)
        match kind:
            case "response.output_item.added":
                strange = self._items.open(event.output_index, raw_text(event.item), at_s, found)
                if self._items.reused_index is not None:
                    self.faults.keep_reused(self._items.reused_index, raw, at_s, found)
                return strange
            case "response.output_item.done":
                return self._items.finish(event.output_index, raw_text(event.item), at_s, found)
            case "response.output_text.annotation.added":
                self._items.annotate(event, at_s, found)
                return []
        return self._read_text(kind, event, at_s, found)

    def _read_text(
        self, kind: str, event: ResponseEvent, at_s: float | None, found: list[WireEvent]
    ) -> list[str] | None:
        name, _, step = kind.removeprefix("response.").rpartition(".")
        if name in _TEXTS and step in {"delta", "done"}:
            (key, part), whole = _TEXTS[name]
            place = ItemText(key.format(event.content_index or 0, event.summary_index or 0), part)
            if step == "delta":
                return self._items.grow(place, event, at_s, found)
            return self._items.complete(place, getattr(event, whole), event, at_s, found)
        if name in _KEPT_TEXTS and step in {"delta", "done"}:
            return self._items.grow(ItemText(name, "content"), event, at_s, found) if step == "delta" else []
        return [] if _STATES.fullmatch(kind) else None

    def _read_response(
        self, response: Response, raw: str, at_s: float | None, found: list[WireEvent], *, is_end: bool
    ) -> list[str]:
        strange = []
        if (response.id and not self._response_id) or (response.model and not self._model):
            self._response_id = self._response_id or response.id or ""
            self._model = self._model or response.model or ""
            found.append(FactsLearned(self._response_id or None, self._model or None))
        if is_end:
            self.has_ended = True
            for index, item in enumerate(response.output or ()):
                strange += self._items.finish(index, raw_text(item), at_s, found)
            self.faults.last_part = self._items.last_part
            self._learn_end(response, found)
        if response.usage is not None:
            found.append(FactsLearned(usage=response.usage.usage()))
        if response.error:
            self.faults.fail(response.error, raw, at_s, found, in_answer=True)
        return strange

    def _learn_end(self, response: Response, found: list[WireEvent]) -> None:
        incomplete = response.incomplete_details.reason if response.incomplete_details else None
        self.finish = incomplete or response.status or ""
        if self.finish:
            found.append(FactsLearned(finish_reason=self.finish, finish=finish_meaning(self.finish)))
