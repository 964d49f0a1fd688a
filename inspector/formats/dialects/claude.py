"""`claude`: `<invoke name="NAME">` with `<parameter name="KEY">` tags; or the API's JSON.

Reads every tag with or without its prefix, and calls whose wrapper is left out or taken from another family, as they
leak into text; also the form of 2023 with `<tool_name>` and `<parameters>`. Values are texts, or JSON if they are lists
or objects; nothing in them is escaped, and no white space is stripped.

Sources: Anthropic's tool-use prompts of 2023 and 2024, langchain-anthropic:experimental.py, the DeepSeek V3.2
template, hermes-agent#35706, claude-code#69258.
"""

import re

from msgspec.structs import replace

from weaklink.inspector.apis.anthropic.located import ClaudeShapes
from weaklink.inspector.formats.api.parser import api_or_text
from weaklink.inspector.formats.dialect import THINK_TAGS, Enclosed, ReasoningTag
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.span_readers import LabelledReader, read_definitions, read_result
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.format import XmlCall, XmlCalls, XmlTags, xml_format
from weaklink.inspector.formats.xml.syntax import NAME, XmlSyntax
from weaklink.inspector.formats.xml.tag_families import invoke_tags
from weaklink.inspector.model import ToolResult
from weaklink.inspector.rules.markers import WRONG_OPENER
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import Lookahead, Repeat
from weaklink.inspector.text import Range

_RESULT = lazy_pattern(r"<(?P<tag>result|error)>(?P<body>.*?)</(?P=tag)>", re.DOTALL)
_NAMED = lazy_pattern(r"\s*<(?:tool_)?name>(?P<name>[^<]*)</(?:tool_)?name>")
_OUTPUT = lazy_pattern(r"\s*<(?P<tag>output|stdout)>(?P<output>.*)</(?P=tag)>\s*\Z", re.DOTALL)

_LEGACY = XmlSyntax(
    call=Lookahead("<tool_name>", NAME, "</tool_name>"),
    call_begins="<tool_name>",
    shown_call="<tool_name>NAME</tool_name>",
    call_end="",
    parameter=Lookahead("<", Repeat(r"[\w.-]", 1, 128), ">"),
    parameter_begins="<",
    shown_parameter="<NAME>",
    parameter_end="</",
    end_tag=Lookahead("</", Repeat(r"[\w.-]", 1, 128), ">"),
    opener="<function_calls>",
    closer="</invoke>",
)

LEGACY = XmlCall(
    "<invoke>", "</invoke>", _LEGACY, "legacy_call", rule=WRONG_OPENER, ahead=Lookahead(Repeat(r"\s"), "<tool_name>")
)
"""A call in the form of 2023: `<tool_name>`, and `<parameters>` around a tag for each parameter."""

_WRAPPING = lazy_pattern(r"</?parameters>")
_PREFIX = "antml:"
_WRAPPER = Enclosed("<function_calls>", "</function_calls>")
_PREFIXED = Enclosed(f"<{_PREFIX}function_calls>", f"</{_PREFIX}function_calls>")
_ALIEN = Enclosed("<tool_calls>", "</tool_calls>")
_TAGS = invoke_tags(_WRAPPER)
_OWN = invoke_tags(_PREFIXED, _PREFIX, label="prefixed_call")

_NO_BRACKET = replace(_OWN.call, opener=_OWN.call.opener[1:], is_drafted=False, unquoted=None)

_CALLS = XmlCalls((_TAGS.call, _OWN.call, _NO_BRACKET, LEGACY), (_WRAPPER, _PREFIXED, _ALIEN))
"""The markers of calls."""

_read_parameters = XmlCallReader(_LEGACY)


def read_claude_results(closed: SpanClosed) -> ParseResult:
    """The results of a span: each `<result>` is one, and may name its tool."""
    results = tuple(_result(match, closed.span.inner.start) for match in _RESULT.finditer(closed.inner_text))
    return ParseResult(results=results, complete=True) if results else read_result(closed)


def _result(match: re.Match[str], start: int) -> ToolResult:
    body, offset = match["body"], match.start("body")
    named = _NAMED.match(body)
    if named is not None:
        body, offset = body[named.end() :], offset + named.end()
    output = _OUTPUT.match(body)
    if output is not None:
        body, offset = output["output"], offset + output.start("output")
    content = body.strip("\r\n")
    offset += body.index(content)
    name = named["name"].strip() if named is not None else None
    is_error = True if match["tag"] == "error" else None
    return ToolResult(content, Range(offset, offset + len(content)).moved(start), None, name, is_error)


def read_claude_tools(closed: SpanClosed) -> ParseResult:
    """The tools of a list, each in a `<function>` tag or on a separate line."""
    text = re.sub(r"</?function>", _blank, closed.inner_text)
    if not text.strip():
        return ParseResult(complete=True)
    return read_definitions(replace(closed, inner_text=text))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


_READER = LabelledReader(
    {
        "tool_call": _TAGS.reader,
        "prefixed_call": _OWN.reader,  # the tag around the parameters of 2023 is skipped
        "legacy_call": lambda closed: _read_parameters(
            replace(closed, inner_text=_WRAPPING.sub(_blank, closed.inner_text))
        ),
    }
)
_TEXT_SIDE = xml_format(
    XmlTags(_CALLS, _READER, _TAGS.writer),
    name="claude",
    summary="<invoke name=NAME> with <parameter name=KEY> tags, in <function_calls> tags",
    aliases=("anthropic",),
    models=("*claude*",),
    signs=DetectionPatterns(
        calls={
            rf"<(?:{_PREFIX})?function_calls>\s*<(?:{_PREFIX})?invoke": 0.95,
            rf'<{_PREFIX}invoke name="': 0.9,
            r'<invoke name="[^"<>]+">': 0.7,
        },
        hints={r"</?function_(?:calls|results)>": 0.5},
    ),
    results=(
        Enclosed("<function_results>", "</function_results>"),
        Enclosed(f"<{_PREFIX}function_results>", f"</{_PREFIX}function_results>"),
    ),
    reasoning=(
        *THINK_TAGS,
        ReasoningTag("thinking", "<thinking>", "</thinking>"),
        ReasoningTag("thinking", f"<{_PREFIX}thinking>", f"</{_PREFIX}thinking>"),
    ),
    definitions=(Enclosed("<functions>", "</functions>"),),
    read_results=read_claude_results,
    read_tools=read_claude_tools,
)

CLAUDE = replace(
    _TEXT_SIDE,
    summary="<invoke name=NAME> with <parameter name=KEY> tags; or the Messages API's JSON",
    new_parser=api_or_text(ClaudeShapes, _TEXT_SIDE.new_parser),
)
