"""Values that are known to be secret, such as those of a process's environment, matched exactly in every encoding.

A value is looked for as it is, and as JSON at up to three levels, HTML, addresses and base 64 write it; in base 64 also
within a longer text, such as `user:password`. What may be the beginning of one is held back from a stream.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from weaklink.inspector.redaction import names
from weaklink.inspector.redaction.finding import FILLER, find_secrets
from weaklink.inspector.redaction.secret_values import can_be_quoted_secret

_MIN_CHARS = 8


def secret_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables with a secret's name, and keys and passwords within the values of others.

    Values of fewer than 8 characters, numbers and words of letters are not among them: they are also in other texts.
    """
    found: list[str] = []
    for name, value in environment.items():
        if is_named_secret(name, value):
            found.append(value)
        found += (value[secret.start : secret.end] for secret in find_secrets(value))
    long = (value for value in dict.fromkeys(found) if len(value) >= _MIN_CHARS)
    return tuple(value for value in long if not (value.isalpha() or value.isdigit()))


def is_named_secret(name: str, value: str) -> bool:
    """Whether a name introduces a secret, and the value can be one."""
    confidence = names.confidence_of(name)
    return confidence is not None and can_be_quoted_secret(value, confidence)


class ExactValues:
    """Replaces known values in texts, and in streams; the result does not depend on how a stream is cut."""

    def __init__(self, values: Iterable[str]) -> None:
        self._forms = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms)) or "(?!)")
        self._first = re.compile("|".join({re.escape(form[0]) for form in self._forms}) or "(?!)")
        self._beginnings = frozenset(form[:size] for form in self._forms for size in range(1, len(form)))
        self._longest = max(map(len, self._forms), default=0)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def are_in(self, text: str) -> bool:
        """Whether one of the values is in a text."""
        return any(form in text for form in self._forms)

    def replaced(self, text: str) -> str:
        """A whole text without the values, of the same length."""
        return self._pattern.sub(lambda found: FILLER * len(found[0]), text) if self.are_in(text) else text

    def certain(self, text: str) -> tuple[str, int]:
        """A text that continues: its certain beginning without the values, and how long that is."""
        start = 0
        pieces: list[str] = []
        open_at = self._open_from(text, 0)
        while (match := self._pattern.search(text, start)) is not None and match.start() < open_at:
            pieces += (text[start : match.start()], FILLER * len(match[0]))
            start = match.end()
            open_at = open_at if open_at >= start else self._open_from(text, start)
        return "".join((*pieces, text[start:open_at])), open_at

    def _open_from(self, text: str, start: int) -> int:
        """The first position from which on the text may be the beginning of a value."""
        for match in self._first.finditer(text, max(start, len(text) - self._longest)):
            if text[match.start() :] in self._beginnings:
                return match.start()
        return len(text)


def _forms(value: str) -> Iterator[str]:
    once = json.dumps(value)[1:-1]
    twice = json.dumps(once)[1:-1]
    plain = json.dumps(value, ensure_ascii=False)[1:-1]
    yield from (value, once, plain, twice, json.dumps(plain, ensure_ascii=False)[1:-1], json.dumps(twice)[1:-1])
    yield from (html.escape(value), quote(value), quote(value, safe=""), quote_plus(value))
    raw = value.encode("utf-8", "surrogateescape")
    for offset in range(3):  # in a longer text, its beginning and its end are in groups with what is around it
        encoded = base64.b64encode(b"\0" * offset + raw).decode()
        certain = encoded[(0, 2, 3)[offset] : (offset + len(raw)) * 8 // 6]
        yield from (certain, certain.replace("+", "-").replace("/", "_"))
