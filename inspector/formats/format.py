"""The definition of a wire format: how to detect, read and write it."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from msgspec import Struct

from weaklink.inspector.model import Role, SpanKind, ToolCall
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import FormatParser, SpanReader

_REGEX_TOKEN = lazy_pattern(
    r"""
      (?P<escaped> \\[^a-zA-Z0-9] )                 # `\.`
    | (?P<repeat> [*+?] | \{\d*,?\d*\} )
    | \\.                                           # a class: `\w`
    | \[\^?\]? (?: \\. | [^\]\\] )* \]              # a class in brackets
    | [.^$]
    | (?P<open> \( ) | (?P<close> \) ) | (?P<alternative> \| )
    | (?P<plain> . )
    """,
    re.DOTALL | re.VERBOSE,
)
"""One token of a regular expression, to find its literal characters (`escaped` and `plain`)."""


class NewParser(Protocol):
    """Creates a parser for one part; `prompt` is the text before it, `role` the role of its turn."""

    def __call__(self, prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        """A parser that has read nothing yet."""
        ...


class DetectionPatterns:
    """The patterns that detect a format's text, each with the confidence, from 0 to 1, that a match gives.

    `calls` are the patterns of its call syntax, which hardly match by chance; `hints` are all others.
    """

    def __init__(self, *, calls: Mapping[str, float], hints: Mapping[str, float] | None = None) -> None:
        self._weighed = {**calls, **(hints or {})}
        self.calls = tuple(calls)
        """The patterns of the call syntax, used to search for it in texts of other formats."""

    @cached_property
    def patterns(self) -> list[tuple[float, tuple[str, ...], re.Pattern[str]]]:
        """The patterns with the literals that they require, highest weight first."""
        weighed = sorted(self._weighed.items(), key=lambda item: -item[1])
        return [(weight, required_literals(pattern), lazy_pattern(pattern)) for pattern, weight in weighed]

    def __call__(self, sample: str) -> float:
        """The confidence, from 0 to 1, that a sample of text is of the format."""
        for weight, literals, pattern in self.patterns:
            if any(literal in sample for literal in literals) and pattern.search(sample):
                return weight
        return 0.0


def required_literals(pattern: str) -> tuple[str, ...]:
    """Literals, of which every match of a pattern contains one: the longest of each alternative, outside groups.

    If an alternative has none, the result is ("",), which every text contains.
    """
    longest = [max(runs, key=len) for runs in _literal_runs(pattern)]
    return tuple(dict.fromkeys(longest)) if all(longest) else ("",)


def literals_of(pattern: str) -> list[str]:
    """The literals that every match of a pattern contains, outside groups; none if the pattern has alternatives."""
    first, *others = _literal_runs(pattern)
    return [] if others else first


def literal_beginning(pattern: str) -> str:
    """The literal text that all matches of a pattern begin with; "" if the pattern has alternatives."""
    first, *others = _literal_runs(pattern)
    return "" if others else first[0]


def _literal_runs(pattern: str) -> list[list[str]]:
    """The literal runs of each alternative of a pattern, outside groups, in order; none if it ignores case."""
    alternatives, depth = [[""]], 0
    for token in _REGEX_TOKEN.finditer(pattern):
        runs, kind = alternatives[-1], token.lastgroup
        depth += (kind == "open") - (kind == "close")
        if depth or kind == "close":
            runs.append("")
        elif kind in ("escaped", "plain"):
            runs[-1] += token[0][-1]
        elif kind == "alternative":
            alternatives.append([""])
        else:
            if kind == "repeat":
                runs[-1] = runs[-1][:-1]
            runs.append("")
    return [[""]] if "(?i" in pattern else alternatives


class Format(Struct, frozen=True, eq=False):
    """One wire dialect of tool calling.

    `models` are patterns (shell style, case-insensitive) of the model names that use it. `confidence` returns, from 0
    to 1, how much a sample of text looks like it. `readers` read the spans that the parser closes, by their kind;
    `read_calls` is the one for calls. `write_calls` returns the exact text that this format's model would emit for the
    calls; `expresses` returns whether the format can express a call at all. `ids` says that calls have ids on the wire.
    `near_calls` are expressions for what is nearly the beginning of a call, each with what belongs there, if the
    markers themselves do not show it. `calls_only` says that its servers read a reply without markers as calls only if
    it contains nothing else. `builtin_tools` are the tools that the family's models may call without a definition.
    """

    name: str
    summary: str
    aliases: tuple[str, ...]
    models: tuple[str, ...]
    confidence: Callable[[str], float]
    new_parser: NewParser
    readers: Mapping[SpanKind, SpanReader]
    write_calls: Callable[[Sequence[ToolCall]], str]
    expresses: Callable[[ToolCall], bool]
    ids: bool = False
    builtin_tools: frozenset[str] = frozenset()
    near_calls: tuple[tuple[re.Pattern[str], str], ...] = ()
    calls_only: bool = False

    @property
    def read_calls(self) -> SpanReader:
        """The reader of this format's call spans."""
        return self.readers[SpanKind.TOOL_CALL]
