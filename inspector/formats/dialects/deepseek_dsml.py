"""`deepseek_v32` and `deepseek_v4`: DSML, calls in tags whose parameters tell with `string="true"` that they are texts.

Sources: llama.cpp:models/templates/DeepSeek-V3.2.jinja, vllm:tests/tool_parsers/test_deepseekv32_tool_parser.py,
vllm:tests/tool_parsers/test_deepseekv4_tool_parser.py.
"""

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS
from inspector.formats.claude_readings import read_claude_results, read_claude_tools
from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import Format, Signs
from inspector.formats.invoke_tags import InvokeTags
from inspector.formats.role_tokens import role_tokens, turn_ends
from inspector.formats.xml_format import xml_format
from inspector.formats.xml_table import XmlCalls

_PREFIX = "｜DSML｜"
_ROLES, _ROLE_STATE = role_tokens("<｜", "｜>", "User", "Assistant", behind="</think>")


def _format(name: str, wrapper: str, *, aliases: tuple[str, ...], models: tuple[str, ...], result: str) -> Format:
    """The Format whose calls stand in `wrapper` tags and whose results stand in `result` tags."""
    enclosed = Enclosed(f"<{_PREFIX}{wrapper}>", f"</{_PREFIX}{wrapper}>")
    tags = InvokeTags(enclosed, _PREFIX, is_typed=True, anywhere=True)
    calls = XmlCalls((tags.call,), (enclosed,))
    return xml_format(
        name=name,
        summary=f"DSML: <{_PREFIX}invoke> with typed parameters, in <{_PREFIX}{wrapper}> tags",
        aliases=aliases,
        models=models,
        signs=Signs(calls={f"<{_PREFIX}{wrapper}>": 0.95, f"<{_PREFIX}invoke": 0.8}, hints={_PREFIX: 0.6}),
        calls=calls,
        table=dialect_table(
            calls=calls.ways,
            call_states=calls.states,
            call_closers=calls.closers,
            results=(Enclosed(f"<{result}>", f"</{result}>"),),
            definitions=(Enclosed("<functions>", "</functions>"),),
            turns=(*_ROLES, *turn_ends("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"), *TURN_TRANSITIONS),
            turn_states=(_ROLE_STATE, *TURN_STATES),
        ),
        reader=tags.reader,
        write_calls=tags.writer,
        is_typed=True,
        read_results=read_claude_results,
        read_tools=read_claude_tools,
    )


DEEPSEEK_V32 = _format(
    "deepseek_v32",
    "function_calls",
    aliases=("deepseek_v3.2", "dsml"),
    models=("*deepseek-v3.2*", "*deepseek_v32*"),
    result="function_results",
)
DEEPSEEK_V4 = _format(
    "deepseek_v4", "tool_calls", aliases=(), models=("*deepseek-v4*", "*deepseek_v4*"), result="tool_result"
)
