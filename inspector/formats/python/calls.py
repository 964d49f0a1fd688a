"""Reads call spans in Python's syntax: lists of calls, single calls, one call per line; JSON is read as JSON.

Theory of operation. One cursor (`literals.PythonCursor`) moves over the text; each function reads one thing at it, and
reports what Python would refuse there as a fault with its repair:

    span          [get_weather(city='Oslo', days=03), f(1
    calls         `[`, then a name and `(`, which `arguments` reads up to `)`; a comma; the second name
    literals      'Oslo' is a string; 03 is a number with a leading zero: invalid-number, write 3
    calls         the text ends within the arguments of `f`: truncated-json, `)]` is missing
    arguments     1 has no name: positional-argument, which no repair can name
    calls         get_weather(city="Oslo", days=3): not valid, recovered; f: not valid, its arguments as raw text

The cursor counts faults: one since the call before makes a call invalid (`breaks`), one without an honest repair also
unreadable (`hopeless`). A fault that covers others takes back what was reported since its mark (`undo`).
"""

import re

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.python import messages
from weaklink.inspector.formats.python.arguments import read_arguments
from weaklink.inspector.formats.python.literals import PythonCursor, read_expression
from weaklink.inspector.formats.span_readers import empty_call, nameless_call
from weaklink.inspector.model import ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.text import Range, shown

_JSON = lazy_pattern(r"\s*(?:\{|\[\s*\{)")
_FENCE = lazy_pattern(r"\s*(```[\w-]*[ \t]*\n?)")
_CLOSING_FENCE = lazy_pattern(r"\n?[ \t]*```\s*\Z")
_READ_JSON = JsonCallReader(is_array=True, is_row=True)
_NAME = lazy_pattern(r"[\w.\-/]+")
_CALL = lazy_pattern(r"([^\W\d][\w.\-/]*)[ \t]*\(")
_CALLS_BEGIN = lazy_pattern(r"\[?[ \t\n]{0,16}+[^\W\d][\w.]{0,127}+\(")
_DOTTED = lazy_pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_NEXT_CALL = lazy_pattern(r"[,;\n]\s{0,16}+\[?\s{0,16}+(?=[^\W\d][\w.]{0,127}+\()")
_PRINT = lazy_pattern(r"print\(\s*+(?=[^\W\d][\w.]{0,127}+\()")
_BRACKETS = lazy_pattern(r"[)\]}][\s)\]}]*")


class PythonCallReader(Struct, frozen=True):
    """A SpanReader for call spans whose inner text should be calls in Python's syntax, or JSON.

    `namespace` is what the format puts before a tool's name, and inside `print(...)`; "" if it does not.
    `takes_json` says that the format's own template writes JSON's `true`, `false` and `null`, `is_list` that it writes
    brackets around the calls.
    """

    namespace: str = ""
    takes_json: bool = False
    is_list: bool = False

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        text, start = closed.inner_text, closed.span.inner.start
        if not text.strip() or text.strip() == "[]":
            return empty_call(closed, "a call such as `name(argument='value')`")
        if _JSON.match(text):
            return _READ_JSON(closed)
        fence = _FENCE.match(text)
        if fence is not None:
            return self._fenced(closed, fence)
        return self._reading(text, start)

    def _fenced(self, closed: SpanClosed, fence: re.Match[str]) -> ParseResult:
        text, start = closed.inner_text, closed.span.inner.start
        ending = _CLOSING_FENCE.search(text, fence.end())
        end = ending.start() if ending is not None else len(text)
        inner = text[fence.end() : end]
        if not inner.strip():
            return self._reading(text, start)
        if _JSON.match(inner):
            return _READ_JSON(closed)
        fences = (fence.span(1), *((ending.span(),) if ending is not None else ()))
        edits = tuple(Edit(Range(*fence).moved(start), "") for fence in fences)
        reading = self._reading(inner, start + fence.end())
        return reading.recovered(messages.fenced(text, edits[0].range, edits=edits))

    def _reading(self, text: str, start: int) -> ParseResult:
        reading = read_calls(text, start, namespace=self.namespace, takes_json=self.takes_json)
        has_brackets = not self.is_list or text.lstrip().startswith("[")
        return reading if has_brackets else _without_brackets(reading)


def _without_brackets(reading: ParseResult) -> ParseResult:
    """The reading of whole calls that should be in brackets and are not; other faults say more than this one."""
    if reading.faults or not reading.complete:
        return reading
    first, last = reading.calls[0].range, reading.calls[-1].range
    edits = (Edit(Range(first.start, first.start), "["), Edit(Range(last.end, last.end), "]"))
    message = "The calls are not in a list: `[` is missing before them, and `]` after them."
    fault = Fault(rules.UNBALANCED_BRACKET, first, message, "Put brackets around them.", Fix(edits, safe=True))
    return reading.recovered(fault)


class _ReadCall(Struct):
    """One call, the cursor's counts after it, and whether its list is not closed: servers parse none of it."""

    call: ToolCall
    breaks: int
    hopeless: int
    is_list_open: bool = False


def read_calls(text: str, base: int = 0, *, namespace: str = "", takes_json: bool = True) -> ParseResult:
    """All calls in `text`, which begins at `base` in the whole text; all ranges are offsets in the whole text.

    There is at least one call, however malformed. `namespace` may precede a tool's name and is not part of it; with a
    namespace, `print` may be around a call. Without `takes_json`, JSON's `true`, `false` and `null` are faults.
    """
    cursor = PythonCursor(text, base=base, namespace=namespace, takes_json=takes_json)
    parsed_calls: list[_ReadCall] = []
    while cursor.skip():
        _lead_in(cursor, parsed_calls)
        is_list = cursor.peek() == "["
        opened, calls_before = cursor.position, len(parsed_calls)
        cursor.position += is_list
        _read_list(cursor, parsed_calls, is_list=is_list)
        if is_list and not cursor.is_cut and cursor.skip() == "]":
            cursor.position += 1
            cursor.skip()
        elif is_list:
            _end_of_list(cursor, parsed_calls[calls_before:], opened)
        _after_calls(cursor, parsed_calls)
        if parsed_calls:
            parsed_calls[-1].breaks, parsed_calls[-1].hopeless = cursor.breaks, cursor.hopeless
    if cursor.is_cut:
        closable = cursor.closable and not cursor.hopeless and bool(parsed_calls)
        cursor.flag(messages.cut(text, cursor.closers if cursor.closable else "", cursor.within, closable=closable))
        if parsed_calls:
            parsed_calls[-1].breaks, parsed_calls[-1].hopeless = cursor.breaks, cursor.hopeless
    if not parsed_calls:
        call = nameless_call(text)
        if not cursor.breaks:
            cursor.flag(messages.only_text(text, call.range))
        parsed_calls.append(_ReadCall(call.moved(base), cursor.breaks, 1))
    faults = tuple(fault.moved(base) for fault in cursor.faults.finished())
    calls, is_open = tuple(_with_validity(parsed_calls)), parsed_calls[-1].is_list_open
    return ParseResult(calls=calls, faults=faults, complete=not cursor.is_cut, open_ended=is_open)


def _with_validity(parsed_calls: list[_ReadCall]) -> list[ToolCall]:
    """The calls with their validity: the faults up to the next call count against a call."""
    calls, breaks, hopeless = [], 0, 0
    for read in parsed_calls:
        call = read.call
        valid = read.breaks == breaks and call.name is not None and not read.is_list_open
        readable = read.hopeless == hopeless and call.name is not None
        breaks, hopeless = read.breaks, read.hopeless
        if valid:
            calls.append(call)
            continue
        arguments = call.arguments if readable else call.raw_arguments
        calls.append(structs.replace(call, arguments=arguments, valid=False, recovered=readable))
    return calls


def _lead_in(cursor: PythonCursor, parsed_calls: list[_ReadCall]) -> None:
    """Skip and report words before the calls."""
    text, start = cursor.text, cursor.position
    if cursor.peek() == "[" or _NAME.match(text, start):
        begin = _CALLS_BEGIN.match(text, start)
        if begin is not None or (cursor.peek() == "[" and not parsed_calls):
            return
    begin = _CALLS_BEGIN.search(text, start)
    if begin is None:
        return
    end = start + len(text[start : begin.start()].rstrip())
    if end > start:
        cursor.flag(messages.extra(text, Range(start, end)))
    cursor.position = begin.start()


def _read_list(cursor: PythonCursor, parsed_calls: list[_ReadCall], *, is_list: bool) -> None:
    """Read consecutive calls, up to what ends them."""
    while (character := cursor.skip()) and character != "]" and not cursor.is_cut:
        printed = _PRINT.match(cursor.text, cursor.position) if cursor.namespace else None
        cursor.position = printed.end() if printed is not None else cursor.position
        match = _CALL.match(cursor.text, cursor.position)
        if match is None:
            if not _no_call(cursor, parsed_calls, is_list=is_list):
                return
        else:
            parsed_calls.append(_read_call(cursor, match, is_list=is_list))
        if printed is not None:
            end = cursor.position
            if cursor.skip() == ")":
                cursor.position += 1
            elif not cursor.is_cut:
                cursor.position = end
                cursor.flag(messages.missing_closer(cursor.text, end, ")"))
        _extra_brackets(cursor, is_list=is_list)
        has_next = _has_next_call(cursor, is_list=is_list)
        parsed_calls[-1].breaks, parsed_calls[-1].hopeless = cursor.breaks, cursor.hopeless
        if not has_next:
            return


def _has_next_call(cursor: PythonCursor, *, is_list: bool) -> bool:
    """Whether another call follows; the cursor moves over the separator."""
    end = cursor.position
    character = cursor.skip()
    if character and character in ",;":
        if character == ";" and is_list:
            cursor.flag(messages.wrong_separator(cursor.text, Range(cursor.position, cursor.position + 1)))
        cursor.position += 1
        return True
    if not _CALL.match(cursor.text, cursor.position):
        return False
    if is_list:
        cursor.flag(messages.missing_comma(cursor.text, end, cursor.position))
    return is_list or "\n" in cursor.text[end : cursor.position]


def _read_call(cursor: PythonCursor, match: re.Match[str], *, is_list: bool) -> _ReadCall:
    text, name, start = cursor.text, match[1], match.start()
    if cursor.namespace and name.startswith(cursor.namespace):
        name = name.removeprefix(cursor.namespace)
    name_range = Range(match.end(1) - len(name), match.end(1))
    if not _DOTTED.fullmatch(name):
        cursor.flag(messages.invalid_name(text, name_range), readable=True)
    cursor.position = match.end()
    arguments = read_arguments(cursor, is_list=is_list)
    call = ToolCall(
        name,
        arguments.members,
        text[arguments.start : arguments.end],
        valid=True,
        range=cursor.since(start).moved(cursor.base),
        name_range=name_range.moved(cursor.base),
        arguments_range=Range(arguments.start, arguments.end).moved(cursor.base),
        parameters=tuple(arguments.parameters.values()),
    )
    return _ReadCall(call, cursor.breaks, cursor.hopeless)


def _extra_brackets(cursor: PythonCursor, *, is_list: bool) -> None:
    """Report surplus brackets after a call; in a list, the last `]` may be the list's own."""
    end = cursor.position
    cursor.skip()
    match = _BRACKETS.match(cursor.text, cursor.position)
    brackets = match[0].rstrip() if match is not None else ""
    if is_list and brackets.endswith("]"):
        brackets = brackets[:-1].rstrip()
    if not brackets or (is_list and brackets[0] == "]"):
        cursor.position = end
        return
    fault_range = Range(cursor.position, cursor.position + len(brackets))
    cursor.position = fault_range.end
    cursor.flag(messages.extra(cursor.text, fault_range))


def _no_call(cursor: PythonCursor, parsed_calls: list[_ReadCall], *, is_list: bool) -> bool:
    """Read what is in a list where a call belongs; it becomes a call without a name. False if no list is open."""
    if not is_list:
        return False
    mark = cursor.mark()
    value = read_expression(cursor, mark.position)
    cursor.undo(mark)
    what = value.range.of(cursor.text)
    is_name = bool(_DOTTED.fullmatch(what))
    if cursor.is_cut and is_name:
        cursor.within = f"the name {shown(what)}"
    else:
        cursor.flag((messages.bare_name if is_name else messages.only_text)(cursor.text, value.range))
    call = ToolCall(None, what, what, valid=False, range=value.range.moved(cursor.base))
    parsed_calls.append(_ReadCall(call, cursor.breaks, cursor.hopeless))
    return True


def _end_of_list(cursor: PythonCursor, parsed_calls: list[_ReadCall], opened: int) -> None:
    """Report a list, whose calls are `parsed_calls`, without its closing bracket."""
    if cursor.is_cut:
        return
    cursor.skip()
    if cursor.position >= len(cursor.text) and not parsed_calls:
        cursor.cut("a list of calls", "]", closable=False)
    elif parsed_calls:
        cursor.flag(messages.missing_closer(cursor.text, parsed_calls[-1].call.range.end - cursor.base, "]"))
        for read in parsed_calls:
            read.is_list_open = True
    elif cursor.position == opened + 1:
        cursor.position = len(cursor.text)


def _after_calls(cursor: PythonCursor, parsed_calls: list[_ReadCall]) -> None:
    """Skip and report what follows the calls, up to where more calls begin."""
    start = cursor.position
    if not cursor.skip() or cursor.is_cut:
        cursor.position = len(cursor.text)
        return
    text = cursor.text
    if "\n" in text[start : cursor.position] and _CALLS_BEGIN.match(text, cursor.position):
        return
    if parsed_calls and cursor.peek() == "[" and _CALLS_BEGIN.match(text, cursor.position):
        cursor.faults.add(messages.second_list(text, Range(cursor.position, cursor.position + 1)))
        return
    following = _NEXT_CALL.search(text, start)
    end = following.start() + 1 if following is not None else len(text)
    stop = cursor.position + len(text[cursor.position : end].rstrip())
    if stop > cursor.position:
        cursor.flag((messages.extra if parsed_calls else messages.only_text)(text, Range(cursor.position, stop)))
    cursor.position = end
