"""OpenAI's chat completions, streamed or whole: bytes in, pieces of an assistant turn out."""

from collections.abc import Iterable

from inspector.text import decode
from inspector.wire.assembly import DecodedTurn, TurnAssembly
from inspector.wire.events import COMMENTS_PART, UNREAD_PART, PartGrew, WireEvent
from inspector.wire.json_text import parse_json
from inspector.wire.openai_answer import AnswerReader
from inspector.wire.sse import ServerSentEvent, SseDecoder

API = "chat.completions"
"""The name of this kind of endpoint in a generation's facts."""

DONE = "[DONE]"
"""What the last event of a stream holds."""

_KNOWN_TYPES = frozenset({"", "message", "error"})


class ChatStreamDecoder:
    """Decodes a streamed chat completion; never raises, whatever the bytes.

    `feed` and `close` give wire events, to be shown at once or collected in a `TurnAssembly`. Where the bytes are cut
    does not matter, but for `at_s`, the time of their arrival on any clock, which goes to the text that ends with them.
    `status` is the answer's HTTP status; None counts as 200. What it cannot read is kept word for word in the part
    `wire:unread`, comment lines in `wire:comments`. It holds back no more than one event of the stream.
    """

    __slots__ = ("_answer", "_at_s", "_is_cut", "_is_done", "_sse")

    def __init__(self, *, status: int | None = None) -> None:
        self._sse = SseDecoder()
        self._answer = AnswerReader(status=status)
        self._is_done = False
        self._is_cut = False
        self._at_s: float | None = None

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
        self._answer.end(found, aborted=self._aborted())
        return found

    def _read_event(self, event: ServerSentEvent, found: list[WireEvent]) -> None:
        if event.comments:
            found.append(PartGrew(COMMENTS_PART, "".join(f":{line}\n" for line in event.comments), self._at_s))
        text = "\n".join(event.strays) if event.data is None else event.data
        if text == DONE:
            self._is_done = True
        elif text:
            self._read_text(text, event, found)
        elif event.event not in _KNOWN_TYPES:
            self._keep_unread(event.event, event, found)
        if event.data is not None and event.strays:
            self._answer.keep(event.raw, {"stray line": event.strays[0]}, self._at_s, found)

    def _read_text(self, text: str, event: ServerSentEvent, found: list[WireEvent]) -> None:
        if event.event == "error":
            self._answer.read_error(text, event.raw, self._at_s, found, certain=True)
        elif not self._answer.read(text, event.raw, self._at_s, found):
            self._keep_unread(text, event, found)

    def _keep_unread(self, text: str, event: ServerSentEvent, found: list[WireEvent]) -> None:
        if event.complete:
            self._answer.keep(event.raw, {f"event {event.event}": text}, self._at_s, found)
        else:
            self._is_cut = True
            found.append(PartGrew(UNREAD_PART, event.raw, self._at_s))

    def _aborted(self) -> str:
        if self._is_cut:
            return "The stream ended in the middle of an event."
        if self._is_done or self._answer.finish:
            return ""
        return "The stream ended with neither a finish reason nor `[DONE]`."


def read_chat_stream(arrivals: Iterable[tuple[float | None, bytes]], *, status: int | None = None) -> DecodedTurn:
    """A streamed chat completion from its pieces, each with the seconds since the request began, or None."""
    decoder = ChatStreamDecoder(status=status)
    assembly = TurnAssembly(API)
    for at_s, raw in arrivals:
        assembly.extend(decoder.feed(raw, at_s))
    assembly.extend(decoder.close())
    return assembly.decoded()


def read_chat_completion(raw: bytes | str, *, status: int | None = None) -> DecodedTurn:
    """A chat completion, or an HTTP error, whose body came whole; never raises.

    `status` is the HTTP status, None where unknown: an error object is then taken for an HTTP error. A body that is
    cut off, or no answer at all, is kept word for word in the part `wire:unread`.
    """
    text = raw if isinstance(raw, str) else decode(raw)
    answer = AnswerReader(status=status, whole=True)
    found: list[WireEvent] = []
    aborted = ""
    if not answer.read(text.removeprefix("\ufeff"), text, None, found):
        if status is not None and status >= 400:
            answer.fail(text, text, None, found)
        elif aborted := _why_cut(text):
            found += [PartGrew(UNREAD_PART, text)] if text else []
        else:
            answer.keep(text, {"body": text.strip()}, None, found)
    answer.end(found, aborted=aborted)
    assembly = TurnAssembly(API, streamed=False)
    assembly.extend(found)
    return assembly.decoded()


def read_chat_body(raw: bytes, *, status: int | None = None) -> DecodedTurn:
    """A stored answer body, streamed or whole: what begins like JSON came whole, all else is an event stream.

    No time of any chunk is known. Never raises.
    """
    start = raw[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    is_error_page = status is not None and status >= 400 and not start.startswith((b"data:", b"event:", b":"))
    if start.startswith((b"{", b"[")) or is_error_page:
        return read_chat_completion(raw, status=status)
    return read_chat_stream([(None, raw)], status=status)


def _why_cut(text: str) -> str:
    """A sentence where a body looks cut off, `""` where it is something else altogether."""
    start = text.strip("\ufeff \t\r\n")[:1]
    if not start:
        return "The body is empty."
    if start not in "{[":
        return ""
    try:
        parse_json(text.removeprefix("\ufeff"))
    except ValueError:
        return "The body ended before its JSON did."
    return ""
