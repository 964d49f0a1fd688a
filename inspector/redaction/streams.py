"""Text that arrives in pieces, redacted as it arrives: held back is only what may yet turn out to be a secret."""

import re
from collections.abc import Callable, Sequence

from inspector.redaction.finding import TAIL, Secret, certain_to, find_secrets
from inspector.redaction.masking import CONTENT_TAIL, certain_content, mask_content

FILLER = "*"
"""What stands for each character of a secret; no shape takes it for a part of one."""

PATTERN_TAIL = 256
"""Code points that are held back for a user's patterns, which nothing is known of: so long a match is found live."""

_LONGEST_KEPT = 4_096


class SecretStream:
    """One part's text, piece by piece; what comes out is what the whole text redacted at once would be.

    `patterns` are a user's own. A match of theirs that is longer than `PATTERN_TAIL` may be found too late.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = patterns
        self._seen = ""  # what is certain already, as far back as it matters
        self._held = ""
        self.count = 0

    def feed(self, piece: str) -> str:
        """What is certain now of the text so far and was not before, redacted."""
        text = self._seen + self._held + piece
        end = certain_to(text)
        if self._patterns:
            end = min(end, max(len(text) - PATTERN_TAIL, len(self._seen)))
        return self._release(text, max(end, len(self._seen)))

    def close(self) -> str:
        """The rest, redacted."""
        text = self._seen + self._held
        return self._release(text, len(text))

    def _release(self, text: str, end: int) -> str:
        known = len(self._seen)
        secrets = [one for one in all_secrets(text, self._patterns) if one.start < end and one.introduced or not known]
        self.count += sum(known <= one.start < end for one in secrets)
        released = redacted(text, secrets)[known:end]
        growing = [one.introduced for one in secrets if one.end >= end]
        keep = max(min([end - TAIL, *growing]), end - _LONGEST_KEPT, 0)
        self._seen, self._held = text[keep:end], text[end:]
        return released


class ContentStream:
    """As `SecretStream`, for recordings without content: words that are not `kept` are masked."""

    def __init__(self, kept: Callable[[str], bool]) -> None:
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
        return mask_content(self._held, self._kept)
