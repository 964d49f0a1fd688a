"""Which empty results deserve a warning: neither a tool's normal answer nor a search without a match."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspector.chain.data_flow import DataFlow, Flow
from inspector.chain.error_results import is_empty
from inspector.chain.quiet_commands import may_be_silent
from inspector.chain.steps import Step, StepOutcome
from inspector.chain.terminal_tools import bare_name, is_terminal
from inspector.chain.tool_kinds import is_search

_FEWEST = 2  # calls of a tool that were answered well; one alone does not show what is normal for it
_NO_MATCH = re.compile(r"[\[{]\s*[\]}]$")
# Arguments in which the agent writes its own words.
_FREE_TEXT = re.compile(
    r"(?:.*_)?(?:text|message|content|body|reason|thought|summary|title|note|notes|answer|comment|description|query|q|"
    r"prompt|question|code|command|cmd|script|pattern|keywords?|todos?)"
)
_LONGEST, _MOST_WORDS, _MOST_CALLS = 64, 4, 8


@dataclass(frozen=True, slots=True)
class EmptyResult:
    """A call that was answered with nothing, where something could be expected.

    `content` is all that the result says, `""` or an empty JSON value; `made_up` a value of the next call that was not
    found earlier, None where there is none.
    """

    step: Step
    content: str
    made_up: str | None = None


def tools_usually_empty(steps: Iterable[Step]) -> frozenset[str]:
    """The tools that answer nothing in most of their `ok` calls, of which there are two or more: it is their contract.

    Names are as `bare_name` gives them.
    """
    answered, empty = Counter[str](), Counter[str]()
    for step in steps:
        if step.outcome is StepOutcome.OK and step.result is not None and step.call.name:
            name = bare_name(step.call.name)
            answered[name] += 1
            empty[name] += is_empty(step.result)
    return frozenset(name for name, count in empty.items() if answered[name] >= _FEWEST and 2 * count > answered[name])


def empty_results(steps: Sequence[Step], flow: DataFlow) -> Iterator[EmptyResult]:
    """The empty results of `ok` calls that are not what their tool is expected to answer, in order."""
    empty = [step for step in steps if _is_unexpected(step)]
    if not empty:
        return
    known = tools_usually_empty(steps)
    next_values = _NextValues(steps, flow)
    for step in empty:
        if bare_name(step.call.name or "") in known:
            continue
        content = step.result.content.strip() if step.result is not None else ""
        made_up = next_values.made_up(step)
        if made_up is not None or not (is_search(step.call.name or "") and _NO_MATCH.search(content)):
            yield EmptyResult(step, content, made_up)


def _is_unexpected(step: Step) -> bool:
    if step.outcome is not StepOutcome.OK or step.result is None or not is_empty(step.result):
        return False
    return not is_terminal(step.call.name) and not may_be_silent(step.call)


class _NextValues:
    """The values of the calls in the turn that follows a result."""

    def __init__(self, steps: Sequence[Step], flow: DataFlow) -> None:
        self._steps = steps
        self._turns = [step.location.turn for step in steps]
        self._flows: defaultdict[int, list[Flow]] = defaultdict(list)
        for one in flow.flows:
            if not one.origins and not one.is_trivial:
                self._flows[one.step].append(one)

    def made_up(self, step: Step) -> str | None:
        """The first value that names something and was not found before the next turn's calls."""
        known = (step.result_location or step.location).turn
        first = bisect_right(self._turns, known)
        for later in self._steps[first : first + _MOST_CALLS]:
            if later.location.turn != self._turns[first] or is_search(later.call.name or ""):
                return None
            for one in self._flows.get(later.number, ()):
                if _names_something(one):
                    return str(one.value)
        return None


def _names_something(flow: Flow) -> bool:
    """Whether a value can be the name of something that must exist, and is not the agent's own wording."""
    if not isinstance(flow.value, (str, int)):
        return False
    key = next((word for word in reversed(flow.pointer.split("/")) if not word.isdigit()), "")
    text = str(flow.value)
    return len(text) <= _LONGEST and text.count(" ") < _MOST_WORDS and not _FREE_TEXT.fullmatch(key.lower())
