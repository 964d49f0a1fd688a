"""Answers that come as an event stream, of whichever API: bytes in, wire events out."""

from inspector.wire.events import COMMENTS_PART, UNREAD_PART, PartGrew, WireEvent
from inspector.wire.reader import AnswerReader
from inspector.wire.sse import ServerSentEvent, SseDecoder

DONE = "[DONE]"
"""What the last event of a stream holds, where the API has such an event."""

_UNTYPED = frozenset({"", "message", "error"})


class EventStreamDecoder:
    """Decodes a streamed answer as `reader` reads its events; never raises, whatever the bytes.

    `feed` and `close` give wire events, to be shown at once or collected in a `TurnAssembly`. Where the bytes are cut
    does not matter, but for `at_s`, the time of their arrival on any clock, which goes to the text that ends with them.
    What it cannot read is kept word for word in the part `wire:unread`, comment lines in `wire:comments`. It holds back
    no more than one event of the stream.
    """

    __slots__ = ("_at_s", "_is_cut", "_is_done", "_reader", "_sse")

    streamed = True

    def __init__(self, reader: AnswerReader) -> None:
        self._sse = SseDecoder()
        self._reader = reader
        self._is_done = False
        self._is_cut = False
        self._at_s: float | None = None

    @property
    def api(self) -> str:
        """The kind of endpoint that the answer comes from."""
        return self._reader.api

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """What these bytes complete."""
        self._at_s = at_s
        found: list[WireEvent] = []
        for event in self._sse.feed(raw):
            self._read_event(event, found)
        return found

    def close(self) -> list[WireEvent]:
        """The end of the stream, and what is wrong with it."""
        found: list[WireEvent] = []
        for event in self._sse.close():
            self._read_event(event, found)
        self._reader.faults.end(self._reader.finish, found, aborted=self._aborted())
        return found

    def _read_event(self, event: ServerSentEvent, found: list[WireEvent]) -> None:
        if event.comments:
            found.append(PartGrew(COMMENTS_PART, "".join(f":{line}\n" for line in event.comments), self._at_s))
        text = "\n".join(event.strays) if event.data is None else event.data
        if text == DONE:
            self._is_done = True
        elif text:
            self._read_text(text, event, found)
        elif event.event not in _UNTYPED:
            self._keep_unread(event.event, event, found)
        if event.data is not None and event.strays:
            self._reader.faults.keep(event.raw, {"stray line": event.strays[0]}, self._at_s, found)

    def _read_text(self, text: str, event: ServerSentEvent, found: list[WireEvent]) -> None:
        if event.event == "error":
            self._reader.faults.read_error(text, event.raw, self._at_s, found, certain=True)
        elif not self._reader.read(text, event.raw, self._at_s, found):
            self._keep_unread(text, event, found)

    def _keep_unread(self, text: str, event: ServerSentEvent, found: list[WireEvent]) -> None:
        if event.complete:
            self._reader.faults.keep(event.raw, {f"event {event.event}": text}, self._at_s, found)
        else:
            self._is_cut = True
            found.append(PartGrew(UNREAD_PART, event.raw, self._at_s))

    def _aborted(self) -> str:
        if self._is_cut:
            return "The stream ended in the middle of an event."
        if self._is_done or self._reader.has_ended:
            return ""
        return self._reader.unended
