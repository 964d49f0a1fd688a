"""Text that arrives in pieces, redacted as it arrives: held back is only what may yet turn out to be a secret."""

import re
from collections.abc import Sequence
from typing import Protocol

from inspector.redaction.finding import Finder, pattern_secrets, replaced
from inspector.redaction.masking import KeptWords, certain_content, mask_content

PATTERN_TAIL = 256
"""Code points that are held back for a user's patterns, of which nothing is known: so long a match is found live."""

_PATTERN_CONTEXT = 768


class TextStream(Protocol):
    """Takes one part's text piece by piece and gives it back, of the same length, without what must not be kept."""

    count: int

    def feed(self, piece: str) -> str:
        """What is certain now of the text so far and was not before."""
        ...

    def takes_as_it_is(self, piece: str) -> bool:
        """Take a piece that is certain at once and holds no secret; False, with nothing taken, for any other."""
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
        self._finder = Finder()
        self._raw = _Raw() if patterns else None
        self.takes_as_it_is = _takes_nothing if patterns else self._finder.passes
        self.count = 0

    def feed(self, piece: str) -> str:
        """What is certain now of the text so far and was not before, redacted."""
        return self._fed(piece, is_final=False)

    def close(self) -> str:
        """The rest, redacted."""
        return self._fed("", is_final=True)

    def _fed(self, piece: str, *, is_final: bool) -> str:
        finder = self._finder
        was_open = finder.is_open
        secrets = finder.feed(piece, is_final=is_final)
        start, end = finder.released, finder.certain
        if not secrets and self._raw is None and end - start == len(piece):
            return piece if start + len(piece) == len(finder.text) else finder.text[start:end]
        self.count += len(secrets) - (was_open and bool(secrets))
        clean = replaced(finder.text, secrets)[start:end] if secrets else finder.text[start:end]
        if self._raw is None:
            return clean
        found, released = self._raw.feed(finder.text[start:end], clean, self._patterns, is_final=is_final)
        self.count += found
        return released


def _takes_nothing(piece: str) -> bool:
    return False


class _Raw:
    """What is certain but for a user's patterns: its raw text, with some of the past, and the redacted one."""

    def __init__(self) -> None:
        self._raw = ""
        self._clean = ""
        self._released = 0

    def feed(self, raw: str, clean: str, patterns: Sequence[re.Pattern[str]], *, is_final: bool) -> tuple[int, str]:
        """How many matches began in what is certain now, and that, redacted by the patterns too."""
        self._raw += raw
        self._clean += clean
        end = len(self._raw) if is_final else max(len(self._raw) - PATTERN_TAIL, self._released)
        matches = pattern_secrets(self._raw, patterns)
        count = sum(self._released <= one.start < end for one in matches)
        released = replaced(self._clean, matches)[self._released : end]
        keep = max(end - _PATTERN_CONTEXT, 0)
        self._raw, self._clean, self._released = self._raw[keep:], self._clean[keep:], end - keep
        return count, released


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

    def takes_as_it_is(self, piece: str) -> bool:
        """See `TextStream`."""
        return False

    def close(self) -> str:
        """The rest, masked."""
        held, self._held = self._held, ""
        return mask_content(held, self._kept)
