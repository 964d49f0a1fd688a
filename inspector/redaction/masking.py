"""Recordings without content: every word becomes a filler of its length, what holds the structure stays.

What stays: every sign that is no letter and no digit, so all of JSON's, Python's and XML's structure; escapes; the
words of markers and of call syntax; names of JSON members that are one word; the names of the tools that were offered,
and of their parameters. A word of the content that happens to be one of these stays too.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from inspector.formats.markers import markers_of
from inspector.formats.registry import formats
from inspector.model import Json, ToolDefinition

_ESCAPE = r"\\(?:u[0-9a-fA-F]{4}|[^\W_]|\\)"
_MEMBER = r"""(?P<member>(?<=["'])\w{1,64}(?=\\?["']\s{0,2}:))"""
_MEMBER_NAME = re.compile(_MEMBER)
_OPEN_MEMBER = r"""["'](?:\w{1,64}(?:\\?["']?\s{0,2})?)?\Z"""
_TOKEN = re.compile(rf"{_ESCAPE}|{_MEMBER}|\w+")
_GROWING = re.compile(rf"\\(?:u[0-9a-fA-F]{{0,3}})?\Z|{_OPEN_MEMBER}|(?P<whole>{_ESCAPE})|\w+")
_LONGEST = 8_192
_NUMBER = re.compile(r"[0-9]+(?:[eE][0-9]*)?\Z")
_DIGIT = re.compile(r"[0-9]")
_WORD = re.compile(r"\w+")
_PHRASE = re.compile(r"[A-Za-z']+(?: [A-Za-z']+){2,}:")  # a marker in plain prose, whose words are content elsewhere

# The words of call syntax and of results, in JSON, XML and Python, that no marker holds.
_SYNTAX = (
    *("name", "arguments", "parameters", "function", "tool", "tool_call", "tool_calls", "id", "call_id", "type"),
    *("tool_call_id", "tool_name", "call", "calls", "args", "kwargs", "action", "action_input", "input", "result"),
    *("results", "output", "content", "error", "is_error", "code", "status", "exit_code", "true", "false", "null"),
    *("True", "False", "None", "NaN", "Infinity", "json", "python", "tool_code", "tool_output", "default_api", "print"),
    *("Action", "Input", "Observation", "Thought", "Final", "Answer", "Question", "assistant", "user", "system"),
    *("properties", "required", "description", "object", "string", "integer", "number", "boolean", "array", "enum"),
)


@dataclass(frozen=True, slots=True)
class KeptWords:
    """The words that stay in a recording without content."""

    words: frozenset[str]

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def with_members(self, text: str) -> "KeptWords":
        """These, and the names of the text's JSON members wherever they stand: a schema's `required` repeats them."""
        return KeptWords(self.words.union(_MEMBER_NAME.findall(text)))


def kept_words(tools: Iterable[ToolDefinition] = ()) -> KeptWords:
    """The words of the formats, and those of the tools in question."""
    return KeptWords(_format_words().union(_tool_words(tools)))


def mask_content(text: str, kept: KeptWords) -> str:
    """The text, of the same length, with its words masked: `x` for a letter, `1` for a digit."""

    def masked(found: re.Match[str]) -> str:
        word = found[0]
        if word[0] == "\\" or found["member"] or word in kept:
            return word
        if _NUMBER.match(word):
            return _DIGIT.sub("1", word)
        return "".join("_" if sign == "_" else "1" if sign.isdecimal() else "x" for sign in word)

    return _TOKEN.sub(masked, text)


def certain_content(text: str) -> int:
    """Where the word or escape at the text's end begins whose mask depends on what follows; its length if none does.

    A word of more than 8,192 characters is not waited for.
    """
    last = deque(_GROWING.finditer(text), maxlen=1)
    if not last or last[0]["whole"] or last[0].end() != len(text) or len(last[0][0]) > _LONGEST:
        return len(text)
    return last[0].start()


@cache
def _format_words() -> frozenset[str]:
    markers = (marker for known in formats() for marker in markers_of(known).all if not _PHRASE.fullmatch(marker))
    return frozenset(word for marker in markers for word in _WORD.findall(marker)) | frozenset(_SYNTAX)


def _tool_words(tools: Iterable[ToolDefinition]) -> Iterator[str]:
    for tool in tools:
        yield from _WORD.findall(tool.name)
        yield from _member_words(tool.parameters)


def _member_words(schema: Json) -> Iterator[str]:
    """The words of every member's name in a schema: keywords, and the parameters that it describes."""
    open_ = [schema]
    while open_:
        value = open_.pop()
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from _WORD.findall(name)
                open_.append(inner)
        elif isinstance(value, list):
            open_ += value
