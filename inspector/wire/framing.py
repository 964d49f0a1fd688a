"""Framings of an answer's body: server-sent events, JSON lines and arrays; the bytes may be split anywhere."""

import codecs
import re
from typing import Protocol

import msgspec

from weaklink.inspector.scanning import BracketCounter
from weaklink.inspector.text import incremental_decoder
from weaklink.inspector.wire.answer_reader import AnswerReader
from weaklink.inspector.wire.events import UNREAD_PART, PartGrew, WireEvent
from weaklink.inspector.wire.provider_json import is_json

MAX_EVENT_LENGTH = 16 * 1024 * 1024
"""Code points after which an event that does not end is returned as it is, so that no stream fills the memory.

Four times the longest context of any model. One JSON text of this length is parsed in about 30 ms, for which the
interpreter runs nothing else, the other threads of a program that records its own client included.
"""
# The two characters of one CRLF never count as two line ends.
_EMPTY_LINE = re.compile("(?:\r\n|\n|\r(?!\n)){2}")
_LINE_END = re.compile("\r\n|\n|\r")
_FIELDS = frozenset({"event", "id", "retry"})
MAX_TEXT_LENGTH = MAX_EVENT_LENGTH
"""Code points after which a text that does not end is returned as it is, like an event."""
_BLANK = "\ufeff \t\r\n"


class ServerSentEvent(msgspec.Struct, frozen=True, gc=False):
    """One block of an event stream, including the empty line that ends it.

    `raw` is its exact text; the raw texts of all events, joined, are the stream. `data` are its data lines joined with
    line feeds, None if it has none (a comment alone, say). `event` is its type, `""` if it names none. `comments` are
    the texts after a line's leading colon, `strays` the lines that are no field of the specification. `complete` is
    False if the stream ended before the empty line, or the event was longer than the limit.
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
    """Splits an event stream into events, like the WHATWG HTML standard ("Server-sent events"), but loses nothing.

    Line ends are LF, CRLF or CR; a byte order mark at the start is skipped; a byte that is not UTF-8 is kept as one
    lone surrogate. Where the bytes are split does not matter. It holds back the event that has not ended, and a CR at
    the end of the bytes, which may begin a CRLF; at most `max_event_length` code points. Linear in the stream.
    """

    __slots__ = ("_at_start", "_decoder", "_held", "_length", "_max", "_pieces", "_split", "_tail")

    def __init__(self, *, max_event_length: int = MAX_EVENT_LENGTH) -> None:
        self._max = max_event_length
        self._decoder: codecs.IncrementalDecoder = incremental_decoder()
        self._split = False  # the decoder holds part of a character
        self._at_start = True  # a byte order mark may still come
        self._held = ""  # a CR that may begin a CRLF
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
        return self._decode(text)

    def close(self) -> list[ServerSentEvent]:
        """End the stream; returns what had not ended as an incomplete event."""
        text = self._held + self._decoder.decode(b"", True)  # noqa: FBT003 - codecs takes `final` by place
        self._held, self._split = "", False
        events = self._cut(text)
        if self._pieces:
            left = "".join(self._pieces)
            self._pieces, self._length, self._tail = [], 0, ""
            events.append(self._event(left, complete=not left.strip("\r\n")))
        return events

    def _decode(self, text: str) -> list[ServerSentEvent]:
        if not text:
            return []
        if self._held:
            text, self._held = self._held + text, ""
        if text[-1] == "\r":
            text, self._held = text[:-1], "\r"
        return self._cut(text)

    def _cut(self, text: str) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
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
            events.append(self._event(block, complete=len(block) < self._max or block[-1] in "\r\n"))
            start = end
        return events

    def _end_of_event(self, text: str, start: int, *, plain: bool) -> int | None:
        """The end in `text` of the event that begins in the held pieces or at `start`; None if it continues."""
        limit = start + self._max - self._length
        ended = self._end_across(text) if self._tail else None
        if ended is None and plain:
            blank_line = text.find("\n\n", start, limit)
            ended = blank_line + 2 if blank_line >= 0 else None
        elif ended is None:
            match = _EMPTY_LINE.search(text, start, limit)
            ended = match.end() if match else None
        if ended is None:
            return limit if len(text) >= limit else None
        return min(ended, limit)

    def _end_across(self, text: str) -> int | None:
        """The end of an empty line that began in the held pieces; None if there is none."""
        if self._tail[-1] != "\n" and self._tail[-1] != "\r":
            return None
        match = _EMPTY_LINE.search(self._tail + text[:2])
        return match.end() - len(self._tail) if match else None

    def _hold(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
        self._tail = (self._tail + text[-2:])[-2:]

    def _event(self, block: str, *, complete: bool) -> ServerSentEvent:
        if not complete and len(block) >= self._max:
            self._at_start = False
            return ServerSentEvent(block, strays=(block,), complete=False)  # too long to be searched for lines
        if self._at_start:
            self._at_start = False
            lines = block.removeprefix("\ufeff")
        else:
            lines = block
        if _is_plain(lines):
            return ServerSentEvent(block, lines[6:-2])
        return _read_lines(block, lines, complete=complete)


def _is_plain(block: str) -> bool:
    """Whether a text is one event of one data line, ended by line feeds, like nearly every event of every provider."""
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


class JsonText(msgspec.Struct, frozen=True, gc=False):
    """One JSON text of a stream, with what is around it.

    `raw` is its exact text with line end and separators; the raw texts of all, joined, are the stream. `text` is what
    should be JSON, `""` if there is only white space. `complete` is False if the stream ended within it, or it was
    longer than the limit.
    """

    raw: str
    text: str
    complete: bool = True


class NdjsonDecoder:
    """Splits a stream into lines at each LF, as the NDJSON specification does; nothing is lost, and nothing is parsed.

    A byte order mark at the start is no part of the first text; a byte that is not UTF-8 is kept as one lone
    surrogate. A last line without a line end counts as complete: its JSON shows whether it was truncated. It holds back
    the line that has not ended, at most `max_length` code points. Linear in the stream.
    """

    __slots__ = ("_at_start", "_decoder", "_length", "_max", "_pieces")

    def __init__(self, *, max_length: int = MAX_TEXT_LENGTH) -> None:
        self._max = max_length
        self._decoder: codecs.IncrementalDecoder = incremental_decoder()
        self._at_start = True
        self._pieces: list[str] = []
        self._length = 0

    def feed(self, raw: bytes) -> list[JsonText]:
        """The lines that end in these bytes."""
        return self._cut(self._decoder.decode(raw))

    def close(self) -> list[JsonText]:
        """End the stream; returns the line that had not ended."""
        texts = self._cut(self._decoder.decode(b"", True))  # noqa: FBT003 - codecs takes `final` by place
        if self._pieces:
            texts.append(self._line(""))
        return texts

    def _cut(self, text: str) -> list[JsonText]:
        pieces: list[JsonText] = []
        start = 0
        while start < len(text):
            limit = start + self._max - self._length
            end = text.find("\n", start, limit) + 1
            if not end and len(text) < limit:
                self._pieces.append(text[start:])
                self._length += len(text) - start
                break
            pieces.append(self._line(text[start : end or limit], complete=bool(end)))
            start = end or limit
        return pieces

    def _line(self, last: str, *, complete: bool = True) -> JsonText:
        raw = "".join([*self._pieces, last])
        self._pieces, self._length = [], 0
        text = raw.removeprefix("\ufeff") if self._at_start else raw
        self._at_start = False
        return JsonText(raw, text.strip(" \t\r\n"), complete)


class JsonArrayDecoder:
    """Splits a streamed array of objects into its elements, as Gemini streams without `alt=sse`; nothing is lost.

    An element is an object or an array; it ends with the bracket that closes it, whatever is in its strings. What is
    between elements (commas, white space, the outer brackets, and anything that does not belong there) is part of the
    element that follows, or separate at the end. A byte order mark at the start is no part of a text; a byte that is
    not UTF-8 is kept as one lone surrogate. It holds back the element that has not ended, at most `max_length` code
    points. Linear in the stream.
    """

    __slots__ = ("_counter", "_decoder", "_length", "_max", "_opened", "_pieces", "_start")

    def __init__(self, *, max_length: int = MAX_TEXT_LENGTH) -> None:
        self._max = max_length
        self._decoder: codecs.IncrementalDecoder = incremental_decoder()
        self._pieces: list[str] = []  # since the last element
        self._length = 0
        self._start = 0  # where in them the element begins
        self._opened = False  # whether the outer bracket came
        self._counter = BracketCounter()

    def feed(self, raw: bytes) -> list[JsonText]:
        """The elements that end in these bytes."""
        return self._cut(self._decoder.decode(raw))

    def close(self) -> list[JsonText]:
        """End the stream; returns an element that had not ended, or what follows the last one."""
        texts = self._cut(self._decoder.decode(b"", True))  # noqa: FBT003 - codecs takes `final` by place
        if self._pieces:
            is_cut = self._counter.begun
            left = self._take_element("", complete=not is_cut)
            between = left.raw.strip(f"{_BLANK},[]")
            texts.append(left if is_cut else JsonText(left.raw, between, complete=True))
        return texts

    def _cut(self, text: str) -> list[JsonText]:
        pieces: list[JsonText] = []
        start = position = 0
        while position < len(text):
            limit = min(start + self._max - self._length, len(text))
            if not self._opened:
                position = self._open(text, position, limit)
            has_begun = self._counter.begun
            end = self._counter.feed(text, position, limit)
            if self._counter.begun and not has_begun:
                self._start = self._length + self._counter.opened_at - start
            position = limit if end < 0 else end
            if end >= 0 or position == start + self._max - self._length:
                pieces.append(self._take_element(text[start:position], complete=end >= 0))
                start = position
        if start < len(text):
            self._pieces.append(text[start:])
            self._length += len(text) - start
        return pieces

    def _open(self, text: str, position: int, end: int) -> int:
        """The position after the outer bracket, if that is the first character that is not white space."""
        first = end - len(text[position:end].lstrip(_BLANK))
        self._opened = first < end
        return first + 1 if text[first:end].startswith("[") else first

    def _take_element(self, last: str, *, complete: bool) -> JsonText:
        raw = "".join([*self._pieces, last])
        text = raw[self._start :]
        self._pieces, self._length, self._start = [], 0, 0
        self._counter = BracketCounter()
        return JsonText(raw, text, complete)


class JsonSplitter(Protocol):
    """Splits a stream into JSON texts, whose joined raw texts are the stream: `NdjsonDecoder`, `JsonArrayDecoder`."""

    def feed(self, raw: bytes) -> list[JsonText]:
        """The texts that end in these bytes."""
        ...

    def close(self) -> list[JsonText]:
        """End the stream; returns the text that had not ended."""
        ...


class JsonStreamDecoder:
    """Decodes a streamed answer: `reader` reads the texts that `splitter` finds; never raises, whatever the bytes are.

    As in `EventStreamDecoder`, where the bytes are split does not matter, except for `at_s`; what cannot be read is
    kept word for word in the part `wire:unread`. It holds back no more than one text.
    """

    __slots__ = ("_at_s", "_is_cut", "_reader", "_splitter")

    streamed = True

    def __init__(self, reader: AnswerReader, splitter: JsonSplitter) -> None:
        self._reader = reader
        self._splitter = splitter
        self._is_cut = False
        self._at_s: float | None = None

    @property
    def api(self) -> str:
        """The kind of endpoint that the answer comes from."""
        return self._reader.api

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """The events that these bytes complete."""
        self._at_s = at_s
        events: list[WireEvent] = []
        for text in self._splitter.feed(raw):
            self._read(text, events)
        return events

    def close(self) -> list[WireEvent]:
        """End the stream; returns the last events, including those on what is wrong with the end."""
        events: list[WireEvent] = []
        for text in self._splitter.close():
            self._read(text, events, is_last=True)
        aborted = self._reader.unended
        if self._is_cut:
            aborted = "The stream ended in the middle of a JSON text."
        elif self._reader.has_ended:
            aborted = ""
        self._reader.faults.end(self._reader.finish, events, aborted=aborted)
        return events

    def _read(self, json_text: JsonText, wire_events: list[WireEvent], *, is_last: bool = False) -> None:
        if not json_text.text or self._reader.read(json_text.text, json_text.raw, self._at_s, wire_events):
            return
        if is_last and not is_json(json_text.text):
            self._is_cut = True
            wire_events.append(PartGrew(UNREAD_PART, json_text.raw, self._at_s))
        else:
            self._reader.faults.keep(json_text.raw, {"line": json_text.text}, self._at_s, wire_events)
