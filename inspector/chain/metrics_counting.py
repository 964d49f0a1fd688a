"""Counts one trace for metrics: what became of its calls, which schemas they kept, how long their tools took."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from inspector.chain.call_faults import CallFaults
from inspector.chain.endings import source_says_success
from inspector.chain.metrics_figures import CallCounts, SchemaViolationCount, TraceFigures
from inspector.chain.steps import Chain, Step, StepOutcome
from inspector.diagnostics import Diagnostic
from inspector.model import Instant, InstantSource, Role, ToolDefinition, Trace
from inspector.rules import schema
from inspector.rules.rule import Severity
from inspector.text import Range

_VIOLATIONS = frozenset(rule.code for rule in schema.RULES if rule.severity is Severity.ERROR)
_ANY_ITEM = "*"
_LONGEST_S = 86_400.0  # a day; beyond, the session was put aside and the tool is not to blame


def figures_of(
    trace: Trace,
    chain: Chain,
    diagnostics: Sequence[Diagnostic],
    definitions: Iterable[tuple[int, ToolDefinition]] = (),
) -> TraceFigures:
    """The figures of a trace with this chain and these diagnostics, which must be all that were found.

    `definitions` are the tools that its texts define, each with its turn, in order. Linear but for a logarithm.
    """
    look = _Look(trace, chain.steps, diagnostics, definitions)
    tools: defaultdict[str, CallCounts] = defaultdict(CallCounts)
    for step in chain.steps:
        tools[step.call.name or ""] += look.counts(step)
    turns = Counter(step.location.turn for step in chain.steps)
    return TraceFigures(
        status=chain.status,
        success=source_says_success(trace),
        calls=sum(tools.values(), CallCounts()),
        calling_turns=len(turns),
        parallel_turns=sum(calls > 1 for calls in turns.values()),
        tools=dict(tools),
        codes=dict(Counter(one.rule.code for one in diagnostics)),
        violations=tuple(look.violations(chain.steps)),
        broken=chain.broken,
        abort_reason=chain.abort_reason,
    )


class _Look:
    """One trace, looked at call by call."""

    def __init__(
        self,
        trace: Trace,
        steps: Sequence[Step],
        diagnostics: Sequence[Diagnostic],
        definitions: Iterable[tuple[int, ToolDefinition]],
    ) -> None:
        self._faults = CallFaults(diagnostics)
        self._unchecked: defaultdict[tuple[int, str], list[Range]] = defaultdict(list)
        for one in diagnostics:
            if one.rule is schema.SCHEMA_NOT_CHECKED:
                self._unchecked[one.location.turn, one.location.part].append(one.location.range)
        self._schemas = _schemas(trace, definitions)
        self._latencies = _latencies_ms(trace, steps)

    def counts(self, step: Step) -> CallCounts:
        """The counts of one call."""
        is_checked = self._is_checked(step)
        is_compliant = is_checked and step.call.valid and not self._broken(step)
        latency_ms = self._latencies.get(step.number)
        return CallCounts(
            calls=1,
            well_formed=int(step.call.valid),
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
        """What calls broke of their schemas, the most frequent first."""
        found = Counter(
            (step.call.name or "", _without_indices(fault.fault.path or ""), fault.rule.code)
            for step in steps
            for fault in self._broken(step)
        )
        for (tool, path, code), times in sorted(found.items(), key=lambda one: (-one[1], one[0])):
            yield SchemaViolationCount(tool, path, code, times)

    def _broken(self, step: Step) -> list[Diagnostic]:
        return [fault for fault in self._faults.on(step.location) if fault.rule.code in _VIOLATIONS]

    def _is_checked(self, step: Step) -> bool:
        if step.call.name is None or step.call.name not in self._schemas.get(step.location.turn, frozenset()):
            return False
        place, mine = (step.location.turn, step.location.part), step.location.range
        left_out = self._unchecked.get(place, ())
        return not any(mine.start <= one.start and one.end <= mine.end for one in left_out)


def _schemas(trace: Trace, definitions: Iterable[tuple[int, ToolDefinition]]) -> dict[int, frozenset[str]]:
    """The tools with a schema that a turn's calls are checked against: those of its request, else of texts before."""
    told: defaultdict[int, set[str]] = defaultdict(set)
    for number, tool in definitions:
        is_told = number <= len(trace.turns) and trace.turns[number - 1].role in (Role.SYSTEM, Role.USER)
        if tool.parameters is not None and is_told:
            told[number].add(tool.name)
    found: dict[int, frozenset[str]] = {}
    defined: frozenset[str] = frozenset()
    seen: dict[int, frozenset[str]] = {}
    for number, turn in enumerate(trace.turns, 1):
        if number in told:
            defined |= told[number]
        tools = turn.generation.tools if turn.generation is not None else ()
        if tools and id(tools) not in seen:
            seen[id(tools)] = frozenset(tool.name for tool in tools if tool.parameters is not None)
        found[number] = seen[id(tools)] if tools else defined
    return found


def _latencies_ms(trace: Trace, steps: Sequence[Step]) -> dict[int, int]:
    """How long each call's result took, from the end of its turn to the next request, where both were recorded."""
    in_turn = Counter(step.location.turn for step in steps)
    following = _following_starts_s(trace)
    found: dict[int, int] = {}
    for step in steps:
        if step.location.turn > len(trace.turns):  # an inspection may be of a longer version of the trace
            continue
        generation = trace.turns[step.location.turn - 1].generation
        ended_s = _recorded_s(generation.ended) if generation is not None else None
        began_s = following[step.location.turn - 1]
        if ended_s is None or began_s is None or step.result is None or in_turn[step.location.turn] > 1:
            continue
        if 0 <= began_s - ended_s < _LONGEST_S:
            found[step.number] = round(1000 * (began_s - ended_s))
    return found


def _following_starts_s(trace: Trace) -> list[float | None]:
    """For each turn, when the next generation behind it began."""
    found: list[float | None] = []
    began_s: float | None = None
    for turn in reversed(trace.turns):
        found.append(began_s)
        if turn.generation is not None:
            began_s = _recorded_s(turn.generation.started)
    return found[::-1]


def _recorded_s(instant: Instant | None) -> float | None:
    return instant.at_s if instant is not None and instant.source is InstantSource.RECORDED else None


def _without_indices(path: str) -> str:
    return "/".join(_ANY_ITEM if piece.isdecimal() else piece for piece in path.split("/"))
