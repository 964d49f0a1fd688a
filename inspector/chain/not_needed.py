"""Failures that did no harm although nothing replaced them: nothing later needed the failed call.

An agent looks at many things that it turns out not to need. Such a failure is `not-needed` if all of this holds:

* the agent answered, or a judge of the source says that the task is solved;
* no later call and no answer uses the step's target or a value of its result, and no value was made up in its place;
* the final statement neither claims nor reports it;
* the call only looked at something, or its program is not installed, and another call worked; or another call changed
  something, and the user's words share none with this one: what the user named, it needs, and it needs each item of a
  series (`quote NESN`, `quote ROG`), and what a tool of a service was to change;
* it is no finding: a check that found faults is needed to the end.

Some failures did no harm even if the agent mentions them at the end: the removal of what is not there, the making of
what is, and a program that has nothing to do, whose aim is reached; and a check or a look that nobody had asked for,
with a program that is not installed, if the agent says so.

The verdict is a guess, and has low certainty.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from weaklink.inspector.chain.assertions import clauses_of, denies
from weaklink.inspector.chain.effects import (
    Effect,
    EffectKind,
    effects_of,
    has_known_effect,
    is_common,
    main_effect,
    only_opens,
    runs_task,
)
from weaklink.inspector.chain.endings import source_says_success
from weaklink.inspector.chain.failure_terms import family_pattern, says_already
from weaklink.inspector.chain.invented_values import InventedValues, distinctive_values
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.session_facts import (
    MAX_READ_CHARS,
    NOT_INSTALLED,
    SessionFacts,
    is_not_installed,
    known_turn,
)
from weaklink.inspector.chain.similar_calls import Intent
from weaklink.inspector.chain.statements import Judged
from weaklink.inspector.chain.steps import ResultKind, Said, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import (
    SPOKEN,
    ToolKind,
    bare_name,
    ends_run,
    is_interpreter,
    kind_of,
    subjects_of,
)
from weaklink.inspector.scanning import lazy_pattern

_WORD = lazy_pattern(r"\w{3,}")
_HEAD = 500
_FEW_WORDS = 2  # "Do it." says nothing of what is wanted
_REMOVERS = frozenset(
    {"rm", "rmdir", "unlink", "git rm", "docker rm", "docker rmi", "kill", "pkill", "killall", "dropdb", "userdel"}
)
_MAKERS = frozenset({"mkdir", "createdb", "useradd", "groupadd", "git init", "docker network", "docker volume"})
_EXISTS = lazy_pattern(r"file exists|already (?:exists|a )", re.IGNORECASE)
_NOTHING_TO_DO = lazy_pattern(
    r"\bnothing (?:to (?:commit|do|push|update|install|upgrade|release)|added to commit|changed)\b|"
    r"\b(?:everything|already) up[ -]to[ -]date\b",
    re.IGNORECASE,
)
_GONE = lazy_pattern(
    r"no such|not found|does not exist|doesn't exist|no longer exists|no process|no matching|not installed|not loaded",
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
        """Whether a failed step without a replacement did no harm; the conditions are those of the module."""
        facts = self._facts
        if failed.result_kind is ResultKind.FINDING:
            return facts.answer is not None and self.is_beside_documents(failed, judged)
        clauses = (clause for clause in clauses_of(self._answer_text) if not clause.denies)
        if _is_done_already(failed) and any(says_already(failed, clause.text) for clause in clauses):
            return True
        if self._invented.is_used(failed):
            return False
        is_known = facts.answer is not None and self._invented.invented(failed) is None
        if is_known and (self._is_precaution(failed) or self._is_side_look(failed)):
            return True
        is_claimed = judged.said is Said.CONCEALED and _SAID_GONE.search(self._answer_text) is None
        if facts.answer is not None and not is_claimed and self._is_waived(failed, judged):
            return True
        if (facts.answer is None or facts.answer.turn <= known_turn(failed)) and not source_says_success(facts.trace):
            return False
        is_in_answer = judged.statement is not None and judged.statement.is_final
        if judged.said is Said.CONCEALED or is_in_answer or self._invented.invented(failed) is not None:
            return False
        effect = main_effect(effects_of(failed.call))
        if is_not_installed(failed) and facts.is_target_used(failed) and effect is not None and not self._names(effect):
            return True
        if effect is not None and self._is_unasked_check(failed, effect) and _could_not_check(failed):
            return facts.has_changed_anything
        return not self._is_in_series(failed) and not self._quotes(failed, intent) and self._may_be_aside(failed)

    def _is_waived(self, failed: Step, judged: Judged) -> bool:
        """Whether its aim is reached, or the user did not insist, or only asked whether and the line printed "no"."""
        question = _WHETHER.search(self._facts.request_before(failed)) if judged.said is Said.REPORTED else None
        is_provided = any(effect.connector == "||" and effect.subject == "echo" for effect in effects_of(failed.call))
        is_answer = question is not None and is_provided and not self._is_asked_beside(question, failed)
        is_aside = is_answer or self.is_beside_documents(failed, judged)
        return is_aside or self._is_idle(failed, judged) or self._is_optional(failed) or self.is_withdrawn(failed)

    def _is_precaution(self, failed: Step) -> bool:
        """Whether a call was only to prepare or to follow the work, which went on: a backup, `git fetch`, a cache.

        The agent says so ("to be safe"), or the name of its tool or its line does. Neither the user speaks of such a
        thing, nor the answer as if it were done.
        """
        facts, effect = self._facts, main_effect(effects_of(failed.call))
        if effect is None or not facts.has_changed_anything:
            return False
        if effect.subject in _GETS_CHANGES:
            spoken = _SPEAKS_OF_CHANGES
        elif not _PREPARES.isdisjoint(words := self._name_words(failed, effect)):
            spoken = _SPEAKS_OF_COPIES
        elif _TO_BE_SAFE.search(self._said_with(failed)) is not None:
            words -= self._facts.words_of_other_tools(failed)
            spoken = re.compile("|".join(map(re.escape, sorted(words))), re.IGNORECASE)
        else:
            return False
        asserted = (clause for clause in clauses_of(self._answer_text) if not clause.denies)
        return not any(spoken.search(text) for text in (facts.texts_before(failed), *(c.text for c in asserted)))

    def _said_with(self, step: Step) -> str:
        """What the agent said between the result of the call before a step and the step."""
        since = known_turn(self._facts.steps[step.number - 2]) if step.number > 1 else 0
        return "\n".join(said.text for said in self._facts.speeches if since < said.turn <= step.location.turn)

    def _name_words(self, failed: Step, effect: Effect) -> frozenset[str]:
        """The words of a tool's name; of a command those of its task, of one that copies also those of its line."""
        command = effect.command
        if command is None:
            return frozenset(bare_name(failed.call.name or "").split("_"))
        words = command.words if command.program in _COPIES or runs_task(command.program) else ()
        return frozenset(_WORD.findall(" ".join((command.program, *words)).casefold()))

    def _is_side_look(self, failed: Step) -> bool:
        """Whether a tool was to look up what neither the user nor the answer speaks of, and what was asked is done.

        `get_customer_history` before `reply_ticket`; before another look, nothing of its name may be in the request.
        """
        name = bare_name(failed.call.name or "")
        service = (failed.call.name or "").casefold().replace("_", " ")[: -len(name) or None]
        if kind_of(name) is not ToolKind.READS or has_known_effect(failed.call):
            return False
        asked, subjects = self._facts.texts_before(failed), subjects_of(name)
        named = (*subjects[-1:], *_requestable_words(service))
        if not subjects or _ENGLISH.search(asked) is None or _share_a_word(named, asked + self._answer_text):
            return False
        later = [step for step in self._facts.steps[failed.number :] if step.is_good]
        if any(kind_of(step.call.name or "") is ToolKind.WRITES and not ends_run(step.call) for step in later):
            return True
        if _PICTURE.fullmatch(subjects[-1]) and _PICTURE.search(asked) is None:
            return self._facts.has_worked  # a picture that nobody spoke of, of what an earlier look brought
        looks = (subject for step in later for subject in subjects_of(step.call.name or ""))
        return not _share_a_word(subjects, asked) and _share_a_word(looks, asked)

    def _may_be_aside(self, failed: Step) -> bool:
        """Whether a call may have been made on the side: a look, a program that is not there, or what nobody spoke of.

        Its result must have told the agent that it failed, and something else must have worked. A tool that changes
        something is never called on the side, unless it is an editor or a shell.
        """
        is_told = failed.outcome is StepOutcome.UNKNOWN_TOOL and failed.error is not None
        if failed.outcome is not StepOutcome.ERROR_RESULT and not is_told:
            return False
        effect = main_effect(effects_of(failed.call))
        is_aside = effect is not None and not self._names(effect) and is_not_installed(failed)
        if _is_look(failed) or is_aside or self._is_opened_unasked(failed, effect):
            return self._facts.has_worked
        changes_world = kind_of(failed.call.name or "") is ToolKind.WRITES and not has_known_effect(failed.call)
        if changes_world or not self._facts.has_changed_anything or self.is_requested(failed):
            return False
        is_last = self._facts.last_good_change < failed.number
        return not is_last or self._facts.request_before(failed).isascii()  # else they share no words with a command

    def _is_opened_unasked(self, failed: Step, effect: Effect | None) -> bool:
        """Whether a line only opens something for the eyes, and the user did not say so."""
        if effect is None or effect.command is None or not only_opens(effect):
            return False
        return not _share_a_word(effect.command.program.split("-"), self._facts.texts_before(failed))

    def _is_idle(self, failed: Step, judged: Judged) -> bool:
        """Whether a failed call aimed at what is so already, or was a look aside with a program that is not there."""
        effect = main_effect(effects_of(failed.call))
        if effect is None or failed.result is None:
            return False
        text = f"{failed.error}\n{failed.result.content[:_HEAD]}"
        is_told = judged.said is Said.REPORTED or _SAID_GONE.search(self._answer_text) is not None
        if is_told and _removes_what_is_gone(failed, effect, text):
            return True
        if effect.kind is EffectKind.RUN and _NOTHING_TO_DO.search(text) is not None:
            return True
        words = judged.statement.text if judged.statement is not None else ""
        if says_already(failed, words) and not denies(words):
            return True
        if judged.said is not Said.REPORTED or self.is_request_denied(failed, judged):
            return False
        is_not_there = NOT_INSTALLED.search(text) is not None and effect.kind is not EffectKind.WRITE
        is_known = effect.command is None or is_common(effect.command.program)  # `npm` fetches what the user wants
        is_not_there = is_not_there or (_NOT_FETCHED.search(text) is not None and not is_known)
        return (is_not_there and not self._names(effect)) or self._is_own_check(failed, effect, text)

    def _is_own_check(self, failed: Step, effect: Effect, text: str) -> bool:
        """Whether nobody asked for a check, a build or a plan after a change, and the machine kept it from running."""
        if not 0 < self._facts.last_good_change < failed.number:
            return False
        if effect.kind is EffectKind.CHECK or _NOT_READY.search(text) is None:
            return self._is_unasked_check(failed, effect)
        words = _VERIFYING.intersection(effect.command.operands[:2] if effect.command is not None else ())
        return bool(words) and not _share_a_word(words, self._facts.texts_before(failed))

    def _is_unasked_check(self, failed: Step, effect: Effect) -> bool:
        """Whether the user spoke neither of a check nor of its family."""
        if effect.kind is not EffectKind.CHECK or self._names(effect):
            return False
        return family_pattern(effect.subject).search(self._facts.texts_before(failed)) is None

    def is_request_denied(self, failed: Step, judged: Judged) -> bool:
        """Whether the sentence on a failure denies what the user asked for: "I could not convert the report"."""
        sentence = judged.statement.text if judged.statement is not None else ""
        asked = frozenset(_words_and_pairs(self._facts.request_before(failed)))
        asked -= frozenset(_words_and_pairs(f"installed {failed.error}"))  # the cause
        denials = (clause for clause in clauses_of(sentence) if clause.denies)
        return any(not asked.isdisjoint(_words_and_pairs(clause.text)) for clause in denials)

    def _is_optional(self, failed: Step) -> bool:
        """Whether the user asked for it only if it can be done: "tell me the weather if that is quick".

        The wish is what stands between the last "and" before the condition and the end of its sentence.
        """
        request = self._facts.request_before(failed)
        conditions = ((sentence, _IF_POSSIBLE.search(sentence)) for sentence in _SENTENCE_END.split(request))
        possible = [(sentence, condition) for sentence, condition in conditions if condition is not None]
        if not possible:
            return False
        words = {word for word in self._words_of(failed) if not self._facts.is_word_of_good_call(word)}
        for sentence, condition in possible:
            start = max((match.start() for match in _AND.finditer(sentence, 0, condition.start())), default=0)
            wish, others = sentence[start:], request.replace(sentence[start:], " ")
            if _share_a_word(words, wish) and not _share_a_word(words, others):
                return True
        return False

    def is_beside_documents(self, failed: Step, judged: Judged) -> bool:
        """Whether the user wanted a text only, which was written, and the call runs what it is about, as a trial.

        "Write only the docs on deployment", then `./deploy.sh`. What is to be done is told before, or in another part
        of the request: "publish only the docs", "just update the README and push". A claim has to be one on the text.
        """
        claim = judged.statement if judged.said is Said.CONCEALED else None
        if judged.said is Said.CONCEALED and (claim is None or _DOCUMENT.search(claim.text.casefold()) is None):
            return False
        effect, request = main_effect(effects_of(failed.call)), self._facts.request_before(failed)
        if effect is None or effect.kind in (EffectKind.READ, EffectKind.PROBE, EffectKind.WRITE):
            return False
        if not any(map(_DOCUMENT.search, self._facts.written_names)):
            return False
        if (wish := _ONLY_DOCUMENTS.search(request)) is not None:
            return not self._is_asked_beside(wish, failed)
        if failed.result_kind is ResultKind.FINDING or not self._facts.is_one_wish(failed):
            return False
        return (
            _WRITE_DOCUMENT.match(request) is not None
            and judged.said is not Said.CONCEALED
            and not self.is_requested(failed)
        )

    def _is_asked_beside(self, wish: re.Match[str], failed: Step) -> bool:
        """Whether a part of the request before a wish, or after its clause, shares a word with a call."""
        rest = (wish.string[: wish.start()], *_AND.split(wish.string[wish.end() :])[1:])
        words = self._words_of(failed)
        return any(_share_a_word(words, _DOCUMENT.split(clause)[0]) and not denies(clause) for clause in rest)

    def is_withdrawn(self, failed: Step) -> bool:
        """Whether the agent spoke of the failure, and the user then waived it, and it was not called again."""
        facts, known = self._facts, known_turn(failed)
        said = next((turn for turn in facts.speech_turns if turn > known), None)
        answer = next((text for turn, text in facts.user_texts if turn > known), None)
        turn = next((turn for turn, _ in facts.user_texts if turn > known), 0)
        if said is None or answer is None or turn < said or _WAIVES.match(answer) is None:
            return False
        later = [step for step in facts.steps if step.location.turn > turn]
        mine = (failed.call.name, _subject(failed))
        return all((step.call.name, _subject(step)) != mine for step in later)

    def is_requested(self, failed: Step) -> bool:
        """Whether the user's words share one with the arguments of a call, or with its tool's name, or are too few.

        A target that other calls used says nothing: only what was to be done with it does.
        """
        effect, words = main_effect(effects_of(failed.call)), self._words_of(failed)
        if self._facts.is_target_used(failed) and effect is not None:
            targets = (target for target in effect.targets if self._facts.is_word_of_good_call(target))
            words -= {word for target in targets for word in _requestable_words(target)}
        text = self._facts.texts_before(failed)
        return len(set(_requestable_words(text))) < _FEW_WORDS or _share_a_word(words, text)

    def _words_of(self, failed: Step) -> set[str]:
        """The words of a call's arguments and of its tool's name that a request may have."""
        effect = main_effect(effects_of(failed.call))
        texts = [value for _, value in leaves(failed.call.arguments) if isinstance(value, str)]
        if effect is None or effect.command is None:
            texts.append(bare_name(failed.call.name or "").replace("_", " "))
        words = {word for text in texts for word in _requestable_words(text[:MAX_READ_CHARS].casefold())}
        return words | {SPOKEN[word] for word in words & SPOKEN.keys()}

    def _is_in_series(self, failed: Step) -> bool:
        """Whether calls of the same tool worked that no table knows: each was to bring its part of the answer."""
        others = (step for step in self._facts.steps if step.is_good and step.call.name == failed.call.name)
        return not has_known_effect(failed.call) and next(others, None) is not None

    def _names(self, effect: Effect) -> bool:
        """Whether the user named a program, or the kind of check that it is."""
        program = effect.command.program if effect.command is not None else ""
        words = {word.casefold() for word in (program, *effect.subject.split())} - {""}
        named = (word for _, text in self._facts.user_texts for word in _WORD.findall(text))
        return any(
            name.startswith(word) and len(name) - len(word) < _ENDING_LIMIT_CHARS for name in named for word in words
        )

    def _quotes(self, failed: Step, intent: Intent) -> bool:
        """Whether the final answer mentions the step's target, or a value that only its result contained."""
        is_asked = self._facts.is_asked(failed)  # else a value of the user's in the answer is not from this call
        sought = [value for value in intent.sought if value.is_path or is_asked or not self._facts.is_users(value.text)]
        effect = main_effect(effects_of(failed.call))
        if effect is not None and effect.kind not in (
            EffectKind.WRITE,
            EffectKind.CHECK,
        ):  # another call wrote the file that it names
            sought = [value for value in sought if value.text.rsplit("/", 1)[-1] not in self._facts.written_names]
        if any(
            value.text in self._answer_text
            or ("://" not in value.text and frozenset() < value.words <= self._answer_words)
            for value in sought
        ):
            return True
        program = (intent.tool or "").removeprefix("$ ")
        if program != intent.tool and not is_common(program) and program.casefold() in self._answer_text:
            return True
        return self._invented.is_own_in_answer(failed, self._answer_words)


_PICTURE = lazy_pattern(
    r"\b(?:thumbnails?|previews?|avatars?|(?:fav)?icons?|logos?|covers?|pictures?|images?|photos?|"
    r"look(?:s|ing)? like)\b",
    re.IGNORECASE,
)
_GETS_CHANGES = frozenset(("git fetch", "git pull", "git stash"))
_SPEAKS_OF_CHANGES = lazy_pattern(
    r"""
    \b(?:
        # git's words, and beginnings of "update", "latest" and "fetch"
        pull | fetch | stash | latest | newest | remote | origin | upstream | sync | rebas | merg | push
        | branch | releas | updat | aktuell | neuest | derni[eè]r | últim | ultim | актуал | последн | обнов
        | оновл | güncel | senast | nieuwst | najnow | actuali[sz] | atuali[sz] | aggiorn | aktuali[sz]
        | holen?\b | zieh | récup | tra[ei] | baix | scaric | ściąg | pobierz | подтян | stáhn | haal | hämta
        | hent | çek | frissít | hae\b | cập[ ]nhật | perbarui | ενημέρ
    )
    # languages without spaces or without these letters
    | 最新 | 更新 | 同步 | 拉取 | 取得 | プル | 최신 | 업데이트 | 가져 | تحديث | احدث | أحدث | עדכ | अपडेट
    | อัปเดต
    """,
    re.IGNORECASE | re.VERBOSE,
)
_COPIES = frozenset(("cp", "tar", "zip", "pg_dump", "mysqldump"))
_PREPARES = frozenset(("backup", "backups", "bak", "changelog"))
_SPEAKS_OF_COPIES = lazy_pattern(
    r"""
    # English
    back(?:ed)?[ -]?up | snapshot | cach | changelog
    # beginnings of the words of other languages
    | \bsicher | gesichert | sauveg | \bcop[iy] | respald | segur | kopi | резерв | бэкап | копи | yedek
    | önbelle | záloh | zapasow | mentés | menteni | varmuus | varmist | cadangan | sao[ ]lưu | αντίγραφ
    # languages without spaces or with other letters
    | 备份 | 備份 | 缓存 | バックアップ | キャッシュ | 백업 | 캐시 | نسخ | احتياط | גיבוי | बैकअप | สำรอง
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TO_BE_SAFE = lazy_pattern(
    r"""
    \b(?:
        # English
        (?:just[ ])?to[ ]be[ ](?:safe|careful|sure) | just[ ]in[ ]case | (?:as[ ]a|for)[ ](?:precaution|safety)
        # other languages with spaces between words
        | (?:sicherheits|vorsichts)halber | zur[ ]sicherheit | par[ ](?:sécurité|précaution) | au[ ]cas[ ]où
        | por[ ]si[ ]acaso | por[ ](?:seguridad|precaución|segurança|precaução|via[ ]das[ ]dúvidas)
        | per[ ](?:sicurezza|precauzione) | voor[ ]de[ ]zekerheid | för[ ]säkerhets[ ]skull
        | for[ ]en[ ]sikkerheds[ ]skyld | na[ ]wszelki[ ]wypadek | pro[ ]jistotu | на[ ]всякий[ ]случай
        | her[ ]ihtimale[ ]karşı
    )\b
    # Chinese, Japanese, Korean
    | 以防万一 | 保险起见 | 念のため | 혹시[ ]몰라
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENGLISH = lazy_pattern(r"\b(?:the|of|with|my|our|how|what|is|are|that|this)\b")


def aims_at_what_is(failed: Step) -> bool:
    """Whether a call was to remove what is not there, or to make what is: its aim is reached, whatever is claimed."""
    effect = main_effect(effects_of(failed.call))
    if effect is None or failed.result is None:
        return False
    text = f"{failed.error}\n{failed.result.content[:_HEAD]}"
    if effect.subject in _REMOVERS and _GONE.search(text) is not None:
        return True
    return effect.subject in _MAKERS and _EXISTS.search(text) is not None


def _is_done_already(failed: Step) -> bool:
    """Whether a service refused because the work of its tool was done before: "already been refunded"."""
    done = _DONE_BEFORE.search(failed.error or "")
    name = bare_name(failed.call.name or "")
    stems = (word[:_STEM_CHARS] for word in name.split("_") if len(word) >= _STEM_CHARS)
    return done is not None and kind_of(name) is ToolKind.WRITES and done[1].casefold().startswith(tuple(stems))


_DONE_BEFORE = lazy_pattern(r"\balready (?:been )?(\w{4,20}ed)\b", re.IGNORECASE)
_STEM_CHARS = 5


def _removes_what_is_gone(failed: Step, effect: Effect, text: str) -> bool:
    """Whether a tool or a subcommand was to remove something that is not there: `git push origin --delete spike`."""
    gone = _GONE.search(text)
    if gone is None:
        return False
    if effect.command is None:
        return bare_name(failed.call.name or "").partition("_")[0] in ("delete", "remove", "uninstall")
    words = [word.casefold() for word in effect.command.words]
    line = text[text.rfind("\n", 0, gone.start()) + 1 :].partition("\n")[0].casefold()
    removes = not _TAKING_AWAY.isdisjoint(words[:4]) or (words[:1] in (["branch"], ["tag"]) and words[1:2] == ["-d"])
    operands = effect.command.operands[1:]
    is_named = any(word.casefold() in line for word in operands[-1:]) and not line.startswith(("namespace", "context"))
    return removes and is_named and "-f" not in words


_SAID_GONE = lazy_pattern(
    r"""
    \b(?:
        # English
        already[ ](?:gone|deleted|removed) | (?:gone|deleted|removed)[ ]already | (?:was|were)[ ]gone
        # German, French, Spanish, Portuguese, Italian, Russian
        | (?:schon|bereits)[ ](?:weg|gelöscht|entfernt) | déjà[ ]supprim\w+
        | ya[ ](?:estaba[ ])?(?:borrad|eliminad)[oa]s? | já[ ](?:foi[ ]|estava[ ])?removid[oa]s?
        | già[ ](?:stat[oa][ ])?(?:rimoss|eliminat)[oa] | уже[ ](?:удал\w+|нет)
    )
    """,
    re.VERBOSE,
)
# `npx` did not get the program, or the program not its browser.
_NOT_FETCHED = lazy_pattern(
    r"request to https?://\S*registry\S* failed|\bno chrome\b|could not find (?:chrome|a browser|browser)|"
    r"chromedriver|browser (?:was )?not found",
    re.IGNORECASE,
)


_ENDING_LIMIT_CHARS = 4  # "tests", "linting" for `test`, `lint`; "Dockerfile" is no `docker`
_VERIFYING = frozenset(("build", "plan", "validate", "compile", "config", "check", "test"))
# What a machine lacks that a check needs.
_NOT_READY = lazy_pattern(
    r"cannot connect|can't connect|connection refused|econnrefused|could not (?:resolve|connect|translate host)|"
    r"no such host|getaddrinfo|network is unreachable|daemon|no valid credential|credentials|not logged in|display",
    re.IGNORECASE,
)
_TAKING_AWAY = frozenset(("rm", "rmi", "remove", "delete", "del", "--delete", "uninstall", "drop", "unset", "destroy"))


def _could_not_check(failed: Step) -> bool:
    """Whether the machine kept a check from running, not the work that it checks."""
    text = f"{failed.error}\n{failed.result.content[:_HEAD] if failed.result is not None else ''}"
    return any(pattern.search(text) is not None for pattern in (_NOT_READY, NOT_INSTALLED, _NOTHING_TO_CHECK))


_NOTHING_TO_CHECK = lazy_pattern(
    r"no files? (?:match\w*|found)|no parser could be inferred|(?:file|all files) (?:is|are) ignored|"
    r"(?:couldn['’]t|could not|cannot) find (?:an?|the|your) [\w.()|-]{0,40}config",
    re.IGNORECASE,
)
# A condition of what may be done, not of what happens: "if you can", not "if the test fails".
_IF_POSSIBLE = lazy_pattern(
    r"""
    # English
    \bif[ ](?:
        (?:you|we|it|that|this|there|time)\b[^,.;]{0,24}\b(?:can|could|possible|quick|easy|works?|time|allows?)
        | possible | feasible | (?:you[ ](?:can[ ])?find|there[ ](?:is|are))[ ](?:it|one|any|some) | available
    )\b
    | \boptionally\b
    # German, French and Spanish, Portuguese and Italian, Russian, Chinese, Japanese
    | \b(?:wenn|falls)\b[^,.;]{0,24}\b(?:kannst|möglich|geht|klappt|schnell|zeit)\b
    | \bsi[ ](?:
        puedes | puede[ ]ser | es[ ]posible | se[ ]puede | da[ ]tiempo | possible | tu[ ]peux | vous[ ]pouvez
        | c['’]est[ ]possible
    )\b
    | \bse[ ](?:der|puder\w*|possível|for[ ]possível|conseguir\w*|possibile|puoi|riesci)\b
    | \bесли[ ](?:можно|можешь|сможешь|получится|возможно)\b | 如果(?:可以|可能|方便) | 可能なら | できれば
    | できたら
    """,
    re.VERBOSE,
)
_DOCUMENT_WORDS = (
    r"(?<![^\W_])(?:docs?|dok[uů]\w*|documenta\w*|документ\w*|readme|changelog|guide|manual|anleitung)(?![^\W_])|"
    r"\.(?:md|rst|adoc|txt)\b|文档|文檔|ドキュメント|문서"
)
_WHETHER = lazy_pattern(
    r"""
    # English
    \b(?:check|see|test|verify|find[ ]out|tell[ ]me)[ ](?:if|whether)\b
    # German, French, Spanish, Portuguese, Italian
    | \b(?:prüf|schau|sieh|sag)[^.?!]{0,20}\bob\b
    | \b(?:
        vérifi | regarde | dis | comprueba | mira | verifica | dime | confira | veja | controlla | guarda | vedi
        | dimmi
    )\w*[ ]s[ie]\b
    # a word for "whether" alone: Russian, Polish, Czech, Dutch, Swedish, Turkish, Chinese, Japanese
    | \bли\b | \bczy\b | \bzda\b | \bcontroleer[ ]of\b | \bkolla[ ]om\b | \bm[iıuü]\b | 确认 | 有没有 | 是否
    | か確認
    """,
    re.VERBOSE,
)
_DOCUMENT = lazy_pattern(_DOCUMENT_WORDS)
_ONLY_DOCUMENTS = lazy_pattern(
    r"(?:\b(?:only|just|nur|bloß|lediglich|seulement|uniquement|juste|solo|solamente|únicamente|só|somente|apenas|"
    r"soltanto|только|лишь|tylko|jen|alleen|bara|sadece|yalnızca)\b|只|仅)[^.!?\n]{0,40}?"
    rf"(?:{_DOCUMENT_WORDS})|(?:{_DOCUMENT_WORDS})[^.!?\n]{{0,12}}?(?:\bonly\b|だけ|のみ|만)"
)
_WRITE_DOCUMENT = lazy_pattern(
    r"\W*(?:(?:can|could|would) you |please |bitte )?(?:write|draft|add|create|document|translate|update|"
    r"schreib\w*|verfass\w*|rédige\w*|écri\w*|escrib\w*|redacta|escrev\w*|scrivi|напиши|napisz|napiš|schrijf|skriv)\b"
    rf"[^.!?\n]{{0,40}}?(?:{_DOCUMENT_WORDS})"
)
_AND = lazy_pattern(r"[,;]|\b(?:and|und|et|y|e|и|ed)\b|[，、；]")
_SENTENCE_END = lazy_pattern(r"[.!?\n。！？]+(?:\s+|$)")
# What a user begins with who no longer wants it.
_WAIVES = lazy_pattern(
    r"""
    (?:[^.!?,;]{1,30}[.!?,;]+\s*){0,2}?\W*(?:
        (?:
            # what is said before it: "no", "well then"
            ok(?:ay)? | no | nah | nope | thanks | nein | non | não | нет | nie | nee | nej | then | well
            | in[ ]that[ ]case | dann | na | alors | dans[ ]ce[ ]cas | entonces | en[ ]ese[ ]caso | então
            | nesse[ ]caso | allora | in[ ]tal[ ]caso | тогда | dan | då | så | wtedy | tak | hmm+ | gut
            | dziękuję | grazie | obrigad[oa]
        )\W+
    )*(?:
        # "I'll leave it", "dann lasse ich es", "alors je laisse"
        i(?:['’]ll|[ ]will|['’]d[ ]rather|[ ]would[ ]rather)?[ ](?:just[ ])?(?:
            leave[ ](?:it|that|this|things)\b | keep[ ](?:it|that|things|the[ ](?:one|old|current)|my)\b
            | wait\b | let[ ]it\b | skip\b | pass\b | stay[ ]with\b | hold[ ]off
        )
        | lass(?:e|en)?[ ](?:ich|wir)\b | (?:ich|wir)[ ](?:lasse?n?|warte[nt]?|verzichte[n]?)\b
        | (?:warte|verzichte)n?[ ](?:ich|wir)\b | (?:je|on)[ ](?:laisse|attends|renonce)\b
        | lo[ ](?:dejo|dejamos)\b | prefiero[ ](?:dejarlo|esperar) | (?:eu[ ])?deixo\b
        | prefiro[ ](?:deixar|esperar) | lascio\b | preferisco[ ](?:lasciar|aspettar)
        | (?:я[ ])?(?:оставлю|подожду)\b | (?:to[ ])?(?:zostaw\w*|poczekam)\b | laat[ ](?:ik|maar)\b
        | rezygnuj\w+ | rinuncio\b | renuncio\b | desisto\b | откажусь\b | ik[ ]zie[ ]ervan[ ]af
        | (?:jag[ ])?låter?[ ](?:jag[ ])?(?:det[ ])?(?:bli|vara)\b
        # "never mind", "forget it", "no need"
        | never[ ]?mind | nvm | forget | skip | drop | leave[ ](?:it|that|this) | let[ ]it
        | don['’]t[ ](?:bother|worry) | no[ ]need | i['’]ll[ ]do | not[ ](?:needed|necessary) | egal | vergiss
        | lass | nicht[ ](?:nötig|notwendig) | brauchst | schon[ ]gut | laisse | tant[ ]pis | oublie
        # "yes, order it without", "mach ohne weiter"
        | (?:
            (?:
                yes | yeah | sure | fine | go[ ]ahead | go[ ]on | do[ ]it | continue | proceed | order | book
                | send | just | then | please | ja | gut | dann | mach\w* | weiter | oui | alors | d['’]accord
                | sí | vale | entonces | sim | então | va[ ]bene | allora | да | хорошо | тогда | давай\w*
            )\W+(?:\w+\W+){0,4}?
        )?(?:
            without | anyway | regardless | as[ ](?:it[ ])?is | ohne | trotzdem | sans | quand[ ]même | sin
            | igualmente | sem | mesmo[ ]assim | senza | comunque | без
        )(?:\W+\w+){0,3}\W*$
        # French, Spanish, Portuguese, Italian, Russian
        | pas[ ](?:la[ ]peine|besoin) | déja(?:lo)?\b | olv[ií]da | no[ ]hace[ ]falta | no[ ]importa | deixa
        | esquece | lascia | non[ ]serve | não[ ](?:precisa|é[ ]preciso) | не[ ](?:надо|нужно) | забудь | оставь
        | не[ ]важно
    )
    # Chinese and Japanese
    | .{0,12}(?:算了|不用|不必|没关系|いらない|結構です|なしで|不要です|やめ)
    """,
    re.VERBOSE,
)


def _words_and_pairs(text: str) -> Iterator[str]:
    """The stems of a text's longer words, and each two characters in a row of a script without spaces."""
    yield from (word[:5] for word in _requestable_words(text.casefold()) if len(word) > 3)
    yield from (pair for run in _NO_SPACES.findall(text) for pair in map("".join, pairwise(run)))


_NO_SPACES = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")


def _share_a_word(words: Iterable[str], text: str) -> bool:
    spoken = set(_requestable_words(text))
    return any(_are_alike(word, other) for word in words for other in spoken)


def _subject(step: Step) -> str | None:
    effect = main_effect(effects_of(step.call))
    return None if effect is None else effect.subject


def _requestable_words(text: str) -> Iterator[str]:
    return (word for word in _REQUESTABLE.findall(text) if word not in _ASKS_FOR_NOTHING)


_REQUESTABLE = lazy_pattern(r"[^\W_]{2,}")
_ASKS_FOR_NOTHING_TABLE = (
    "the and for are was but can you all has its one two use now let out off via per may any who how why too get got "
    "run set add new old see not with from into this that what when where file files code test tests path command bash "
    "shell please main src lib is it in on of to my me we do if an as at be by so or no up"
)
_ASKS_FOR_NOTHING = frozenset(_ASKS_FOR_NOTHING_TABLE.split())


def _are_alike(word: str, other: str) -> bool:
    """Whether two words are the same, or have one root: `generate` and `regenerates`."""
    if word == other:
        return True
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) > 5 and longer.removesuffix("s").endswith(shorter.removesuffix("s")):
        return True  # `makemigrations` for "the migration"
    if len(shorter) <= 3:
        return False  # `unrar` for "plans.rar" is another thing than `unlock` for "lock"
    return longer.removeprefix("un") == shorter or longer.removeprefix("re").startswith(shorter[:6].removeprefix("re"))


def _is_look(step: Step) -> bool:
    """Whether a call looks at something, or runs code of the agent's own."""
    effect = main_effect(effects_of(step.call))
    if effect is None or is_interpreter(bare_name(step.call.name or "")):
        return True
    return effect.kind in (EffectKind.READ, EffectKind.PROBE, EffectKind.NOTHING)
