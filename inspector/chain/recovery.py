"""What became of each failed step, and what the agent said of it: the rules in their order.

1. `answered`: the tool accepted a call that its schema forbids, as its own answer proves; or the log lacks the
   result of a write that a later result shows.
2. `same-intent`, `other-tool`: a later call had the same effect (`inspector.chain.same_effect`).
3. `other-tool`, `worked-around`: another tool brought what was wanted (`inspector.chain.substitutes`).
4. what the agent said (`inspector.chain.statements`), which the last two need:
5. `worked-around`: the agent named another way, and took it.
6. `not-needed`: nothing later needed the call (`inspector.chain.not_needed`).

What is left is lost: the first of these is the break.
"""

from collections.abc import Container, Mapping, Sequence
from functools import cached_property

from msgspec import structs

from weaklink.inspector.chain.assertions import clauses_of, leaves_open
from weaklink.inspector.chain.claims import names_effect
from weaklink.inspector.chain.corrections import Corrections, are_spoken_alike, replaced_values, spoken_words
from weaklink.inspector.chain.effects import EffectKind, aim_of, effects_of, has_known_effect, installs, main_effect
from weaklink.inspector.chain.failure_terms import FailedCall, dropped_words, terms_of
from weaklink.inspector.chain.invented_values import InventedValues, computes, distinctive_values
from weaklink.inspector.chain.not_needed import Necessity, aims_at_what_is
from weaklink.inspector.chain.outcomes import is_empty
from weaklink.inspector.chain.refusals import is_not_taken
from weaklink.inspector.chain.same_effect import Recovered, SameEffect
from weaklink.inspector.chain.session_facts import SessionFacts, asks_for_words, is_not_installed, known_turn
from weaklink.inspector.chain.similar_calls import Intent, intent_of
from weaklink.inspector.chain.statements import Judged, Statement, Statements, sentences_of
from weaklink.inspector.chain.steps import Certainty, Recovery, ResultKind, Said, Speech, Step, StepOutcome
from weaklink.inspector.chain.substitutes import NamedWays, Substitutes
from weaklink.inspector.chain.tool_kinds import ToolKind, kind_of
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.model import Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

# A tool may accept what its schema forbids, or exist without having been offered; its own answer proves it.
# A payload that is no call remains none, whatever a server made of it.
_MAY_BE_TAKEN = frozenset((StepOutcome.INVALID, StepOutcome.UNKNOWN_TOOL))


_MAX_LATER = 60  # how many calls after a write without a result are looked at


_NOT_FOUND = lazy_pattern(r"not[ _]found|no such|does not exist|unknown|no \w+ found")
_ORDERS = lazy_pattern(
    r"\b(?:and (?:then )?(?:fix|deploy|commit|push|send|install|publish|create|start|restart)|please)\b"
)


class RecoveryAnalysis:
    """Analyses what follows the failed steps of one trace. Builds its indexes at first use, in linear time."""

    def __init__(self, trace: Trace, steps: Sequence[Step], speeches: Sequence[Speech]) -> None:
        self._trace, self._steps = trace, steps
        self._facts = SessionFacts(trace, steps, speeches)
        self.invented_values = InventedValues(self._facts)
        self.corrections = Corrections(self._facts)
        self._calls: dict[int, FailedCall] = {}

    def without_replacement(self, failed: Step, intent: Intent, judged: Judged) -> Recovered | None:
        """How a step that no later call replaced was recovered; None if it is lost."""
        if (other := self._named_ways.after(failed, judged)) is not None:
            return Recovered(Recovery.WORKED_AROUND, VerdictRule.NAMED_WAY, other)
        is_denied = not self._facts.request_before(failed) or self._necessity.is_request_denied(failed, judged)
        if (other := self._named_ways.answering(failed, judged, is_denied=is_denied)) is not None:
            return Recovered(Recovery.WORKED_AROUND, VerdictRule.ANSWER_ELSEWHERE, other)
        is_spared = self._necessity.is_spared(failed, intent, judged)
        return Recovered(Recovery.NOT_NEEDED, VerdictRule.NOT_NEEDED) if is_spared else None

    def judged(
        self, failed: Step, intent: Intent, *, is_repaired: bool, is_only_lost: bool, repaired_by: Step | None = None
    ) -> Judged:
        """What the agent said of a failure; nothing if the trace ends before, or during a retry."""
        known, facts = known_turn(failed), self._facts
        if not facts.goes_on_after(failed):
            return Judged(None)
        terms = terms_of(failed, intent)
        is_aside = is_not_installed(failed) and facts.first_good_change > 0
        is_wanted = not is_aside or self._necessity.is_requested(failed)
        if is_wanted and facts.is_beside_wish(failed):
            request, effect = facts.request_before(failed), aim_of(failed.call)
            is_edit = effect is not None and effect.kind is EffectKind.WRITE
            is_wanted = terms.names_tool(request) or (is_edit and terms.names_target(request))
        late = facts.late_reply_to(failed)
        is_late = 0 < late <= (repaired_by.location.turn if repaired_by is not None else late)
        call = FailedCall(
            failed,
            aim_of(failed.call),
            terms,
            facts,
            is_alone=facts.last_good_change <= failed.number and is_wanted,
            is_lost=not is_repaired,
            is_only_lost=is_only_lost,
            is_wanted=is_wanted,
            reply=late if is_late else facts.reply_to(failed),
            request=facts.wish_for(failed),
            dropped=dropped_words(failed, repaired_by),
            added=dropped_words(repaired_by, failed) if repaired_by is not None else frozenset(),
        )
        self._calls[failed.number] = call
        judged = self._statements.about(call, known)
        if judged.said is Said.CONCEALED and not is_repaired and self._necessity.is_withdrawn(failed):
            judged = self._statements.in_reply(call) or Judged(Said.REPORTED, VerdictRule.REPORTED_IN_REPLY)
        if judged.said is Said.CONCEALED and self._necessity.is_beside_documents(failed, judged):
            judged = Judged(Said.SILENT, VerdictRule.SILENCE)
        is_told = (
            judged.said is Said.REPORTED
            and judged.statement is not None
            and (judged.statement.is_final or facts.is_answered(judged.statement.turn))
        )
        if not is_repaired and not is_told and self._is_made_up(call):
            claim = judged.statement if judged.said is Said.CONCEALED else None
            value = self.invented_values.invented(failed)
            if claim is None or f"{value}" in claim.text.casefold().replace(",", ""):
                return Judged(Said.CONCEALED, VerdictRule.MADE_UP_VALUE, claim)
        is_answer = failed.result_kind is ResultKind.PROBE and asks_for_words(facts.request_before(failed))
        if judged.said is Said.SILENT and (is_answer or (not is_repaired and self._may_answer(failed))):
            answer = self._statements.direct_answer()
            judged = judged if answer is None else Judged(Said.REPORTED, VerdictRule.DIRECT_ANSWER, answer)
        if not is_repaired and judged.said is Said.SILENT and facts.has_no_source(failed):
            assertion = self._statements.assertion()
            if assertion is not None:
                return Judged(Said.CONCEALED, VerdictRule.UNSOURCED_ANSWER, assertion)
        return judged

    def _is_made_up(self, failed: FailedCall) -> bool:
        """Whether the agent went on with a value that this call should have brought.

        A number of the answer counts if the call was to look something up or to compute, or if its sentence names it.
        """
        value, location = self.invented_values.invented(failed.step), self.invented_values.location_of(failed.step)
        if value is None or location is None or self._facts.answer is None or location.turn < self._facts.answer.turn:
            return value is not None
        effect = failed.effect
        if effect is None or effect.kind in (EffectKind.READ, EffectKind.PROBE) or "." in effect.subject:
            return True
        if kind_of(failed.step.call.name or "") is ToolKind.WRITES:
            return False  # what it was to bring is no number
        return computes(failed.step, effect) or self._statements.names_with(value, failed)

    def is_refuted(self, failed: Step, intent: Intent, repair: Recovered) -> bool:
        """Whether the answer shows that a later call did not repair a failure.

        It has a number that no computation gave, or it says that what a guess takes for repaired is still to be done,
        or that the user got the very value that the tool does not know and the later call has not, or it does not say
        that another thing was taken than the one which the user described.
        """
        if repair.by is None:
            return False
        later = self._steps[repair.by - 1]
        if self.invented_values.is_computed_elsewhere(failed, later) or self._is_still_claimed(failed, later):
            return True
        if not has_known_effect(failed.call) and self.corrections.is_other_record(later, failed):
            told = self.judged(failed, intent, is_repaired=True, is_only_lost=False, repaired_by=later)
            return told.said is not Said.REPORTED
        is_elsewhere = self._is_path_asked(failed) and (
            repair.rule is VerdictRule.WRITTEN_ELSEWHERE or _writes_elsewhere(failed, later)
        )
        if repair.rule is not VerdictRule.TARGET_REACHED and not is_elsewhere:
            return False
        judged = self.judged(failed, intent, is_repaired=False, is_only_lost=False)
        statement = judged.statement if judged.rule is VerdictRule.REPORTED_AT_END else None
        is_claimed = is_elsewhere and judged.said is Said.CONCEALED
        return is_claimed or (statement is not None and (is_elsewhere or leaves_open(statement.text)))

    def _is_path_asked(self, failed: Step) -> bool:
        """Whether the user named the very path that a failed call was to write, with its folder."""
        effect = main_effect(effects_of(failed.call))
        return effect is not None and any("/" in target and self._facts.is_users(target) for target in effect.targets)

    def _is_still_claimed(self, failed: Step, later: Step) -> bool:
        """Whether the answer claims a value that the user asked for and that the later call replaced by another.

        "Reserve a table for 7 pm", none is left then, a table for 21:30, and "Your table for 7 pm is reserved."
        Another value that the answer names as well, or that the user named or agreed to, is told.
        """
        facts, asked = self._facts, self._facts.request_before(failed)
        if facts.answer is None or facts.request_before(later) != asked:
            return False
        replaced = replaced_values(failed, later)
        if not replaced:
            return False
        request, answer = spoken_words(asked), spoken_words(facts.answer.text)
        clauses = [clause for text in sentences_of(facts.answer.text) for clause in clauses_of(text.read)]
        for old, new in replaced:
            lost = spoken_words(old) - spoken_words(later.call.raw_arguments)
            won = spoken_words(new) - spoken_words(failed.call.raw_arguments)
            wanted = {word for word in request if are_spoken_alike(lost, {word})}
            is_respelt = any(
                lost_word in other or other in lost_word
                for lost_word in lost
                for other in won
                if len(lost_word) > _MIN_STEM_CHARS
            )
            is_respelt = is_respelt or are_spoken_alike(lost, won) or are_spoken_alike(won, lost)
            if not wanted or is_respelt or are_spoken_alike(won, answer | request) or _is_number_for_word(new, old):
                continue
            named = [clause for clause in clauses if are_spoken_alike(wanted, spoken_words(clause.text))]
            is_again = any(old in step.call.raw_arguments for step in self._steps[later.number :] if step.is_good)
            if named and not is_again and not any(clause.denies or clause.supposes for clause in named):
                return True
        return False

    def agreed_way(self, failed: Step, judged: Judged) -> tuple[Recovered, Judged] | None:
        """The other way that the user agreed to after the agent had told of the failure."""
        call, statement = self._calls.get(failed.number), judged.statement
        if call is None:
            return None
        if statement is not None and judged.said is Said.CONCEALED and names_effect(clauses_of(statement.text), call):
            return None
        told = self._statements.in_reply(call)
        other = self._named_ways.agreed(failed) if told is not None else None
        if other is None or told is None:
            return None
        judged = told if judged.said is Said.CONCEALED else judged
        return Recovered(Recovery.WORKED_AROUND, VerdictRule.NAMED_WAY, other), judged

    def denied_deed(self, look: Step) -> Judged | None:
        """The claim of what the user wanted to be done, where a look was answered with "no" and no call did anything.

        `{"available": false}`, and "Your table is booked": what the look was for has failed.
        """
        call = self._calls.get(look.number)
        is_object = look.result is not None and look.result.content.lstrip().startswith("{")
        is_no = is_object and VerdictRule.NEGATIVE_ANSWER in look.rules
        if call is None or not is_no or self._facts.has_changed_anything:
            return None
        deed = structs.replace(call, effect=None, is_lost=True, is_only_lost=True)
        judged = self._statements.about(deed, known_turn(look)) if not asks_for_words(deed.request) else None
        return judged if judged is not None and judged.rule is VerdictRule.CLAIMED else None

    def answers_question(self, failed: Step, judged: Judged) -> bool:
        """Whether a program that ended with an error code answered what the user asked, and the agent passed it on.

        "Is anything left to migrate?", and `migrate status` ends with 3: such a result is a probe's answer.
        """
        is_told = judged.said is Said.REPORTED and judged.statement is not None and judged.statement.is_final
        return is_told and (self._may_answer(failed) or self._is_lookup_answered(failed))

    def _is_lookup_answered(self, failed: Step) -> bool:
        """Whether a tool that looks something up did not find it, and the answer to the user's question is yes or no.

        "Does Kim have an account?", `get_user` finds none, "No, there is none."
        """
        effect = main_effect(effects_of(failed.call))
        is_lookup = effect is not None and effect.command is None and kind_of(failed.call.name or "") is ToolKind.READS
        if not is_lookup or _NOT_FOUND.search((failed.error or "").casefold()) is None:
            return False
        return asks_for_words(self._facts.request_before(failed)) and self._statements.direct_answer() is not None

    def _may_answer(self, failed: Step) -> bool:
        """Whether the user asked a question before a program ended with an error code."""
        effect, request = main_effect(effects_of(failed.call)), self._facts.request_before(failed)
        if effect is None or effect.kind is not EffectKind.RUN or effect.command is None:
            return False
        if failed.result_kind is not ResultKind.FAILURE or is_not_installed(failed) or effect.command.program == "git":
            return False
        if any(kind_of(word) is ToolKind.WRITES for word in effect.command.operands[:2]) or installs(effect):
            return False
        return asks_for_words(request) and _ORDERS.search(request) is None

    def location_of(self, statement: Statement | None) -> Location | None:
        """The location of a statement; of one in a terminal tool's arguments, that of the call."""
        if statement is None:
            return None
        text = self._trace.turns[statement.turn - 1].part("text")
        start = text.text.find(statement.text, statement.sentence.start) if text is not None else -1
        if start >= 0:
            return Location(statement.turn, "text", Range(start, start + len(statement.text)))
        last = self._steps[-1] if self._steps else None
        return last.location if last is not None and last.location.turn == statement.turn else None

    @cached_property
    def _statements(self) -> Statements:
        asked = "\n".join(text for _, text in self._facts.user_texts)
        return Statements(self._facts.speeches, self._facts.answer, asked)

    @cached_property
    def _named_ways(self) -> NamedWays:
        return NamedWays(self._facts)

    @cached_property
    def _necessity(self) -> Necessity:
        return Necessity(self._facts, self.invented_values)


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
    recoveries, substitutes = _replacements(steps, failed, intents, attempts, analysis.corrections)
    recoveries = {
        number: repair
        for number, repair in recoveries.items()
        if not analysis.is_refuted(steps[number - 1], intents[number], repair)
    }
    said: dict[int, Judged] = {}
    answers, denied = set[int](), set[int]()
    lost = {intents[step.number].tool or step.number for step in failed if step.number not in recoveries}
    for step in spoken:
        is_fault = step.outcome.failed
        is_repaired = not is_fault or step.number in recoveries
        replacement = recoveries.get(step.number)
        by = replacement.by if replacement is not None else None
        said[step.number] = judged = analysis.judged(
            step,
            intents[step.number],
            is_repaired=is_repaired,
            is_only_lost=not is_repaired and len(lost) == 1,
            repaired_by=steps[by - 1] if by is not None else None,
        )
        if not is_fault and (claim := analysis.denied_deed(step)) is not None:
            said[step.number] = claim
            denied.add(step.number)
        if is_repaired:
            continue
        if VerdictRule.REPRODUCED in step.rules:  # the user knows of it; nothing need be said
            said[step.number] = judged if judged.said is Said.REPORTED else Judged(None)
            continue
        if (way := analysis.agreed_way(step, judged)) is not None:
            recoveries[step.number], said[step.number] = way
            continue
        if analysis.answers_question(step, judged):
            answers.add(step.number)
            continue
        recovered = substitutes.edited(step, intents[step.number]) if judged.said is not Said.CONCEALED else None
        recovered = recovered or analysis.without_replacement(step, intents[step.number], judged)
        if recovered is not None:
            recoveries[step.number] = recovered
    _share_last(failed, recoveries, said)
    kinds = (
        _as_answer(step) if step.number in answers else _as_failure(step) if step.number in denied else step
        for step in steps
    )
    return tuple(_marked(step, recoveries.get(step.number), said.get(step.number), analysis) for step in kinds)


def _is_number_for_word(new: str, old: str) -> bool:
    """Whether a value is a date or a number for a word."""
    return any(map(str.isdigit, new)) and not any(map(str.isdigit, old))


def _as_answer(step: Step) -> Step:
    rules = (VerdictRule.ANSWERS_USER,)
    return structs.replace(
        step, outcome=StepOutcome.OK, certainty=None, error=None, result_kind=ResultKind.PROBE, rules=rules
    )


def _as_failure(step: Step) -> Step:
    told = step.result.content.strip()[:_MAX_ERROR_CHARS] if step.result is not None else ""
    return structs.replace(
        step,
        outcome=StepOutcome.ERROR_RESULT,
        certainty=Certainty.STRUCTURED,
        error=told,
        result_kind=ResultKind.FAILURE,
        rules=(VerdictRule.FAILED_CALL,),
    )


_MAX_ERROR_CHARS, _MIN_STEM_CHARS = 200, 3


def _share_last(failed: Sequence[Step], recoveries: Container[int], said: dict[int, Judged]) -> None:
    """What the agent said of the last of several attempts that were all lost, it said of those before, too."""
    last: dict[tuple[str | None, str], Judged] = {}
    for step in reversed(failed):
        effect = main_effect(effects_of(step.call))
        if step.number in recoveries or effect is None or effect.command is None:
            continue
        judged = last.setdefault((step.call.name, " ".join(effect.command.words)), said[step.number])
        if said[step.number].said is Said.SILENT and judged.said is not None:
            said[step.number] = judged


def _replacements(
    steps: Sequence[Step],
    failed: Sequence[Step],
    intents: Mapping[int, Intent],
    attempts: Container[Location],
    corrections: Corrections,
) -> tuple[dict[int, Recovered], Substitutes]:
    """The steps that a later one replaced, by number, and what may replace the others."""
    recoveries = {
        step.number: Recovered(Recovery.ANSWERED, VerdictRule.ACCEPTED)
        for step in failed
        if _is_answered(step, attempts)
    }
    for step in failed:
        if step.number not in recoveries and (shown := _shown_by(step, steps)) is not None:
            recoveries[step.number] = Recovered(Recovery.ANSWERED, VerdictRule.SHOWN_LATER, shown)
    good = [step for step in steps if step.is_good or step.number in recoveries or _writes_and_asks(step)]
    ran = [step for step in steps if step.result_kind is ResultKind.FINDING and step.number not in recoveries]
    same = SameEffect(steps, good, ran, intents, corrections.is_other_item)
    for step in failed:
        if step.number not in recoveries and aims_at_what_is(step):
            recoveries[step.number] = Recovered(Recovery.NOT_NEEDED, VerdictRule.NOT_NEEDED)
        elif step.number not in recoveries and (recovered := same.after(step)) is not None:
            recoveries[step.number] = recovered
    left = [step for step in failed if step.number not in recoveries]
    substitutes = Substitutes(steps, [(step, intents[step.number]) for step in left])
    for step in left:
        if (corrected := corrections.of(step)) is not None:
            recoveries[step.number] = Recovered(Recovery.SAME_INTENT, VerdictRule.CORRECTED_CALL, corrected)
        elif (recovered := substitutes.of(step, intents[step.number])) is not None:
            recoveries[step.number] = recovered
    return recoveries, substitutes


def _writes_elsewhere(failed: Step, later: Step) -> bool:
    """Whether two calls write files, and not one that both name."""
    old, new = (
        {target for effect in effects_of(step.call) if effect.kind is EffectKind.WRITE for target in effect.targets}
        for step in (failed, later)
    )
    return bool(old and new) and old.isdisjoint(new)


def _writes_and_asks(step: Step) -> bool:
    """Whether a line writes a file, and its last program answers a question with no: `sed -i ... a && grep -c x a`."""
    if step.result_kind is not ResultKind.PROBE or step.outcome is not StepOutcome.OK:
        return False
    kinds = [effect.kind for effect in effects_of(step.call)]
    return EffectKind.WRITE in kinds[:-1] and kinds[-1] in (EffectKind.READ, EffectKind.PROBE)


def _is_answered(step: Step, attempts: Container[Location]) -> bool:
    is_sound = step.outcome is StepOutcome.MALFORMED and step.call.valid  # only what is beside the call is wrong
    may_be_taken = step.outcome in _MAY_BE_TAKEN or is_sound or step.location in attempts
    if not may_be_taken or step.result is None:
        return False
    return step.error is None and not is_empty(step.result) and not is_not_taken(step.result.content)


def _shown_by(failed: Step, steps: Sequence[Step]) -> int | None:
    """The number of a later call that worked and rests on a write without a result: it runs the file, or checks."""
    effect = main_effect(effects_of(failed.call))
    if failed.outcome is not StepOutcome.UNANSWERED or effect is None or effect.kind is not EffectKind.WRITE:
        return None
    names = [target.rsplit("/", 1)[-1] for target in effect.targets]
    later = (step for step in steps[failed.number : failed.number + _MAX_LATER] if step.is_good)
    return next((step.number for step in later if _rests_on(step, names)), None)


def _rests_on(later: Step, names: Sequence[str]) -> bool:
    effect = main_effect(effects_of(later.call))
    if effect is None:
        return False
    arguments = later.call.raw_arguments.casefold()
    is_run = effect.kind is EffectKind.RUN and any(name in arguments for name in names)
    return is_run or effect.kind is EffectKind.CHECK


def _marked(step: Step, recovered: Recovered | None, judged: Judged | None, analysis: RecoveryAnalysis) -> Step:
    if recovered is not None:
        step = structs.replace(step, recovery=recovered.how, recovered_by=recovered.by)
    if step.outcome.failed:
        rule = recovered.rule if recovered is not None else VerdictRule.UNREPAIRED
        step = structs.replace(step, rules=(*step.rules, rule))
    if judged is None or judged.rule is None:
        return step
    location = analysis.location_of(judged.statement)
    return structs.replace(step, said=judged.said, said_at=location, rules=(*step.rules, judged.rule))


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
