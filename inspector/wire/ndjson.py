"""Newline-delimited JSON: bytes in, cut anywhere; lines out, whose raw texts tile the stream."""

import codecs

import msgspec

from inspector.text import incremental_decoder

MAX_TEXT_LENGTH = 64 * 1024 * 1024
"""Code points after which a text that does not end is handed out as it is, so that no stream fills the memory."""


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
