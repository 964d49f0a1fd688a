"""Tag syntaxes that several families share: `<function=NAME>`, `<invoke name=NAME>`, `<arg_key>`, `<tool_call>`.

Models often leave out the marker around the function, or only its beginning.

Each family has its own wrapper, and some a prefix on every tag; DeepSeek's template leaves an empty line between the
tags of a call without parameters. The wrapper may contain several calls; models that write a call from memory often
leave it out.

Hermes and Qwen write a JSON object, Qwen3-Coder and Step `<function=NAME>`, GLM a bare name before `<arg_key>`
(llama.cpp:models/templates; vllm:vllm/tool_parsers). A model that writes the body of another family still names a tool,
but a server with the parser of the model's own family reads no call.
"""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.dialect import Enclosed
from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.span_readers import LabelledReader
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.format import CallTemplate, XmlCall, XmlCalls, XmlTags
from weaklink.inspector.formats.xml.syntax import NAME, QUOTED_NAME, TagSlip, XmlSyntax
from weaklink.inspector.rules.markers import FOREIGN_FORMAT, WRONG_OPENER
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed, SpanReader
from weaklink.inspector.segmenter.table import Lookahead, LookaheadPiece, OneOf, Repeat
from weaklink.inspector.text import Range

_BEGINS = "<function="
OPENER, CLOSER = "<tool_call>", "</tool_call>"
"""The markers around a call."""

_FUNCTION = lazy_pattern(r"\s*(<function=)[^<>\n=]{1,128}(?:>|[ \t]*\n|<)")
_NAME_AND_KEY = lazy_pattern(r"\s*([A-Za-z0-9_.\-]{1,128})\s*<arg_key>")
_TOOL_CALL = Enclosed(OPENER, CLOSER)
_ARG_KEY, _ARG_VALUE = Enclosed("<arg_key>", "</arg_key>"), Enclosed("<arg_value>", "</arg_value>")
_SEPARATOR = "<tool_sep>"
_PLAIN_NAME = Repeat(r"[\w.\-]", 1, 128)
_UNQUOTED = Lookahead(OneOf(("'", _PLAIN_NAME, "'>"), (_PLAIN_NAME, ">")))
_NAME_AND_SEPARATOR = lazy_pattern(r"\s*([A-Za-z0-9_.\-]{1,128}<tool_sep>)")
_PYTHON_CALL = lazy_pattern(r"\s*\[?\s{0,16}([A-Za-z_][\w.]{0,127}\()")

_NO_EQUALS = TagSlip(
    lazy_pattern(r"<(?:function|parameter)([ \t]*:[ \t]*|[ \t]+)[\w.\-]+>"), "=", "{tag} has no `=` before the name"
)
_NAME_IN_TAGS = tuple(
    TagSlip(lazy_pattern(pattern), "", "{part} is beside the bare name of the tool")
    for pattern in (
        r"\A\s*(<(name|function|function_name|tool|tool_name)>\s*)(?=[\w.\-]{1,128}\s{0,8}</\2>)",
        r"\A[^/]{1,256}?[\w.\-](\s{0,8}</(?:name|function|function_name|tool|tool_name)>)(?=\s*(?:<|\Z))",
    )
)


def _open_keys(key: Enclosed, value: Enclosed) -> tuple[TagSlip, ...]:
    """A name before the tag of its value whose closing tag is missing, or is that of a value; or that none opens."""
    name, before = rf"{re.escape(key.opener)}[^<>\n]{{1,128}}", rf"(?=\s{{0,8}}{re.escape(value.opener)})"
    lacks = TagSlip(lazy_pattern(f"{name}(){before}"), key.closer, f"{{tag}} lacks `{key.closer}`")
    other = rf"{name}({re.escape(value.closer)}){before}"
    whole = rf"[\w.\-]{{1,128}}\s{{0,8}}{re.escape(key.closer)}\s{{0,8}}{re.escape(value.opener)}"
    begun = rf"(?:>|\n)\s{{0,8}}(?<!{re.escape(key.opener)})()(?={whole})"
    return (
        lacks,
        TagSlip(lazy_pattern(other), key.closer, "{part} closes a name"),
        TagSlip(lazy_pattern(begun), key.opener, f"`{key.opener}` is missing before a name"),
    )


def function_tags(opener: str, closer: str, *, own_lines: bool = True, between: str = "\n") -> XmlTags:
    """The tags of a family that writes `<function=NAME>` between these markers.

    `own_lines` says that values are on separate lines; `between` is the text between two calls.
    """
    line = "\n" if own_lines else ""
    syntax = XmlSyntax(
        call=Lookahead(_BEGINS, NAME, ">"),
        call_begins=_BEGINS,
        shown_call="<function=NAME>",
        call_end="</function>",
        parameter=Lookahead("<parameter=", NAME, ">"),
        parameter_begins="<parameter=",
        shown_parameter="<parameter=NAME>",
        parameter_end="</parameter>",
        opener=opener,
        closer=closer,
        own_lines=own_lines,
        slips=(_NO_EQUALS,),
    )
    bare_syntax = replace(syntax, lead=_BEGINS)
    bare = XmlCall(
        _BEGINS,
        "</function>",
        bare_syntax,
        label="bare_call",
        rule=WRONG_OPENER,
        ahead=Lookahead(NAME, (">", ""), Repeat(r"\s"), ("<parameter=", "</function>")),
        tail=closer,
        is_drafted=False,
    )
    writer = CallTemplate(
        f"{opener}\n<function={{name}}>\n{{parameters}}</function>\n{closer}",
        f"<parameter={{name}}>{line}{{value}}{line}</parameter>\n",
        between,
    )
    readers = {"tool_call": XmlCallReader(syntax), "bare_call": XmlCallReader(bare_syntax)}
    return XmlTags(XmlCalls((XmlCall(opener, closer, syntax), bare)), LabelledReader(readers), writer)


def pair_tags(
    call: Enclosed = _TOOL_CALL,
    key: Enclosed = _ARG_KEY,
    value: Enclosed = _ARG_VALUE,
    *,
    separator: str = "",
    wrapper: Enclosed | None = None,
    value_type: Enclosed | None = None,
    line: str = "\n",
    label: str = "tool_call",
) -> XmlTags:
    """The tags of a family that writes a bare name, then a key and a value for each argument.

    `call` is around a call, `key` and `value` around the halves of a pair, `wrapper` around all calls; `separator` is
    between the name and the pairs. `value_type` may be around the type of a value, between the halves of a pair.
    `line` is the text between the parts of a call.
    """
    name, space = Repeat(r"[^<>\n]", 1, 128), Repeat(r"\s")
    between: tuple[LookaheadPiece, ...] = (key.closer, space, value.opener)
    kind = ""
    if value_type is not None:
        typed = (value_type.opener, Repeat(r"[^<>\n]", 0, 64), value_type.closer, space, value.opener)
        between = (key.closer, space, OneOf((value.opener,), typed))
        kind = rf"(?:\s*{re.escape(value_type.opener)}[^<>\n]{{0,64}}{re.escape(value_type.closer)})?"
    closes = re.escape(value.closer[1:])
    key_opener, key_closer, value_opener = map(re.escape, (key.opener, key.closer, value.opener))
    pair = rf"{key_opener}([^<>\n]{{1,128}}){key_closer}(?:\s*({key_closer}))?{kind}\s*({value_opener})?"
    syntax = XmlSyntax(
        call=Lookahead(call.opener, name, separator) if separator else None,
        call_begins=call.opener,
        shown_call=f"{call.opener}NAME{separator}",
        call_end="",
        parameter=Lookahead(key.opener, name, *between),
        parameter_begins=key.opener,
        shown_parameter=f"{key.opener}NAME{key.closer}{value.opener}",
        parameter_end=value.closer,
        opener=call.opener,
        closer=call.closer,
        lead=call.opener if separator else "",
        anywhere=True,
        bad_is_empty=True,
        key=lazy_pattern(pair) if key_closer else None,
        slips=(*_NAME_IN_TAGS, *_open_keys(key, value)) if key_closer else _NAME_IN_TAGS,
        bad_tag=rf"[^<>\n]*(?:<(?!{closes})/[\w:|]*>?)?(?:\s*<(?!{closes}|{key_opener[1:]})[\w:|]*>?(?![^<]*</))?",
    )
    writer = CallTemplate(
        f"{call.opener}{{name}}{separator}{line}{{parameters}}{call.closer}",
        f"{key.opener}{{name}}{key.closer}{line * bool(key.closer)}{value.opener}{{value}}{value.closer}{line}",
        line,
        wrapper,
    )
    rule = WRONG_OPENER if wrapper is not None else None
    return XmlTags.of(XmlCall(call.opener, call.closer, syntax, label, rule), wrapper, writer)


class _Family(Struct, frozen=True):
    """The call body of one family: how it begins, the format that writes it, and its reader."""

    begins: re.Pattern[str]
    format: str
    reader: SpanReader


FUNCTION_BODY = _Family(_FUNCTION, "qwen3_coder", function_tags(OPENER, CLOSER).reader)
ARG_KEY_BODY = _Family(_NAME_AND_KEY, "glm45", pair_tags().reader)
_read_separated = pair_tags(separator=_SEPARATOR).reader


def _read_body_with_separator(closed: SpanClosed) -> ParseResult:
    """Read a body with a separator, without leading white space: its reader expects the name right after the marker."""
    span, text = closed.span, closed.inner_text.lstrip()
    inner = Range(span.inner.end - len(text), span.inner.end)
    span = replace(span, inner=inner)
    reading = _read_separated(replace(closed, span=span, inner_text=text))
    calls = (replace(call, range=Range(inner.start, call.range.end)) for call in reading.calls)
    return replace(reading, calls=tuple(calls))


SEPARATED_BODY = _Family(_NAME_AND_SEPARATOR, "hy_v3", _read_body_with_separator)
PYTHON_BODY = _Family(_PYTHON_CALL, "pythonic", PythonCallReader())
"""The bodies that are not JSON; the readers of tag families read a JSON body themselves."""


class SharedOpenerReader(Struct, frozen=True):
    """A SpanReader that passes the body of one of the `others` to its family's reader, and anything else to `own`.

    `expected` describes in words what `own` reads. Calls of another family are `recovered` and not `valid`.
    """

    own: SpanReader
    expected: str
    others: tuple[_Family, ...] = (FUNCTION_BODY, ARG_KEY_BODY, SEPARATED_BODY, PYTHON_BODY)

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        if closed.call is None and closed.span.label == "tool_call":
            for family in self.others:
                begins, name = family.begins.match(closed.inner_text), family.format
                if begins is not None:
                    fault_range = Range(*begins.span(1)).moved(closed.span.inner.start)
                    message = f"The call is written as `{name}` writes it; this format expects {self.expected} here."
                    hint = f"Serve the model with the parser for `{name}`, or with the chat template of this format."
                    return family.reader(closed).recovered(Fault(FOREIGN_FORMAT, fault_range, message, hint))
        return self.own(closed)


def shared_function_tags(between: str = "\n") -> XmlTags:
    """The tags `<function=NAME>` in markers that other families share."""
    tags = function_tags(OPENER, CLOSER, between=between)
    others = (ARG_KEY_BODY, SEPARATED_BODY, PYTHON_BODY)
    return replace(tags, reader=SharedOpenerReader(tags.reader, "`<function=NAME>`", others))


def invoke_tags(
    wrapper: Enclosed | None,
    prefix: str = "",
    label: str = "tool_call",
    *,
    is_typed: bool = False,
    anywhere: bool = False,
    call_tag: str = "invoke",
    parameter_tag: str = "parameter",
) -> XmlTags:
    """The tags of one family: `prefix` is before each tag's name, `label` is the label of the calls' spans.

    `is_typed` says that a parameter's tag has `string="true"` or `"false"` for a value that is a text or JSON.
    `anywhere` is as in XmlSyntax. The tags are named `call_tag` and `parameter_tag`.
    """
    call, parameter = f"{prefix}{call_tag}", f"{prefix}{parameter_tag}"
    begins, parameter_begins = f'<{call} name="', f'<{parameter} name="'
    typed: tuple[str | tuple[str, ...], ...] = ('" string="', ("true", "false"), '">') if is_typed else ('">',)
    unquoted = lazy_pattern(rf"(?:\A|{re.escape(parameter_begins[:-1])})('?([\w.\-]+)'?)(?=>)")
    syntax = XmlSyntax(
        call=Lookahead(begins, QUOTED_NAME, '">'),
        call_begins=begins,
        shown_call=f'{begins}NAME">',
        call_end="",
        parameter=Lookahead(parameter_begins, QUOTED_NAME, *typed),
        parameter_begins=parameter_begins,
        shown_parameter=f'{parameter_begins}NAME"' + (' string="true">' if is_typed else ">"),
        parameter_end=f"</{parameter}>",
        opener=wrapper.opener if wrapper is not None else begins,
        closer=f"</{call}>",
        lead=begins,
        text_type="true" if is_typed else "",
        anywhere=anywhere,
        slips=(
            TagSlip(unquoted, r'"\2"', "The name {part} is not in double quotes"),
            *(_bare_tags(prefix, call_tag, parameter_tag, wrapper) if prefix else ()),
        ),
    )
    kind = ' string="{is_text}"' if is_typed else ""
    writer = CallTemplate(
        f'<{call} name="{{name}}">\n{{parameters}}</{call}>',
        f'<{parameter} name="{{name}}"{kind}>{{value}}</{parameter}>\n',
        wrapper=wrapper,
        empty="\n" * is_typed,
    )
    rule, follows = WRONG_OPENER if wrapper is not None else None, Lookahead(QUOTED_NAME, '">', Repeat(r"\s"), "<")
    return XmlTags.of(XmlCall(begins, f"</{call}>", syntax, label, rule, follows, unquoted=_UNQUOTED), wrapper, writer)


def _bare_tags(prefix: str, call_tag: str, parameter_tag: str, wrapper: Enclosed | None) -> Iterator[TagSlip]:
    """Tags that lack the family's prefix, or its spelling, where the whole ones belong."""
    tag, call = f"{prefix}{parameter_tag}", f"{prefix}{call_tag}"
    words = [parameter_tag, call_tag]
    if wrapper is not None:
        words.append(wrapper.opener.removeprefix(f"<{prefix}").strip("<>"))
    bare, end, *around = (rf"</?(?i:{re.escape(prefix)})?(?i:{re.escape(word)})\s*>" for word in words)
    ends = rf"{end}(?:\s*{around[0]})?" if around else end
    follows = rf"(?=\s*(?:<(?:{re.escape(prefix)})?{parameter_tag} |</?{re.escape(call)}|{end}|\Z))"
    begins = rf"(?:\A\s*<?[^<>]{{1,160}}|{parameter_tag})>\s*(<{parameter_tag} name=)"
    no_closer = "{{part}} is not the closing tag `</{}>`"
    yield TagSlip(lazy_pattern(begins), f"<{tag} name=", f"{{part}} does not begin `<{tag}`")
    closes = lazy_pattern(rf"(?!</{re.escape(tag)}>)({bare}){follows}")
    yield TagSlip(closes, f"</{tag}>", no_closer.format(tag))
    yield TagSlip(lazy_pattern(rf"(?!</{re.escape(call)}>)({ends})\s*\Z"), "", no_closer.format(call))
