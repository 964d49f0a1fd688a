"""Another tool that brought what a failed call had asked for."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from inspector.chain.intent import Intent, Sought
from inspector.chain.steps import Step, StepOutcome
from inspector.chain.terminal_tools import bare_name, is_terminal
from inspector.chain.tool_kinds import ToolKind, kind_of, subjects_of
from inspector.chain.words import folded_names

_WORD = re.compile(r"\w+")
_READ = 20_000  # how much of a call's and of a result's text is looked at
_CANDIDATES = 4


class Substitutes:
    """Good steps by the rare words that the failed ones asked for."""

    def __init__(self, steps: Sequence[Step], failed: Iterable[tuple[Step, Intent]]) -> None:
        self._steps = steps
        wanted = {key for _, intent in failed for value in intent.sought if (key := _rarest(value)) is not None}
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for step in steps if wanted else ():
            if step.outcome is StepOutcome.OK and step.result is not None and not is_terminal(step.call.name):
                for word in wanted.intersection(folded_names(_text(step))):
                    self._by_word[word].append(step.number)

    def of(self, failed: Step, intent: Intent) -> int | None:
        """The first later step of another tool whose call and result hold what `failed` asked for."""
        if failed.call.name is None or intent.loose:
            return None
        found = (n for value in intent.sought for n in self._holding(value, failed) if self._serves(n, failed, intent))
        return next(found, None)

    def _holding(self, value: Sought, failed: Step) -> Iterator[int]:
        numbers = self._by_word.get(_rarest(value) or "", [])
        first = bisect_right(numbers, failed.number)
        since = (failed.result_location or failed.location).turn
        later = [n for n in numbers[first : first + _CANDIDATES] if self._steps[n - 1].location.turn > since]
        sought = next(iter(value.words), value.text) if value.is_path else value.text
        return (number for number in later if sought in _text(self._steps[number - 1]))

    def _serves(self, number: int, failed: Step, intent: Intent) -> bool:
        step = self._steps[number - 1]
        mine, theirs = failed.call.name or "", step.call.name or ""
        if bare_name(mine) == bare_name(theirs):
            return False
        if any(value.is_path for value in intent.sought):
            return kind_of(theirs) is not ToolKind.WRITES
        if (kind_of(mine) is ToolKind.WRITES) != (kind_of(theirs) is ToolKind.WRITES):
            return False
        text = bare_name(theirs) + " " + _text(step)
        return any(subject in text for subject in subjects_of(mine))


def _text(step: Step) -> str:
    result = step.result.content[:_READ] if step.result is not None else ""
    return f"{step.call.raw_arguments[:_READ]}\n{result}".casefold()


def _rarest(value: Sought) -> str | None:
    """The longest word of a value: under it the good steps are filed."""
    words = _WORD.findall(next(iter(value.words), "") if value.is_path else value.text)
    return max((word for word in words if len(word) >= 3), key=len, default=None)
