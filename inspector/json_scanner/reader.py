"""Reads one JSON value tolerantly, with the trivia (white space, comments) around it: reports faults and continues.

Theory of operation. The innermost `Frame` expects a key, a colon, a value or a comma (`ExpectedToken`); the character
at the cursor decides what it gets. Anything else is a fault with the most likely repair, and the machine continues as
if that repair had been applied: so the values it builds are those of the repaired text. Every step moves the cursor,
changes the expected token or closes a bracket. Nothing is held back, and nesting is bounded by `MAX_DEPTH`.
"""

import re

from weaklink.inspector.json_scanner import brackets, messages, strings, words
from weaklink.inspector.json_scanner.brackets import JsonMachine
from weaklink.inspector.json_scanner.cursor import ExpectedToken, JsonCursor, ValueContext
from weaklink.inspector.json_scanner.messages import comment, escaped_space, unusual_space
from weaklink.inspector.json_scanner.strings import read_bare_key
from weaklink.inspector.json_scanner.truncation import close_all, report_cut_scalar
from weaklink.inspector.json_scanner.values import MAX_DEPTH, JsonKind, JsonNode
from weaklink.inspector.json_scanner.words import run_end
from weaklink.inspector.scanning import end_of_repeats, repeated
from weaklink.inspector.text import Range

_CLOSERS = ("}", "]", ")")
_COLON = re.compile(r":=|=>|=")
_STRAY_QUOTE = re.compile(r"[\"'](?=\s{0,64}(?:[,}\]]|\Z))")  # after a closing bracket
_KEY_FOLLOWS = re.compile(r"""["'“‘][^"'”’\n]{0,100}["'”’]\s*+:|\\"|[\w$][\w$.-]{0,63}["']?\s*+[:=]""")
_SEMICOLON_AT_END = re.compile(r";\s*+(?:[}\])]|\Z)")
_NUMBER_FOLLOWS = re.compile(r"-?\d")

# `(1, 2)` and `("a", x)` are tuples; `(3+4)*2` and `(a + b) / 2` are not.
_NO_TUPLE = re.compile(r"\((?:[-+*/.\d\s()]{1,200}\)|[^(),]{0,200}\)\s*+[-+*/%])")
_DEEP = re.compile(r'"|[\[{]++|[\]}]++')
_COMMENT = re.compile(r"//[^\n]*+|#[^\n]*+|/\*")
_CLOSERS_AT_END = re.compile(r"[\s}\])]*\Z")

# Everything that Unicode calls a space, the byte order mark and zero-width spaces.
_ODD_SPACE = re.compile("[\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]++")
_ESCAPED_SPACE = repeated(r"\\[nrt]")
_PLAIN = frozenset("{}[]\",:'")
_LOOK_BACK = 64


def read_value(machine: JsonMachine) -> JsonNode | None:
    """Read the value at the cursor and move after it; None, without moving, if none begins there."""
    machine.result = None
    _value(machine)
    if machine.cursor.cut and not machine.cursor.frames:
        report_cut_scalar(machine)
    return read_on(machine)


def read_on(machine: JsonMachine) -> JsonNode | None:
    """Read until all brackets are closed; returns the outermost value."""
    while machine.cursor.frames:
        if machine.cursor.faults.hopeless:
            machine.cursor.position = machine.cursor.end
        _step(machine)
    return machine.result


def _step(machine: JsonMachine) -> None:
    cursor, frame = machine.cursor, machine.frame
    skip_trivia(cursor, before_value=frame.next is ExpectedToken.VALUE)
    character = cursor.peek()
    if not character:
        close_all(machine)
        return
    match frame.next:
        case ExpectedToken.KEY:
            _key(machine, character)
        case ExpectedToken.COLON:
            _colon(machine, character)
        case ExpectedToken.VALUE:
            _value_or_sign(machine, character)
        case ExpectedToken.COMMA:
            _comma(machine, character)


def _closer(machine: JsonMachine, character: str) -> None:
    if character == machine.frame.closer:
        machine.close(machine.cursor.position)
    else:
        brackets.mismatched(machine)


def _key(machine: JsonMachine, character: str) -> None:
    cursor, frame = machine.cursor, machine.frame
    position = cursor.position
    if character in _CLOSERS:
        _closer(machine, character)
    elif character in ",;":
        machine.report(messages.extra_comma(position, "a key", safe=True))
        cursor.position += 1
    elif character == ":":
        machine.report(messages.no_key(cursor.text, Range(position, position + 1)))
        frame.key, frame.key_range, frame.next = "", Range(position, position), ExpectedToken.COLON
    elif character in "{[(":
        brackets.bracket_for_key(machine)
    elif strings.opens_string(cursor):
        token = strings.read_string(cursor, ValueContext.KEY)
        if token:
            frame.key, frame.key_range = token.value, token.range
            frame.next = ExpectedToken.KEY if cursor.cut else ExpectedToken.COLON
    else:
        _bare_key(machine)


def _bare_key(machine: JsonMachine) -> None:
    cursor, frame = machine.cursor, machine.frame
    token = read_bare_key(cursor)
    if token:
        frame.key, frame.key_range, frame.next = token.value, token.range, ExpectedToken.COLON
        return
    if _NUMBER_FOLLOWS.match(cursor.text, cursor.position, cursor.end) and brackets.lacks_opening_bracket(machine):
        brackets.gather_into_array(machine)
        return
    start = cursor.position
    end = max(run_end(cursor, start, ValueContext.KEY), start + 1)
    cursor.position = end
    if end == cursor.end:
        machine.report(messages.unexpected(cursor.text, Range(start, end), "a quoted key"))
        return
    machine.report(messages.unexpected(cursor.text, Range(start, end), "a quoted key and a colon"))
    frame.next = ExpectedToken.COMMA


def _colon(machine: JsonMachine, character: str) -> None:
    cursor, frame = machine.cursor, machine.frame
    position = cursor.position
    sign = _COLON.match(cursor.text, position, cursor.end)
    if character == ":" and not sign:
        cursor.position += 1
        frame.next = ExpectedToken.VALUE
    elif sign:
        machine.report(messages.wrong_sign(cursor.text, Range(*sign.span()), ":"))
        cursor.position = sign.end()
        frame.next = ExpectedToken.VALUE
    elif character in ",;" or character in _CLOSERS or _key_follows(machine):
        _without_value(machine)
    else:
        machine.report(messages.missing_colon(cursor.text, frame.key_range, position))
        frame.next = ExpectedToken.VALUE


def _key_follows(machine: JsonMachine) -> bool:
    return bool(_KEY_FOLLOWS.match(machine.cursor.text, machine.cursor.position, machine.cursor.end))


def _without_value(machine: JsonMachine) -> None:
    """Handle a key without a value, unless it is an element of an array whose `[` is missing."""
    cursor, frame = machine.cursor, machine.frame
    if frame.next is ExpectedToken.COLON and cursor.peek() in ",]" and brackets.lacks_opening_bracket(machine):
        key, key_range = frame.key, frame.key_range
        brackets.gather_into_array(machine)
        machine.attach(JsonNode(JsonKind.STRING, key_range, key))
        return
    machine.report(messages.missing_value(cursor.text, frame.key_range, cursor.position))
    machine.attach(JsonNode(JsonKind.OTHER, Range(cursor.position, cursor.position)))


def _value_or_sign(machine: JsonMachine, character: str) -> None:
    """Read the expected value, or a comma, colon or bracket that shows that it is missing."""
    cursor, frame = machine.cursor, machine.frame
    in_object = frame.opener == "{"
    if character in _CLOSERS:
        if in_object:
            _without_value(machine)
        else:
            _closer(machine, character)
    elif character in ",;" and in_object:
        _without_value(machine)
    elif character in ",;":
        machine.report(messages.extra_comma(cursor.position, "an element", safe=False))
        cursor.position += 1
    elif character == ":" and in_object:
        machine.report(messages.extra_colon.at_position(cursor.position, frame.key_range.of(cursor.text)))
        cursor.position += 1
    else:
        _value(machine)
        _nothing_read(machine, frame.next is ExpectedToken.VALUE and frame is machine.frame)


def _nothing_read(machine: JsonMachine, stuck: bool) -> None:  # noqa: FBT001  # the outcome, not an option
    if not stuck:
        return
    cursor = machine.cursor
    machine.report(messages.unexpected(cursor.text, Range(cursor.position, cursor.position + 1), "a value"))
    cursor.position += 1


def _comma(machine: JsonMachine, character: str) -> None:
    cursor, frame = machine.cursor, machine.frame
    position = cursor.position
    if _SEMICOLON_AT_END.match(cursor.text, position, cursor.end):
        machine.report(messages.needless_semicolon.at_position(position, frame.closer))
        cursor.position += 1
    elif character in ",;":
        if character == ";":
            machine.report(messages.wrong_sign(cursor.text, Range(position, position + 1), ","))
        frame.comma, cursor.position = position, position + 1
        frame.next = ExpectedToken.KEY if frame.opener == "{" else ExpectedToken.VALUE
    elif character in _CLOSERS:
        _closer(machine, character)
    elif character == ":":
        brackets.colon_after_value(machine)
    elif cursor.text[position - 1] in "]}" and _STRAY_QUOTE.match(cursor.text, position, cursor.end):
        machine.report(messages.cut_quote(cursor.text, Range(position, position + 1)))
        cursor.position += 1
    elif _begins_next(machine, character):
        insert_at = position if cursor.faults.inserts_at(frame.last_end) else frame.last_end
        machine.report(messages.missing_comma(cursor.text, frame.last, position, insert_at))
        frame.next = ExpectedToken.KEY if frame.opener == "{" else ExpectedToken.VALUE
    else:
        _unexpected_after_value(machine)


def _begins_next(machine: JsonMachine, character: str) -> bool:
    cursor, frame = machine.cursor, machine.frame
    if frame.opener == "{":
        return _key_follows(machine)
    if character in "{[(" or strings.opens_string(cursor):
        return True
    return cursor.text[cursor.position - 1].isspace() and (character.isalnum() or character == "-")


def _unexpected_after_value(machine: JsonMachine) -> None:
    cursor, frame = machine.cursor, machine.frame
    start = cursor.position
    end = max(run_end(cursor, start, frame.context), start + 1)
    cursor.position = end
    expected = f"`,` or `{frame.closer}`"
    if end == start + 1 and cursor.text[start] in "\"'":
        machine.report(messages.cut_quote(cursor.text, Range(start, end)))
    else:
        machine.report(messages.unexpected(cursor.text, Range(start, end), expected))


def _value(machine: JsonMachine) -> None:
    """Read the value at the cursor: attach it if it is whole, or open its bracket."""
    cursor = machine.cursor
    character, context, start = cursor.peek(), cursor.context(), cursor.position
    node: JsonNode | None = None
    if character in "\"'" and words.opens_triple(cursor):
        node = words.read_triple(cursor)
    elif strings.opens_string(cursor):
        node = _string(machine, context)
    elif character == "{" and context is not ValueContext.ROOT and words.opens_placeholder(cursor):
        node = words.read_placeholder(cursor)
    elif character in "{[" or (character == "(" and not _NO_TUPLE.match(cursor.text, start, cursor.end)):
        node = _open(machine, character)
    else:
        node = words.read_word(cursor, context)
    if node:
        machine.attach(node)


def _string(machine: JsonMachine, context: ValueContext) -> JsonNode | None:
    cursor = machine.cursor
    start = cursor.position
    token = strings.read_string(cursor, context)
    if token is None:
        return words.read_run(cursor, start, context)
    return JsonNode(JsonKind.STRING, token.range, token.value)


def _open(machine: JsonMachine, character: str) -> JsonNode | None:
    cursor = machine.cursor
    start = cursor.position
    if len(cursor.frames) >= MAX_DEPTH:
        machine.report(messages.too_deep(start, MAX_DEPTH))
        cursor.position = _deep_end(machine, start)
        return JsonNode(JsonKind.OTHER, Range(start, cursor.position))
    strict = machine.take_strict(start) if character != "(" else None
    if strict:
        return strict
    cursor.position += 1
    if character == "(":
        machine.open("[", start, closer=")", fault=messages.tuple_instead.at_position(start))
    else:
        machine.open(character, start)
    return None


def _deep_end(machine: JsonMachine, start: int) -> int:
    """The end of the bracket at `start`, found by counting brackets outside strings; else the end of the text."""
    cursor, depth, position = machine.cursor, 0, start
    while match := _DEEP.search(cursor.text, position, cursor.end):
        first, length = match[0][0], match.end() - match.start()
        position = match.end()
        if first in "[{":
            depth += length
        elif first in "]}":
            if length >= depth:
                return match.start() + depth
            depth -= length
        else:
            position = max(position, cursor.quotes.find(cursor.text, first, position, cursor.end) + 1)
    return cursor.end


def skip_trivia(cursor: JsonCursor, *, before_value: bool) -> None:
    """Move over white space and comments; reports what JSON does not allow there.

    Before a value, `#` begins a comment only if white space follows: `#fff` is a word there.
    """
    cursor.skip_blank()
    while cursor.peek() and cursor.peek() not in _PLAIN and _skip_other(cursor, before_value=before_value):
        cursor.skip_blank()


def _skip_other(cursor: JsonCursor, *, before_value: bool) -> bool:
    character = cursor.peek()
    if character in "/#":
        return _skip_comment(cursor, before_value=before_value)
    start, repeats, message = cursor.position, _ODD_SPACE, unusual_space
    if character == "\\":
        repeats, message = _ESCAPED_SPACE, escaped_space
    end = end_of_repeats(repeats, cursor.text, start, cursor.end)
    if end == start or (character == "\\" and end < cursor.end and cursor.text[end] == '"'):
        return False
    cursor.position = end
    cursor.faults.add(message(cursor.text, Range(start, end)))
    return True


def _skip_comment(cursor: JsonCursor, *, before_value: bool) -> bool:
    text, start = cursor.text, cursor.position
    match = _COMMENT.match(text, start, cursor.end)
    if not match or (before_value and text[start] == "#" and not text[start + 1 : start + 2].isspace()):
        return False
    end = match.end()
    if match[0] == "/*":
        closed = text.find("*/", end, cursor.end)
        end = cursor.end if closed < 0 else closed + 2
    elif end == cursor.end:
        end = _without_closers(text, start, end)
    cursor.position = end
    cursor.faults.add(comment(text, Range(start, end)))
    return True


def _without_closers(text: str, start: int, end: int) -> int:
    """The end of a comment at the payload's end, without the brackets that close the payload."""
    match = _CLOSERS_AT_END.search(text, max(start + 1, end - _LOOK_BACK), end)
    return match.start() if match else end
