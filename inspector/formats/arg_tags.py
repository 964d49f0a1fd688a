"""The calls of GLM and Hy3: a bare name, then `<arg_key>` and `<arg_value>` pairs, within `<tool_call>` tags."""

from inspector.formats.xml_syntax import XmlSyntax
from inspector.segmenter.ahead import Ahead, Repeat

OPENER, CLOSER = "<tool_call>", "</tool_call>"
"""The markers around a call."""


def arg_syntax(*, separator: str = "") -> XmlSyntax:
    """The tags of a call; `separator` stands between the name and the pairs, where the family has one."""
    name = Repeat(r"[^<>\n]", 1, 128)
    return XmlSyntax(
        call=Ahead(OPENER, name, separator) if separator else None,
        call_begins=OPENER,
        shown_call=f"{OPENER}NAME{separator}",
        call_end="",
        parameter=Ahead("<arg_key>", name, "</arg_key>", Repeat(r"\s"), "<arg_value>"),
        parameter_begins="<arg_key>",
        shown_parameter="<arg_key>NAME</arg_key><arg_value>",
        parameter_end="</arg_value>",
        opener=OPENER,
        closer=CLOSER,
        lead=OPENER if separator else "",
        anywhere=True,
        bad_is_empty=True,
        bad_tag=r"[^<>\n]*(?:</[a-z_]*>?)?(?:\s*<[a-z_]*>?(?![^<]*</))?",
    )
