r"""A place at which a secret may begin: what a detector found there, and how punctuation is written around it.

No match of a detector's pattern is longer than `LONGEST_INTRODUCTION`, and a verdict depends on at most `WINDOW`
characters after it, so that it is the same however the text is cut. Quotes, blanks and line ends may have the escapes
of JSON (`\"`), HTML (`&quot;`) and addresses (`%22`).
"""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from weaklink.inspector.redaction import secret_values
from weaklink.inspector.redaction.keys import begins_word
from weaklink.inspector.redaction.rules import LONGEST_INTRODUCTION
from weaklink.inspector.redaction.secret_values import Secret

PEEK = 128  # code points of a value that are examined
AHEAD = PEEK + secret_values.LOOKAHEAD
FARTHEST_VALUE = 340
"""Code points from an introduction to its value, at most."""
WINDOW = AHEAD + FARTHEST_VALUE
"""Code points after an introduction of which a verdict depends."""


class FoundIntroduction(Struct, frozen=True):
    """An introduction that was found in a text; `free_at` is the end of the last secret before it, -1 for none.

    `lowered` is the view of `text` that was searched.
    """

    text: str
    lowered: str
    found: re.Match[str]
    free_at: int
    is_final: bool

    @property
    def begins(self) -> bool:
        """Whether a word begins here."""
        return begins_word(self.text, self.found.start(), self.free_at)

    def value(self, ending: secret_values.Ending, start: int) -> tuple[str, str]:
        """What is examined of the value from `start` on, and some characters after it."""
        end = ending.end(self.text, start, min(start + AHEAD, len(self.text)), is_final=self.is_final)
        if end is None or end >= start + PEEK:
            return self.text[start : start + PEEK], ""
        return self.text[start:end], self.text[end : end + _AFTER]

    def judge(self, ending: secret_values.Ending, start: int, is_secret: Callable[[str, str], bool]) -> Secret | None:
        """The secret from `start` on, by what is examined of it and some characters after it."""
        is_one = is_secret(*self.value(ending, start))
        return Secret.of(self.text, start, ending, is_final=self.is_final) if is_one else None


class Detector(Struct, frozen=True):
    """Finds introductions by `pattern`, in the view, if one of `signs` is in the text; `judge` decides.

    With `can_hold_secrets`, other secrets may be within an introduction; its value then begins at its end or later.
    With a `span` of 0, a match begins with a sign; else it begins at most `span` characters before one of its signs,
    and has the parts that make it one at most `span` behind it. Patterns begin with a character and not with a
    lookbehind, so that the search goes from one such character to the next.
    """

    name: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: Callable[["FoundIntroduction"], Iterable[Secret]]
    can_hold_secrets: bool = False
    span: int = LONGEST_INTRODUCTION


_AFTER = 4  # characters behind a value that are examined


def ending_of(opened: str) -> secret_values.Ending:
    """How a value ends that begins with `opened`, in lower case."""
    bare = opened.lstrip("nrbf") if opened[-1] in "\"'`" else opened
    if bare[-1] in "\"'`" and not bare.startswith("<"):
        return secret_values.Quoted(bare[-1], len(bare) - len(bare.lstrip("\\")))
    return secret_values.until(opened)
