"""Anthropic's messages, streamed or whole: their JSON objects, in the order they come, as wire events.

A stream is `message_start`, then blocks, each opened, grown and closed under its `index`, then `message_delta` with the
stop reason and `message_stop`; `ping` may come anywhere, `error` in the place of anything.
"""

import re

from inspector.wire.answer_faults import AnswerFaults
from inspector.wire.anthropic_blocks import BlocksReader
from inspector.wire.anthropic_shapes import (
    AnthropicMessageShape,
    AnthropicUsageShape,
    BlockDelta,
    MessageEvent,
    read_event,
)
from inspector.wire.events import FactsLearned, PartGrew, WireEvent
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.shapes import raw_text

API = "messages"
"""The name of this kind of endpoint in a generation's facts."""

DETAILS_PART = "wire:stop_details"
"""The part that keeps, as JSON text, what the server says of its stop reason."""

_INDEX = re.compile(r"\[\d+\]")


class MessagesReader:
    """Reads the events of one answer, or a message that came whole; see `inspector.wire.reader`."""

    __slots__ = ("_blocks", "_is_stopped", "_usage", "faults", "finish")

    api = API
    unended = "The stream ended without `message_stop`."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        self.faults = AnswerFaults(status=status, whole=whole)
        self.finish = ""
        self._blocks = BlocksReader()
        self._usage = AnthropicUsageShape()
        self._is_stopped = False

    @property
    def has_ended(self) -> bool:
        """Whether `message_stop` came."""
        return self._is_stopped

    def read(self, text: str, raw: str, at_s: float | None, found: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is what the wire held. False where it is no answer at all."""
        try:
            event, strange = read_event(text)
        except ValueError:
            return self.faults.read_error(text, raw, at_s, found)
        if event.type == "error" or event.error:
            self.faults.fail(event.error or {"type": "error"}, raw, at_s, found)
            return True
        more = self._read_event(event, at_s, found)
        if more is None:
            return self.faults.read_error(text, raw, at_s, found)
        strange += more
        self.faults.last_part = self._blocks.last_part
        if strange:
            self.faults.keep(raw, {_INDEX.sub("", path): path for path in strange}, at_s, found)
        return True

    def _read_event(self, event: MessageEvent, at_s: float | None, found: list[WireEvent]) -> list[str] | None:
        """The paths of what could not be read; None for an event that is not known."""
        match event.type:
            case "content_block_delta" if event.delta is not None:
                return self._blocks.grow(event.index or 0, event.delta, at_s, found)
            case "content_block_start":
                return self._blocks.open(event.index or 0, raw_text(event.content_block), at_s, found)
            case "content_block_stop":
                self._blocks.close(event.index or 0, at_s, found)
            case "message_start":
                return self._read_message(event.message or AnthropicMessageShape(), at_s, found)
            case "message":
                self._is_stopped = True
                return self._read_message(event, at_s, found)
            case "message_delta":
                self._learn_end(event.delta or BlockDelta(), event.usage, at_s, found)
            case "message_stop":
                self._is_stopped = True
            case "ping":
                pass
            case _:
                return None
        return []

    def _read_message(self, message: AnthropicMessageShape, at_s: float | None, found: list[WireEvent]) -> list[str]:
        found.append(FactsLearned(message.id or None, message.model or None))
        strange = []
        for index, block in enumerate(message.content or ()):
            strange += self._blocks.open(index, raw_text(block), at_s, found)
            self._blocks.close(index, at_s, found, is_whole=True)
        self._learn_end(message, message.usage, at_s, found)
        return strange

    def _learn_end(
        self,
        end: BlockDelta | AnthropicMessageShape,
        usage: AnthropicUsageShape | None,
        at_s: float | None,
        found: list[WireEvent],
    ) -> None:
        if usage is not None:
            self._usage = usage.after(self._usage)
            found.append(FactsLearned(usage=self._usage.usage()))
        if end.stop_reason:
            self.finish = end.stop_reason
            found.append(FactsLearned(finish_reason=self.finish, finish=finish_meaning(self.finish)))
        if details := raw_text(end.stop_details):
            found.append(PartGrew(DETAILS_PART, details, at_s))
