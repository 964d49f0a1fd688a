"""`step3`: `<steptml:invoke name="NAME">` within `<｜tool_call_begin｜>function<｜tool_sep｜>` and its closing token.

Sources: vllm:tests/tool_parsers/test_step3_tool_parser.py, sglang:python/sglang/srt/function_call/step3_detector.py.
"""

from collections.abc import Sequence
from dataclasses import replace

from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import Signs
from inspector.formats.invoke_tags import InvokeTags
from inspector.formats.xml_format import arguments_of, value_text, xml_format
from inspector.formats.xml_parameters import XmlCallReader
from inspector.formats.xml_table import XmlCall, XmlCalls
from inspector.model import ToolCall
from inspector.rules.markers import WRONG_OPENER

_WRAPPER = Enclosed("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>")
_BEGIN, _SEPARATOR, _END = "<｜tool_call_begin｜>", "<｜tool_sep｜>", "<｜tool_call_end｜>"
_OPENER = f"{_BEGIN}function{_SEPARATOR}"
_INVOKE_END = "</steptml:invoke>"
_SYNTAX = replace(InvokeTags(_WRAPPER, "steptml:").syntax, call_end=_INVOKE_END, opener=_OPENER, closer=_END, lead="")
_CALLS = XmlCalls(
    (
        XmlCall(_OPENER, _END, _SYNTAX, rule=WRONG_OPENER),
        XmlCall(_BEGIN, _END, _SYNTAX, rule=WRONG_OPENER),
    ),
    (_WRAPPER,),
    between=(_SEPARATOR,),
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join((_WRAPPER.opener, *map(_write_call, calls), _WRAPPER.closer))


def _write_call(call: ToolCall) -> str:
    lines = (
        f'<steptml:parameter name="{name}">{value_text(value)}</steptml:parameter>'
        for name, value in arguments_of(call).items()
    )
    return "\n".join((f'{_OPENER}<steptml:invoke name="{call.name}">', *lines, f"{_INVOKE_END}{_END}"))


STEP3 = xml_format(
    name="step3",
    summary="<steptml:invoke name=NAME> with parameters in tags, within <｜tool_call_begin｜>",
    aliases=(),
    models=("*step3", "*step-3", "*step3-*"),
    signs=Signs(calls={r'<steptml:invoke name="': 0.95}, hints={r"<｜tool_calls_begin｜>": 0.4}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    reader=XmlCallReader(_SYNTAX),
    write_calls=_write_calls,
)
