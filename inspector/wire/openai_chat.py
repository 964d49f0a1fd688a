"""OpenAI's chat completions, streamed or whole: bytes in, pieces of an assistant turn out."""

from collections.abc import Iterable

from inspector.text import decode
from inspector.wire.assembly import DecodedTurn, TurnAssembly
from inspector.wire.event_stream import DONE, EventStreamDecoder
from inspector.wire.events import WireEvent
from inspector.wire.openai_answer import API, ChatReader
from inspector.wire.whole_body import read_whole

__all__ = ["API", "DONE", "ChatStreamDecoder", "read_chat_body", "read_chat_completion", "read_chat_stream"]


class ChatStreamDecoder(EventStreamDecoder):
    """Decodes a streamed chat completion; never raises, whatever the bytes.

    `status` is the answer's HTTP status; None counts as 200.
    """

    __slots__ = ()

    def __init__(self, *, status: int | None = None) -> None:
        super().__init__(ChatReader(status=status))


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
    found: list[WireEvent] = []
    read_whole(
        ChatReader(status=status, whole=True), raw if isinstance(raw, str) else decode(raw), found, status=status
    )
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
