"""How many attempted calls are reported, how many alarms prose gives, and what the search costs: the slow counts."""

import random
from collections.abc import Sequence
from unittest.mock import patch

import pytest

from tests.checks.attempted.shapes import SHAPES, TOOLS, in_other_formats, in_prose, made_up_call
from tests.checks.attempted.test_attempted_calls import COMMON, NAMES, TALK
from tests.work import functions_run
from weaklink.inspector.checks.attempted import call_search
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, Trace, Turn
from weaklink.inspector.segmentation import segment, segment_whole

_ALARMS = ("F305", "F309", "F317")
_ORDINARY = (
    "The weather differs (a lot) from [year to year](https://example.org), see the table below.",
    "1. Open the file `a.py`.\n2. Change the list [1, 2, 3] to {1: 'a'}.\n3. Run it again.",
    "It failed with `KeyError: 'x'` (line 4). I changed the default, so that it is 5 now.",
    '```json\n{"days": 3, "limit": [1, 2]}\n```\nThat is the configuration.',
)


def is_reported(text: str, name: str, tool_name: str) -> bool:
    """Whether a text in a format is reported to hold a call of a tool, or read as one."""
    segmentation = segment(text, name, tools=TOOLS)
    tried = (diagnostic.fault.call.name for diagnostic in segmentation.diagnostics if diagnostic.fault.call is not None)
    unknown = any(diagnostic.rule.code == "T401" for diagnostic in segmentation.diagnostics)
    return tool_name in (*tried, *(call.name for call in segmentation.calls)) or unknown


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_99_of_100_attempts_in_a_shape_are_reported(shape: str) -> None:
    seed = random.Random(f"{shape} many")
    tried = reported = 0
    for name in NAMES:
        for _ in range(20):
            tool_name, arguments = made_up_call(seed)
            text = in_prose(seed, SHAPES[shape](tool_name, arguments))
            tried += 1
            reported += is_reported(text, name, tool_name)
    assert tried == 20 * len(NAMES)
    assert reported >= 0.99 * tried


@pytest.mark.slow
def test_99_of_100_calls_in_another_formats_syntax_are_reported() -> None:
    seed = random.Random(9)
    tried = reported = 0
    for name in NAMES:
        for _ in range(5):
            tool_name, arguments = made_up_call(seed)
            for written in in_other_formats(tool_name, arguments):
                tried += 1
                reported += is_reported(f"Let me look.\n{written}", name, tool_name)
    assert tried > 5_000
    assert reported >= 0.99 * tried


@pytest.mark.slow
def test_2000_conversations_that_call_nothing_give_no_alarm() -> None:
    seed = random.Random(10)
    alarms = 0
    for number in range(2_000):
        turns: list[Turn] = []
        for _ in range(seed.randrange(1, 4)):
            words = [line_of_talk(seed) for _ in range(seed.randrange(1, 4))]
            turns.append(Turn(Role.USER, (Part("text", "Go on."),)))
            reply = (Part("text", "\n\n".join(words)),)
            turns.append(Turn(Role.ASSISTANT, reply, generation=Generation(tools=COMMON)))
        inspection = inspect_trace(Trace(tuple(turns)), format=NAMES[number % len(NAMES)])
        alarms += any(diagnostic.rule.code in _ALARMS for diagnostic in inspection.diagnostics)
        assert not [step for step in inspection.chain.steps if step.call.name in {tool.name for tool in COMMON}], turns
    assert alarms == 0


def line_of_talk(seed: random.Random) -> str:
    """A paragraph of an answer that calls nothing."""
    if seed.random() < 0.3:
        return seed.choice(_ORDINARY)
    return seed.choice(TALK).format(name=seed.choice(COMMON).name)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["hermes", "llama3", "pythonic"])
def test_the_search_costs_at_most_a_tenth_where_no_tool_is_named(name: str) -> None:
    seed = random.Random(11)
    texts = [" ".join(seed.choices([line for line in _ORDINARY if "{" not in line], k=8)) for _ in range(50)]
    _work(texts, name)
    whole = _work(texts, name)
    with patch.object(call_search, "attempted_calls", lambda *_: []):
        base = _work(texts, name)
    assert base < whole <= 1.1 * base


def _work(texts: Sequence[str], name: str) -> int:
    own, offered = find_format(name), OfferedTools(TOOLS)
    # The least of three: now and then the interpreter runs something else meanwhile, such as a finalizer.
    return min(functions_run(lambda: [segment_whole(text, own, tools=offered) for text in texts]) for _ in range(3))
