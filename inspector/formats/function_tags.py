"""The calls of Qwen3-Coder and its kin: `<function=NAME>` around `<parameter=KEY>` tags, in a marker of each family.

Models often leave out the marker around the function, or only its beginning.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspector.formats.xml_format import LabelledReader, arguments_of, value_text
from inspector.formats.xml_parameters import XmlCallReader
from inspector.formats.xml_syntax import NAME, XmlSyntax
from inspector.formats.xml_table import XmlCall, XmlCalls
from inspector.model import ToolCall
from inspector.rules.markers import WRONG_OPENER
from inspector.segmenter.ahead import Ahead, Repeat

_BEGINS = "<function="


@dataclass(frozen=True, slots=True)
class FunctionTags:
    """The markers, reader and writer of one family.

    `own_lines` says that values stand on lines of their own; `between` is the text between two calls.
    """

    opener: str
    closer: str
    own_lines: bool = True
    between: str = "\n"

    @property
    def calls(self) -> XmlCalls:
        """The ways to begin a call."""
        own = XmlCall(self.opener, self.closer, self._syntax())
        bare = XmlCall(
            _BEGINS,
            "</function>",
            self._syntax(lead=_BEGINS),
            label="bare_call",
            rule=WRONG_OPENER,
            ahead=Ahead(NAME, ">", Repeat(r"\s"), ("<parameter=", "</function>")),
            tail=self.closer,
            is_drafted=False,
        )
        return XmlCalls((own, bare))

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
            call=Ahead(_BEGINS, NAME, ">"),
            call_begins=_BEGINS,
            shown_call="<function=NAME>",
            call_end="</function>",
            parameter=Ahead("<parameter=", NAME, ">"),
            parameter_begins="<parameter=",
            shown_parameter="<parameter=NAME>",
            parameter_end="</parameter>",
            opener=self.opener,
            closer=self.closer,
            lead=lead,
            own_lines=self.own_lines,
        )
