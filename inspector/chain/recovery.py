"""Recovery analysis of a failed step: what the agent did next, what replaced it, what its failure caused."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from msgspec import Struct, structs

from inspector.chain.endings import source_says_success
from inspector.chain.failure_words import Speech, admits_failure
from inspector.chain.outcomes import is_empty
from inspector.chain.provenance_terms import folded_names
from inspector.chain.similar_calls import Intent, IntentValue, intent_of, same_intent
from inspector.chain.steps import Reaction, Recovery, Step, StepOutcome
from inspector.chain.tool_kinds import ToolKind, bare_name, is_terminal, kind_of, subjects_of
from inspector.diagnostics import Location
from inspector.model import Role, Trace
from inspector.scanning import lazy_pattern
from inspector.text import Range

_WORD_VALUES = lazy_pattern(r"\w+")
_THOUSANDS = lazy_pattern(r",(?<=\d,)(?=\d{3})")
_RUN = lazy_pattern(r"\d+")
_NUMBER = lazy_pattern(r"(?<![\d.\w])\d{2,15}(?!\w)")
_DATE = lazy_pattern(r"\d{4}-\d\d|\d{1,2}[:/.]\d\d")
_NO_ID = lazy_pattern(r"[\s/]|\.[A-Za-z]{1,5}$")
_MOST_NUMBERS = 200
_WORD = lazy_pattern(r"\w{3,}")
_NEXT = 8  # how many of the next turn's calls are examined

# A tool may accept what its schema forbids, or exist without having been offered; its own answer proves it.
# A payload that is no call remains none, whatever a server made of it.
_MAY_BE_TAKEN = frozenset((StepOutcome.INVALID, StepOutcome.UNKNOWN_TOOL))
_CANDIDATES = 8  # how many steps under one key are compared; more calls are alike only by chance
_WORD_SUBSTITUTES = lazy_pattern(r"\w+")
_READ = 20_000  # how much of a call's and of a result's text is searched
_CANDIDATES_SUBSTITUTES = 4


class FirstAppearances:
    """The first turn of every distinctive value; built once for a trace, in time linear in its text."""

    def __init__(self, trace: Trace) -> None:
        self._outside: dict[str, int] = {}
        self._agent: dict[str, int] = {}
        for number, turn in enumerate(trace.turns, 1):
            seen = self._agent if turn.role is Role.ASSISTANT else self._outside
            for part in turn.parts:
                for value in distinctive_values(part.text):
                    seen.setdefault(value, number)

    def origin(self, value: str) -> int | None:
        """The first turn that is not the agent's and contains this value."""
        return self._outside.get(value)

    def invented(self, values: Iterator[str], *, turn: int, since: int) -> str | None:
        """The first of the values of `turn` that is in no earlier turn of others and no agent's turn up to `since`."""
        for value in values:
            outside, agent = self._outside.get(value), self._agent.get(value)
            if (outside is None or outside >= turn) and (agent is None or agent > since):
                return value
        return None


def distinctive_values(text: str) -> Iterator[str]:
    """The words with a digit, in lower case, and the numbers within them."""
    for word in [name for name in folded_names(_THOUSANDS.sub("", text)) if not name.isalpha()]:
        if word.isdigit():
            yield word
        elif runs := _RUN.findall(word):
            yield word
            yield from runs


def numbers(text: str) -> Iterator[str]:
    """The integer parts of the numbers in an answer, except those of one digit."""
    found = _NUMBER.finditer(_THOUSANDS.sub("", text[:20_000]))
    return (match[0] for match, _ in zip(found, range(_MOST_NUMBERS), strict=False))


def identifiers(step: Step) -> Iterator[str]:
    """The ids in a call's arguments, in short strings without white space: words with longer runs of digits."""
    arguments = step.call.arguments
    stack: list[Any] = [arguments] if isinstance(arguments, dict) else []
    for _ in range(_MOST_NUMBERS):
        if not stack:
            return
        value = stack.pop()
        if isinstance(value, dict):
            stack += reversed(list(value.values())[:_MOST_NUMBERS])
        elif isinstance(value, list):
            stack += reversed(value[:_MOST_NUMBERS])
        elif isinstance(value, str) and len(value) <= 64 and not _NO_ID.search(value):
            yield from _ids_within(value)


def _ids_within(value: str) -> Iterator[str]:
    if _DATE.match(value):
        return
    for word in _WORD_VALUES.findall(value):
        runs = _RUN.findall(word)
        if runs and (max(map(len, runs)) >= 4 or (len(word) >= 5 and not word.isdigit() and max(map(len, runs)) >= 2)):
            yield word.casefold()


class RecoveryAnalysis:
    """Analyses what follows the failed steps of one trace. Builds its indexes at first use, in linear time."""

    def __init__(self, trace: Trace, steps: Sequence[Step], speeches: Sequence[Speech]) -> None:
        self._trace, self._steps = trace, steps
        self._speeches = [speech for speech in speeches if speech.text.strip()]
        self._speech_turns = [speech.turn for speech in self._speeches]
        self._step_turns = [step.location.turn for step in steps]

    def harmless(self, failed: Step, intent: Intent) -> Recovery | None:
        """Why a failed step without a replacement did no harm; None if something needed it, or without evidence.

        The source's success alone is no evidence: the agent must have continued with another call that worked, no
        later call and no answer may use the step, and no value may be made up in its place. It can replace a missing
        answer, and makes the result more certain.
        """
        if self._is_used(failed) or not self._went_another_way(failed):
            return None
        is_success = source_says_success(self._trace) is True
        answer = self._answer if self._answer is not None and self._answer.turn > _known(failed) else None
        if answer is None and not is_success:
            return None
        if answer is not None and (admits_failure(answer.text) or self._quotes(failed, intent)):
            return None
        if self.invented(failed) is not None:
            return None
        return Recovery.SOURCE_SUCCESS if is_success else Recovery.NOT_NEEDED

    def reaction(self, failed: Step) -> Reaction | None:
        """How the agent reacted to a failure; None if the trace ends before a reaction, or during a retry."""
        known, tried = _known(failed), self._tried_until(failed)
        said = self._speeches[bisect_right(self._speech_turns, known) :]
        went_on = bisect_right(self._step_turns, tried) < len(self._steps)
        if not went_on and (not said or said[-1].turn <= tried):
            return None
        answer = self._answer if self._answer is not None and self._answer.turn > known else None
        if (said and admits_failure(said[-1].text)) or (answer is not None and admits_failure(answer.text)):
            return Reaction.REPORTED
        if self.invented(failed) is not None:
            return Reaction.CONCEALED
        return Reaction.REPORTED if said and admits_failure(said[0].text) else Reaction.IGNORED

    def invented(self, failed: Step) -> str | None:
        """A value that the agent made up in place of what the step should have returned, in lower case."""
        found = self._invention(failed)
        return None if found is None else found[0]

    def invented_as_written(self, failed: Step) -> str | None:
        """That value as the agent wrote it."""
        place = self.place_of_invented(failed)
        part = None if place is None else self._trace.turns[place.turn - 1].part(place.part)
        return self.invented(failed) if place is None or part is None else place.range.of(part.text)

    def place_of_invented(self, failed: Step) -> Location | None:
        """The location where the agent first wrote that value; None if there is none, or it is unclear."""
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
        """The made-up value, its turn, and the step whose arguments contain it (None if an answer's text does)."""
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
        """The turn in which the agent could see the failure of the last identical call in a row with this one."""
        return self._last_of_run.get(failed.retry_of or failed.number, _known(failed))

    def _went_another_way(self, failed: Step) -> bool:
        return self._last_good_turn > _known(failed)

    def _is_used(self, failed: Step) -> bool:
        """Whether a later call contains a value that this step's result was the first to contain."""
        if failed.result is None or failed.result_location is None:
            return False
        used = self._uses.get(failed.result_location.turn)
        return used is not None and any(value in used for value in distinctive_values(failed.result.content))

    def _quotes(self, failed: Step, intent: Intent) -> bool:
        """Whether the final answer mentions the step's target, or a value that only its result contained."""
        if any(value.text in self._answer_text or self._are_in_answer(value.words) for value in intent.sought):
            return True
        program = (intent.tool or "").removeprefix("$ ")
        if program != intent.tool and program.casefold() in self._answer_text:
            return True
        if failed.result is None or failed.result_location is None:
            return False
        turn = failed.result_location.turn
        mine = (
            value
            for value in distinctive_values(failed.result.content[:20_000])
            if self._appearances.origin(value) == turn
        )
        return any(value in self._answer_words for value in mine)

    def _are_in_answer(self, words: frozenset[str]) -> bool:
        return bool(words) and words <= self._answer_words

    @cached_property
    def _answer(self) -> Speech | None:
        """The last words, or the arguments of a terminal tool, if no call of another tool comes after them."""
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
        return frozenset(_WORD.findall(self._answer_text)) | frozenset(distinctive_values(self._answer_text))

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
    def _appearances(self) -> FirstAppearances:
        return FirstAppearances(self._trace)

    @cached_property
    def _uses(self) -> dict[int, set[str]]:
        """The distinctive values in calls' arguments, by the earlier turn that first contained them."""
        found: defaultdict[int, set[str]] = defaultdict(set)
        for step in self._steps:
            for value in distinctive_values(step.call.raw_arguments):
                origin = self._appearances.origin(value)
                if origin is not None and len(value) >= 3 and origin < step.location.turn:
                    found[origin].add(value)
        return dict(found)


def _as_written(value: str) -> re.Pattern[str]:
    """Matches the spellings of a lower-case value and the `whole` id around it: `7719` in `SO-7719` or `7,719`."""
    spelled = ",?".join(value) if value.isdigit() else re.escape(value)
    return re.compile(rf"(?<![\w#-])(?P<whole>(?:[\w#]+-)*#?{spelled}(?:-\w+)*(?:\.\d+)?)(?!\w)", re.IGNORECASE)


def _known(failed: Step) -> int:
    """The turn in which the agent could see a step's failure."""
    return (failed.result_location or failed.location).turn


def with_recoveries(
    steps: Sequence[Step], analysis: RecoveryAnalysis, attempts: Container[Location] = ()
) -> tuple[Step, ...]:
    """The steps, with the recovery of the failed ones filled in. Uses look-ups by key: n log n time.

    `attempts` are the locations of calls in a shape that their format does not parse; a result shows that something
    else parsed it.
    """
    failed = [step for step in steps if step.outcome.failed]
    if not failed:
        return tuple(steps)
    intents = {step.number: intent_of(step.call) for step in failed}
    found = {step.number: Recovered(Recovery.ANSWERED) for step in failed if _is_answered(step, attempts)}
    good = [step for step in steps if step.outcome is StepOutcome.OK or step.number in found]
    comparable = _comparable(failed, intents)
    intents |= {step.number: intent_of(step.call) for step in good if comparable(step)}
    same = _SameIntent(steps, [step.number for step in good], intents)
    for step in failed:
        if step.number not in found and (recovered := same.after(step)) is not None:
            found[step.number] = recovered
    left = [step for step in failed if step.number not in found]
    substitutes = Substitutes(steps, [(step, intents[step.number]) for step in left])
    for step in left:
        if (number := substitutes.of(step, intents[step.number])) is not None:
            found[step.number] = Recovered(Recovery.OTHER_TOOL, number)
        elif (how := analysis.harmless(step, intents[step.number])) is not None:
            found[step.number] = Recovered(how)
    return tuple(_marked(step, found.get(step.number)) for step in steps)


class Recovered(Struct, frozen=True):
    """How a failed step was recovered, and the number of the step that did it."""

    how: Recovery
    by: int | None = None


class _SameIntent:
    """The successful steps that have an intent, indexed by every key of it."""

    def __init__(self, steps: Sequence[Step], good: Iterable[int], intents: Mapping[int, Intent]) -> None:
        self._steps, self._intents = steps, intents
        self._by_key: defaultdict[str, list[int]] = defaultdict(list)
        self._good = [number for number in good if number in intents]
        for number in self._good:
            for key in set(intents[number].keys()):
                self._by_key[key].append(number)

    def after(self, failed: Step) -> Recovered | None:
        """The first later step of the same intent that succeeded, and was made when the failure could be known."""
        intent = self._intents[failed.number]
        candidates = sorted(set(self._candidates(failed, intent)))
        later = (number for number in candidates if same_intent(intent, self._intents[number]))
        by = next(later, None)
        return None if by is None else Recovered(Recovery.SAME_INTENT, by)

    def _candidates(self, failed: Step, intent: Intent) -> Iterator[int]:
        nameless = intent.tool is None
        for numbers in [self._good] if nameless else (self._by_key.get(key, []) for key in set(intent.keys())):
            first = bisect_right(numbers, failed.number)
            known = (number for number in numbers[first : first + 4 * _CANDIDATES] if self._is_after(failed, number))
            yield from (number for number, _ in zip(known, range(_CANDIDATES), strict=False))

    def _is_after(self, failed: Step, number: int) -> bool:
        turn = self._steps[number - 1].location.turn
        if failed.result_location is not None:
            return turn > failed.result_location.turn or failed.result_location.turn == failed.location.turn
        return turn > failed.location.turn or failed.outcome is StepOutcome.MALFORMED


def _comparable(failed: Sequence[Step], intents: Mapping[int, Intent]) -> Callable[[Step], bool]:
    """A test for steps that may have a failed one's intent: of the same tool, or any for a program or unknown tool."""
    tools = {intents[step.number].tool for step in failed}
    if any(tool is None or tool.startswith("$ ") for tool in tools):
        return lambda _: True
    return lambda step: step.call.name is not None and bare_name(step.call.name) in tools


def _is_answered(step: Step, attempts: Container[Location]) -> bool:
    is_sound = step.outcome is StepOutcome.MALFORMED and step.call.valid  # only what is beside the call is wrong
    may_be_taken = step.outcome in _MAY_BE_TAKEN or is_sound or step.location in attempts
    if not may_be_taken or step.result is None:
        return False
    return step.error is None and not is_empty(step.result)


def _marked(step: Step, recovered: Recovered | None) -> Step:
    return step if recovered is None else structs.replace(step, recovery=recovered.how, recovered_by=recovered.by)


def caused_by(broken: Step, steps: Sequence[Step], invented: str | None) -> tuple[int, ...]:
    """The numbers of the later steps that depend on `broken`, directly or through each other, in order.

    Uses the `depends_on` of `steps`. `invented` is the value, in lower case, that the agent made up in place of what
    the broken step should have returned. Linear in the steps and their arguments.
    """
    run = broken.retry_of or broken.number
    tainted, caused = {broken.number}, []
    for step in steps[broken.number :]:
        if step.retry_of == run:  # a retry of the same call is the break itself, not a consequence
            tainted.add(step.number)
        elif not tainted.isdisjoint(step.depends_on) or _contains(step, invented):
            tainted.add(step.number)
            caused.append(step.number)
    return tuple(caused)


def _contains(step: Step, value: str | None) -> bool:
    return value is not None and value in distinctive_values(step.call.raw_arguments)


class Substitutes:
    """The successful steps, indexed by rare words in the targets of the failed ones."""

    def __init__(self, steps: Sequence[Step], failed: Iterable[tuple[Step, Intent]]) -> None:
        self._steps = steps
        keys = {key for _, intent in failed for value in intent.sought if (key := _rarest(value)) is not None}
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for step in steps if keys else ():
            if step.outcome is StepOutcome.OK and step.result is not None and not is_terminal(step.call.name):
                for word in keys.intersection(folded_names(_text(step))):
                    self._by_word[word].append(step.number)

    def of(self, failed: Step, intent: Intent) -> int | None:
        """The first later step of another tool whose call and result contain the target of `failed`."""
        if failed.call.name is None or intent.loose:
            return None
        found = (n for value in intent.sought for n in self._holding(value, failed) if self._serves(n, failed, intent))
        return next(found, None)

    def _holding(self, value: IntentValue, failed: Step) -> Iterator[int]:
        numbers = self._by_word.get(_rarest(value) or "", [])
        first = bisect_right(numbers, failed.number)
        since = (failed.result_location or failed.location).turn
        later = [
            n for n in numbers[first : first + _CANDIDATES_SUBSTITUTES] if self._steps[n - 1].location.turn > since
        ]
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


def _rarest(value: IntentValue) -> str | None:
    """The longest word of a value, the key for the index of successful steps."""
    words = _WORD_SUBSTITUTES.findall(next(iter(value.words), "") if value.is_path else value.text)
    return max((word for word in words if len(word) >= 3), key=len, default=None)
