"""Failures that did no harm although nothing replaced them: nothing later needed the failed call.

An agent looks at many things that it turns out not to need. Such a failure is `not-needed` if all of this holds:

* the agent answered (or a judge of the source says that the task is solved), and another call worked: a later one, or,
  if the failed one was the last and nobody had asked for it, an earlier one that changed something;
* no later call and no answer uses the step's target or a value of its result, and no value was made up in its place;
* the final statement neither claims nor reports it;
* the call only looked at something, or its program is not installed, or it came after the work and the user's words do
  not speak of it (`generate` is spoken of by "regenerate the code"); what the user named, it needs;
* it is no finding: a check that found faults is needed to the end.

Some failures did no harm even if the agent mentions them at the end: the removal of what is not there, the making of
what is, and a program that has nothing to do, whose aim is reached; and a check or a look that nobody had asked for,
with a program that is not installed, if the agent says so.

The verdict is a guess, and has low certainty.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType

from weaklink.inspector.chain.effects import (
    Effect,
    EffectKind,
    asks_for_modules,
    effects_of,
    has_known_effect,
    is_common,
    main_effect,
)
from weaklink.inspector.chain.endings import source_says_success
from weaklink.inspector.chain.invented_values import InventedValues, distinctive_values
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.session_facts import MAX_READ_CHARS, SessionFacts, changes, known_turn
from weaklink.inspector.chain.similar_calls import Intent
from weaklink.inspector.chain.statements import Judged
from weaklink.inspector.chain.steps import ResultKind, Said, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import bare_name, is_interpreter
from weaklink.inspector.scanning import lazy_pattern

_WORD = lazy_pattern(r"\w{3,}")
_HEAD = 500
_FEW_WORDS = 3  # of three letters and more: a request of fewer says nothing of what is wanted
_REMOVERS = frozenset(
    {"rm", "rmdir", "unlink", "git rm", "docker rm", "docker rmi", "kill", "pkill", "killall", "dropdb", "userdel"}
)
_MAKERS = frozenset(
    {"mkdir", "createdb", "useradd", "groupadd", "git init", "git tag", "git branch", "docker network", "docker volume"}
)
_EXISTS = lazy_pattern(r"file exists|already (?:exists|a )", re.IGNORECASE)
_NOTHING_TO_DO = lazy_pattern(
    r"\bnothing (?:to (?:commit|do|push|update|install|upgrade|release)|added to commit|changed)\b|"
    r"\b(?:everything|already) up[ -]to[ -]date\b",
    re.IGNORECASE,
)
_GONE = lazy_pattern(r"no such|not found|does not exist|doesn't exist|no process|no matching", re.IGNORECASE)
_NOT_INSTALLED = lazy_pattern(
    r"command not found|: not found\b|no such (?:sub)?command|not recogni[sz]ed as|not installed|no module named|"
    r"(?:code|status)\W{1,3}127\b|unknown (?:skill|tool|command)",
    re.IGNORECASE,
)


class Necessity:
    """Decides for the failed steps of one trace whether something later needed them."""

    def __init__(self, facts: SessionFacts, invented: InventedValues) -> None:
        self._facts, self._invented = facts, invented
        text = facts.answer.text[:MAX_READ_CHARS].casefold() if facts.answer else ""
        self._answer_text = text
        self._answer_words = frozenset(_WORD.findall(text)) | frozenset(distinctive_values(text))

    def is_spared(self, failed: Step, intent: Intent, judged: Judged) -> bool:
        """Whether a failed step without a replacement did no harm.

        The agent must have continued with another call that worked, and answered or solved its task as a judge says;
        no later call and no answer may use the step, no value may be made up in its place, and the final statement may
        neither claim nor report it. A check that found faults is needed to the end, and so is a change that the user
        named.
        """
        facts, known = self._facts, known_turn(failed)
        if failed.result_kind is ResultKind.FINDING or self._invented.is_used(failed):
            return False
        if facts.answer is not None and judged.said is not Said.CONCEALED and self._is_idle(failed, judged):
            return True
        if facts.last_good_turn <= known and not self._is_afterthought(failed):
            return False
        if not _may_be_spared(failed) and (self.is_wanted(failed) or facts.last_good_change > failed.number):
            return False
        if self._is_wanted_value(failed) or (_is_check(failed) and self.is_wanted(failed)):
            return False
        if changes(failed) and facts.is_asked(failed) and not facts.is_target_used(failed):
            return False
        if (facts.answer is None or facts.answer.turn <= known) and not source_says_success(facts.trace):
            return False
        is_in_answer = judged.statement is not None and judged.statement.is_final
        if judged.said is Said.CONCEALED or is_in_answer or self._invented.invented(failed) is not None:
            return False
        effect = main_effect(effects_of(failed.call))
        if is_not_installed(failed) and facts.is_target_used(failed) and effect is not None and not self._names(effect):
            return True
        return not self._quotes(failed, intent)

    def _is_idle(self, failed: Step, judged: Judged) -> bool:
        """Whether a failed call aimed at what is so already, or was a look aside with a program that is not there."""
        effect = main_effect(effects_of(failed.call))
        if effect is None or failed.result is None:
            return False
        text = f"{failed.error}\n{failed.result.content[:_HEAD]}"
        if effect.subject in _REMOVERS and _GONE.search(text) is not None:
            return True
        if effect.subject in _MAKERS and _EXISTS.search(text) is not None:
            return True
        if effect.kind is EffectKind.RUN and _NOTHING_TO_DO.search(text) is not None:
            return True
        return (
            effect.kind is not EffectKind.WRITE
            and not self._names(effect)
            and judged.said is Said.REPORTED
            and _NOT_INSTALLED.search(text) is not None
        )

    def is_wanted(self, failed: Step) -> bool:
        """Whether the user's words speak of what a failed call was to do, or do not show it.

        They do not if they are few ("Do it.") or not in English.
        A target that other calls of the session changed or read says nothing: only what was to be done with it does.
        """
        spoken = {word for word in self._facts.words_before(failed) if len(word) > 2}
        if len(spoken) < _FEW_WORDS or _ENGLISH.search(self._facts.texts_before(failed)) is None:
            return True
        words = set(_words_of(failed, with_targets=not self._facts.is_target_used(failed)))
        return any(_are_alike(word, other) for word in words for other in spoken)

    def _is_wanted_value(self, failed: Step) -> bool:
        """Whether the user named what a lookup was to look up, and no call that worked did."""
        if has_known_effect(failed.call) or self._facts.is_target_used(failed):
            return False
        text = self._facts.texts_before(failed)
        values = (value.casefold() for _, value in leaves(failed.call.arguments) if isinstance(value, str))
        return any(len(value) > 2 and value in text for value in values)

    def _names(self, effect: Effect) -> bool:
        """Whether the user named a program, or the kind of check that it is."""
        program = effect.command.program if effect.command is not None else ""
        words = {program, *effect.subject.split()} - {""}
        return any(word.casefold() in text for _, text in self._facts.user_texts for word in words)

    def _is_afterthought(self, failed: Step) -> bool:
        """Whether a failed call that nobody had asked for came after the work."""
        is_known = failed.outcome is StepOutcome.ERROR_RESULT and has_known_effect(failed.call)
        is_after = 0 < self._facts.first_good_change < failed.number
        if not is_known or not is_after:
            return False
        return not self._facts.is_asked(failed) or (changes(failed) and not self.is_wanted(failed))

    def _quotes(self, failed: Step, intent: Intent) -> bool:
        """Whether the final answer mentions the step's target, or a value that only its result contained."""
        is_asked = self._facts.is_asked(failed)  # else a value of the user's in the answer is not from this call
        sought = (value for value in intent.sought if value.is_path or is_asked or not self._facts.is_users(value.text))
        if any(value.text in self._answer_text or self._are_in_answer(value.words) for value in sought):
            return True
        program = (intent.tool or "").removeprefix("$ ")
        if program != intent.tool and not is_common(program) and program.casefold() in self._answer_text:
            return True
        return self._invented.is_own_in_answer(failed, self._answer_words)

    def _are_in_answer(self, words: frozenset[str]) -> bool:
        return bool(words) and words <= self._answer_words


_ENGLISH = lazy_pattern(r"\b(?:the|an?|to|and|of|in|is|it|for|my|me|what|how|why|all|please|with|that|this)\b")


def _words_of(step: Step, *, with_targets: bool) -> Iterator[str]:
    """The words for what a call does: its program, its words or its tool's name; with the names of its targets."""
    effect = main_effect(effects_of(step.call))
    if effect is None:
        return
    yield from _WORD.findall(effect.subject.casefold())
    if effect.command is not None:
        words = (effect.command.program, *effect.command.operands)
        yield from (spelt for word in words if word.isalpha() for spelt in _SPELT.get(word, (word.casefold(),)))
    else:
        yield from bare_name(step.call.name or "").split("_")
    if effect.kind is EffectKind.CHECK:
        yield from ("test", "check") if effect.subject == "test" else (effect.subject,)
    for target in effect.targets if with_targets else ():
        yield from _WORD.findall(target.rsplit("/", 1)[-1])


_SPELT = MappingProxyType({"pr": ("pull", "request"), "mr": ("merge", "request")})  # subcommands of gh and glab


def _are_alike(one: str, other: str) -> bool:
    """Whether two words have one root: `generate` and `regenerates`."""
    shorter, longer = sorted((one, other), key=len)
    is_root = len(shorter) > 3 and longer.removeprefix("re").startswith(shorter[:6].removeprefix("re"))
    return len(shorter) > 2 and (shorter == longer or is_root)


def is_not_installed(step: Step) -> bool:
    """Whether a program, or a tool of another name, was not there."""
    error = step.error or ""
    return "not found" in error or _NOT_INSTALLED.search(error) is not None


def _is_check(step: Step) -> bool:
    effect = main_effect(effects_of(step.call))
    return effect is not None and effect.kind is EffectKind.CHECK


def _may_be_spared(step: Step) -> bool:
    """Whether a call may have been made on the side: it looks at something, or its program is not installed.

    What an agent changes or runs, it needs, if the user's words speak of it.
    """
    effect = main_effect(effects_of(step.call))
    if effect is None or is_interpreter(bare_name(step.call.name or "")):
        return True
    looks = effect.kind in (EffectKind.READ, EffectKind.PROBE, EffectKind.NOTHING) or asks_for_modules(effect)
    return looks or (effect.kind in (EffectKind.RUN, EffectKind.CHECK) and is_not_installed(step))
