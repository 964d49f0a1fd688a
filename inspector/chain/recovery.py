"""Recovery analysis of a failed step: what the agent did next, what replaced it, what its failure caused."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Any

from msgspec import Struct, structs

from inspector.chain.effects import Effect, EffectKind, effects_of, has_known_effect, is_common, main_effect
from inspector.chain.endings import source_says_success
from inspector.chain.failure_words import Speech
from inspector.chain.outcomes import is_empty
from inspector.chain.provenance_terms import folded_names, leaves
from inspector.chain.similar_calls import Intent, IntentValue, intent_of, intents_of, same_intent
from inspector.chain.statements import Judged, Statement, Statements
from inspector.chain.steps import Recovery, ResultKind, Said, Step, StepOutcome
from inspector.chain.tool_kinds import ToolKind, bare_name, ends_run, is_interpreter, is_terminal, kind_of, subjects_of
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
_FEWEST_WORDS = 4


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

    def harmless(self, failed: Step, intent: Intent, judged: Judged) -> bool:
        """Whether a failed step without a replacement did no harm.

        The agent must have continued with another call that worked, and answered or solved its task as a judge says;
        no later call and no answer may use the step, no value may be made up in its place, and the final statement may
        neither claim nor report it. A check that found faults is needed to the end, and so is a change that the user
        named.
        """
        if failed.result_kind is ResultKind.FINDING or self._is_used(failed) or not self._went_another_way(failed):
            return False
        if not _may_be_spared(failed) or (_changes(failed) and self._is_asked(failed)):
            return False
        if (self._answer is None or self._answer.turn <= _known(failed)) and not source_says_success(self._trace):
            return False
        is_in_answer = judged.statement is not None and judged.statement.is_final
        if judged.said is Said.CONCEALED or is_in_answer or self.invented(failed) is not None:
            return False
        return not self._quotes(failed, intent)

    def another_way(self, failed: Step, judged: Judged) -> int | None:
        """The number of a later step that took the other way which the agent named right after a failure.

        It looks or runs something else, as the failed step was to do. What changes files, and what the user named, has
        no other way but one that the rules can see.
        """
        effect = main_effect(effects_of(failed.call))
        is_named = judged.said is Said.REPORTED and judged.statement is not None and judged.is_reply
        if effect is None or not is_named or failed.result_kind is not ResultKind.FAILURE:
            return None
        if effect.kind not in _HAVE_OTHER_WAYS or (effect.kind is EffectKind.RUN and self._is_asked(failed)):
            return None
        known = _known(failed)
        named = self._words_of_reply(judged.statement)
        for step in islice(self._steps, failed.number, failed.number + _MAX_OTHER_WAYS):
            is_later = step.is_good and step.location.turn > known
            if is_later and _is_alternative(effect, step) and not named.isdisjoint(_query_words(step)):
                return step.number
        return None

    def _words_of_reply(self, statement: Statement | None) -> frozenset[str]:
        """The words of three letters and more in the turn of a statement, but those that name nothing."""
        turn = statement.turn if statement is not None else 0
        texts = (speech.text for speech in self._speeches if speech.turn == turn)
        words = (word for text in texts for word in folded_names(text[:_READ]))
        return frozenset(word for word in words if len(word) > 2) - _NAMES_NOTHING

    def _is_asked(self, failed: Step) -> bool:
        """Whether the user named what a failed step was to do: its subcommand, or its target."""
        effect = main_effect(effects_of(failed.call))
        if effect is None:
            return False
        words = {*effect.subject.casefold().split()[1:], *(target.rsplit("/", 1)[-1] for target in effect.targets)}
        if effect.command is None:
            words |= {word for word in bare_name(failed.call.name or "").split("_") if len(word) > 4}
        names = {piece for word in words for piece in (word, word.partition(".")[0]) if len(piece) > 3}
        texts = [text for turn, text in self._user_texts if turn < failed.location.turn]
        spoken = {word for text in texts for word in folded_names(text)}
        return any(name in spoken if name.isalnum() else any(name in text for text in texts) for name in names)

    def judged(self, failed: Step, intent: Intent, *, is_repaired: bool) -> Judged:
        """What the agent said of a failure; nothing if the trace ends before, or during a retry."""
        known, tried = _known(failed), self._tried_until(failed)
        said = self._speech_turns[bisect_right(self._speech_turns, known) :]
        answer = self._answer if self._answer is not None and self._answer.turn > known else None
        went_on = bisect_right(self._step_turns, tried) < len(self._steps)
        if not went_on and answer is None and (not said or said[-1] <= tried):
            return Judged(None)
        judged = self._statements.about(
            failed,
            intent,
            known=known,
            reply=self._reply(failed),
            may_claim=not is_repaired,
            is_alone=self._is_alone(failed),
            is_only=self._is_only_failure,
        )
        is_told = judged.said is Said.REPORTED and judged.statement is not None and judged.statement.is_final
        if not is_repaired and not is_told and self.invented(failed) is not None:
            return Judged(Said.CONCEALED)
        return judged

    def _reply(self, failed: Step) -> int:
        """The agent's first turn after a failure, or after the last of its identical retries; 0 if there is none."""
        index = bisect_right(self._own_turns, self._tried_until(failed))
        return self._own_turns[index] if index < len(self._own_turns) else 0

    def _is_alone(self, failed: Step) -> bool:
        """Whether no other call did what a general claim ("Done.") may be about."""
        return self._last_good_change <= failed.number

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
        if program != intent.tool and not is_common(program) and program.casefold() in self._answer_text:
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

    def place_of(self, statement: Statement | None) -> Location | None:
        """The location of a statement; of one in a terminal tool's arguments, that of the call."""
        if statement is None:
            return None
        text = self._trace.turns[statement.turn - 1].part("text")
        start = text.text.find(statement.text) if text is not None else -1
        if start >= 0:
            return Location(statement.turn, "text", Range(start, start + len(statement.text)))
        last = self._steps[-1] if self._steps else None
        return last.location if last is not None and last.location.turn == statement.turn else None

    @cached_property
    def _answer(self) -> Speech | None:
        """The last words, with the arguments of a terminal tool, if no call of another tool comes after them."""
        last = self._steps[-1] if self._steps else None
        speech = self._speeches[-1] if self._speeches else None
        if last is not None and ends_run(last.call):
            words = speech.text if speech is not None and speech.turn >= last.location.turn else ""
            texts = (value for _, value in leaves(last.call.arguments) if isinstance(value, str))
            turn = speech.turn if speech is not None and words else last.location.turn
            return Speech(turn, "\n".join((words, *(texts if is_terminal(last.call.name) else ()))))
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
        return max((step.location.turn for step in self._steps if step.is_good), default=0)

    @cached_property
    def _last_good_change(self) -> int:
        """The number of the last call that changed or ran something, and worked."""
        return max((step.number for step in self._steps if step.is_good and _changes(step)), default=0)

    @cached_property
    def _own_turns(self) -> list[int]:
        return [number for number, turn in enumerate(self._trace.turns, 1) if turn.role is Role.ASSISTANT]

    @cached_property
    def _user_texts(self) -> list[tuple[int, str]]:
        turns = enumerate(self._trace.turns, 1)
        return [
            (number, "".join(part.text for part in turn.parts)[:_READ].casefold())
            for number, turn in turns
            if turn.role is Role.USER and not turn.flags
        ]

    @cached_property
    def _is_only_failure(self) -> bool:
        runs = {
            step.retry_of or step.number for step in self._steps if step.outcome.failed or step.result_kind is not None
        }
        return len(runs) < 2  # one run of identical calls

    @cached_property
    def _statements(self) -> Statements:
        return Statements(self._speeches, self._answer)

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


_NAMES_NOTHING_TABLE = (
    "that this there here with from into only also then them they have been does will would could cannot because "
    "instead which what when where while just more some other another same first last next right file files code test "
    "the and for are was not but can you all has its one two use now let out off via per may any who how "
    "why too get got "
    "tests error errors failed fails command line name path data work works using used needs need"
)
_NAMES_NOTHING = frozenset(_NAMES_NOTHING_TABLE.split())
_HAVE_OTHER_WAYS = (EffectKind.READ, EffectKind.PROBE, EffectKind.RUN)
_MAX_OTHER_WAYS = 6


def _is_alternative(effect: Effect, step: Step) -> bool:
    """Whether a step may do what one with this effect was to do: look at something, or change or run something."""
    looks = (EffectKind.READ, EffectKind.PROBE)
    kinds = {later.kind for later in effects_of(step.call)} - {EffectKind.NOTHING}
    return bool(kinds) if effect.kind in looks else not kinds.issubset(looks)


def _may_be_spared(step: Step) -> bool:
    """Whether a call may have been made on the side: it looks at something, or its program is not installed.

    What an agent changes or runs, it needs, unless its tool is in no table.
    """
    effect = main_effect(effects_of(step.call))
    if effect is None or not has_known_effect(step.call) or is_interpreter(bare_name(step.call.name or "")):
        return True
    looks = effect.kind in (EffectKind.READ, EffectKind.PROBE, EffectKind.NOTHING)
    return looks or (effect.kind is EffectKind.RUN and "not found" in (step.error or ""))


def _changes(step: Step) -> bool:
    effect = main_effect(effects_of(step.call))
    return effect is not None and effect.kind in (EffectKind.WRITE, EffectKind.RUN) and not is_terminal(step.call.name)


def _known(failed: Step) -> int:
    """The turn in which the agent could see a step's failure."""
    return (failed.result_location or failed.location).turn


def with_recoveries(
    steps: Sequence[Step], analysis: RecoveryAnalysis, attempts: Container[Location] = ()
) -> tuple[Step, ...]:
    """The steps; failed ones with their recovery and with what the agent said. Uses look-ups by key: n log n time.

    `attempts` are the locations of calls in a shape that their format does not parse; a result shows that something
    else parsed it.
    """
    failed = [step for step in steps if step.outcome.failed]
    spoken = [step for step in steps if step.outcome.failed or step.result_kind is not None]
    if not spoken:
        return tuple(steps)
    intents = {step.number: intent_of(step.call) for step in spoken}
    found = _replacements(steps, failed, intents, attempts)
    said: dict[int, Judged] = {}
    for step in spoken:
        is_fault = step.outcome.failed
        is_repaired = not is_fault or step.number in found
        said[step.number] = judged = analysis.judged(step, intents[step.number], is_repaired=is_repaired)
        if is_repaired:
            continue
        if (other := analysis.another_way(step, judged)) is not None:
            found[step.number] = Recovered(Recovery.WORKED_AROUND, other)
        elif analysis.harmless(step, intents[step.number], judged):
            found[step.number] = Recovered(Recovery.NOT_NEEDED)
    return tuple(_marked(step, found.get(step.number), said.get(step.number), analysis) for step in steps)


def _replacements(
    steps: Sequence[Step], failed: Sequence[Step], intents: Mapping[int, Intent], attempts: Container[Location]
) -> dict[int, "Recovered"]:
    """The steps that a later one replaced, by number."""
    found = {step.number: Recovered(Recovery.ANSWERED) for step in failed if _is_answered(step, attempts)}
    good = [step for step in steps if step.is_good or step.number in found]
    ran = [step for step in steps if step.result_kind is ResultKind.FINDING and step.number not in found]
    same = _SameIntent(steps, good, ran, intents)
    for step in failed:
        if step.number not in found and (recovered := same.after(step)) is not None:
            found[step.number] = recovered
    left = [step for step in failed if step.number not in found]
    substitutes = Substitutes(steps, [(step, intents[step.number]) for step in left])
    for step in left:
        if (recovered := substitutes.of(step, intents[step.number])) is not None:
            found[step.number] = recovered
    return found


class Recovered(Struct, frozen=True):
    """How a failed step was recovered, and the number of the step that did it."""

    how: Recovery
    by: int | None = None


class _SameIntent:
    """The successful steps, indexed by every key of every intent of theirs.

    `ran` are checks that reported faults: they replace a check that could not run at all.
    """

    def __init__(
        self, steps: Sequence[Step], good: Sequence[Step], ran: Sequence[Step], failed: Mapping[int, Intent]
    ) -> None:
        self._steps, self._failed = steps, failed
        self._by_key: defaultdict[str, list[int]] = defaultdict(list)
        self._intents: dict[int, tuple[Intent, ...]] = {}
        self._ran = {step.number for step in ran}
        self._good = sorted({step.number for step in good} | self._ran)
        is_any = any(intent.tool is None for intent in failed.values())
        tools = {intent.tool for intent in failed.values()}
        for number in self._good:
            intents = intents_of(steps[number - 1].call)
            if not is_any and tools.isdisjoint(intent.tool for intent in intents):
                continue
            self._intents[number] = intents
            for key in set(chain.from_iterable(intent.keys() for intent in intents)):
                self._by_key[key].append(number)

    def after(self, failed: Step) -> "Recovered | None":
        """The first later step of the same intent that succeeded, and was made when the failure could be known."""
        intent = self._failed[failed.number]
        for number in sorted(set(self._candidates(failed, intent))):
            if number in self._ran and (
                failed.result_kind is not ResultKind.FAILURE or not (intent.tool or "").startswith("check ")
            ):
                continue
            if any(same_intent(intent, other) for other in self._intents.get(number, ())):
                return Recovered(self._how(failed, self._steps[number - 1]), number)
        return None

    def _how(self, failed: Step, later: Step) -> Recovery:
        mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(later.call))
        is_same = bare_name(failed.call.name or "") == bare_name(later.call.name or "") or failed.call.name is None
        if mine is None or theirs is None or mine.kind is EffectKind.CHECK:
            return Recovery.SAME_INTENT
        if is_same and (mine.command is None or mine.subject in {effect.subject for effect in effects_of(later.call)}):
            return Recovery.SAME_INTENT
        return Recovery.OTHER_TOOL

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


def _is_answered(step: Step, attempts: Container[Location]) -> bool:
    is_sound = step.outcome is StepOutcome.MALFORMED and step.call.valid  # only what is beside the call is wrong
    may_be_taken = step.outcome in _MAY_BE_TAKEN or is_sound or step.location in attempts
    if not may_be_taken or step.result is None:
        return False
    return step.error is None and not is_empty(step.result)


def _marked(step: Step, recovered: Recovered | None, judged: Judged | None, analysis: RecoveryAnalysis) -> Step:
    if recovered is not None:
        step = structs.replace(step, recovery=recovered.how, recovered_by=recovered.by)
    if judged is None or judged.said is None:
        return step
    place = analysis.place_of(judged.statement)
    return structs.replace(step, said=judged.said, said_at=place)


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
    """The successful steps, indexed by rare words in the targets of the failed ones; and the lookups among them.

    Another tool replaces a failed call if it has the same effect on the same target, or if it brought what was wanted:

    * a lookup of the same thing by another key, whose result later calls use (`find_user_by_email`, then
      `find_user_by_name`);
    * for a file that could not be read, any later call whose arguments or result hold it;
    * for a file that could not be written, a command that names it and writes;
    * for a program that could not run, another program with the same target.

    A finding whose files are edited later, and that no later check repeats, counts as worked around.
    """

    def __init__(self, steps: Sequence[Step], failed: Iterable[tuple[Step, Intent]]) -> None:
        self._steps = steps
        self._failed = list(failed)
        keys = {key for _, intent in self._failed for value in intent.sought if (key := _rarest(value)) is not None}
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for step in steps if keys else ():
            if step.is_good and step.result is not None and not is_terminal(step.call.name):
                for word in keys.intersection(folded_names(_text(step))):
                    self._by_word[word].append(step.number)

    def of(self, failed: Step, intent: Intent) -> Recovered | None:
        """The first later step of another tool that did the work of `failed`, and how."""
        if failed.call.name is None:
            return None
        if failed.result_kind is ResultKind.FINDING:
            return self._edited(failed, intent)
        if (number := self._lookup(failed)) is not None:
            return Recovered(Recovery.OTHER_TOOL, number)
        if (alike := self._alike(failed)) is not None:
            return alike
        for value in intent.sought:
            for number in self._holding(value, failed):
                how = self._serves(self._steps[number - 1], failed, intent, value)
                if how is not None:
                    return Recovered(how, number)
        return None

    def _alike(self, failed: Step) -> Recovered | None:
        """The next step of another tool or program that looks or runs with most words of a failed one's arguments.

        A program that is not installed is replaced by the next one that looks at something, too.
        """
        mine = main_effect(effects_of(failed.call))
        if mine is None or mine.kind not in _HAVE_OTHER_WAYS:
            return None
        words, known = _query_words(failed), (failed.result_location or failed.location).turn
        is_missing = mine.kind is not EffectKind.RUN and "not found" in (failed.error or "")
        for step in islice(self._steps, failed.number, failed.number + _CANDIDATES_SUBSTITUTES):
            later = main_effect(effects_of(step.call))
            is_other = later is not None and (later.subject, later.command is None) != (
                mine.subject,
                mine.command is None,
            )
            if later is None or not is_other or not step.is_good or step.location.turn <= known:
                continue
            is_alike = len(words) >= _FEWEST_WORDS and 2 * len(words & _query_words(step)) > len(words)
            if (is_alike and later.kind in (mine.kind, EffectKind.RUN, EffectKind.WRITE)) or (
                is_missing and later.kind is mine.kind
            ):
                return Recovered(Recovery.OTHER_TOOL, step.number)
        return None

    def _holding(self, value: IntentValue, failed: Step) -> Iterator[int]:
        numbers = self._by_word.get(_rarest(value) or "", [])
        first = bisect_right(numbers, failed.number)
        since = (failed.result_location or failed.location).turn
        later = [
            n for n in numbers[first : first + _CANDIDATES_SUBSTITUTES] if self._steps[n - 1].location.turn > since
        ]
        sought = next(iter(value.words), value.text) if value.is_path else value.text
        return (number for number in later if sought in _text(self._steps[number - 1]))

    def _serves(self, step: Step, failed: Step, intent: Intent, value: IntentValue) -> Recovery | None:
        """How a later step whose call or result holds a target did the work of `failed`; None if it did not."""
        mine = main_effect(effects_of(failed.call))
        if mine is not None and has_known_effect(failed.call):
            return _serves_effect(step, mine, next(iter(value.words), value.text) if value.is_path else value.text)
        tool, other = failed.call.name or "", step.call.name or ""
        if bare_name(tool) == bare_name(other):
            return None
        if any(target.is_path for target in intent.sought):
            return Recovery.OTHER_TOOL if kind_of(other) is not ToolKind.WRITES else None
        if (kind_of(tool) is ToolKind.WRITES) != (kind_of(other) is ToolKind.WRITES):
            return None
        text = bare_name(other) + " " + _text(step)
        return Recovery.OTHER_TOOL if any(subject in text for subject in subjects_of(tool)) else None

    def _lookup(self, failed: Step) -> int | None:
        """The first later lookup of the same thing by another key whose result a later call uses."""
        thing = _looked_up(failed)
        if thing is None:
            return None
        known = (failed.result_location or failed.location).turn
        for step in self._lookups.get(thing, ()):
            is_later = step.number > failed.number and step.location.turn > known
            if is_later and step.call.name != failed.call.name and step.number in self._used:
                return step.number
        return None

    def _edited(self, failed: Step, intent: Intent) -> Recovered | None:
        """The last later write to a file that a finding names, if the check was not made again."""
        again = (step for step, other in self._failed if step.number > failed.number and other.tool == intent.tool)
        if next(again, None) is not None:
            return None
        named = set(folded_names(_text(failed)))
        for step in self._writes:
            if step.number > failed.number and any(name in named for name in step_files(step)):
                return Recovered(Recovery.WORKED_AROUND, step.number)
        return None

    @cached_property
    def _lookups(self) -> Mapping[str, Sequence[Step]]:
        found: defaultdict[str, list[Step]] = defaultdict(list)
        for step in self._steps:
            if step.is_good and (thing := _looked_up(step)) is not None:
                found[thing].append(step)
        return found

    @cached_property
    def _used(self) -> frozenset[int]:
        return frozenset(number for step in self._steps for number in step.depends_on)

    @cached_property
    def _writes(self) -> Sequence[Step]:
        return [step for step in self._steps if step.is_good and next(step_files(step), None) is not None]


def step_files(step: Step) -> Iterator[str]:
    """The names, without folder and suffix, of the files that a step writes."""
    for effect in effects_of(step.call):
        if effect.kind is EffectKind.WRITE:
            yield from (target.rsplit("/", 1)[-1].partition(".")[0] for target in effect.targets)


def _serves_effect(step: Step, mine: Effect, target: str) -> Recovery | None:
    arguments = step.call.raw_arguments[:_READ].casefold()
    later = main_effect(effects_of(step.call))
    if later is None or later.kind is EffectKind.NOTHING:
        return None
    match mine.kind:
        case EffectKind.READ | EffectKind.PROBE:
            is_held = later.kind is not EffectKind.WRITE and (
                "://" not in mine.targets[0] or mine.targets[0] in arguments
            )
            return Recovery.WORKED_AROUND if is_held else None
        case EffectKind.WRITE:
            writes = target in arguments and later.kind in (EffectKind.RUN, EffectKind.WRITE)
            return Recovery.WORKED_AROUND if writes and _WRITES.search(arguments) else None
        case EffectKind.RUN | EffectKind.CHECK:
            if (
                target not in arguments
                or later.kind not in (EffectKind.RUN, EffectKind.CHECK)
                or later.subject == mine.subject
            ):
                return None
            return Recovery.OTHER_TOOL if later.kind is mine.kind else Recovery.WORKED_AROUND
        case EffectKind.NOTHING:
            return None


_WRITES = lazy_pattern(
    r"write|>|open\(|\bsed\b|\bmv\b|\bcp\b|\btee\b|patch|replace|git (?:checkout|restore|apply)|dump"
)
_BY_KEY = lazy_pattern(r"_(?:by|with|using|via|from|for)_.*")


def _query_words(step: Step) -> frozenset[str]:
    """The words of a call's arguments, without their keys."""
    texts = (value for _, value in leaves(step.call.arguments) if isinstance(value, str))
    words = folded_names(" ".join(texts)[:_READ])
    return frozenset(word for word in words if len(word) > 2 and not word.isdigit())


def _looked_up(step: Step) -> str | None:
    """What a lookup is for, without the key that it uses: `user_id` for `find_user_id_by_email`."""
    name = bare_name(step.call.name or "")
    if kind_of(name) is not ToolKind.READS or has_known_effect(step.call):
        return None
    return "_".join(subjects_of(_BY_KEY.sub("", name))) or None


def _text(step: Step) -> str:
    result = step.result.content[:_READ] if step.result is not None else ""
    return f"{step.call.raw_arguments[:_READ]}\n{result}".casefold()


def _rarest(value: IntentValue) -> str | None:
    """The longest word of a value, the key for the index of successful steps."""
    words = _WORD_SUBSTITUTES.findall(next(iter(value.words), "") if value.is_path else value.text)
    return max((word for word in words if len(word) >= 3), key=len, default=None)
