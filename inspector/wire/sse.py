"""Server-sent events: bytes in, cut anywhere; events out, whose raw texts tile the stream."""

import codecs

import msgspec

from inspector.scanning import lazy_pattern
from inspector.text import incremental_decoder

MAX_EVENT_LENGTH = 64 * 1024 * 1024
"""Code points after which an event that does not end is handed out as it is, so that no stream fills the memory."""

# The two halves of one CRLF never count as two line ends.
_EMPTY_LINE = lazy_pattern("(?:\r\n|\n|\r(?!\n)){2}")
_LINE_END = lazy_pattern("\r\n|\n|\r")
_FIELDS = frozenset({"event", "id", "retry"})


class ServerSentEvent(msgspec.Struct, frozen=True, gc=False):
    """One block of an event stream, up to and with the empty line that ends it.

    `raw` is its exact text; the raws of all events, joined, are the stream. `data` are its data lines joined with a
    line feed, None where it has none (a comment alone, say). `event` is its type, `""` where it names none.
    `comments` are the texts after a line's leading colon, `strays` the lines that are no field of the specification.
    `complete` is False where the stream ended before the empty line, or the event was longer than the limit.
    """

    raw: str
    data: str | None = None
    event: str = ""
    id: str | None = None
    retry: str | None = None
    comments: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    complete: bool = True


class SseDecoder:
    """Cuts an event stream into events, as the WHATWG HTML standard ("Server-sent events") reads it, but loses nothing.

    Line ends are LF, CRLF or CR; a byte order mark at the start is skipped; a byte that is not UTF-8 is kept as one
    lone surrogate. Where the bytes are cut does not matter. It holds back the event that has not ended and, in case
    it is half a CRLF, a CR at the end of the bytes; at most `max_event_length` code points. Linear in the stream.
    """

    __slots__ = ("_at_start", "_decoder", "_held", "_length", "_max", "_pieces", "_split", "_tail")

    def __init__(self, *, max_event_length: int = MAX_EVENT_LENGTH) -> None:
        self._max = max_event_length
        self._decoder: codecs.IncrementalDecoder = incremental_decoder()
        self._split = False  # the decoder holds part of a character
        self._at_start = True  # a byte order mark may still come
        self._held = ""  # a CR that may be half a CRLF
        self._pieces: list[str] = []  # of the event that has not ended
        self._length = 0  # of those pieces together
        self._tail = ""  # their last two code points: an empty line may have begun there

    def feed(self, raw: bytes) -> list[ServerSentEvent]:
        """The events that end in these bytes."""
        if raw.isascii() and not self._split:
            text = raw.decode("ascii")
        else:
            text = self._decoder.decode(raw)
            self._split = bool(self._decoder.getstate()[0])
        if not self._pieces and not self._held and not self._at_start and _is_plain(text) and len(text) <= self._max:
            return [ServerSentEvent(text, text[6:-2])]
        return self._take(text)

    def close(self) -> list[ServerSentEvent]:
        """The end of the stream: what had not ended, as an event that is not complete."""
        text = self._held + self._decoder.decode(b"", True)  # noqa: FBT003 - codecs takes `final` by place
        self._held, self._split = "", False
        found = self._cut(text)
        if self._pieces:
            left = "".join(self._pieces)
            self._pieces, self._length, self._tail = [], 0, ""
            found.append(self._event(left, complete=not left.strip("\r\n")))
        return found

    def _take(self, text: str) -> list[ServerSentEvent]:
        if not text:
            return []
        if self._held:
            text, self._held = self._held + text, ""
        if text[-1] == "\r":
            text, self._held = text[:-1], "\r"
        return self._cut(text)

    def _cut(self, text: str) -> list[ServerSentEvent]:
        found: list[ServerSentEvent] = []
        start = 0
        plain = "\r" not in text and "\r" not in self._tail
        while start < len(text):
            end = self._end_of_event(text, start, plain=plain)
            if end is None:
                self._hold(text[start:] if start else text)
                break
            if self._pieces:
                block = "".join([*self._pieces, text[start:end]])
                self._pieces, self._length, self._tail = [], 0, ""
            else:
                block = text[start:end]
            found.append(self._event(block, complete=len(block) < self._max or block[-1] in "\r\n"))
            start = end
        return found

    def _end_of_event(self, text: str, start: int, *, plain: bool) -> int | None:
        """Where in `text` the event ends that the held pieces, or `start`, begin; None where it goes on."""
        limit = start + self._max - self._length
        ended = self._end_across(text) if self._tail else None
        if ended is None and plain:
            at = text.find("\n\n", start, limit)
            ended = at + 2 if at >= 0 else None
        elif ended is None:
            match = _EMPTY_LINE.search(text, start, limit)
            ended = match.end() if match else None
        if ended is None:
            return limit if len(text) >= limit else None
        return min(ended, limit)

    def _end_across(self, text: str) -> int | None:
        """Where an empty line ends that began in the held pieces."""
        if self._tail[-1] != "\n" and self._tail[-1] != "\r":
            return None
        match = _EMPTY_LINE.search(self._tail + text[:2])
        return match.end() - len(self._tail) if match else None

    def _hold(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
        self._tail = (self._tail + text[-2:])[-2:]

    def _event(self, block: str, *, complete: bool) -> ServerSentEvent:
        if self._at_start:
            self._at_start = False
            lines = block.removeprefix("\ufeff")
        elif _is_plain(block):
            return ServerSentEvent(block, block[6:-2])
        else:
            lines = block
        return _read_lines(block, lines, complete=complete)


def _is_plain(block: str) -> bool:
    """Whether a text is one event of one data line, ended by line feeds: nearly every event of every provider."""
    return (
        block.startswith("data: ")
        and block.endswith("\n\n")
        and block.find("\n", 6) == len(block) - 2
        and "\r" not in block
    )


def _read_lines(raw: str, lines: str, *, complete: bool) -> ServerSentEvent:
    data: list[str] = []
    comments: list[str] = []
    strays: list[str] = []
    fields: dict[str, str] = {}
    for line in filter(None, _LINE_END.split(lines)):
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif name in _FIELDS:
            fields[name] = value.removeprefix(" ")
        elif not name:
            comments.append(value)
        else:
            strays.append(line)
    return ServerSentEvent(
        raw,
        "\n".join(data) if data else None,
        fields.get("event", ""),
        fields.get("id"),
        fields.get("retry"),
        tuple(comments),
        tuple(strays),
        complete,
    )
