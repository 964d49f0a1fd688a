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
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from inspector.diagnostics import Fault
from inspector.formats.dialect import Enclosed
from inspector.formats.python.calls import PythonCallReader
from inspector.formats.xml.calls import XmlCallReader
from inspector.formats.xml.format import LabelledReader, XmlCall, XmlCalls, arguments_of, value_text
from inspector.formats.xml.syntax import NAME, QUOTED_NAME, XmlSyntax
from inspector.model import Json, ToolCall
from inspector.rules.markers import FOREIGN_FORMAT, WRONG_OPENER
from inspector.scanning import lazy_pattern
from inspector.segmenter.events import ParseResult, SpanClosed, SpanReader
from inspector.segmenter.table import Lookahead, Repeat
from inspector.text import Range

_BEGINS = "<function="
OPENER, CLOSER = "<tool_call>", "</tool_call>"
"""The markers around a call."""

_FUNCTION = lazy_pattern(r"\s*(<function=)[^<>\n=]{1,128}(?:>|[ \t]*\n|<)")
_NAME_AND_KEY = lazy_pattern(r"\s*([A-Za-z0-9_.\-]{1,128})\s*<arg_key>")
_KEY = lazy_pattern(r"<arg_key>([^<>\n]{1,128})</arg_key>(?:\s*(</arg_key>))?\s*(<arg_value>)?")
_SEPARATOR = "<tool_sep>"
_NAME_AND_SEPARATOR = lazy_pattern(r"\s*([A-Za-z0-9_.\-]{1,128}<tool_sep>)")
_PYTHON_CALL = lazy_pattern(r"\s*\[?\s{0,16}([A-Za-z_][\w.]{0,127}\()")


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
    def writer(self) -> Callable[[Sequence[ToolCall]], str]:
        """Writes calls as the family's template does."""
        line = "\n" if self.own_lines else ""

        def write_calls(calls: Sequence[ToolCall]) -> str:
            return self.between.join(map(write_call, calls))

        def write_call(call: ToolCall) -> str:
            parameters = (
                f"<parameter={name}>{line}{value_text(value)}{line}</parameter>\n"
                for name, value in arguments_of(call).items()
            )
            return f"{self.opener}\n<function={call.name}>\n{''.join(parameters)}</function>\n{self.closer}"

        return write_calls

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
        )


def arg_syntax(*, separator: str = "") -> XmlSyntax:
    """The tags of a call; `separator` is between the name and the pairs, if the family has one."""
    name = Repeat(r"[^<>\n]", 1, 128)
    return XmlSyntax(
        call=Lookahead(OPENER, name, separator) if separator else None,
        call_begins=OPENER,
        shown_call=f"{OPENER}NAME{separator}",
        call_end="",
        parameter=Lookahead("<arg_key>", name, "</arg_key>", Repeat(r"\s"), "<arg_value>"),
        parameter_begins="<arg_key>",
        shown_parameter="<arg_key>NAME</arg_key><arg_value>",
        parameter_end="</arg_value>",
        opener=OPENER,
        closer=CLOSER,
        lead=OPENER if separator else "",
        anywhere=True,
        bad_is_empty=True,
        key=_KEY,
        headless=r"</arg_key>\s{0,8}<arg_value>",
        bad_tag=r"[^<>\n]*(?:</[a-z_]*>?)?(?:\s*<[a-z_]*>?(?![^<]*</))?",
    )


class _Family(Struct, frozen=True):
    """The call body of one family: how it begins, the format that writes it, and its reader."""

    begins: re.Pattern[str]
    format: str
    reader: SpanReader


FUNCTION_BODY = _Family(_FUNCTION, "qwen3_coder", FunctionTags("<tool_call>", "</tool_call>").reader)
ARG_KEY_BODY = _Family(_NAME_AND_KEY, "glm45", XmlCallReader(arg_syntax()))
_read_separated = XmlCallReader(arg_syntax(separator=_SEPARATOR))


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
        reading = family.reader(closed)
        message = f"The call is written as `{family.format}` writes it; this format expects {self.expected} here."
        hint = f"Serve the model with the parser for `{family.format}`, or with the chat template of this format."
        fault = Fault(FOREIGN_FORMAT, Range(*begins.span(1)).moved(closed.span.inner.start), message, hint)
        calls = tuple(
            msgspec.structs.replace(call, valid=False, recovered=call.valid or call.recovered) for call in reading.calls
        )
        return msgspec.structs.replace(reading, calls=calls, faults=(fault, *reading.faults))


class InvokeTags(Struct, frozen=True):
    """The tags of one family: `prefix` is before each tag's name, `label` is the label of the calls' spans.

    `is_typed` says that a parameter's tag has `string="true"` or `"false"` for a value that is a text or JSON.
    `anywhere` is as in XmlSyntax.
    """

    wrapper: Enclosed
    prefix: str = ""
    label: str = "tool_call"
    is_typed: bool = False
    anywhere: bool = False

    @property
    def call(self) -> XmlCall:
        """The way to begin a call."""
        opener = f'<{self.prefix}invoke name="'
        return XmlCall(
            opener,
            f"</{self.prefix}invoke>",
            self.syntax,
            self.label,
            rule=WRONG_OPENER,
            ahead=Lookahead(QUOTED_NAME, '">', Repeat(r"\s"), "<"),
        )

    @property
    def reader(self) -> XmlCallReader:
        """Reads the spans of calls."""
        return XmlCallReader(self.syntax)

    @property
    def syntax(self) -> XmlSyntax:
        """The tags of a call."""
        prefix = self.prefix
        begins, parameter = f'<{prefix}invoke name="', f'<{prefix}parameter name="'
        typed: tuple[str | tuple[str, ...], ...] = ('" string="', ("true", "false"), '">') if self.is_typed else ('">',)
        return XmlSyntax(
            call=Lookahead(begins, QUOTED_NAME, '">'),
            call_begins=begins,
            shown_call=f'{begins}NAME">',
            call_end="",
            parameter=Lookahead(parameter, QUOTED_NAME, *typed),
            parameter_begins=parameter,
            shown_parameter=f'{parameter}NAME"' + (' string="true">' if self.is_typed else ">"),
            parameter_end=f"</{prefix}parameter>",
            opener=self.wrapper.opener,
            closer=f"</{prefix}invoke>",
            lead=begins,
            text_type="true" if self.is_typed else "",
            anywhere=self.anywhere,
        )

    @property
    def writer(self) -> Callable[[Sequence[ToolCall]], str]:
        """Writes calls as the family's template does, all in one wrapper."""

        def write_calls(calls: Sequence[ToolCall]) -> str:
            return "\n".join((self.wrapper.opener, *map(write_call, calls), self.wrapper.closer))

        def write_call(call: ToolCall) -> str:
            lines = [write_parameter(name, value) for name, value in arguments_of(call).items()]
            if self.is_typed and not lines:
                lines = [""]
            return "\n".join((f'<{self.prefix}invoke name="{call.name}">', *lines, f"</{self.prefix}invoke>"))

        def write_parameter(name: str, value: Json) -> str:
            kind = f' string="{"true" if isinstance(value, str) else "false"}"' if self.is_typed else ""
            tag = f"{self.prefix}parameter"
            return f'<{tag} name="{name}"{kind}>{value_text(value)}</{tag}>'

        return write_calls
