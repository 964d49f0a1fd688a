"""Keys that are identified by their prefix: the table of their shapes, and the search for them in a text.

A prefix counts only where a word begins: at the text's beginning, after any character that is no letter or digit, and
after an escape, whose last letter is not part of the word after it: a line end in JSON at any level, `%0A`, a colour of
a terminal. Within a long run of key characters a dash begins no word, because such a run is one value.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.redaction import secret_values
from weaklink.inspector.redaction.rules import PATTERNS, RULES
from weaklink.inspector.scanning import lazy_pattern

_RUN = "[A-Za-z0-9_.+/=~-]"
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

PREFIXES = (*dict.fromkeys(key.prefix for key in KEYS), "eyJ", *map("".join, product("MNO", "DTjz")))
"""What keys begin with; those of Discord's bots begin with digits in base 64."""


def begins_word(text: str, at: int, free_at: int = -1) -> bool:
    """Whether a word begins at a position, also after an escape or a secret, the last of which ended at `free_at`."""
    if at in {0, free_at}:
        return True
    before = text[at - 1]
    if before.isascii() and before.isalnum():
        return PATTERNS.escape_end.search(text, max(at - 16, 0), at) is not None
    return before not in "_-" or PATTERNS.blob.search(text, max(at - 40, free_at, 0), at) is None


RUN = lazy_pattern(f"{_RUN}{{{SHORTEST_KEY},{_MAX_EXAMINED_CHARS}}}|{_RUN}*\\Z")
"""What may be a key: a run that is long enough, or may continue."""


def judge_key(place: secret_values.FoundIntroduction) -> secret_values.Secret | None:
    """The key whose prefix begins a run, if it is one."""
    text, at, is_final = place.text, place.found.start(), place.is_final
    begins = begins_word(text, at, place.free_at)
    keys = [key for key in _by_first()[text[at]] if text.startswith(key.prefix, at) and (begins or key.is_free)]
    for key in keys:
        secret = _judge(key, text, at + len(key.prefix), is_final=is_final)
        if secret is not None:
            return secret
    for name, pattern in _TOKENS.items() if begins else ():
        match = pattern.match(text, at)
        if match is not None and secret_values.is_mixed(match["body"]):
            return replace(
                secret_values.Secret.of(text, match.start("body"), _TOKEN_REST, is_final=is_final), rule=name
            )
    return None


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
