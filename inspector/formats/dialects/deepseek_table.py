"""The markers of DeepSeek V3, R1 and V3.1 as a table: sections of calls, results, and turns without line ends.

Sources: vllm:examples/tool_chat_template_deepseekv3.jinja, llama.cpp:models/templates/deepseek-ai-DeepSeek-V3.1.jinja,
llama.cpp:models/templates/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja.
"""

from collections.abc import Iterator

from inspector.formats.chat_turns import TURN_STATES
from inspector.formats.dialect import TOOL_TURN_HOMES, Ways, dialect_table, opening, tool_turn
from inspector.formats.sectioned_calls import Section
from inspector.model import SpanKind
from inspector.rules.markers import INVENTED_RESULT
from inspector.segmenter.table import HOME, ROLE, Cut, State, Transition

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
_TURNS = (
    *(Transition(f"<｜{speaker}｜>", Cut.BEFORE, "speaker", width=len("<｜")) for speaker in _SPEAKERS),
    opening("<｜begin▁of▁sentence｜>", "turn_end"),
    opening("<｜end▁of▁sentence｜>", "sentence end"),
)
_INTO_RESULTS = (opening(_RESULTS, "results"), opening(_RESULT, "result"))
_INVENTED = (
    Transition(_RESULTS, Cut.BEFORE, "results", INVENTED_RESULT),
    Transition(_RESULT, Cut.BEFORE, "result", INVENTED_RESULT),
)
_TO_HOME = Transition("(anything else)", Cut.BEFORE, HOME, width=0)


def _states(ways: Ways) -> Iterator[State]:
    yield from SECTION.states(ways)
    yield tool_turn(_INTO_RESULTS, ways.turns)
    # The template closes reasoning that it does not want at once: `<｜Assistant｜></think>`.
    ends = (Transition(end, Cut.AFTER, ROLE) for end in ("｜>", "｜></think>"))
    yield State("speaker", SpanKind.MARKUP, tuple(ends), "turn_header")
    sentence = (*_INTO_RESULTS, *ways.turns)
    yield State("sentence end", SpanKind.MARKUP, sentence, "turn_end", other=r"[^\n]", other_goes=_TO_HOME)
    between = (opening(_RESULT, "result"), Transition(_RESULTS_END, Cut.AFTER, HOME), *ways.turns)
    yield State("results", SpanKind.MARKUP, between, "results", other=r"\S", other_goes=_TO_HOME)
    result = (Transition(_RESULT_END, Cut.AFTER, "results"), *_INTO_RESULTS, *ways.turns)
    yield State("result", SpanKind.TOOL_RESULT, result, "tool_response", _RESULT, _RESULT_END)


DEEPSEEK_TABLE = dialect_table(
    calls=(*SECTION.calls, *_INVENTED),
    call_states=_states,
    call_closers=(SECTION.call_closer, _RESULT_END, _RESULTS_END),
    turns=_TURNS,
    turn_states=TURN_STATES,
    homes=TOOL_TURN_HOMES,
    tails=SECTION.tails,
)
"""Both versions share it: they differ only within a call's header, which is read once the call is closed."""
