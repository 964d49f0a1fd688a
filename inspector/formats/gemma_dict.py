"""Gemma's dicts, `{k:<|"|>text<|"|>,n:1,o:{a:true},l:[...]}`: read with every place and fault, and written.

Keys stand bare, strings between delimiters that are tokens of their own (`<|"|>` in Gemma 4, `<escape>` in
FunctionGemma), so quotes, braces and backslashes in them are plain data and nothing is escaped. A delimiter within a
string ends it only where the dict can go on behind it: before `,` `}` `]` or `:`, or at the end of the text.

Sources: llama.cpp:models/templates/gemma4.jinja, vllm:tests/tool_parsers/test_gemma4_tool_parser.py and
test_functiongemma_tool_parser.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.python_call.writing import is_shallow
from inspector.formats.writing import is_finite
from inspector.json_scanner import MAX_DEPTH
from inspector.json_scanner.findings import Findings
from inspector.json_scanner.quoting import shown
from inspector.json_scanner.strict import number_value
from inspector.model import Json, Parameter, ToolCall
from inspector.rules import json_syntax as rules
from inspector.rules.markers import MARKER_INSIDE_ARGUMENT
from inspector.rules.rule import Rule
from inspector.text import Range

_CLOSERS = {"{": "}", "[": "]"}
_SPACE = re.compile(r"[ \t\n\r]*+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None, "None": None}
_TWINS = {"True": "true", "False": "false"}
_KEY = re.compile(r"[^\s:,{}\[\]<>\"']+")
_BARE = re.compile(r"[^,{}\[\]\n<]*+")
_QUOTED = re.compile(r"\"((?:[^\"\\]++|\\[\s\S])*+)\"|'((?:[^'\\\n]++|\\[\s\S])*+)'")
_NAME = re.compile(r"[\w.\-/]+")
_ODD_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")
_NEXT_KEY = re.compile(r"\s*+[\w.\-]{1,64}\s*+:\s*+")
_SWALLOWED = re.compile(r",\s*+[\w.\-]{1,64}\s*+:\s*+")
_LOOK_BACK = 100
_GOES_ON = re.compile(r"\s*+(?:[,}\]:]|\Z)")


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


class GemmaReader:
    """Reads one dict; `start` is the place of its opening brace in `text`."""

    def __init__(self, text: str, start: int, delimiter: str) -> None:
        self._text, self._at = text, start
        self._delimiter = delimiter
        self._found = Findings(text)
        self._breaks = self._hopeless = 0
        self._is_endless = False
        """Whether no delimiter behind this place ends a string as it should."""
        self._cut_within = ""
        self._closers = ""
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

    # one step

    def _member(self, frames: list[_Frame]) -> None:
        """Read a member, an item, or the end of the innermost bracket."""
        frame, character = frames[-1], self._skip()
        if not character:
            self._cut_within = "an object" if frame.opener == "{" else "a list"
        elif character in "}]":
            self._close(frames, character)
        elif character == ",":
            self._flag(rules.MISSING_VALUE, Range(self._at, self._at + 1), "`,` stands where a value was expected.")
            self._at += 1
        elif frame.opener == "[" or self._read_key(frame):
            self._read_value(frames)

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
        value, is_there = self._scalar(frame)
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

    # what a member is made of

    def _read_key(self, frame: _Frame) -> bool:
        """The key and its colon; False, and something skipped, where there is no key."""
        start, text = self._at, self._text
        if text.startswith(self._delimiter, start):
            key = self._string() or ""
        elif (quoted := _QUOTED.match(text, start)) is not None:
            key = quoted[1] if quoted[1] is not None else quoted[2]
            self._at = quoted.end()
            fix = Fix((Edit(Range(start, self._at), key),), safe=True)
            message = f"The key {shown(quoted[0])} stands in quotes; this format writes keys bare."
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

    def _scalar(self, frame: _Frame) -> tuple[Json, bool]:
        """A value that is no bracket, and whether there is one."""
        start, text = self._at, self._text
        if text.startswith(self._delimiter, start):
            return self._string(), True
        if (number := _NUMBER.match(text, start)) is not None and self._ends_value(number.end()):
            self._at = number.end()
            return number_value(number[0]), True
        if (quoted := _QUOTED.match(text, start)) is not None and self._ends_value(quoted.end()):
            return self._quoted(quoted), True
        bare = _BARE.match(text, start)
        word = bare[0].rstrip() if bare is not None else ""
        place = Range(start, start + len(word))
        self._at = place.end
        if word in _LITERALS:
            return _LITERALS[word], True
        if not word:
            self._no_value(frame)
            return None, False
        if word in _TWINS:
            twin = _TWINS[word]
            fix = Fix((Edit(place, twin),), safe=True)
            message = f"`{word}` is Python's spelling; this format writes `{twin}`."
            self._flag(rules.PYTHON_LITERAL, place, message, f"Write `{twin}`.", fix)
            return word == "True", True
        if _ODD_NUMBER.fullmatch(word):
            return self._odd_number(word, place), True
        delimited = f"{self._delimiter}{word}{self._delimiter}"
        message = f"The value {shown(word)} stands without `{self._delimiter}` around it."
        fix = Fix((Edit(place, delimited),), safe=False)
        self._flag(rules.UNQUOTED_WORD, place, message, f"Write {shown(delimited)} if it is meant as text.", fix)
        return word, True

    def _odd_number(self, word: str, place: Range) -> Json:
        """A number that JSON would write in another way."""
        whole, point, fraction = word.lstrip("+-").partition(".")
        spelling = "-" * word.startswith("-") + (whole.lstrip("0") or "0") + (point + fraction if fraction else "")
        fix = Fix((Edit(place, spelling),), safe=False)
        message = f"The number {shown(word)} is not written as JSON writes numbers."
        self._flag(rules.INVALID_NUMBER, place, message, f"Write `{spelling}`.", fix)
        return number_value(spelling)

    def _quoted(self, quoted: re.Match[str]) -> str:
        """A string between plain quotes."""
        value = quoted[1] if quoted[1] is not None else quoted[2]
        place = Range(*quoted.span())
        self._at = place.end
        delimited = f"{self._delimiter}{value}{self._delimiter}"
        message = f"{shown(quoted[0])} stands in plain quotes, which are data here; expected `{self._delimiter}`."
        fix = Fix((Edit(place, delimited),), safe=True)
        self._flag(rules.MALFORMED_JSON, place, message, f"Write {shown(delimited)}.", fix)
        return value

    def _string(self) -> str:
        """The string at the place, which moves behind it."""
        text, delimiter = self._text, self._delimiter
        start, first = self._at, self._at + len(delimiter)
        at, inner = text.find(delimiter, first), list[int]()
        while at >= 0 and not self._is_endless and not self._ends_string(at + len(delimiter)):
            comma = text.rfind(",", max(first, at - _LOOK_BACK), at)
            if comma >= 0 and _SWALLOWED.fullmatch(text, comma, at):
                return self._without_end(start, first, comma)
            inner.append(at)
            at = text.find(delimiter, at + len(delimiter))
        if at < 0 and inner:
            self._is_endless = True
            at, inner = inner[0], []
        for place in inner:
            message = (
                f"`{delimiter}` stands inside a string, as nothing of the dict follows it; many readers stop here."
            )
            self._found.add(Fault(MARKER_INSIDE_ARGUMENT, Range(place, place + len(delimiter)), message))
        if at < 0:
            self._cut_within = f"the string {shown(text, start, len(text))}"
            self._closers = delimiter
            self._at = len(text)
            return text[first:]
        self._at = at + len(delimiter)
        return text[first:at]

    def _ends_string(self, behind: int) -> bool:
        """Whether the dict can go on behind a delimiter, if only a comma was forgotten."""
        if _GOES_ON.match(self._text, behind) is not None:
            return True
        key = _NEXT_KEY.match(self._text, behind)
        return key is not None and self._text.startswith(self._delimiter, key.end())

    def _without_end(self, start: int, first: int, comma: int) -> str:
        """A string without its closing delimiter: the next member stands within it."""
        self._at = comma
        fix = Fix((Edit(Range(comma, comma), self._delimiter),), safe=False)
        message = f"The string {shown(self._text, start, comma)} has no `{self._delimiter}` at its end."
        self._flag(rules.MISSING_QUOTE, Range(comma - 1, comma), message, f"Put `{self._delimiter}` there.", fix)
        return self._text[first:comma]

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

    def _no_value(self, frame: _Frame) -> None:
        character = self._skip()
        if not character:
            self._cut_within = f"the value of {shown(frame.key)}"
            self._hopeless += 1
            return
        message = f"{shown(character)} stands where the value of {shown(frame.key)} was expected."
        self._flag(rules.MISSING_VALUE, Range(self._at, self._at + 1), message)
        if character not in ",}]":
            self._at += 1

    # places and faults

    def _skip(self) -> str:
        match = _SPACE.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _ends_value(self, at: int) -> bool:
        match = _SPACE.match(self._text, at)
        following = self._text[match.end() : match.end() + 1] if match is not None else ""
        return not following or following in ",}]" or (match is not None and match.end() > at) or following == "<"

    def _flag(self, rule: Rule, place: Range, message: str, hint: str | None = None, fix: Fix | None = None) -> None:
        self._found.add(Fault(rule, place, message, hint, fix))
        self._breaks += 1
        self._hopeless += fix is None

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


def is_gemma_value(value: Json, delimiter: str) -> bool:
    """Whether a dict can hold the value: no string may hold a delimiter that would end it, no number be unknown."""
    written = re.escape(delimiter)
    ends = re.compile(rf"{written}\s*(?:[,}}\]:]|\Z|[\w.\-]{{1,64}}\s*:)|,\s*[\w.\-]{{1,64}}\s*:\s*(?:{written}|\Z)")
    pending = [value]
    while pending:
        match pending.pop():
            case str() as text if ends.search(text):
                return False
            case dict() as members:
                pending += (*members.values(), *members)
            case list() as items:
                pending += items
    return is_finite(value)


def is_gemma_call(call: ToolCall, delimiter: str) -> bool:
    """Whether a model with these delimiters can write the call: no id, a name of one word, plain values."""
    if call.id is not None or not call.name or not isinstance(call.arguments, dict) or not _NAME.fullmatch(call.name):
        return False
    return is_shallow(call.arguments) and is_gemma_value(call.arguments, delimiter)


def gemma_text(value: Json, delimiter: str) -> str:
    """A value as the template writes it; keys that cannot stand bare are delimited like strings."""
    return "".join(_pieces(value, delimiter))


def _pieces(root: Json, delimiter: str) -> Iterator[str]:
    waiting: list[tuple[str, Json]] = [("", root)]
    while waiting:
        text, value = waiting.pop()
        if text:
            yield text
            continue
        match value:
            case dict():
                steps = [
                    step for key, one in value.items() for step in ((f",{_key(key, delimiter)}:", None), ("", one))
                ]
                waiting += reversed([("{", None), *_without_comma(steps), ("}", None)])
            case list():
                steps = [step for one in value for step in ((",", None), ("", one))]
                waiting += reversed([("[", None), *_without_comma(steps), ("]", None)])
            case str():
                yield f"{delimiter}{value}{delimiter}"
            case bool() | None:
                yield {True: "true", False: "false", None: "null"}[value]
            case float():
                yield repr(value)
            case _:
                yield format(Decimal(value), "f")


def _key(key: str, delimiter: str) -> str:
    return key if _KEY.fullmatch(key) else f"{delimiter}{key}{delimiter}"


def _without_comma(steps: list[tuple[str, Json]]) -> list[tuple[str, Json]]:
    first = steps[0][0].removeprefix(",") if steps else ""
    return [*([(first, None)] if first else []), *steps[1:]]
