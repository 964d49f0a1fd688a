"""Dialects that consist of a single declaration: calls with parameters in tags.

`dots`: `<invoke name="NAME">` with `<parameter name="KEY">` tags, or a JSON object, in `<dots_function_call>` tags.

Sources: vllm:tests/tool_parsers/test_dots_tool_parser.py, sglang:python/sglang/srt/function_call/dots_detector.py.

`seed_oss`: `<function=NAME>` with `<parameter=KEY>` tags, in `<seed:tool_call>` tags; values are on the tags' line.

Sources: llama.cpp:models/templates/ByteDance-Seed-OSS.jinja, vllm:tests/tool_parsers/test_seed_oss_tool_parser.py.

`glm45`: `<tool_call>NAME`, then `<arg_key>` and `<arg_value>` pairs (GLM-4.5, 4.6; 4.7 without line feeds).

Sources: llama.cpp:models/templates/GLM-4.6.jinja, vllm:tests/tool_parsers/test_glm4_moe_tool_parser.py,
vllm:tests/tool_parsers/test_glm47_moe_tool_parser.py.

`hy_v3`: the pairs of GLM after `<tool_sep>`, in `<tool_calls>` tags; `hy_v4`: without it. Every tag may end with a
suffix. Sources: vllm:tests/tool_parsers/test_hy_v3_tool_parser.py, vllm:vllm/tool_parsers/hy_v4_tool_parser.py,
sglang:python/sglang/srt/function_call/hunyuan_detector.py (the suffix).

`iquest_q1`: the pairs of GLM. Source: sglang:python/sglang/srt/function_call/iquest_q1_detector.py.

`k2_horizon`: pairs, in `<ifm|tool_calls>` tags, maybe with types, or JSON. Sources:
llama.cpp:common/parsers/k2-horizon.cpp, vllm:vllm/parser/k2_horizon.py.

`solar_open2`: Source: vLLM's documentation of the parser `solar_open2`.

`minicpm5`: Sources: llama.cpp:common/parsers/minicpm5.cpp, vllm:vllm/tool_parsers/minicpm5_tool_parser.py.

`step3`: `<steptml:invoke name="NAME">` between special tokens. Sources:
vllm:tests/tool_parsers/test_step3_tool_parser.py, sglang:python/sglang/srt/function_call/step3_detector.py.

`step3p5`: Sources: llama.cpp:models/templates/StepFun3.7-Flash.jinja,
vllm:tests/tool_parsers/test_step3p5_tool_parser.py.
"""

import html
import re

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.diagnostics import Edit
from weaklink.inspector.formats.chat_turns import ROLE_HOMES, last_words, role_tokens, turn_ends
from weaklink.inspector.formats.dialect import Enclosed, ReasoningTag, opening
from weaklink.inspector.formats.edited_text import Slip, read_edited, read_with_slips
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.span_readers import LabelledReader
from weaklink.inspector.formats.xml import tag_families
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.format import CallTemplate, XmlCall, XmlCalls, XmlTags, xml_format
from weaklink.inspector.formats.xml.tag_families import pair_tags
from weaklink.inspector.rules.json_syntax import MALFORMED_PARAMETERS
from weaklink.inspector.rules.markers import WRONG_OPENER
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed, SpanReader
from weaklink.inspector.text import Range


def _tag(name: str) -> Enclosed:
    return Enclosed(f"<{name}>", f"</{name}>")


_DOTS = tag_families.invoke_tags(_tag("dots_function_call"))
DOTS = xml_format(
    replace(
        _DOTS,
        calls=replace(_DOTS.calls, takes_json=True),
        reader=LabelledReader({"tool_call": _DOTS.reader, "json_call": JsonCallReader()}),
    ),
    name="dots",
    summary="<invoke name=NAME> with <parameter name=KEY> tags, in <dots_function_call> tags",
    models=("*dots*",),
    signs=DetectionPatterns(calls={r"<dots_function_call>\s*[<{]": 0.95}, hints={r"</?dots_function_call>": 0.8}),
    turns=turn_ends("<|endofassistant|>", "<|endofresponse|>"),
)
SEED_OSS = xml_format(
    tag_families.function_tags("<seed:tool_call>", "</seed:tool_call>", own_lines=False),
    name="seed_oss",
    summary="<function=NAME> with <parameter=KEY> tags, in <seed:tool_call> tags",
    aliases=("seed",),
    models=("*seed-oss*",),
    signs=DetectionPatterns(
        calls={r"<seed:tool_call>\s*<function=": 0.95}, hints={r"</?seed:(?:tool_call|think)>": 0.8}
    ),
    results=(),
    reasoning=(ReasoningTag("think", "<seed:think>", "</seed:think>"),),
    turns=(opening("<seed:bos>", "turn_header"), *turn_ends("<seed:eos>")),
)
_GLM = pair_tags()
_GLM_READER = tag_families.SharedOpenerReader(
    _GLM.reader,
    "a name and `<arg_key>` pairs",
    (tag_families.FUNCTION_BODY, tag_families.SEPARATED_BODY, tag_families.PYTHON_BODY),
)
_ROLES, _ROLE_STATE = role_tokens("<|", "|>", "system", "user", "assistant", "observation")
GLM45 = xml_format(
    replace(_GLM, reader=_GLM_READER),
    name="glm45",
    summary="<tool_call>NAME with <arg_key> and <arg_value> pairs",
    aliases=("glm", "glm46", "glm47", "glm4_moe", "laguna", "poolside_v1", "ling3", "spark25"),
    models=(
        *("*glm-4.[5-9]*", "*glm-5*", "*glm4-moe*", "*macaron-v1*", "*laguna*", "*ling-3*", "*ling3*", "*ring-2.6*"),
        *("*spark-x2.5*", "*spark2.5*"),
    ),
    signs=DetectionPatterns(
        calls={r"<tool_call>[\w.-]+\s*<arg_key>": 0.95, r"<tool_call>[\w.-]+\s*</tool_call>": 0.9},
        hints={r"</?arg_(?:key|value)>": 0.7, r"<\|observation\|>|\[gMASK\]": 0.5},
    ),
    turns=(*_ROLES, *turn_ends("[gMASK]", "<sop>", "<|role_end|>"), *last_words("</assistant>")),
    turn_states=(_ROLE_STATE,),
)


def _suffixed(separator: str, first: str, line: str) -> XmlTags:
    """The pairs of Hunyuan's models, whose tags end with a suffix of the checkpoint; written calls have `first`."""
    families = [
        pair_tags(
            _tag(f"tool_call{suffix}"),
            _tag(f"arg_key{suffix}"),
            _tag(f"arg_value{suffix}"),
            separator=separator and f"<{separator}{suffix}>",
            wrapper=_tag(f"tool_calls{suffix}"),
            line=line,
            label=f"tool_call{suffix}",
        )
        for suffix in sorted(_SUFFIXES, key=lambda suffix: suffix != first)
    ]
    calls = XmlCalls(tuple(family.call for family in families), tuple(family.calls.wrappers[0] for family in families))
    readers = {
        family.call.label: _SuffixedReader(family.reader, family.call.label.removeprefix("tool_call"))
        for family in families
    }
    return XmlTags(calls, LabelledReader(readers), families[0].writer)


class _SuffixedReader(Struct, frozen=True):
    """A SpanReader for calls whose tags end with one suffix; tags with another one, or none, are a slip."""

    own: SpanReader
    suffix: str

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        return read_with_slips(closed, self.own, self._slip)

    def _slip(self, closed: SpanClosed) -> Slip | None:
        tags = (match for match in _PAIR_TAG.finditer(closed.inner_text) if match[2] != self.suffix)
        edits = tuple(Edit(Range(*match.span(2)), self.suffix) for match in tags)
        message = f"The tags of this call end with different suffixes; its opening tag is `<{closed.span.label}>`."
        hint = "Write the same suffix in every tag."
        return Slip(MALFORMED_PARAMETERS, message, hint, edits) if edits else None


_PAIR_TAG = re.compile(r"<(/?(?:arg_key|arg_value|tool_sep))(:[^\s<>]{1,64}|(?=>))(?=>)")

_SUFFIXES = ("", ":6124c78e", ":opensource")
_SUFFIXED_THINK = tuple(ReasoningTag("think", f"<think{suffix}>", f"</think{suffix}>") for suffix in _SUFFIXES)
HY_V3 = xml_format(
    _suffixed("tool_sep", "", "\n"),
    name="hy_v3",
    summary="<tool_call>NAME<tool_sep> with <arg_key> and <arg_value> pairs, in <tool_calls> tags",
    turns=turn_ends("<|eos|>"),
    aliases=("hunyuan_v3", "hy3"),
    models=("*hy3*", "*hy-v3*", "*hunyuan-3*", "*hunyuan-v3*"),
    signs=DetectionPatterns(
        calls={r"<tool_call(?::[^\s<>]+)?>[^<>\n]+<tool_sep": 0.95}, hints={r"<tool_sep(?::[^\s<>]+)?>": 0.6}
    ),
    reasoning=_SUFFIXED_THINK,
)
HY_V4 = xml_format(
    _suffixed("", ":6124c78e", ""),
    name="hy_v4",
    summary="<tool_call:SUFFIX>NAME with <arg_key:SUFFIX> and <arg_value:SUFFIX> pairs, in <tool_calls:SUFFIX> tags",
    turns=turn_ends("<|eos|>"),
    aliases=("hunyuan_v4", "hy4"),
    models=("*hy4*", "*hy-v4*"),
    signs=DetectionPatterns(
        calls={r"<tool_calls(?::[^\s<>]+)?>\s*<tool_call(?::[^\s<>]+)?>[\w.-]+\s*<(?:arg_key|/tool_call)": 0.96},
        hints={r"<tool_calls?:[^\s<>]+>": 0.6},
    ),
    reasoning=_SUFFIXED_THINK,
)
IQUEST_Q1 = xml_format(
    pair_tags(_tag("iquest_tool_call"), line=""),
    name="iquest_q1",
    summary="<iquest_tool_call>NAME with <arg_key> and <arg_value> pairs",
    models=("*iquest*q1*",),
    signs=DetectionPatterns(calls={r"<iquest_tool_call>": 0.97}, hints={r"<\|iquest_\w+\|>": 0.8}),
    turns=(opening("<|iquest_assistant|>", "turn_end"), *turn_ends("<|iquest_end|>")),
)
_K2 = pair_tags(
    _tag("ifm|tool_call"),
    _tag("ifm|arg_key"),
    _tag("ifm|arg_value"),
    wrapper=_tag("ifm|tool_calls"),
    value_type=_tag("ifm|arg_type"),
)


def _read_k2(closed: SpanClosed) -> ParseResult:
    """Read a call of K2 Horizon: pairs, or a JSON object."""
    return (JsonCallReader() if closed.inner_text.lstrip().startswith("{") else _K2.reader)(closed)


K2_HORIZON = xml_format(
    replace(_K2, reader=_read_k2),
    name="k2_horizon",
    summary="<ifm|tool_call>NAME with <ifm|arg_key> and <ifm|arg_value> pairs, or JSON, in <ifm|tool_calls> tags",
    models=("*k2-horizon*",),
    signs=DetectionPatterns(calls={r"<ifm\|tool_calls?>": 0.97}, hints={r"</?ifm\|": 0.8}),
    reasoning=tuple(
        ReasoningTag("think", f"<ifm|{tag}>", f"</ifm|{tag}>", other_closers=("</ifm|think>",) * (tag != "think"))
        for tag in ("think", "think_fast", "think_faster")
    ),
    turns=(opening("<|ifm|im_start|>", "turn_header"), *turn_ends("<|ifm|im_end|>")),
)
_SOLAR_ROLES, _SOLAR_ROLE = role_tokens("<|im:start|>", "<|im:content|>", "system", "user", "assistant", "tool")
SOLAR_OPEN2 = xml_format(
    pair_tags(
        Enclosed("<|tool_call:start|>", "<|tool_call:end|>"),
        Enclosed("<|tool_arg:start|>"),
        Enclosed("<|tool_arg:value|>", "<|tool_arg:end|>"),
    ),
    name="solar_open2",
    summary="<|tool_call:start|>NAME with <|tool_arg:start|>KEY<|tool_arg:value|> pairs",
    models=("*solar-open2*", "*solar-pro-4*"),
    signs=DetectionPatterns(calls={r"<\|tool_call:start\|>": 0.97}, hints={r"<\|(?:tool_arg|think|im):\w+\|>": 0.8}),
    results=(Enclosed("<|tool_response:start|>", "<|tool_response:end|>"),),
    reasoning=(ReasoningTag("think", "<|think:start|>", "<|think:end|>"),),
    turns=(*_SOLAR_ROLES, *turn_ends("<|im:end|>")),
    turn_states=(_SOLAR_ROLE,),
)
_MINICPM5 = tag_families.invoke_tags(None, anywhere=True, call_tag="function", parameter_tag="param")


def _decoded(value: str) -> str:
    """The text of a value: CDATA as it is; entities of XML decoded unless the value is no XML."""
    data = _CDATA.fullmatch(value)
    if data is not None:
        return data[1]
    return value if _NO_XML.search(value) else html.unescape(value)


_read_minicpm5 = XmlCallReader(_MINICPM5.call.syntax, decode=_decoded)


def _read_minicpm5_call(closed: SpanClosed) -> ParseResult:
    """See SpanReader. The parser reads XML: quotes may be single, and `<arguments>` may be around the parameters."""
    text = closed.inner_text
    variants = _VARIANTS.finditer(text) if "'" in text or "<arguments>" in text else ()
    edits = tuple(Edit(Range(*match.span()), f'"{match[1]}"' if match[1] else "") for match in variants)
    return read_edited(closed, _read_minicpm5, edits) if edits else _read_minicpm5(closed)


_VARIANTS = re.compile(
    r"""
      (?: \A | (?<=<param[ ]name=) ) '([^'"<>\n]+)' (?=>)   # a name in single quotes
    | (?<=[>\s]) <arguments> (?= \s*<param[ ] )             # a tag around the parameters
    | </arguments> (?= \s*\Z )
    """,
    re.VERBOSE,
)
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*?)\]\]>\s*", re.DOTALL)
_NO_XML = re.compile(r"<|&(?!(?:amp|lt|gt|quot|apos);)")
MINICPM5 = xml_format(
    replace(_MINICPM5, reader=_read_minicpm5_call),
    name="minicpm5",
    summary="<function name=NAME> with <param name=KEY> tags, values in CDATA where they have tags",
    models=("*minicpm5*", "*minicpm-5*"),
    signs=DetectionPatterns(
        calls={r'<function name="[^"<>]+">\s*(?:<param name=|</function>)': 0.95}, hints={r"</?param[ >]": 0.6}
    ),
)
_STEP_CALLS = Enclosed("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>")
_STEP_BEGIN, _STEP_SEPARATOR, _STEP_END = "<｜tool_call_begin｜>", "<｜tool_sep｜>", "<｜tool_call_end｜>"
_STEP_OPENER = f"{_STEP_BEGIN}function{_STEP_SEPARATOR}"
_INVOKE_END = "</steptml:invoke>"
_STEP_SYNTAX = replace(
    tag_families.invoke_tags(_STEP_CALLS, "steptml:").call.syntax,
    call_end=_INVOKE_END,
    opener=_STEP_OPENER,
    closer=_STEP_END,
    lead="",
)

_STEP = XmlCalls(
    tuple(XmlCall(opener, _STEP_END, _STEP_SYNTAX, rule=WRONG_OPENER) for opener in (_STEP_OPENER, _STEP_BEGIN)),
    (_STEP_CALLS,),
    between=(_STEP_SEPARATOR,),
)

STEP3P5 = xml_format(
    tag_families.shared_function_tags(between=""),
    name="step3p5",
    summary="as qwen3_coder, with nothing between the calls",
    aliases=("step3.5", "step3.7"),
    models=("*step-3.5*", "*step-3.7*", "*step3p5*"),
    signs=DetectionPatterns(
        calls={r"</function>\s*</tool_call><tool_call>": 0.9}, hints={r"<\|im_start\|>tool_response": 0.8}
    ),
    homes={**ROLE_HOMES, "tool_response": "tool"},
)

_STEP_WRITER = CallTemplate(
    f'{_STEP_OPENER}<steptml:invoke name="{{name}}">\n{{parameters}}{_INVOKE_END}{_STEP_END}',
    '<steptml:parameter name="{name}">{value}</steptml:parameter>\n',
    wrapper=_STEP_CALLS,
)
STEP3 = xml_format(
    XmlTags(_STEP, XmlCallReader(_STEP_SYNTAX), _STEP_WRITER),
    name="step3",
    summary="<steptml:invoke name=NAME> with parameters in tags, within <｜tool_call_begin｜>",
    models=("*step3", "*step-3", "*step3-*"),
    signs=DetectionPatterns(calls={r'<steptml:invoke name="': 0.95}, hints={r"<｜tool_calls_begin｜>": 0.4}),
    turns=turn_ends("<｜end▁of▁sentence｜>", "<|EOT|>"),
)
