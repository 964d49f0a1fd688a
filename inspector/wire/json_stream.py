"""Answers that come as a row of JSON texts, lines or elements of an array: bytes in, wire events out."""

from typing import Protocol

from inspector.wire.events import UNREAD_PART, PartGrew, WireEvent
from inspector.wire.json_text import parse_json
from inspector.wire.ndjson import JsonText
from inspector.wire.reader import AnswerReader


class JsonCutter(Protocol):
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

    def __init__(self, reader: AnswerReader, cutter: JsonCutter) -> None:
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
