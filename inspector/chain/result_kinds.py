"""Which kind of result a call got: a failure, a finding, a probe's answer, a refusal, a run that never began.

Facts decide before words, in this order:

1. what the source recorded about the run (`RecordedState`: an exit code, a state; the error flag);
2. what the text states in a form of its own, such as `Process exited with code 2`, or the fields of a result
   that is JSON (`shell_frames`);
3. the words of the text, only where nothing is recorded. A text that a call only reads, such as a log or a page,
   speaks of other things: there only an error at its beginning counts.

A result that is an error then gets its kind by the effect that the call was to have (`inspector.chain.effects`): a
check that ran and found faults in the work is a `finding`, a question that is answered with "no" a `probe`. A check
that could not run at all, such as `No module named pytest`, is a `failure`.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from weaklink.inspector.chain.check_results import kind_of_check, measures_too_much, reports_located_faults
from weaklink.inspector.chain.effects import Effect, EffectKind, effects_of, main_effect, programs_of
from weaklink.inspector.chain.failure_words import HEAD, error_at_end, error_line
from weaklink.inspector.chain.negative_answers import (
    answers_by_code,
    answers_itself,
    asks_for_programs,
    is_missing,
    is_shell_error,
    kind_of_missing,
    kind_of_question,
    negative_answer,
    says_no,
)
from weaklink.inspector.chain.refusals import kind_of_refusal
from weaklink.inspector.chain.result_words import COMPLAINT, refused_redirection
from weaklink.inspector.chain.steps import Certainty, ResultKind
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.model import ToolCall, ToolResult
from weaklink.inspector.scanning import lazy_pattern


class ResultEvidence(Struct, frozen=True):
    """One reason for a verdict, quoted from the trace; `source` is where it is: a field, `words`, ..."""

    source: str
    quote: str


class Judgement(Struct, frozen=True):
    """What a result is: its kind, how sure it is that it is an error, its words, and what decided."""

    kind: ResultKind
    certainty: Certainty
    words: str
    evidence: tuple[ResultEvidence, ...]
    rule: VerdictRule


class Failure(Struct, frozen=True):
    """Why a result is an error, before its kind is known: the certainty, its words, the exit code, what decided."""

    certainty: Certainty
    words: str
    exit_code: int | None = None
    evidence: tuple[ResultEvidence, ...] = ()


def kind_of_result(
    call: ToolCall, result: ToolResult, failure: Failure | None, is_named: Callable[[Effect], bool]
) -> Judgement | None:
    """The kind of a result; None for a success.

    `failure` is why it is an error, None if it is none; `is_named` whether somebody else than the agent had named an
    effect's target before.
    """
    effects = effects_of(call)
    state = result.recorded.state if result.recorded is not None else None
    text = result.content
    is_told = failure is not None and failure.exit_code is None and answers_itself(effects, text)
    if failure is None or is_told or _is_interruption(effects) or _is_success_code(effects, failure.exit_code):
        answer = negative_answer(call, effects, text, result.recorded)
        if answer is None:
            return None
        evidence = (ResultEvidence("words", answer),)
        return Judgement(ResultKind.PROBE, Certainty.STRUCTURED, "", evidence, VerdictRule.NEGATIVE_ANSWER)
    rejected = kind_of_refusal(text, state, failure.exit_code)
    if rejected is not None:
        return Judgement(rejected, failure.certainty, failure.words, failure.evidence, VerdictRule.REFUSAL)
    if _ran_its_time(call, effects, text, failure):
        kind, rule = ResultKind.PROBE, VerdictRule.ANSWER_BY_EXIT_CODE
    else:
        kind, rule = _kind(effects, text, failure, is_named)
    return Judgement(kind, failure.certainty, failure.words, failure.evidence, rule)


def _ran_its_time(call: ToolCall, effects: tuple[Effect, ...], text: str, failure: Failure) -> bool:
    """Whether a program ran as long as its line let it, to see whether it starts: `timeout 5 python game.py`.

    At most half a minute, and with an output that reports no error. A check, a build or a write was to end.
    """
    effect = main_effect(effects)
    if failure.exit_code != _TIME_IS_UP or effect is None or effect.kind not in (EffectKind.RUN, EffectKind.READ):
        return False
    line = call.raw_arguments[:HEAD]
    limit = None if "wait" in line else _OWN_LIMIT.search(line)  # `docker compose up --wait` was to end
    output = text.strip()
    if limit is None or int(limit[1]) > _MAX_TRIAL_S or not output:
        return False
    return effect.kind is EffectKind.READ or not (error_line(output) or error_at_end(output, programs_of(effects)))


_TIME_IS_UP = 124  # GNU coreutils, `timeout`
_OWN_LIMIT = lazy_pattern(r"\btimeout (?:-\S+ ){0,3}(\d{1,3})s? ")
_MAX_TRIAL_S = 30


def _is_success_code(effects: tuple[Effect, ...], code: int | None) -> bool:
    """Whether a program that counts in its exit code did its work: below 8, robocopy says what it copied."""
    command = effects[-1].command if effects else None
    return command is not None and command.program.casefold() == "robocopy" and code is not None and 0 < code < 8


_CONTROL_KEY = lazy_pattern(r"(?:C-|\^|ctrl[+-])[a-z]", re.IGNORECASE)


def _is_interruption(effects: tuple[Effect, ...]) -> bool:
    """Whether a call sends a control key to a running program: that it stops is what was wanted."""
    command = effects[0].command if len(effects) == 1 else None
    return command is not None and _CONTROL_KEY.fullmatch(command.own_name) is not None


def _kind(
    effects: tuple[Effect, ...], text: str, failure: Failure, is_named: Callable[[Effect], bool]
) -> tuple[ResultKind, VerdictRule]:
    """The kind of a failed run, and the rule that decides it."""
    code = failure.exit_code
    effect = main_effect(effects)
    if effect is None:
        return ResultKind.FAILURE, VerdictRule.FAILED_CALL
    if answers_by_code(effects, text, code) or (says_no(effects, text) and not is_named(effect)):
        return ResultKind.PROBE, VerdictRule.ANSWER_BY_EXIT_CODE
    if refused_redirection(effects, text) is not None:
        return ResultKind.FAILURE, VerdictRule.FAILED_CALL
    failed = _blamed(effects, text) or effect
    if is_shell_error(text, failed) and not asks_for_programs(failed):
        return ResultKind.FAILURE, VerdictRule.PROGRAM_MISSING
    if failed.kind is EffectKind.PROBE:
        return kind_of_question(failed, effects, text, code, is_named), VerdictRule.QUESTION
    if failed.kind is EffectKind.READ:
        if failed.targets and is_missing(failure.words[:400] or text[:400]) and _is_local(failed):
            return kind_of_missing(failed, is_named), VerdictRule.MISSING_TARGET
        return ResultKind.FAILURE, VerdictRule.FAILED_CALL
    if failed.kind is EffectKind.CHECK:
        return kind_of_check(failed, text, code, is_in_words=failure.certainty is Certainty.TEXTUAL), VerdictRule.CHECK
    if reports_located_faults(failed, text) or measures_too_much(failed, text):
        return ResultKind.FINDING, VerdictRule.LOCATED_FAULTS
    return ResultKind.FAILURE, VerdictRule.FAILED_CALL


_BLAMED = lazy_pattern(
    r"""
    ^(?:
        # the shell
        (?:/\S*/)?(?:bash|sh|zsh)(?::[ ]line[ ]\d+)?:[ ] | \(eval\):\d+:[ ]? | zsh:\d+:[ ]
    )?(?:line[ ]\d+:[ ]|\d+:[ ])?(?P<program>[\w./+-]{1,60}):[ ]
    """,
    re.MULTILINE | re.VERBOSE,
)


def _blamed(effects: tuple[Effect, ...], text: str) -> Effect | None:
    """The effect of the program that an error line names: `cd: build: No such file or directory`."""
    main = main_effect(effects)
    names = {effect.command.program for effect in effects if effect.command is not None}
    for match in _BLAMED.finditer(text[:HEAD]):
        program = match["program"].rsplit("/", 1)[-1]
        is_within = (
            program not in names and main is not None and main.command is not None and "/" in main.command.own_name
        )
        if is_within and main is not None and main.kind is EffectKind.RUN and COMPLAINT.match(text, match.start()):
            return main  # one of the programs that a script runs
        for effect in (main, *effects) if main is not None else effects:
            if effect.command is not None and effect.command.program == program:
                if effect.kind is EffectKind.NOTHING:  # the rest never ran
                    return Effect(EffectKind.RUN, effect.subject, effect.targets, effect.command)
                return effect
    return None


def _is_local(effect: Effect) -> bool:
    is_remote = effect.subject in ("curl", "wget", "git log", "git show")
    return not is_remote and not any("://" in target for target in effect.targets)
