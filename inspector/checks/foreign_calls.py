"""F309: calls in another format's syntax, in the words of a model that should call in its own.

Every text that a model writes is looked through, so the search is cheap where there is nothing: one expression for all
call syntaxes that begin with the same sign, which skips from one such sign to the next, and a literal search for those
that begin with a letter. Only where one matches is the text read in that format.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from inspector.checks.quoting import is_quoted
from inspector.diagnostics import Fault
from inspector.formats.format import Format, Signs
from inspector.formats.registry import formats
from inspector.model import Role, ToolCall
from inspector.rules.markers import FOREIGN_FORMAT
from inspector.segmenter.assembler import Assembler
from inspector.text import Range

_LITERAL = re.compile(r"(?:\\[^a-zA-Z0-9]|[^\\.^$*+?{}\[\]|()])+(?![*+?{])")
_SHORTEST = len("[f()]")


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

    def first(self, text: str) -> tuple[int, Format] | None:
        """Where the first call stands that is not quoted as code, and in which format."""
        if self.literal not in text:
            return None
        for match in self.any_of.finditer(text):
            if not is_quoted(text, match.start()):
                found = next(sign for sign in self.each if sign.pattern.match(text, match.start()))
                return match.start(), found.format
        return None


class ForeignCalls:
    """Looks through the words of a model whose calls are read as `own`."""

    def __init__(self, own: Format) -> None:
        self._own = own
        self._signs = _signs(own, formats())

    def faults(self, text: str, start: int) -> list[Fault]:
        """The calls in `text`, which begins at `start`, in the syntax of another format.

        Calls that are quoted as code are none; of several foreign syntaxes the one that comes first is read.
        """
        if len(text) < _SHORTEST:
            return []
        found = [first for signs in self._signs if (first := signs.first(text)) is not None]
        if not found:
            return []
        at, dialect = min(found, key=lambda first: first[0])
        return [_fault(call, call.range.moved(start + at), dialect, self._own) for call in _calls(text[at:], dialect)]


def _calls(text: str, dialect: Format) -> list[ToolCall]:
    """The calls of a text in `dialect` that name a tool."""
    parser, assembler = dialect.new_parser("", Role.ASSISTANT), Assembler(dialect.readers)
    assembler.take(parser.feed(text))
    assembler.take(parser.close())
    return [call for call in assembler.calls if call.name and len(call.range)]


def _fault(call: ToolCall, place: Range, found: Format, own: Format) -> Fault:
    return Fault(
        FOREIGN_FORMAT,
        place,
        f"A call of `{call.name}` stands here in the syntax of `{found.name}`, but this model's calls are read as "
        f"`{own.name}`: it stays in the answer, and no tool runs.",
        f"Serve the model with a parser for `{found.name}`, or mend the prompt that shows it this syntax.",
    )


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
    return one.confidence.calls if isinstance(one.confidence, Signs) else ()


def _beginning(pattern: str) -> str:
    """The literal text that a pattern begins with."""
    match = _LITERAL.match(pattern)
    return re.sub(r"\\(.)", r"\1", match[0]) if match is not None and "|" not in pattern else ""
