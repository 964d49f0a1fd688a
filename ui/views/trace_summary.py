"""Summaries of traces for lists, in words and as JSON values."""

from collections.abc import Iterable
from datetime import UTC, datetime

from weaklink.inspector.chain.endings import task_outcome
from weaklink.inspector.chain.steps import Break, Status
from weaklink.inspector.errors import StoreError, UnknownRuleError
from weaklink.inspector.model import Outcome, ParentTrace, ParentWhy
from weaklink.inspector.rules.catalogue import RULES, find_rule
from weaklink.inspector.rules.conversation import REPEATED_CALL
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.store import Store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.json_types.traces import ListedBreakJson, ParentJson, TaskOutcomeJson
from weaklink.ui.views.status import DAMAGED, GLYPHS, UNNAMED, liveness_run, status_run
from weaklink.ui.views.styled_text import POSITION_IDS, Line, Run, Style, style_of, visible_line


def trace_title(summary: TraceSummary) -> str:
    """The title of a trace: its name, or else the user's first words, an id of its source, or its file."""
    source_ids = (value for name, value in summary.external_ids.items() if name not in POSITION_IDS)
    file = summary.file.replace("\\", "/").rpartition("/")[2]
    known = (summary.name, summary.opening, next(source_ids, ""), f"{file} {summary.record}".strip())
    return next(filter(None, known), f"trace {summary.id}")


def listed_title(summary: TraceSummary, *, with_project: bool = True) -> str:
    """The title with the trace's relation to its parent, its project and its branch."""
    parent = f"{summary.parent.why.value}: " if summary.parent is not None else ""
    project = project_words(summary.project, summary.branch) if with_project else ""
    return f"{parent}{trace_title(summary)}{project}"


def project_words(project: str, branch: str) -> str:
    """Project and branch after a title: ` · weather (main)`; empty if neither is known."""
    words = " ".join(word for word in (project, f"({branch})" if branch else "") if word)
    return f" · {words}" if words else ""


def fork_parent(store: Store, summary: TraceSummary) -> int | None:
    """The id of a fork's parent trace; None if the trace is not a fork, or its parent is not in the store."""
    if summary.parent is None or summary.parent.why is not ParentWhy.FORK:
        return None
    known = summary.parent.external_id
    try:
        return store.summary(int(known.value) if known.name == "trace" else known.value).id
    except (StoreError, ValueError):
        return None


def break_words(broken: Break) -> Line:
    """A break in short: `#2 J104 trailing-comma`."""
    try:
        what = str(find_rule(broken.code))
    except UnknownRuleError:
        what = broken.code
    tool = visible_line(broken.tool) if broken.tool else UNNAMED
    return (Run(f"#{broken.step} "), Run(what, Style.ERROR), Run(f" {tool}", Style.DIM))


def reason_words(summary: TraceSummary) -> Line:
    """Why a trace's chain broke or was aborted, else its worst fault, in short; empty if nothing is wrong.

    For example `#2 J104 trailing-comma get_weather`, `C505 401 Incorrect API key`, `▲ T408 repeated-call`. A loop is
    named behind a break, too.
    """
    if summary.broken is not None:
        has_loop = REPEATED_CALL.code in summary.codes and summary.broken.code != REPEATED_CALL.code
        return (*break_words(summary.broken), *((Run(f" · {REPEATED_CALL}", Style.WARNING),) if has_loop else ()))
    if summary.damaged:
        return (Run(visible_line(summary.abort_reason or ""), Style.ERROR),)
    if summary.status is Status.ABORTED and not summary.running and (summary.abort_message or summary.abort_reason):
        return (Run(visible_line(summary.abort_message or f"by {summary.abort_reason}"), Style.ERROR),)
    return _worst_fault(summary.codes)


def _worst_fault(codes: Iterable[str]) -> Line:
    """The worst rule among these: errors before warnings, then loops, which concern the whole session."""
    present = frozenset(codes)
    serious = [rule for rule in RULES if rule.code in present and rule.severity is not Severity.INFO]
    worst = min(
        serious, key=lambda rule: (rule.severity is not Severity.ERROR, rule is not REPEATED_CALL), default=None
    )
    if worst is None:
        return ()
    more = f" +{len(serious) - 1}" if len(serious) > 1 else ""
    return (Run(f"{GLYPHS[worst.severity]} {worst}", style_of(worst.severity)), Run(more, Style.DIM))


def listed_status(summary: TraceSummary) -> Run:
    """The status of a trace in a list, or that it is still running, or damaged."""
    if summary.damaged:
        return DAMAGED
    if summary.liveness is not None:
        return liveness_run(summary.liveness, open_turns=summary.open_turns)
    return status_run(Status(summary.status), summary.broken)


def outcome_object(outcome: Outcome | None) -> TaskOutcomeJson:
    """The source's outcome; `task` is `success`, `failure` or `unknown`, the other values are the source's or null."""
    reward = outcome.reward if outcome is not None else None
    return {
        "task": task_outcome(outcome).value,
        "reward": reward,
        "completed": outcome.completed if outcome is not None else None,
        "exit_status": outcome.exit_status if outcome is not None else None,
    }


def parent_object(parent: ParentTrace | None) -> ParentJson | None:
    """A trace's parent, by the name and value of its external id, or null."""
    if parent is None:
        return None
    return {"name": parent.external_id.name, "id": parent.external_id.value, "why": parent.why.value}


def moment(at_s: float | None) -> str | None:
    """A moment as ISO 8601 in UTC, to the millisecond; None if it is unknown or not a valid date."""
    if at_s is None:
        return None
    try:
        return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None


def break_object(broken: Break | None) -> ListedBreakJson | None:
    """The break of a chain, or null."""
    if broken is None:
        return None
    value: ListedBreakJson = {
        "step": broken.step,
        "turn": broken.turn,
        "tool": broken.tool,
        "code": broken.code,
        "outcome": broken.outcome.value,
        "message": broken.message,
    }
    return value
