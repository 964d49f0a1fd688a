"""`functiongemma` and `gemma4`: `call:f{k:<escape>text<escape>,n:1}` between call tokens, in Gemma turns.

Gemma 4 writes `<|"|>` for `<escape>`. Calls and results are both in the model's own turn.

`functiongemma`: Sources: vllm:tests/tool_parsers/test_functiongemma_tool_parser.py and
vllm:examples/tool_chat_template_functiongemma.jinja.

`gemma4`: Sources: llama.cpp:models/templates/gemma4.jinja, vllm:tests/tool_parsers/test_gemma4_tool_parser.py.
"""

from collections.abc import Iterator, Sequence
from typing import Unpack

from weaklink.inspector.formats.chat_turns import last_words
from weaklink.inspector.formats.dialect import (
    DialectParts,
    Enclosed,
    ReasoningTag,
    Transitions,
    dialect_format,
    enclosed_state,
    opening,
)
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.gemma.calls import (
    GemmaCallReader,
    GemmaDefinitionReader,
    gemma_text,
    is_gemma_call,
    read_gemma_result,
)
from weaklink.inspector.formats.gemma.dicts import gemma_payload
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.segmenter.table import State


def _format(
    call: Enclosed, result: Enclosed, declaration: Enclosed, delimiter: str, **parts: Unpack[DialectParts]
) -> Format:
    """The Format of a model with these markers and this delimiter of strings.

    Results are not invented by the model: the template puts them into its turn, and the model continues after them.
    """

    def call_states(transitions: Transitions) -> Iterator[State]:
        payload = gemma_payload(delimiter)
        yield enclosed_state("call", SpanKind.TOOL_CALL, call, transitions.out_of_call, payload)
        yield enclosed_state("result", SpanKind.TOOL_RESULT, result, transitions.turns, payload)

    def write_calls(calls: Sequence[ToolCall]) -> str:
        written = (f"call:{tool_call.name}{gemma_text(tool_call.arguments, delimiter)}" for tool_call in calls)
        return "".join(f"{call.opener}{text}{call.closer}" for text in written)

    turns = (*last_words("<eos>"), opening("<|turn>", "turn_header"), opening("<turn|>", "turn_end"))
    parts.update({"definitions": (declaration,), "turns": turns, "special_tokens": ("<bos>",)})
    parts.update({"read_results": read_gemma_result, "read_tools": GemmaDefinitionReader(delimiter)})
    return dialect_format(
        GemmaCallReader(delimiter),
        ReasoningReader((call.opener,), (call.closer,)),
        calls=(opening(call.opener, "call"), opening(result.opener, "result")),
        call_states=call_states,
        call_closers=(call.closer, result.closer),
        write_calls=write_calls,
        expresses=lambda tool_call: is_gemma_call(tool_call, delimiter),
        **parts,
    )


FUNCTIONGEMMA = _format(
    name="functiongemma",
    summary="<start_function_call>call:f{k:<escape>v<escape>}<end_function_call>",
    aliases=("function_gemma",),
    models=("*functiongemma*", "*function-gemma*"),
    signs=DetectionPatterns(
        calls={r"<start_function_call>\s*call:": 0.95}, hints={r"<(?:start|end)_function_\w+>|<escape>": 0.7}
    ),
    call=Enclosed("<start_function_call>", "<end_function_call>"),
    result=Enclosed("<start_function_response>", "<end_function_response>"),
    declaration=Enclosed("<start_function_declaration>", "<end_function_declaration>"),
    delimiter="<escape>",
)
GEMMA4 = _format(
    name="gemma4",
    summary='<|tool_call>call:f{k:<|"|>v<|"|>}<tool_call|>: Gemma 4',
    aliases=("gemma-4",),
    models=("*gemma-4*", "*gemma4*", "*diffusiongemma*"),
    signs=DetectionPatterns(
        calls={r"<\|tool_call>\s*call:": 0.95},
        hints={r"<\|tool_call>|<tool_call\|>": 0.7, r"<\|turn>|<\|channel>thought": 0.5},
    ),
    call=Enclosed("<|tool_call>", "<tool_call|>"),
    result=Enclosed("<|tool_response>", "<tool_response|>"),
    declaration=Enclosed("<|tool>", "<tool|>"),
    delimiter='<|"|>',
    reasoning=(
        ReasoningTag("think", "<|channel>thought", "<channel|>"),
        ReasoningTag("think", "<|channel>", "<channel|>", instead_of="<|channel>thought"),
    ),
)
