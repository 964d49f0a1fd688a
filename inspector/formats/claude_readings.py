"""Reads what Claude's text holds beside calls of today: the calls of 2023, results in a row, tools in tags.

Sources: Anthropic's tool-use prompts of 2023 and 2024, langchain-anthropic:experimental.py, the DeepSeek V3.2 template.
"""

import re

import msgspec

from inspector.formats.span_readings import read_definitions, read_result
from inspector.formats.xml_parameters import XmlCallReader
from inspector.formats.xml_syntax import NAME, XmlSyntax
from inspector.formats.xml_table import XmlCall
from inspector.model import ToolResult
from inspector.rules.markers import WRONG_OPENER
from inspector.segmenter.ahead import Ahead, Repeat
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading
from inspector.text import Range

_RESULT = re.compile(r"<(?P<tag>result|error)>(?P<body>.*?)</(?P=tag)>", re.DOTALL)
_NAMED = re.compile(r"\s*<(?:tool_)?name>(?P<name>[^<]*)</(?:tool_)?name>")
_OUTPUT = re.compile(r"\s*<(?P<tag>output|stdout)>(?P<output>.*)</(?P=tag)>\s*\Z", re.DOTALL)
_TAG = Repeat(r"[A-Za-z_][\w.-]", 1, 1)
_LEGACY = XmlSyntax(
    call=Ahead("<tool_name>", NAME, "</tool_name>"),
    call_begins="<tool_name>",
    shown_call="<tool_name>NAME</tool_name>",
    call_end="",
    parameter=Ahead("<", Repeat(r"[\w.-]", 1, 128), ">"),
    parameter_begins="<",
    shown_parameter="<NAME>",
    parameter_end="</",
    end_tag=Ahead("</", Repeat(r"[\w.-]", 1, 128), ">"),
    opener="<function_calls>",
    closer="</invoke>",
)
LEGACY = XmlCall(
    "<invoke>", "</invoke>", _LEGACY, "legacy_call", rule=WRONG_OPENER, ahead=Ahead(Repeat(r"\s"), "<tool_name>")
)
"""A call as of 2023: `<tool_name>`, and `<parameters>` around a tag for each parameter."""
_WRAPPING = re.compile(r"</?parameters>")


class LegacyCallReader:
    """A SpanReader for calls of 2023: the tag around the parameters is passed over."""

    def __call__(self, closed: SpanClosed) -> Reading:
        """See SpanReader."""
        return _reader(msgspec.structs.replace(closed, inner_text=_WRAPPING.sub(_blank, closed.inner_text)))


_reader = XmlCallReader(_LEGACY)


def read_claude_results(closed: SpanClosed) -> Reading:
    """The results of a span: each `<result>` is one, and may name its tool."""
    found = tuple(_result(match, closed.span.inner.start) for match in _RESULT.finditer(closed.inner_text))
    return Reading(results=found, complete=True) if found else read_result(closed)


def _result(match: re.Match[str], start: int) -> ToolResult:
    body, at = match["body"], match.start("body")
    named = _NAMED.match(body)
    if named is not None:
        body, at = body[named.end() :], at + named.end()
    output = _OUTPUT.match(body)
    if output is not None:
        body, at = output["output"], at + output.start("output")
    content = body.strip("\r\n")
    at += body.index(content)
    name = named["name"].strip() if named is not None else None
    is_error = True if match["tag"] == "error" else None
    return ToolResult(content, Range(at, at + len(content)).moved(start), None, name, is_error)


def read_claude_tools(closed: SpanClosed) -> Reading:
    """The tools of a list, each in a `<function>` tag or on a line of its own."""
    text = re.sub(r"</?function>", _blank, closed.inner_text)
    if not text.strip():
        return Reading(complete=True)
    return read_definitions(msgspec.structs.replace(closed, inner_text=text))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
