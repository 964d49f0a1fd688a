"""The markers of Gemma's function-calling models as a table: calls and results both stand in the model's own turn."""

from collections.abc import Iterable, Iterator

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed, Ways, dialect_table, opening
from inspector.formats.gemma_following import gemma_payload
from inspector.formats.reasoning_tags import THINK_TAGS, ReasoningTag
from inspector.model import SpanKind
from inspector.segmenter.table import HOME, Cut, State, Table, Transition

_TURNS = (
    *TURN_TRANSITIONS,
    Transition("<|turn>", Cut.BEFORE, "turn_header"),
    Transition("<turn|>", Cut.BEFORE, "turn_end"),
)


def gemma_table(
    *,
    call: Enclosed,
    result: Enclosed,
    declaration: Enclosed,
    delimiter: str,
    reasoning: Iterable[ReasoningTag] = THINK_TAGS,
) -> Table:
    """The table of a model with these markers and this delimiter of strings.

    Results are no invention of the model: its template puts them into its turn, and the model goes on behind them.
    """

    def call_states(ways: Ways) -> Iterator[State]:
        yield State(
            "call",
            SpanKind.TOOL_CALL,
            (Transition(call.closer, Cut.AFTER, HOME), *ways.out_of_call),
            label="tool_call",
            opener=call.opener,
            closer=call.closer,
            payload=gemma_payload(delimiter),
        )
        yield State(
            "result",
            SpanKind.TOOL_RESULT,
            (Transition(result.closer, Cut.AFTER, HOME), *ways.turns),
            label="tool_response",
            opener=result.opener,
            closer=result.closer,
            payload=gemma_payload(delimiter),
        )

    return dialect_table(
        calls=(opening(call.opener, "call"), opening(result.opener, "result")),
        call_states=call_states,
        call_closers=(call.closer, result.closer),
        reasoning=reasoning,
        definitions=(declaration,),
        turns=_TURNS,
        special_tokens=("<bos>",),
        turn_states=TURN_STATES,
    )
