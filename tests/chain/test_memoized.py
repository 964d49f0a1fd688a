"""A session that grows is inspected as one that is inspected at once, although its turns are remembered."""

import json
import random
from pathlib import Path

import pytest
from msgspec import structs

from tests.examples import one_in
from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.chain.data_flow import trace_values
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.memoized import RecentValues, forget_unused, memoizing
from weaklink.inspector.model import Generation, Json, Provenance, ToolDefinition, Trace, Turn
from weaklink.inspector.model.trace import Role

_WORDS = ("harbour", "tide_table", "A-1729", "brest", "18.50", "src/tide.py", "error", "mira@example.com", "not found")
_TOOL = ToolDefinition(
    "Read", "Reads", {"type": "object"}, raw='{"name": "Read", "default": "quay-77", "not": "brest"}'
)

_LOGS = [
    path
    for folder in ("tuning", "held-out", "blind")
    for path in sorted((Path(__file__).parents[1] / "verdicts" / folder).rglob("*"))
    if path.suffix in (".json", ".jsonl", ".traj") and not path.name.endswith(".labels.json")
]


def _session(dice: random.Random) -> list[Turn]:
    """A session whose values recur: in the user's words, in results, in calls, and in tools that come late."""
    turns = [read_message({"role": "user", "content": " ".join(dice.choices(_WORDS, k=4))})]
    open_calls: list[str] = []
    for number in range(dice.randrange(6, 25)):
        kind = dice.random()
        words = " ".join(dice.choices(_WORDS, k=dice.randrange(1, 6)))
        if open_calls and kind < 0.5:
            failed = dice.random() < 0.3
            content = f"Error: {words}" if failed else json.dumps({"found": words}) if kind < 0.2 else words
            call_id = open_calls.pop(dice.randrange(len(open_calls)))
            turns.append(read_message({"role": "tool", "tool_call_id": call_id, "content": content}))
        elif kind < 0.85:
            name = dice.choice(("Read", "Bash", "send_mail"))
            arguments = json.dumps({"command": words, "path": dice.choice((*_WORDS, "quay-77"))})
            call: Json = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            turn = read_message({"role": "assistant", "content": words, "tool_calls": [call]})
            tools = (_TOOL,) if dice.random() < 0.05 else ()
            turns.append(Turn(turn.role, turn.parts, turn.source_role, turn.calls, generation=Generation(tools=tools)))
            open_calls.append(f"c{number}")
        else:
            role = dice.choice((Role.USER, Role.ASSISTANT))
            turns.append(read_message({"role": role.value, "content": f"Done: {words}"}))
    return turns


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(40))
def test_a_session_that_grows_is_inspected_as_at_once(seed: int) -> None:
    dice = random.Random(seed)
    turns, source = _session(dice), Provenance(source="claude-code")
    for number in range(1, len(turns) + 1):
        some = turns[:number]
        if dice.random() < 0.2:  # one of the turns is another one now, as after a rewind
            some[dice.randrange(number)] = read_message(
                {"role": "user", "content": " ".join(dice.choices(_WORDS, k=4))}
            )
        trace = Trace(turns=tuple(some), provenance=source)
        with memoizing():
            grown = inspect_trace(trace)
            flow = trace_values(trace, grown.chain.steps, has_places=False)
        assert grown == inspect_trace(trace)
        assert flow == trace_values(trace, grown.chain.steps, has_places=False)


@pytest.mark.one_in(3)
@pytest.mark.campaign
@pytest.mark.parametrize("path", one_in(48, _LOGS, seed="grows"), ids=lambda path: path.name)
def test_a_labelled_session_that_grows_is_inspected_as_at_once(path: Path) -> None:
    """The gate takes one of 48 sessions, each at every turn; in some rounds one of the turns is another one."""
    dice = random.Random(path.name)
    for trace in read_source(path).records:
        assert isinstance(trace, Trace)
        for number in range(1, len(trace.turns) + 1):
            some = list(trace.turns[:number])
            if dice.random() < 0.3:
                some[dice.randrange(number)] = some[dice.randrange(number)]
            grown = structs.replace(trace, turns=tuple(some))
            with memoizing():
                inspection = inspect_trace(grown)
            assert inspection == inspect_trace(grown)


def test_what_is_not_used_between_two_calls_is_forgotten() -> None:
    values: RecentValues[int] = RecentValues()
    values.put("used", 1)
    values.put("unused", 2)
    forget_unused()
    assert values.get("used") == 1
    forget_unused()
    assert (values.get("used"), values.get("unused")) == (1, None)
    forget_unused()
    forget_unused()
    assert values.get("used") is None
