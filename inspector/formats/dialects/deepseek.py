"""`deepseek_v3`, `v31`, `v32`, `v4` and `v41`: the dialects of DeepSeek's models, and `gigachat35`, which is alike.

V3, R1 and V3.1 write calls in a section of special tokens, the name before the JSON; V3.2 and V4 write DSML, tags
whose parameters mark texts with `string="true"`.

`deepseek_v3`: Sources: vllm:examples/tool_chat_template_deepseekv3.jinja,
vllm:vllm/tool_parsers/deepseekv3_tool_parser.py,
llama.cpp:models/templates/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja.

`deepseek_v31`: Sources: llama.cpp:models/templates/deepseek-ai-DeepSeek-V3.1.jinja,
vllm:vllm/tool_parsers/deepseekv31_tool_parser.py.

DSML: Sources: llama.cpp:models/templates/DeepSeek-V3.2.jinja,
vllm:tests/tool_parsers/test_deepseekv32_tool_parser.py, vllm:tests/tool_parsers/test_deepseekv4_tool_parser.py,
vllm:vllm/parser/deepseek_v41.py (a space after each second bar), sglang's detector `gigachat35` (GCML for DSML).
"""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from weaklink.inspector.formats.chat_turns import TURN_STATES, markup_state, role_tokens, turn_ends
from weaklink.inspector.formats.dialect import (
    TOOL_TURN_HOMES,
    Enclosed,
    Transitions,
    closing,
    enclosed_state,
    opening,
    tool_turn,
)
from weaklink.inspector.formats.dialects.claude import read_claude_results, read_claude_tools
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.json.named_calls import LooseHeader, NamedCallReader, Section, section_format
from weaklink.inspector.formats.span_readers import LabelledReader
from weaklink.inspector.formats.xml.format import XmlCalls, XmlTags, xml_format
from weaklink.inspector.formats.xml.tag_families import invoke_tags
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.markers import INVENTED_RESULT
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.table import HOME, ROLE, MarkerSplit, State, Transition

SEPARATOR = "<｜tool▁sep｜>"

SECTION = Section(
    openers=("<｜tool▁calls▁begin｜>",),
    closers=("<｜tool▁calls▁end｜>",),
    call_opener="<｜tool▁call▁begin｜>",
    call_closer="<｜tool▁call▁end｜>",
)

_RESULTS, _RESULTS_END = "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"
_RESULT, _RESULT_END = "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"
_SPEAKERS = ("User", "Assistant", "System")
_INTO_RESULTS = (opening(_RESULTS, "results"), opening(_RESULT, "result"))

_INVENTED = tuple(replace(transition, rule=INVENTED_RESULT) for transition in _INTO_RESULTS)

_NAME = r"(?P<name>[^\s<`{｜]++)"
_FUNCTION = rf"\s*function\s*{SEPARATOR}"
_FENCE = r"\s*```(?:json|python)?\n?"

_CALL = NamedCallReader(
    header=lazy_pattern(rf"function{SEPARATOR}{_NAME}\n```(?:json|python)\n"),
    expected=f"`function{SEPARATOR}NAME`, a line's end and the arguments in a fence of three backticks and `json`",
    loose=(
        LooseHeader(lazy_pattern(rf"{_FUNCTION}\s*{_NAME}{_FENCE}"), "its white space or fence differs"),
        LooseHeader(lazy_pattern(rf"{_FUNCTION}\s*{_NAME}\s*"), "it lacks the fence around the arguments"),
        LooseHeader(lazy_pattern(rf"\s*{SEPARATOR}\s*{_NAME}{_FENCE}"), "it lacks `function`"),
        LooseHeader(
            lazy_pattern(rf"(?!{_FUNCTION})\s*{_NAME}\s*(?:{SEPARATOR})?{_FENCE}"), f"it lacks `function{SEPARATOR}`"
        ),
        LooseHeader(
            lazy_pattern(rf"(?!{_FUNCTION})\s*{_NAME}\s*{SEPARATOR}\s*(?=\{{)"), "it is the header of DeepSeek V3.1"
        ),
    ),
    code=frozenset({"python"}),
    code_header=lazy_pattern(r"[\s\S]*```python\n?"),
)

_V3 = rf"\s*function\s*{SEPARATOR}\s*{_NAME}\s*"

_CALL_DEEPSEEK_V31 = NamedCallReader(
    header=lazy_pattern(rf"(?!function{SEPARATOR}[^\s{{]+\s*(?:```|\{{)){_NAME}{SEPARATOR}"),
    expected=f"`NAME{SEPARATOR}`, then the arguments",
    loose=(
        LooseHeader(lazy_pattern(rf"{_V3}```(?:json|python)?\n?"), "it is the header of DeepSeek V3"),
        LooseHeader(
            lazy_pattern(rf"{_V3}(?=\{{)"), f"it begins with `function{SEPARATOR}`, like the header of DeepSeek V3"
        ),
        LooseHeader(lazy_pattern(rf"\s*{_NAME}\s*{SEPARATOR}"), "it contains white space"),
        LooseHeader(lazy_pattern(rf"\s*{_NAME}\s*(?=\{{|\Z)"), f"it lacks `{SEPARATOR}`"),
    ),
)

_PREFIX = "｜DSML｜"
_MISNAMED = tuple(f"{_PREFIX}{name}" for name in ("toolcalls", "tool_call", "tool"))
"""Blocks that models write for their own (vllm:vllm/parser/deepseek_v4.py)."""
_SPACED = f"{_PREFIX} calls"
"""The block of V4.1."""

_ROLES, _ROLE_STATE = role_tokens("<｜", "｜>", "User", "Assistant", after="</think>")

_TURNS = (
    *(Transition(f"<｜{speaker}｜>", MarkerSplit.BEFORE, "speaker", width=len("<｜")) for speaker in _SPEAKERS),
    opening("<｜begin▁of▁sentence｜>", "turn_end"),
    opening("<｜end▁of▁sentence｜>", "sentence end"),
)


def _states(transitions: Transitions) -> Iterator[State]:
    yield from SECTION.states(transitions)
    yield tool_turn(_INTO_RESULTS, transitions.turns)
    # The template switches reasoning off by closing it at once: `<｜Assistant｜></think>`.
    yield State("speaker", SpanKind.MARKUP, tuple(closing(end, ROLE) for end in ("｜>", "｜></think>")), "turn_header")
    leaving = (*_INTO_RESULTS, *transitions.turns)
    yield markup_state("sentence end", "turn_end", HOME, r"[^\n]", leaving)
    between = (opening(_RESULT, "result"), closing(_RESULTS_END), *transitions.turns)
    yield markup_state("results", "results", HOME, r"\S", between)
    yield enclosed_state("result", SpanKind.TOOL_RESULT, Enclosed(_RESULT, _RESULT_END), leaving, target="results")


_section_format = partial(
    section_format,
    SECTION,
    invented=_INVENTED,
    states=_states,
    closers=(_RESULT_END, _RESULTS_END),
    has_common_turns=False,
    turns=_TURNS,
    turn_states=TURN_STATES,
    homes=TOOL_TURN_HOMES,
)
"""V3 and V3.1 differ only within a call's header, which is read once the call is closed."""
DEEPSEEK_V3 = _section_format(
    _CALL,
    name="deepseek_v3",
    summary="DeepSeek V3 and R1: special tokens, the name, then JSON in a fence",
    call=f"function{SEPARATOR}{{name}}\n```json\n{{arguments}}\n```",
    aliases=("deepseek", "deepseekv3", "deepseek_r1", "deepseekr1"),
    models=("*deepseek-v3*", "*deepseek-r1*", "*deepseek*"),
    signs=DetectionPatterns(
        calls={rf"{SECTION.call_opener}\s*function{SEPARATOR}": 0.98},
        hints={"[|｜‖]tool▁(?:calls|outputs)▁(?:begin|end)": 0.7, r"<｜(?:User|Assistant)｜>": 0.6},
    ),
    between="\n",
)
DEEPSEEK_V31 = _section_format(
    _CALL_DEEPSEEK_V31,
    name="deepseek_v31",
    summary="DeepSeek V3.1: special tokens, the name, a separator, bare JSON",
    call=f"{{name}}{SEPARATOR}{{arguments}}",
    aliases=("deepseekv31", "deepseek_v3.1", "deepseek-v3.1"),
    models=("*deepseek-v3.1*", "*deepseek-v31*", "*deepseek-v3.2-exp*"),
    signs=DetectionPatterns(
        calls={rf"{SECTION.call_opener}(?!\s*function{SEPARATOR})[^\s<{{]+{SEPARATOR}": 0.98},
        hints={"[|｜‖]tool▁(?:calls|outputs)▁(?:begin|end)": 0.65, r"<｜(?:User|Assistant)｜>": 0.55},
    ),
)


def _dsml(
    name: str,
    block: str,
    result: str,
    models: tuple[str, ...],
    *,
    aliases: tuple[str, ...] = (),
    prefix: str = _PREFIX,
    others: tuple[str, ...] = (),
    turns: tuple[Transition, ...] = (*_ROLES, *turn_ends("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>")),
    turn_state: State = _ROLE_STATE,
) -> Format:
    """The Format whose calls are in a `block`, and whose results are in `result` tags.

    `others` are blocks of other versions, each with its prefix; they are read, and reported.
    """
    wrapper, *other_wrappers = (Enclosed(f"<{tag}>", f"</{tag}>") for tag in (f"{prefix}{block}", *others))
    spaced = prefix.strip(" ") + " " * (prefix[-1] != " ")
    own = invoke_tags(wrapper, prefix, is_typed=True, anywhere=True)
    other = invoke_tags(wrapper, spaced, "other_call", is_typed=True, anywhere=True)
    tags = XmlTags(
        XmlCalls((own.call, other.call), (wrapper, *other_wrappers)),
        LabelledReader({"tool_call": own.reader, "other_call": other.reader}),
        own.writer,
    )
    return xml_format(
        tags,
        name=name,
        summary=f"<{prefix}invoke> with typed parameters, in <{prefix}{block}> tags",
        aliases=aliases,
        models=models,
        signs=DetectionPatterns(
            calls={f"<{prefix}{block}>": 0.95, f"<{prefix}invoke": 0.8},
            hints={rf"[|｜‖]{prefix.strip('｜ ')}[|｜‖]": 0.6},
        ),
        results=(Enclosed(f"<{result}>", f"</{result}>"),),
        definitions=(Enclosed("<functions>", "</functions>"),),
        turns=turns,
        turn_states=(turn_state,),
        is_typed=True,
        read_results=read_claude_results,
        read_tools=read_claude_tools,
    )


DEEPSEEK_V32 = _dsml(
    "deepseek_v32",
    "function_calls",
    "function_results",
    ("*deepseek-v3.2*", "*deepseek-v32*"),
    aliases=("deepseek_v3.2", "dsml"),
    others=(f"{_PREFIX}tool_calls", *_MISNAMED, _SPACED),
)
DEEPSEEK_V4 = _dsml(
    "deepseek_v4",
    "tool_calls",
    "tool_result",
    ("*deepseek-v4*",),
    others=(f"{_PREFIX}function_calls", *_MISNAMED, _SPACED),
)
DEEPSEEK_V41 = _dsml(
    "deepseek_v41",
    "calls",
    "tool_result",
    ("*deepseek-v4.1*", "*deepseek-v41*"),
    aliases=("deepseek_v4.1", "deepseekv41"),
    prefix="｜DSML｜ ",
    others=(f"{_PREFIX}tool_calls", f"{_PREFIX}function_calls", *_MISNAMED),
)
_GIGACHAT_ROLES, _GIGACHAT_ROLE = role_tokens("", "<|role_sep|>\n", "system", "user", "assistant", "function result")
GIGACHAT35 = _dsml(
    "gigachat35",
    "tool_calls",
    "function_response",
    ("*gigachat3.5*", "*gigachat-3.5*"),
    aliases=("gigachat3.5",),
    prefix="｜GCML｜",
    turns=(*_GIGACHAT_ROLES, *turn_ends("<|message_sep|>")),
    turn_state=_GIGACHAT_ROLE,
)
