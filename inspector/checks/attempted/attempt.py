"""A call attempted in a shape that its format does not parse: the tool that it names, and its context in the text."""

import builtins
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from msgspec import Struct

from weaklink.inspector.json_text import properties_of
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_WORDS = 8  # a line with this many letters beside a call is a sentence about it
_WINDOW = 240  # characters of a line that are read before and after a call
_FENCE = lazy_pattern(r"(?:```|~~~)[ \t]*([\w+#.-]{0,20})[^\S\n]*\n?")

_LANGUAGES = frozenset(
    [
        "python",
        "python3",
        "py",
        "json",
        "json5",
        "jsonc",
        "tool_code",
        "tool_call",
        "tool_calls",
        "tool",
        "tools",
        "function",
        "function_call",
        "functions",
        "call",
        "calls",
        "text",
        "txt",
        "plaintext",
        "plain",
        "code",
        "xml",
        "action",
        "yaml",
        "html",
        "markdown",
        "md",
        "pythonic",
        "repl",
        "shell",
        "bash",
        "sh",
    ]
)

_NO_CALL = lazy_pattern(
    r"(?:\b(?:def|class|function|func|fn|fun|new|import|from|sub|void|int|string|interface|type|lambda[^:]{0,80}:)\s+"
    r"|[.@$\w]|->|::)\Z"
)
"""What ends a line before a name that is no call there: `def `, `new `, `lambda x: `, `.`, `$`, `->`, `::`."""

_QUOTED_LINE = lazy_pattern(r"\s*(?:\||>>>|>|#|//|\*\s+@|@)")

_STATEMENT = lazy_pattern(
    r"[\s`\"'“‘\[({\\*]*(?:[-*•+]\s+|\(?\d{1,3}[.)]\s+)?"
    r"(?:[\w\\]{1,60}(?:\s?,\s?[\w\\]{1,60}){0,8}(?:\s?:\s?[\w\[\], ]{1,40})?\s?=\s?)?(?:await\s+|return\s+)?"
    r"(?:(?:print|json\.dumps|str|repr|asyncio\.run)\s?\(\s?)?[\s`\"'“‘\[(\\*<]*\Z"
)
"""What a line has before a call that is a statement: quotes, brackets, a bullet, `a, b: int = `, `await `, `print(`."""

_LABEL = lazy_pattern(r":[\s`\"'“‘\[({\\*]*(?:print\(\s*)?\Z")

_ENDS_LINE = lazy_pattern(
    r"[\s`\"'”’\])}>;,.\\*]*(?:\[[^\]\n]{0,80}\]\s*)*(?:\.\w+\s*)?[\s`\"'”’\])};,.\\*]*(?:#.*|//.*)?\Z"
)

_NO_CALL_AFTER = lazy_pattern(r"\s*(?:\{|=>|->|\.\w+\()|\s*:\s*(?:\n|\Z)")
_CHAINED = lazy_pattern(r"[\s\]\)\[,;|&+`\"'”’“‘.\\]{0,80}(?:(?:and|or|then|und|et|y)\b)?[\s\[,;`\"'“‘\\]{0,20}\Z")
_OPENER = lazy_pattern(r"\((?<=[\w\\.\-]\()")  # a `(` that a name may precede
_BACKWARDS = lazy_pattern(r"[\w\\.\-]*")
_MAX_NAME_CHARS = 160
_NAMESPACES = ("functions.", "function.", "tools.", "tool.", "default_api.", "api.")
_IN_NAMES = ("_", "-", "\\", ".", "/")  # separators in which the spellings of one name differ
_BETWEEN_CORES = lazy_pattern(r"[^\w\-\\/]+")
_SEPARATORS = lazy_pattern(r"[\W_]+")
_BUILTINS = frozenset(dir(builtins))
_SEVERAL_WORDS = lazy_pattern(r"[^\W_][_.\-][^\W_]|[a-z0-9][A-Z]")


def may_hold_name(text: str) -> bool:
    """Whether `text` contains what may be a tool's name before a `(`."""
    return "(" in text and _OPENER.search(text) is not None


class CallPosition(IntEnum):
    """How clearly a position in a text is one where a call is made, and not only mentioned."""

    NONE = 0
    INLINE = 1
    LABELLED = 2
    STATEMENT = 3
    WHOLE = 4


class Fence(Struct, frozen=True):
    """A code fence: all of it, its content, the language it names, and whether a call may be in it."""

    range: Range
    inner: Range
    language: str

    @property
    def may_hold_calls(self) -> bool:
        """Whether models write calls in fences of this language."""
        return not self.language or self.language in _LANGUAGES


class Fences:
    """The code fences of a text, found once."""

    def __init__(self, text: str) -> None:
        self._fences = list(_fences(text)) if "```" in text or "~~~" in text else []
        self._starts = [fence.range.start for fence in self._fences]

    def __bool__(self) -> bool:
        return bool(self._fences)

    def at(self, position: int) -> Fence | None:
        """The fence around a position; None if there is none."""
        index = bisect_right(self._starts, position) - 1
        if index < 0 or self._fences[index].range.end <= position:
            return None
        return self._fences[index]


def _fences(text: str) -> list[Fence]:
    fences: list[Fence] = []
    position = 0
    while (opening := _FENCE.search(text, position)) is not None:
        sign = opening[0][:3]
        inner = opening.end() if "\n" in opening[0] else opening.start() + 3
        language = opening[1].casefold() if "\n" in opening[0] or opening.end() == len(text) else ""
        end = text.find(sign, inner)
        if end < 0:
            fences.append(Fence(Range(opening.start(), len(text)), Range(inner, len(text)), language))
            break
        position = end + 3
        fences.append(Fence(Range(opening.start(), position), Range(inner, end), language))
    return fences


def position_of(text: str, call_range: Range, previous_end: int, previous: CallPosition) -> CallPosition:
    """The kind of position in `text` of a call in `call_range`.

    `previous` is the position of the last call, which ends at `previous_end` (-1 if there is none). Reads a bounded
    number of characters around the call.
    """
    first = max(call_range.start - _WINDOW, 0)
    before = text[first : call_range.start]
    line = before[before.rfind("\n") + 1 :]
    after = text[call_range.end : call_range.end + _WINDOW]
    rest = after.split("\n", 1)[0]
    if _NO_CALL.search(line[-100:]) or _NO_CALL_AFTER.match(after) or _QUOTED_LINE.match(line):
        return CallPosition.NONE
    if previous_end >= first and _CHAINED.match(text, previous_end, call_range.start):
        return previous if previous is not CallPosition.NONE else CallPosition.INLINE
    begins = "\n" in before or first == 0
    if begins and _STATEMENT.match(line):
        return CallPosition.STATEMENT if _ENDS_LINE.match(rest) else CallPosition.INLINE
    if _LABEL.search(line):
        return CallPosition.LABELLED
    return CallPosition.INLINE


def may_count(text: str, heads: Iterable["Head"]) -> bool:
    """Whether one of the calls with these heads may count: a cheap test that most mentions of tools in prose fail.

    Within a sentence only arguments with a `=` or a `{` distinguish a call from a mention; code fences are judged as a
    whole.
    """
    if "=" in text or "{" in text or "```" in text or "~~~" in text:
        return True
    for start, _, _ in heads:
        line = text[max(start - _WINDOW, 0) : start].rpartition("\n")[2]
        if _STATEMENT.match(line) or _LABEL.search(line):
            return True
    return False


def is_in_sentence(call_range: Range, text: str) -> bool:
    """Whether the line of a call in `call_range` is a sentence about it."""
    before = text[max(call_range.start - _WINDOW, 0) : call_range.start].rsplit("\n", 1)[-1]
    after = text[call_range.end : call_range.end + _WINDOW].split("\n", 1)[0]
    return sum(map(str.isalpha, before + after)) >= _WORDS


class NamedTool(Struct, frozen=True):
    """The offered tool that the name `written` means; `slip` describes how it differs, "" if it is exact."""

    tool: ToolDefinition
    written: str
    slip: str = ""
    is_folded: bool = False

    @property
    def name(self) -> str:
        """The name under which the tool was offered."""
        return self.tool.name

    @property
    def is_distinctive(self) -> bool:
        """Whether the written name is unlike an ordinary word, so that other code hardly has it by chance."""
        return _SEVERAL_WORDS.search(self.written) is not None

    @property
    def is_builtin(self) -> bool:
        """Whether Python has a function of that name, which any code may call."""
        return self.written in _BUILTINS

    @property
    def properties(self) -> dict[str, Json]:
        """The schemas of the tool's parameters by name, in their order; empty if the definition has none."""
        return properties_of(self.tool.parameters)

    @property
    def has_schema(self) -> bool:
        """Whether the tool's definition lists its parameters."""
        return isinstance(self.tool.parameters, dict) and "properties" in self.tool.parameters

    @property
    def has_required(self) -> bool:
        """Whether the tool cannot be called without arguments."""
        parameters = self.tool.parameters
        return isinstance(parameters, dict) and bool(parameters.get("required"))

    def knows(self, names: Iterable[str]) -> bool:
        """Whether one of these arguments is a parameter of the tool, or its parameters are unknown."""
        return not self.has_schema or not self.properties.keys().isdisjoint(names)


class Head(NamedTuple):
    """A tool's written name before a `(`: its start, the position of the bracket, and the tool."""

    start: int
    opener: int
    named: NamedTool


class ToolNames:
    """The tools that a request offers, for look-ups by their names as models write them."""

    def __init__(self, tools: Iterable[ToolDefinition]) -> None:
        self._exact = {tool.name: tool for tool in tools if tool.name}
        self._spellings = _spellings(tuple(self._exact))

    def __bool__(self) -> bool:
        return bool(self._exact)

    def occur_in(self, text: str) -> bool:
        """Whether `text` may hold one of the names in any spelling that `find` knows: a few substring searches."""
        plain = text.casefold()
        for sign in _IN_NAMES:
            if sign in plain:
                plain = plain.replace(sign, "")
        return any(map(plain.__contains__, self._cores))  # a generator costs more than the searches

    @cached_property
    def _cores(self) -> tuple[str, ...]:
        """What every spelling of a name contains, without case and separators."""
        return tuple(dict.fromkeys(map(_core, self._exact)))

    @cached_property
    def _others(self) -> "_OtherSpellings":
        return _other_spellings(tuple(self._exact))

    def heads(self, text: str) -> list[Head]:
        """The names of tools before a `(` in `text`, in order."""
        endings, letters = self._spellings.endings, self._spellings.letters
        heads: list[Head] = []
        for match in _OPENER.finditer(text):
            start = match.start()
            if text[max(start - 2, 0) : start] in endings or text[start - 1] in letters:
                before = self.before(text, start)
                if before is not None:
                    heads.append(Head(before[0], start, before[1]))
        return heads

    def occurrences(self, text: str) -> list[tuple[Range, NamedTool]]:
        """The names written as whole words, exactly or with escaped underscores: their ranges and tools, in order.

        `function` may be directly before a name: it remains of a marker without its special tokens.
        """
        named_ranges: list[tuple[Range, NamedTool]] = []
        is_escaped = "\\_" in text
        for name, tool in self._exact.items():
            if name in text:  # a generator costs more than the search
                named_ranges += ((name_range, NamedTool(tool, name)) for name_range in _words(text, name))
            if is_escaped and "_" in name:
                written = name.replace("_", "\\_")
                slip = "with escaped underscores"
                named_ranges += ((name_range, NamedTool(tool, name, slip)) for name_range in _words(text, written))
        named_ranges.sort(key=_range)
        return named_ranges

    def before(self, text: str, end: int) -> tuple[int, NamedTool] | None:
        """The tool whose written name ends at `end`, and the start of that name."""
        first = max(end - _MAX_NAME_CHARS, 0)
        match = _BACKWARDS.match(text[first:end][::-1])
        written = match[0][::-1] if match is not None else ""
        stripped = written.lstrip(".\\-0123456789")
        named = self.find(stripped) if stripped else None
        start = end - len(stripped)
        if named is None or (text[start - 1 : start] in (".", "/") and start > 0):
            return None
        return start, named

    def find(self, written: str) -> NamedTool | None:
        """The offered tool that `written` means, if it is one."""
        tool = self._exact.get(written)
        if tool is not None:
            return NamedTool(tool, written)
        spellings = self._spellings
        ends_alike = written[-2:] in spellings.endings or written[-1:] in spellings.letters
        if len(written) > _MAX_NAME_CHARS or not ends_alike:
            return None
        plain = written.replace("\\_", "_")
        if plain in self._exact:
            return NamedTool(self._exact[plain], plain, "with escaped underscores")
        for namespace in _NAMESPACES if plain.startswith(_NAMESPACES) else ():
            bare = plain.removeprefix(namespace)
            if bare != plain and bare in self._exact:
                return NamedTool(self._exact[bare], bare, f"as `{plain}`")
        once = _without_repeats(plain)
        if once in self._exact:
            return NamedTool(self._exact[once], plain, f"as `{plain}`")
        others = self._others
        name = others.tails.get(once)
        if name is not None:
            return NamedTool(self._exact[name], plain, f"as `{plain}`")
        name = others.folded.get(_fold(once))
        if name is not None:
            return NamedTool(self._exact[name], plain, f"as `{plain}`", is_folded=True)
        return None


class _Spellings(Struct, frozen=True):
    """What all spellings of names have in common."""

    endings: frozenset[str]  # the last two characters of names
    letters: frozenset[str]  # names of one character


class _OtherSpellings(Struct, frozen=True):
    """Other spellings of names, each with its name; None for a spelling that two names share."""

    tails: dict[str, str | None]
    folded: dict[str, str | None]


@lru_cache(maxsize=64)
def _other_spellings(names: tuple[str, ...]) -> _OtherSpellings:
    tails: dict[str, str | None] = {}
    folded: dict[str, str | None] = {}
    for name in names:
        _add(folded, _fold(name), name)
        for tail in _tails(name):
            _add(tails, tail, name)
    return _OtherSpellings(tails, folded)


def _words(text: str, word: str) -> Iterator[Range]:
    """The ranges of a word in a text, except as part of a longer one."""
    end = 0
    while (start := text.find(word, end)) >= 0:
        end = start + len(word)
        is_first = not start or not _is_of_word(text[start - 1]) or text.endswith("function", 0, start)
        if is_first and (end == len(text) or not _is_of_word(text[end])):
            yield Range(start, end)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character in "_-"


def _range(occurrence: tuple[Range, NamedTool]) -> Range:
    return occurrence[0]


@lru_cache(maxsize=64)
def _spellings(names: tuple[str, ...]) -> _Spellings:
    return _Spellings(
        frozenset(_endings(names)),
        frozenset(name for name in names if len(name) == 1),
    )


def _add(known: dict[str, str | None], key: str, name: str) -> None:
    known[key] = name if key not in known else None


def _tails(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[first:]) for first in range(1, len(parts))]


def _without_repeats(name: str) -> str:
    if "." not in name:
        return name
    parts = name.split(".")
    return ".".join(part for index, part in enumerate(parts) if not index or part != parts[index - 1])


def _core(name: str) -> str:
    """The last part of a name, which its spellings have in common."""
    return _fold(_BETWEEN_CORES.split(name)[-1])


def _fold(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()


def _endings(names: Iterable[str]) -> Iterator[str]:
    """The last two characters of each name, in the cases that models write them in."""
    for name in names:
        if len(name) > 1:
            yield from (name[-2:], name[-2:].lower(), name[-2:].upper(), name[-2:].capitalize(), name[-2:].swapcase())


class Evidence(IntEnum):
    """How strongly the written arguments show that a call is meant, and not a signature or another function."""

    NONE = 0
    EMPTY = 1  # `f()`
    WEAK = 2  # only words without quotes: `f(city)`
    MEDIUM = 3  # literals without names, or names that the tool does not know
    STRONG = 4  # arguments under names that the tool knows


class ReadArguments(NamedTuple):
    """The arguments of an attempted call: the evidence that they give, and their values, None if unreadable.

    `guessed` is true if reading the values took a guess.
    """

    evidence: Evidence
    values: dict[str, Json] | None
    guessed: bool


class Attempt(Struct):
    """One call in another shape.

    `range` covers its own characters, `container` what a rewrite replaces: also the list, fence, tags or print around
    it. `shape` describes how it is written, `read_by` names the format that parses exactly this, "" if none does.
    `arguments` may be a function that reads them: most candidates turn out to be no calls by their position alone, so
    arguments are read only when they are needed.
    """

    named: NamedTool
    range: Range
    container: Range
    shape: str
    raw_arguments: str
    arguments: ReadArguments | Callable[[], ReadArguments]
    position: CallPosition = CallPosition.INLINE
    read_by: str = ""

    def read(self) -> ReadArguments:
        """The arguments, read at the first call."""
        if not isinstance(self.arguments, ReadArguments):
            self.arguments = self.arguments()
        return self.arguments

    @property
    def evidence(self) -> Evidence:
        """How strongly the arguments show that a call is meant."""
        return self.read().evidence
