"""What is looked for of the values in a call's arguments: each as a whole, and the names, ids and numbers within it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from inspector.chain.words import leaves, spellings
from inspector.model import Json, ToolCall

# Looked for within a longer text: ids, paths, addresses and numbers; the words between them are the agent's own.
_ATOM = re.compile(r"[^\s\"'`<>()\[\]{},;|&=]*[\d/@][^\s\"'`<>()\[\]{},;|&=]*")
_MOST_ATOMS = 50
# `Tokyo, Japan` where the user said Tokyo: the names between commas, each looked for by itself.
_NAMES = re.compile(r"(?:^|[,;\n])\s*([^\W_a-z][^,;\n]{2,60}?)\s*(?=[,;\n]|$)")
_MOST_NAMES = 8
_LONG = 400
_READ = 20_000
_LEAST = 3

Spellings: TypeAlias = tuple[tuple[str, ...], ...]
"""The sequences of words under which one value may stand in a text, the plainest first."""


@dataclass(frozen=True, slots=True)
class ProvenanceTerm:
    """One value among a call's arguments; `pointer` names it within them.

    `whole` are its spellings, none where it is too long to stand anywhere as it is, or `is_trivial`: a truth value,
    null, or of fewer than three characters. `parts` are pieces of a text with their spellings, in its order.
    """

    pointer: str
    value: Json
    whole: Spellings = ()
    parts: tuple[tuple[str, Spellings], ...] = ()
    is_trivial: bool = False

    def words(self) -> Iterator[str]:
        """Every word that is looked for."""
        for one in (self.whole, *(spelled for _, spelled in self.parts)):
            for words in one:
                yield from words


def wanted_of(call: ToolCall) -> Iterator[ProvenanceTerm]:
    """What is looked for of each value of a call, in the order of its arguments; a text alone is one value."""
    if isinstance(call.arguments, str):
        yield _wanted("", call.arguments)
    elif isinstance(call.arguments, (dict, list)):
        for pointer, value in leaves(call.arguments):
            yield _wanted(pointer, value)


def _wanted(pointer: str, value: Json) -> ProvenanceTerm:
    if value is None or isinstance(value, (bool, dict, list)) or _is_short(str(value).strip()):
        return ProvenanceTerm(pointer, value, is_trivial=True)
    if not isinstance(value, str):
        return ProvenanceTerm(pointer, value, tuple(spellings(value)))
    whole = tuple(spellings(value)) if len(value) <= _LONG else ()
    pieces = dict.fromkeys((*_names(value), *_atoms(value)))
    return ProvenanceTerm(pointer, value, whole, tuple((piece, tuple(spellings(piece))) for piece in pieces))


def _is_short(text: str) -> bool:
    """Whether a text is too short to say where it came from; two characters of Chinese are a word."""
    return not text or (len(text) < _LEAST and text.isascii())


def _names(value: str) -> Iterator[str]:
    if len(value) <= _LONG and ("," in value or ";" in value or "\n" in value):
        yield from (match[1] for match in islice(_NAMES.finditer(value), _MOST_NAMES))


def _atoms(value: str) -> Iterator[str]:
    for match in islice(_ATOM.finditer(value[:_READ]), _MOST_ATOMS):
        if len(match[0]) >= _LEAST and match[0] != value:
            yield match[0].strip(".:!?-")
