"""`claude`: `<invoke name="NAME">` with `<parameter name="KEY">` tags, in `<function_calls>` tags; or the API's JSON.

Every tag with or without its prefix, the wrapper left out or taken from another family, as it leaks into text; the form
of 2023 with `<tool_name>` and `<parameters>` as well. Values are texts, or JSON where they are lists and objects;
nothing in them is escaped, and no white space is stripped.

Sources: Anthropic's tool-use prompt (2024), langchain-anthropic:experimental.py, hermes-agent#35706, claude-code#69258.
"""

from dataclasses import replace
from types import MappingProxyType

from inspector.formats.api.claude_api import ClaudeShapes
from inspector.formats.api.either import either
from inspector.formats.claude_readings import LEGACY, LegacyCallReader, read_claude_results, read_claude_tools
from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import Signs
from inspector.formats.invoke_tags import InvokeTags
from inspector.formats.reasoning_tags import ReasoningTag
from inspector.formats.xml_format import LabelledReader, xml_format
from inspector.formats.xml_table import XmlCall, XmlCalls
from inspector.rules.markers import WRONG_OPENER

_PREFIX = "antml:"
_WRAPPER = Enclosed("<function_calls>", "</function_calls>")
_PREFIXED = Enclosed(f"<{_PREFIX}function_calls>", f"</{_PREFIX}function_calls>")
_ALIEN = Enclosed("<tool_calls>", "</tool_calls>")
_TAGS = InvokeTags(_WRAPPER)
_OWN = InvokeTags(_PREFIXED, _PREFIX, label="prefixed_call")
_NO_BRACKET = XmlCall(
    _OWN.call.opener[1:],
    _OWN.call.closer,
    _OWN.syntax,
    label="prefixed_call",
    rule=WRONG_OPENER,
    ahead=_OWN.call.ahead,
    is_drafted=False,
)
_CALLS = XmlCalls((_TAGS.call, _OWN.call, _NO_BRACKET, LEGACY), (_WRAPPER, _PREFIXED, _ALIEN))

CLAUDE_CALLS = _CALLS
"""The markers of calls."""
CLAUDE_READER = LabelledReader(
    MappingProxyType({"tool_call": _TAGS.reader, "prefixed_call": _OWN.reader, "legacy_call": LegacyCallReader()})
)
"""Reads the spans of calls."""
CLAUDE_TABLE = dialect_table(
    calls=_CALLS.ways,
    call_states=_CALLS.states,
    call_closers=_CALLS.closers,
    results=(
        Enclosed("<function_results>", "</function_results>"),
        Enclosed(f"<{_PREFIX}function_results>", f"</{_PREFIX}function_results>"),
    ),
    reasoning=(
        ReasoningTag("think", "<think>", "</think>"),
        ReasoningTag("thinking", "<thinking>", "</thinking>"),
        ReasoningTag("thinking", f"<{_PREFIX}thinking>", f"</{_PREFIX}thinking>"),
    ),
    definitions=(Enclosed("<functions>", "</functions>"),),
)
"""The markers of the text side."""

_TEXT_SIDE = xml_format(
    name="claude",
    summary="<invoke name=NAME> with <parameter name=KEY> tags, in <function_calls> tags",
    aliases=("anthropic",),
    models=("*claude*",),
    signs=Signs(
        calls={
            rf"<(?:{_PREFIX})?function_calls>\s*<(?:{_PREFIX})?invoke": 0.95,
            rf'<{_PREFIX}invoke name="': 0.9,
            r'<invoke name="[^"<>]+">': 0.7,
        },
        hints={r"</?function_(?:calls|results)>": 0.5},
    ),
    calls=_CALLS,
    table=CLAUDE_TABLE,
    reader=CLAUDE_READER,
    write_calls=_TAGS.writer,
    read_results=read_claude_results,
    read_tools=read_claude_tools,
)

CLAUDE = replace(
    _TEXT_SIDE,
    summary="<invoke name=NAME> with <parameter name=KEY> tags; or the Messages API's JSON",
    new_parser=either(ClaudeShapes, _TEXT_SIDE.new_parser),
)
