"""The counts of one trace that metrics over many traces are made of."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from inspector.chain.steps import Break, Status


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Counts over the calls of a trace, or over those of one tool in it.

    `well_formed` calls are strict in their own format and name a tool. `checked` calls name a tool that was offered
    with a schema, and nothing kept them from being checked; the `compliant` among them are well formed and break
    nothing of it. `answered` calls got a result; `error_results` is how many of those are errors of calls that were
    otherwise sound. `failed` and `recovered` are as the chain has them. `timed` calls stand alone in their turn between
    recorded times; `latency_ms` is the sum of the milliseconds from the end of each to the next request.
    """

    calls: int = 0
    well_formed: int = 0
    checked: int = 0
    compliant: int = 0
    answered: int = 0
    error_results: int = 0
    failed: int = 0
    recovered: int = 0
    timed: int = 0
    latency_ms: int = 0

    def __add__(self, other: "CallCounts") -> "CallCounts":
        return CallCounts(*(getattr(self, name) + getattr(other, name) for name in CALL_COUNTS))


CALL_COUNTS = tuple(field.name for field in fields(CallCounts))
"""The names of what is counted over calls, in order."""


@dataclass(frozen=True, slots=True)
class SchemaViolationCount:
    """How often calls of a tool broke its schema at a place by a rule.

    `path` is a JSON Pointer into the arguments with `*` for the index of every list, `""` for the whole.
    """

    tool: str
    path: str
    code: str
    times: int


@dataclass(frozen=True, slots=True)
class ExpectedCounts:
    """How the calls of a trace agree with those that its task wanted: what was right, and of how much."""

    right_tools: int
    expected_tools: int
    right_parameters: int
    expected_parameters: int


@dataclass(frozen=True, slots=True)
class TraceFigures:
    """What one trace adds to metrics.

    `success` is what the source itself says, None where it says nothing. `calling_turns` are the turns with a call,
    `parallel_turns` those with several. `tools` maps a name (`""`: unreadable) to the counts over its calls; `codes`
    a rule's code to its diagnostics. What is known of expected calls stays None until `metrics_expected` says it.
    """

    status: Status
    success: bool | None
    calls: CallCounts
    calling_turns: int
    parallel_turns: int
    tools: Mapping[str, CallCounts]
    codes: Mapping[str, int]
    violations: tuple[SchemaViolationCount, ...]
    broken: Break | None = None
    abort_reason: str | None = None
    expected: ExpectedCounts | None = None

    def numbers(self) -> dict[str, int]:
        """The counts of the trace by name, those of its ending as 1 and 0."""
        is_multi_step = self.calls.calls > 1
        is_unbroken = self.status in (Status.OK, Status.RECOVERED)
        expected = asdict(self.expected) if self.expected is not None else {}
        return (
            asdict(self.calls)
            | expected
            | {
                "calling_turns": self.calling_turns,
                "parallel_turns": self.parallel_turns,
                "is_ok": int(self.status is Status.OK),
                "is_recovered": int(self.status is Status.RECOVERED),
                "is_broken": int(self.status is Status.BROKEN),
                "is_aborted": int(self.status is Status.ABORTED),
                "is_unknown": int(self.status is Status.UNKNOWN),
                "is_multi_step": int(is_multi_step),
                "is_multi_step_success": int(is_multi_step and is_unbroken and self.success is not False),
                "is_judged": int(self.success is not None),
                "is_judged_success": int(self.success is True),
                "is_unbroken_success": int(is_unbroken and self.success is True),
                "is_unbroken_failure": int(is_unbroken and self.success is False),
                "is_broken_success": int(self.status is Status.BROKEN and self.success is True),
                "is_broken_failure": int(self.status is Status.BROKEN and self.success is False),
            }
        )

    def numbers_of(self, tool: str) -> dict[str, int]:
        """The counts over a tool's calls by name; `is_broken` where the chain broke at one of them."""
        is_broken = self.broken is not None and (self.broken.tool or "") == tool
        return asdict(self.tools[tool]) | {"is_broken": int(is_broken)}


ENDINGS = (
    *("is_ok", "is_recovered", "is_broken", "is_aborted", "is_unknown"),
    *("is_multi_step", "is_multi_step_success", "is_judged", "is_judged_success"),
    *("is_unbroken_success", "is_unbroken_failure", "is_broken_success", "is_broken_failure"),
)
"""The names of what `TraceFigures.numbers` tells as 1 or 0."""
TRACE_NUMBERS = (*CALL_COUNTS, "calling_turns", "parallel_turns", *ENDINGS)
"""The names of the counts of every trace; those of expected calls come besides where such are known."""
TOOL_NUMBERS = (*CALL_COUNTS, "is_broken")
"""The names of the counts of a tool's calls in a trace."""
