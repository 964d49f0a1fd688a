"""What the rules about failures need to know of a whole session: its answer, its user's words, its runs of calls.

Each fact is found at its first use, in time linear in the trace; a session without a failure needs none.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from weaklink.inspector.chain.assertions import denies
from weaklink.inspector.chain.effects import EffectKind, effects_of, main_effect, only_asks, runs_task
from weaklink.inspector.chain.provenance_terms import folded_names, leaves
from weaklink.inspector.chain.steps import Certainty, Speech, Step
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, ends_run, is_terminal, kind_of, program_answer
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Role, Trace
from weaklink.inspector.scanning import lazy_pattern

_MAX_TEXTS = 20
_SHORT_TEXT = 120
_THANKS = lazy_pattern(
    r"""
    \b(?:
        # English
        thanks? | thank[ ]you | thx | cheers
        # other languages with spaces between words
        | danke | merci | gracias | gràcies | grazie | obrigad[oa] | спасибо | дякую | благодаря | dzięk\w+
        | děkuj\w+ | díky | ďakuj\w+ | hvala | bedankt | dank[ ]je | tack | tak | takk | teşekkür\w* | mulțumesc
        | köszön\w+ | kiitos | ευχαριστ\w+ | terima[ ]kasih | makasih | cảm[ ]ơn | شكر\w* | תודה
    )\b
    # Hindi, Thai, Chinese, Japanese, Korean
    | धन्यवाद | ขอบคุณ | 谢谢 | 謝謝 | ありがとう | 감사 | 고마워
    """,
    re.VERBOSE,
)
_MIN_NEW_WORDS = 5  # an answer with fewer says nothing that would need a source
MAX_READ_CHARS = 20_000
_MAX_RESULT_CHARS = 4_000  # of each result
"""How much of a call's, of a result's and of an answer's text is searched."""

NOT_INSTALLED = lazy_pattern(
    r"command not found|(?<!\d): not found\b|no such (?:sub)?command|not recogni[sz]ed as|not installed|"
    r"no module named|executable (?:doesn['’]t|does not) exist|"
    r"(?:code|status)\W{1,3}127\b|unknown (?:skill|tool|command)",
    re.IGNORECASE,
)
"""What a shell says of a program that it did not find, Python of a module, an agent of a tool."""


class SessionFacts:
    """The facts of one trace; `steps` are its calls in order, `speeches` the agent's texts."""

    def __init__(self, trace: Trace, steps: Sequence[Step], speeches: Sequence[Speech]) -> None:
        self.trace, self.steps = trace, steps
        self.speeches = [speech for speech in speeches if speech.text.strip()]
        self.speech_turns = [speech.turn for speech in self.speeches]
        self.step_turns = [step.location.turn for step in steps]
        self._said: dict[int, tuple[str, frozenset[str]]] = {}
        self._named_urls: dict[str, tuple[frozenset[str], ...]] = {}
        self._first_of_pairs: dict[tuple[str, str], int] = {}

    @cached_property
    def answer(self) -> Speech | None:
        """The last words, with the arguments of a terminal tool, if no call of another tool comes after them."""
        last = self.steps[-1] if self.steps else None
        speech = self.speeches[-1] if self.speeches else None
        if last is not None and ends_run(last.call):
            before = max((known_turn(step) for step in self.steps[:-1]), default=0)
            words = speech.text if speech is not None and speech.turn > before else ""
            texts = [value for _, value in leaves(last.call.arguments) if isinstance(value, str)]
            written = texts if is_terminal(last.call.name) else [program_answer(last.call) or ""]
            turn = speech.turn if speech is not None and words else last.location.turn
            return Speech(turn, "\n".join(filter(None, (words, *written))))
        if speech is None or (last is not None and last.location.turn >= speech.turn):
            return None
        previous = self.speeches[-2] if len(self.speeches) > 1 else speech
        is_after_calls = last is None or last.location.turn < previous.turn
        return previous if is_after_calls and self._only_thanks_since(previous.turn, speech) else speech

    def _only_thanks_since(self, turn: int, speech: Speech) -> bool:
        """Whether the user only gave thanks after a turn, so that the agent's last words are only polite."""
        texts = [text for number, text in self.user_texts if turn < number < speech.turn]
        is_polite = len(speech.text) < _SHORT_TEXT and not denies(speech.text)
        return (
            is_polite and bool(texts) and all(len(text) < _SHORT_TEXT // 2 and _THANKS.search(text) for text in texts)
        )

    @cached_property
    def last_good_change(self) -> int:
        """The number of the last call that changed or ran something, and worked."""
        return next((step.number for step in reversed(self.steps) if step.is_good and changes(step)), 0)

    @cached_property
    def first_good_change(self) -> int:
        """The number of the first call that changed or ran something, and worked; 0 if none did."""
        return next((step.number for step in self.steps if step.is_good and changes(step)), 0)

    @cached_property
    def has_changed_anything(self) -> bool:
        """Whether a call that worked changed or ran something, and did not only ask (`GET`, `select`)."""
        return any(step.is_good and changes(step) and only_asks(step.call) is not True for step in self.steps)

    @cached_property
    def own_turns(self) -> list[int]:
        """The numbers of the agent's turns."""
        return [number for number, turn in enumerate(self.trace.turns, 1) if turn.role is Role.ASSISTANT]

    @cached_property
    def user_texts(self) -> list[tuple[int, str]]:
        """The user's own texts in lower case, with their turns."""
        turns = enumerate(self.trace.turns, 1)
        return [
            (number, "".join(part.text for part in turn.parts)[:MAX_READ_CHARS].casefold())
            for number, turn in turns
            if turn.role is Role.USER and not turn.flags
        ]

    @cached_property
    def is_only_failure(self) -> bool:
        """Whether at most one call, with its identical retries, did not get what it was made for."""
        runs = {
            step.retry_of or step.number for step in self.steps if step.outcome.failed or step.result_kind is not None
        }
        return len(runs) < 2  # one run of identical calls

    @cached_property
    def last_of_run(self) -> dict[int, int]:
        """The turn of the last result of identical calls in a row, by the number of their run's first step."""
        pairs = pairwise(self.steps)
        return {
            step.retry_of: known_turn(step)
            for before, step in pairs
            if step.retry_of is not None and step.retry_of in (before.retry_of, before.number)
        }

    def tried_until(self, failed: Step) -> int:
        """The turn in which the agent could see the failure of the last identical call in a row with this one."""
        return self.last_of_run.get(failed.retry_of or failed.number, known_turn(failed))

    def goes_on_after(self, failed: Step) -> bool:
        """Whether the agent said or called anything after a failure and its identical retries."""
        known, tried = known_turn(failed), self.tried_until(failed)
        if self.answer is not None and self.answer.turn > known:
            return True
        is_said = bool(self.speech_turns) and self.speech_turns[-1] > max(known, tried)
        return is_said or bisect_right(self.step_turns, tried) < len(self.steps)

    def is_target_used(self, failed: Step) -> bool:
        """Whether a call that worked names the target of a failed one: for an unknown tool, its short values."""
        effect = main_effect(effects_of(failed.call))
        targets: Sequence[str] = effect.targets if effect is not None else ()
        if effect is not None and not targets and effect.command is None:
            values = (value.casefold() for _, value in leaves(failed.call.arguments) if isinstance(value, str))
            targets = [value for value in values if 3 < len(value) < 80]
            return bool(targets) and all(target in self.good_arguments for target in targets)
        return any(target in self.good_arguments for target in targets)

    @cached_property
    def good_arguments(self) -> str:
        """The arguments of the calls that worked, in lower case: one text, which is searched at once."""
        return "\n".join(step.call.raw_arguments[:MAX_READ_CHARS].casefold() for step in self.steps if step.is_good)

    @cached_property
    def good_texts(self) -> str:
        """The arguments and the beginnings of the results of the calls that worked."""
        results = (
            step.result.content[:_MAX_RESULT_CHARS] for step in self.steps if step.is_good and step.result is not None
        )
        return "\n".join((self.good_arguments[:MAX_READ_CHARS], *results))[: 2 * MAX_READ_CHARS]

    def task_stems_beside(self, failed: Step) -> frozenset[str]:
        """The stems of the words of other tasks that the program of a failed call ran, and that worked."""
        mine = main_effect(effects_of(failed.call))
        if mine is None or mine.command is None or not runs_task(mine.command.program):
            return frozenset()
        return self._stems_of_good_tasks.get(mine.command.program, frozenset())

    @cached_property
    def _stems_of_good_tasks(self) -> dict[str, frozenset[str]]:
        """The beginnings of the first operands of each program's successful calls."""
        stems: dict[str, set[str]] = {}
        for step in self.steps:
            for effect in effects_of(step.call) if step.is_good else ():
                if effect.command is not None and runs_task(effect.command.program):
                    words = stems.setdefault(effect.command.program, set())
                    words.update(word[:_STEM] for word in effect.command.operands[:2])
        return {program: frozenset(words) for program, words in stems.items()}

    @cached_property
    def shown_numbers(self) -> frozenset[str]:
        """The numbers in the results of the calls that worked."""
        results = (step.result.content[:MAX_READ_CHARS] for step in self.steps if step.is_good and step.result)
        return frozenset(number for content in results for number in _NUMBER.findall(content))

    @cached_property
    def changing_arguments(self) -> str:
        """The arguments of the calls that worked and changed or ran something, in lower case."""
        good = (step for step in self.steps if step.is_good and changes(step))
        return "\n".join(step.call.raw_arguments[:MAX_READ_CHARS].casefold() for step in good)

    def is_word_of_good_call(self, word: str) -> bool:
        """Whether a call that worked has a word, in lower case, that is no part of an option: not `--skip-seed`."""
        text, start = self.good_arguments, self.good_arguments.find(word)
        while start >= 0:
            end = start + len(word)
            if not _is_in_word(text[max(start - 1, 0) : start]) and not _is_in_word(text[end : end + 1]):
                return True
            start = text.find(word, start + 1)
        return False

    def is_in_good_call(self, value: str) -> bool:
        """Whether a call that worked passes a value, in lower case: the agent's own choice."""
        return value in self.good_arguments

    @cached_property
    def written_names(self) -> frozenset[str]:
        """The names of the files that calls which worked have written, whole and without suffix."""
        effects = (effect for step in self.steps if step.is_good for effect in effects_of(step.call))
        targets = (target for effect in effects if effect.kind is EffectKind.WRITE for target in effect.targets)
        names = (target.rsplit("/", 1)[-1] for target in targets)
        return frozenset(word for name in names for word in (name, name.partition(".")[0]))

    def has_no_source(self, failed: Step) -> bool:
        """Whether the agent answered at length after failed looks alone: no call brought what the answer says.

        What it wrote to files was an answer, too, if the user had named what it was to look at.
        """
        effect = main_effect(effects_of(failed.call))
        if effect is None or (effect.command is not None and effect.kind not in (EffectKind.READ, EffectKind.PROBE)):
            return False
        kind = kind_of(failed.call.name or "") if effect.command is None else ToolKind.READS
        may_look = kind is ToolKind.UNKNOWN and asks_for_words(self.request_before(failed))
        if not (effect.kind in (EffectKind.READ, EffectKind.PROBE) or kind is ToolKind.READS or may_look):
            return False
        is_named = failed.certainty is not Certainty.TEXTUAL and any(map(self.is_users, effect.targets))
        if self.answer is None or (self._has_brought if is_named else self._has_worked_before_end):
            return False
        known = f"{self.texts_before(failed)}\n{failed.call.raw_arguments}"
        told = f"{self.answer.text}\n{self.changing_arguments}"
        new = frozenset(folded_names(told)) - frozenset(folded_names(known))
        is_dated = any(match[0] not in known for match in _WHEN.finditer(self.answer.text.casefold()))
        return is_dated or sum(len(word) > 3 for word in new) >= _MIN_NEW_WORDS

    def siblings_of(self, failed: Step) -> Sequence[Step]:
        """The calls of the same tool or program that worked."""
        return self._good_by_doer.get(_doer(failed), ())

    @cached_property
    def _good_by_doer(self) -> dict[tuple[str, str], list[Step]]:
        steps: dict[tuple[str, str], list[Step]] = {}
        for step in self.steps:
            if step.is_good:
                steps.setdefault(_doer(step), []).append(step)
        return steps

    def is_one_of_several(self, failed: Step) -> bool:
        """Whether another call of the same tool or program worked."""
        return _doer(failed) in self._good_by_doer

    def calls_like(self, failed: Step) -> int:
        """How many calls there were of the same tool or program."""
        return self._calls_of_doers[_doer(failed)]

    @cached_property
    def _calls_of_doers(self) -> Counter[tuple[str, str]]:
        return Counter(map(_doer, self.steps))

    @cached_property
    def has_worked(self) -> bool:
        """Whether any call worked."""
        return any(step.is_good for step in self.steps)

    @cached_property
    def _has_worked_before_end(self) -> bool:
        """Whether any call worked besides one that ends the work."""
        return any(step.is_good and not ends_run(step.call) for step in self.steps)

    @cached_property
    def _has_brought(self) -> bool:
        """Whether any call worked besides one that ends the work, or that writes what the agent knows."""
        return any(step.is_good and not ends_run(step.call) and not _only_writes(step) for step in self.steps)

    @cached_property
    def _tool_names(self) -> frozenset[str]:
        return frozenset(bare_name(step.call.name) for step in self.steps if step.call.name)

    def words_of_other_tools(self, failed: Step) -> frozenset[str]:
        """The words, without plural endings, of the names of the tools that are called besides that of a step."""
        names = self._tool_names - {bare_name(failed.call.name or "")}
        return frozenset(word.removesuffix("s") for name in names for word in name.split("_"))

    def reply_to(self, failed: Step) -> int:
        """The turn of the agent's first words after a failure, at the latest its first turn after identical retries.

        0 if there is none.
        """
        known, tried = known_turn(failed), self.tried_until(failed)
        said = bisect_right(self.speech_turns, known)
        index = bisect_right(self.own_turns, tried)
        last = self.own_turns[index] if index < len(self.own_turns) else 0
        return min(last, self.speech_turns[said]) if said < len(self.speech_turns) else last

    def late_reply_to(self, failed: Step) -> int:
        """The turn of the agent's first words after a failure if a few turns with silent looks that worked come before.

        What it says then is what it found out about the failure, in whatever words. 0 if there is none.
        """
        first = bisect_right(self.own_turns, self.tried_until(failed))
        for index in range(first, min(first + _MAX_SILENT_LOOKS, len(self.own_turns) - 1)):
            if not self._only_looks_in(self.own_turns[index]):
                return 0
            if self._speaks_in(turn := self.own_turns[index + 1]):
                return turn
        return 0

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """The errors of the session, each once."""
        return tuple(dict.fromkeys(step.error for step in self.steps if step.error))[:_MAX_ERRORS]

    def _only_looks_in(self, turn: int) -> bool:
        """Whether the agent said nothing in a turn, and only looked at something, which worked."""
        first, end = bisect_left(self.step_turns, turn), bisect_right(self.step_turns, turn)
        steps = self.steps[first:end]
        is_look = bool(steps) and all(_only_looks(step) and not step.outcome.failed for step in steps)
        return is_look and not self._speaks_in(turn)

    def _speaks_in(self, turn: int) -> bool:
        index = bisect_left(self.speech_turns, turn)
        return index < len(self.speech_turns) and self.speech_turns[index] == turn

    def is_answered(self, turn: int) -> bool:
        """Whether the user spoke after the agent's words of a turn: what they say is known, and hides nothing."""
        return bool(self._user_turns) and self._user_turns[-1] > turn

    def are_listed_together(self, later: Step, failed: Step) -> bool:
        """Whether two commands act on different URLs that the user, or one earlier result, names beside each other."""
        first, second = (
            frozenset(target for effect in effects_of(step.call) for target in effect.targets if "://" in target)
            for step in (later, failed)
        )
        if not first or not second or not first.isdisjoint(second):
            return False
        if any(not urls.isdisjoint(first) and not urls.isdisjoint(second) for urls in self._urls_said_before(failed)):
            return True
        pairs = ((mine, its) for mine in first for its in second)
        return any(self._first_naming_both(mine, its) < failed.number for mine, its in pairs)

    def _urls_said_before(self, step: Step) -> tuple[frozenset[str], ...]:
        """The URLs that the user had named in one breath before a step."""
        text = self.texts_before(step)
        if text not in self._named_urls:
            self._named_urls[text] = tuple(filter(None, _urls_in_a_row(text))) if "://" in text else ()
        return self._named_urls[text]

    def _first_naming_both(self, mine: str, its: str) -> int:
        """The number of the first step whose result names two URLs; one more than there are steps if none does."""
        pair = (mine, its)
        if pair not in self._first_of_pairs:
            both: set[int] = self._naming_urls.get(mine, set()) & self._naming_urls.get(its, set())
            self._first_of_pairs[pair] = min(both, default=len(self.steps) + 1)
        return self._first_of_pairs[pair]

    @cached_property
    def _naming_urls(self) -> dict[str, set[int]]:
        """For each URL in a result the numbers of the steps whose results name it."""
        naming: dict[str, set[int]] = {}
        for step in self.steps:
            text = step.result.content[:MAX_READ_CHARS] if step.result is not None else ""
            for url in _URL.findall(text.casefold()) if "://" in text else ():
                naming.setdefault(url, set()).add(step.number)
        return naming

    def is_users(self, value: str) -> bool:
        """Whether the user's own texts contain a value, in lower case."""
        return any(value in text for _, text in self.user_texts)

    def texts_before(self, failed: Step) -> str:
        """What the user had said before a step, in lower case: at most the last twenty texts."""
        return self._said_before(failed)[0]

    def words_before(self, failed: Step) -> frozenset[str]:
        """The words of these texts."""
        return self._said_before(failed)[1]

    def _said_before(self, failed: Step) -> tuple[str, frozenset[str]]:
        count = bisect_left(self._user_turns, failed.location.turn)
        if count not in self._said:
            text = "\n".join(text for _, text in self.user_texts[max(0, count - _MAX_TEXTS) : count])
            self._said[count] = text, frozenset(folded_names(text))
        return self._said[count]

    @cached_property
    def _user_turns(self) -> list[int]:
        return [turn for turn, _ in self.user_texts]

    @cached_property
    def first_good(self) -> dict[str, int]:
        """The first turn with a call of each tool that worked."""
        first: dict[str, int] = {}
        for step in self.steps:
            if step.is_good and step.call.name is not None:
                first.setdefault(step.call.name, step.location.turn)
        return first

    def request_before(self, failed: Step) -> str:
        """What the user last said before a step, in lower case; "" if nothing is recorded."""
        count = bisect_left(self._user_turns, failed.location.turn)
        return self.user_texts[count - 1][1] if count else ""

    def wish_for(self, failed: Step) -> str:
        """The parts of the user's last request that share a word with a call which calls that worked have not.

        If none does, the first part for a call before any change that worked, the others for a later one.
        """
        before = self._request_before_assent(failed)
        if before:
            return f"{self._own_wish(before, failed)}\n{self.request_before(failed)}"
        return self._own_wish(self.request_before(failed), failed)

    def is_beside_wish(self, failed: Step) -> bool:
        """Whether the request is one wish without a word of this call's own, and a call made a change for it."""
        request = self._request_before_assent(failed) or self.request_before(failed)
        parts, own = self._wishes_for(request, failed)
        if own or len(parts) != 1:
            return False
        asked = self._user_turns[bisect_left(self._user_turns, failed.location.turn) - 1]
        return bool(self._good_change_turns) and self._good_change_turns[-1] > asked

    def is_one_wish(self, failed: Step) -> bool:
        """Whether the user last asked for one thing."""
        return len(self._wishes_for(self.request_before(failed), failed)[0]) == 1

    @cached_property
    def _good_change_turns(self) -> list[int]:
        return [step.location.turn for step in self.steps if step.is_good and changes(step)]

    def _own_wish(self, request: str, failed: Step) -> str:
        parts, own = self._wishes_for(request, failed)
        is_first = not 0 < self.first_good_change <= failed.number
        return " ".join(own or (parts[:1] if is_first else parts[1:])) or request

    def _wishes_for(self, request: str, failed: Step) -> tuple[list[str], list[str]]:
        """The wishes of a request, and those which share a word with a call that calls which worked have not."""
        words = _stems_of(f"{failed.call.name} {failed.call.raw_arguments[:MAX_READ_CHARS]}") - self._good_stems
        parts = [part for part in _wishes(request) if len(part.split()) > 1 or len(part) > _STEM or _is_cjk(part)]
        return parts, [part for part in parts if not words.isdisjoint(_stems_of(part))]

    def _request_before_assent(self, failed: Step) -> str:
        """The longer request before the few words that the user last said before a step, "" if they are no few."""
        count = bisect_left(self._user_turns, failed.location.turn)
        texts = [text for _, text in self.user_texts[max(0, count - _MAX_TEXTS) : count]]
        if len(texts) < _SEVERAL or len(texts[-1].split()) > _FEW_WORDS or _is_cjk(texts[-1]):
            return ""
        return next((text for text in reversed(texts[:-1]) if len(text.split()) > _FEW_WORDS), "")

    @cached_property
    def _good_stems(self) -> frozenset[str]:
        return _stems_of(f"{' '.join(sorted(self.first_good))} {self.good_arguments[:MAX_READ_CHARS]}")

    def is_asked(self, failed: Step) -> bool:
        """Whether the user named what a failed step was to do: its subcommand, or its target."""
        effect = main_effect(effects_of(failed.call))
        if effect is None:
            return False
        words = {*effect.subject.casefold().split()[1:], *(target.rsplit("/", 1)[-1] for target in effect.targets)}
        if effect.command is None:
            words |= {word for word in bare_name(failed.call.name or "").split("_") if len(word) > 4}
        names = {piece for word in words for piece in (word, word.partition(".")[0]) if len(piece) > 3}
        count = bisect_left(self._user_turns, failed.location.turn)
        texts = [text for _, text in self.user_texts[:count]]
        spoken = self._first_spoken
        return any(
            spoken.get(name, count) < count if name.isalnum() else any(name in text for text in texts) for name in names
        )

    @cached_property
    def _first_spoken(self) -> dict[str, int]:
        """For each word of the user's, the index of the first text that has it."""
        first: dict[str, int] = {}
        for index, (_, text) in enumerate(self.user_texts):
            for word in folded_names(text):
                first.setdefault(word, index)
        return first


@memoized
def _stems_of(text: str) -> frozenset[str]:
    """The beginnings of the longer words of a text."""
    return frozenset(
        word[:_STEM] for name in set(folded_names(text)) for word in name.split("_") if len(word) >= _STEM - 1
    )


def _is_in_word(character: str) -> bool:
    """Whether a character beside a word is part of it."""
    return character.isalnum() or (bool(character) and character in "_-")


_URL = lazy_pattern(r"(?<![\w/:])https?://[^\s\"'<>,;)\]`]{1,300}(?<![./])")
_LISTING_WORDS = frozenset(("and", "und", "et", "y", "e", "en", "och", "og", "i", "и", "-", "*", "&"))


def _urls_in_a_row(text: str) -> Iterator[frozenset[str]]:
    """The URLs that a text names in one breath: not "A, or if it is down B"."""
    run: set[str] = set()
    for word in text.split():
        if urls := _URL.findall(word):
            run.update(urls)
        elif word not in _LISTING_WORDS:
            yield frozenset(run)
            run.clear()
    yield frozenset(run)


# A day that only a source could tell.
_WHEN = lazy_pattern(
    r"""
    \b(?:
        # English
        today | tonight | tomorrow | this[ ](?:morning|afternoon|evening|week) | next[ ]week
        | (?:mon|tues|wednes|thurs|fri|satur|sun)day
        # other languages with spaces between words
        | heute | (?<!guten[ ])morgen | übermorgen | aujourd['’]hui | demain | hoy | mañana | oggi | domani
        | hoje | amanhã | vandaag | imorgon | i[ ]morgen | сегодня | завтра | сьогодні | dziś | jutro | dnes
        | zítra | bugün | yarın
    )\b
    # Chinese, Japanese, Korean
    | 今天 | 明天 | 今日 | 明日 | 오늘 | 내일
    """,
    re.VERBOSE,
)
_NUMBER = lazy_pattern(r"\d+")
# A name, or a value that is more than an integer: `5_000`, `5s`, `0x1388`, `5.0`, `00:05`.
_NAME = lazy_pattern(r"[^\W\d]\w{2,}(?:[.-]\w+)*|\d+(?:[:.,-]\d+)+|\d+[^\W\d]\w*")
_MAX_ERRORS, _MAX_SILENT_LOOKS = 20, 3
_STEM, _SEVERAL, _FEW_WORDS = 5, 2, 6
_WISH_END = lazy_pattern(
    r"""
    # a comma that begins no relative or object clause
    ,(?!\s*(?:that|which|who|dass|der|die|das|que|qui|che|что|чтобы|що|щоб|że|żeby|že|který|dat)\b)
    # the end of a sentence
    | [;.!?](?=\s|$) | [\n，、；。]
    # a conjunction
    | (?<!\S)(?:
        and | then | und | dann | et | puis | ensuite | y | luego | e | poi | depois | i | oraz | potem | pak
        | и | і | та | потом | затем | en | daarna | och | og | ve | sonra
    )(?!\S)
    # Chinese and Japanese
    | 然后 | 并且 | して
    """,
    re.VERBOSE,
)
# "And" in Czech and Slovak; elsewhere it is an article or a preposition.
_SLAVIC_A = lazy_pattern(r"(?<!\S)a(?!\S)")
_CZECH = lazy_pattern(r"[ěřůľťďňčšž]")
_CJK = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")


def _wishes(request: str) -> Iterator[str]:
    """The parts of a request, in lower case, each of which may be a wish of its own."""
    for part in _WISH_END.split(request):
        yield from _SLAVIC_A.split(part) if _CZECH.search(request) is not None else (part,)


def _is_cjk(text: str) -> bool:
    """Whether a text is of Chinese, Japanese or Korean, which say much in few characters."""
    return _CJK.search(text) is not None


def known_turn(failed: Step) -> int:
    """The turn in which the agent could see a step's failure."""
    return (failed.result_location or failed.location).turn


def _targets(step: Step) -> frozenset[str]:
    """The files that a call reads or changes."""
    return frozenset(target for effect in effects_of(step.call) for target in effect.targets)


def _only_looks(step: Step) -> bool:
    """Whether a call only looks at something, or puts a statement that only asks."""
    looks = (EffectKind.READ, EffectKind.PROBE, EffectKind.NOTHING)
    effects = effects_of(step.call)
    return bool(effects) and (all(effect.kind in looks for effect in effects) or only_asks(step.call) is True)


def _only_writes(step: Step) -> bool:
    """Whether a call only writes to files."""
    effects = effects_of(step.call)
    return bool(effects) and all(effect.kind in (EffectKind.WRITE, EffectKind.NOTHING) for effect in effects)


def changes(step: Step) -> bool:
    """Whether a call changes or runs something, and does not only end the work."""
    effect = main_effect(effects_of(step.call))
    return effect is not None and effect.kind in (EffectKind.WRITE, EffectKind.RUN) and not ends_run(step.call)


def is_not_installed(step: Step) -> bool:
    """Whether a program, or a tool of another name, was not there."""
    error, effect = step.error or "", main_effect(effects_of(step.call))
    if effect is not None and effect.command is None and effect.kind is EffectKind.WRITE:
        return False  # "String to replace not found"
    return "not found" in error or _says_not_installed(error)


@memoized
def _says_not_installed(error: str) -> bool:
    return NOT_INSTALLED.search(error) is not None


def asks_for_words(request: str) -> bool:
    """Whether a request, in lower case, asks a question, and for no deed."""
    if _ASKS.search(request) is not None:
        return True
    sentences = [sentence for sentence in _SENTENCE.findall(request) if len(sentence) > _MAX_GREETING_CHARS]
    return bool(sentences) and _POLITE.search(request) is None and all(map(_QUESTION_END.search, sentences))


_MAX_GREETING_CHARS = 8  # a greeting is shorter
_SENTENCE = lazy_pattern(r"[^.!?؟？。\n]+[.!?؟？。]*")
# A question mark, which is a semicolon in Greek; of Chinese and Japanese the particle.
_QUESTION_END = lazy_pattern(r"[?？؟]\s*$|[\u0370-\u03ff];\s*$|[吗呢か]\W*$")
# Whether somebody can do it is no question: a wish for a deed, in each language.
_POLITE = lazy_pattern(
    r"""
    \b(?:
        # English, German
        (?:can|could|would|will)[ ]you | please | kannst | könntest | könnten[ ]sie | können[ ]sie | bitte
        # French, Spanish, Italian, Portuguese
        | peux | pouvez | pourr\w+ | puedes? | podr[ií]a\w* | podés | puoi | può | potresti | potrebbe | podes?
        | poderia\w* | consegue\w*
        # Slavic languages
        | możesz | móg\w+ | mohl\w* | můžeš | můžete | можеш\w* | можете | могли?
        # Dutch, the Scandinavian languages, Finnish, Hungarian, Romanian, Greek, Turkish, ...
        | kan[ ](?:je|u|jij|du|ni) | kun[ ](?:je|jij) | kunt[ ]u | zou[ ]je | voit\w+ | voisit\w* | tudsz
        | tudn\w+ | pot[ii]ț?i | poți | puteți | ai[ ]putea | μπορ\w+ | \w+[ae]bilir[ ]mi\w* | bisakah | bisa
        | tolong | có[ ]thể | giúp | يمكنك | ممكن | תוכל\w* | אפשר | možeš | možete | pots | podries
    )\b
    # Chinese, Japanese, Korean, Hindi, Thai
    | 能不能 | 能否 | 可以 | 帮 | 請 | 请 | もらえ | くれ(?:ます|ませ) | くださ | できますか | 줄[ ]수 | 주시
    | 해줘 | सकते | ช่วย
    """,
    re.VERBOSE,
)


_ASKS = lazy_pattern(
    r"""
    # a question by its first word
    (?:^|[.!,:\n]\s+)\W*(?:
        (?:would|will|should|can|could)(?![ ]you\b) | is | are | was | were | do | does | did | has | have | any
        | what | which | how | why | who | ist | sind | hat | gibt | welche\w*
    )\b[^\n]*\?
    # "tell me whether"
    | \btell[ ]me[ ](?:the|if|whether|what|which)\b
    """,
    re.VERBOSE,
)


def _doer(step: Step) -> tuple[str, str]:
    """The tool of a step, and the program that its line is for."""
    effect = main_effect(effects_of(step.call))
    return step.call.name or "", effect.subject if effect is not None else ""
