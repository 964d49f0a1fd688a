"""Which offered tool a written name means: exactly, or with the slips that models make in names."""

import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from inspector.model import Json, ToolDefinition

_BACKWARDS = re.compile(r"[\w\\.\-]*")
_LONGEST_NAME = 160
_NAMESPACES = ("functions.", "function.", "tools.", "tool.", "default_api.", "api.")
_IN_NAMES = ("_", "-", "\\", ".", "/")  # what names differ in that mean the same tool
_BETWEEN_CORES = re.compile(r"[^\w\-\\/]+")
_SEPARATORS = re.compile(r"[\W_]+")
_BUILTINS = frozenset(dir(builtins))
_SEVERAL_WORDS = re.compile(r"[^\W_][_.\-][^\W_]|[a-z0-9][A-Z]")


@dataclass(frozen=True, slots=True)
class NamedTool:
    """The offered tool that the name `written` means; `slip` says in words how it differs, "" where it is exact."""

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
        """The schemas of the tool's parameters by name, in their order; empty where the definition has none."""
        parameters = self.tool.parameters
        found = parameters.get("properties") if isinstance(parameters, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def has_schema(self) -> bool:
        """Whether the tool's definition says which parameters there are."""
        return isinstance(self.tool.parameters, dict) and "properties" in self.tool.parameters

    @property
    def has_required(self) -> bool:
        """Whether the tool cannot be called without arguments."""
        parameters = self.tool.parameters
        return isinstance(parameters, dict) and bool(parameters.get("required"))

    def knows(self, names: Iterable[str]) -> bool:
        """Whether one of these arguments is a parameter of the tool, or nobody knows its parameters."""
        return not self.has_schema or not self.properties.keys().isdisjoint(names)


class ToolNames:
    """The tools that a request offers, to be looked up by their names as models write them."""

    def __init__(self, tools: Iterable[ToolDefinition]) -> None:
        self._exact = {tool.name: tool for tool in tools if tool.name}
        self._spellings = _spellings(tuple(self._exact))

    def __bool__(self) -> bool:
        return bool(self._exact)

    def occur_in(self, text: str) -> bool:
        """Whether `text` may hold one of the names in any spelling that `find` knows: a few substring searches."""
        plain = text.casefold()
        for sign in _IN_NAMES:
            plain = plain.replace(sign, "")
        return any(core in plain for core in self._spellings.cores)

    def heads(self, text: str) -> Iterator[int]:
        """The places of `(` in `text` behind what may be the end of a name: a cheap test that rules out most words."""
        endings, letters = self._spellings.endings, self._spellings.letters
        at = 0
        for piece in text.split("("):
            at += len(piece)
            if (piece[-2:] in endings or piece[-1:] in letters) and at < len(text):
                yield at
            at += 1

    def before(self, text: str, end: int) -> tuple[int, NamedTool] | None:
        """The tool whose written name ends at `end`, and where that name begins."""
        first = max(end - _LONGEST_NAME, 0)
        found = _BACKWARDS.match(text[first:end][::-1])
        written = found[0][::-1] if found is not None else ""
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
        if len(written) > _LONGEST_NAME or not ends_alike:
            return None
        plain = written.replace("\\_", "_")
        if plain in self._exact:
            return NamedTool(self._exact[plain], plain, "with escaped underscores")
        for namespace in _NAMESPACES:
            bare = plain.removeprefix(namespace)
            if bare != plain and bare in self._exact:
                return NamedTool(self._exact[bare], bare, f"as `{plain}`")
        once = _without_repeats(plain)
        if once in self._exact:
            return NamedTool(self._exact[once], plain, f"as `{plain}`")
        name = spellings.tails.get(once)
        if name is not None:
            return NamedTool(self._exact[name], plain, f"as `{plain}`")
        name = spellings.folded.get(_fold(once))
        if name is not None:
            return NamedTool(self._exact[name], plain, f"as `{plain}`", is_folded=True)
        return None


@dataclass(frozen=True, slots=True)
class _Spellings:
    """Other spellings of names, each with the name; under one that two names share is None."""

    tails: dict[str, str | None]
    folded: dict[str, str | None]
    endings: frozenset[str]  # the last two characters of names
    letters: frozenset[str]  # names of one character
    cores: tuple[str, ...]  # what every spelling of a name contains, without case and separators


@lru_cache(maxsize=64)
def _spellings(names: tuple[str, ...]) -> _Spellings:
    tails: dict[str, str | None] = {}
    folded: dict[str, str | None] = {}
    for name in names:
        _add(folded, _fold(name), name)
        for tail in _tails(name):
            _add(tails, tail, name)
    return _Spellings(
        tails,
        folded,
        frozenset(_endings(names)),
        frozenset(one for one in names if len(one) == 1),
        tuple(dict.fromkeys(map(_core, names))),
    )


def _add(known: dict[str, str | None], key: str, name: str) -> None:
    known[key] = name if key not in known else None


def _tails(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[first:]) for first in range(1, len(parts))]


def _without_repeats(name: str) -> str:
    parts = name.split(".")
    return ".".join(part for at, part in enumerate(parts) if not at or part != parts[at - 1])


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
