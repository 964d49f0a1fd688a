"""Resends a turn's request, original or changed, and counts which rules the answers break.

A changed request is compared with the original, which is sent equally often in the same experiment: requests are sent
in pairs, one of each setting, in alternating order. Every answer is inspected and stored as a child of the trace.

The number of pairs is fixed before the first request, so ordinary intervals hold (`inspector.chain.intervals`). If the
experiment is interrupted, the pairs before the first unanswered one count, so that slow answers cannot bias the result.
If one answer of a pair failed (there was no answer, or it was incomplete), the pair does not count for either setting.
"""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field, structs

from weaklink.inspector.capture.events import RecordEvent, TraceStarted, TurnEnded
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.resending import (
    NO_CONNECTION,
    SESSION_HEADER,
    Resender,
    ResendStoppedError,
    ResendTarget,
    SpendingBounds,
    resending,
)
from weaklink.inspector.capture.trace_file_sink import TraceAssembler
from weaklink.inspector.chain.intervals import Interval, Share, share_difference, wilson
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, ParentTrace, ParentWhy, Trace, Usage
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.model.trace import ASKED_AGAIN
from weaklink.inspector.replay import resend
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store

ANY = "any"
"""The row of the table that counts answers with any error."""

EXPERIMENT_ID, SETTING_ID = "ask", "setting"
"""The names of the external ids that mark the answers of one experiment, and those of one of its settings."""

_NO_ANSWER_S = 60.0  # the recorder needs a fraction of a second


class AskQuestion(Struct, frozen=True):
    """The request to resend: the trace, its inspection, and the original request."""

    id: int
    trace: Trace
    inspection: Inspection
    request: resend.TurnRequest

    @property
    def parent(self) -> ParentTrace:
        """The parent of the answers' traces."""
        ids = [id_ for id_ in self.trace.external_ids if id_.name != "run"]
        parent_id = next(
            (id_ for id_ in ids if id_.name == "recording"), ids[0] if ids else ExternalId("trace", f"{self.id}")
        )
        return ParentTrace(parent_id, ParentWhy.FORK)

    def fault(self) -> Diagnostic | None:
        """The fault that `--with-fix` advises against: the one that broke the chain, or else the turn's first error."""
        broken = self.inspection.chain.broken
        at_turn = [
            diagnostic for diagnostic in self.inspection.diagnostics if diagnostic.location.turn == self.request.turn
        ]
        named = [diagnostic for diagnostic in at_turn if broken is not None and diagnostic.rule.code == broken.code]
        errors = [diagnostic for diagnostic in at_turn if diagnostic.rule.severity is Severity.ERROR]
        return next(iter([*named, *errors]), None)

    def advised(self, request: resend.TurnRequest) -> resend.TurnRequest:
        """The request with the advice against the turn's fault. Raises ResendError if the turn has no fault."""
        diagnostic = self.fault()
        if diagnostic is None:
            raise resend.ResendError(f"turn {self.request.turn} has no error, but `--with-fix` requires one")
        steps = [step for step in self.inspection.chain.steps if step.location.turn == diagnostic.location.turn]
        here = [step for step in steps if step.location.part == diagnostic.location.part]
        return resend.with_fix(request, diagnostic, next((step.call.name for step in [*here, *steps]), None))


def question_of(store: Store, word: int | str, turn: int | None = None, *, api: str | None = None) -> AskQuestion:
    """The request of a turn, by default of the turn that broke the chain. Raises ResendError and StoreError."""
    number = store.summary(word).id
    trace, inspection = store.inspected(number)
    if turn is None:
        broken = inspection.chain.broken
        if broken is None:
            answers = resend.assistant_turns(trace)
            hint = f"; turns with answers: {', '.join(map(str, answers[:8]))}" if answers else ""
            raise resend.ResendError(f"trace {number} has no break, so `--turn` is required{hint}")
        turn = broken.turn
    exchanges: tuple[RecordedExchange, ...] = store.exchanges.of(number).traces.get(number, ())
    return AskQuestion(number, trace, inspection, resend.turn_request(trace, exchanges, turn, api=api))


class AskPlan(Struct, frozen=True):
    """An experiment: its settings (the changed request, then the original; or only the original) and its size."""

    question: AskQuestion
    settings: tuple[resend.TurnRequest, ...]
    count: int = 20
    parallel: int = 4

    @property
    def requests(self) -> int:
        """The maximum number of requests, without retries for a busy server."""
        return self.count * len(self.settings)

    @property
    def prompt_tokens(self) -> int:
        """The estimated number of tokens of all prompts together."""
        return self.count * sum(resend.estimated_tokens(setting, self.question.request) for setting in self.settings)


def plan_of(question: AskQuestion, changed: resend.TurnRequest, count: int = 20, parallel: int = 4) -> AskPlan:
    """An experiment that compares a changed request with the original, or sends only the original."""
    original = question.request
    settings = (original,) if changed.body == original.body else (changed, original)
    return AskPlan(question, settings, count, parallel)


def changed_request(
    question: AskQuestion, change: resend.RequestChange, *, is_advised: bool = False
) -> resend.TurnRequest:
    """The question's request with a change and, if `is_advised`, the advice against its fault. Raises ResendError."""
    request = change.applied(question.request)
    return question.advised(request) if is_advised else request


class AskAnswer(Struct, frozen=True):
    """One answer: the rules that it breaks, or why there is none (`failure`)."""

    codes: frozenset[str] = frozenset()
    has_error: bool = False
    failure: str = ""


class ComparedRate(Struct, frozen=True):
    """How often a rule was broken (`ANY`: any error) by the first setting, and by the original if both were sent.

    Intervals have 95 % confidence each: Wilson's for a rate, Newcombe's for a difference.
    """

    code: str
    hits: int
    trials: int
    interval: Interval
    original_hits: int | None = None
    original_interval: Interval | None = None
    difference: float | None = None
    difference_interval: Interval | None = None


class AskResult(Struct):
    """The answers so far, by setting and pair. `stop` is the reason for an early end, or `""`."""

    plan: AskPlan
    experiment: str
    answers: list[dict[int, AskAnswer]] = field(default_factory=list)
    bounds: SpendingBounds = field(default_factory=SpendingBounds)
    stop: str = ""
    is_interrupted: bool = False

    def end(self, why: str) -> None:
        """Stop sending; the first reason is kept."""
        self.stop = self.stop or why

    def counted(self) -> list[tuple[AskAnswer, ...]]:
        """The pairs (or single answers) that count, in the order in which they were planned."""
        counted_answers: list[tuple[AskAnswer, ...]] = []
        for pair in range(self.plan.count):
            answers = tuple(answer[pair] for answer in self.answers if pair in answer)
            if len(answers) < len(self.plan.settings):
                break
            if not any(answer.failure for answer in answers):
                counted_answers.append(answers)
        return counted_answers

    @property
    def kept(self) -> int:
        """The number of answers received."""
        return sum(not answer.failure for answers in self.answers for answer in answers.values())

    @property
    def failures(self) -> Counter[str]:
        """The number of failed answers by reason."""
        return Counter(answer.failure for answers in self.answers for answer in answers.values() if answer.failure)

    def rates(self) -> list[ComparedRate]:
        """A row for any error, then one for each rule that an answer broke, most frequent first."""
        counted = self.counted()
        seen = Counter(code for answers in counted for answer in answers for code in answer.codes)
        rows = [_rate(ANY, [tuple(answer.has_error for answer in answers) for answers in counted])]
        for code, _ in sorted(seen.items(), key=lambda answer: (-answer[1], answer[0])):
            rows.append(_rate(code, [tuple(code in answer.codes for answer in answers) for answers in counted]))
        return rows


def _rate(code: str, hits: Sequence[tuple[bool, ...]]) -> ComparedRate:
    if not hits:
        return ComparedRate(code, 0, 0, Interval(0.0, 1.0))
    changed, *originals = (Share(sum(setting), len(hits)) for setting in zip(*hits, strict=True))
    row = ComparedRate(code, int(changed.hits), len(hits), wilson(changed))
    for original in originals:
        difference = share_difference(changed, original)
        row = structs.replace(
            row,
            original_hits=int(original.hits),
            original_interval=wilson(original),
            difference=difference.value,
            difference_interval=difference.interval,
        )
    return row


class _AnswerSink:
    """Sets the parent of each answer's trace, stores the trace, and resolves its future when its turn has ended."""

    def __init__(self, store: StoreSink, parent: ParentTrace, ids: Mapping[str, tuple[ExternalId, ...]]) -> None:
        self._store, self._parent, self._ids = store, parent, ids
        self._loop = asyncio.get_running_loop()
        self._open: dict[str, tuple[str, TraceAssembler]] = {}
        self.traces: dict[str, asyncio.Future[Trace]] = {}

    def accept(self, event: RecordEvent) -> None:
        if isinstance(event, TraceStarted):
            event = self._with_parent(event)
        self._store.accept(event)
        id_, assembler = self._open.get(event.key, ("", None))
        if assembler is None:
            return
        assembler.add(event)
        if isinstance(event, TurnEnded) and event.exchanges:
            del self._open[event.key]
            self._loop.call_soon_threadsafe(self._resolve, id_, assembler.trace())

    def close(self) -> None:
        """Do nothing: the caller that created the store's sink closes it."""

    def _with_parent(self, event: TraceStarted) -> TraceStarted:
        trace = event.trace
        id_ = next((id_.value for id_ in trace.external_ids if id_.name == SESSION_HEADER), "")
        recording_ids = tuple(id_ for id_ in trace.external_ids if id_.name == "recording")
        self._open[event.key] = id_, TraceAssembler()
        return structs.replace(
            event,
            trace=structs.replace(
                trace,
                external_ids=(*recording_ids, *self._ids.get(id_, ())),
                parent=self._parent,
                provenance=structs.replace(trace.provenance, source=ASKED_AGAIN),
            ),
        )

    def _resolve(self, id_: str, trace: Trace) -> None:
        future = self.traces.get(id_)
        if future is not None and not future.done():
            future.set_result(trace)


class AskExperiment:
    """Runs a plan. `result` is updated while it runs; `changed` is called after each answer, on the event loop."""

    def __init__(
        self,
        plan: AskPlan,
        target: ResendTarget,
        store: Store,
        redactor: Redacts,
        *,
        bounds: SpendingBounds | None = None,
        changed: Callable[[AskResult], None] = lambda result: None,
    ) -> None:
        self._plan, self._target, self._store, self._redactor = plan, target, store, redactor
        self._changed = changed
        self.result = AskResult(plan, secrets.token_hex(6), [{} for _ in plan.settings], bounds or SpendingBounds())
        self._bodies = [json.dumps(setting.body).encode() for setting in plan.settings]
        self._tokens = [resend.estimated_tokens(setting, plan.question.request) for setting in plan.settings]
        self._limits = [resend.answer_limit(setting.body) for setting in plan.settings]
        self._next = iter(_order(plan))
        self._tasks: list[asyncio.Task[None]] = []
        self._answered = 0

    def interrupt(self) -> None:
        """Stop now and keep the answers received. Call this on the event loop."""
        self.result.is_interrupted = True
        self.result.end("interrupted")
        for task in self._tasks:
            task.cancel()

    async def run(self) -> AskResult:
        """Send requests until the plan is done, a bound is reached, or `interrupt` is called."""
        experiment = self.result.experiment
        ids = {
            _id(experiment, setting, pair): (
                ExternalId(EXPERIMENT_ID, experiment),
                ExternalId(SETTING_ID, "changed" if setting == 0 and len(self._plan.settings) > 1 else "original"),
            )
            for pair, setting in _order(self._plan)
        }
        kept = StoreSink(self._store)
        sink = _AnswerSink(kept, self._plan.question.parent, ids)
        recorder = Recorder(sink, redactor=self._redactor)
        try:
            async with resending(self._target, recorder, self.result.bounds, self._redactor.text) as resender:
                self._tasks = [
                    asyncio.create_task(self._work(resender, sink))
                    for _ in range(min(self._plan.parallel, self._plan.requests))
                ]
                await asyncio.gather(*self._tasks)
        except asyncio.CancelledError:
            if not self.result.is_interrupted:
                raise
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.to_thread(recorder.close)
            await asyncio.to_thread(kept.close)
        return self.result

    async def _work(self, resender: Resender, sink: _AnswerSink) -> None:
        for pair, setting in self._next:
            if self.result.stop:
                return
            answered = self._answered
            try:
                answer = await self._ask(resender, sink, pair, setting)
            except ResendStoppedError as stopped:
                self.result.end(str(stopped))
                return
            if not answer.failure.startswith(NO_CONNECTION):
                self._answered += 1
            elif self._answered == answered:  # six attempts in half a minute, and no other request got one meanwhile
                self.result.end(f"the server at {self._target.upstream} cannot be reached")
            self.result.answers[setting][pair] = answer
            self._changed(self.result)

    async def _ask(self, resender: Resender, sink: _AnswerSink, pair: int, setting: int) -> AskAnswer:
        id_ = _id(self.result.experiment, setting, pair)
        future = sink.traces[id_] = asyncio.get_running_loop().create_future()
        try:
            reserved, failure = await resender.send(
                self._bodies[setting], id_, self._tokens[setting], self._limits[setting]
            )
            usage = Usage()
            try:
                if failure:
                    return AskAnswer(failure=failure)
                trace = await asyncio.wait_for(future, _NO_ANSWER_S)
                generation = trace.turns[-1].generation
                usage = generation.usage if generation is not None else usage
                return await asyncio.to_thread(self._judged, trace)
            except TimeoutError:
                return AskAnswer(failure="the answer could not be recorded")
            finally:
                prompt = usage.input_tokens if usage.input_tokens is not None else self._tokens[setting]
                resender.bounds.settle(reserved, prompt, usage.output_tokens or 0)
        finally:
            del sink.traces[id_]

    def _judged(self, trace: Trace) -> AskAnswer:
        inspection = inspect_trace(trace)
        generation = trace.turns[-1].generation
        if generation is not None and generation.error is not None:
            return AskAnswer(failure=self._redactor.text(f"the server reported an error: {generation.error.message}"))
        diagnostics = [
            diagnostic for diagnostic in inspection.diagnostics if diagnostic.location.turn == len(trace.turns)
        ]
        codes = frozenset(
            diagnostic.rule.code for diagnostic in diagnostics if diagnostic.rule.severity is not Severity.INFO
        )
        return AskAnswer(codes, any(diagnostic.rule.severity is Severity.ERROR for diagnostic in diagnostics))


def _order(plan: AskPlan) -> list[tuple[int, int]]:
    """Pairs and settings in the order in which they are sent; the setting that comes first alternates."""
    settings = range(len(plan.settings))
    return [
        (pair, setting) for pair in range(plan.count) for setting in (settings if pair % 2 == 0 else reversed(settings))
    ]


def _id(experiment: str, setting: int, pair: int) -> str:
    return f"{experiment}-{setting}-{pair}"
