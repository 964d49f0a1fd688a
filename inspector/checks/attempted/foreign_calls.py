"""F309: calls in another format's syntax, in the words of a model that should call in its own.

Every text that a model writes is looked through, so the search is cheap where there is nothing: one expression for all
call syntaxes that begin with the same sign, which skips from one such sign to the next, and a literal search for those
that begin with a letter. Only where one matches is the text read in that format.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from inspector.checks.quoting import is_quoted
from inspector.formats.format import Format, Signs
from inspector.formats.registry import formats
from inspector.model import Role, ToolCall
from inspector.segmenter.assembler import Assembler
from inspector.text import Range

_LITERAL = re.compile(r"(?:\\[^a-zA-Z0-9]|[^\\.^$*+?{}\[\]|()])+(?![*+?{])")
_SHORTEST = len("[f()]")
_LINE_START = r"(?m)^[ \t]*(?:\*\*)?"


@dataclass(frozen=True, slots=True)
class _Sign:
    pattern: re.Pattern[str]
    format: Format


@dataclass(frozen=True, slots=True)
class _Signs:
    """Call syntaxes that begin alike: `literal` stands in a text that holds one, `any_of` finds the first of them."""

    literal: str
    any_of: re.Pattern[str]
    each: tuple[_Sign, ...]

    def first(self, text: str, *, quoted: bool) -> tuple[int, Format] | None:
        """Where the first call begins and in which format; one that is quoted as code counts only if `quoted`."""
        if self.literal not in text:
            return None
        for match in self.any_of.finditer(text):
            if quoted or not is_quoted(text, match.start()):
                found = next(sign for sign in self.each if sign.pattern.match(text, match.start()))
                return match.start(), found.format
        return None


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A call in another format's syntax: as that format reads it, all of its characters, and the format."""

    call: ToolCall
    whole: Range
    format: Format


class ForeignCalls:
    """Looks through the words of a model whose calls are read as `own`."""

    def __init__(self, own: Format) -> None:
        self._own = own
        self._signs = _signs(own, formats())

    def find(self, text: str, offered: Callable[[str], bool] | None = None) -> list[ForeignCall]:
        """The calls in `text` in the syntax of another format, in order.

        Calls that are quoted as code are none, unless they name a tool that is `offered`; of several foreign syntaxes
        the one that comes first is read.
        """
        if len(text) < _SHORTEST:
            return []
        found = [first for signs in self._signs if (first := signs.first(text, quoted=offered is not None)) is not None]
        if not found:
            return []
        at, dialect = min(found, key=lambda first: first[0])
        calls = _calls(text, at, dialect)
        if offered is None:
            return calls
        return [one for one in calls if offered(one.call.name or "") or not is_quoted(text, one.whole.start)]


def _calls(text: str, at: int, dialect: Format) -> list[ForeignCall]:
    """The calls of a text from `at` on in `dialect` that name a tool."""
    parser, assembler = dialect.new_parser("", Role.ASSISTANT), Assembler(dialect.readers)
    assembler.take(parser.feed(text[at:]))
    assembler.take(parser.close())
    return [
        ForeignCall(_moved(call, at), assembler.spans[call.span].range.moved(at), dialect)
        for call in assembler.calls
        if call.name and len(call.range)
    ]


def _moved(call: ToolCall, at: int) -> ToolCall:
    return msgspec.structs.replace(call, range=call.range.moved(at)) if at else call


@lru_cache(maxsize=64)
def _signs(own: Format, known: tuple[Format, ...]) -> tuple[_Signs, ...]:
    """The call syntax of all formats but one, by what it begins with; what its own calls look like is left out."""
    taken = set(_patterns(own))
    alike: dict[str, list[tuple[str, _Sign]]] = {}
    for one in known:
        for pattern in _patterns(one):
            literal = _beginning(pattern)
            if pattern not in taken and len(literal) > 1:
                taken.add(pattern)
                key = literal if literal[0].isalnum() else literal[0]
                alike.setdefault(key, []).append((pattern, _Sign(re.compile(pattern), one)))
    return tuple(
        _Signs(key, re.compile(_any_of(key[0], [pattern for pattern, _ in signs])), tuple(sign for _, sign in signs))
        for key, signs in alike.items()
    )


def _any_of(first: str, patterns: list[str]) -> str:
    """One expression for patterns that begin with the same character, which stands before the choice."""
    skipped = [pattern[2:] if pattern[0] == "\\" else pattern[1:] for pattern in patterns]
    return re.escape(first) + "(?:" + "|".join(skipped) + ")"


def _patterns(one: Format) -> tuple[str, ...]:
    """The patterns of a format's calls; those that begin at a line's start, without that."""
    signs = one.confidence
    return tuple(sign.removeprefix(_LINE_START) for sign in signs.calls) if isinstance(signs, Signs) else ()


def _beginning(pattern: str) -> str:
    """The literal text that a pattern begins with."""
    match = _LITERAL.match(pattern)
    return re.sub(r"\\(.)", r"\1", match[0]) if match is not None and "|" not in pattern else ""
