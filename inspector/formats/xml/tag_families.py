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

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.dialect import Enclosed
from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.format import CallTemplate, LabelledReader, XmlCall, XmlCalls
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


class FunctionTags(Struct, frozen=True):
    """The markers, reader and writer of one family.

    `own_lines` says that values are on separate lines; `between` is the text between two calls.
    """

    opener: str
    closer: str
    own_lines: bool = True
    between: str = "\n"

    @property
    def calls(self) -> XmlCalls:
        """The ways to begin a call."""
        tagged = XmlCall(self.opener, self.closer, self._syntax())
        bare = XmlCall(
            _BEGINS,
            "</function>",
            self._syntax(lead=_BEGINS),
            label="bare_call",
            rule=WRONG_OPENER,
            ahead=Lookahead(NAME, (">", ""), Repeat(r"\s"), ("<parameter=", "</function>")),
            tail=self.closer,
            is_drafted=False,
        )
        return XmlCalls((tagged, bare))

    @property
    def reader(self) -> LabelledReader:
        """Reads the spans of calls."""
        return LabelledReader(
            {
                "tool_call": XmlCallReader(self._syntax()),
                "bare_call": XmlCallReader(self._syntax(lead=_BEGINS)),
            }
        )

    @property
    def writer(self) -> CallTemplate:
        """Writes calls as the family's template does."""
        line = "\n" if self.own_lines else ""
        return CallTemplate(
            f"{self.opener}\n<function={{name}}>\n{{parameters}}</function>\n{self.closer}",
            f"<parameter={{name}}>{line}{{value}}{line}</parameter>\n",
            self.between,
        )

    def _syntax(self, lead: str = "") -> XmlSyntax:
        return XmlSyntax(
            call=Lookahead(_BEGINS, NAME, ">"),
            call_begins=_BEGINS,
            shown_call="<function=NAME>",
            call_end="</function>",
            parameter=Lookahead("<parameter=", NAME, ">"),
            parameter_begins="<parameter=",
            shown_parameter="<parameter=NAME>",
            parameter_end="</parameter>",
            opener=self.opener,
            closer=self.closer,
            lead=lead,
            own_lines=self.own_lines,
            slips=(_NO_EQUALS,),
        )


class PairTags(Struct, frozen=True):
    """The markers, reader and writer of a family that writes a bare name, then a key and a value for each argument.

    `call` is around a call, `key` and `value` around the halves of a pair, `wrapper` around all calls; `separator` is
    between the name and the pairs. `type` may be around the type of a value, between the halves of a pair.
    `line` is the text between the parts of a call.
    """

    call: Enclosed = Enclosed(OPENER, CLOSER)
    key: Enclosed = _ARG_KEY
    value: Enclosed = _ARG_VALUE
    separator: str = ""
    wrapper: Enclosed | None = None
    type: Enclosed | None = None
    line: str = "\n"
    label: str = "tool_call"

    @property
    def calls(self) -> XmlCalls:
        """The ways to begin a call."""
        rule = WRONG_OPENER if self.wrapper is not None else None
        wrappers = (self.wrapper,) if self.wrapper is not None else ()
        return XmlCalls((XmlCall(self.call.opener, self.call.closer, self.syntax, self.label, rule),), wrappers)

    @property
    def reader(self) -> XmlCallReader:
        """Reads the spans of calls."""
        return XmlCallReader(self.syntax)

    @property
    def writer(self) -> CallTemplate:
        """Writes calls as the family's template does."""
        key, value, line = self.key, self.value, self.line
        return CallTemplate(
            f"{self.call.opener}{{name}}{self.separator}{line}{{parameters}}{self.call.closer}",
            f"{key.opener}{{name}}{key.closer}{line * bool(key.closer)}{value.opener}{{value}}{value.closer}{line}",
            line,
            self.wrapper,
        )

    @property
    def syntax(self) -> XmlSyntax:
        """The tags of a call."""
        name, opener, value = Repeat(r"[^<>\n]", 1, 128), self.call.opener, self.value.opener
        between: tuple[LookaheadPiece, ...] = (self.key.closer, Repeat(r"\s"), value)
        kind = ""
        if self.type is not None:
            typed = (self.type.opener, Repeat(r"[^<>\n]", 0, 64), self.type.closer, Repeat(r"\s"), value)
            between = (self.key.closer, Repeat(r"\s"), OneOf((value,), typed))
            kind = rf"(?:\s*{re.escape(self.type.opener)}[^<>\n]{{0,64}}{re.escape(self.type.closer)})?"
        closes = re.escape(self.value.closer[1:])
        key_opener, key_closer, value_opener = map(re.escape, (self.key.opener, self.key.closer, value))
        pair = rf"{key_opener}([^<>\n]{{1,128}}){key_closer}(?:\s*({key_closer}))?{kind}\s*({value_opener})?"
        return XmlSyntax(
            call=Lookahead(opener, name, self.separator) if self.separator else None,
            call_begins=opener,
            shown_call=f"{opener}NAME{self.separator}",
            call_end="",
            parameter=Lookahead(self.key.opener, name, *between),
            parameter_begins=self.key.opener,
            shown_parameter=f"{self.key.opener}NAME{self.key.closer}{value}",
            parameter_end=self.value.closer,
            opener=opener,
            closer=self.call.closer,
            lead=opener if self.separator else "",
            anywhere=True,
            bad_is_empty=True,
            key=lazy_pattern(pair) if key_closer else None,
            slips=(*_NAME_IN_TAGS, *_open_keys(self.key, self.value)) if key_closer else _NAME_IN_TAGS,
            bad_tag=rf"[^<>\n]*(?:<(?!{closes})/[\w:|]*>?)?(?:\s*<(?!{closes}|{key_opener[1:]})[\w:|]*>?(?![^<]*</))?",
        )


class _Family(Struct, frozen=True):
    """The call body of one family: how it begins, the format that writes it, and its reader."""

    begins: re.Pattern[str]
    format: str
    reader: SpanReader


FUNCTION_BODY = _Family(_FUNCTION, "qwen3_coder", FunctionTags("<tool_call>", "</tool_call>").reader)
ARG_KEY_BODY = _Family(_NAME_AND_KEY, "glm45", PairTags().reader)
_read_separated = PairTags(separator=_SEPARATOR).reader


def _read_body_with_separator(closed: SpanClosed) -> ParseResult:
    """Read a body with a separator, without leading white space: its reader expects the name right after the marker."""
    span, text = closed.span, closed.inner_text.lstrip()
    inner = Range(span.inner.end - len(text), span.inner.end)
    span = msgspec.structs.replace(span, inner=inner)
    reading = _read_separated(msgspec.structs.replace(closed, span=span, inner_text=text))
    calls = (msgspec.structs.replace(call, range=Range(inner.start, call.range.end)) for call in reading.calls)
    return msgspec.structs.replace(reading, calls=tuple(calls))


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
                begins = family.begins.match(closed.inner_text)
                if begins is not None:
                    return self._read_as(family, begins, closed)
        return self.own(closed)

    def _read_as(self, family: _Family, begins: re.Match[str], closed: SpanClosed) -> ParseResult:
        message = f"The call is written as `{family.format}` writes it; this format expects {self.expected} here."
        hint = f"Serve the model with the parser for `{family.format}`, or with the chat template of this format."
        fault = Fault(FOREIGN_FORMAT, Range(*begins.span(1)).moved(closed.span.inner.start), message, hint)
        return family.reader(closed).recovered(fault)


def shared_function_reader(tags: FunctionTags) -> SharedOpenerReader:
    """The reader of `<function=NAME>` in markers that other families share."""
    return SharedOpenerReader(tags.reader, "`<function=NAME>`", (ARG_KEY_BODY, SEPARATED_BODY, PYTHON_BODY))


class InvokeTags(Struct, frozen=True):
    """The tags of one family: `prefix` is before each tag's name, `label` is the label of the calls' spans.

    `is_typed` says that a parameter's tag has `string="true"` or `"false"` for a value that is a text or JSON.
    `anywhere` is as in XmlSyntax. The tags are named `call_tag` and `parameter_tag`.
    """

    wrapper: Enclosed | None
    prefix: str = ""
    label: str = "tool_call"
    is_typed: bool = False
    anywhere: bool = False
    call_tag: str = "invoke"
    parameter_tag: str = "parameter"

    @property
    def calls(self) -> XmlCalls:
        """The ways to begin a call."""
        return XmlCalls((self.call,), (self.wrapper,) if self.wrapper is not None else ())

    @property
    def call(self) -> XmlCall:
        """The way to begin a call."""
        opener = f'<{self.prefix}{self.call_tag} name="'
        return XmlCall(
            opener,
            f"</{self.prefix}{self.call_tag}>",
            self.syntax,
            self.label,
            rule=WRONG_OPENER if self.wrapper is not None else None,
            ahead=Lookahead(QUOTED_NAME, '">', Repeat(r"\s"), "<"),
            unquoted=_UNQUOTED,
        )

    @property
    def reader(self) -> XmlCallReader:
        """Reads the spans of calls."""
        return XmlCallReader(self.syntax)

    @property
    def syntax(self) -> XmlSyntax:
        """The tags of a call."""
        prefix = self.prefix
        begins, parameter = f'<{prefix}{self.call_tag} name="', f'<{prefix}{self.parameter_tag} name="'
        typed: tuple[str | tuple[str, ...], ...] = ('" string="', ("true", "false"), '">') if self.is_typed else ('">',)
        return XmlSyntax(
            call=Lookahead(begins, QUOTED_NAME, '">'),
            call_begins=begins,
            shown_call=f'{begins}NAME">',
            call_end="",
            parameter=Lookahead(parameter, QUOTED_NAME, *typed),
            parameter_begins=parameter,
            shown_parameter=f'{parameter}NAME"' + (' string="true">' if self.is_typed else ">"),
            parameter_end=f"</{prefix}{self.parameter_tag}>",
            opener=self.wrapper.opener if self.wrapper is not None else begins,
            closer=f"</{prefix}{self.call_tag}>",
            lead=begins,
            text_type="true" if self.is_typed else "",
            anywhere=self.anywhere,
            slips=(
                TagSlip(
                    lazy_pattern(rf"(?:\A|{re.escape(parameter[:-1])})('?([\w.\-]+)'?)(?=>)"),
                    r'"\2"',
                    "The name {part} is not in double quotes",
                ),
                *self._bare_tags(),
            ),
        )

    def _bare_tags(self) -> tuple[TagSlip, ...]:
        """Tags that lack the family's prefix, or its spelling, where the whole ones belong."""
        if not self.prefix:
            return ()
        tag, call = f"{self.prefix}{self.parameter_tag}", f"{self.prefix}{self.call_tag}"
        words = [self.parameter_tag, self.call_tag]
        if self.wrapper is not None:
            words.append(self.wrapper.opener.removeprefix(f"<{self.prefix}").strip("<>"))
        bare, end, *around = (rf"</?(?i:{re.escape(self.prefix)})?(?i:{re.escape(word)})\s*>" for word in words)
        ends = rf"{end}(?:\s*{around[0]})?" if around else end
        follows = rf"(?=\s*(?:<(?:{re.escape(self.prefix)})?{self.parameter_tag} |</?{re.escape(call)}|{end}|\Z))"
        begins = rf"(?:\A\s*<?[^<>]{{1,160}}|{self.parameter_tag})>\s*(<{self.parameter_tag} name=)"
        problem = f"{{part}} is not the closing tag `</{tag}>`"
        return (
            TagSlip(lazy_pattern(begins), f"<{tag} name=", f"{{part}} does not begin `<{tag}`"),
            TagSlip(lazy_pattern(rf"(?!</{re.escape(tag)}>)({bare}){follows}"), f"</{tag}>", problem),
            TagSlip(
                lazy_pattern(rf"(?!</{re.escape(call)}>)({ends})\s*\Z"),
                "",
                f"{{part}} is not the closing tag `</{call}>`",
            ),
        )

    @property
    def writer(self) -> CallTemplate:
        """Writes calls as the family's template does."""
        tag, parameter = f"{self.prefix}{self.call_tag}", f"{self.prefix}{self.parameter_tag}"
        kind = ' string="{is_text}"' if self.is_typed else ""
        return CallTemplate(
            f'<{tag} name="{{name}}">\n{{parameters}}</{tag}>',
            f'<{parameter} name="{{name}}"{kind}>{{value}}</{parameter}>\n',
            wrapper=self.wrapper,
            empty="\n" * self.is_typed,
        )
