"""Reads a filter: bare words, "quoted phrases" and `key:value`, all of which must hold."""

import re
from difflib import get_close_matches

from inspector.chain.steps import Status
from inspector.errors import WeaklinkError
from storage.filter.terms import KEYS, Field, Filter, Key, Words

_NO_SPACE = re.compile(r"\S")
_TERM = re.compile(r'(?:(?P<key>[A-Za-z_][\w.]*):)?(?:"(?P<quoted>(?:[^"\\]|\\.)*)"(?=\s|$)|(?P<bare>[^\s"]*))')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class FilterError(WeaklinkError):
    """A filter cannot be read; `position` is the character, from 0, at which it goes wrong."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"filter, character {position + 1}: {message}")
        self.position = position


def parse_filter(text: str) -> Filter:
    """What a filter says; an empty one lets everything through. FilterError where it cannot be read."""
    terms: list[Words | Field] = []
    at = 0
    while (begins := _NO_SPACE.search(text, at)) is not None:
        found = _TERM.match(text, begins.start())
        if found is None or text[found.end() : found.end() + 1] == '"':
            at = begins.start() if found is None else found.end()
            raise FilterError('a quote does not close, or stands within a word; write `key:"two words"`', at)
        terms.append(_term(found))
        at = found.end()
    return tuple(terms)


def _term(found: re.Match[str]) -> Words | Field:
    quoted, bare = found["quoted"], found["bare"]
    value = bare if quoted is None else _ESCAPE.sub(r"\1", quoted)
    if found["key"] is None:
        return Words(value.rstrip("*"), prefix=True) if quoted is None and value.endswith("*") else Words(value)
    start = found.start("key")
    key = _key(found["key"], start)
    if not value:
        raise FilterError(f"`{key.value}:` wants a value", found.end())
    if key is Key.STATUS and "*" not in value and value.lower() not in set(Status):
        raise FilterError(f"a status is one of {', '.join(Status)}, not `{value}`", start)
    return Field(key, value)


def _key(word: str, position: int) -> Key:
    try:
        return Key(word.lower())
    except ValueError:
        nearest = get_close_matches(word.lower(), KEYS, n=1)
        hint = f"did you mean `{nearest[0]}:`?" if nearest else f"there are {', '.join(KEYS)}."
        raise FilterError(f"there is no key `{word}`; {hint} Text to be found stands in quotes.", position) from None
