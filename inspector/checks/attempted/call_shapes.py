r"""Finds calls anywhere in text: JSON or Python literals, Python call syntax, tags named like the tool.

Theory of operation. Each search goes from one sign of its shape to the next, and a place with the name of an offered
tool becomes an `Attempt`. With a tool `tide` that has the parameters `port` and `day`:

    json_calls      {"name": "tide", "arguments": {"port": "Oslo"}}   a key of `_NAME_KEYS`, and one of `_ARGUMENT_KEYS`
                    {"tool": "tide", "port": "Oslo"}                  the arguments beside the name
                    {"tide": {"port": "Oslo"}}                        the name as the key
                    ["tide", {"port": "Oslo"}]                        a pair
                    {"calls": ["tide(port='Oslo')"]}                  a wrapper (`_WRAPPERS`), a call in a string
    named_objects   tide {"port": "Oslo"}                             the name before an object
    python_calls    tide(port="Oslo")                                 the name before a parenthesis
    named_lists     [tide, port="Oslo"]
    tag_calls       <tide><port>Oslo</port></tide>

What is only written like a call has the shape too, and the arguments tell them apart (`Evidence`): a signature,
`tide(port: str)`, is none (NONE); names that the tool has, with a literal, are one for certain (STRONG); other names or
a value alone may be one (MEDIUM); a word alone, `tide(port)`, hardly (WEAK).

The parentheses of `tide(note="a) b", list=[1, (2)])` are matched by `Brackets`: `_SHALLOW`, one pattern, for the usual
call of at most two levels, else a stack over `_TOKEN`. All searches of one text share its budget, four times the
text. So hostile nesting takes linear time, and what is left unread then is no attempt. A value that is not closed is
read to the next empty line, at most `_MAX_CUT_VALUES` times.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from weaklink.inspector.checks.attempted.attempt import Attempt, Evidence, Head, NamedTool, ReadArguments, ToolNames
from weaklink.inspector.checks.typed_arguments import typed
from weaklink.inspector.formats.python.calls import read_calls
from weaklink.inspector.json_scanner import JsonKind, JsonNode, is_strict, read_strict_at, read_values
from weaklink.inspector.model import Json, Parameter, ToolCall
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_MAX_BRACKETS_CHARS = 65_536
_TOKEN = lazy_pattern(r"\\.|[\"'()\[\]{}]", re.DOTALL)

_STRINGS = {
    '"': lazy_pattern(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL),
    "'": lazy_pattern(r"'(?:[^'\\\n]|\\.)*'", re.DOTALL),
}

_PLAIN = r"[^\"'()\[\]{}\\]*+"  # neither a quote nor a bracket nor a backslash
_PLAIN_STRING = r"""
    (?: " (?!"")  [^"\\\n]*+ (?: \\[\s\S] [^"\\\n]*+ ){0,30} "   # on one line, with some escapes; not a triple quote
      | (?<![^\W_])                                              # not an apostrophe
        ' (?!'')  [^'\\\n]*+ (?: \\[\s\S] [^'\\\n]*+ ){0,30} ' )
"""
# Strings, but no brackets; and one level of brackets around such texts.
_INNER = rf"{_PLAIN} (?: {_PLAIN_STRING} {_PLAIN} ){{0,30}}"
_NESTED = rf"{_PLAIN} (?: (?: {_PLAIN_STRING} | \( {_INNER} \) | \[ {_INNER} \] | \{{ {_INNER} \}} ) {_PLAIN} ){{0,30}}"
_SHALLOW = lazy_pattern(rf"\( {_NESTED} \) | \[ {_NESTED} \] | \{{ {_NESTED} \}}", re.VERBOSE)
_MAX_SHALLOW_CHARS = 400
_PAIRS = {"(": ")", "[": "]", "{": "}"}

# Where a value may begin: `{"`, `[{`, `{\"`; or a list of a name and arguments: `[tide, port=`, `[tide, {`.
_VALUE_FOLLOWS = r"\s{0,80}(?:[\"'“‘\[{]|\\\")"
_BEGINS = lazy_pattern(rf"[\[{{]{_VALUE_FOLLOWS}")
_OBJECT_BEGINS = lazy_pattern(rf"\{{{_VALUE_FOLLOWS}")
_PAIR_FOLLOWS = r"\s{0,40}([\w\\.\-]{1,160})\s{0,40},\s{0,40}(?=[\w\\]{1,80}\s?=(?!=)|\{)"
_LIST_BEGINS = lazy_pattern(rf"\[(?:{_VALUE_FOLLOWS}|{_PAIR_FOLLOWS})")
_LIST_PAIR = lazy_pattern(rf"\[{_PAIR_FOLLOWS}")
_QUOTED = lazy_pattern(  # a string that may be a tool's name
    r"""
    ["'“‘`]
    ( (?: [\w.\-/] | \\_ ){1,160} )         # Markdown escapes underscores
    (?= ["'”’`] | \\" | \( )                # its end, or the parenthesis of a call in a string
    """,
    re.VERBOSE,
)
_MAX_CUT_CHARS = 16_384
_MAX_CUT_VALUES = 4  # values without an end that are read in one text
_MAX_DEPTH = 4
_NAME_KEYS = (
    "name",
    "tool_name",
    "function_name",
    "tool",
    "function",
    "action",
    "recipient_name",
    "api",
    "method",
    "tool_call",
    "toolName",
)

_ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "kwargs",
    "action_input",
    "tool_input",
    "inputs",
    "tool_args",
    "function_args",
    "toolInput",
    "toolArgs",
)

_WRAPPERS = frozenset(
    [
        "tool_calls",
        "tool_call",
        "function_call",
        "function_calls",
        "function",
        "calls",
        "call",
        "actions",
        "action",
        "tool_uses",
        "tool_use",
        "steps",
    ]
)

_BESIDE = frozenset(("id", "type", "call_id", "tool_call_id", "index", "thought", "reasoning", "description"))
_RESULT_KEYS = frozenset(("content", "result", "results", "output", "response", "observation", "error"))
_MAX_CUT_PYTHON_CHARS = 4_000
_MARKDOWN_ESCAPE = lazy_pattern(r"\\([_*\[\]<>#~&`])")

_SIGNATURE = lazy_pattern(  # what is between the parentheses of a definition, and never of a call
    r"""
    \s*
    (?: \w+\s*:\s*                          # a parameter with its type
        (?: str|int|float|bool|list|dict|tuple|set|bytes|Any|Optional|List|Dict|Union|string|number|boolean
          | object|array|integer|Array|Record|Path|Callable|Literal ) \b
      | self\b | cls\b | \*\w               # a method's first parameter; *args
      | \.\.\. | …                          # left out by the author
      | /\s*, | \w+\s*,\s*\.\.\. )
    """,
    re.VERBOSE,
)

_NAMED = lazy_pattern(r"\s*\w+\s*=(?!=)")
_NAME_BEFORE = lazy_pattern(
    r"""
    \w [`*]{0,3} [ \t]{0,4} :? [`*]{0,3}    # the end of a name, perhaps in Markdown's emphasis: `tide`:
    [ \t]{0,4} \n? [ \t]{0,4}
    ( `{3}(?:json)? [ \t]{0,4} \n )?        # the object may be in a fence of its own
    (\{) \Z
    """,
    re.VERBOSE,
)
_MAX_BEFORE_CHARS = 40  # that `_NAME_BEFORE` matches before the object
_BESIDE_NAME = "`*: \t\n"
_OBJECT = lazy_pattern(r"\{(?=\s{0,16}[\"'])")
NAME_BEFORE_OBJECT = "as its name before a JSON object"
"""The name of the shape that `named_objects` finds."""

_FENCE_END = lazy_pattern(r"\s{0,4}`{3}")
_LITERAL = lazy_pattern(  # an argument that is a value, and no word of a sentence
    r"""
    [rbfu]?["'] | [-+]?\d | [\[{(]          # the beginning of a string, a number, a container
    | (?: True|False|None|true|false|null ) \b
    | <                                     # <placeholder>
    """,
    re.VERBOSE,
)
_WORD = lazy_pattern(r"[A-Za-z_][\w.]*(?:\[[^\]]*\])?\Z")  # a variable, perhaps with an index
_OPENER = lazy_pattern(r"<([A-Za-z_][\w.\-\\]{0,127})>")
_CHILD = lazy_pattern(r"\s*<([A-Za-z_][\w\-]{0,127})>")
_MAX_TAG_CHARS = 16_384


class Brackets:
    """Finds closing brackets in one text; reads at most four times the text in total, whatever its nesting."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = 4 * len(text) + _MAX_BRACKETS_CHARS
        self._trials = len(text)

    def value(self, start: int) -> JsonNode | None:
        """The strict JSON that the bracket at `start` opens, within the limits of `end`; else None."""
        if self._trials <= 0 or self._budget <= 0:
            return None
        node, end = read_strict_at(self._text, start, self._limit(start))
        if node is None:
            self._trials -= end - start
        else:
            self._budget -= end - start
        return node

    def _limit(self, start: int) -> int:
        return min(len(self._text), start + min(_MAX_BRACKETS_CHARS, self._budget))

    def end(self, start: int) -> int | None:
        """The end of what the bracket at `start` opens; None if it is not closed soon, or the budget is used up."""
        text, limit = self._text, self._limit(start)
        shallow = _SHALLOW.match(text, start, min(limit, start + _MAX_SHALLOW_CHARS))
        if shallow is not None:
            self._budget -= shallow.end() - start
            return shallow.end()
        stack: list[str] = []
        position = start
        while (token := _TOKEN.search(text, position, limit)) is not None:
            sign, position = token[0], token.end()
            if sign in _PAIRS:
                stack.append(_PAIRS[sign])
            elif sign in _STRINGS:
                position = self._after_string(sign, token.start(), limit)
            elif sign in ")]}":
                if sign != stack.pop():
                    break
                if not stack:
                    self._budget -= position - start
                    return position
        self._budget -= (limit if token is None else position) - start
        return None

    def _after_string(self, sign: str, start: int, limit: int) -> int:
        """The end of a string from `start` on, or of its quote alone if that is an apostrophe or never closed."""
        text = self._text
        if text.startswith(sign * 3, start):
            end = text.find(sign * 3, start + 3, limit)
            return end + 3 if end >= 0 else start + 3
        if sign == "'" and text[start - 1 : start].isalnum() and start:
            return start + 1
        match = _STRINGS[sign].match(text, start, limit)
        return match.end() if match is not None else start + 1


def may_hold_values(text: str) -> bool:
    """Whether `text` contains the beginning of JSON, or of a list that begins with a name."""
    return ("{" in text and _OBJECT_BEGINS.search(text) is not None) or (
        "[" in text and _LIST_BEGINS.search(text) is not None
    )


class _Payload(Struct):
    """JSON that may contain calls: its text, the tools' names, whether all of it is strict."""

    text: str
    names: ToolNames
    is_strict: bool


def json_calls(text: str, names: ToolNames, brackets: Brackets, taken: Sequence[Range]) -> Iterator[Attempt]:
    """The calls in the JSON of `text`, in order; none begins within a range in `taken`, which are in order."""
    named = [match.start() for match in _QUOTED.finditer(text) if names.find(match[1]) is not None]
    if not named:
        return
    position, ranges = 0, iter(taken)
    skipped = next(ranges, None)
    cuts = 0
    while (begin := _BEGINS.search(text, position, named[-1] + 1)) is not None:
        start = begin.start()
        while skipped is not None and skipped.end <= start:
            skipped = next(ranges, None)
        if skipped is not None and skipped.start <= start:
            position = skipped.end
            continue
        strict = brackets.value(start)
        end = brackets.end(start) if strict is None else strict.range.end
        position = start + 1 if end is None else end
        if end is None:
            cuts += 1
            end = _cut_end(text, start)
            if cuts > _MAX_CUT_VALUES:
                continue
        if bisect_left(named, end) > bisect_left(named, start):
            nodes = (strict,) if strict is not None else read_values(text, Range(start, end), call=True)
            payload = _Payload(text, names, strict is not None)
            attempts = list(_calls(nodes[0], payload, 0)) if nodes else []
            for attempt in attempts:
                attempt.container = Range(start, min(end, max(nodes[0].range.end, attempt.range.end)))
                position = max(position, attempt.range.end)
                yield attempt


def named_objects(text: str, names: ToolNames, brackets: Brackets) -> Iterator[Attempt]:
    """The calls with a tool's name directly before its arguments object, in order: `f {"a": 1}`, `f: {"a": 1}`.

    Every argument must be a parameter of the tool, so that a label before some other object does not count.
    """
    for opener in _OBJECT.finditer(text):
        match = name_before_object(text, opener.start())
        if match is None:
            continue
        before = names.before(text, match.start() + 1)
        end = brackets.end(match.start(2)) if before is not None and before[1].has_schema else None
        if before is None or end is None:
            continue
        start, named = before
        object_range = Range(match.start(2), end)
        nodes = read_values(text, object_range)
        value = nodes[0].value() if nodes else None
        if isinstance(value, dict) and value and named.properties.keys() >= value.keys():
            closing = _FENCE_END.match(text, end) if match[1] else None
            first = len(text[max(start - 3, 0) : start].rstrip("`*")) + max(start - 3, 0)
            whole = Range(first, end if closing is None else closing.end())
            read = ReadArguments(Evidence.STRONG, value, guessed=True)
            yield Attempt(named, Range(start, end), whole, NAME_BEFORE_OBJECT, object_range.of(text), read)


def name_before_object(text: str, start: int) -> re.Match[str] | None:
    """The end of a name directly before the object that begins at `start`, or before the code fence around it."""
    first = max(start - _MAX_BEFORE_CHARS, 0)
    words = text[first:start].rstrip(_BESIDE_NAME)
    before = words.removesuffix("```json").rstrip(_BESIDE_NAME)
    for part in dict.fromkeys((before, words)):
        match = _NAME_BEFORE.match(text, first + len(part) - 1, start + 1) if part else None
        if match is not None:
            return match
    return None


def _cut_end(text: str, start: int) -> int:
    end = text.find("\n\n", start, start + _MAX_CUT_CHARS)
    return end if end >= 0 else min(len(text), start + _MAX_CUT_CHARS)


def _calls(node: JsonNode, payload: _Payload, depth: int) -> Iterator[Attempt]:
    """The calls in a value, each once."""
    if depth > _MAX_DEPTH:
        return
    if node.kind is JsonKind.OBJECT:
        yield from _in_object(node, payload, depth)
    elif node.kind is JsonKind.ARRAY:
        yield from _in_array(node, payload, depth)


def _in_object(node: JsonNode, payload: _Payload, depth: int) -> Iterator[Attempt]:
    attempts = _named_object(node, payload) or _keyed_objects(node, payload)
    if attempts:
        yield from attempts
        return
    for member in node.members:
        if member.key in _WRAPPERS:
            yield from _calls(member.value, payload, depth + 1)


def _in_array(node: JsonNode, payload: _Payload, depth: int) -> Iterator[Attempt]:
    first = node.items[0] if node.items else None
    if first is not None and first.kind is JsonKind.STRING and isinstance(first.scalar, str):
        named = payload.names.find(first.scalar)
        if named is not None and len(node.items) == 2 and node.items[1].kind is JsonKind.OBJECT:
            pair = _with_arguments(named, node, node.items[1], payload, "as a list of name and arguments", guessed=True)
            if pair is not None:
                yield pair
            return
    for item in node.items:
        if item.kind is JsonKind.STRING and isinstance(item.scalar, str):
            inside = call_in_string(item.scalar, payload.names)
            if inside is not None:
                named, attempt = inside
                attempt.range, attempt.shape = item.range, "in Python's syntax within a string"
                arguments = attempt.read()
                if arguments.evidence:
                    attempt.arguments = arguments._replace(evidence=Evidence.STRONG)
                yield attempt
        else:
            yield from _calls(item, payload, depth + 1)


def _named_object(node: JsonNode, payload: _Payload) -> list[Attempt]:
    """The call in an object that has the tool's name under a key."""
    for key in _NAME_KEYS:
        member = node.member(key)
        if member is None or member.value.kind is not JsonKind.STRING or not isinstance(member.value.scalar, str):
            continue
        named = payload.names.find(member.value.scalar)
        if named is None:
            continue
        arguments = next((argument for key in _ARGUMENT_KEYS if (argument := node.member(key)) is not None), None)
        shape = f"as JSON with `{key}`"
        if arguments is not None:
            attempt = _with_arguments(named, node, arguments.value, payload, f"{shape} and `{arguments.key}`")
            return [attempt] if attempt is not None else []
        return _beside_name(named, node, key, payload.text, shape)
    return []


def _beside_name(named: NamedTool, node: JsonNode, key: str, text: str, shape: str) -> list[Attempt]:
    """The call whose arguments are members beside its name; none for the tool's definition, or its result."""
    keys = {member.key for member in node.members}
    others = {member.key: member.value.value() for member in node.members if member.key not in (key, *_BESIDE)}
    is_known = others and named.has_schema and not named.properties.keys().isdisjoint(others)
    if (keys & _RESULT_KEYS or "description" in keys) and not is_known:
        return []
    if others and is_known:
        shape = f"{shape} and its arguments next to it"
        arguments = ReadArguments(Evidence.STRONG, others, guessed=True)
        return [Attempt(named, node.range, node.range, shape, node.range.of(text), arguments)]
    if not others and not named.has_required and len(keys) <= 2:
        arguments = ReadArguments(Evidence.MEDIUM, {}, guessed=True)
        return [Attempt(named, node.range, node.range, shape, "", arguments)]
    return []


def _keyed_objects(node: JsonNode, payload: _Payload) -> list[Attempt]:
    """The calls of `{"f": {...}}`: every key a tool's name, every value its arguments."""
    attempts: list[Attempt] = []
    for member in node.members:
        named = payload.names.find(member.key)
        if named is None or member.value.kind is not JsonKind.OBJECT:
            return []
        call_range = Range(member.key_range.start, member.value.range.end) if len(node.members) > 1 else node.range
        attempt = _with_arguments(named, node, member.value, payload, "as JSON with the tool's name as a key")
        read = attempt.read() if attempt is not None else None
        if attempt is None or read is None or read.evidence is not Evidence.STRONG:
            return []
        if not read.values and named.has_required:
            return []
        attempt.range, attempt.arguments = call_range, read._replace(guessed=True)
        attempts.append(attempt)
    return attempts


def _with_arguments(
    named: NamedTool, node: JsonNode, value: JsonNode, payload: _Payload, shape: str, *, guessed: bool = False
) -> Attempt | None:
    raw = value.range.of(payload.text)
    arguments = _object_of(value)
    if arguments is None:
        words = value.scalar if value.kind is JsonKind.STRING else None
        if not words and value.kind is not JsonKind.NULL:
            return None
        read = ReadArguments(Evidence.MEDIUM, None, guessed=True)
        return Attempt(named, node.range, node.range, shape, raw, read)
    is_schema = isinstance(arguments.get("properties"), dict) and "properties" not in named.properties
    if is_schema or (arguments.get("type") == "object" and "type" not in named.properties):
        return None
    evidence = Evidence.STRONG if not arguments or named.knows(arguments) else Evidence.MEDIUM
    guess = guessed or bool(named.slip) or not (payload.is_strict or is_strict(payload.text, node.range))
    read = ReadArguments(evidence, arguments, guess)
    return Attempt(named, node.range, node.range, shape, raw, read)


def _object_of(node: JsonNode) -> dict[str, Json] | None:
    value = node.value()
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        nodes = read_values(value)
        value = nodes[0].value() if nodes else None
    return value if isinstance(value, dict) else None


def python_calls(text: str, heads: Iterable[Head], brackets: Brackets) -> Iterator[Attempt]:
    """The calls in `text` of a tool's name with arguments in parentheses, in order; `heads` are the names."""
    end = 0
    for start, opening, named in heads:
        if start >= end:
            attempt = _read_at(text, start, opening, named, brackets)
            if attempt is not None:
                end = attempt.range.end
                yield attempt


def named_lists(text: str, names: ToolNames, brackets: Brackets) -> Iterator[Attempt]:
    """The calls `[f, a=1]` in `text`, in order."""
    for match in _LIST_PAIR.finditer(text):
        named = names.find(match[1])
        close = brackets.end(match.start()) if named is not None else None
        if named is not None and close is not None:
            yield _attempt(named, text[match.end() : close - 1], Range(match.start(), close), "as a list")


def call_in_string(text: str, names: ToolNames) -> tuple[NamedTool, Attempt] | None:
    """The call that a whole string consists of; its range counts from the beginning of the string."""
    opening = text.find("(")
    head = names.before(text, opening) if opening > 0 else None
    if head is None or text[: head[0]].strip(" \n`\"'["):
        return None
    attempt = _read_at(text, head[0], opening, head[1], Brackets(text))
    return None if attempt is None else (head[1], attempt)


def _read_at(text: str, start: int, opener: int, named: NamedTool, brackets: Brackets) -> Attempt | None:
    end = brackets.end(opener)
    if end is not None:
        return _attempt(named, text[opener + 1 : end - 1], Range(start, end), "in Python's syntax")
    stop = text.find("\n\n", opener, opener + _MAX_CUT_PYTHON_CHARS)
    stop = stop if stop >= 0 else min(len(text), opener + _MAX_CUT_PYTHON_CHARS)
    inner = text[opener + 1 : stop]
    if not _NAMED.match(inner) or not named.knows([inner.split("=", 1)[0].strip().replace("\\", "")]):
        return None
    end = opener + 1 + len(inner.rstrip())
    attempt = _attempt(named, inner, Range(start, end), "in Python's syntax")
    attempt.arguments = attempt.read()._replace(guessed=True)
    return attempt


def _attempt(named: NamedTool, written: str, call_range: Range, shape: str) -> Attempt:
    return Attempt(named, call_range, call_range, shape, written, partial(_read_arguments, written, named))


def _read_arguments(written: str, named: NamedTool) -> ReadArguments:
    cleaned = _unescaped(written)
    is_slip = cleaned != written or bool(named.slip)
    evidence, arguments, guessed = _arguments(cleaned, named)
    return ReadArguments(evidence, arguments, is_slip or guessed or arguments is None)


def _unescaped(written: str) -> str:
    """The arguments without the backslashes that Markdown puts before its own special characters."""
    if "\\" not in written:
        return written
    plain = _MARKDOWN_ESCAPE.sub(r"\1", written)
    return plain.replace('\\"', '"') if '=\\"' in plain or '{\\"' in plain else plain


def _arguments(written: str, named: NamedTool) -> tuple[Evidence, dict[str, Json] | None, bool]:
    """The evidence that the arguments give, their values if they can be read, and whether that took a guess."""
    if not written.strip():
        return Evidence.EMPTY, {}, False
    if _SIGNATURE.match(written):
        return Evidence.NONE, None, True
    call = read_calls(f"f({written})").calls[0]
    keywords = [parameter for parameter in call.parameters if parameter.name]
    positional = [parameter for parameter in call.parameters if not parameter.name]
    arguments = call.arguments if isinstance(call.arguments, dict) and not positional else None
    guessed = not call.valid
    if positional:
        guessed = True
        arguments = _by_order(positional, keywords, named)
    return _evidence(keywords, positional, arguments, named), arguments, guessed


def _evidence(
    keywords: list[Parameter], positional: list[Parameter], arguments: dict[str, Json] | None, named: NamedTool
) -> Evidence:
    if len(positional) == 1 and not keywords and positional[0].text.startswith("{"):
        is_known = arguments is not None and named.knows(arguments)
        return Evidence.STRONG if is_known else Evidence.MEDIUM
    if not keywords and not positional:
        return Evidence.NONE
    if keywords and named.knows(keyword.name for keyword in keywords):
        has_literal = any(not _WORD.match(keyword.text) or _LITERAL.match(keyword.text) for keyword in keywords)
        return Evidence.STRONG if has_literal else Evidence.MEDIUM
    if keywords:
        return Evidence.MEDIUM
    fits = not named.has_schema or len(positional) <= len(named.properties)
    if fits and any(_LITERAL.match(parameter.text) for parameter in positional):
        return Evidence.MEDIUM
    return Evidence.WEAK if fits and all(_WORD.match(parameter.text) for parameter in positional) else Evidence.NONE


def _by_order(positional: list[Parameter], keywords: list[Parameter], named: NamedTool) -> dict[str, Json] | None:
    """Positional arguments under the schema's parameter names, in its order."""
    if len(positional) == 1 and not keywords and positional[0].text.startswith("{"):
        call = read_calls(f"f(x={positional[0].text})").calls[0]
        value = call.arguments.get("x") if isinstance(call.arguments, dict) else None
        return value if isinstance(value, dict) else None
    order = list(named.properties)
    if len(positional) > len(order):
        return None
    written = [f"{name}={parameter.text}" for name, parameter in zip(order, positional, strict=False)]
    written += (f"{keyword.name}={keyword.text}" for keyword in keywords)
    call = read_calls(f"f({', '.join(written)})").calls[0]
    return call.arguments if isinstance(call.arguments, dict) else None


def tag_calls(text: str, names: ToolNames) -> Iterator[Attempt]:
    """The calls in tags of tools' names, in order."""
    position = 0
    while (opener := _OPENER.search(text, position)) is not None:
        position = opener.end()
        named = names.find(opener[1])
        if named is None:
            continue
        closer = f"</{opener[1]}>"
        end = text.find(closer, position, position + _MAX_TAG_CHARS)
        attempt = None if end < 0 else _attempt_tag_calls(named, text, opener, end, end + len(closer))
        if attempt is not None:
            position = attempt.range.end
            yield attempt


def _attempt_tag_calls(named: NamedTool, text: str, opener: re.Match[str], inner_end: int, end: int) -> Attempt | None:
    inner = text[opener.end() : inner_end]
    arguments = _in_json(inner) if inner.lstrip()[:1] == "{" else _in_tags(inner, named)
    if not arguments or not named.knows(arguments):
        return None
    call_range = Range(opener.start(), end)
    shape = f"in tags `<{opener[1]}>`"
    read = ReadArguments(Evidence.STRONG, arguments, guessed=True)
    return Attempt(named, call_range, call_range, shape, inner.strip(), read)


def _in_json(inner: str) -> dict[str, Json] | None:
    nodes = read_values(inner)
    value = nodes[0].value() if nodes else None
    return value if isinstance(value, dict) else None


def _in_tags(inner: str, named: NamedTool) -> dict[str, Json] | None:
    """The arguments of one tag each; None if there is anything else."""
    read = arguments_in_tags(inner, 0, named)
    return read[0] if read is not None and not inner[read[1] :].strip() else None


def arguments_in_tags(text: str, start: int, named: NamedTool) -> tuple[dict[str, Json], int] | None:
    """The arguments in consecutive tags from `start` on, one tag each, and their end; None if there are none."""
    parameters: list[Parameter] = []
    end = start
    while (child := _CHILD.match(text, end)) is not None:
        closer = f"</{child[1]}>"
        last = text.find(closer, child.end(), child.end() + _MAX_TAG_CHARS)
        if last < 0:
            break
        parameters.append(Parameter(child[1], text[child.end() : last], Range(child.end() - start, last - start)))
        end = last + len(closer)
    values = typed_values(parameters, named, text[start:end]) if parameters else None
    return (values, end) if values is not None else None


def typed_values(parameters: Sequence[Parameter], named: NamedTool, written: str) -> dict[str, Json] | None:
    """The values of arguments written as plain text, by the types of the tool's parameters."""
    arguments: Json = {parameter.name: parameter.text for parameter in parameters}
    whole = Range(0, len(written))
    call = ToolCall(named.name, arguments, written, valid=True, range=whole, parameters=tuple(parameters))
    values = typed(call, named.tool.parameters).call.arguments
    return values if isinstance(values, dict) else None
