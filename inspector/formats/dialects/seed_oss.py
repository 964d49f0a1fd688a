"""`seed_oss`: `<function=NAME>` with `<parameter=KEY>` tags, in `<seed:tool_call>` tags; values on their tags' line.

Sources: llama.cpp:models/templates/ByteDance-Seed-OSS.jinja, vllm:tests/tool_parsers/test_seed_oss_tool_parser.py.
"""

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS, turn_ends
from inspector.formats.dialect import ReasoningTag, dialect_table, opening
from inspector.formats.format import DetectionPatterns
from inspector.formats.xml.format import xml_format
from inspector.formats.xml.tag_families import FunctionTags

_TAGS = FunctionTags("<seed:tool_call>", "</seed:tool_call>", own_lines=False)
_CALLS = _TAGS.calls

SEED_OSS = xml_format(
    name="seed_oss",
    summary="<function=NAME> with <parameter=KEY> tags, in <seed:tool_call> tags",
    aliases=("seed",),
    models=("*seed-oss*",),
    signs=DetectionPatterns(
        calls={r"<seed:tool_call>\s*<function=": 0.95}, hints={r"</?seed:(?:tool_call|think)>": 0.8}
    ),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        reasoning=(ReasoningTag("think", "<seed:think>", "</seed:think>"),),
        turns=(opening("<seed:bos>", "turn_header"), *turn_ends("<seed:eos>"), *TURN_TRANSITIONS),
        turn_states=TURN_STATES,
    ),
    reader=_TAGS.reader,
    write_calls=_TAGS.writer,
)
