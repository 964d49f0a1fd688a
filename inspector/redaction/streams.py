"""Text that arrives in pieces, redacted as it arrives: held back is only what may yet turn out to be a secret."""

import re
from collections.abc import Sequence
from typing import Protocol

from inspector.redaction.finding import TAIL, certain_to
from inspector.redaction.masking import KeptWords, certain_content, mask_content
from inspector.redaction.replacing import all_secrets, replaced

PATTERN_TAIL = 256
"""Code points that are held back for a user's patterns, of which nothing is known: so long a match is found live."""

_LONGEST_KEPT = 8_192  # code points of a secret that goes on and on; then its middle is forgotten


class TextStream(Protocol):
    """Takes one part's text piece by piece and gives it back, of the same length, without what must not be kept."""

    count: int

    def feed(self, piece: str) -> str:
        """What is certain now of the text so far and was not before."""
        ...

    def close(self) -> str:
        """The rest."""
        ...


class SecretStream:
    """Replaces secrets; what comes out in all is what the whole text, redacted at once, would be.

    `patterns` are a user's own; a match of theirs that is longer than `PATTERN_TAIL` may be found too late.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = patterns
        self._seen = ""  # what came out already, raw, as far back as it matters for what comes
        self._held = ""
        self._is_cut = False
        self.count = 0

    def feed(self, piece: str) -> str:
        """What is certain now of the text so far and was not before, redacted."""
        text = self._seen + self._held + piece
        end = certain_to(text)
        if self._patterns:
            end = min(end, len(text) - PATTERN_TAIL)
        return self._release(text, max(end, len(self._seen)))

    def close(self) -> str:
        """The rest, redacted."""
        text = self._seen + self._held
        return self._release(text, len(text))

    def _release(self, text: str, end: int) -> str:
        known = len(self._seen)
        # Where the beginning is cut off, a key there may be the end of a longer word.
        secrets = [one for one in all_secrets(text, self._patterns) if one.introduced or not self._is_cut]
        self.count += sum(known <= one.start < end for one in secrets)
        released = replaced(text[:end], secrets)[known:]
        growing = min((one for one in secrets if one.end >= end), key=lambda one: one.introduced, default=None)
        keep = max(end - TAIL, 0) if growing is None else min(max(end - TAIL, 0), growing.introduced)
        seen = text[keep:end]
        if growing is not None and len(seen) > _LONGEST_KEPT:  # all characters of a secret are of one kind
            seen = text[keep : growing.start + TAIL] + text[end - TAIL : end]
        self._is_cut = self._is_cut or keep > 0
        self._seen, self._held = seen, text[end:]
        return released


class ContentStream:
    """Masks every word but the kept ones, for recordings without content."""

    def __init__(self, kept: KeptWords) -> None:
        self._kept = kept
        self._held = ""
        self.count = 0

    def feed(self, piece: str) -> str:
        """What is certain now of the text so far and was not before, masked."""
        text = self._held + piece
        end = certain_content(text)
        self._held = text[end:]
        return mask_content(text[:end], self._kept)

    def close(self) -> str:
        """The rest, masked."""
        held, self._held = self._held, ""
        return mask_content(held, self._kept)
