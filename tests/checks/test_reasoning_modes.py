"""Whether a turn reasoned, what a request asked for, and how tokens are estimated where nobody counted them."""

import pytest

from weaklink.inspector.checks.reasoning import (
    ReasoningMode,
    ReasoningSwitch,
    estimated_end,
    estimated_tokens,
    reasoned_turns,
    requested_reasoning,
)
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    Generation,
    GenerationError,
    Part,
    Role,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)

ON, OFF, FREE = ReasoningSwitch.ON, ReasoningSwitch.OFF, ReasoningSwitch.FREE


@pytest.mark.parametrize(
    ("parameters", "switch"),
    [
        ("", None),
        ("{}", None),
        ("no JSON", None),
        ("[1]", None),
        ('{"temperature":0}', None),
        ('{"enable_thinking":true}', ON),
        ('{"chat_template_kwargs":{"enable_thinking":true}}', ON),
        ('{"chat_template_kwargs":{"enable_thinking":false}}', OFF),
        ('{"extra_body":{"chat_template_kwargs":{"thinking":true}}}', ON),
        ('{"think":false}', OFF),
        ('{"think":"high"}', FREE),
        ('{"thinking":{"type":"enabled","budget_tokens":1024}}', ON),
        ('{"thinking":{"type":"disabled"}}', OFF),
        ('{"thinking":{"type":"adaptive"}}', FREE),
        ('{"reasoning_effort":"low"}', FREE),
        ('{"reasoning_effort":"none"}', OFF),
        ('{"reasoning":{"effort":"high"}}', FREE),
        ('{"reasoning":{"enabled":false}}', OFF),
        ('{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}', OFF),
        ('{"generationConfig":{"thinkingConfig":{"thinkingBudget":512}}}', FREE),
        ('{"enable_thinking":null}', None),
        ('{"extra_body":' * 5_000 + "{}" + "}" * 5_000, None),
        ('{"a":"' + "x" * 70_000 + '","enable_thinking":true}', None),
    ],
)
def test_a_request_asks_for_reasoning_leaves_it_or_switches_it_off(
    parameters: str, switch: ReasoningSwitch | None
) -> None:
    assert requested_reasoning(parameters) is switch


def mode(
    *parts: Part, generation: Generation | None = None, flags: frozenset[TurnFlag] = frozenset()
) -> ReasoningMode | None:
    asked = Turn(Role.USER, (Part("text", "Weather?"),))
    trace = Trace((asked, Turn(Role.ASSISTANT, parts, generation=generation, flags=flags)), format="hermes")
    (answer,) = reasoned_turns(trace, inspect_trace(trace).parts)
    return answer.mode


COLD = Part("text", "Cold.")
ASKED = '{"reasoning_effort":"high"}'
UNASKED = '{"enable_thinking":false}'


def test_reasoning_that_can_be_read_or_was_counted_is_on() -> None:
    assert mode(Part("text", "<think>Hm.</think>Cold.")) is ReasoningMode.ON
    assert mode(Part("reasoning", "Hm."), COLD) is ReasoningMode.ON
    assert mode(COLD, generation=Generation(usage=Usage(reasoning_tokens=64))) is ReasoningMode.ON
    assert mode(COLD, generation=Generation(parameters=ASKED)) is ReasoningMode.ON
    assert mode(Part("text", "<think>Hm."), generation=Generation(body=BodyState.TRUNCATED)) is ReasoningMode.ON


def test_an_empty_block_a_count_of_nothing_and_silence_are_off() -> None:
    assert mode(COLD) is ReasoningMode.OFF
    assert mode(Part("text", "<think>\n\n</think>\n\nCold.")) is ReasoningMode.OFF
    assert mode(COLD, generation=Generation(parameters=ASKED, usage=Usage(reasoning_tokens=0))) is ReasoningMode.OFF
    assert mode(COLD, generation=Generation(parameters=UNASKED)) is ReasoningMode.OFF


def test_a_turn_that_failed_was_cut_or_was_not_written_by_the_model_is_neither() -> None:
    error = GenerationError(ErrorPhase.HTTP, "overloaded")
    assert mode(generation=Generation(error=error)) is None
    assert mode(Part("text", "Col"), generation=Generation(body=BodyState.TRUNCATED)) is None
    assert mode(COLD, flags=frozenset((TurnFlag.INJECTED,))) is None
    assert mode(Part("text", "")) is None


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("\ud800", 1)]
)
def test_four_bytes_are_taken_for_a_token(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens", "position"), [("abcdefgh", 1, 4), ("abc", 1, 3), ("日本語", 1, 2), ("éé", 0, 0)]
)
def test_the_place_where_tokens_are_over_is_a_code_point(text: str, tokens: int, position: int) -> None:
    assert estimated_end(text, tokens) == position
