"""Reads Gemma's dicts, `{k:<|"|>text<|"|>,n:1,o:{a:true},l:[...]}`, with every place and fault.

Keys stand bare, strings between delimiters that are tokens of their own (`<|"|>` in Gemma 4, `<escape>` in
FunctionGemma), so quotes, braces and backslashes in them are plain data and nothing is escaped. A delimiter within a
string ends it only where the dict can go on behind it: before `,` `}` `]` or `:`, or at the end of the text.

Sources: llama.cpp:models/templates/gemma4.jinja, vllm:tests/tool_parsers/test_gemma4_tool_parser.py and
test_functiongemma_tool_parser.py.
"""

import re
from dataclasses import dataclass, field
from functools import cache

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.gemma_values import LITERALS, GemmaValues
from inspector.json_scanner import MAX_DEPTH
from inspector.json_scanner.quoting import shown
from inspector.model import Json, Parameter
from inspector.rules import json_syntax as rules
from inspector.scanning import MOST_ROUNDS
from inspector.text import Range

_CLOSERS = {"{": "}", "[": "]"}
_KEY = re.compile(r"[^\s:,{}\[\]<>\"']+")


@dataclass(slots=True)
class GemmaDict:
    """A dict that was read: its value, where it stands, its members at the top, and what is wrong with it.

    `breaks` counts the faults that make a call invalid, `hopeless` those of them without an honest repair.
    """

    value: dict[str, Json]
    range: Range
    parameters: tuple[Parameter, ...]
    faults: tuple[Fault, ...]
    breaks: int
    hopeless: int
    is_cut: bool


@dataclass(slots=True)
class _Frame:
    opener: str
    start: int
    members: dict[str, Json] = field(default_factory=dict)
    items: list[Json] = field(default_factory=list)
    key: str = ""
    key_place: Range = Range(0, 0)  # noqa: RUF009  # a frozen value


@cache
def _plain(delimiter: str) -> re.Pattern[str]:
    """A member as most are: a bare key, and a whole string, an integer or a literal."""
    first, rest, written = re.escape(delimiter[0]), re.escape(delimiter[1:]), re.escape(delimiter)
    content = rf"[^{first}]*+(?:{first}(?!{rest})[^{first}]*+){{0,{MOST_ROUNDS}}}"
    value = rf"{written}({content}){written}|(-?(?:0|[1-9][0-9]{{0,17}}+))|(true|false|null)"
    return re.compile(rf"([\w.\-]++):(?:{value})(?=[,}}])")


class GemmaReader(GemmaValues):
    """Reads one dict; `start` is the place of its opening brace in `text`."""

    def __init__(self, text: str, start: int, delimiter: str) -> None:
        super().__init__(text, start, delimiter)
        self._plain = _plain(delimiter)
        self._parameters: dict[str, Parameter] = {}

    def read(self) -> GemmaDict:
        """The dict at the start; its open brackets wait on a stack, so that no depth can break the reader."""
        root = _Frame("{", self._at)
        frames = [root]
        self._at += 1
        while frames and not self._cut_within:
            self._member(frames)
        if frames and self._cut_within:
            self._flag_cut(frames)
        place = Range(root.start, self._at)
        parameters = tuple(self._parameters.values())
        faults = self._found.finished()
        is_cut = bool(self._cut_within)
        return GemmaDict(root.members, place, parameters, faults, self._breaks, self._hopeless, is_cut)

    def _member(self, frames: list[_Frame]) -> None:
        """Read a member, an item, or the end of the innermost bracket."""
        frame = frames[-1]
        if frame.opener == "{" and self._plain_member(frame, is_root=len(frames) == 1):
            return
        character = self._skip()
        if not character:
            self._cut_within = "an object" if frame.opener == "{" else "a list"
        elif character in "}]":
            self._close(frames, character)
        elif character == ",":
            self._flag(rules.MISSING_VALUE, Range(self._at, self._at + 1), "`,` stands where a value was expected.")
            self._at += 1
        elif frame.opener == "[" or self._read_key(frame):
            self._read_value(frames)

    def _plain_member(self, frame: _Frame, *, is_root: bool) -> bool:
        """Read a member as most are, and the comma behind it; False, and nothing read, where it is not."""
        match = self._plain.match(self._text, self._at)
        if match is None or match[1] in frame.members:
            return False
        key, string, integer, literal = match.groups()
        value = string if string is not None else int(integer) if integer is not None else LITERALS[literal]
        frame.members[key] = value
        if is_root:
            place, name_place = Range(match.end(1) + 1, match.end()), Range(*match.span(1))
            self._parameters[key] = Parameter(key, place.of(self._text), place, name_place, typed=True)
        self._at = match.end()
        self._separator(frame)
        return True

    def _read_value(self, frames: list[_Frame]) -> None:
        frame, character, start = frames[-1], self._skip(), self._at
        if character and character in _CLOSERS:
            if len(frames) == MAX_DEPTH:
                self._flag(
                    rules.TOO_DEEP, Range(start, start + 1), f"The value is nested deeper than {MAX_DEPTH} levels."
                )
                self._at, self._cut_within = len(self._text), "a value that is too deep"
                return
            frames.append(_Frame(character, start))
            self._at += 1
            return
        value, is_there = self._scalar(frame.key)
        if is_there:
            self._put(frames, value, start)
        if not self._cut_within:
            self._separator(frame)

    def _close(self, frames: list[_Frame], character: str) -> None:
        frame = frames.pop()
        if character == _CLOSERS[frame.opener]:
            self._at += 1
        else:
            closer = _CLOSERS[frame.opener]
            place = Range(self._at, self._at + 1)
            fix = Fix((Edit(Range(self._at, self._at), closer),), safe=False)
            message = f"`{closer}` is missing before `{character}`."
            self._flag(rules.UNBALANCED_BRACKET, place, message, f"Put `{closer}` there.", fix)
            if not frames:
                self._at += 1
        if frames:
            self._put(frames, frame.members if frame.opener == "{" else frame.items, frame.start)
            self._separator(frames[-1])

    def _put(self, frames: list[_Frame], value: Json, start: int) -> None:
        frame = frames[-1]
        if frame.opener == "[":
            frame.items.append(value)
            return
        frame.members[frame.key] = value
        if len(frames) == 1:
            text = self._text[start : self._at].rstrip()
            place = Range(start, start + len(text))
            self._parameters[frame.key] = Parameter(frame.key, text, place, frame.key_place, typed=True)

    def _read_key(self, frame: _Frame) -> bool:
        """The key and its colon; False, and something skipped, where there is no key."""
        start, text = self._at, self._text
        if text.startswith(self._delimiter, start):
            key = self._string() or ""
        elif (end := self._quoted_end(start)) >= 0:
            key = text[start + 1 : end - 1]
            self._at = end
            fix = Fix((Edit(Range(start, self._at), key),), safe=True)
            message = f"The key {shown(text, start, end)} stands in quotes; this format writes keys bare."
            self._flag(rules.MALFORMED_JSON, Range(start, self._at), message, f"Write {shown(key)}.", fix)
        else:
            bare = _KEY.match(text, start)
            if bare is None:
                self._at += 1
                message = f"{shown(text, start, start + 1)} stands where a key was expected."
                self._flag(rules.MALFORMED_JSON, Range(start, start + 1), message)
                return False
            key, self._at = bare[0], bare.end()
        place = Range(start, self._at)
        if key in frame.members:
            fault = Fault(rules.DUPLICATE_KEY, place, f"The key {shown(key)} stands twice; most readers keep the last.")
            self._found.add(fault)
        frame.key, frame.key_place = key, place
        character = self._skip()
        if character == ":":
            self._at += 1
            return True
        if not character:
            self._cut_within = self._cut_within or f"the key {shown(key)}"
            self._hopeless += 1
            return False
        message = f"The key {shown(key)} has no value: `:` was expected behind it."
        self._flag(rules.MISSING_VALUE, place, message)
        self._separator(frame)
        return False

    def _separator(self, frame: _Frame) -> None:
        end, character = self._at, self._skip()
        if character == ",":
            self._at += 1
            if self._skip() == _CLOSERS[frame.opener]:
                place = Range(end, end + 1)
                fix = Fix((Edit(place, ""),), safe=True)
                self._flag(rules.TRAILING_COMMA, place, "A comma stands before a closing bracket.", "Delete it.", fix)
        elif character and character not in "}]":
            fix = Fix((Edit(Range(end, end), ","),), safe=True)
            message = f"A comma is missing before {shown(self._text, self._at, min(self._at + 20, len(self._text)))}."
            self._flag(rules.MISSING_COMMA, Range(end, max(self._at, end + 1)), message, "Put a comma there.", fix)

    def _flag_cut(self, frames: list[_Frame]) -> None:
        """The text ends within the brackets that are open; what is complete in them is kept."""
        for outer, inner in zip(frames[-2::-1], frames[:0:-1], strict=False):
            value: Json = inner.members if inner.opener == "{" else inner.items
            if outer.opener == "{":
                outer.members[outer.key] = value
            else:
                outer.items.append(value)
        closers = self._closers + "".join(_CLOSERS[frame.opener] for frame in reversed(frames))
        end = len(self._text)
        fix = None if self._hopeless else Fix((Edit(Range(end, end), closers),), safe=False)
        hint = f"End it with {shown(closers)}, if the rest cannot be had." if fix else None
        message = f"The call ends within {self._cut_within}; {shown(closers)} is missing at the end."
        self._flag(rules.TRUNCATED_JSON, Range(max(end - 1, 0), end), message, hint, fix)
