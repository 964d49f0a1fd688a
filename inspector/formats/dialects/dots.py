"""`dots`: `<invoke name="NAME">` with `<parameter name="KEY">` tags, or a JSON object, in `<dots_function_call>` tags.

Sources: vllm:tests/tool_parsers/test_dots_tool_parser.py, sglang:python/sglang/srt/function_call/dots_detector.py.
"""

from types import MappingProxyType

from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import DetectionPatterns
from inspector.formats.json.calls import JsonCallReader
from inspector.formats.xml.format import LabelledReader, XmlCalls, xml_format
from inspector.formats.xml.tag_families import InvokeTags

_WRAPPER = Enclosed("<dots_function_call>", "</dots_function_call>")
_TAGS = InvokeTags(_WRAPPER)
_CALLS = XmlCalls((_TAGS.call,), (_WRAPPER,), takes_json=True)

DOTS = xml_format(
    name="dots",
    summary="<invoke name=NAME> with <parameter name=KEY> tags, in <dots_function_call> tags",
    aliases=(),
    models=("*dots*",),
    signs=DetectionPatterns(calls={r"<dots_function_call>\s*[<{]": 0.95}, hints={r"</?dots_function_call>": 0.8}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    reader=LabelledReader(MappingProxyType({"tool_call": _TAGS.reader, "json_call": JsonCallReader()})),
    write_calls=_TAGS.writer,
)
