"""Answers whose body came whole, of whichever API: bytes in, wire events out at the end."""

from inspector.text import decode
from inspector.wire.events import UNREAD_PART, PartGrew, WireEvent
from inspector.wire.json_text import parse_json
from inspector.wire.reader import AnswerReader


class WholeBodyDecoder:
    """Decodes an answer, or an HTTP error, whose body is one JSON text; never raises.

    It holds the body until `close`. A body that is cut off, or no answer at all, is kept word for word in the part
    `wire:unread`; with `status` from 400 on it is an error, whatever it holds.
    """

    __slots__ = ("_pieces", "_reader", "_status")

    streamed = False

    def __init__(self, reader: AnswerReader, *, status: int | None = None) -> None:
        self._reader = reader
        self._status = status
        self._pieces: list[bytes] = []

    @property
    def api(self) -> str:
        """The kind of endpoint that the answer comes from."""
        return self._reader.api

    def feed(self, raw: bytes, at_s: float | None = None) -> list[WireEvent]:
        """Nothing yet."""
        self._pieces.append(raw)
        return []

    def close(self) -> list[WireEvent]:
        """The whole answer, and what is wrong with it."""
        found: list[WireEvent] = []
        raw, self._pieces = b"".join(self._pieces), []
        read_whole(self._reader, decode(raw), found, status=self._status)
        return found


def read_whole(reader: AnswerReader, text: str, found: list[WireEvent], *, status: int | None = None) -> None:
    """Append the events of a body that came whole."""
    aborted = ""
    faults = reader.faults
    if not reader.read(text.removeprefix("\ufeff"), text, None, found):
        if status is not None and status >= 400:
            faults.fail(text, text, None, found)
        elif aborted := _why_cut(text):
            found += [PartGrew(UNREAD_PART, text)] if text else []
        else:
            faults.keep(text, {"body": text.strip()}, None, found)
    faults.end(reader.finish, found, aborted=aborted)


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
