"""Secrets in a text, replaced by fillers of the same length."""

import re
from collections.abc import Iterable, Iterator, Sequence

from inspector.redaction.finding import find_secrets
from inspector.redaction.verdicts import Secret

FILLER = "*"
"""What stands for each character of a secret; no shape takes it for a part of one."""

_SECRET_CHARACTER = re.compile(r"\\+[nrt]|\S")


def all_secrets(text: str, patterns: Sequence[re.Pattern[str]]) -> list[Secret]:
    """The secrets by shape, and what a user's patterns find: their first group, or all where they have none."""
    return [*find_secrets(text), *pattern_secrets(text, patterns)]


def pattern_secrets(text: str, patterns: Sequence[re.Pattern[str]]) -> list[Secret]:
    """What a user's patterns find: their first group, or all where they have none."""
    groups = ((pattern, 1 if pattern.groups else 0) for pattern in patterns)
    return [Secret(*found.span(group)) for pattern, group in groups for found in pattern.finditer(text) if found[group]]


def replaced(text: str, secrets: Iterable[Secret]) -> str:
    """The text with a filler for each character of a secret; blank space stays, and escapes of line ends."""
    ranges = list(_joined(secrets))
    if not ranges:
        return text
    pieces: list[str] = []
    at = 0
    for start, end in ranges:
        pieces += (text[at:start], _filler(text[start:end]))
        at = end
    return "".join((*pieces, text[at:]))


def _filler(secret: str) -> str:
    """The filler for a secret, legible as such and no longer than it."""
    return _SECRET_CHARACTER.sub(lambda found: FILLER if len(found[0]) == 1 else found[0], secret)


def _joined(secrets: Iterable[Secret]) -> Iterator[tuple[int, int]]:
    ends = sorted((one.start, one.end) for one in secrets)
    if not ends:
        return
    start, end = ends[0]
    for next_start, next_end in ends[1:]:
        if next_start > end:
            yield start, end
            start, end = next_start, next_end
        else:
            end = max(end, next_end)
    yield start, end
