"""The calls of Claude and its kin: `<invoke name="NAME">` around `<parameter name="KEY">` tags, in a wrapper.

Each family has its own wrapper, and some a prefix on every tag; DeepSeek's template leaves a line between the tags of a
call without parameters. The wrapper may hold several calls; models that write a
call from memory often leave it out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspector.formats.dialect import Enclosed
from inspector.formats.xml_format import arguments_of, value_text
from inspector.formats.xml_parameters import XmlCallReader
from inspector.formats.xml_syntax import QUOTED_NAME, XmlSyntax
from inspector.formats.xml_table import XmlCall
from inspector.model import Json, ToolCall
from inspector.rules.markers import WRONG_OPENER
from inspector.segmenter.ahead import Ahead, Repeat


@dataclass(frozen=True, slots=True)
class InvokeTags:
    """The tags of one family: `prefix` stands before each tag's name, `label` is that of the calls' spans.

    `is_typed` says that a parameter's tag tells with `string="true"` or `"false"` whether its value is a text or JSON.
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
            ahead=Ahead(QUOTED_NAME, '">', Repeat(r"\s"), "<"),
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
            call=Ahead(begins, QUOTED_NAME, '">'),
            call_begins=begins,
            shown_call=f'{begins}NAME">',
            call_end="",
            parameter=Ahead(parameter, QUOTED_NAME, *typed),
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
