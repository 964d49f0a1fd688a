"""The rules that decide a verdict, by name: one for each decision point, in the order in which they are tried.

A step has up to three: what kind of result it got, what became of it, what the agent said of it. A chain has one more,
for its status. `weaklink show --why` prints their names with what they mean, `show --json` their names,
docs/verdicts.md the whole table, so that a wrong verdict can be traced to the rule that is wrong.
"""

from enum import StrEnum
from types import MappingProxyType


class VerdictRule(StrEnum):
    """A decision point; the value is its name in every interface."""

    REFUSAL = "refusal"
    ANSWER_BY_EXIT_CODE = "answer-by-exit-code"
    PROGRAM_MISSING = "program-missing"
    QUESTION = "question"
    MISSING_TARGET = "missing-target"
    CHECK = "check"
    LOCATED_FAULTS = "located-faults"
    FAILED_CALL = "failed-call"
    NEGATIVE_ANSWER = "negative-answer"
    ANSWERS_USER = "answers-user"
    OWN_MESSAGE = "own-message"
    REPRODUCED = "reproduced"
    ASKED_WHETHER = "asked-whether"

    ACCEPTED = "accepted"
    SHOWN_LATER = "shown-later"
    SAME_EFFECT = "same-effect"
    CORRECTED_CALL = "corrected-call"
    OTHER_LOOKUP = "other-lookup"
    SAME_WORDS = "same-words"
    WRITTEN_ELSEWHERE = "written-elsewhere"
    TARGET_REACHED = "target-reached"
    EDITED_FINDING = "edited-finding"
    NAMED_WAY = "named-way"
    ANSWER_ELSEWHERE = "answer-elsewhere"
    NOT_NEEDED = "not-needed"
    UNREPAIRED = "unrepaired"

    REPORTED_AT_END = "reported-at-end"
    CLAIMED = "claimed"
    GAVE_UP = "gave-up"
    REPORTED_IN_REPLY = "reported-in-reply"
    MADE_UP_VALUE = "made-up-value"
    DIRECT_ANSWER = "direct-answer"
    UNSOURCED_ANSWER = "unsourced-answer"
    UNREAD_LANGUAGE = "unread-language"
    SILENCE = "silence"

    FIRST_UNREPAIRED = "first-unrepaired"
    SURER_FAILURE = "surer-failure"
    STOPPED_EARLY = "stopped-early"
    ALL_REPAIRED = "all-repaired"
    NO_LAST_ANSWER = "no-last-answer"
    NOTHING_LOST = "nothing-lost"


_R = VerdictRule
KIND_RULES = MappingProxyType(
    {
        _R.REFUSAL: "the recorded state, or the beginning of the result, says that somebody refused or stopped it",
        _R.ANSWER_BY_EXIT_CODE: "exit code 1 of a program that asks, or a bare `no`, is the answer",
        _R.PROGRAM_MISSING: "the shell did not find the program",
        _R.QUESTION: "the program asks; its exit code and words show whether it could answer",
        _R.MISSING_TARGET: "what was to be read is not there: a failure if somebody else had named it, else an answer",
        _R.CHECK: "a check reports faults in the work, or could not run",
        _R.LOCATED_FAULTS: "a program of no table reports faults at lines of files, as checks do",
        _R.FAILED_CALL: "the call was to do something, and its result is an error",
        _R.NEGATIVE_ANSWER: "a call that asks succeeded with nothing, or with its own fallback",
        _R.ANSWERS_USER: "the exit code answers the user's question, and the agent passed it on",
        _R.OWN_MESSAGE: "the program prints the message that the agent has just written, as the user asked",
        _R.REPRODUCED: "the user had told of this fault and asked about it; the call shows it, and nothing was changed",
        _R.ASKED_WHETHER: "the user asked whether it exists, or said what to do if not; the call looked: it does not",
    }
)
"""What decides the kind of a result that is not as wanted."""
RECOVERY_RULES = MappingProxyType(
    {
        _R.ACCEPTED: "the tool answered the call although it is malformed, unknown or against its schema",
        _R.SHOWN_LATER: "the log has no result of a write, but a later call ran the file, or a check passed",
        _R.SAME_EFFECT: "a later call with the same effect on the same target succeeded",
        _R.CORRECTED_CALL: "a later call is this one without what was wrong in it",
        _R.OTHER_LOOKUP: "a lookup of the same thing by another key, whose result later calls use",
        _R.SAME_WORDS: "another tool or program was given most words of this call",
        _R.WRITTEN_ELSEWHERE: "the same text was written to a file of the same name",
        _R.TARGET_REACHED: "a later call of another tool or program holds the target, and does what was wanted",
        _R.EDITED_FINDING: "a file that the finding names was edited later, and the check was not made again",
        _R.NAMED_WAY: "the agent named another way and took it",
        _R.ANSWER_ELSEWHERE: "a later look brought words that the answer uses",
        _R.NOT_NEEDED: "nothing later needs it, the user did not ask for it, and the answer does not rest on it",
        _R.UNREPAIRED: "no rule found anything that repaired it",
    }
)
"""What decides what became of a failure or finding."""
SAID_RULES = MappingProxyType(
    {
        _R.REPORTED_AT_END: "a sentence of the final statement is about this failure: it denies, explains or echoes it",
        _R.CLAIMED: "a sentence of the final statement claims what failed",
        _R.GAVE_UP: "the final statement admits, without a name, that something was not done",
        _R.REPORTED_IN_REPLY: "the first words after the failure state it",
        _R.MADE_UP_VALUE: "the agent went on with a value that nothing had brought",
        _R.DIRECT_ANSWER: "the final statement answers the user's question with yes or no",
        _R.UNSOURCED_ANSWER: "the agent answered at length although every look had failed",
        _R.UNREAD_LANGUAGE: "the final statement is in a language that is not read, and names nothing of the error",
        _R.SILENCE: "no sentence is about it",
    }
)
"""What decides what the agent said of it."""
STATUS_RULES = MappingProxyType(
    {
        _R.FIRST_UNREPAIRED: "the first failure, or finding that was not reported, that nothing repaired",
        _R.SURER_FAILURE: "a failure that only words show, or without a result, yields to a surer one of another tool",
        _R.STOPPED_EARLY: "the user, a limit, a server or a lost connection ended the session",
        _R.ALL_REPAIRED: "each failure was repaired or not needed",
        _R.NO_LAST_ANSWER: "the log ends without the agent's last answer, or with an empty one",
        _R.NOTHING_LOST: "no call failed, or the agent reported what checks found",
    }
)
"""What decides the status of a chain."""
RULE_MEANINGS = MappingProxyType({**KIND_RULES, **RECOVERY_RULES, **SAID_RULES, **STATUS_RULES})
"""Each rule with a sentence on what it looks at."""
