"""`cohere`: `<|START_ACTION|>[...]<|END_ACTION|>`, an array of calls with ids (Cohere Command R7B and A).

Reasoning is in `<|START_THINKING|>`, an answer in `<|START_RESPONSE|>` or `<|START_TEXT|>`; results are in a system
turn. Command R and R+ write `Action:` and the array in a fence. Sources: the chat template of
c4ai-command-r7b-12-2024 (llama.cpp:models/templates), llama.cpp:tests/test-chat.cpp, and the tool_use template of
CohereForAI/c4ai-command-r-plus (tokenizer_config.json).
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from weaklink.inspector.formats.chat_turns import ROLE_HOMES, markup_state, role_tokens, turn_ends
from weaklink.inspector.formats.dialect import Enclosed, ReasoningTag, opener_again, opening
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import CallKeys, is_call_without_id, json_of
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import json_format
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import HOME, SECTION, Lookahead, MarkerSplit, Repeat, State, Transition

_OPENER, _CLOSER = "<|START_ACTION|>", "<|END_ACTION|>"
_FENCED = tuple(Enclosed(f"Action:{space}```json", "```") for space in (" ", "\n", ""))
_AGAIN = replace(opener_again("Action:"), ahead=Lookahead(("Action:",), Repeat(r"\s", 0, 2), "```json"))
_ACTION_AGAIN = tuple(replace(_AGAIN, marker=f"Action:{space}", taken=7 + len(space)) for space in (" ", "\n", ""))
_NEAR = re.compile(r"\bAction\w{0,8}[: ]{1,4}`{0,4}[\w ]{0,8}(?=\s{1,8}\[\s{0,8}\{\s{0,8}\"tool_name\")")
_RESULTS = Enclosed("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>")
_RESULT = f"result {_RESULTS.opener}"
_TURN, _END = "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"
_SPEAKERS = ("SYSTEM", "USER", "CHATBOT")
_HEADERS, _HEADER = role_tokens(f"{_TURN}<|", "_TOKEN|>", *_SPEAKERS)
_TOKENS, _TOKEN = role_tokens("<|", "_TOKEN|>", *_SPEAKERS)
_PARTS = ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>")
_RESULTS_BY_SYSTEM = tuple(
    Transition(f"{header}{_RESULTS.opener}", MarkerSplit.BEFORE, "results header", width=len(header))
    for header in (f"{_TURN}<|SYSTEM_TOKEN|>", "<|SYSTEM_TOKEN|>")
)


def _array(calls: Sequence[ToolCall]) -> str:
    ids = (f'"tool_call_id": {json_of(call.id)}, ' if call.id is not None else "" for call in calls)
    return ",\n".join(
        f'    {{{id}"tool_name": {json_of(call.name)}, "parameters": {json_of(call.arguments)}}}'
        for id, call in zip(ids, calls, strict=True)
    )


_READER = JsonCallReader(
    CallKeys(name="tool_name", arguments="parameters", id="tool_call_id"), is_array=True, has_ids=True
)


def _read_calls(closed: SpanClosed) -> ParseResult:
    """See SpanReader. `directly-answer` is no tool: the answer follows."""
    reading = _READER(closed)
    calls = tuple(call for call in reading.calls if call.name not in ("directly-answer", "directly_answer"))
    return msgspec.structs.replace(reading, calls=calls)


COHERE = json_format(
    name="cohere",
    summary="<|START_ACTION|>[...]<|END_ACTION|>: an array of JSON objects with ids",
    aliases=("command_r7b", "command_a"),
    models=("*command-r7b*", "*command-a*", "*c4ai-command*", "*cohere*"),
    calls=(Enclosed(_OPENER, _CLOSER), *_FENCED),
    results=(_RESULTS,),
    definitions=(Enclosed("```json", "```"),),
    reasoning=(ReasoningTag("think", "<|START_THINKING|>", "<|END_THINKING|>"),),
    turns=(
        *_HEADERS,
        *_TOKENS,
        *_RESULTS_BY_SYSTEM,
        *turn_ends(_TURN, _END, "<BOS_TOKEN>", "<EOS_TOKEN>"),
        *_ACTION_AGAIN,
        *(opening(part, "part") for part in _PARTS),
    ),
    turn_states=(
        _HEADER,
        _TOKEN,
        State("results header", SpanKind.MARKUP, (opening(_RESULTS.opener, _RESULT),), label="turn_header"),
        markup_state("part", SECTION, HOME),
    ),
    homes={**ROLE_HOMES, "chatbot": "text"},
    signs=DetectionPatterns(
        calls={r"<\|START_ACTION\|>": 0.97}, hints={r"<\|START_(?:RESPONSE|THINKING)\|>|_TOKEN\|>": 0.9}
    ),
    reader=_read_calls,
    write_calls=lambda calls: f"{_OPENER}[\n{_array(calls)}\n]{_CLOSER}",
    ids=True,
)
COMMAND_R_ACTION = replace(
    COHERE,
    name="command_r_action",
    summary="Action: and an array of JSON objects in a fence: Command R and R+, Aya",
    aliases=("command_r",),
    models=("*command-r-v01*", "*command-r-0*", "*command-r-plus*", "*command-r", "*c4ai-command-r-*", "*aya-expanse*"),
    confidence=DetectionPatterns(calls={r"Action:\s*```json\s*\[?\s*\{\s*\"tool_name\"": 0.96}),
    near_calls=((_NEAR, _FENCED[0].opener),),
    write_calls=lambda calls: f"Action: ```json\n[\n{_array(calls)}\n]\n```",
    expresses=is_call_without_id,
    ids=False,
)
