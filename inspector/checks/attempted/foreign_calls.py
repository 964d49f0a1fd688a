"""F309: calls in another format's syntax, in the words of a model that should call in its own.

Every text that a model writes is looked through, so the search is cheap where there is nothing: one expression for all
call syntaxes that begin with the same sign, which skips from one such sign to the next, and a literal search for those
that begin with a letter. Only where one matches is the text read in that format.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import msgspec

from inspector.checks.quoting import is_quoted
from inspector.formats.format import Format, Signs
from inspector.formats.markers import call_openers_of
from inspector.formats.registry import formats
from inspector.model import Role, Span, SpanKind, ToolCall
from inspector.segmenter.assembler import Assembler
from inspector.text import Range

_LITERAL = re.compile(r"(?:\\[^a-zA-Z0-9]|[^\\.^$*+?{}\[\]|()])+(?![*+?{])")
_ESCAPE = re.compile(r"\\.")
_GROUP = re.compile(r"\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)")
_LONGEST_OPENER = 120
_PARTS_OF_CALLS = (SpanKind.TOOL_CALL, SpanKind.MARKUP)
_TURN = "turn"  # how the labels of markup between turns begin
_BARE_OBJECT = re.compile(r'\s*\{\s*"name"\s*:\s*"[\w.\-]{1,96}"\s*,\s*"(?:arguments|parameters)"\s*:\s*\{')
_READS_BARE_OBJECTS = "llama3"
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
    """A call in another format's syntax: as that format reads it, its characters with its neighbours', the format."""

    call: ToolCall
    whole: Range
    format: Format


class ForeignCalls:
    """Looks through the words of a model whose calls are read as `own`."""

    def __init__(self, own: Format) -> None:
        self._own = own
        self._signs = _signs(own, formats())
        self._whole_signs = _whole_signs(own, formats())

    def find(self, text: str, offered: Callable[[str], bool] | None = None) -> list[ForeignCall]:
        """The calls in `text` in the syntax of another format, in order.

        Calls that are quoted as code are none, unless they name a tool that is `offered`; of several foreign syntaxes
        the one that comes first is read.
        """
        if len(text) < _SHORTEST:
            return []
        found = self._whole(text) or self._marked(text, quoted=False)
        if found or offered is None:
            return found
        return [one for one in self._marked(text, quoted=True) if offered(one.call.name or "")]

    def _marked(self, text: str, *, quoted: bool) -> list[ForeignCall]:
        """The calls from the first sign of another format on, which may be in a code fence only if `quoted`."""
        found = [first for signs in self._signs if (first := signs.first(text, quoted=quoted)) is not None]
        if not found:
            return []
        at, dialect = min(found, key=lambda first: first[0])
        return _calls(text, _opener_before(text, at, dialect), dialect)

    def _whole(self, text: str) -> list[ForeignCall]:
        """The calls of a text that is nothing but calls, to a format without markers around them."""
        content = text.strip()
        if content[:1] not in ("[", "{") or content[-1:] not in ("]", "}"):
            return []
        whole = Range(first := text.index(content), first + len(content))
        for sign in self._whole_signs:
            calls = _calls(text, 0, sign.format) if sign.pattern.match(text) else []
            if calls and all(one.whole == whole for one in calls):
                return calls
        return []


def _opener_before(text: str, at: int, dialect: Format) -> int:
    """Where the marker begins that opens the call whose sign is at `at`, else `at`."""
    first = max(at - _LONGEST_OPENER, 0)
    return min((begin for one in call_openers_of(dialect) if (begin := text.rfind(one, first, at)) >= 0), default=at)


def read_in(text: str, dialect: Format) -> Assembler:
    """What a text holds in a format."""
    parser, assembler = dialect.new_parser("", Role.ASSISTANT), Assembler(dialect.readers)
    assembler.take(parser.feed(text))
    assembler.take(parser.close())
    return assembler


def _calls(text: str, at: int, dialect: Format) -> list[ForeignCall]:
    """The calls of a text from `at` on in `dialect` that name a tool."""
    assembler = read_in(text[at:], dialect)
    runs = _runs(assembler.spans)
    return [
        ForeignCall(_moved(call, at), runs[call.span].moved(at), dialect)
        for call in assembler.calls
        if call.name and len(call.range)
    ]


def _runs(spans: Sequence[Span]) -> dict[int, Range]:
    """For the index of each call's span, the run of calls and their markup that it is part of."""
    runs: dict[int, Range] = {}
    for _, group in groupby(enumerate(spans), key=lambda one: one[1].kind in _PARTS_OF_CALLS):
        run = list(group)
        while run and run[-1][1].kind is SpanKind.MARKUP and run[-1][1].label.startswith(_TURN):
            run.pop()
        if run:
            whole = Range(run[0][1].range.start, run[-1][1].range.end)
            runs.update((index, whole) for index, span in run if span.kind is SpanKind.TOOL_CALL)
    return runs


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


@lru_cache(maxsize=64)
def _whole_signs(own: Format, known: tuple[Format, ...]) -> tuple[_Sign, ...]:
    """The signs of the other formats whose calls are the whole text."""
    signs = [
        _Sign(re.compile(pattern), one)
        for one in known
        if one is not own
        for pattern in _patterns(one)
        if pattern.startswith(r"\A")
    ]
    bare = (_Sign(_BARE_OBJECT, one) for one in known if one is not own and one.name == _READS_BARE_OBJECTS)
    return (*signs, *bare)


def _any_of(first: str, patterns: list[str]) -> str:
    """One expression for patterns that begin with the same character, which stands before the choice."""
    skipped = [pattern[2:] if pattern[0] == "\\" else pattern[1:] for pattern in patterns]
    return re.escape(first) + "(?:" + "|".join(skipped) + ")"


def _patterns(one: Format) -> tuple[str, ...]:
    """The patterns of a format's calls; those that begin at a line's start, without that."""
    signs = one.confidence
    return tuple(sign.removeprefix(_LINE_START) for sign in signs.calls) if isinstance(signs, Signs) else ()


def _beginning(pattern: str) -> str:
    """The literal text that a pattern begins with, "" where it is a choice of several patterns."""
    match = _LITERAL.match(pattern)
    if match is None or "|" in _GROUP.sub("", _ESCAPE.sub("", pattern)):
        return ""
    return _ESCAPE.sub(lambda escape: escape[0][1:], match[0])
