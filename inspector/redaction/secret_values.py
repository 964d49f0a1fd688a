"""The value of a secret: where it ends, how strongly its name indicates it, and whether it can be a secret at all.

An ending finds the end of a value from any position within it, without memory of earlier text, so the search in a value
that arrives in pieces can continue where it stopped. `end` returns None while the value may continue after the text's
end. Every pattern here needs at most `LOOKAHEAD` code points beyond the character that it decides on.
"""

import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.redaction.rules import AHEAD, LOOKAHEAD, PATTERNS, PEEK, words

_AFTER = 4  # characters behind a value that are examined
_REDACTED = "******"  # a value with this was redacted already, here or elsewhere
_PLAIN_WORDS, _DEFAULT_PASSWORDS = frozenset(words("no_values")), frozenset(words("default_passwords"))
_MIN_CHANGES, _MANY_CHANGES = 3, 5


class PatternRun(Struct, frozen=True):
    """A run of what `pattern` matches; if it reaches the end of the text, it may continue.

    `soft` are characters at which the pattern stops only because of what follows them, None for all. `is_block`: only
    letters, digits and signs of base 64 in it are secret, and the rest is the structure of the text around it.
    """

    pattern: re.Pattern[str]
    soft: str | None = ""
    is_block: bool = False

    def end(self, text: str, at: int, limit: int, *, is_final: bool) -> int | None:
        """The end of the value around `at`, searched before `limit`; None if it is not found there.

        With `is_final` nothing follows the text.
        """
        match = self.pattern.match(text, at, limit)
        end = match.end() if match is not None else at
        if limit < len(text) and end >= limit - LOOKAHEAD:
            return None
        if is_final or (
            end < len(text) and ((self.soft is not None and text[end] not in self.soft) or end + LOOKAHEAD <= len(text))
        ):
            return end
        return None


class Quoted(Struct, frozen=True):
    r"""A quoted text whose opening `quote` had so many `backslashes` before it: 0, 1, 3, 7 for JSON in JSON in JSON.

    A quote with fewer closes it too, because it closes a text around it; so does a line end of a text around it, which
    a quoted text of JSON cannot contain. Of n backslashes that open it, a closing quote has n, and n + 1 more for each
    pair of backslashes that is itself content.
    """

    quote: str
    backslashes: int
    is_block: bool = False

    def end(self, text: str, at: int, limit: int, *, is_final: bool) -> int | None:
        """See `PatternRun`."""
        unit = self.backslashes + 1
        stops = re.compile(rf"(?<!\\)(\\*)({self.quote}{self.quote}(?=[A-Za-z0-9])|[{self.quote}\n\r]|(?<=\\)[nr])")
        for match in stops.finditer(text, at, min(limit, len(text))):
            stop, before = match[2], len(match[1])
            if stop in "\r\n":
                return match.end() - 1
            if stop in "nr":
                if 0 < before < unit:
                    return match.start()
            elif before < self.backslashes:
                return match.start()
            elif (before + 1) // unit % 2:
                if match.end() + 2 > len(text) and not is_final:
                    return None  # the same quote may follow
                if len(stop) == 1:
                    return match.end() - 1 - self.backslashes
        return len(text) if is_final and limit >= len(text) else None


@cache
def until(closer: str) -> PatternRun:
    """A value that ends at the literal `closer`, or at the line's end."""
    other = r"\r\n" if closer == "]]>" else r"\r\n<>"
    return PatternRun(re.compile(rf"(?:(?!{re.escape(closer)})[^{other}])*"), closer[0])


BARE = PatternRun(PATTERNS.bare, "&,;|)]}\\")
FIELDS = PatternRun(PATTERNS.fields, " ")
LINE = PatternRun(PATTERNS.line)
ELEMENT = PatternRun(PATTERNS.element, "&\\]")
BEFORE_AT = PatternRun(PATTERNS.before_at)
WORD = PatternRun(PATTERNS.value_word, "&")
JOINED_WORD = PatternRun(PATTERNS.joined_word, "&:,;?")
PEM = PatternRun(PATTERNS.pem_body, soft=None, is_block=True)


@cache
def block(newline: str, indent: str) -> PatternRun:
    """The lines of a block of YAML, whose lines after the first begin with `indent`."""
    line_end = re.escape(newline)
    begin = re.escape(indent) or "(?!)"
    return PatternRun(re.compile(rf'(?:(?!{line_end})[^"\r\n]|{line_end}(?={line_end}|{begin}))*'), '\\\r\n"')


Ending: TypeAlias = PatternRun | Quoted


class Secret(Struct, frozen=True):
    """A secret from `start` to `end`, in code points; `goes_on` are its endings if it may extend beyond the text.

    Of several endings, such as those of a line and of a private key that begins within it, the last counts. See
    `PatternRun` for `is_block`; `rule` is the name of the key or the detector that found it.
    """

    start: int
    end: int
    goes_on: tuple[Ending, ...] = ()
    is_block: bool = False
    rule: str = ""

    @classmethod
    def of(cls, text: str, start: int, ending: Ending, *, is_final: bool) -> "Secret":
        """The secret that begins at `start`, as far as it is in the text."""
        end = ending.end(text, start, len(text), is_final=is_final)
        goes_on = (ending,) if end is None else ()
        return cls(start, len(text) if end is None else end, goes_on, ending.is_block)


class FoundIntroduction(Struct, frozen=True):
    """An introduction that was found in a text; `free_at` is the end of the last secret before it, -1 for none.

    `lowered` is the view of `text` that was searched.
    """

    text: str
    lowered: str
    found: re.Match[str]
    free_at: int
    is_final: bool

    def value(self, ending: Ending, start: int) -> tuple[str, str]:
        """What is examined of the value from `start` on, and some characters after it."""
        end = ending.end(self.text, start, min(start + AHEAD, len(self.text)), is_final=self.is_final)
        if end is None or end >= start + PEEK:
            return self.text[start : start + PEEK], ""
        return self.text[start:end], self.text[end : end + _AFTER]

    def judge(self, ending: Ending, start: int, is_secret: Callable[[str], object]) -> Secret | None:
        """The secret from `start` on, by what is examined of it."""
        is_one = is_secret(self.value(ending, start)[0])
        return Secret.of(self.text, start, ending, is_final=self.is_final) if is_one else None


def ending_of(opened: str) -> Ending:
    """How a value ends that begins with `opened`, in lower case."""
    bare = opened.lstrip("nrbf") if opened[-1] in "\"'`" else opened
    if bare[-1] in "\"'`" and not bare.startswith("<"):
        return Quoted(bare[-1], len(bare) - len(bare.lstrip("\\")))
    return until(opened)


class SecretConfidence(Enum):
    """How strongly a name indicates that its value is a secret."""

    PASSWORD = "password"
    """Any value is a secret, also a short one or a number."""
    SECRET = "secret"
    """Any word is a secret, unless it is plainly none."""
    LIKELY = "likely"
    """Only a value that looks random: names that are also used for other things."""
    UNLIKELY = "unlikely"
    """Only a long value that looks random: names of which most values are ids."""


def is_placeholder(value: str) -> bool:
    """Whether a value is a mask, or a placeholder for another value: `$TOKEN`, `{{ token }}`, `<token>`, `****`."""
    return PATTERNS.placeholder.fullmatch(value) is not None


def is_mixed(value: str) -> bool:
    """Whether it has digits among letters, or capitals within a word, as keys have and words do not."""
    return PATTERNS.mixed.search(value) is not None


def is_made(value: str, *, at_least: int = 8) -> bool:
    """Whether a word has letters and digits, and looks like a password: a part of it is no word with a number."""
    if len(value) < at_least or not (_is_unknown(value) and has_letters_and_digits(value)):
        return False
    parts = PATTERNS.parts.findall(value)
    changes = sum(_changes(part) for part in parts if not PATTERNS.ordinary.fullmatch(part))
    return changes >= 2 or PATTERNS.inner_symbol.search(value) is not None or max(map(_changes, parts)) >= _MANY_CHANGES


def changes_often(value: str) -> bool:
    """Whether it changes more often between capitals, digits and the rest than a word with a number, or one in code."""
    return _changes(value) >= _MIN_CHANGES


def has_letters_and_digits(value: str) -> bool:
    """Whether it has both, and is no known word, such as a digest."""
    is_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return is_both and "----" not in value and _is_unknown(value)


def _changes(part: str) -> int:
    return len(PATTERNS.change.findall(part))


def _is_unknown(value: str) -> bool:
    value = value.rstrip(".!?,:;")
    return value not in _PLAIN_WORDS and not (
        PATTERNS.known_word.match(value) or PATTERNS.path.match(value) or is_placeholder(value) or _REDACTED in value
    )


def can_be_quoted_secret(value: str, confidence: SecretConfidence) -> bool:
    """Whether a quoted value can be a secret; of a long one the beginning is enough."""
    word = value.strip()
    if _is_no_value(word) and not (confidence is SecretConfidence.PASSWORD and word.lower() in _DEFAULT_PASSWORDS):
        return False
    if confidence in {SecretConfidence.LIKELY, SecretConfidence.UNLIKELY}:
        return _is_likely(word, confidence)
    if word.count(" ") > 1 and (len(PATTERNS.prose_words.findall(word)) > 1 or PATTERNS.own_name.search(word)):
        return False
    if PATTERNS.path.match(word) or (word.isdigit() and confidence is not SecretConfidence.PASSWORD):
        return False
    return len(word) >= (3 if confidence is SecretConfidence.PASSWORD else 6)


def can_be_bare_secret(value: str, confidence: SecretConfidence, *, name: str, gap: str, after: str) -> bool:
    """Whether a value without quotes can be a secret, and is no code, no type and no first word of a sentence.

    `gap` is the text between its name and it, `after` some characters that follow it.
    """
    word = value.rstrip(".,;:!?)}")
    if value.startswith(("--", *"{[(<,;)]}|&:=*!?")) or _is_no_value(value) or _is_no_value(word):
        return False
    if confidence in {SecretConfidence.LIKELY, SecretConfidence.UNLIKELY}:
        return _is_likely(value, confidence) and PATTERNS.digit.search(value) is not None and not _is_code(value)
    is_number = value.isdigit() and confidence is not SecretConfidence.PASSWORD
    if is_number or _is_code(value) or PATTERNS.path.match(value):
        return False
    if PATTERNS.identifier.fullmatch(word):
        return _is_bare_word_secret(value, name=name, gap=gap, after=after)
    return len(value) >= (4 if confidence is SecretConfidence.PASSWORD else 6)


def _is_bare_word_secret(value: str, *, name: str, gap: str, after: str) -> bool:
    """Whether a word of letters is a value, as in a settings file, and no variable of code or word of a sentence."""
    if len(value) < 6 or value.lower().endswith(name.lower()) or "_" in value:
        return False
    if "=" in gap and gap != gap.strip():
        return False
    if gap == " ":
        return not after.startswith((" ", ",", ".", ";", ":"))
    is_field = after[:1] == ";" and after[1:2].isalpha()  # of a connection string, whose next field follows
    return not after or after[0] in "\r\n\\\"'`&<" or (gap == "=" and (is_field or after[0].isspace()))


def _is_code(value: str) -> bool:
    return PATTERNS.code.fullmatch(value.rstrip(":,;")) is not None


def _is_no_value(word: str) -> bool:
    return not word or _REDACTED in word or word.lower() in _PLAIN_WORDS or is_placeholder(word)


def _is_likely(word: str, confidence: SecretConfidence) -> bool:
    at_least = 8 if confidence is SecretConfidence.LIKELY else 20
    if len(word) < at_least or any(sign.isspace() for sign in word) or PATTERNS.uuid.fullmatch(word):
        return False
    is_plain = word.startswith(("http:", "https:", "/", "./")) or PATTERNS.numbered_words.fullmatch(word)
    return is_mixed(word) and not is_plain
