"""Builds traces from spans: orders the requests of a session by time, and adds the runs of tools.

The session resolver places each request, as in live recording, and adds the turns that its trace does not have yet.
Results that no later request repeats are taken from the spans of tools.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, groupby

from msgspec import Struct, field, structs

from weaklink.inspector import model
from weaklink.inspector.importers.telemetry.framework_calls import one_answer
from weaklink.inspector.importers.telemetry.run_traces import recorded_run, traces_of_runs
from weaklink.inspector.importers.telemetry.span_spool import TRACE
from weaklink.inspector.importers.telemetry.spans import (
    ModelCall,
    OperationKind,
    ToolRun,
    TracedSpan,
    end_of,
    merge_duplicates,
    moment_of,
    nearest_outer,
)
from weaklink.inspector.model.exchange import renumbered
from weaklink.inspector.sessions.exchange import RequestHead
from weaklink.inspector.sessions.fingerprints import arguments_by_value, message_digest
from weaklink.inspector.sessions.resolver import SessionAssignment, SessionResolver
from weaklink.inspector.wire.events import DecodedTurn

_SPAN_ID = "span_id"
_UNMATCHED = "tool runs without a matching call of the model are left out"
_NO_REQUESTS = "the source did not store the messages of some requests, so their content is unknown"


def traces_of_spans(
    spans: Iterable[TracedSpan],
    ids: tuple[model.ExternalId, ...],
    *,
    recognised_by: model.RecognisedBy = model.RecognisedBy.FIELD,
    warnings: Iterable[str] = (),
) -> Iterator[model.Trace]:
    """The traces that the spans of one session make up, in the order in which they began.

    A session without a request to a model is made up of the runs of its tools (`run_traces`).

    `ids` name the session. Each trace has them, and the ids of its first request: `trace_id`, if the store groups spans
    into traces, and `span_id`. Of spans with the same id the last counts. All spans are in memory, and time is linear
    in them and their messages. Never raises.
    """
    known = {span.id: span for span in _with_unique_ids(spans)}
    kept = merge_duplicates(sorted(known.values(), key=moment_of))
    requests = [span for span in kept if span.call is not None]
    agents = {id_: known[outer] for id_, outer in nearest_outer(known.values(), OperationKind.AGENT).items() if outer}
    if not requests:
        yield from traces_of_runs(kept, agents, ids, recognised_by, warnings)
        return
    growing = _placed(requests, agents)
    stored = [result for span in requests if span.call is not None for result in span.call.results]
    runs = (span for span in kept if span.run is not None)
    results = results_of([trace.finished_turns() for trace in growing], runs, stored)
    by_first_span = {trace.first.id: trace for trace in growing}
    for number, one in enumerate(growing):
        all_warnings = dict.fromkeys(chain(warnings, one.warnings, [_UNMATCHED] if results.unmatched else []))
        trace = one.trace(ids, recognised_by, tuple(all_warnings), results.of_trace.get(number, ToolResults()))
        yield trace if _is_child(trace.parent, one, by_first_span) else structs.replace(trace, parent=None)


def _with_unique_ids(spans: Iterable[TracedSpan]) -> list[TracedSpan]:
    """The spans; if spans of two traces in the store have the same id, the trace's id is put before it."""
    listed = list(spans)
    first: dict[str, str] = {}
    shared = {span.id for span in listed if first.setdefault(span.id, span.span_trace) != span.span_trace}
    if not shared:
        return listed
    return [
        structs.replace(
            span,
            id=f"{span.span_trace}/{span.id}" if span.id in shared else span.id,
            parent_id=f"{span.span_trace}/{span.parent_id}" if span.parent_id in shared else span.parent_id,
        )
        for span in listed
    ]


def _is_child(
    parent: model.ParentTrace | None, trace: "_GrowingSpanTrace", by_first_span: dict[str, "_GrowingSpanTrace"]
) -> bool:
    """Whether a trace's parent is correct: a sub-agent works within one of its parent's traces in the store."""
    if parent is None or parent.why is not model.ParentWhy.SUBAGENT:
        return True
    parent_trace = by_first_span.get(parent.external_id.value)
    return parent_trace is not None and trace.first.span_trace in parent_trace.span_traces


class _GrowingSpanTrace(Struct):
    """A trace that turns are added to; None marks an answer that is not complete yet."""

    facts: model.Trace
    first: TracedSpan
    agent: str
    span_traces: set[str] = field(default_factory=set)
    turns: list[model.Turn | None] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def finished_turns(self) -> list[model.Turn]:
        return [turn for turn in self.turns if turn is not None]

    def trace(
        self,
        ids: tuple[model.ExternalId, ...],
        recognised_by: model.RecognisedBy,
        warnings: tuple[str, ...],
        found: "ToolResults",
    ) -> model.Trace:
        turns = self.finished_turns()
        answered = (turn.generation.answered_model for turn in turns if turn.generation is not None)
        store = [model.ExternalId(TRACE, self.first.span_trace)] if self.first.span_trace else []
        span_id = model.ExternalId(_SPAN_ID, self.first.id)
        return structs.replace(
            self.facts,
            turns=_with_results([*map(_with_run, turns, map(found.runs.get, range(len(turns))))], found.results_after),
            name=self.agent or self.facts.name,
            model=self.facts.model or next((model_name for model_name in answered if model_name), ""),
            external_ids=tuple(dict.fromkeys((*ids, *store, span_id))),
            recognised_by=recognised_by,
            provenance=model.Provenance(record=f"span {self.first.id}", warnings=warnings),
        )


def _with_results(original: Sequence[model.Turn], results_after: dict[int, list[model.Turn]]) -> tuple[model.Turn, ...]:
    """The turns, with results inserted after each answer and after the results that already follow it."""
    turns: list[model.Turn] = []
    numbers: dict[int, int] = {}
    pending: list[model.Turn] = []
    for index, turn in enumerate(original):
        if turn.result is None:
            turns += pending
            pending = []
        turns.append(turn)
        numbers[index + 1] = len(turns)
        pending += results_after.get(index, ())
    turns += pending
    return tuple(turns) if len(turns) == len(original) else tuple(_renumbered(turn, numbers) for turn in turns)


def _renumbered(turn: model.Turn, numbers: dict[int, int]) -> model.Turn:
    """A turn whose request refers to the turns of its trace by their new numbers."""
    generation = turn.generation
    if generation is None or generation.request is None:
        return turn
    return structs.replace(
        turn, generation=structs.replace(generation, request=renumbered(generation.request, numbers))
    )


def _placed(requests: Sequence[TracedSpan], agents: Mapping[str, TracedSpan]) -> list[_GrowingSpanTrace]:
    placer = _RequestPlacer(agents, {span.call.request.continues for span in requests if span.call is not None} - {""})
    moments = [(moment_of(span), at, False) for at, span in enumerate(requests)]
    moments += [(end_of(span), at, True) for at, span in enumerate(requests)]
    for _, at, has_ended in sorted(moments):
        span = requests[at]
        assert span.call is not None, "only spans of requests are placed"
        if has_ended:
            placer.end_request(span, span.call)
        else:
            placer.begin_request(span, span.call)
    return placer.growing


def _answer_key(answer: model.Turn) -> tuple[bytes, int]:
    """A key that is equal for two answers with the same content and the same number of further choices."""
    return message_digest(answer), sum(part.name.startswith("choice") for part in answer.parts)


class _PendingRequest(Struct):
    """A request whose answer comes later."""

    growing: _GrowingSpanTrace
    turn: int
    placement: SessionAssignment | None
    tools: tuple[model.ToolDefinition, ...]


class _RequestPlacer:
    """Places the requests of one session in traces, and adds their answers.

    `continued` are the ids of answers that a later request continues: their own requests are placed though they have no
    messages.
    """

    def __init__(self, agents: Mapping[str, TracedSpan], continued: Set[str]) -> None:
        self._agents, self._continued = agents, continued
        self._next_id = model.ExternalId(_SPAN_ID, "")
        self._resolver = SessionResolver(name_trace=lambda: self._next_id)
        self._by_key: dict[str, _GrowingSpanTrace] = {}
        self._last: dict[str, _GrowingSpanTrace] = {}
        self._pending: dict[str, _PendingRequest] = {}
        self._answers: set[tuple[bytes, int]] = set()
        self._tools: dict[str, tuple[model.ToolDefinition, ...]] = {}  # of each request, by the id of its answer
        self.growing: list[_GrowingSpanTrace] = []

    def begin_request(self, span: TracedSpan, call: ModelCall) -> None:
        agent = self._agents[span.id].id if span.id in self._agents else ""
        earlier = self._tools.get(call.request.continues, ()) if call.repeats_tools else ()
        tools = self._tools[call.response_id] = call.request.tools or earlier
        if call.request.turns or call.request.continues or call.response_id in self._continued:
            growing, placement = self._place(span, call)
        else:
            growing, placement = self._last.get(agent) or self._begun(span, call), None
            growing.warnings.append(_NO_REQUESTS)
        growing.warnings += span.warnings
        growing.span_traces.add(span.span_trace)
        growing.turns += (*(placement.turns if placement else ()), None)
        self._last[agent] = growing
        self._pending[span.id] = _PendingRequest(growing, len(growing.turns) - 1, placement, tools)

    def end_request(self, span: TracedSpan, call: ModelCall) -> None:
        pending = self._pending.pop(span.id)
        recorded = call.answer.generation or model.Generation()
        placement = pending.placement
        request = structs.replace(call.request, tools=pending.tools).generation()
        generation = structs.replace(
            recorded,
            api=recorded.api or request.api,
            requested_model=request.requested_model,
            parameters=request.parameters,
            tools=request.tools,
            tools_origin=request.tools_origin,
            attempt=max(recorded.attempt, placement.attempt if placement else 1),
            retry_of=placement.retry_of if placement else None,
            request=placement.request if placement else None,
            started=recorded.started or span.started,
            ended=recorded.ended or span.ended,
            response_id=call.response_id or recorded.response_id,
        )
        turn = structs.replace(call.answer, generation=generation)
        self._answers.add(_answer_key(call.answer))
        if placement is not None:
            self._resolver.answered(placement, DecodedTurn(turn, (), call.response_id))
        pending.growing.turns[pending.turn] = turn

    def _place(self, span: TracedSpan, call: ModelCall) -> tuple[_GrowingSpanTrace, SessionAssignment]:
        self._next_id = model.ExternalId(_SPAN_ID, span.id)
        headers = (("x-session-id", "1"), ("traceparent", f"00-{span.span_trace}-{'1' * 16}-00"))
        head = RequestHead("POST", "", headers, at_s=None if span.started is None else span.started.at_s)
        request = structs.replace(call.request, turns=self._as_answered(call.request.turns))
        placement = self._resolver.assign(head, request, span.id.encode("utf-8", "surrogatepass"), None)
        if placement.begins is not None:
            self._by_key[placement.key] = self._grow(span, placement.begins)
        return self._by_key[placement.key], placement

    def _as_answered(self, messages: tuple[model.Turn, ...]) -> tuple[model.Turn, ...]:
        """A request's messages, in which the messages of an earlier answer are joined to that answer again."""
        turns: list[model.Turn] = []
        for by_model, run in groupby(messages, key=lambda turn: turn.role is model.Role.ASSISTANT):
            run_turns = list(run)
            joined = one_answer(run_turns) if by_model and len(run_turns) > 1 else None
            turns += [joined] if joined is not None and _answer_key(joined) in self._answers else run_turns
        return tuple(turns)

    def _begun(self, span: TracedSpan, call: ModelCall) -> _GrowingSpanTrace:
        """A trace that begins with a request whose messages were not stored."""
        return self._grow(span, model.Trace((), model=call.request.model, started=span.started))

    def _grow(self, span: TracedSpan, facts: model.Trace) -> _GrowingSpanTrace:
        growing = _GrowingSpanTrace(facts, span, self._agents[span.id].name if span.id in self._agents else "")
        self.growing.append(growing)
        return growing


class _UnansweredCall(Struct, eq=False):
    """A call that no turn answers, with its trace and turn."""

    at: tuple[int, int]
    call: model.CallHeader
    arguments: str
    is_taken: bool = False


class ToolResults(Struct):
    """The additions from a session's tool spans to one trace; turns count from 0.

    `results_after[turn]` are results to insert after that turn and after the results that already follow it.
    `runs[turn]` is the span of the run whose result that turn contains.
    """

    results_after: dict[int, list[model.Turn]] = field(default_factory=dict)
    runs: dict[int, TracedSpan] = field(default_factory=dict)


class SessionResults(Struct):
    """The same for all traces, by their index from 0; `unmatched` counts the runs without a call."""

    of_trace: dict[int, ToolResults] = field(default_factory=dict)
    unmatched: int = 0


def results_of(
    traces: Sequence[Sequence[model.Turn]], runs: Iterable[TracedSpan], stored: Iterable[model.Turn] = ()
) -> SessionResults:
    """Find the call for each run of a tool: by its id, else by name and arguments, else by name, the oldest first.

    If the traces already have the result of a call, the run is attached to it. A call that has no result in the traces
    and no run gets the one of `stored` that has its id. Linear in turns and runs.
    """
    open_calls = _UnansweredCalls(traces)
    results = SessionResults()
    for span in sorted(runs, key=moment_of):
        run = span.run
        if run is None:
            continue
        if (answer := open_calls.answer_of(run)) is not None:
            trace, turn = answer
            results.of_trace.setdefault(trace, ToolResults()).runs.setdefault(turn, span)
            continue
        call = open_calls.take(run)
        if call is None:
            results.unmatched += 1
        elif run.result is not None:
            trace, turn = call.at
            result = structs.replace(_result(run, call.call), run=recorded_run(span, run))
            results.of_trace.setdefault(trace, ToolResults()).results_after.setdefault(turn, []).append(result)
    for result in stored:
        if result.result is not None and (call := open_calls.take_id(result.result.call_id)) is not None:
            trace, turn = call.at
            results.of_trace.setdefault(trace, ToolResults()).results_after.setdefault(turn, []).append(result)
    return results


def _with_run(turn: model.Turn, span: TracedSpan | None) -> model.Turn:
    """A result as the next request repeats it, with its run; the run's ending counts where the message has none."""
    if span is None or span.run is None or turn.result is None:
        return turn
    is_error = span.run.failed if turn.result.is_error is None else turn.result.is_error
    result = structs.replace(turn.result, is_error=is_error, recorded=turn.result.recorded or span.run.recorded)
    return structs.replace(turn, result=result, run=recorded_run(span, span.run))


def _result(run: ToolRun, call: model.CallHeader) -> model.Turn:
    header = model.ResultHeader(call.id or run.call_id or None, run.name or call.name, run.failed, run.recorded)
    return model.Turn(model.Role.TOOL, (model.Part("text", run.result or ""),), "tool", result=header)


class _UnansweredCalls:
    """The calls of a session without a result, and the results of the others."""

    def __init__(self, traces: Sequence[Sequence[model.Turn]]) -> None:
        self._answered: dict[str, tuple[int, int]] = {}
        self._by_id: dict[str, _UnansweredCall] = {}
        self._by_arguments: dict[tuple[str, str], deque[_UnansweredCall]] = {}
        self._by_name: dict[str, deque[_UnansweredCall]] = {}
        self._closed: dict[tuple[str, str], deque[tuple[int, int]]] = {}
        for number, turns in enumerate(traces):
            self._read(number, turns)

    def answer_of(self, run: ToolRun) -> tuple[int, int] | None:
        """The trace and turn that contain the result of this run; each result without an id is used for one run."""
        if run.call_id in self._answered:
            return self._answered[run.call_id]
        if run.call_id in self._by_id:
            return None
        closed = self._closed.get((run.name, arguments_by_value(run.arguments)))
        return closed.popleft() if closed else None

    def take(self, run: ToolRun) -> _UnansweredCall | None:
        """Take the call that a run belongs to; None if no call is open."""
        if run.call_id in self._by_id:
            return self.take_id(run.call_id)
        key = (run.name, arguments_by_value(run.arguments))
        return _first(self._by_arguments.get(key)) or _first(self._by_name.get(run.name))

    def take_id(self, call_id: str | None) -> _UnansweredCall | None:
        """Take the call of that id; None if it is not open."""
        call = self._by_id.get(call_id or "")
        if call is None or call.is_taken:
            return None
        call.is_taken = True
        return call

    def _read(self, number: int, turns: Sequence[model.Turn]) -> None:
        pending: list[_UnansweredCall] = []
        for index, turn in enumerate(turns):
            if turn.role is model.Role.TOOL and turn.result is not None:
                self._answer(pending, turn.result, (number, index))
            elif turn.role is model.Role.ASSISTANT:
                self._leave(pending)
                texts = {part.name: part.text for part in turn.parts}
                pending = [
                    _UnansweredCall((number, index), call, arguments_by_value(texts.get(call.part, "")))
                    for call in turn.calls
                ]
        self._leave(pending)

    def _answer(self, pending: list[_UnansweredCall], result: model.ResultHeader, position: tuple[int, int]) -> None:
        """Record the result of one of the pending calls: by its id, or of the first if it has none."""
        if result.call_id:
            self._answered[result.call_id] = position
        for call in pending:
            if not call.is_taken and (not result.call_id or call.call.id in {None, result.call_id}):
                call.is_taken = True
                key = (call.call.name or "", call.arguments)
                self._closed.setdefault(key, deque()).append(position)
                return

    def _leave(self, pending: list[_UnansweredCall]) -> None:
        for call in pending:
            if call.is_taken:
                continue
            if call.call.id:
                self._by_id.setdefault(call.call.id, call)
            name = call.call.name or ""
            self._by_arguments.setdefault((name, call.arguments), deque()).append(call)
            self._by_name.setdefault(name, deque()).append(call)


def _first(calls: deque[_UnansweredCall] | None) -> _UnansweredCall | None:
    while calls:
        call = calls.popleft()
        if not call.is_taken:
            call.is_taken = True
            return call
    return None
