"""F309: calls in another format's syntax, in the words of a model that should call in its own.

Every text that a model writes is looked through, so the search is cheap where there is nothing: a text without the
first characters of any call syntax is done after a few `in`; only a syntax whose literal beginning stands in it is
searched by its pattern, and only where that matches is the text read in that format.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from inspector.diagnostics import Fault
from inspector.formats.format import Format, Signs
from inspector.formats.registry import formats
from inspector.model import Role, ToolCall
from inspector.rules.markers import FOREIGN_FORMAT
from inspector.segmenter.assembler import Assembler
from inspector.text import Range

_LITERAL = re.compile(r"(?:\\[^a-zA-Z0-9]|[^\\.^$*+?{}\[\]|()])+(?![*+?{])")
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class _Sign:
    literal: str
    pattern: re.Pattern[str]
    format: Format


def foreign_calls(text: str, start: int, own: Format) -> Iterator[Fault]:
    """The calls in `text`, a model's words that begin at `start`, in the syntax of another format than `own`.

    Calls that are quoted as code are none; of several foreign syntaxes the one that comes first is read.
    """
    first: tuple[int, Format] | None = None
    for character, signs in _signs(own, formats()).items():
        if character in text:
            for sign in signs:
                match = sign.pattern.search(text) if sign.literal in text else None
                if match is not None and (first is None or match.start() < first[0]) and not _is_quoted(text, match):
                    first = match.start(), sign.format
    if first is not None:
        at, found = first
        for call in _calls(text[at:], found):
            yield _fault(call, call.range.moved(start + at), found, own)


def _calls(text: str, dialect: Format) -> list[ToolCall]:
    """The calls of a text in `dialect` that name a tool."""
    parser, assembler = dialect.new_parser("", Role.ASSISTANT), Assembler(dialect.readers)
    assembler.take(parser.feed(text))
    assembler.take(parser.close())
    return [call for call in assembler.calls if call.name and len(call.range)]


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Whether a match stands in a code fence that it does not open itself, or behind a backtick."""
    before = text.count(_FENCE, 0, match.start()) & 1
    return bool(before) or text[match.start() - 1 : match.start()] == "`"


def _fault(call: ToolCall, place: Range, found: Format, own: Format) -> Fault:
    return Fault(
        FOREIGN_FORMAT,
        place,
        f"A call of `{call.name}` stands here in the syntax of `{found.name}`, but this model's calls are read as "
        f"`{own.name}`: it stays in the answer, and no tool runs.",
        f"Serve the model with a parser for `{found.name}`, or mend the prompt that shows it this syntax.",
    )


@lru_cache(maxsize=64)
def _signs(own: Format, known: tuple[Format, ...]) -> dict[str, tuple[_Sign, ...]]:
    """The call syntax of all formats but one, by its first character; what its own calls look like is left out."""
    taken = set(_patterns(own))
    by_first: dict[str, list[_Sign]] = {}
    for one in known:
        for pattern in _patterns(one):
            literal = _beginning(pattern)
            if pattern not in taken and len(literal) > 1:
                taken.add(pattern)
                by_first.setdefault(literal[0], []).append(_Sign(literal, re.compile(pattern), one))
    return {first: tuple(signs) for first, signs in by_first.items()}


def _patterns(one: Format) -> tuple[str, ...]:
    return one.confidence.calls if isinstance(one.confidence, Signs) else ()


def _beginning(pattern: str) -> str:
    """The literal text that a pattern begins with."""
    match = _LITERAL.match(pattern)
    return re.sub(r"\\(.)", r"\1", match[0]) if match is not None and "|" not in pattern else ""
