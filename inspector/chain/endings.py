"""Why a trace ended before its work was done, and whether its source counts it as a success."""

from collections.abc import Sequence
from math import isnan

from weaklink.inspector.chain.steps import Speech, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ends_run
from weaklink.inspector.checks.recording import rule_of_error
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    FinishReason,
    Generation,
    Outcome,
    Role,
    TaskOutcome,
    Trace,
    Turn,
)
from weaklink.inspector.model.trace import ASKED_AGAIN, RECORDING_ID
from weaklink.inspector.rules.recording import ABORTED_STREAM, CUT_OFF_BY_LENGTH
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.wire.events import UNREAD_PART, WIRE_PREFIX, settings_of

_MAX_ABORT_CHARS = 200
_BY_PHASE = {
    ErrorPhase.CONNECT: "connection",
    ErrorPhase.HTTP: "upstream",
    ErrorPhase.IN_STREAM: "upstream",
    ErrorPhase.TRANSPORT: "connection",
    ErrorPhase.CLIENT_ABORT: "client",
}
_BY_FINISH = {FinishReason.LENGTH: "length", FinishReason.FILTER: "filter", FinishReason.ERROR: "upstream"}
# Agents' own exit statuses, by a word in them: SWE-agent `exit_cost`, mini-SWE-agent `LimitsExceeded`,
# Harbor `AgentTimeoutError`, tau-bench `max_steps`, Inspect `token`, Claude Code `error_max_turns`.
_BY_EXIT_STATUS = (
    ("context", "length"),
    ("filter", "filter"),
    ("refus", "filter"),
    ("limit", "limit"),
    ("max_", "limit"),
    ("max-", "limit"),
    ("cost", "limit"),
    ("budget", "limit"),
    ("timeout", "limit"),
    ("timed_out", "limit"),
    ("cancel", "client"),
    ("interrupt", "client"),
    ("abort", "client"),
    ("connection", "connection"),
    ("api", "upstream"),
    ("error", "upstream"),
)
# A judge's words: a benchmark's result, not that the run ended.
_SUCCESS = frozenset(("passed", "pass", "resolved", "solved", "correct"))
_ENDED_TABLE = (
    "0 ok success succeeded successful submitted submit completed complete done finished finish stop end_turn "
    "agent_stop user_stop"
)
_ENDED = _SUCCESS | frozenset(_ENDED_TABLE.split())
_FAILURE = (*(word for word, _ in _BY_EXIT_STATUS), "fail", "incomplete", "unresolved", "give_up", "gave_up", "stuck")


_INTERRUPTED = lazy_pattern(r"\s*(?:\[Request interrupted by user|<turn_aborted>)")  # Claude Code, Codex


def abort_reason(trace: Trace) -> str | None:
    """Why the trace's last generation, or its whole session, ended early; None if it did not."""
    last = _last_generation(trace)
    if last is not None and last.error is not None:
        return _BY_PHASE[last.error.phase]
    if last is not None and _broke_off(last):
        return "connection"
    finish = last.finish if last is not None else None
    return _by_exit_status(trace) or (_BY_FINISH.get(finish) if finish is not None else None)


def abort_words(trace: Trace) -> str:
    """What ended the trace early, on one line: the rule, the status and the words of the server, as far as known.

    For example `C505 400 "auto" tool choice requires --enable-auto-tool-choice`. Empty if nothing ended it early.
    """
    reason, last = abort_reason(trace), _last_generation(trace)
    if reason is None:
        return ""
    if last is not None and last.error is not None:
        status = "" if last.error.status is None else str(last.error.status)
        facts = (rule_of_error(last.error).code, status, " ".join(last.error.message.split()))
        return _cut(" ".join(filter(None, facts)))
    if last is not None and _broke_off(last):
        return f"{ABORTED_STREAM.code} the answer ended without an end sign"
    if _by_exit_status(trace) is not None and trace.outcome is not None:
        status = " ".join((trace.outcome.exit_status or "").split())
        return _cut(status if _is_recorded(trace) else f"exit status {status}")  # recorded: our words, or an exception
    return {
        "length": f"{CUT_OFF_BY_LENGTH.code} the output limit was reached",
        "filter": "a content filter stopped the output",
    }.get(reason, "")


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_ABORT_CHARS else f"{line[: _MAX_ABORT_CHARS - 1]}…"


def stopped_by_user(trace: Trace, steps: Sequence[Step]) -> str | None:
    """`user` if the session stops where somebody refused or interrupted a call; None if it goes on."""
    for turn in reversed(trace.turns):
        text = "".join(part.text for part in turn.parts if part.name != "reasoning")
        if turn.role is Role.ASSISTANT and (text.strip() or turn.calls):
            is_last = (
                bool(steps) and bool(turn.calls) and steps[-1].outcome in (StepOutcome.REJECTED, StepOutcome.NOT_RUN)
            )
            return "user" if is_last else None
        if turn.role is Role.USER and _INTERRUPTED.match(text):
            return "user"
        if turn.role is Role.USER and not turn.flags:
            return None  # the user went on, and no answer is recorded
    return None


def truncation_clause(trace: Trace) -> str | None:
    """What cut the last generation short, as a clause; None if nothing did."""
    last = _last_generation(trace)
    if last is None:
        return None
    if last.error is not None:
        return {"connection": "the connection broke", "client": "the client stopped here"}.get(
            _BY_PHASE[last.error.phase], "the server stopped sending"
        )
    if _broke_off(last):
        return "the answer ended without an end sign"
    return {
        FinishReason.LENGTH: "the output limit was reached",
        FinishReason.FILTER: "a content filter stopped the output",
    }.get(last.finish or FinishReason.STOP)


def ends_unanswered(trace: Trace) -> bool:
    """Whether calls that are open at the end of the trace will never be answered, although their agent had to.

    That is so in a session that weaklink recorded, once it has ended or is idle, also if its agent died. It is not so
    if somebody interrupted the agent; if the last answer was cut short, which is why the session ended; if the request
    forced the call, as clients do that want an answer in the shape of a schema; if nobody took part but the model, as
    in a log of raw outputs; and if `weaklink ask` sent the request, which runs no tool.
    """
    last = _last_generation(trace)
    return (
        not trace.is_open
        and _is_recorded(trace)
        and trace.provenance.source != ASKED_AGAIN
        and last is not None
        and last.error is None
        and last.finish not in _BY_FINISH
        and not _broke_off(last)
        and not _forces_call(last)
        and not _was_interrupted(trace)
        and any(turn.role is not Role.ASSISTANT for turn in trace.turns)
    )


def keeps_last_answer(trace: Trace) -> bool:
    """Whether the source kept the text of the last answer: false if it stored or showed none of it."""
    last = _last_generation(trace)
    return last is None or last.body not in (BodyState.NOT_STORED, BodyState.REDACTED)


def lacks_last_answer(trace: Trace, steps: Sequence[Step], speeches: Sequence[Speech]) -> bool:
    """Whether a finished log ends with an empty answer, or a result that has none, and no call ended the work.

    `speeches` are the agent's texts, in order.
    """
    if not trace.turns or trace.is_open or has_completed(trace) or (steps and ends_run(steps[-1].call)):
        return False
    only_thinks = bool(speeches) and speeches[-1].turn == len(trace.turns) and speeches[-1].is_reasoning
    return trace.turns[-1].role is Role.TOOL or _says_nothing(trace.turns[-1], only_thinks=only_thinks)


def _says_nothing(turn: Turn, *, only_thinks: bool) -> bool:
    """Whether an answer, of which its source kept all, has no call and no text outside of reasoning.

    `only_thinks`: its text is reasoning in its markers.
    """
    is_kept = turn.generation is None or turn.generation.body is BodyState.COMPLETE
    if turn.role is not Role.ASSISTANT or turn.calls or not is_kept:
        return False
    answers = [part.name for part in turn.parts if part.text.strip() and _is_answer(part.name)]
    return not answers or (answers == ["text"] and only_thinks)


def _is_answer(part: str) -> bool:
    """Whether a part's text answers: no reasoning and nothing beside the answer; what was not understood may."""
    return part == UNREAD_PART or not (part == "reasoning" or part.startswith(WIRE_PREFIX))


def task_outcome(outcome: Outcome | None) -> TaskOutcome:
    """Whether a judge of the source counts the task as done: by the reward, else by a judging exit status.

    A reward or score above zero is a success, any other a failure. That a run ended (`submitted`, `completed`) says
    nothing about its task; that it did not end, because of a limit or an error, is a failure.
    """
    if outcome is None:
        return TaskOutcome.UNKNOWN
    if outcome.reward is not None and not isnan(outcome.reward):
        return TaskOutcome.SUCCESS if outcome.reward > 0 else TaskOutcome.FAILURE
    status = (outcome.exit_status or "").strip().lower()
    if outcome.completed is False:
        return TaskOutcome.FAILURE
    if status in _SUCCESS:
        return TaskOutcome.SUCCESS
    is_failure = any(word in status for word in _FAILURE) or (status.isdecimal() and int(status))
    return TaskOutcome.FAILURE if is_failure and status not in _ENDED else TaskOutcome.UNKNOWN


def has_completed(trace: Trace) -> bool:
    """Whether the source says that the run ended by itself; that is no statement about its task."""
    outcome = trace.outcome
    if outcome is None or outcome.completed is False:
        return False
    return bool(outcome.completed) or (outcome.exit_status or "").strip().lower() in _ENDED or (outcome.reward or 0) > 0


def source_says_success(trace: Trace) -> bool | None:
    """Whether the source counts the session as a success, as `task_outcome` judges; None if it does not say."""
    outcome = task_outcome(trace.outcome)
    return None if outcome is TaskOutcome.UNKNOWN else outcome is TaskOutcome.SUCCESS


def _last_generation(trace: Trace) -> Generation | None:
    return next((turn.generation for turn in reversed(trace.turns) if turn.generation is not None), None)


def _forces_call(generation: Generation) -> bool:
    """Whether the request named the tool to call, or required a call of the only tool."""
    if "tool_choice" not in generation.parameters:
        return False
    choice = settings_of(generation).get("tool_choice")
    named = object_of(choice)
    is_required = choice == "required" or named.get("type") == "any"
    return "name" in named or "function" in named or (is_required and len(generation.tools) == 1)


def _broke_off(generation: Generation) -> bool:
    """Whether the stream ended without a finish reason: its recorder or its server was killed."""
    return generation.body is BodyState.TRUNCATED and generation.finish is None


def _by_exit_status(trace: Trace) -> str | None:
    outcome = trace.outcome
    if outcome is None or outcome.exit_status is None:
        return None
    status = outcome.exit_status.lower()
    if status.strip() in _ENDED or (outcome.reward or 0) > 0:
        return None
    reason = next((reason for word, reason in _BY_EXIT_STATUS if word in status), None)
    # An exception that left the agent's `with` block; what the server did wrong is in the generations.
    return "client" if reason == "upstream" and _is_recorded(trace) else reason


def _was_interrupted(trace: Trace) -> bool:
    """Whether somebody stopped the agent: a signal, Ctrl-C, or the cancellation of its task."""
    status = (trace.outcome.exit_status or "").lower() if trace.outcome is not None else ""
    return "interrupt" in status or "cancel" in status


def _is_recorded(trace: Trace) -> bool:
    return any(external_id.name == RECORDING_ID for external_id in trace.external_ids)
