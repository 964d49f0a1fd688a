"""The counts of one trace from which metrics over many traces are computed, and how they are counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import add

from msgspec import Struct, structs

from weaklink.inspector.chain.endings import source_says_success
from weaklink.inspector.chain.expected_calls import ExpectedCounts
from weaklink.inspector.chain.steps import Break, CallFaults, Chain, Status, Step, StepOutcome
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.model import Instant, InstantSource, Role, ToolDefinition, Trace
from weaklink.inspector.rules import schema
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range

ENDINGS = (
    *("is_ok", "is_recovered", "is_broken", "is_aborted", "is_unknown"),
    *("is_multi_step", "is_multi_step_success", "is_judged", "is_judged_success"),
    *("is_unbroken_success", "is_unbroken_failure", "is_broken_success", "is_broken_failure"),
)
"""The names that `TraceFigures.numbers` maps to 1 or 0."""

_ANY_ITEM = "*"
_MAX_LATENCY_S = 86_400.0  # a day; after a longer gap, the session was paused and the tool is not to blame


class CallCounts(Struct, frozen=True):
    """Counts over the calls of a trace, or over those of one tool in it.

    `well_formed` calls are those whose step is not malformed. `checked` calls name a tool that was offered
    with a schema, and nothing prevented the check; the `compliant` ones among them are well formed and do not violate
    the schema. `answered` calls got a result; `error_results` is how many of those are errors of calls that were
    otherwise sound. `failed` and `recovered` are as in the chain. `timed` calls are alone in their turn, between
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
        return CallCounts(*map(add, structs.astuple(self), structs.astuple(other)))


CALL_COUNTS = CallCounts.__struct_fields__
"""The names of the counts over calls, in order."""


def _numbers_of(counts: CallCounts) -> dict[str, int]:
    return dict(zip(CALL_COUNTS, structs.astuple(counts), strict=True))


class SchemaViolationCount(Struct, frozen=True):
    """How often calls of a tool violated its schema, by place and rule.

    `path` is a JSON Pointer into the arguments with `*` for every list index, `""` for the whole.
    """

    tool: str
    path: str
    code: str
    times: int


class TraceFigures(Struct, frozen=True):
    """The counts that one trace adds to metrics.

    `success` is the source's own verdict, None if it has none. `calling_turns` are the turns with a call,
    `parallel_turns` those with several. `tools` maps a name (`""`: unreadable) to the counts over its calls; `codes`
    a rule's code to its number of diagnostics. `expected` is None unless the expected calls are known.
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
        expected = structs.asdict(self.expected) if self.expected is not None else {}
        return (
            _numbers_of(self.calls)
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
        """The counts over a tool's calls by name; `is_broken` is 1 if the chain broke at one of them."""
        is_broken = self.broken is not None and (self.broken.tool or "") == tool
        return _numbers_of(self.tools[tool]) | {"is_broken": int(is_broken)}


TRACE_NUMBERS = (*CALL_COUNTS, "calling_turns", "parallel_turns", *ENDINGS)
"""The names of the counts of every trace; the counts of expected calls are added if those are known."""

TOOL_NUMBERS = (*CALL_COUNTS, "is_broken")
"""The names of the counts of a tool's calls in a trace."""

_VIOLATIONS = frozenset(rule.code for rule in schema.RULES if rule.severity is Severity.ERROR)


def figures_of(
    trace: Trace,
    chain: Chain,
    diagnostics: Sequence[Diagnostic],
    definitions: Iterable[tuple[int, ToolDefinition]] = (),
) -> TraceFigures:
    """The figures of a trace with this chain and these diagnostics, which must be all that were found.

    `definitions` are the tools that its texts define, each with its turn, in order. Takes n log n time.
    """
    counter = _CallCounter(trace, chain.steps, diagnostics, definitions)
    tools: defaultdict[str, CallCounts] = defaultdict(CallCounts)
    for step in chain.steps:
        tools[step.call.name or ""] += counter.counts(step)
    turns = Counter(step.location.turn for step in chain.steps)
    return TraceFigures(
        status=chain.status,
        success=source_says_success(trace),
        calls=sum(tools.values(), CallCounts()),
        calling_turns=len(turns),
        parallel_turns=sum(calls > 1 for calls in turns.values()),
        tools=dict(tools),
        codes=dict(Counter(diagnostic.rule.code for diagnostic in diagnostics)),
        violations=tuple(counter.violations(chain.steps)),
        broken=chain.broken,
        abort_reason=chain.abort_reason,
    )


class _CallCounter:
    """Counts the calls of one trace."""

    def __init__(
        self,
        trace: Trace,
        steps: Sequence[Step],
        diagnostics: Sequence[Diagnostic],
        definitions: Iterable[tuple[int, ToolDefinition]],
    ) -> None:
        self._faults = CallFaults(diagnostics)
        self._unchecked: defaultdict[tuple[int, str], list[Range]] = defaultdict(list)
        for diagnostic in diagnostics:
            if diagnostic.rule is schema.SCHEMA_NOT_CHECKED:
                self._unchecked[diagnostic.location.turn, diagnostic.location.part].append(diagnostic.location.range)
        self._schemas = _schemas(trace, definitions)
        self._latencies = _latencies_ms(trace, steps)

    def counts(self, step: Step) -> CallCounts:
        """The counts of one call."""
        is_checked = self._is_checked(step)
        is_well_formed = step.outcome is not StepOutcome.MALFORMED
        is_compliant = is_checked and is_well_formed and not self._broken(step)
        latency_ms = self._latencies.get(step.number)
        return CallCounts(
            calls=1,
            well_formed=int(is_well_formed),
            checked=int(is_checked),
            compliant=int(is_compliant),
            answered=int(step.result is not None),
            error_results=int(step.outcome is StepOutcome.ERROR_RESULT),
            failed=int(step.outcome.failed),
            recovered=int(step.outcome.failed and step.recovery is not None),
            timed=int(latency_ms is not None),
            latency_ms=latency_ms or 0,
        )

    def violations(self, steps: Sequence[Step]) -> Iterator[SchemaViolationCount]:
        """The schema violations of the calls, the most frequent first."""
        counts = Counter(
            (step.call.name or "", _without_indices(fault.fault.path or ""), fault.rule.code)
            for step in steps
            for fault in self._broken(step)
        )
        for (tool, path, code), times in sorted(counts.items(), key=lambda counted: (-counted[1], counted[0])):
            yield SchemaViolationCount(tool, path, code, times)

    def _broken(self, step: Step) -> list[Diagnostic]:
        return [fault for fault in self._faults.on(step.location) if fault.rule.code in _VIOLATIONS]

    def _is_checked(self, step: Step) -> bool:
        if step.call.name is None or step.call.name not in self._schemas.get(step.location.turn, frozenset()):
            return False
        part_key, mine = (step.location.turn, step.location.part), step.location.range
        left_out = self._unchecked.get(part_key, ())
        return not any(mine.start <= unchecked.start and unchecked.end <= mine.end for unchecked in left_out)


def _schemas(trace: Trace, definitions: Iterable[tuple[int, ToolDefinition]]) -> dict[int, frozenset[str]]:
    """The tools with a schema that a turn's calls are checked against: its request's, else those of earlier texts."""
    in_texts: defaultdict[int, set[str]] = defaultdict(set)
    for number, tool in definitions:
        is_input = number <= len(trace.turns) and trace.turns[number - 1].role in (Role.SYSTEM, Role.USER)
        if tool.parameters is not None and is_input:
            in_texts[number].add(tool.name)
    by_turn: dict[int, frozenset[str]] = {}
    defined: frozenset[str] = frozenset()
    seen: dict[int, frozenset[str]] = {}
    for number, turn in enumerate(trace.turns, 1):
        if number in in_texts:
            defined |= in_texts[number]
        tools = turn.generation.tools if turn.generation is not None else ()
        if tools and id(tools) not in seen:
            seen[id(tools)] = frozenset(tool.name for tool in tools if tool.parameters is not None)
        by_turn[number] = seen[id(tools)] if tools else defined
    return by_turn


def _latencies_ms(trace: Trace, steps: Sequence[Step]) -> dict[int, int]:
    """How long each call's result took, from the end of its turn to the next request, if both were recorded."""
    in_turn = Counter(step.location.turn for step in steps)
    following = _following_starts_s(trace)
    latencies_ms: dict[int, int] = {}
    for step in steps:
        if step.location.turn > len(trace.turns):  # an inspection may be of a longer version of the trace
            continue
        generation = trace.turns[step.location.turn - 1].generation
        ended_s = _recorded_s(generation.ended) if generation is not None else None
        began_s = following[step.location.turn - 1]
        if ended_s is None or began_s is None or step.result is None or in_turn[step.location.turn] > 1:
            continue
        if 0 <= began_s - ended_s < _MAX_LATENCY_S:
            latencies_ms[step.number] = round(1000 * (began_s - ended_s))
    return latencies_ms


def _following_starts_s(trace: Trace) -> list[float | None]:
    """For each turn, when the next generation after it began."""
    starts_s: list[float | None] = []
    began_s: float | None = None
    for turn in reversed(trace.turns):
        starts_s.append(began_s)
        if turn.generation is not None:
            began_s = _recorded_s(turn.generation.started)
    return starts_s[::-1]


def _recorded_s(instant: Instant | None) -> float | None:
    return instant.at_s if instant is not None and instant.source is InstantSource.RECORDED else None


def _without_indices(path: str) -> str:
    return "/".join(_ANY_ITEM if piece.isdecimal() else piece for piece in path.split("/"))
