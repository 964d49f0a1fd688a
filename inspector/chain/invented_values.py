"""Values that the agent made up in place of what a failed call should have returned.

A value is made up if the agent writes it, in the calls right after the failure or as a number of its answer, and if no
text of others contains it earlier and no turn of the agent's up to the failure does. Only distinctive values count:
numbers of two digits and more in the answer; e-mail addresses and ids, which are words with longer runs of digits, in
arguments. Dates, paths and prose are none.

    get_user {"name": "Ana"}      -> {"error": "timeout"}
    refund   {"user": "u_88231"}  -> `u_88231` is made up
"""

import re
from bisect import bisect_right
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from operator import is_
from typing import Any

from weaklink.inspector.chain.effects import Effect, EffectKind, effects_of, main_effect, runs_code, runs_shell
from weaklink.inspector.chain.provenance_terms import folded_names
from weaklink.inspector.chain.session_facts import SessionFacts
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.chain.tool_kinds import bare_name, ends_run, is_interpreter, is_terminal
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.memoized import RecentValues, is_memoizing, memoized
from weaklink.inspector.model import Role, Trace, Turn
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_WORD = lazy_pattern(r"\w+")
_THOUSANDS = lazy_pattern(r",(?<=\d,)(?=\d{3})")
_RUN = lazy_pattern(r"\d+")
_NUMBER = lazy_pattern(r"(?<![\d.\w])(?<!\d,)\d{2,15}(?!\w)")  # not what follows a decimal comma
_DECIMAL = lazy_pattern(r"(?<![\w.:/])\d{1,9}\.\d{2,15}(?![\w.:/]\d)")
_ANY_NUMBER = lazy_pattern(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,18})?(?:e-?\d{1,3})?(?!\w)")
_SIZE = lazy_pattern(
    r"\b(?P<number>\d{1,9})(?:\.\d+)? ?(?P<unit>[kmgs])(?:(?<=s)(?:ec\w*)?|(?<!s)(?:i?b|o|б))\b", re.IGNORECASE
)
_GROUPED = lazy_pattern(r"(?<![\d.,])\d{1,3}(?:[.'\u2019\u00a0\u202f ]\d{3})+(?!\d)")  # "48 700", "12.400"
_ROUND = lazy_pattern(r"(?<=\d[1-9])0+\Z")  # of two digits or more: 18,200 for 18230
_UNITS = {"k": 1, "m": 2, "g": 3, "s": 1}  # seconds of milliseconds
_DATE = lazy_pattern(r"\d{4}-\d\d|\d{1,2}[:/.]\d\d")
_ADDRESS = lazy_pattern(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_NO_ID = lazy_pattern(r"[\s/]|\.[A-Za-z]{1,5}$")
# A sentence on what could be done: "Changing the width to 128 would also help."
_PROPOSAL = lazy_pattern(
    r"\b(?:would|could|might|würden?|könnten?|serait|pourrait|sería|podría|seria|poderia|sarebbe|potrebbe)\b",
    re.IGNORECASE,
)
_SENTENCE_END = lazy_pattern(r"(?<=[.!?\n])")
_MAX_VALUES = 200
_MAX_KNOWN = 60  # numbers of which two may give a third
_MIN_USED_CHARS = 3
_FEW_LOOKUPS = 16
_GROWING_TURNS = 4  # the last turns of a session: a further line may change them
_MAX_CALLS = 8  # how many of the next turn's calls are examined


class FirstAppearances:
    """The first turn of every distinctive value of a trace.

    `own_words` are turns of results that only repeat what the agent submitted. Most traces look up few values, so a
    text is split into its values only if it contains one of these; after some lookups all texts are, once, in time
    linear in them. While a session grows, the values of its known turns are remembered: reading them all took a tenth
    of a line's time (Pi, 11 MB, 2026-11-30).
    """

    def __init__(self, trace: Trace, own_words: frozenset[int] = frozenset()) -> None:
        self._turns, self._own_words = trace.turns, own_words
        self._lookups = 0

    def origin(self, value: str) -> int | None:
        """The first turn that is not the agent's and contains this value."""
        return self._first(value)[0]

    def invented(self, values: Iterator[str], *, turn: int, since: int) -> str | None:
        """The first of the values of `turn` that is in no earlier turn of others and no agent's turn up to `since`."""
        for value in values:
            outside, agent = self._first(value)
            if (outside is None or outside >= turn) and (agent is None or agent > since):
                return value
        return None

    def _first(self, value: str) -> tuple[int | None, int | None]:
        """The first turn of a value that is not the agent's, and the first that is."""
        self._lookups += 1
        if self._lookups <= _FEW_LOOKUPS and not is_memoizing():
            having = [number for number, text, folded in self._folded if value in folded and _has_value(text, value)]
            agents = {number for number in having if self._turns[number - 1].role is Role.ASSISTANT}
            return next((number for number in having if number not in agents), None), min(agents, default=None)
        outside, agent = self._tables
        return outside.get(value), agent.get(value)

    @cached_property
    def _folded(self) -> Sequence[tuple[int, str, str]]:
        """The texts with their turns, also in lower case and without commas: a value that is in a text is in that."""
        return [
            (number, part.text, part.text.casefold().replace(",", ""))
            for number, turn in enumerate(self._turns, 1)
            if number not in self._own_words
            for part in turn.parts
        ]

    @cached_property
    def _tables(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The first turn of each value that is not the agent's, and the first that is."""
        turns, own_words = self._turns, self._own_words
        settled = max(len(turns) - _GROWING_TURNS, 0) if is_memoizing() else 0
        before = _values_before.get(id(turns[0])) if settled else None
        if before is None or not before.are_of(turns[:settled], own_words):
            before = _ValuesOfTurns()
        before.add(turns[len(before.turns) : settled], own_words)
        last = _ValuesOfTurns(settled)
        last.add(turns[settled:], own_words)
        if settled:
            _values_before.put(id(turns[0]), before)
        return ChainMap(before.outside, last.outside), ChainMap(before.agent, last.agent)


def _has_value(text: str, value: str) -> bool:
    """Whether a value is one of a text's distinctive ones."""
    if not (text.isascii() and value.isalnum() and value.isascii()):
        return value in distinctive_values(text) or value in addresses(text)
    if value.isalpha():
        return False
    plain = _THOUSANDS.sub("", text).casefold()
    continues = str.isdecimal if value.isdecimal() else _is_in_name
    start = plain.find(value)
    while start >= 0:
        end = start + len(value)
        if not (start and continues(plain[start - 1])) and not (end < len(plain) and continues(plain[end])):
            return True
        start = plain.find(value, start + 1)
    return False


def _is_in_name(character: str) -> bool:
    return character.isalnum() or character == "_"


class _ValuesOfTurns:
    """The first turn of each distinctive value in some turns of a trace, the agent's apart from the others'.

    `start` is the number of turns before them.
    """

    def __init__(self, start: int = 0) -> None:
        self.turns: list[Turn] = []
        self.outside: dict[str, int] = {}
        self.agent: dict[str, int] = {}
        self._start = start
        self._own_words: set[int] = set()

    def add(self, turns: Sequence[Turn], own_words: frozenset[int]) -> None:
        """Add the turns that follow."""
        for number, turn in enumerate(turns, self._start + len(self.turns) + 1):
            if number in own_words:
                self._own_words.add(number)
                continue
            seen = self.agent if turn.role is Role.ASSISTANT else self.outside
            for part in turn.parts:
                for value in chain(distinctive_values(part.text), addresses(part.text)):
                    seen.setdefault(value, number)
        self.turns += turns

    def are_of(self, turns: Sequence[Turn], own_words: frozenset[int]) -> bool:
        """Whether the turns begin with these ones, the same objects, and as many of them are of the agent's words."""
        is_same = len(self.turns) <= len(turns) and all(map(is_, self.turns, turns))
        return is_same and self._own_words == {number for number in own_words if number <= len(self.turns)}


_values_before: RecentValues[_ValuesOfTurns] = RecentValues()  # by the first turn, which each of them holds


@memoized
def distinctive_values(text: str) -> Sequence[str]:
    """The words with a digit, in lower case, and the numbers within them; each once."""
    return tuple(dict.fromkeys(_distinctive(text)))


def _distinctive(text: str) -> Iterator[str]:
    if text.isascii() and _RUN.search(text) is None:
        return
    for word in [name for name in dict.fromkeys(folded_names(_THOUSANDS.sub("", text))) if not name.isalpha()]:
        if word.isdigit():
            yield word
        elif runs := _RUN.findall(word):
            yield word
            yield from runs


@memoized
def addresses(text: str) -> Sequence[str]:
    """The e-mail addresses, in lower case."""
    return [match[0].casefold() for match in _ADDRESS.finditer(text)] if "@" in text else ()


def numbers(text: str) -> Iterator[str]:
    """The integer parts of the numbers in an answer, except those of one digit."""
    matches = _NUMBER.finditer(_THOUSANDS.sub("", text[:20_000]))
    return (match[0] for match, _ in zip(matches, range(_MAX_VALUES), strict=False))


def identifiers(step: Step) -> Iterator[str]:
    """The ids in a call's arguments, in short strings without white space: words with longer runs of digits."""
    arguments = step.call.arguments
    stack: list[Any] = [arguments] if isinstance(arguments, dict) else []
    for _ in range(_MAX_VALUES):
        if not stack:
            return
        value = stack.pop()
        if isinstance(value, dict):
            stack += reversed(list(value.values())[:_MAX_VALUES])
        elif isinstance(value, list):
            stack += reversed(value[:_MAX_VALUES])
        elif isinstance(value, str) and len(value) <= 64 and _ADDRESS.fullmatch(value) is not None:
            yield value.casefold()
        elif isinstance(value, str) and len(value) <= 64 and not _NO_ID.search(value):
            yield from _ids_within(value)


def _ids_within(value: str) -> Iterator[str]:
    if _DATE.match(value):
        return
    for word in _WORD.findall(value):
        runs = _RUN.findall(word)
        if runs and (max(map(len, runs)) >= 4 or (len(word) >= 5 and not word.isdigit() and max(map(len, runs)) >= 2)):
            yield word.casefold()


class InventedValues:
    """Finds the made-up values of one trace."""

    def __init__(self, facts: SessionFacts) -> None:
        self._facts = facts
        self._inventions: dict[int, tuple[str, int, Step | None] | None] = {}  # by the failed step

    def invented(self, failed: Step) -> str | None:
        """A value that the agent made up in place of what the step should have returned, in lower case."""
        invention = self._invention(failed)
        return None if invention is None else invention[0]

    def as_written(self, failed: Step) -> str | None:
        """That value as the agent wrote it."""
        location = self.location_of(failed)
        part = None if location is None else self._facts.trace.turns[location.turn - 1].part(location.part)
        return self.invented(failed) if location is None or part is None else location.range.of(part.text)

    def location_of(self, failed: Step) -> Location | None:
        """The location where the agent first wrote that value; None if there is none, or it is unclear."""
        invention = self._invention(failed)
        if invention is None:
            return None
        value, turn, step = invention
        part = self._facts.trace.turns[turn - 1].part("text" if step is None else step.location.part)
        if part is None:
            return None
        start, end = (0, len(part.text)) if step is None else (step.call.range.start, step.call.range.end)
        written = _as_written(value).search(part.text, start, end)
        return None if written is None else Location(turn, part.name, Range(*written.span("whole")))

    def _invention(self, failed: Step) -> tuple[str, int, Step | None] | None:
        """The made-up value, its turn, and the step whose arguments contain it (None if an answer's text does)."""
        if failed.number not in self._inventions:
            self._inventions[failed.number] = self._search(failed)
        return self._inventions[failed.number]

    def _search(self, failed: Step) -> tuple[str, int, Step | None] | None:
        known = self._facts.tried_until(failed)
        effect = main_effect(effects_of(failed.call))
        is_line = effect is not None and effect.command is not None
        first = bisect_right(self._facts.step_turns, known)
        for step in self._facts.steps[first : first + _MAX_CALLS]:
            if step.location.turn > self._facts.step_turns[first] or (is_line and runs_shell(step.call)):
                break  # a command brings no ids: another port or name in the next one is the agent's choice
            passed = (value for value in identifiers(step) if not self._is_composed(value))
            made_up = self._made_up(passed, turn=step.location.turn, since=failed.location.turn)
            if made_up is not None:
                return made_up, step.location.turn, step
        answer = self._facts.answer
        if answer is None or answer.turn <= known:
            return None
        numbers_said = (number for number in self._answer_numbers if number not in self._rounded)
        looks = effect is not None and effect.kind in (EffectKind.READ, EffectKind.PROBE)
        if is_line and effect is not None and not looks and not runs_code(effect):
            numbers_said = (number for number in numbers_said if not self._facts.is_in_good_call(number))
        made_up = self._made_up(numbers_said, turn=answer.turn, since=failed.location.turn)
        if made_up is None and effect is not None and (computes(failed, effect) or effect.kind is EffectKind.READ):
            made_up = self._made_up_decimal(failed)
        if made_up is None:
            return None
        last = self._facts.steps[-1]
        return made_up, answer.turn, last if is_terminal(last.call.name) else None

    def _is_composed(self, value: str) -> bool:
        """Whether an e-mail address has both its parts from the user: "invite tom@ and eva@, both at b.example"."""
        name, _, host = value.partition("@")
        return bool(host) and self._facts.is_users(name) and self._facts.is_users(host)

    def _made_up(self, values: Iterator[str], *, turn: int, since: int) -> str | None:
        """The first of the values that was made up; most calls and answers have none, and need no table."""
        first = next(values, None)
        return None if first is None else self._appearances.invented(chain((first,), values), turn=turn, since=since)

    def is_computed_elsewhere(self, failed: Step, repair: Step) -> bool:
        """Whether later code only seems to repair a computation: the answer has a number that no result gives."""
        answer, effect = self._facts.answer, main_effect(effects_of(failed.call))
        if answer is None or effect is None or not computes(failed, effect) or self._made_up_decimal(failed) is None:
            return False
        shown = (
            frozenset(_ANY_NUMBER.findall(repair.result.content[:20_000])) if repair.result is not None else frozenset()
        )
        return shown.isdisjoint(_ANY_NUMBER.findall(answer.text[:20_000]))

    def _made_up_decimal(self, failed: Step) -> str | None:
        """The first number with a fraction in the answer that neither others' texts have nor two of theirs give."""
        answer = self._facts.answer
        is_after = answer is not None and answer.turn > self._facts.tried_until(failed)
        return self._underived if is_after else None

    @cached_property
    def _underived(self) -> str | None:
        text = self._facts.answer.text[:20_000] if self._facts.answer is not None else ""
        said = islice(_DECIMAL.findall(_THOUSANDS.sub("", text)), _MAX_KNOWN)
        underived = (number for number in said if not _is_derived(number, self._known_numbers))
        return next((number for number in underived if number not in self._grouped), None)

    @cached_property
    def _known_numbers(self) -> tuple[float, ...]:
        """The numbers in the texts of others, the latest first."""
        texts = [
            part.text for turn in self._facts.trace.turns if turn.role is not Role.ASSISTANT for part in turn.parts
        ]
        known = (
            number for text in reversed(texts) for number in _ANY_NUMBER.findall(_THOUSANDS.sub("", text[:20_000]))
        )
        return tuple(dict.fromkeys(map(float, islice(known, _MAX_VALUES))))

    def is_used(self, failed: Step) -> bool:
        """Whether a later call contains a value that this step's result was the first to contain."""
        if failed.result is None or failed.result_location is None:
            return False
        turn = failed.result_location.turn
        values = distinctive_values(failed.result.content)
        passed = [value for value in values if len(value) >= _MIN_USED_CHARS and self._last_passed.get(value, 0) > turn]
        return any(self._appearances.origin(value) == turn for value in passed)

    def is_own_in_answer(self, failed: Step, words: frozenset[str]) -> bool:
        """Whether some words contain a value that only the result of this step contained."""
        if failed.result is None or failed.result_location is None:
            return False
        turn = failed.result_location.turn
        values = distinctive_values(failed.result.content[:20_000])
        return any(value in words and self._appearances.origin(value) == turn for value in values)

    @cached_property
    def _answer_numbers(self) -> tuple[str, ...]:
        sentences = _SENTENCE_END.split(self._facts.answer.text) if self._facts.answer else ()
        return tuple(numbers("".join(sentence for sentence in sentences if not _PROPOSAL.search(sentence))))

    @cached_property
    def _rounded(self) -> frozenset[str]:
        """The numbers of the answer that are rounded, or in a larger unit: `31 KB` for 31020 bytes."""
        text = self._facts.answer.text[:20_000] if self._facts.answer is not None else ""
        said = [(match["number"], match["unit"].casefold()) for match in _SIZE.finditer(_THOUSANDS.sub("", text))]
        sizes = (
            number
            for number, unit in said
            if any(
                abs(size / base ** _UNITS[unit] - int(number)) < 1
                for size in self._known_numbers
                for base in (1000, 1024)
            )
        )
        near = (number for number in self._answer_numbers if _ROUND.search(number) and self._is_near(number))
        return frozenset((*sizes, *near, *(part for group in self._grouped for part in _RUN.findall(group))))

    @cached_property
    def _grouped(self) -> tuple[str, ...]:
        """The numbers of the answer in groups of three digits that are near one of others': "48 700" for 48713."""
        text = self._facts.answer.text[:20_000] if self._facts.answer is not None else ""
        groups = (match[0] for match in _GROUPED.finditer(text))
        return tuple(group for group in groups if self._is_near(re.sub(r"\D", "", group)))

    def _is_near(self, number: str) -> bool:
        """Whether a number of the answer is one that a result brought, rounded to two digits or more."""
        zeros = _ROUND.search(number)
        unit = 10 ** len(zeros[0]) if zeros is not None else 1
        return any(abs(size - int(number)) < unit for size in self._brought_numbers)

    @cached_property
    def _brought_numbers(self) -> tuple[float, ...]:
        """The numbers in good results, the latest first: a price is not near the number of an order."""
        texts = (
            step.result.content for step in reversed(self._facts.steps) if step.is_good and step.result is not None
        )
        brought = (number for text in texts for number in _ANY_NUMBER.findall(_THOUSANDS.sub("", text[:20_000])))
        return tuple(dict.fromkeys(map(float, islice(brought, _MAX_VALUES))))

    @cached_property
    def _appearances(self) -> FirstAppearances:
        ends = (step.result_location for step in self._facts.steps if ends_run(step.call))
        return FirstAppearances(self._facts.trace, frozenset(end.turn for end in ends if end is not None))

    @cached_property
    def _last_passed(self) -> dict[str, int]:
        """The distinctive values in calls' arguments, each with the last turn that passes it."""
        steps = self._facts.steps
        return {value: step.location.turn for step in steps for value in distinctive_values(step.call.raw_arguments)}


def computes(step: Step, effect: Effect) -> bool:
    """Whether a call passes code to an interpreter."""
    return runs_code(effect) or is_interpreter(bare_name(step.call.name or ""))


def _is_derived(number: str, known: Sequence[float]) -> bool:
    """Whether a number is a known one, rounded or in per cent, or one that two known ones give."""
    value, places = float(number), len(number.partition(".")[2])
    few = known[:_MAX_KNOWN]
    pairs = ((left, right) for left in few for right in few)
    given = (
        result
        for left, right in pairs
        for result in (left + right, left - right, left * right, left / right if right else left, (left + right) / 2)
    )
    close = 0.6 * 10**-places
    return any(
        abs(abs(result) - value) <= close
        for base in (known, given)
        for candidate in base
        for result in (candidate, 100 * candidate)
    )


def _as_written(value: str) -> re.Pattern[str]:
    """Matches the spellings of a lower-case value and the `whole` id around it: `7719` in `SO-7719` or `7,719`."""
    spelled = ",?".join(value) if value.isdigit() else re.escape(value)
    return re.compile(rf"(?<![\w#-])(?P<whole>(?:[\w#]+-)*#?{spelled}(?:-\w+)*(?:\.\d+)?)(?!\w)", re.IGNORECASE)
