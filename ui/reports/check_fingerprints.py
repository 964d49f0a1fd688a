"""What a fault is known again by, run after run: its rule, its characters, and the words around them."""

import hashlib

from inspector.diagnostics import Diagnostic
from inspector.model import Role, Trace

_AROUND = 120


class Fingerprints:
    """The fingerprints of one trace's faults.

    A fingerprint is made of the rule's code, the text in the fault's range, up to 120 characters on either side, the
    name of the part, and the words that the conversation was begun with. So it stays when records move, when others
    are added, when a session grows, and when a message is worded otherwise. Faults that are alike in all of it share
    one, and are told apart by their number alone.
    """

    def __init__(self, trace: Trace) -> None:
        asked = next((part.text for turn in trace.turns if turn.role is Role.USER for part in turn.parts), "")
        self._opening = hashlib.sha256(_bytes(asked)).digest()

    def of(self, diagnostic: Diagnostic, text: str) -> str:
        """32 hexadecimal digits; `text` is that of the part that the fault lies in."""
        place = diagnostic.range
        digest = hashlib.sha256(self._opening)
        for piece in (
            diagnostic.rule.code,
            diagnostic.location.part.partition(":")[0],
            text[max(place.start - _AROUND, 0) : place.start],
            place.of(text),
            text[place.end : place.end + _AROUND],
        ):
            raw = _bytes(piece)
            digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()[:32]


def unread_fingerprint(code: str, record: str, text: str) -> str:
    """That of a record or file that could not be read: its text, or where it has none its place in words."""
    return hashlib.sha256(_bytes("\0".join((code, text or record)))).hexdigest()[:32]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
