"""What the agent did after a step had failed: whether anything hung on it, and whether it told."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from inspector.chain.endings import source_says_success
from inspector.chain.intent import Intent
from inspector.chain.speech import Speech, admits
from inspector.chain.steps import Reaction, Recovery, Step, StepOutcome
from inspector.chain.terminal_tools import is_terminal
from inspector.chain.values import Appearances, identifiers, numbers, telling
from inspector.diagnostics import Location
from inspector.model import Trace
from inspector.text import Range

_WORD = re.compile(r"\w{3,}")
_NEXT = 8  # of how many of the next turn's calls the arguments are looked at


class Aftermath:
    """What follows the failed steps of one trace. Its indexes are made when first needed, in linear time."""

    def __init__(self, trace: Trace, steps: Sequence[Step], speeches: Sequence[Speech]) -> None:
        self._trace, self._steps = trace, steps
        self._speeches = [speech for speech in speeches if speech.text.strip()]
        self._speech_turns = [speech.turn for speech in self._speeches]
        self._step_turns = [step.location.turn for step in steps]

    def harmless(self, failed: Step, intent: Intent) -> Recovery | None:
        """Why nothing needed a step whose work nobody did; None where something did, or where there is no evidence.

        The source's success is no evidence by itself: the agent must have gone on with another call that worked, no
        later call and no answer may use the step, and no value may be made up in its place. It stands for an answer
        that is not there, and makes the result more certain.
        """
        if self._is_used(failed) or not self._went_another_way(failed):
            return None
        is_success = source_says_success(self._trace) is True
        answer = self._answer if self._answer is not None and self._answer.turn > _known(failed) else None
        if answer is None and not is_success:
            return None
        if answer is not None and (admits(answer.text) or self._quotes(failed, intent)):
            return None
        if self.invented(failed) is not None:
            return None
        return Recovery.SOURCE_SUCCESS if is_success else Recovery.NOT_NEEDED

    def reaction(self, failed: Step) -> Reaction | None:
        """How the agent took a failure; None where the trace ends before it could, or while it tries again."""
        known, tried = _known(failed), self._tried_until(failed)
        said = self._speeches[bisect_right(self._speech_turns, known) :]
        went_on = bisect_right(self._step_turns, tried) < len(self._steps)
        if not went_on and (not said or said[-1].turn <= tried):
            return None
        answer = self._answer if self._answer is not None and self._answer.turn > known else None
        if (said and admits(said[-1].text)) or (answer is not None and admits(answer.text)):
            return Reaction.REPORTED
        if self.invented(failed) is not None:
            return Reaction.CONCEALED
        return Reaction.REPORTED if said and admits(said[0].text) else Reaction.IGNORED

    def invented(self, failed: Step) -> str | None:
        """A value that the agent made up in place of what the step should have brought, in lower case."""
        found = self._invention(failed)
        return None if found is None else found[0]

    def invented_as_written(self, failed: Step) -> str | None:
        """That value as the agent wrote it."""
        place = self.place_of_invented(failed)
        part = None if place is None else self._trace.turns[place.turn - 1].part(place.part)
        return self.invented(failed) if place is None or part is None else place.range.of(part.text)

    def place_of_invented(self, failed: Step) -> Location | None:
        """The characters of that value where the agent first wrote it; None where there is none, or it is unclear."""
        found = self._invention(failed)
        if found is None:
            return None
        value, turn, step = found
        part = self._trace.turns[turn - 1].part("text" if step is None else step.location.part)
        if part is None:
            return None
        start, end = (0, len(part.text)) if step is None else (step.call.range.start, step.call.range.end)
        written = _as_written(value).search(part.text, start, end)
        return None if written is None else Location(turn, part.name, Range(*written.span("whole")))

    def _invention(self, failed: Step) -> tuple[str, int, Step | None] | None:
        """The made-up value, its turn, and the step whose arguments hold it; no step where the answer holds it."""
        known = self._tried_until(failed)
        first = bisect_right(self._step_turns, known)
        for step in self._steps[first : first + _NEXT]:
            if step.location.turn > self._step_turns[first]:
                break
            found = self._appearances.invented(identifiers(step), turn=step.location.turn, since=failed.location.turn)
            if found is not None:
                return found, step.location.turn, step
        answer = self._answer
        if answer is None or answer.turn <= known:
            return None
        found = self._appearances.invented(iter(self._answer_numbers), turn=answer.turn, since=failed.location.turn)
        if found is None:
            return None
        last = self._steps[-1]
        return found, answer.turn, last if is_terminal(last.call.name) else None

    def _tried_until(self, failed: Step) -> int:
        """The turn in which the failure of the last identical call in a row with this one stood to be seen."""
        return self._last_of_run.get(failed.retry_of or failed.number, _known(failed))

    def _went_another_way(self, failed: Step) -> bool:
        return self._last_good_turn > _known(failed)

    def _is_used(self, failed: Step) -> bool:
        """Whether a later call holds a value that this step's result was the first to bring."""
        if failed.result is None or failed.result_location is None:
            return False
        used = self._uses.get(failed.result_location.turn)
        return used is not None and any(value in used for value in telling(failed.result.content))

    def _quotes(self, failed: Step, intent: Intent) -> bool:
        """Whether the final answer speaks of what the step was after, or of what only its result said."""
        if any(value.text in self._answer_text or self._all_said(value.words) for value in intent.sought):
            return True
        program = (intent.tool or "").removeprefix("$ ")
        if program != intent.tool and program.casefold() in self._answer_text:
            return True
        if failed.result is None or failed.result_location is None:
            return False
        turn = failed.result_location.turn
        mine = (value for value in telling(failed.result.content[:20_000]) if self._appearances.origin(value) == turn)
        return any(value in self._answer_words for value in mine)

    def _all_said(self, words: frozenset[str]) -> bool:
        return bool(words) and words <= self._answer_words

    @cached_property
    def _answer(self) -> Speech | None:
        """The last words, or what a terminal tool was given, if no call of another tool comes after them."""
        last = self._steps[-1] if self._steps else None
        if last is not None and is_terminal(last.call.name):
            return Speech(last.location.turn, last.call.raw_arguments)
        speech = self._speeches[-1] if self._speeches else None
        return None if speech is None or (last is not None and last.location.turn >= speech.turn) else speech

    @cached_property
    def _answer_text(self) -> str:
        return self._answer.text[:20_000].casefold() if self._answer else ""

    @cached_property
    def _answer_words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self._answer_text)) | frozenset(telling(self._answer_text))

    @cached_property
    def _answer_numbers(self) -> tuple[str, ...]:
        return tuple(numbers(self._answer.text)) if self._answer else ()

    @cached_property
    def _last_good_turn(self) -> int:
        return max((step.location.turn for step in self._steps if step.outcome is StepOutcome.OK), default=0)

    @cached_property
    def _last_of_run(self) -> dict[int, int]:
        """The turn of the last result of identical calls in a row, by the number of their run's first step."""
        pairs = pairwise(self._steps)
        return {
            step.retry_of: _known(step)
            for before, step in pairs
            if step.retry_of is not None and step.retry_of in (before.retry_of, before.number)
        }

    @cached_property
    def _appearances(self) -> Appearances:
        return Appearances(self._trace)

    @cached_property
    def _uses(self) -> dict[int, set[str]]:
        """The telling values in calls' arguments, by the earlier turn that first brought them."""
        found: defaultdict[int, set[str]] = defaultdict(set)
        for step in self._steps:
            for value in telling(step.call.raw_arguments):
                origin = self._appearances.origin(value)
                if origin is not None and len(value) >= 3 and origin < step.location.turn:
                    found[origin].add(value)
        return dict(found)


def _as_written(value: str) -> re.Pattern[str]:
    """The spellings of a value in lower case, with the `whole` id around it: of `7719` also `SO-7719` and `7,719`."""
    spelled = ",?".join(value) if value.isdigit() else re.escape(value)
    return re.compile(rf"(?<![\w#-])(?P<whole>(?:[\w#]+-)*#?{spelled}(?:-\w+)*)(?!\w)", re.IGNORECASE)


def _known(failed: Step) -> int:
    """The turn in which a step's failure stood for the agent to see."""
    return (failed.result_location or failed.location).turn
