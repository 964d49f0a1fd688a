"""What a wire format is: how to know it, read it and write it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser, SpanReader


class NewParser(Protocol):
    """Makes a parser for one part; `prompt` is what stood before its text, `role` whose turn it is."""

    def __call__(self, prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        """A parser that has read nothing yet."""
        ...


class DetectionPatterns:
    """What a format's text looks like: patterns, each with the confidence, from 0 to 1, that it gives where found.

    `calls` are those of its call syntax, which hardly stand in a text by chance; `hints` are all others.
    """

    def __init__(self, *, calls: Mapping[str, float], hints: Mapping[str, float] | None = None) -> None:
        self._weighed = {**calls, **(hints or {})}
        self.calls = tuple(calls)
        """The patterns of the call syntax, to look for it in texts of other formats."""

    @cached_property
    def _signs(self) -> list[tuple[float, re.Pattern[str]]]:
        """The patterns, those of most weight first."""
        weighed = sorted(self._weighed.items(), key=lambda one: -one[1])
        return [(weight, re.compile(sign)) for sign, weight in weighed]

    def __call__(self, sample: str) -> float:
        """How much a sample of text looks like the format."""
        return next((weight for weight, sign in self._signs if sign.search(sample)), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """One wire dialect of tool calling.

    `models` are patterns (as in a shell, matched without case) of the model names that use it. `confidence` says, from
    0 to 1, how much a sample of text looks like it. `readers` read the spans that the parser closes, by their kind;
    `read_calls` is the one for calls. `write_calls` gives the exact text that this format's model would emit for them;
    `expresses` says whether the format can hold a call at all. `ids` says that calls bear ids on the wire. `near_calls`
    are expressions for what is nearly the beginning of a call, each with what belongs there, where the markers
    themselves do not tell it. `calls_only` says that its servers take a reply without markers for calls only if it
    holds nothing else. `own_tools` are those that the family's models may call without a definition.
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
    own_tools: frozenset[str] = frozenset()
    near_calls: tuple[tuple[re.Pattern[str], str], ...] = ()
    calls_only: bool = False

    @property
    def read_calls(self) -> SpanReader:
        """The reader of this format's call spans."""
        return self.readers[SpanKind.TOOL_CALL]
