"""`kimi_k2`: calls in a section of special tokens, each with an id `functions.NAME:INDEX` (Moonshot's Kimi K2).

Sources: llama.cpp:models/templates/moonshotai-Kimi-K2.jinja, vllm:vllm/tool_parsers/kimi_k2_tool_parser.py,
MoonshotAI/Kimi-K2:docs/tool_call_guidance.md. Some releases spell the section's tokens in the singular.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from inspector.formats.chat_turns import ROLE_HOMES, TURN_STATES
from inspector.formats.dialect import Transitions, dialect_table, opening
from inspector.formats.format import DetectionPatterns, Format
from inspector.formats.json.named_calls import LooseHeader, NamedCallReader, Section
from inspector.formats.json.writing import is_json_call, json_of
from inspector.formats.span_readers import ReasoningReader, read_definitions, read_result
from inspector.model import Role, SpanKind, ToolCall, ToolResult
from inspector.scanning import lazy_pattern
from inspector.segmenter.events import FormatParser, ParseResult, SpanClosed
from inspector.segmenter.machine import Machine
from inspector.segmenter.table import ROLE, MarkerSplit, State, Transition
from inspector.text import Range

_SECTION = Section(
    openers=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
    closers=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    call_opener="<|tool_call_begin|>",
    call_closer="<|tool_call_end|>",
)
_ARGUMENTS = "<|tool_call_argument_begin|>"
_HEADERS = ("<|im_user|>", "<|im_assistant|>", "<|im_system|>")
_TURNS = (
    *(opening(header, "speaker") for header in _HEADERS),
    *(opening(end, "turn_end") for end in ("<|im_end|>", "[EOS]", "[BOS]")),
)
_ID = r"(?P<id>(?:functions\.)?(?P<name>[^\s<{]+):\d++)"
_CALL = NamedCallReader(
    header=lazy_pattern(rf"\s*{_ID}\s*<\|tool_call_argument_begin\|>"),
    wanted=f"`functions.NAME:INDEX{_ARGUMENTS}`, then the arguments",
    loose=(
        LooseHeader(lazy_pattern(rf"\s*{_ID}\s*(?=\{{|\Z)"), f"it lacks `{_ARGUMENTS}`"),
        LooseHeader(
            lazy_pattern(r"\s*functions\.(?P<name>[^\s<{]++)\s*<\|tool_call_argument_begin\|>"),
            "its id lacks the index, as in `:0`",
        ),
    ),
)
_RESULT_HEADER = lazy_pattern(rf"## Return of {_ID}\n?")
_WRITTEN_ID = lazy_pattern(r"functions\.([^\s<{]+):\d+")
_NAME = lazy_pattern(r"(?!functions\.)[^\s<{\[]+")


def _states(ways: Transitions) -> Iterator[State]:
    yield from _SECTION.states(ways)
    yield State("speaker", SpanKind.MARKUP, (Transition("<|im_middle|>", MarkerSplit.AFTER, ROLE),), "turn_header")


_TABLE = dialect_table(
    calls=_SECTION.calls,
    call_states=_states,
    call_closers=(_SECTION.call_closer,),
    turns=_TURNS,
    turn_states=TURN_STATES,
    homes={**ROLE_HOMES, "tool_declare": "list_intro"},
    tails=_SECTION.tails,
)


def _read_result(closed: SpanClosed) -> ParseResult:
    """See SpanReader. A result's first line says which call it answers."""
    reading = read_result(closed)
    result = reading.results[0]
    header = _RESULT_HEADER.match(result.content)
    if header is None:
        return reading
    content = result.content[header.end() :]
    place = Range(result.range.start + header.end(), result.range.end)
    return ParseResult(
        results=(ToolResult(content, place, header["id"], header["name"]),), complete=bool(content.strip())
    )


def _write_calls(calls: Sequence[ToolCall]) -> str:
    written = "".join(
        f"{_SECTION.call_opener}{call.id or f'functions.{call.name}:{index}'}{_ARGUMENTS}{json_of(call.arguments)}"
        f"{_SECTION.call_closer}"
        for index, call in enumerate(calls)
    )
    return f"{_SECTION.openers[0]}{written}{_SECTION.closers[0]}" if calls else ""


def _expresses(call: ToolCall) -> bool:
    """An id must hold the name, as this dialect's do; without one it is made from the call's place."""
    named = _NAME.fullmatch(call.name or "") is not None
    of_id = _WRITTEN_ID.fullmatch(call.id) if call.id is not None else None
    return named and (call.id is None or (of_id is not None and of_id[1] == call.name)) and is_json_call(call)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


KIMI_K2 = Format(
    name="kimi_k2",
    summary="Kimi K2: special tokens, an id that holds the name, JSON",
    aliases=("kimi", "kimi-k2"),
    models=("*kimi-k2*", "*kimi_k2*", "*kimi-latest*"),
    confidence=DetectionPatterns(
        calls={r"<\|tool_call_begin\|>\s*(?:functions\.)?[^\s<{]+:\d+": 0.98},
        hints={r"<\|tool_calls?_section_(?:begin|end)\|>": 0.9, r"<\|im_middle\|>": 0.7},
    ),
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: _CALL,
            SpanKind.TOOL_RESULT: _read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader((_SECTION.call_opener,), (_SECTION.call_closer,)),
        }
    ),
    write_calls=_write_calls,
    expresses=_expresses,
    ids=True,
)
