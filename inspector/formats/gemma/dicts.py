"""Reads and follows Gemma's dicts, `{k:<|"|>text<|"|>,n:1,o:{a:true},l:[...]}`.

Every value has its position, every fault is reported; the tracker follows a dict chunk by chunk to its end.

Keys are bare; strings are between delimiters that are separate tokens (`<|"|>` in Gemma 4, `<escape>` in
FunctionGemma), so quotes, braces and backslashes in them are plain data and nothing is escaped. A delimiter within a
string ends it only if the dict can continue after it: before `,` `}` `]` or `:`, or at the end of the text.

Sources: llama.cpp:models/templates/gemma4.jinja, vllm:tests/tool_parsers/test_gemma4_tool_parser.py and
test_functiongemma_tool_parser.py.

The tracker applies the same rule to delimiters: after a delimiter it is still in the string, until the next character
that is not white space decides. Each character is read once.
"""

import re
from functools import cache, partial

from msgspec import Struct, field

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_scanner import MAX_DEPTH
from weaklink.inspector.json_scanner.cursor import PayloadFaults
from weaklink.inspector.json_scanner.messages import replaced
from weaklink.inspector.json_scanner.values import number_value
from weaklink.inspector.model import Json, Parameter
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.markers import MARKER_INSIDE_ARGUMENT
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import MAX_ROUNDS, QuoteSearch, end_of_repeats, lazy_pattern, repeated
from weaklink.inspector.segmenter.events import Payload
from weaklink.inspector.text import Range, shown

_SPACE = lazy_pattern(r"[ \t\n\r]*+")
_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None, "None": None}
_BARE = lazy_pattern(r"[^,{}\[\]\n<]*+")
_APOSTROPHES = repeated(r"[^'\\\n]++|\\[\s\S]")
_ODD_NUMBER = lazy_pattern(r"[-+]?(?:\d+\.?\d*|\.\d+)")
_NEXT_KEY = lazy_pattern(r"\s*+[\w.\-]{1,64}\s*+:\s*+")
_SWALLOWED = lazy_pattern(r",\s*+[\w.\-]{1,64}\s*+:\s*+")
_OTHER_MEMBER = lazy_pattern(r"[{}\[\]\n]|<\||\|>|[|<>]?\"[|<>]|,\s{0,8}[\w.\-]{1,64}\s{0,8}:")
_LOOK_BACK = 100
_CONTINUES = lazy_pattern(r"\s*+(?:[,}\]:]|\Z)")
_CLOSERS = {"{": "}", "[": "]"}
_KEY = lazy_pattern(r"[^\s:,{}\[\]<>\"']++(?:(?:[ \t]++[^\s:,{}\[\]<>\"']++){0,8}(?=[ \t]*+:))?")


class GemmaDict(Struct):
    """A dict that was read: its value, its range, its top-level members, and its faults.

    `breaks` counts the faults that make a call invalid, `hopeless` those of them without an honest repair.
    """

    value: dict[str, Json]
    range: Range
    parameters: tuple[Parameter, ...]
    faults: tuple[Fault, ...]
    breaks: int
    hopeless: int
    is_cut: bool


class _GemmaFrame(Struct):
    opener: str
    start: int
    members: dict[str, Json] = field(default_factory=dict)
    items: list[Json] = field(default_factory=list)
    key: str = ""
    key_range: Range = Range(0, 0)  # immutable, so safe as a default


@cache
def _plain(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a usual member (a whole string, an integer or a literal), and for text between brackets."""
    first, rest, written = re.escape(delimiter[0]), re.escape(delimiter[1:]), re.escape(delimiter)
    content = rf"[^{first}]*+(?:{first}(?!{rest})[^{first}]*+)"
    string = rf"{written}({content}{{0,{MAX_ROUNDS}}}){written}"
    member = rf"([\w.\-]++):(?:{string}|(-?(?:0|[1-9][0-9]{{0,17}}+))|(true|false|null))(?=[,}}])"
    between = rf"[^{first}{{}}\[\]]++|{written}{content}{{0,64}}{written}(?=[,}}\]:])"
    return re.compile(member), repeated(between)


class GemmaReader:
    """Reads one dict; `start` is the position of its opening brace in `text`."""

    def __init__(self, text: str, start: int, delimiter: str) -> None:
        self._text, self._position = text, start
        self._delimiter = delimiter
        self._plain = _plain(delimiter)[0]
        self._parameters: dict[str, Parameter] = {}
        self._faults = PayloadFaults(text)
        self._quotes = QuoteSearch()
        self._breaks = self._hopeless = 0
        self._is_endless = False
        """Whether no delimiter after the current position ends a string properly."""
        self._cut_within = ""
        self._closers = ""

    def read(self) -> GemmaDict:
        """The dict at the start; its open brackets are on an explicit stack, so that no depth can break the reader."""
        root = _GemmaFrame("{", self._position)
        frames = [root]
        self._position += 1
        while frames and not self._cut_within:
            self._member(frames)
        if frames and self._cut_within:
            self._flag_cut(frames)
        dict_range = Range(root.start, self._position)
        parameters = tuple(self._parameters.values())
        faults = self._faults.finished()
        is_cut = bool(self._cut_within)
        return GemmaDict(root.members, dict_range, parameters, faults, self._breaks, self._hopeless, is_cut)

    def _member(self, frames: list[_GemmaFrame]) -> None:
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
            self._flag(
                rules.MISSING_VALUE,
                Range(self._position, self._position + 1),
                "`,` appears where a value was expected.",
            )
            self._position += 1
        elif frame.opener == "[" or self._read_key(frame):
            self._read_value(frames)

    def _plain_member(self, frame: _GemmaFrame, *, is_root: bool) -> bool:
        """Read a usual member and the comma after it; False, without reading anything, if there is none."""
        match = self._plain.match(self._text, self._position)
        if match is None or match[1] in frame.members:
            return False
        key, string, integer, literal = match.groups()
        value = string if string is not None else int(integer) if integer is not None else LITERALS[literal]
        frame.members[key] = value
        if is_root:
            value_range, name_range = Range(match.end(1) + 1, match.end()), Range(*match.span(1))
            self._parameters[key] = Parameter(key, value_range.of(self._text), value_range, name_range, typed=True)
        self._position = match.end()
        self._separator(frame)
        return True

    def _read_value(self, frames: list[_GemmaFrame]) -> None:
        frame, character, start = frames[-1], self._skip(), self._position
        if character and character in _CLOSERS:
            if len(frames) == MAX_DEPTH:
                message = f"The value is nested deeper than {MAX_DEPTH} levels."
                self._flag(rules.TOO_DEEP, Range(start, start + 1), message)
                self._position, self._cut_within = len(self._text), "a value that is too deep"
                return
            frames.append(_GemmaFrame(character, start))
            self._position += 1
            return
        value, is_there = self._scalar(frame.key)
        if is_there:
            self._put(frames, value, start)
        if not self._cut_within:
            self._separator(frame)

    def _close(self, frames: list[_GemmaFrame], character: str) -> None:
        frame = frames.pop()
        if character == _CLOSERS[frame.opener]:
            self._position += 1
        else:
            closer = _CLOSERS[frame.opener]
            fault_range, message = (
                Range(self._position, self._position + 1),
                f"`{closer}` is missing before `{character}`.",
            )
            self._flag(
                rules.UNBALANCED_BRACKET,
                fault_range,
                message,
                f"Put `{closer}` there.",
                closer,
                repair_at=self._position,
            )
            if not frames:
                self._position += 1
        if frames:
            self._put(frames, frame.members if frame.opener == "{" else frame.items, frame.start)
            self._separator(frames[-1])

    def _put(self, frames: list[_GemmaFrame], value: Json, start: int) -> None:
        frame = frames[-1]
        if frame.opener == "[":
            frame.items.append(value)
            return
        frame.members[frame.key] = value
        if len(frames) == 1:
            text = self._text[start : self._position].rstrip()
            value_range = Range(start, start + len(text))
            self._parameters[frame.key] = Parameter(frame.key, text, value_range, frame.key_range, typed=True)

    def _read_key(self, frame: _GemmaFrame) -> bool:
        """Read the key and its colon; False, after skipping what is there, if the key or its value is missing."""
        start, text = self._position, self._text
        if text.startswith(self._delimiter, start):
            key = self._string() or ""
        elif (end := self._quoted_end(start)) >= 0:
            key = text[start + 1 : end - 1]
            self._position = end
            message = f"The key {shown(text, start, end)} is in quotes; this format writes keys bare."
            self._flag(rules.MALFORMED_JSON, Range(start, end), message, f"Write {shown(key)}.", key, safe=True)
        else:
            bare = _KEY.match(text, start)
            if bare is None:
                self._position += 1
                message = f"{shown(text, start, start + 1)} appears where a key was expected."
                self._flag(rules.MALFORMED_JSON, Range(start, start + 1), message)
                return False
            key = bare[0].partition("=")[0] or bare[0]
            self._position = start + len(key)
        text_range = Range(start, self._position)
        if key in frame.members:
            message = f"The key {shown(key)} appears twice; most parsers keep the last value."
            self._faults.add(Fault(rules.DUPLICATE_KEY, text_range, message))
        frame.key, frame.key_range = key, text_range
        character = self._skip()
        if character == ":":
            self._position += 1
            return True
        if not character:
            self._cut_within = self._cut_within or f"the key {shown(key)}"
            self._hopeless += 1
            return False
        if character == "=":
            text_range, message = Range(self._position, self._position + 1), "`=` appears where `:` was expected."
            self._flag(rules.MALFORMED_JSON, text_range, message, "Write `:`.", ":", safe=True)
            self._position += 1
            return True
        message = f"The key {shown(key)} has no value: `:` was expected after it."
        self._flag(rules.MISSING_VALUE, text_range, message)
        self._separator(frame)
        return False

    def _separator(self, frame: _GemmaFrame) -> None:
        end, character = self._position, self._skip()
        if character == ",":
            self._position += 1
            if self._skip() == _CLOSERS[frame.opener]:
                message = "A comma appears before a closing bracket."
                self._flag(rules.TRAILING_COMMA, Range(end, end + 1), message, "Delete it.", "", safe=True)
        elif character and character not in "}]":
            fault_range = Range(end, max(self._position, end + 1))
            following = shown(self._text, self._position, min(self._position + 20, len(self._text)))
            message = f"A comma is missing before {following}."
            self._flag(rules.MISSING_COMMA, fault_range, message, "Put a comma there.", ",", repair_at=end, safe=True)

    def _flag_cut(self, frames: list[_GemmaFrame]) -> None:
        """Report that the text ends within open brackets; keeps what is complete in them."""
        for outer, inner in zip(frames[-2::-1], frames[:0:-1], strict=False):
            value: Json = inner.members if inner.opener == "{" else inner.items
            if outer.opener == "{":
                outer.members[outer.key] = value
            else:
                outer.items.append(value)
        closers = self._closers + "".join(_CLOSERS[frame.opener] for frame in reversed(frames))
        fault_range = Range(max(len(self._text) - 1, 0), len(self._text))
        if self._closers and self._text.rstrip().endswith(("}", "]")):
            message = f"`{self._closers}` is missing at the end of {self._cut_within}."
            self._flag(rules.TRUNCATED_JSON, fault_range, message)
            return
        hint = f"End it with {shown(closers)}, if the rest is not available." if not self._hopeless else None
        message = f"The call ends within {self._cut_within}; {shown(closers)} is missing at the end."
        repair = closers if not self._hopeless else None
        self._flag(rules.TRUNCATED_JSON, fault_range, message, hint, repair, repair_at=len(self._text))

    # values other than objects and lists

    def _scalar(self, key: str) -> tuple[Json, bool]:
        """A value other than an object or a list, and whether there is one."""
        start, text = self._position, self._text
        if text.startswith(self._delimiter, start):
            return self._string(), True
        if (number := _NUMBER.match(text, start)) is not None and self._ends_value(number.end()):
            self._position = number.end()
            return number_value(number[0]), True
        if (quoted := self._quoted_end(start)) >= 0 and self._ends_value(quoted):
            return self._quoted(Range(start, quoted)), True
        bare = _BARE.match(text, start)
        word = bare[0].rstrip() if bare is not None else ""
        word_range = Range(start, start + len(word))
        self._position = word_range.end
        if word in LITERALS:
            return LITERALS[word], True
        if not word:
            self._no_value(key)
            return None, False
        if word in ("True", "False"):
            twin = word.lower()
            message = f"`{word}` is Python's spelling; this format writes `{twin}`."
            self._flag(rules.PYTHON_LITERAL, word_range, message, f"Write `{twin}`.", twin, safe=True)
            return word == "True", True
        if _ODD_NUMBER.fullmatch(word):
            return self._odd_number(word, word_range), True
        if (opened := self._without_beginning(start)) is not None:
            return opened, True
        delimited = f"{self._delimiter}{word}{self._delimiter}"
        message = f"The value {shown(word)} appears without `{self._delimiter}` around it."
        self._flag(rules.UNQUOTED_WORD, word_range, message, f"Write {shown(delimited)} if it is text.", delimited)
        return word, True

    def _odd_number(self, word: str, word_range: Range) -> Json:
        """A number in a spelling that JSON does not allow."""
        whole, point, fraction = word.lstrip("+-").partition(".")
        spelling = "-" * word.startswith("-") + (whole.lstrip("0") or "0") + (point + fraction if fraction else "")
        message = f"The number {shown(word)} is not a valid JSON number."
        self._flag(rules.INVALID_NUMBER, word_range, message, f"Write `{spelling}`.", spelling)
        return number_value(spelling)

    def _quoted_end(self, start: int) -> int:
        """The end of the string between plain quotes that begins at `start`; -1 if there is none."""
        text, quote = self._text, self._text[start : start + 1]
        if quote == '"':
            return self._quotes.find(text, quote, start + 1, len(text)) + 1 or -1
        if quote != "'":
            return -1
        last = end_of_repeats(_APOSTROPHES, text, start + 1, len(text))
        return last + 1 if text.startswith(quote, last) else -1

    def _quoted(self, string_range: Range) -> str:
        """Read the string between plain quotes at `string_range`, which is a fault."""
        quoted = string_range.of(self._text)
        value = quoted[1:-1]
        self._position = string_range.end
        delimited = f"{self._delimiter}{value}{self._delimiter}"
        message = f"{shown(quoted)} is in plain quotes, which are part of the text here; expected `{self._delimiter}`."
        self._flag(rules.MALFORMED_JSON, string_range, message, f"Write {shown(delimited)}.", delimited, safe=True)
        return value

    def _string(self) -> str:
        """Read the string at the current position and move after it."""
        text, delimiter = self._text, self._delimiter
        start, first = self._position, self._position + len(delimiter)
        position, inner = text.find(delimiter, first), list[int]()
        while position >= 0 and not self._is_endless and not self._ends_string(position + len(delimiter)):
            comma = text.rfind(",", max(first, position - _LOOK_BACK), position)
            if comma >= 0 and _SWALLOWED.fullmatch(text, comma, position):
                return self._without_end(start, first, comma)
            inner.append(position)
            position = text.find(delimiter, position + len(delimiter))
        if position < 0 and inner:
            self._is_endless = True
            position, inner = inner[0], []
        for inner_start in inner:
            message = f"`{delimiter}` appears inside a string: no part of the dict follows it; many parsers stop here."
            self._faults.add(Fault(MARKER_INSIDE_ARGUMENT, Range(inner_start, inner_start + len(delimiter)), message))
        if position < 0:
            self._cut_within = f"the string {shown(text, start, len(text))}"
            self._closers = delimiter
            self._position = len(text)
            return text[first:]
        self._position = position + len(delimiter)
        return text[first:position]

    def _ends_string(self, after: int) -> bool:
        """Whether the dict can continue after a delimiter; at most a comma may be missing there."""
        if _CONTINUES.match(self._text, after) is not None:
            return True
        key = _NEXT_KEY.match(self._text, after)
        return key is not None and self._text.startswith(self._delimiter, key.end())

    def _without_end(self, start: int, first: int, comma: int) -> str:
        """A string without its closing delimiter: the next member seems to be within it."""
        self._position, delimiter = comma, self._delimiter
        message = f"The string {shown(self._text, start, comma)} has no `{delimiter}` at its end."
        fault_range, hint = Range(comma - 1, comma), f"Put `{delimiter}` there."
        self._flag(rules.MISSING_QUOTE, fault_range, message, hint, delimiter, repair_at=comma)
        return self._text[first:comma]

    def _without_beginning(self, start: int) -> str | None:
        """Read a string without its opening delimiter that begins at `start`; None if there is no closing one."""
        delimiter = self._delimiter
        last = self._text.find(delimiter, start, start + _LOOK_BACK)
        value, end = self._text[start:last], last + len(delimiter)
        if last < 0 or _OTHER_MEMBER.search(value) or not self._ends_string(end):
            return None
        self._position, message = end, f"The string {shown(value)} has no `{delimiter}` before it."
        hint = f"Put `{delimiter}` there."
        self._flag(rules.MISSING_QUOTE, Range(start, last), message, hint, delimiter, repair_at=start)
        return value

    def _no_value(self, key: str) -> None:
        character = self._skip()
        if not character:
            self._cut_within = f"the value of {shown(key)}"
            self._hopeless += 1
            return
        message = f"{shown(character)} appears where the value of {shown(key)} was expected."
        self._flag(rules.MISSING_VALUE, Range(self._position, self._position + 1), message)
        if character not in ",}]":
            self._position += 1

    def _skip(self) -> str:
        match = _SPACE.match(self._text, self._position)
        if match is not None:
            self._position = match.end()
        return self._text[self._position : self._position + 1]

    def _ends_value(self, position: int) -> bool:
        match = _SPACE.match(self._text, position)
        following = self._text[match.end() : match.end() + 1] if match is not None else ""
        return not following or following in ",}]" or (match is not None and match.end() > position) or following == "<"

    def _flag(
        self,
        rule: Rule,
        fault_range: Range,
        message: str,
        hint: str | None = None,
        repair: str | None = None,
        *,
        repair_at: int = -1,
        safe: bool = False,
    ) -> None:
        """Add a fault; `repair`, if there is one, belongs in place of its text, or at the position `repair_at`."""
        fix = (
            replaced(Range(repair_at, repair_at) if repair_at >= 0 else fault_range, repair, safe=safe)
            if repair is not None
            else None
        )
        self._faults.add(Fault(rule, fault_range, message, hint, fix))
        self._breaks += 1
        self._hopeless += fix is None


class GemmaTracker:
    """A Follower of dicts whose strings are between `delimiter`; only a bracket of the wrong kind breaks one."""

    def __init__(self, delimiter: str) -> None:
        self.broken = self.in_string = self.completed = False
        self._delimiter = delimiter
        self._plain = _plain(delimiter)[1]
        self._open: list[str] = []
        self._seen = 0
        """How many characters of a delimiter have been read."""
        self._may_end = False

    def feed(self, text: str, start: int = 0, end: int | None = None) -> int:
        """See Follower."""
        stop = len(text) if end is None else end
        self.completed = False
        while start < stop and not self.broken and not self.completed:
            start = self._within(text, start, stop) if self.in_string else self._outside(text, start, stop)
        return start

    def _outside(self, text: str, start: int, stop: int) -> int:
        if self._seen:
            return self._continue_delimiter(text, start)
        start = end_of_repeats(self._plain, text, start, stop)
        if start == stop:
            return start
        character = text[start]
        if character == self._delimiter[0]:
            self._seen = 1
        elif character in _CLOSERS:
            self._open.append(_CLOSERS[character])
        elif character in "}]":
            if not self._open or self._open.pop() != character:
                self.broken = True
                return start
            self.completed = not self._open
        return start + 1

    def _within(self, text: str, start: int, stop: int) -> int:
        if self._may_end:
            match = _SPACE.match(text, start, stop)
            start = match.end() if match is not None else start
            if start < stop:
                self._may_end = False
                self.in_string = text[start] not in ",}]:"
            return start
        if self._seen:
            return self._continue_delimiter(text, start)
        position = text.find(self._delimiter[0], start, stop)
        if position < 0:
            return stop
        self._seen = 1
        return position + 1

    def _continue_delimiter(self, text: str, start: int) -> int:
        if text[start] != self._delimiter[self._seen]:
            self._seen = 0
            return start
        self._seen += 1
        if self._seen == len(self._delimiter):
            self._seen = 0
            self._may_end, self.in_string = self.in_string, True
        return start + 1


def gemma_payload(delimiter: str) -> Payload:
    """The payload of dicts with these delimiters."""
    return Payload(partial(GemmaTracker, delimiter), ends="}]")
