"""Redacts text as it arrives: only secrets, or all content.

Only text that may turn out to be a secret is held back. If all content is removed, every word becomes a filler of its
length, and the structure stays: every character that is no letter and no digit, so all of JSON's, Python's and XML's
structure; a lone 0, which tells exit codes apart; escapes; the words of markers and of call syntax; names of JSON
members that are one word; the names of the tools that were offered, and of their parameters. A word of the content that
happens to be one of these stays too.
"""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypeAlias, cast

from weaklink.inspector.formats.markers import markers_of
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.redaction.exact_values import ExactValues
from weaklink.inspector.redaction.finding import Finder, pattern_secrets, replaced
from weaklink.inspector.redaction.rules import PATTERNS, words
from weaklink.inspector.text import Range

_MAX_OPEN_CHARS = 8_192
KeptWords: TypeAlias = frozenset[str]
"""The words that stay in a recording without content."""
_PROBES = tuple(
    ToolCall("f", arguments, json.dumps(arguments), valid=True, range=Range(0, 0))
    for arguments in cast("tuple[dict[str, Json], ...]", ({"x": "x"}, {"x": ["x"]}, {"x": {"x": True}}))
)
"""Calls whose own words are short enough to stay in any case."""


def kept_words(tools: Iterable[ToolDefinition] = ()) -> KeptWords:
    """The words of the formats, and those of `tools`."""
    return _format_words().union(_tool_words(tools))


def with_members(kept: KeptWords, text: str) -> KeptWords:
    """The words, and the names of the text's JSON members anywhere in it: a schema's `required` repeats them."""
    return kept.union(PATTERNS.MEMBER_NAME.findall(text))


def mask_content(text: str, kept: KeptWords) -> str:
    """The text, of the same length, with its words masked: `x` for a letter, `1` for a digit but a lone 0."""

    def masked(found: re.Match[str]) -> str:
        word = found[0]
        if word[0] == "\\" or found["member"] or word in kept or word == "0":  # which says that a run did not fail
            return word
        if PATTERNS.whole_number.match(word):
            return PATTERNS.digit.sub("1", word)
        return "".join("_" if sign == "_" else "1" if sign.isdecimal() else "x" for sign in word)

    return PATTERNS.content_token.sub(masked, text)


@cache
def _format_words() -> frozenset[str]:
    """The words of all markers, and those that a format writes around the names and values of a call."""
    texts = [marker for known in formats() for marker in markers_of(known).all if not PATTERNS.phrase.fullmatch(marker)]
    texts += [known.write_calls([probe]) for known in formats() for probe in _PROBES if known.expresses(probe)]
    return frozenset(word for text in texts for word in PATTERNS.any_word.findall(text) if not word.isdecimal()).union(
        words("call_syntax")
    )


def _tool_words(tools: Iterable[ToolDefinition]) -> Iterator[str]:
    """The words of the names of tools, and of the members of their schemas: keywords, and the parameters described."""
    for tool in tools:
        texts = re.findall(r'"((?:[^"\\]|\\.)*)"(:?)', json.dumps(tool.parameters, ensure_ascii=False))
        for name in (tool.name, *(text for text, colon in texts if colon)):
            yield from PATTERNS.any_word.findall(name)


PATTERN_TAIL = 256
"""Code points that are held back for a user's patterns: a match of at most this length is found in a live stream."""

_PATTERN_CONTEXT = 768


class SecretStream:
    """Replaces secrets; the whole output is the same as if the whole text were redacted at once.

    `patterns` are a user's own; a match of theirs that is longer than `PATTERN_TAIL` may be found too late. `values`
    are replaced before anything else is looked for.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]] = (), values: ExactValues | None = None) -> None:
        self._patterns = patterns
        self._values = values
        self._held = ""
        self._finder = Finder()
        self._raw = self._clean = ""  # text that is certain except for the patterns, with some of the earlier text
        self._released = 0  # of it
        self.count = 0

    def feed(self, piece: str) -> str:
        """The text that has become certain with this piece, redacted."""
        if self._values:
            text = self._held + piece
            piece, end = self._values.certain(text)
            self._held = text[end:]
            self.count += piece != text[:end]
        return self._fed(piece, is_final=False)

    def close(self) -> str:
        """The rest of the text, redacted."""
        return self._fed(self._values.replaced(self._held) if self._values else "", is_final=True)

    def _fed(self, piece: str, *, is_final: bool) -> str:
        finder = self._finder
        was_open = finder.open is not None
        secrets = finder.feed(piece, is_final=is_final)
        start, end = finder.released, finder.certain
        if not secrets and not self._patterns and end - start == len(piece):
            return piece if start + len(piece) == len(finder.text) else finder.text[start:end]
        self.count += len(secrets) - (was_open and bool(secrets))
        clean = replaced(finder.text, secrets)[start:end] if secrets else finder.text[start:end]
        return self._without_matches(finder.text[start:end], clean, is_final=is_final) if self._patterns else clean

    def _without_matches(self, raw: str, clean: str, *, is_final: bool) -> str:
        """What is certain now of such text, raw and redacted, without the matches of the patterns."""
        self._raw += raw
        self._clean += clean
        end = len(self._raw) if is_final else max(len(self._raw) - PATTERN_TAIL, self._released)
        matches = pattern_secrets(self._raw, self._patterns)
        self.count += sum(self._released <= match.start < end for match in matches)
        released = replaced(self._clean, matches)[self._released : end]
        keep = max(end - _PATTERN_CONTEXT, 0)
        self._raw, self._clean, self._released = self._raw[keep:], self._clean[keep:], end - keep
        return released


class ContentStream:
    """Masks every word but the kept ones, for recordings without content."""

    def __init__(self, kept: KeptWords) -> None:
        self._kept = kept
        self._held = ""
        self.count = 0

    def feed(self, piece: str) -> str:
        """The text that has become certain with this piece, masked.

        A word or escape at its end whose mask depends on what follows is held back, up to 8,192 characters of it.
        """
        text = self._held + piece
        last = deque(PATTERNS.growing.finditer(text), maxlen=1)
        is_open = last and not last[0]["whole"] and last[0].end() == len(text) and len(last[0][0]) <= _MAX_OPEN_CHARS
        end = last[0].start() if is_open else len(text)
        self._held = text[end:]
        return mask_content(text[:end], self._kept)

    def close(self) -> str:
        """The rest of the text, masked."""
        held, self._held = self._held, ""
        return mask_content(held, self._kept)


TextStream: TypeAlias = SecretStream | ContentStream
"""Takes one part's text piece by piece and returns it redacted, with the same length."""
