"""A format as a table of texts: what `weaklink formats --derive` writes, a person corrects, and weaklink reads.

The table says how calls, reasoning and results are marked; the readers are those of the built-in formats. Of `kind`:

* `json`: an object with the tool's name and the arguments, between markers, or an array of such objects.
* `named`: a header with the tool's name (and maybe an id), then the object of arguments.
* `tags`: `<function=NAME>` with a tag for each parameter, or other tags of that form.
* `python`: `[f(a=1)]` between markers.
* `same`: as a built-in format writes them, which is named.

For example, `<tool_call>{"name": "f", "arguments": {}}</tool_call>`:

    name = "my-model"
    [calls]
    kind = "json"
    opener = "<tool_call>"
    closer = "</tool_call>"
    [reasoning]
    opener = "<think>"
    closer = "</think>"
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, structs

from weaklink.inspector.errors import FormatTableError
from weaklink.inspector.formats import chat_turns
from weaklink.inspector.formats.dialect import (
    THINK_TAGS,
    DialectParts,
    Enclosed,
    ReasoningTag,
    Transitions,
    call_state,
    closing,
    dialect_format,
    inside,
    opening,
)
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.json.call_shape import CallKeys, is_json_call, json_of
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import CALL_END, json_format
from weaklink.inspector.formats.json.named_calls import NamedCallReader
from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.python.follower import PYTHON
from weaklink.inspector.formats.python.writing import is_python_call, write_call
from weaklink.inspector.formats.registry import find_format, register_format
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.formats.xml.format import CallTemplate, XmlCall, XmlTags, xml_format
from weaklink.inspector.formats.xml.syntax import NAME, QUOTED_NAME, XmlSyntax
from weaklink.inspector.model import ToolCall
from weaklink.inspector.segmenter.events import JSON, Payload, SpanReader
from weaklink.inspector.segmenter.table import Lookahead, LookaheadPiece, Repeat, State
from weaklink.inspector.text import shared_prefix, shared_suffix

_MARKER_CHARS = 200
_registered: dict[str, "FormatTable"] = {}


class CallTags(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The texts around names and values of a call of kind `tags`.

    `before_name` and `after_name` are around the tool's name, `parameter` and `after_parameter` around a parameter's
    name; `value_end` follows a value, `end` the last value. `after_text_parameter` is in place of `after_parameter` if
    the value is a text and the tags have types. `own_lines` says that a value is on separate lines.
    """

    parameter: str
    after_parameter: str
    value_end: str
    before_name: str = ""
    after_name: str = ""
    after_text_parameter: str = ""
    end: str = ""
    own_lines: bool = False


class CallTable(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How calls are written. Each call is between `opener` and `closer`, all of a reply in `section`.

    `between` is the text between two calls. `header` is the text between opener and arguments of kind `named`, with
    `{name}` and maybe `{id}` and `{index}`. `format` is the built-in format of kind `same`.
    """

    kind: Literal["json", "named", "tags", "python", "same"]
    opener: str = ""
    closer: str = ""
    section: Enclosed = Enclosed()
    between: str = ""
    is_array: bool = False
    keys: CallKeys = CallKeys()
    header: str = ""
    tags: CallTags | None = None
    format: str = ""


class RoleHeaders(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The marker at the beginning of each role's turn; "" where it is one that all formats know."""

    system: str = ""
    user: str = ""
    assistant: str = ""
    tool: str = ""


class FormatTable(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A format as data.

    `prompt_end` is the end of a prompt that matters for what follows it: reasoning that the template itself opens.
    `turn_ends` are the tokens that end a turn. `template` is the file that the table was derived from.
    """

    name: str
    calls: CallTable
    reasoning: Enclosed = Enclosed()
    results: Enclosed = Enclosed()
    roles: RoleHeaders = RoleHeaders()
    turn_ends: tuple[str, ...] = ()
    prompt_end: str = ""
    models: tuple[str, ...] = ()
    template: str = ""


def read_format_table(text: str, origin: str) -> FormatTable:
    """The table in a TOML text. Raises FormatTableError, which names `origin` and the entry."""
    try:
        return msgspec.convert(tomllib.loads(text), FormatTable)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise FormatTableError(f"{origin}: not the table of a format: {error}") from error


def write_format_table(table: FormatTable) -> str:
    """The table as TOML that `read_format_table` reads to an equal one."""
    fields = msgspec.to_builtins(table)
    plain = {key: value for key, value in fields.items() if not isinstance(value, dict)}
    lines = [f"{key} = {_toml(value)}" for key, value in plain.items()]
    for key, value in fields.items():
        if isinstance(value, dict):
            lines += _section(key, value)
    return "\n".join(lines) + "\n"


def _section(path: str, fields: dict[str, object]) -> Iterator[str]:
    if any(not isinstance(value, dict) for value in fields.values()):
        yield f"\n[{path}]"
    for key, value in fields.items():
        if not isinstance(value, dict):
            yield f"{key} = {_toml(value)}"
    for key, value in fields.items():
        if isinstance(value, dict):
            yield from _section(f"{path}.{key}", value)


def _toml(value: object) -> str:
    """A string, boolean or list in TOML, whose basic strings have JSON's escapes (but must escape U+007F)."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def format_of(table: FormatTable) -> Format:
    """The Format that reads and writes what the table describes. Raises FormatTableError if it is inconsistent."""
    problem = next(_problems(table), None)
    if problem is not None:
        raise FormatTableError(f"format `{table.name}`: {problem}")
    if table.calls.kind == "same":
        same = find_format(table.calls.format)
        format = structs.replace(same, name=table.name, aliases=(), models=table.models)
    else:
        format = _FORMATS[table.calls.kind](table)
    try:
        format.new_parser().close()
    except (ValueError, re.error) as error:
        raise FormatTableError(f"format `{table.name}`: its markers contradict each other: {error}") from error
    return format


def register_table(table: FormatTable, origin: str) -> str:
    """Register the format of a table in this process, and return its name. Raises FormatTableError."""
    format = format_of(table)
    try:
        register_format(format)
    except ValueError as error:
        raise FormatTableError(f"{origin}: {error}; choose another name") from error
    _registered[format.name] = table
    return format.name


def registered_tables() -> tuple[FormatTable, ...]:
    """The tables whose formats are registered in this process."""
    return tuple(_registered.values())


def _problems(table: FormatTable) -> Iterator[str]:
    calls = table.calls
    markers = [
        *(calls.opener, calls.closer, calls.section.opener, calls.section.closer, table.reasoning.opener),
        *(table.reasoning.closer, table.results.opener, table.results.closer, *table.turn_ends),
    ]
    if any(len(marker) > _MARKER_CHARS for marker in markers):
        yield f"a marker is longer than {_MARKER_CHARS} characters"
    before_name = calls.tags.before_name if calls.tags is not None else ""
    if calls.kind != "same" and not (calls.opener or calls.section.opener or before_name):
        yield "calls need an `opener` or a `section` with one"
    if calls.kind == "named" and "{name}" not in calls.header:
        yield "`header` needs `{name}`"
    if calls.kind == "tags" and calls.tags is None:
        yield "kind `tags` needs `[calls.tags]`"
    begins, ends = (calls.tags.parameter, calls.tags.value_end) if calls.tags is not None else ("<", "<")
    if not begins or begins[:1] != ends[:1]:
        yield "`parameter` and `value_end` must begin with the same character"
    if calls.kind == "same" and not calls.format:
        yield "kind `same` needs `format`"


# What all kinds share.


def _shared(table: FormatTable, syntax: str, *taken: str, opener: str = "", ids: bool = False) -> DialectParts:
    """What formats of all kinds have: `syntax` is that of the calls, `opener` begins one that has no markers.

    The transitions are those of the table's own turn tokens and, for kinds without wrappers, the section's markers. The
    state of each header leads to the home of its role.
    """
    begins, ends = table.reasoning.opener, table.reasoning.closer
    pairs = (table.reasoning, table.results, _call_marks(table.calls))
    own = {marker for pair in pairs for marker in (pair.opener, pair.closer)}
    known = own | {transition.marker for transition in chat_turns.TURN_TRANSITIONS}
    tokens = dict.fromkeys((*table.turn_ends, *taken))
    roles = {role: header for role, header in structs.asdict(table.roles).items() if header}
    headers = [opening(header, f"header of {role}") for role, header in roles.items() if header not in known]
    known.update(header.marker for header in headers)
    turn_ends = chat_turns.turn_ends(*(token for token in tokens if token and token not in known))
    homes = {role: chat_turns.ROLE_HOMES[role] for role in roles}
    states = (chat_turns.markup_state(f"header of {role}", "turn_header", home) for role, home in homes.items())
    return DialectParts(
        name=table.name,
        summary=f"{syntax}, derived from {table.template or 'a table'}",
        models=table.models,
        signs=DetectionPatterns(calls={re.escape(_call_marks(table.calls).opener or opener): 0.9}),
        results=(table.results,) if table.results.opener else (),
        reasoning=(ReasoningTag("think", begins, ends),) if begins and ends else THINK_TAGS,
        turns=(*headers, *turn_ends),
        turn_states=tuple(states),
        ids=ids,
    )


def _section_marks(calls: CallTable) -> tuple[str, ...]:
    """The section's markers, if each call in it has its own."""
    return (calls.section.opener, calls.section.closer) if calls.opener else ()


def _call_marks(calls: CallTable) -> Enclosed:
    """The markers of a call span: its own, or the section's if one span has all calls."""
    return Enclosed(calls.opener, calls.closer) if calls.opener else calls.section


def _joined(calls: CallTable, texts: Sequence[str]) -> str:
    """The texts of calls in their markers."""
    within = (f"{calls.opener}{text}{calls.closer}" for text in texts)
    joined = calls.between.join(within)
    body = f"[{joined}]" if calls.is_array else joined
    return f"{calls.section.opener}{body}{calls.section.closer}"


# JSON objects.


def _json(table: FormatTable) -> Format:
    calls, keys = table.calls, table.calls.keys

    def written(call: ToolCall) -> str:
        identity = f', "{keys.id}": {json_of(call.id)}' if call.id is not None else ""
        return f'{{"{keys.name}": {json_of(call.name)}, "{keys.arguments}": {json_of(call.arguments)}{identity}}}'

    return json_format(
        calls=(_call_marks(calls),),
        reader=JsonCallReader(
            keys, is_array=calls.is_array, is_row=not calls.opener and not calls.is_array, has_ids=bool(calls.keys.id)
        ),
        write_calls=lambda group: _joined(calls, [written(call) for call in group]) if group else "",
        **_shared(table, "JSON", *_section_marks(calls), ids=True),
    )


# A header, then JSON.


def _named(table: FormatTable) -> Format:
    calls = table.calls
    header = _header(calls.header)
    reader = NamedCallReader(header, f"`{calls.header}` and the object of arguments")
    has_ids = "id" in header.groupindex

    def written(index: int, call: ToolCall) -> str:
        texts = {"name": call.name or "", "id": call.id or "", "index": str(index)}
        return re.sub(r"\{(name|id|index)\}", lambda match: texts[match[1]], calls.header) + json_of(call.arguments)

    def expresses(call: ToolCall) -> bool:
        match = header.match(written(0, call)) if is_json_call(call) else None
        return match is not None and match["name"] == call.name and call.id == (match["id"] if has_ids else None)

    def write_calls(group: Sequence[ToolCall]) -> str:
        return _joined(calls, [written(index, call) for index, call in enumerate(group)]) if group else ""

    return _between_markers(
        table, "a header and JSON", reader, JSON, write_calls=write_calls, expresses=expresses, ids=has_ids
    )


def _between_markers(
    table: FormatTable,
    syntax: str,
    reader: SpanReader,
    payload: Payload,
    *,
    write_calls: Callable[[Sequence[ToolCall]], str],
    expresses: Callable[[ToolCall], bool],
    ids: bool = False,
) -> Format:
    """The format of calls in this syntax between markers, or with the opening one alone."""
    marks, has_header = _call_marks(table.calls), table.calls.kind == "named"
    closers = (marks.closer,) if marks.closer else ()

    def states(transitions: Transitions) -> Iterator[State]:
        others = (transition for transition in transitions.out_of_call if transition.marker != marks.closer)
        leaving, then = (*map(closing, closers), *others), "" if closers else "call end"
        if has_header:
            into_arguments = inside("{", "arguments", width=0)
            yield call_state("call", (into_arguments, *leaving), marks.opener, marks.closer)
        name = "arguments" if has_header else "call"
        yield call_state(name, leaving, marks.opener, marks.closer, payload=payload, then=then)
        if then:
            yield CALL_END

    return dialect_format(
        reader,
        ReasoningReader((marks.opener,), closers),
        calls=(opening(marks.opener, "call"),),
        call_states=states,
        call_closers=closers,
        write_calls=write_calls,
        expresses=expresses,
        **_shared(table, syntax, *(_section_marks(table.calls) if has_header else ()), ids=ids),
    )


def _header(template: str) -> re.Pattern[str]:
    """An expression for a header. White space in it may differ, and an id may be missing with the marker before it."""
    groups = {
        "{name}": r"(?P<name>[^<>{}\[\]|\s]+?)",
        "{index}": r"\d+",
    }
    pattern = ""
    for piece in re.split(r"((?:\[[A-Z_]+\]|<[^<>\s]+>)?\{id\}|\{(?:name|index)\})", template):
        if piece.endswith("{id}"):
            pattern += rf"(?:{re.escape(piece[:-4])}(?P<id>[^<>{{}}\[\]|\s]+?))?"
        else:
            words = re.split(r"\s+|(?=[<\[])|(?<=[>\]])", piece)  # white space may be beside any marker
            pattern += groups.get(piece) or r"\s*".join(map(re.escape, words))
    if template.startswith("functions.{name}:"):  # Kimi's ids, which contain the tool's name
        pattern = re.sub(r"\\d\+", r"\\d+)", f"(?P<id>{pattern}", count=1)
    return re.compile(rf"\s*{pattern}\s*(?=\{{|\Z)")


# Parameters in tags.


def _tags(table: FormatTable) -> Format:
    calls, tags = table.calls, table.calls.tags
    assert tags is not None
    syntax = _syntax(calls, tags)
    opener = calls.opener or tags.before_name
    call = XmlCall(opener, calls.closer or tags.end, syntax)
    wrapper = calls.section if calls.section.opener else None
    line = "\n" if tags.own_lines else ""
    after = tags.after_text_parameter or tags.after_parameter
    lead = f"{calls.opener}{tags.before_name}".replace("{", "{{").replace("}", "}}")
    writer = CallTemplate(
        f"{lead}{{name}}{tags.after_name}{{parameters}}{tags.end}{calls.closer}",
        f"{tags.parameter}{{name}}{after}{line}{{value}}{line}{tags.value_end}",
        calls.between,
        wrapper,
    )
    parts = _shared(table, "parameters in tags", opener=opener)
    return xml_format(XmlTags.of(call, wrapper, writer), **parts)


def _syntax(calls: CallTable, tags: CallTags) -> XmlSyntax:
    opener = calls.opener or tags.before_name
    lead = "" if calls.opener and tags.before_name else opener
    begins = tags.before_name or opener
    named: tuple[LookaheadPiece, ...] = (begins, _name_after(begins), *_flexible(tags.after_name.rstrip()))
    after: tuple[LookaheadPiece, ...] = _flexible(tags.after_parameter)
    kinds: tuple[str, ...] = ("",)
    if tags.after_text_parameter:
        text, other = tags.after_text_parameter, tags.after_parameter
        head = shared_prefix(text, other)
        tail = shared_suffix(text, other, min(len(text), len(other)) - head)
        kinds = tuple(each[head : len(each) - tail] for each in (text, other))
        after = (text[:head], kinds, text[len(text) - tail :])
    has_head = bool(tags.before_name or tags.after_name.strip())
    return XmlSyntax(
        call=Lookahead(*named) if has_head else None,
        call_begins=begins,
        shown_call=f"{begins}NAME{tags.after_name.strip()}",
        call_end=tags.end.strip() if calls.opener and tags.before_name else "",
        parameter=Lookahead(tags.parameter, _name_after(tags.parameter), *after),
        parameter_begins=tags.parameter,
        shown_parameter=f"{tags.parameter}NAME{tags.after_parameter}",
        parameter_end=tags.value_end.strip(),
        opener=opener,
        closer=calls.closer or tags.end.strip(),
        lead=lead if has_head else "",
        own_lines=tags.own_lines,
        anywhere=not tags.own_lines,
        text_type=kinds[0],
    )


def _name_after(begins: str) -> Repeat:
    """A name that follows this text: in quotes it may have the signs of tags."""
    return QUOTED_NAME if begins.endswith('"') else NAME


def _flexible(text: str) -> tuple[LookaheadPiece, ...]:
    """The text as pieces of a lookahead, with any white space where it has some and between its tags."""
    pieces: list[LookaheadPiece] = []
    for piece in re.split(r"(\s+|(?<=>)(?=<))", text):
        if piece or pieces:
            pieces.append(piece if piece.strip() else Repeat(r"\s"))
    return tuple(pieces)


# Python's syntax.


def _python(table: FormatTable) -> Format:
    def write_calls(group: Sequence[ToolCall]) -> str:
        return _joined(table.calls, [write_call(call) for call in group]) if group else ""

    reader = PythonCallReader(takes_json=True)
    syntax = "calls in Python's syntax"
    return _between_markers(table, syntax, reader, PYTHON, write_calls=write_calls, expresses=is_python_call)


_FORMATS = {"json": _json, "named": _named, "tags": _tags, "python": _python}
