"""`step3` and `step3p5`: the dialects of StepFun's models.

Step 3 writes `<steptml:invoke name="NAME">` between special tokens, Step 3.5 and 3.7 `<function=NAME>` tags in
`<tool_call>`.

`step3`: Sources: vllm:tests/tool_parsers/test_step3_tool_parser.py,
sglang:python/sglang/srt/function_call/step3_detector.py.

`step3p5`: Sources: llama.cpp:models/templates/StepFun3.7-Flash.jinja,
vllm:tests/tool_parsers/test_step3p5_tool_parser.py.
"""

from msgspec.structs import replace

from inspector.formats.chat_turns import ROLE_HOMES
from inspector.formats.dialect import Enclosed
from inspector.formats.format import DetectionPatterns
from inspector.formats.xml import tag_families
from inspector.formats.xml.calls import XmlCallReader
from inspector.formats.xml.format import CallTemplate, OwnTags, XmlCall, XmlCalls, xml_format
from inspector.rules.markers import WRONG_OPENER

_WRAPPER = Enclosed("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>")
_BEGIN, _SEPARATOR, _END = "<｜tool_call_begin｜>", "<｜tool_sep｜>", "<｜tool_call_end｜>"
_OPENER = f"{_BEGIN}function{_SEPARATOR}"
_INVOKE_END = "</steptml:invoke>"
_SYNTAX = replace(
    tag_families.InvokeTags(_WRAPPER, "steptml:").syntax, call_end=_INVOKE_END, opener=_OPENER, closer=_END, lead=""
)

_CALLS = XmlCalls(
    (
        XmlCall(_OPENER, _END, _SYNTAX, rule=WRONG_OPENER),
        XmlCall(_BEGIN, _END, _SYNTAX, rule=WRONG_OPENER),
    ),
    (_WRAPPER,),
    between=(_SEPARATOR,),
)

_FUNCTIONS = tag_families.FunctionTags("<tool_call>", "</tool_call>", between="")
STEP3P5 = xml_format(
    "step3p5",
    "as qwen3_coder, with nothing between the calls",
    OwnTags(_FUNCTIONS.calls, tag_families.shared_function_reader(_FUNCTIONS), _FUNCTIONS.writer),
    aliases=("step3.5", "step3.7"),
    models=("*step-3.5*", "*step-3.7*", "*step3p5*"),
    signs=DetectionPatterns(
        calls={r"</function>\s*</tool_call><tool_call>": 0.9}, hints={r"<\|im_start\|>tool_response": 0.8}
    ),
    homes={**ROLE_HOMES, "tool_response": "tool"},
)


_WRITER = CallTemplate(
    f'{_OPENER}<steptml:invoke name="{{name}}">\n{{parameters}}{_INVOKE_END}{_END}',
    '<steptml:parameter name="{name}">{value}</steptml:parameter>\n',
    wrapper=_WRAPPER,
)
STEP3 = xml_format(
    "step3",
    "<steptml:invoke name=NAME> with parameters in tags, within <｜tool_call_begin｜>",
    OwnTags(_CALLS, XmlCallReader(_SYNTAX), _WRITER),
    models=("*step3", "*step-3", "*step3-*"),
    signs=DetectionPatterns(calls={r'<steptml:invoke name="': 0.95}, hints={r"<｜tool_calls_begin｜>": 0.4}),
)
