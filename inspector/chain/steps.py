"""The values of a chain: its steps, their outcomes, the break and the status; and how messages quote them."""

from enum import StrEnum

from msgspec import Struct

from inspector.diagnostics import Location
from inspector.model import ToolCall, ToolResult
from inspector.model.columns import Entries

_LONGEST = 80


class StepOutcome(StrEnum):
    """What became of a call: the first of these, in this order, that holds."""

    MALFORMED = "malformed"
    UNKNOWN_TOOL = "unknown-tool"
    INVALID = "invalid"
    ERROR_RESULT = "error-result"
    UNANSWERED = "unanswered"
    PENDING = "pending"
    OK = "ok"

    @property
    def failed(self) -> bool:
        """Whether the step did not do its work; `pending` is not a failure."""
        return self is not StepOutcome.OK and self is not StepOutcome.PENDING


class Certainty(StrEnum):
    """How sure it is that a result is an error: by a flag, by its structure, or only by its words."""

    FLAGGED = "flagged"
    STRUCTURED = "structured"
    TEXTUAL = "textual"


class Recovery(StrEnum):
    """How a failed step came to do no harm.

    The last two are less certain: no later step did its work, but nothing depends on it. `source-success` is the more
    certain of them: the source counts the whole session a success.
    """

    ANSWERED = "answered"  # the tool took the call in spite of its schema, and answered without an error
    SAME_INTENT = "same-intent"
    OTHER_TOOL = "other-tool"
    SOURCE_SUCCESS = "source-success"
    NOT_NEEDED = "not-needed"

    @property
    def is_sure(self) -> bool:
        """Whether the step's work is known to be done."""
        return self in (Recovery.ANSWERED, Recovery.SAME_INTENT, Recovery.OTHER_TOOL)


class Reaction(StrEnum):
    """What the agent did about the step that broke the chain."""

    REPORTED = "reported"
    IGNORED = "ignored"
    CONCEALED = "concealed"


class Status(StrEnum):
    """How a trace ended, seen as a chain."""

    BROKEN = "broken"
    ABORTED = "aborted"
    RECOVERED = "recovered"
    UNKNOWN = "unknown"  # the source did not keep the last answer
    OK = "ok"


class Step(Struct, frozen=True):
    """One tool call of a chain and what became of it.

    `number` counts from 1; `location` is the call's place, `result_location` its result's. `certainty` is set for the
    outcome `error-result` only. `retry_of` names the first of a run of identical calls, `depends_on` the steps whose
    results this one uses, both by number. `recovery` says how a failed step was made good, None where it was not;
    `recovered_by` the later step that did so, where one did. `error` are the words by which the result is an error,
    `""` where it is one without words, None where it is none.
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


class Break(Struct, frozen=True):
    """The first step whose fault the agent did not recover from.

    `code` is the rule of the diagnostic that says why; `message` is one sentence.
    """

    step: int
    turn: int
    tool: str | None
    outcome: StepOutcome
    code: str
    message: str
    reaction: Reaction | None = None


class Chain(Struct, frozen=True):
    """The steps of a trace in the order of their calls, its break if it has one, and its status.

    `abort_reason` is set where the status is `aborted` (`connection`, `length`, `limit`, `upstream`, `filter`,
    `client`). `caused` are the numbers of the later steps that hang on the broken one, by what it returned or by a
    value that the agent made up in its place, directly or by way of each other; in order.
    """

    steps: Entries[Step]
    status: Status
    broken: Break | None = None
    abort_reason: str | None = None
    caused: tuple[int, ...] = ()


def quoted(text: str, longest: int = _LONGEST) -> str:
    """`text` in backticks: white space drawn together, backticks made apostrophes, cut at `longest` code points."""
    line = " ".join(text[: 8 * longest].split()).replace("`", "'")
    short = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return f"`{short}`"


def tool_named(name: str | None) -> str:
    """A tool as a message names it."""
    return quoted(name) if name else "a tool without a readable name"
