"""Keys that are identified by their prefix: the table of their shapes, and the search for them in a text.

A prefix counts only where a word begins: at the text's beginning, after any character that is no letter or digit, and
after an escape, whose last letter is not part of the word after it: a line end in JSON at any level, `%0A`, a colour of
a terminal. Within a long run of key characters a dash begins no word, because such a run is one value.
"""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.redaction import secret_values
from weaklink.inspector.redaction.rules import PATTERNS, RULES, words
from weaklink.inspector.scanning import one_of

SECRET_HEADERS = frozenset(words("secret_headers"))
"""Headers, in lower case, whose whole value is secret, except for the scheme before it (`Bearer`)."""

RUN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+/=~"
_LOOK, _MAX_EXAMINED_CHARS = 64, 448
_TOKENS = {"JSON Web Token": PATTERNS.json_web_token, "Discord bot": PATTERNS.discord_bot}
_TOKEN_REST = secret_values.PatternRun(PATTERNS.token_rest)


class KeyShape(Struct, frozen=True):
    """A key whose `prefix` begins a word; at least `at_least` characters of the set `secret` follow.

    The prefix stays readable and the whole run of `secret` characters after it is redacted. `is_free`: the prefix may
    follow a letter or digit. `must_mix`: within the first 64 characters there must be a segment with a digit and a
    letter, or with both cases, because words joined by dashes have the same shape.
    """

    name: str
    source: str
    prefix: str
    at_least: int = 20
    secret: str = "A-Za-z0-9_-"
    is_free: bool = False
    must_mix: bool = True


def _shapes() -> Iterator[KeyShape]:
    for row in RULES.keys.strip().replace("\n  ", " ").splitlines():
        head, _, pairs = row.partition(": ")
        origin, characters, at_least, *options = head.split(" ")
        for pair in pairs.split(" "):
            rule, _, prefix = pair.partition("=")
            secret, is_free, must_mix = (
                RULES.characters.get(characters, characters),
                "free" in options,
                "words" not in options,
            )
            yield KeyShape(rule, f"{origin} {rule}", prefix, int(at_least), secret, is_free, must_mix)


KEYS = tuple(_shapes())

SHORTEST_KEY = min(len(key.prefix) + key.at_least for key in KEYS)
"""The length of the shortest key: a shorter run of key characters needs no check."""

_RUNS = bytes(97 if byte in RUN_CHARACTERS else 32 for byte in range(256))
LONG_RUN = b"a" * SHORTEST_KEY
"""In the runs of a text, one that is long enough for a key."""


def runs_of(plain: bytes, *, is_final: bool = True) -> bytes:
    """An ASCII text with `a` for every key character and a blank for every other.

    Unless `is_final`, a run is appended, because the one at the text's end may continue.
    """
    runs = plain.translate(_RUNS)
    return runs if is_final else runs + LONG_RUN


def has_long_run(runs: bytes) -> bool:
    """Whether a run is long enough for a key."""
    return LONG_RUN in runs


def begins_word(text: str, at: int, free_at: int = -1) -> bool:
    """Whether a word begins at a position, also after an escape or a secret, the last of which ended at `free_at`."""
    if at in {0, free_at}:
        return True
    before = text[at - 1]
    if before.isascii() and before.isalnum():
        return PATTERNS.escape_end.search(text, max(at - 16, 0), at) is not None
    return before not in "_-" or PATTERNS.blob.search(text, max(at - 40, free_at, 0), at) is None


class KeyPlaces:
    """The places of key prefixes in runs that are long enough for a key."""

    name, may_reach_behind = "key", False

    def __init__(self, text: str, runs: bytes) -> None:
        self._text, self._runs = text, runs
        self._run_end = 0
        self.at = self.begin = self.value_at = self.decided_at = -1

    def go_to(self, at: int) -> bool:
        """Go to the first place at or after `at`, which must not be before the last one; False if there is none."""
        while True:
            if at >= self._run_end:
                at = self._runs.find(LONG_RUN, at)
                if at < 0:
                    return False
                end = self._runs.find(b" ", at)
                self._run_end = len(self._runs) if end < 0 else end
            found = _prefixes().search(self._text, at, min(self._run_end, len(self._text)))
            if found is not None:
                self.at = self.begin = at = found.start()
                prefixes = (key.prefix for key in _by_first()[found[0][0]] if found[0].startswith(key.prefix))
                self.value_at = at + min(map(len, prefixes), default=0)
                self.decided_at = min(at + _MAX_EXAMINED_CHARS, min(self._run_end, len(self._text)) + 1)
                return True
            at = self._run_end

    def judge(self, free_at: int, *, is_final: bool) -> list[secret_values.Secret]:
        """The key at the current place, if there is one."""
        text, at = self._text, self.at
        begins = begins_word(text, at, free_at)
        keys = [key for key in _by_first()[text[at]] if text.startswith(key.prefix, at) and (begins or key.is_free)]
        for key in keys:
            secret = _judge(key, text, at + len(key.prefix), is_final=is_final)
            if secret is not None:
                return [secret]
        for name, pattern in _TOKENS.items() if begins else ():
            found = pattern.match(text, at)
            if found is not None and secret_values.is_mixed(found["body"]):
                secret = secret_values.Secret.of(text, found.start("body"), _TOKEN_REST, is_final=is_final)
                return [replace(secret, rule=name)]
        return []


def has_prefix(text: str, start: int) -> bool:
    """Whether a prefix of a key is at or after `start`."""
    return _prefixes().search(text, start) is not None


def _judge(key: KeyShape, text: str, start: int, *, is_final: bool) -> secret_values.Secret | None:
    run = _run(key.secret)
    look = max(key.at_least, _LOOK)
    end = run.pattern.match(text, start, start + look).end()  # type: ignore[union-attr]  # it may match nothing
    body = text[start:end]
    if len(body) >= key.at_least and (not key.must_mix or secret_values.has_random_segment(body)):
        return replace(secret_values.Secret.of(text, start, run, is_final=is_final), rule=key.source)
    return None


@cache
def _run(characters: str) -> secret_values.PatternRun:
    return secret_values.PatternRun(re.compile(f"[{characters}]*"))


@cache
def _by_first() -> dict[str, tuple[KeyShape, ...]]:
    keys = sorted(KEYS, key=lambda key: -len(key.prefix))
    firsts = {key.prefix[0] for key in KEYS} | set("eMNO")
    return {first: tuple(key for key in keys if key.prefix[0] == first) for first in firsts}


@cache
def _prefixes() -> re.Pattern[str]:
    return re.compile("|".join((one_of(key.prefix for key in KEYS), "eyJ", r"[MNO](?=[A-Za-z0-9_-]{22,27}\.)")))
