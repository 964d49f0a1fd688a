"""The values of a chain: its steps, their outcomes, the break and the status; and how messages quote them."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from itertools import accumulate

from msgspec import Struct

from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.model import ToolCall, ToolResult, Trace
from weaklink.inspector.rules.conversation import CALL_WITHOUT_RESULT, ERROR_RESULT, UNKNOWN_TOOL
from weaklink.inspector.rules.json_syntax import MALFORMED_JSON
from weaklink.inspector.rules.markers import UNTERMINATED_SPAN
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.rules.schema import CONSTRAINT_VIOLATED
from weaklink.inspector.text import Range

_MAX_QUOTE_CHARS = 80

SYNTAX_CODES = ("J", "F")
_MAX_SEARCHED = 64  # diagnostics before a call that are searched for one that extends into it
_MAX_PAYLOAD_END_CHARS = 64  # between a call and the fault of its end


class StepOutcome(StrEnum):
    """The outcome of a call: the first of these, in this order, that applies."""

    MALFORMED = "malformed"
    UNKNOWN_TOOL = "unknown-tool"
    INVALID = "invalid"
    ERROR_RESULT = "error-result"
    REJECTED = "rejected"  # the user, a permission rule or a hook refused or interrupted it
    NOT_RUN = "not-run"  # it never began: another call failed, or it was cancelled
    UNANSWERED = "unanswered"
    PENDING = "pending"
    OK = "ok"

    @property
    def failed(self) -> bool:
        """Whether the step failed; what nobody is to blame for (rejected, not run, pending) is not a failure."""
        return self not in _NOT_FAILED


_NOT_FAILED = frozenset((StepOutcome.REJECTED, StepOutcome.NOT_RUN, StepOutcome.PENDING, StepOutcome.OK))


class ResultKind(StrEnum):
    """What kind of answer a call got, if not what it was made for."""

    FAILURE = "failure"  # the tool could not do what was wanted
    FINDING = "finding"  # a check ran and reports faults in the work
    PROBE = "probe"  # a negative answer to a question
    REJECTED = "rejected"
    NOT_RUN = "not-run"


class Certainty(StrEnum):
    """How sure it is that a result is an error: by a flag, by its structure, or only by its words."""

    FLAGGED = "flagged"
    STRUCTURED = "structured"
    TEXTUAL = "textual"


class Recovery(StrEnum):
    """Why a failed step did no harm. The last two are less certain: no later step had the same effect."""

    ANSWERED = "answered"  # the tool accepted the call in spite of its schema, and answered without an error
    SAME_INTENT = "same-intent"  # a later call of the same tool or program with the same effect
    OTHER_TOOL = "other-tool"  # another tool or program with the same effect, or that brought what was wanted
    WORKED_AROUND = "worked-around"  # another way to the aim
    NOT_NEEDED = "not-needed"  # nothing later depends on it, and the agent does not claim it

    @property
    def is_sure(self) -> bool:
        """Whether the step's work is known to be done."""
        return self in (Recovery.ANSWERED, Recovery.SAME_INTENT, Recovery.OTHER_TOOL)


class Said(StrEnum):
    """What the agent said of a step's failure."""

    REPORTED = "reported"
    SILENT = "silent"
    CONCEALED = "concealed"  # it claims what failed, or continues with made-up values


class VerdictCertainty(StrEnum):
    """How sure a trace's verdict is; `low` where the rules had to guess."""

    HIGH = "high"
    LOW = "low"


class Reaction(StrEnum):
    """How the agent reacted to the step that broke the chain."""

    REPORTED = "reported"
    IGNORED = "ignored"
    CONCEALED = "concealed"


class Status(StrEnum):
    """The verdict on a trace's chain."""

    BROKEN = "broken"
    ABORTED = "aborted"
    RECOVERED = "recovered"
    UNKNOWN = "unknown"  # the source did not keep the last answer
    OK = "ok"


class Step(Struct, frozen=True, array_like=True):
    """One tool call of a chain and its outcome.

    `number` counts from 1; `location` is the call's location, `result_location` its result's. `certainty` is set for
    the outcome `error-result` only. `retry_of` is the number of the first of a run of identical calls, `depends_on` the
    numbers of the steps whose results this one uses. `recovery` is how a failed step was recovered, None if it was not;
    `recovered_by` is the number of the later step that did it, if there is one. `error` is the text that makes the
    result an error, `""` for an error without text, None if it is none. `result_kind` is None for a result as wanted.
    `said` is what the agent said of the failure, None if it is none or the trace ends before; `said_at` is the
    location of the sentence that reports or claims it. `rules` decided the kind of the result, the recovery and what
    was said, in this order; none for a result as wanted.
    """

    number: int
    call: ToolCall
    location: Location
    outcome: StepOutcome
    result: ToolResult | None = None
    result_location: Location | None = None
    certainty: Certainty | None = None
    retry_of: int | None = None
    depends_on: tuple[int, ...] = ()
    recovered_by: int | None = None
    recovery: Recovery | None = None
    error: str | None = None
    result_kind: ResultKind | None = None
    said: Said | None = None
    said_at: Location | None = None
    rules: tuple[VerdictRule, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether the call did what it was made for."""
        return self.outcome is StepOutcome.OK and self.result_kind is None


class Break(Struct, frozen=True, array_like=True):
    """The first step whose fault the agent did not recover from.

    `code` is the rule of the diagnostic that explains it; `message` is one sentence.
    """

    step: int
    turn: int
    tool: str | None
    outcome: StepOutcome
    code: str
    message: str
    reaction: Reaction | None = None


class Chain(Struct, frozen=True, array_like=True):
    """The steps of a trace in the order of their calls, its break if it has one, and its status.

    `abort_reason` is set if the status is `aborted` (`connection`, `length`, `limit`, `upstream`, `filter`,
    `client`, `user`). `certainty` is low where the rules had to guess. `caused` are the numbers, in order, of the
    later steps that depend on the broken one: on what it returned or on a value that the agent made up in its place,
    directly or through each other. `rule` decided the status.
    """

    steps: tuple[Step, ...]
    status: Status
    broken: Break | None = None
    abort_reason: str | None = None
    caused: tuple[int, ...] = ()
    certainty: VerdictCertainty = VerdictCertainty.HIGH
    rule: VerdictRule = VerdictRule.NOTHING_LOST


_REACTIONS: dict[Reaction | None, str] = {
    Reaction.REPORTED: "The agent reported it",
    Reaction.IGNORED: "The agent continued as if nothing had happened",
    Reaction.CONCEALED: "The agent continued as if it had worked",
    None: "The trace ends before the agent responds to it",
}
_CONCEALED = {
    VerdictRule.CLAIMED: "The agent claimed that it had worked",
    VerdictRule.MADE_UP_VALUE: "The agent continued with a value that it made up",
    VerdictRule.UNSOURCED_ANSWER: "The agent answered although every lookup had failed",
}


def reaction_clause(chain: Chain, broken: Break) -> str:
    """How the agent reacted to the step that broke the chain, by the rule that decided it; without a full stop."""
    rules = chain.steps[broken.step - 1].rules if broken.reaction is Reaction.CONCEALED else ()
    return next((_CONCEALED[rule] for rule in rules if rule in _CONCEALED), _REACTIONS[broken.reaction])


def quoted(text: str, longest: int = _MAX_QUOTE_CHARS) -> str:
    """`text` in backticks: white space collapsed, backticks made apostrophes, cut to `longest` code points."""
    line = " ".join(text[: 8 * longest].split()).replace("`", "'")
    short = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return f"`{short}`"


def tool_named(name: str | None) -> str:
    """A tool's name, quoted for a message."""
    return quoted(name) if name else "a tool with no readable name"


OUTCOME_RULES = {
    StepOutcome.MALFORMED: MALFORMED_JSON,
    StepOutcome.UNKNOWN_TOOL: UNKNOWN_TOOL,
    StepOutcome.INVALID: CONSTRAINT_VIOLATED,
    StepOutcome.ERROR_RESULT: ERROR_RESULT,
    StepOutcome.UNANSWERED: CALL_WITHOUT_RESULT,
}
"""The rule that a failed step's outcome breaks, if no diagnostic on its call has a more exact one."""


class Speech(Struct, frozen=True):
    """The words of one assistant turn that are neither call nor reasoning; `turn` counts from 1.

    `is_reasoning`: the turn's text is reasoning, in its markers, and nothing else.
    """

    turn: int
    text: str
    is_reasoning: bool = False


class CallFaults:
    """The errors by location, with look-ups in logarithmic time."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        errors: defaultdict[tuple[int, str], list[Diagnostic]] = defaultdict(list)
        syntax: defaultdict[tuple[int, str], list[Diagnostic]] = defaultdict(list)
        for diagnostic in diagnostics:
            part_key = diagnostic.location.turn, diagnostic.location.part
            if diagnostic.rule.severity is Severity.ERROR:
                errors[part_key].append(diagnostic)
            if diagnostic.rule.code.startswith(SYNTAX_CODES):
                syntax[part_key].append(diagnostic)
        self._syntax = {part_key: sorted(of_part, key=_order) for part_key, of_part in syntax.items()}
        self._by_part = {part_key: sorted(of_part, key=_order) for part_key, of_part in errors.items()}
        self._starts = {
            part_key: [fault.range.start for fault in of_part] for part_key, of_part in self._by_part.items()
        }
        self._reach = {
            part_key: list(accumulate((fault.range.end for fault in of_part), max))
            for part_key, of_part in self._by_part.items()
        }

    def on(self, call: Location) -> list[Diagnostic]:
        """The errors that overlap a call, in the order of the text."""
        return [fault for fault in self._near(call) if _overlap(fault.range, call.range)]

    def of(self, call: Location, trace: Trace) -> list[Diagnostic]:
        """The errors that overlap a call of `trace`, and after them that its marker is not closed.

        That one is where the text ends or where the next marker begins: the end of a payload (white space, brackets, a
        fence, the beginning of its closer) may lie between, but no whole marker, which would be the call's own closer.
        """
        errors, part_key, end = self.on(call), (call.turn, call.part), call.range.end
        following = bisect_left(self._starts.get(part_key, ()), end)
        part = trace.turns[call.turn - 1].part(call.part)
        for fault in self._by_part.get(part_key, ())[following : following + 1]:
            is_near = fault.rule is UNTERMINATED_SPAN and fault.range.start - end <= _MAX_PAYLOAD_END_CHARS
            if is_near and part is not None and ">" not in part.text[end : fault.range.start]:
                errors.append(fault)
        return errors

    def cause(self, call: Location, prefix: str | tuple[str, ...] = "") -> Diagnostic | None:
        """The first error on a call whose code begins with `prefix`, else the first next to it."""
        near = [fault for fault in self._near(call) if fault.rule.code.startswith(prefix)]
        return next((fault for fault in near if _overlap(fault.range, call.range)), near[0] if near else None)

    def cause_of_malformed(self, call: Location) -> Diagnostic | None:
        """Why a call is malformed: the error on it or next to it, else the nearest syntax fault of its part.

        A fault of several calls, such as single quotes, is reported once for all of them.
        """
        cause = self.cause(call, SYNTAX_CODES)
        faults = self._syntax.get((call.turn, call.part), [])
        if cause is not None or not faults:
            return cause
        index = bisect_right(faults, call.range.start, key=_start)
        errors = [
            fault
            for fault in faults[max(index - _MAX_SEARCHED, 0) : index + _MAX_SEARCHED]
            if fault.rule.severity is Severity.ERROR
        ]
        near = errors or faults[max(index - 1, 0) : index + 1]
        return min(near, key=lambda fault: max(call.range.start - fault.range.end, fault.range.start - call.range.end))

    def _near(self, call: Location) -> list[Diagnostic]:
        part_key = call.turn, call.part
        if part_key not in self._by_part:
            return []
        faults, reach = self._by_part[part_key], self._reach[part_key]
        last = bisect_right(self._starts[part_key], call.range.end)
        first = last
        while first and reach[first - 1] >= call.range.start and last - first < _MAX_SEARCHED:
            first -= 1
        return [fault for fault in faults[first:last] if fault.range.end >= call.range.start]


def _start(fault: Diagnostic) -> int:
    return fault.range.start


def _order(fault: Diagnostic) -> tuple[Range, str]:
    """Text order; at the same range, faults of markers (F) come before faults of what is between them (J)."""
    return fault.range, fault.rule.code


def _overlap(fault: Range, call: Range) -> bool:
    if not len(fault) or not len(call):
        return fault.start <= call.end and call.start <= fault.end
    return fault.overlaps(call)
