"""The text of a payload as it arrives, read just as far as is needed to say whether a string is open at its end."""

from inspector.json_scanner.tracker import JsonTracker, QuoteParity


class Payload:
    """Pieces of a payload. Counting quotes decides while it can; a strict tracker reads on from the first odd count."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._read_pieces = 0
        self._parity = QuoteParity()
        self._tracker: JsonTracker | None = None

    def append(self, text: str) -> None:
        """The payload goes on with `text`."""
        self._pieces.append(text)

    def text(self) -> str:
        """All of it so far."""
        return self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)

    def string_is_open(self) -> bool:
        """Whether the payload so far is the beginning of strict JSON text and ends within a string."""
        unread = self._pieces[self._read_pieces :]
        self._read_pieces = len(self._pieces)
        if self._tracker is None:
            for piece in unread:
                self._parity.feed(piece)
            if not self._parity.odd:
                return False
            self._tracker = JsonTracker()
            unread = self._pieces
        for piece in unread:
            _read_all(self._tracker, piece)
        return self._tracker.in_string and not self._tracker.broken

    def tracker(self) -> JsonTracker:
        """The tracker that has read all of the payload; only after `string_is_open` said yes."""
        assert self._tracker is not None
        return self._tracker

    def append_tracked(self, text: str) -> None:
        """The payload goes on with `text`, which the tracker has read already."""
        self._pieces.append(text)
        self._read_pieces = len(self._pieces)


def _read_all(tracker: JsonTracker, text: str) -> None:
    at = 0
    while at < len(text) and not tracker.broken:
        at = tracker.feed(text, at)
