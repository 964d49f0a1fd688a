"""A JSON array that arrives bit by bit: bytes in, cut anywhere; its elements out, whose raw texts tile the stream.

The machine knows how many brackets are open and whether it is within a string; nothing else matters for finding where
an element ends. An element is an object or an array; what stands between elements (commas, white space, the outer
brackets, and anything that does not belong there) goes with the element that follows, or stands alone at the end.
"""

import codecs
import re

from inspector.text import incremental_decoder
from inspector.wire.ndjson import MAX_TEXT_LENGTH, JsonText

_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_BETWEEN = " \t\r\n,"


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
