"""Finds the calls and parameters in a call span's text: strictly first, then leniently.

Theory of operation. Values are free text, so a tag may be data; what has to be decided is which tag ends a value.

    <function=read>
    <parameter=path>
    a.md
    <parameter=lines>
    5
    </parameter>
    </function>

The strict reading is the one that `follower` tracks in a stream: an opening tag within a value is data and opens a
level, and a value ends at a closing tag of level 0 that structure follows. Here `lines` opens a level in `path`, which
the only closing tag ends: `path` is not closed and reaches to the end. That is a fault, so the text is read again. In
the lenient reading an opening tag at the beginning of a line, or the call's closing tag, ends a value too, if not
enough closing tags follow for it: `path` is `a.md`, and not closed; `lines` is `5`.

The strict reading stops at its first fault, the lenient one lists all (`XmlFault`), each of which `messages` words. The
number of closing tags that follow each tag is counted once, so both take linear time.
"""

import re
from difflib import SequenceMatcher
from enum import Enum, auto
from itertools import accumulate

from msgspec import Struct, field

from weaklink.inspector.formats.xml.syntax import XmlSyntax
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_SPACE = lazy_pattern(r"\s*")
_WORD = lazy_pattern(r"[\w.-]+")
_OTHER_TAG = lazy_pattern(
    r"""
    < (?: (?P<key> [A-Za-z_][\w.-]{0,63} )                                          # <city>
        | (?P<tag> [A-Za-z_][\w.-]{0,63} ) [ ]name="(?P<name>[^"<>\n]{1,64})" ) >   # <arg name="city">
    (?P<value> [^<>]* )
    </ (?: (?P=key) | (?P=tag) ) >
    """,
    re.VERBOSE,
)
"""A parameter in a tag of its name, `<city>Oslo</city>`, or in a tag that names it, `<arg name="city">Oslo</arg>`."""
_ALIKE, _GARBLED = 0.85, 8  # how much a garbled tag resembles the whole one, and how many characters it may lack
_INDENT = 64  # of a line, and how many characters may be between a name and its value


class XmlFaultKind(Enum):
    """A kind of fault in a call."""

    VALUE_NOT_CLOSED = auto()
    OTHER_NAME_CLOSED = auto()
    CALL_NOT_CLOSED = auto()
    BAD_TAG = auto()
    CALL_TAG_NOT_CLOSED = auto()
    STRAY_TEXT = auto()
    STRAY_TAG = auto()
    VALUE_NOT_OPENED = auto()
    DOUBLED_TAG = auto()
    OTHER_OPENER = auto()
    OTHER_CLOSER = auto()
    TEXT_AFTER_CALL = auto()
    NO_CALL = auto()


class XmlParameterText(Struct):
    """A parameter: `value` is the range from its opening tag to its closing one, `tag` that of the opening tag."""

    name: str
    name_range: Range
    kind: str
    tag: Range
    value: Range


class XmlFault(Struct, frozen=True):
    """A fault, its range, and the parameter that it concerns, if any."""

    kind: XmlFaultKind
    range: Range
    parameter: XmlParameterText | None = None


class XmlCallText(Struct):
    """A call: `name` is "" if none could be read, `parameters_end` is the end of the last parameter's closing tag."""

    name: str
    name_range: Range | None
    start: int
    end: int = 0
    parameters: list[XmlParameterText] = field(default_factory=list)
    parameters_end: int = 0


class XmlWalk(Struct, frozen=True):
    """The content of a span's text.

    `content_end` is the end of the text without trailing white space. `data` are tags within values; `open_value` and
    `open_call` say that the end cuts off a value, or a call.
    """

    calls: list[XmlCallText]
    faults: list[XmlFault]
    data: list[Range]
    content_end: int
    open_value: bool = False
    open_call: bool = False


def walk(text: str, syntax: XmlSyntax) -> XmlWalk:
    """The calls in `text`, which begins with the syntax's `lead`."""
    tags = list(syntax.tags.finditer(text))
    walked = _Walker(text, syntax, tags, is_strict=True).read()
    return _Walker(text, syntax, tags, is_strict=False).read() if walked.faults else walked


class _Walker:
    def __init__(self, text: str, syntax: XmlSyntax, tags: list[re.Match[str]], *, is_strict: bool) -> None:
        self._text = text
        self._syntax = syntax
        self._tags = tags
        self._is_strict = is_strict
        self._calls: list[XmlCallText] = []
        self._faults: list[XmlFault] = []
        self._data: list[Range] = []
        self._call: XmlCallText | None = None
        self._parameter: XmlParameterText | None = None
        self._depth = 0
        self._read_to = 0
        self._content_end = len(text.rstrip())
        # By how many the closing tags of values outnumber the opening ones, from each tag to the end.
        ends = ({"end": 1, "parameter": -1}.get(tag.lastgroup or "", 0) for tag in reversed(tags))
        self._excess = [] if is_strict else list(accumulate(ends, initial=0))[::-1]

    def read(self) -> XmlWalk:
        if self._syntax.call is None:
            self._read_head()
        for index, tag in enumerate(self._tags):
            if self._parameter is not None:
                if tag.start() >= self._parameter.value.start:
                    self._within_value(index, tag, self._parameter)
            else:
                self._outside_values(index, tag)
            if self._is_strict and self._faults:
                break
        return self._finish()

    def _read_head(self) -> None:
        """Read the bare name before the first tag."""
        end = self._tags[0].start() if self._tags else len(self._text)
        other = self._syntax.other_parameter.search(self._text, 0, end) if self._syntax.other_parameter else None
        end = other.start() if other is not None else end
        head = self._text[:end]
        name = head.strip()
        line_end = name.find("\n")
        start = head.index(name)
        if line_end >= 0:
            self._add_fault(XmlFaultKind.STRAY_TEXT, start + line_end + 1, start + len(name))
            name = name[:line_end].rstrip()
        if self._syntax.first in name:
            self._add_fault(XmlFaultKind.STRAY_TEXT, start, start + len(name))
        self._call = XmlCallText(name, Range(start, start + len(name)) if name else None, start)
        self._calls.append(self._call)
        self._read_to = end

    # within a value

    def _within_value(self, index: int, tag: re.Match[str], parameter: XmlParameterText) -> None:
        kind = tag.lastgroup
        if kind == "end":
            if self._depth:
                self._depth -= 1
            elif (
                self._structure_follows(tag.end())
                or self._is_doubled(index, tag, parameter)
                or (not self._is_strict and self._excess[index + 1] < 1)
            ):
                end_tag = self._syntax.end_tag
                named = end_tag.whole.match(self._text, tag.start()) if end_tag is not None else None
                if named is not None and named[1] != parameter.name:
                    self._faults.append(XmlFault(XmlFaultKind.OTHER_NAME_CLOSED, Range(*tag.span()), parameter))
                self._end_value(tag.start(), tag.end())
                return
            self._data.append(Range(*tag.span()))
        elif kind == "parameter":
            if self._is_strict or self._excess[index] >= 1:
                self._depth += 1
                self._data.append(Range(*tag.span()))
            elif self._syntax.anywhere or self._begins_line(tag.start()):
                self._end_value_unclosed(tag.start(), parameter)
                self._outside_values(index, tag)
        elif (
            (kind == "call_end" or (kind == "call" and self._begins_line(tag.start())))
            and not self._is_strict
            and self._excess[index + 1] < 1
        ):
            self._end_value_unclosed(tag.start(), parameter)
            self._outside_values(index, tag)
        elif kind == "call_end" and not self._syntax.lead:
            self._data.append(Range(*tag.span()))

    def _is_doubled(self, index: int, tag: re.Match[str], parameter: XmlParameterText) -> bool:
        """Whether the same closing tag follows at once, and then the call goes on or ends: one of the two is stray."""
        again = self._tags[index + 1] if index + 1 < len(self._tags) else None
        if again is None or again[0] != tag[0] or self._text[tag.end() : again.start()].strip():
            return False
        is_opened = self._text.find(self._syntax.value_begins, parameter.value.start, tag.start()) >= 0
        return not is_opened and self._structure_follows(again.end())

    def _skip_doubled(self, index: int, parameter: XmlParameterText) -> None:
        """Flag the tag before a value if the value begins with it too, without a second closing tag."""
        opening = parameter.tag.of(self._text)
        last = opening[opening.rindex(self._syntax.first) :]
        start = self._skipped(parameter.value.start)
        if not self._text.startswith(last, start):
            return
        end = start + len(last)
        following = [tag for tag in self._tags[index + 1 : index + 4] if tag.start() >= end]
        if [tag.lastgroup for tag in following[:2]] == ["end", "end"] or not following:
            return
        self._add_fault(XmlFaultKind.DOUBLED_TAG, start, end)
        parameter.value = Range(end, end)

    def _begins_line(self, position: int) -> bool:
        before = self._text[max(position - _INDENT, 0) : position]
        return not before.rpartition("\n")[2].strip(" \t")

    def _structure_follows(self, position: int) -> bool:
        position = self._skipped(position)
        if position == len(self._text):
            return True
        tag = self._syntax.tags.match(self._text, position)
        if tag is None:
            other = self._syntax.other_parameter
            is_other = other is not None and other.match(self._text, position) is not None
            return is_other or (not self._is_strict and self._is_cut_closer(position))
        if self._is_strict and tag.lastgroup == "call_end":
            # If neither the text's end nor another call follows, what closes a call in a value is data.
            position = self._skipped(tag.end())
            following = self._syntax.tags.match(self._text, position)
            return position == len(self._text) or (following is not None and following.lastgroup == "call")
        return tag.lastgroup in ("parameter", "call_end", "call") or (tag.lastgroup == "bad" and not self._is_strict)

    def _skipped(self, position: int) -> int:
        """The end of the white space that begins at `position`."""
        space = _SPACE.match(self._text, position)
        return space.end() if space is not None else position

    def _is_cut_closer(self, position: int) -> bool:
        """Whether the rest of the text from `position` on is the beginning of a closing tag that the end cuts short."""
        closers = (self._syntax.closer, self._syntax.call_end)
        rest = self._text[position : position + max(map(len, closers))]
        return position + len(rest) == len(self._text) and any(closer.startswith(rest) for closer in closers)

    def _end_value(self, end: int, after: int) -> None:
        assert self._parameter is not None
        assert self._call is not None
        start, token = self._parameter.value.start, self._syntax.end_begins
        if token != self._syntax.parameter_end and self._text.endswith(token, start, end):
            self._add_fault(XmlFaultKind.DOUBLED_TAG, end - len(token), end)
            end -= len(token)
        self._parameter.value = Range(start, end)
        self._call.parameters_end = self._read_to = after
        self._parameter, self._depth = None, 0

    def _end_value_unclosed(self, end: int, parameter: XmlParameterText) -> None:
        closer = self._other_closer(parameter, end)
        if closer is not None:
            self._faults.append(XmlFault(XmlFaultKind.OTHER_CLOSER, closer, parameter))
            self._end_value(closer.start, end)
            return
        self._faults.append(XmlFault(XmlFaultKind.VALUE_NOT_CLOSED, parameter.tag, parameter))
        line_ends = not self._syntax.own_lines and self._text.endswith("\n", parameter.value.start, end)
        self._end_value(end - line_ends, end)

    def _other_closer(self, parameter: XmlParameterText, end: int) -> Range | None:
        """What ends an unclosed value instead of its closing tag: one with the parameter's name, or a garbled one."""
        value = self._text[parameter.value.start : end].rstrip()
        named, expected = f"</{parameter.name}>", self._syntax.closes_value_of(parameter.name)
        length = len(named) if value.endswith(named) and f"<{parameter.name}" not in value else 0
        if not length:
            around = range(max(len(expected) - _GARBLED, 1), min(len(expected) + _GARBLED, len(value)) + 1)
            likeness = {size: SequenceMatcher(None, value[-size:], expected).ratio() for size in around}
            length = max(likeness, key=likeness.__getitem__, default=0)
            length = length if likeness.get(length, 0) > _ALIKE else 0
        last = parameter.value.start + len(value)
        return Range(last - length, last) if length else None

    # outside values

    def _outside_values(self, index: int, tag: re.Match[str]) -> None:
        if tag.lastgroup == "end" and self._is_other_word(tag.start(), tag.end()):
            return
        self._pass_over(tag.start())
        match tag.lastgroup:
            case "call":
                self._begin_call(tag)
            case "bad_call":
                self._add_fault(XmlFaultKind.CALL_TAG_NOT_CLOSED, tag.start(), tag.end())
                self._begin_call(tag)
            case "call_end" if self._call is not None:
                self._call.end, self._call = tag.end(), None
            case "parameter":
                whole = self._syntax.parameter.whole
                match = whole.match(self._text, tag.start())
                assert match is not None
                kind = match[whole.groups] if self._syntax.text_type else ""
                self._add_parameter(match[1].strip(), Range(*match.span(1)), kind, Range(*tag.span()))
                assert self._parameter is not None
                self._skip_doubled(index, self._parameter)
            case "bad":
                self._begin_badly(tag)
            case _:
                self._add_fault(XmlFaultKind.STRAY_TAG, tag.start(), tag.end())
        self._read_to = max(self._read_to, tag.end())

    def _pass_over(self, to: int) -> None:
        """Flag the text between tags, unless it is white space."""
        while self._is_other_word(to, to):
            pass
        stray = self._text[self._read_to : to].strip()
        start = self._text.index(stray, self._read_to)
        if stray and self._is_other_parameter(start, start + len(stray)):
            return
        if stray and not (to == len(self._text) and self._is_cut_closer(start)):
            is_after_call = self._call is None and self._calls
            self._add_fault(
                XmlFaultKind.TEXT_AFTER_CALL if is_after_call else XmlFaultKind.STRAY_TEXT, start, start + len(stray)
            )

    def _is_other_parameter(self, start: int, end: int) -> bool:
        """Add the parameters in a text of `<NAME>VALUE</NAME>` or `<TAG name="NAME">VALUE</TAG>`; False for others."""
        if self._call is None or self._syntax.call is None or self._is_strict:
            return False
        matches = list(_OTHER_TAG.finditer(self._text, start, end))
        if not matches or _OTHER_TAG.sub("", self._text[start:end]).strip():
            return False
        for match in matches:
            name, value = Range(*match.span("key" if match["key"] else "name")), Range(*match.span("value"))
            self._add_parameter(name.of(self._text), name, "", Range(match.start(), value.start))
            self._faults.append(XmlFault(XmlFaultKind.OTHER_OPENER, Range(match.start(), value.start), self._parameter))
            self._end_value(value.end, match.end())
        return True

    def _is_other_word(self, end: int, after: int) -> bool:
        """Add the next parameter before `end` if its tags have another word, as `<param name="NAME">`.

        A closing tag with the same word ends the value, or else the whole one from `end` to `after`, if there is one.
        """
        pattern, start = self._syntax.other_parameter, self._skipped(self._read_to)
        match = pattern.match(self._text, start, end) if pattern is not None and self._call is not None else None
        if pattern is None or match is None:
            return False
        closes = self._syntax.parameter_end.replace("parameter", match["word"])
        position = self._text.find(closes, match.end(), end)
        if position < 0 and (after == end or pattern.search(self._text, match.end(), end)):
            return False
        kind = match[pattern.groups] if self._syntax.text_type else ""
        self._add_parameter(match[2].strip(), Range(*match.span(2)), kind, Range(*match.span()))
        self._faults.append(XmlFault(XmlFaultKind.OTHER_OPENER, Range(*match.span()), self._parameter))
        self._end_value(*((position, position + len(closes)) if position >= 0 else (end, after)))
        return True

    def _begin_call(self, tag: re.Match[str]) -> None:
        if self._call is not None:
            self._call.end = self._read_to
            self._add_fault(XmlFaultKind.CALL_NOT_CLOSED, tag.start(), tag.end())
        name = self._name_of_call(tag)
        self._call = XmlCallText(name.of(self._text).strip(), name, tag.start(), tag.end())
        self._calls.append(self._call)

    def _name_of_call(self, tag: re.Match[str]) -> Range:
        """The range of the tool's name in a call's tag, as it is written; in one that is not whole, without spaces."""
        assert self._syntax.call is not None
        match = self._syntax.call.whole.match(self._text, tag.start())
        if match is not None:
            return Range(*match.span(1))
        start = tag.start() + len(self._syntax.call_begins)
        end = start + len(self._text[start : tag.end()].rstrip("\"' \t"))
        start = end - len(self._text[start:end].lstrip())
        return Range(start, start + len(self._text[start:end].rstrip()))

    def _begin_badly(self, tag: re.Match[str]) -> None:
        """Begin a parameter at an opening tag that is not whole; its name is the part that is there."""
        if self._begin_without_value_tag(tag):
            return
        if tag[0] == self._syntax.parameter_begins and self._text.startswith(tag[0], tag.end()):
            self._add_fault(XmlFaultKind.DOUBLED_TAG, tag.start(), tag.end())
            return
        self._add_fault(XmlFaultKind.BAD_TAG, tag.start(), tag.end())
        begins = len(self._syntax.parameter_begins)
        match = _WORD.search(self._text, tag.start() + begins, tag.end())
        if match is not None and tag.end() < self._content_end and not self._syntax.bad_is_empty:
            self._add_parameter(match[0], Range(*match.span()), "", Range(*tag.span()))

    def _begin_without_value_tag(self, tag: re.Match[str]) -> bool:
        """Begin a parameter whose name is in its tag, but the tag of its value is missing, or follows a stray one."""
        match = self._syntax.key.match(self._text, tag.start()) if self._syntax.key is not None else None
        if match is None:
            return False
        next_tag = self._syntax.tags.search(self._text, max(tag.end(), match.end()))
        stray = self._text_before_value(match.end())
        has_value_tag = self._text.startswith(("<", self._syntax.value_begins[1:5]), match.end())  # a part of it
        if match[2]:
            self._add_fault(XmlFaultKind.STRAY_TAG, *match.span(2))
        elif stray and not match[3]:
            self._add_fault(XmlFaultKind.STRAY_TEXT, stray.start, stray.end)
        elif match[3] or next_tag is None or next_tag.lastgroup != "end" or has_value_tag:
            return False
        key, start = Range(*match.span(1)), stray.end + len(self._syntax.value_begins) if stray else match.end()
        self._add_parameter(key.of(self._text), key, "", Range(tag.start(), start))
        if not match[3] and not stray:
            self._faults.append(XmlFault(XmlFaultKind.VALUE_NOT_OPENED, Range(key.end, start), self._parameter))
        return True

    def _text_before_value(self, start: int) -> Range:
        """The few words between the tags of a name and of its value; empty if there are none."""
        end = self._text.find(self._syntax.value_begins, start, start + _INDENT)
        is_text = end >= 0 and self._syntax.first not in self._text[start:end]
        return Range(start, end if is_text else start)

    def _add_parameter(self, name: str, name_range: Range, kind: str, tag: Range) -> None:
        if self._call is None:
            self._add_fault(XmlFaultKind.NO_CALL, tag.start, tag.end)
            self._call = XmlCallText("", None, tag.start)
            self._calls.append(self._call)
        self._parameter = XmlParameterText(name, name_range, kind, tag, Range(tag.end, tag.end))
        self._call.parameters.append(self._parameter)
        self._depth = 0

    # the end

    def _finish(self) -> XmlWalk:
        open_value = self._parameter is not None
        if self._parameter is not None:
            self._end_value_unclosed(len(self._text), self._parameter)
        else:
            self._pass_over(len(self._text))
        open_call = self._call is not None and bool(self._syntax.call_end)
        if self._call is not None:
            self._call.end = self._content_end
            is_reported = bool(self._faults) and self._faults[-1].range.end == self._content_end
            if open_call and not open_value and not is_reported and self._call.name:
                self._add_fault(XmlFaultKind.CALL_NOT_CLOSED, max(self._call.end - 1, 0), self._call.end)
        return XmlWalk(
            self._calls, self._faults, self._data, self._content_end, open_value=open_value, open_call=open_call
        )

    def _add_fault(self, kind: XmlFaultKind, start: int, end: int) -> None:
        self._faults.append(XmlFault(kind, Range(start, end)))


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The beginning and end of a value without the line feed before and after it."""
    start += text.startswith("\n", start, end)
    return start, end - text.endswith("\n", start, end)
