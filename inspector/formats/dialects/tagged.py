"""Dialects that consist of a single declaration: calls with parameters in tags.

`dots`: `<invoke name="NAME">` with `<parameter name="KEY">` tags, or a JSON object, in `<dots_function_call>` tags.

Sources: vllm:tests/tool_parsers/test_dots_tool_parser.py, sglang:python/sglang/srt/function_call/dots_detector.py.

`seed_oss`: `<function=NAME>` with `<parameter=KEY>` tags, in `<seed:tool_call>` tags; values are on the tags' line.

Sources: llama.cpp:models/templates/ByteDance-Seed-OSS.jinja, vllm:tests/tool_parsers/test_seed_oss_tool_parser.py.

`glm45`: `<tool_call>NAME`, then `<arg_key>` and `<arg_value>` pairs (GLM-4.5, 4.6; 4.7 without line feeds).

Sources: llama.cpp:models/templates/GLM-4.6.jinja, vllm:tests/tool_parsers/test_glm4_moe_tool_parser.py,
vllm:tests/tool_parsers/test_glm47_moe_tool_parser.py.

`hy_v3`: the pairs of GLM after `<tool_sep>`, in `<tool_calls>` tags. Source:
vllm:tests/tool_parsers/test_hy_v3_tool_parser.py.
"""

from types import MappingProxyType

from msgspec.structs import replace

from inspector.formats.chat_turns import role_tokens, turn_ends
from inspector.formats.dialect import Enclosed, ReasoningTag, opening
from inspector.formats.format import DetectionPatterns
from inspector.formats.json.calls import JsonCallReader
from inspector.formats.xml import tag_families
from inspector.formats.xml.format import LabelledReader, OwnTags, xml_format
from inspector.formats.xml.tag_families import PairTags

_DOTS = tag_families.InvokeTags(Enclosed("<dots_function_call>", "</dots_function_call>"))
DOTS = xml_format(
    "dots",
    "<invoke name=NAME> with <parameter name=KEY> tags, in <dots_function_call> tags",
    OwnTags(
        replace(_DOTS.calls, takes_json=True),
        LabelledReader(MappingProxyType({"tool_call": _DOTS.reader, "json_call": JsonCallReader()})),
        _DOTS.writer,
    ),
    models=("*dots*",),
    signs=DetectionPatterns(calls={r"<dots_function_call>\s*[<{]": 0.95}, hints={r"</?dots_function_call>": 0.8}),
)
SEED_OSS = xml_format(
    "seed_oss",
    "<function=NAME> with <parameter=KEY> tags, in <seed:tool_call> tags",
    tag_families.FunctionTags("<seed:tool_call>", "</seed:tool_call>", own_lines=False),
    aliases=("seed",),
    models=("*seed-oss*",),
    signs=DetectionPatterns(
        calls={r"<seed:tool_call>\s*<function=": 0.95}, hints={r"</?seed:(?:tool_call|think)>": 0.8}
    ),
    results=(),
    reasoning=(ReasoningTag("think", "<seed:think>", "</seed:think>"),),
    turns=(opening("<seed:bos>", "turn_header"), *turn_ends("<seed:eos>")),
)
_GLM = PairTags()
_GLM_READER = tag_families.SharedOpenerReader(
    _GLM.reader,
    "a name and `<arg_key>` pairs",
    (tag_families.FUNCTION_BODY, tag_families.SEPARATED_BODY, tag_families.PYTHON_BODY),
)
_ROLES, _ROLE_STATE = role_tokens("<|", "|>", "system", "user", "assistant", "observation")
GLM45 = xml_format(
    "glm45",
    "<tool_call>NAME with <arg_key> and <arg_value> pairs",
    OwnTags(_GLM.calls, _GLM_READER, _GLM.writer),
    aliases=("glm", "glm46", "glm47", "glm4_moe", "laguna", "poolside_v1", "ling3", "spark25"),
    models=(
        *("*glm-4.[5-9]*", "*glm-5*", "*glm4-moe*", "*macaron-v1*", "*laguna*", "*ling-3*", "*ling3*", "*ring-2.6*"),
        *("*spark-x2.5*", "*spark2.5*"),
    ),
    signs=DetectionPatterns(
        calls={r"<tool_call>[\w.-]+\s*<arg_key>": 0.95, r"<tool_call>[\w.-]+\s*</tool_call>": 0.9},
        hints={r"</?arg_(?:key|value)>": 0.7, r"<\|observation\|>|\[gMASK\]": 0.5},
    ),
    turns=(*_ROLES, *turn_ends("[gMASK]", "<sop>")),
    turn_states=(_ROLE_STATE,),
)
HY_V3 = xml_format(
    "hy_v3",
    "<tool_call>NAME<tool_sep> with <arg_key> and <arg_value> pairs, in <tool_calls> tags",
    PairTags(separator="<tool_sep>", wrapper=Enclosed("<tool_calls>", "</tool_calls>")),
    aliases=("hunyuan_v3", "hy3"),
    models=("*hy3*", "*hy-v3*", "*hunyuan-3*", "*hunyuan-v3*"),
    signs=DetectionPatterns(calls={r"<tool_call>[^<>\n]+<tool_sep>": 0.95}, hints={r"<tool_sep>": 0.6}),
)
