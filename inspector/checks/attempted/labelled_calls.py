"""Finds calls without call syntax: a tool's name and then its arguments, after labels, tags or line ends.

`Tool: f` over `Input: {"a": 1}`, `<tool>f</tool><args>{"a": 1}</args>`, `functions.f:0{"a": 1}`, `<f a="1"/>`, YAML.
Before the name, and between it and its arguments, there are only tags, special tokens, punctuation and words such as
`call` or `arguments`; a sentence about a call has other words. Every argument must be a parameter of the tool.

Calls from which a server removed the special tokens look like this too. They are recognised by the text that each
format writes around a name, without its tokens.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from html import unescape

import msgspec
from msgspec import Struct

from weaklink.inspector.checks.attempted import call_shapes
from weaklink.inspector.checks.attempted.attempt import Attempt, Evidence, NamedTool, ReadArguments
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import formats, registered_formats
from weaklink.inspector.json_scanner import read_values
from weaklink.inspector.model import Json, Parameter, ToolCall
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_UNDER_LABELS = "as a name and arguments with labels"
_IN_ATTRIBUTES = "as a tag with attributes"
WITHOUT_TOKENS = "without its special tokens"
NEVER_INLINE = (call_shapes.NAME_BEFORE_OBJECT, _UNDER_LABELS, _IN_ATTRIBUTES)
"""Shapes that do not count within a sentence, where the text after a name may also be the tool's result."""

_BESIDE = "`*: \t"
_MAX_LEAD_CHARS = 80
_MAX_GLUE_CHARS = 120
_MAX_LINE_ENDS = 6  # line ends between a name and its arguments
_MAX_VALUE_CHARS = 2_000

_TOKEN = r"<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>"
_TAG = rf"{_TOKEN}|</?[A-Za-z_][\w:.\-]{{0,40}}(?:\s{{1,4}}[\w\-]{{1,20}}\s?=\s?[\"'])?>?|[\"']\s?/?>"
_SIGN = r"[\s`*\"'“”‘’(\[|]|:(?:\d{1,3}\b)?|=>?|->|→"
_PICTURE = "\u2190-\u2bff\ufe0f\U0001f300-\U0001faff"
_LEAD = lazy_pattern(
    rf"{_TAG}|{_SIGN}|[.@#\-{_PICTURE}]|\d{{1,3}}[.)]|to=|(?:functions?|tools?|default_api)\."
    r"|\b(?:(?:tool|function|action|recipient)(?:[_ ](?:call|name|use))?|calls?|calling|use|using|invoke|invoking"
    r"|execute|executing|run|running|name|commentary|analysis|assistant|the|api)\b",
    re.IGNORECASE,
)
"""One token of what may precede the name of a call on its line: a tag, `1.`, `to=`, `functions.`, `Calling`, `the`."""
_CLAUSE_ENDS = lazy_pattern(r"[:.!?…]\s")
_GLUE = lazy_pattern(
    rf"{_TAG}|{_SIGN}|[,\]\-)]"
    r"|\b(?:with|the|following|these|and|using|(?:tool_|function_|action[_ ])?(?:arguments?|args|parameters?|params"
    r"|inputs?)|kwargs|payload|json|yaml|code|object|message|tool|function|call)\b(?!\s*=)",
    re.IGNORECASE,
)
"""One token of what may be between a name and its arguments: a tag, a comma, `with`, `Action Input`, `args`, `json`."""
_CLOSERS = lazy_pattern(rf"(?:\s{{0,4}}(?:</[A-Za-z_][\w:.\-]{{0,40}}>|{_TOKEN}|`{{3}}|[\])]))*")
_ROLES = lazy_pattern(r"(?:assistant|analysis|commentary|final)+\Z")  # become text without tokens around them
_IS_KEY = lazy_pattern(r"[\"']\s{0,8}:")  # the name is the key of a member
_NUMBER = lazy_pattern(r"\d+")
_OBJECT = lazy_pattern(r"\{\s{0,80}(?:[\"'“]|\w{1,80}\s{0,8}:)")
_CHILD = lazy_pattern(r"<([A-Za-z_][\w\-]{0,127})>")
_PARAMETER = lazy_pattern(
    r"\s*<([\w:]{0,20}(?:parameter|param|argument|arg))\s{1,4}(?:name|key)\s?=\s?[\"']([\w\-]{1,80})[\"'][^<>\n]{0,80}>"
)
"""The opening tag of a parameter: `<parameter name="city">`; groups 1 and 2 are the tag and the name."""
_ATTRIBUTES = lazy_pattern(r"(?:\s{1,80}[\w\-]{1,80}\s?=\s?(?:\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}')){1,30}\s{0,80}/?>")
_ATTRIBUTE = lazy_pattern(r"([\w\-]{1,80})\s?=\s?(?:\"([^\"]*)\"|'([^']*)')")
_LINE = lazy_pattern(
    r"[ \t]*(?:[-*•][ \t]{1,4})?[`*\"']{0,3}(\w[\w\-]{0,80})[`*\"']{0,3}[ \t]?[:=][`*]{0,2}[ \t]{1,8}"
    r"(\S[^\n]*)(?:\n|\Z)"
)
"""An argument on a line of its own: `- **city**: Oslo`; groups 1 and 2 are the name and the value."""
_PAIR = lazy_pattern(
    r"[\s,;]{0,20}(?<![\w\-])(\w[\w\-]{0,80})\s?=\s?(\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|[^\s,;\"'()\[\]{}<>=]{1,2000})"
)
"""An argument among others: `, city="Oslo"`; groups 1 and 2 are the name and the value, with its quotes."""
_LINE_ENDS = lazy_pattern(r"[ \t,;]{0,20}(?:\n|\Z)")
_LABELS_ARGUMENTS = lazy_pattern(r"\b(?:arg\w*|param\w*|input\w*|kwargs|with)\W{0,4}\n", re.IGNORECASE)
_DESCRIBES = lazy_pattern(
    r"(?:(?:an?|the|optional|required|string|integer|number|boolean|array|object|name|list|type|whether)\b)"
    r"|[^\n]*(?:\.|\)|…)\s*\Z",
    re.IGNORECASE,
)
"""A value that describes a parameter instead: `the name of the city`, `integer`, or a sentence with its full stop."""
_SPECIAL = lazy_pattern(
    rf"{_TOKEN}|\[/?[A-Z_]{{3,24}}\]|<(?:start|end)_[a-z_]{{3,30}}>|<escape>|<\|\"\|>|<\|\w{{1,40}}>|<\w{{1,40}}\|>"
)
"""The special tokens of any format: `<|tool_call|>`, `[TOOL_CALLS]`, `<start_function_call>`."""


class _Name(Struct, frozen=True):
    """An occurrence of a tool's name in a text."""

    text: str
    range: Range
    named: NamedTool

    def attempt(self, call_range: Range, whole: Range, shape: str, raw: str, values: dict[str, Json]) -> Attempt:
        """The call in a range; a rewrite replaces the `whole` range."""
        return Attempt(self.named, call_range, whole, shape, raw, ReadArguments(Evidence.STRONG, values, guessed=True))

    def has_other(self, parameter: str, known: Collection[str]) -> bool:
        """Whether this is a parameter of the tool that is not in `known`: a call has each parameter once."""
        return parameter in self.named.properties and parameter not in known

    def knows(self, values: dict[str, Json]) -> bool:
        """Whether there are arguments, and the tool has all of them."""
        return bool(values) and self.named.properties.keys() >= values.keys()


class _BareCall(Struct, frozen=True):
    """What a format writes before a name, and between the name and the arguments, without special tokens."""

    format: str
    lead: str
    glue: str


def may_hold_labels(text: str) -> bool:
    """Whether `text` may hold such a call without a JSON object: a cheap test that most texts fail."""
    return (
        "=" in text
        or ("<" in text and ("</" in text or "/>" in text))
        or (":" in text and (":\n" in text or ":**\n" in text or "call:" in text))
    )


def labelled_calls(
    text: str, names: Iterable[tuple[Range, NamedTool]], brackets: call_shapes.Brackets
) -> Iterator[Attempt]:
    """The calls in `text` with these names, in the order of the names.

    This includes calls within a sentence: their position is judged later.
    """
    end = 0
    for name_range, named in names:
        if name_range.start < end or not named.properties:
            continue
        name = _Name(text, name_range, named)
        attempt = _in_attributes(name) or _after_glue(name, brackets)
        if attempt is not None:
            end = attempt.range.end
            yield attempt


def _in_attributes(name: _Name) -> Attempt | None:
    """`<f a="1"/>`: the arguments are attributes of a tag of the tool's name."""
    text, (start, end) = name.text, (name.range.start, name.range.end)
    written = _ATTRIBUTES.match(text, end) if start and text[start - 1] == "<" else None
    if written is None:
        return None
    parameters = [
        Parameter(match[1], unescape(match[2] or match[3] or ""), Range(*match.span()))
        for match in _ATTRIBUTE.finditer(written[0])
    ]
    values = call_shapes.typed_values(parameters, name.named, written[0])
    if values is None or not name.knows(values):
        return None
    closer = f"</{name.range.of(text)}>"
    last = written.end() + (len(closer) if text.startswith(closer, written.end()) else 0)
    tag_range = Range(start - 1, last)
    return name.attempt(tag_range, tag_range, _IN_ATTRIBUTES, written[0].rstrip("/> ").strip(), values)


def _after_glue(name: _Name, brackets: call_shapes.Brackets) -> Attempt | None:
    """The call whose arguments are an object, tags, pairs or lines after the name, with only labels between them."""
    text, end = name.text, name.range.end
    if text.startswith("(", end) or (_IS_KEY.match(text, end) and text[max(name.range.start - 1, 0)] == text[end]):
        return None
    position, limit = end, min(len(text), end + _MAX_GLUE_CHARS)
    while position < limit and text.count("\n", end, position) <= _MAX_LINE_ENDS:
        attempt = _labelled(name, position, _arguments_at(name, position, brackets))
        between = _GLUE.match(text, position, limit) if attempt is None else None
        if between is None:
            return attempt
        position = between.end()
    return None


def _arguments_at(name: _Name, start: int, brackets: call_shapes.Brackets) -> tuple[dict[str, Json], int] | None:
    """The arguments that begin at `start`, and their end."""
    text, end = name.text, name.range.end
    sign = text[start]
    if sign == "{":
        return _object_at(name, start, brackets) if _OBJECT.match(text, start) else None
    if sign == "<":
        return _tags_at(name, start)
    if start == end:
        return None
    pairs = _pairs_at(name, start) if sign.isalpha() or sign == "_" else None
    if pairs is None and text[start - 1] == "\n" and _LABELS_ARGUMENTS.search(text, end, start):
        return _lines_at(name, start)
    return pairs


def _labelled(name: _Name, start: int, arguments: tuple[dict[str, Json], int] | None) -> Attempt | None:
    """The call with the `arguments` at `start` (with their end); None if the tool does not have them."""
    if arguments is None or not name.knows(arguments[0]):
        return None
    values, end = arguments
    bare = _bare_call(name, start)
    lead = _lead(name)
    if bare is not None:
        shape = f"in the syntax of `{bare.format}` {WITHOUT_TOKENS}"
        roles = _ROLES.search(name.text, max(name.range.start - _MAX_LEAD_CHARS, 0), name.range.start - len(bare.lead))
        lead = max(lead, len(bare.lead) + (len(roles[0]) if roles is not None else 0))
    else:
        shape = _UNDER_LABELS
    closers = _CLOSERS.match(name.text, end)
    whole = Range(name.range.start - lead, end if closers is None else closers.end())
    return name.attempt(Range(name.range.start, end), whole, shape, name.text[start:end].strip(), values)


def _lead(name: _Name) -> int:
    """How many characters before a name on its line belong to the call; 0 if something else is before it."""
    first = max(name.range.start - _MAX_LEAD_CHARS, 0)
    before = name.text[first : name.range.start]
    line = before[before.rfind("\n") + 1 :]
    is_whole = len(line) < len(before) or not first
    starts = (*((0,) if is_whole else ()), *(clause.end() for clause in _CLAUSE_ENDS.finditer(line)))
    return next((len(line[start:].lstrip()) for start in starts if _is_lead(line, start)), 0)


def _is_lead(line: str, position: int) -> bool:
    """Whether everything on a line from `position` on may precede the name of a call."""
    while position < len(line):
        token = _LEAD.match(line, position)
        if token is None:
            return False
        position = token.end()
    return True


def _object_at(name: _Name, start: int, brackets: call_shapes.Brackets) -> tuple[dict[str, Json], int] | None:
    """An object, except directly after a name with nothing before it, which `named_objects` finds."""
    before = name.text[name.range.start - _lead(name) : name.range.start].strip(_BESIDE)
    direct = call_shapes.name_before_object(name.text, start)
    is_direct = direct is not None and direct.start() + 1 == name.range.end
    is_other = before or not is_direct or _bare_call(name, start) is not None
    end = brackets.end(start) if is_other else None
    nodes = read_values(name.text, Range(start, end)) if end is not None else ()
    value = nodes[0].value() if nodes else None
    return (value, end) if isinstance(value, dict) and end is not None else None


def _tags_at(name: _Name, start: int) -> tuple[dict[str, Json], int] | None:
    """The arguments of one tag each, `<a>1</a>` or `<parameter name="a">1</parameter>`, and their end."""
    child = _CHILD.match(name.text, start)
    if child is not None:
        return (
            call_shapes.arguments_in_tags(name.text, start, name.named) if child[1] in name.named.properties else None
        )
    parameters: dict[str, Parameter] = {}
    end = start
    while (opener := _PARAMETER.match(name.text, end)) is not None and name.has_other(opener[2], parameters):
        closer = f"</{opener[1]}>"
        last = name.text.find(closer, opener.end(), opener.end() + _MAX_VALUE_CHARS)
        if last < 0:
            break
        value_range = Range(opener.end(), last)
        parameters[opener[2]] = Parameter(opener[2], value_range.of(name.text), value_range.moved(-start))
        end = last + len(closer)
    return _typed(name, start, end, parameters)


def _pairs_at(name: _Name, start: int) -> tuple[dict[str, Json], int] | None:
    """The arguments `a=1, b="2"` up to the end of a line, and their end."""
    parameters: dict[str, Parameter] = {}
    end = start
    while (pair := _PAIR.match(name.text, end)) is not None and name.has_other(pair[1], parameters):
        parameters[pair[1]] = Parameter(pair[1], _unquoted(pair[2]), Range(*pair.span(2)).moved(-start))
        end = pair.end()
    return _typed(name, start, end, parameters) if _LINE_ENDS.match(name.text, end) else None


def _lines_at(name: _Name, start: int) -> tuple[dict[str, Json], int] | None:
    """The arguments of one line each, and their end; None if a line describes a parameter."""
    parameters: dict[str, Parameter] = {}
    end = last = start
    while (line := _LINE.match(name.text, end)) is not None and name.has_other(line[1], parameters):
        written = line[2].rstrip()
        if len(written) > _MAX_VALUE_CHARS or _DESCRIBES.match(written):
            return None
        parameters[line[1]] = Parameter(line[1], _unquoted(written), Range(*line.span(2)).moved(-start))
        end, last = line.end(), line.end(2)
    return _typed(name, start, last, parameters)


def _typed(
    name: _Name, start: int, end: int, parameters: Mapping[str, Parameter]
) -> tuple[dict[str, Json], int] | None:
    """The values of arguments written from `start` to `end`, and `end`; None if there are none."""
    values = (
        call_shapes.typed_values(tuple(parameters.values()), name.named, name.text[start:end]) if parameters else None
    )
    return None if values is None else (values, end)


def _unquoted(written: str) -> str:
    """A value on a line without the quotes that YAML may put around it."""
    if len(written) < 2 or written[0] != written[-1] or written[0] not in "\"'`":
        return written
    try:
        return msgspec.json.decode(written, type=str)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return written[1:-1]


def _bare_call(name: _Name, start: int) -> _BareCall | None:
    """The format whose calls look like this without special tokens, for arguments that begin at `start`."""
    between = _NUMBER.sub("0", name.text[name.range.end : start])
    for call in _bare_calls(registered_formats()):
        if call.glue == between and name.text.endswith(call.lead, 0, name.range.start):
            return call
    return None


@lru_cache(maxsize=1)
def _bare_calls(registered: tuple[Format, ...]) -> tuple[_BareCall, ...]:
    """For each format with words before a name: the text around the name after special tokens are removed.

    `registered` is only the cache key: a registration changes the formats.
    """
    probe = ToolCall("zq", {"k": "v"}, "", valid=True, range=Range(0, 0))
    calls: list[_BareCall] = []
    for format_ in formats():
        written = format_.write_calls([probe]) if format_.expresses(probe) else ""
        lead, name, rest = _SPECIAL.sub("", written).partition("zq")
        glue, brace, _ = rest.partition("{")
        if name and brace and lead.strip() and "{" not in lead and _SPECIAL.search(written) is not None:
            calls.append(_BareCall(format_.name, lead.lstrip(), glue))
    return tuple(calls)
