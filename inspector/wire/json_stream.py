"""Answers that are a sequence of JSON texts, lines or elements of an array: bytes in, cut anywhere; wire events out."""

import codecs
from typing import Protocol

import msgspec

from inspector.scanning import lazy_pattern
from inspector.text import incremental_decoder
from inspector.wire.answer_reader import AnswerReader
from inspector.wire.events import UNREAD_PART, PartGrew, WireEvent
from inspector.wire.provider_json import parse_json

MAX_TEXT_LENGTH = 64 * 1024 * 1024
"""Code points after which a text that does not end is handed out as it is, so that no stream fills the memory."""

_OUTSIDE = lazy_pattern(r'["{}\[\]]')
_INSIDE = lazy_pattern(r'["\\]')
_BETWEEN = " \t\r\n,"


class JsonText(msgspec.Struct, frozen=True, gc=False):
    """One JSON text of a stream, with what lies around it.

    `raw` is its exact text with line end and separators; the raws of all texts, joined, are the stream. `text` is what
    should be JSON, `""` where there is only white space. `complete` is False where the stream ended within it, or it
    was longer than the limit.
    """

    raw: str
    text: str
    complete: bool = True


class NdjsonDecoder:
    """Cuts a stream into lines at each LF, as the NDJSON specification does; nothing is lost, and nothing is parsed.

    A byte order mark at the start is no part of the first text; a byte that is not UTF-8 is kept as one lone
    surrogate. A last line without its line end is complete all the same: whether it was cut shows in its JSON. It holds
    back the line that has not ended, at most `max_length` code points. Linear in the stream.
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
        """The end of the stream: the line that had not ended."""
        found = self._cut(self._decoder.decode(b"", True))  # noqa: FBT003 - codecs takes `final` by place
        if self._pieces:
            found.append(self._line(""))
        return found

    def _cut(self, text: str) -> list[JsonText]:
        found: list[JsonText] = []
        start = 0
        while start < len(text):
            limit = start + self._max - self._length
            end = text.find("\n", start, limit) + 1
            if not end and len(text) < limit:
                self._pieces.append(text[start:])
                self._length += len(text) - start
                break
            found.append(self._line(text[start : end or limit], complete=bool(end)))
            start = end or limit
        return found

    def _line(self, last: str, *, complete: bool = True) -> JsonText:
        raw = "".join([*self._pieces, last])
        self._pieces, self._length = [], 0
        text = raw.removeprefix("\ufeff") if self._at_start else raw
        self._at_start = False
        return JsonText(raw, text.strip(" \t\r\n"), complete)


# A JSON array that arrives bit by bit: bytes in, cut anywhere; its elements out, whose raw texts tile the stream.
#
# The machine knows how many brackets are open and whether it is within a string; nothing else matters for finding where
# an element ends. An element is an object or an array; what stands between elements (commas, white space, the outer
# brackets, and anything that does not belong there) goes with the element that follows, or stands alone at the end.


class JsonArrayDecoder:
    """Cuts a streamed array of objects into its elements, as Gemini streams without `alt=sse`; nothing is lost.

    A byte order mark at the start is no part of a text; a byte that is not UTF-8 is kept as one lone surrogate. It
    holds back the element that has not ended, at most `max_length` code points. Linear in the stream.
    """

    __slots__ = ("_decoder", "_depth", "_escaped", "_in_string", "_length", "_max", "_opened", "_pieces", "_start")

    def __init__(self, *, max_length: int = MAX_TEXT_LENGTH) -> None:
        self._max = max_length
        self._decoder: codecs.IncrementalDecoder = incremental_decoder()
        self._pieces: list[str] = []  # since the last element
        self._length = 0
        self._start = 0  # where in them the element begins
        self._opened = False  # whether the outer bracket came
        self._depth = 0  # within the element
        self._in_string = False
        self._escaped = False  # the last code point was a backslash in a string

    def feed(self, raw: bytes) -> list[JsonText]:
        """The elements that end in these bytes."""
        return self._cut(self._decoder.decode(raw))

    def close(self) -> list[JsonText]:
        """The end of the stream: an element that had not ended, or what follows the last one."""
        found = self._cut(self._decoder.decode(b"", True))  # noqa: FBT003 - codecs takes `final` by place
        if self._pieces:
            is_cut = self._depth > 0
            left = self._taken("", complete=not is_cut)
            between = left.raw.strip(_BETWEEN + "\ufeff[]")
            found.append(left if is_cut else JsonText(left.raw, between, complete=True))
        return found

    def _cut(self, text: str) -> list[JsonText]:
        found: list[JsonText] = []
        start = at = 0
        while at < len(text):
            limit = start + self._max - self._length
            ended, at = self._step(text, at, start, limit)
            if ended or at >= limit:
                found.append(self._taken(text[start:at], complete=ended))
                start = at
        if start < len(text):
            self._pieces.append(text[start:])
            self._length += len(text) - start
        return found

    def _step(self, text: str, at: int, start: int, limit: int) -> tuple[bool, int]:
        """Go on to the next sign that matters, or to the limit: whether an element ends there, and the place behind."""
        if self._escaped:
            self._escaped = False
            return False, at + 1
        match = (_INSIDE if self._in_string else _OUTSIDE).search(text, at, limit)
        if match is None:
            return False, min(len(text), limit)
        sign, end = match[0], match.end()
        if sign == "\\":
            self._escaped = True
        elif sign == '"':
            self._in_string = not self._in_string
        elif sign in "{[":
            self._open(sign, self._length + match.start() - start)
        elif self._depth:
            self._depth -= 1
            return not self._depth, end
        return False, end

    def _open(self, sign: str, at: int) -> None:
        if sign == "[" and not self._opened:
            self._opened = True
            return
        if not self._depth:
            self._start = at
        self._depth += 1

    def _taken(self, last: str, *, complete: bool) -> JsonText:
        raw = "".join([*self._pieces, last])
        text = raw[self._start :]
        self._pieces, self._length, self._start = [], 0, 0
        self._depth, self._in_string, self._escaped = 0, False, False
        return JsonText(raw, text, complete)


class JsonSplitter(Protocol):
    """Cuts a stream into JSON texts whose raw texts tile it: `NdjsonDecoder`, `JsonArrayDecoder`."""

    def feed(self, raw: bytes) -> list[JsonText]:
        """The texts that end in these bytes."""
        ...

    def close(self) -> list[JsonText]:
        """The end of the stream: the text that had not ended."""
        ...


class JsonStreamDecoder:
    """Decodes a streamed answer as `reader` reads the texts that `cutter` finds; never raises, whatever the bytes.

    As `EventStreamDecoder` does it: where the bytes are cut does not matter, but for `at_s`; what cannot be read is
    kept word for word in the part `wire:unread`. It holds back no more than one text.
    """

    __slots__ = ("_at_s", "_cutter", "_is_cut", "_reader")

    streamed = True

    def __init__(self, reader: AnswerReader, cutter: JsonSplitter) -> None:
        self._reader = reader
        self._cutter = cutter
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
        for text in self._cutter.feed(raw):
            self._read(text, found)
        return found

    def close(self) -> list[WireEvent]:
        """The end of the stream, and what is wrong with it."""
        found: list[WireEvent] = []
        for text in self._cutter.close():
            self._read(text, found, is_last=True)
        aborted = self._reader.unended
        if self._is_cut:
            aborted = "The stream ended in the middle of a JSON text."
        elif self._reader.has_ended:
            aborted = ""
        self._reader.faults.end(self._reader.finish, found, aborted=aborted)
        return found

    def _read(self, one: JsonText, found: list[WireEvent], *, is_last: bool = False) -> None:
        if not one.text or self._reader.read(one.text, one.raw, self._at_s, found):
            return
        if is_last and _is_broken(one.text):
            self._is_cut = True
            found.append(PartGrew(UNREAD_PART, one.raw, self._at_s))
        else:
            self._reader.faults.keep(one.raw, {"line": one.text}, self._at_s, found)


def _is_broken(text: str) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return True
    return False
