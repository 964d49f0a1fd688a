"""Spans of tracing stores: model requests, tool runs and agent runs; duplicates of one request are merged.

Whatever convention a store's attributes follow, its reader gives a TracedSpan for each span: a request to a model
(ModelCall), a run of a tool (ToolRun), an agent, or anything else, which only says what is within what. One request is
often in several spans: a framework's span encloses the span of the provider's client, an SDK reports its own requests
beside other instrumentation, and some loggers write a span for each phase. The innermost span is nearest to the wire
and has priority; the outer ones fill in what it lacks.

    agent "support"                                       agent "support"
      model "ChatOpenAI"      messages, tools
        model "openai.chat"   id r1, raw arguments          model "openai.chat"      and messages, tools
      tool "get_weather"      id call_1                     tool "get_weather"       and the result
        other "mcp.client"                                    other "mcp.client"
          tool "get_weather"  result                            other "get_weather"
      model "llm.start"       messages                      model "llm.start"        and the answer
      model "llm.finish"      answer

`merge_duplicates` makes the right side of the left one, in linear time: first runs of one tool within each other, then
requests within each other, then those with one response id, then phases. What is merged into what is a union-find
structure, since a span may be merged into one that is merged itself.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from enum import StrEnum
from functools import reduce
from typing import TypeVar

from msgspec import Struct, structs

from weaklink.inspector.model import Generation, Instant, RecordedState, Turn
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.sessions.fingerprints import has_no_content, message_digest
from weaklink.inspector.wire.events import DecodedRequest

Facts = TypeVar("Facts", bound=Struct)

_BEGIN, _STREAM, _RESULT, _END = range(4)

_PHASES = {
    **dict.fromkeys(("start", "started", "begin", "request"), _BEGIN),
    **dict.fromkeys(("stream", "streaming"), _STREAM),
    **dict.fromkeys(("success", "succeeded", "failure", "failed", "error", "response"), _RESULT),
    **dict.fromkeys(("finish", "finished", "end", "ended", "complete", "completed", "done"), _END),
}
"""The last words of a span's name that show which phase of a request it logs, in the order of the phases."""

_PHASE = lazy_pattern(
    rf"(?P<stem>.*?)[\s._:/-]*(?<![A-Za-z])(?P<phase>{'|'.join(sorted(_PHASES, key=len, reverse=True))})",
    re.IGNORECASE | re.DOTALL,
)


class OperationKind(StrEnum):
    """The kind of work in a span."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    OTHER = "other"


class ModelCall(Struct, frozen=True):
    """What a span contains about one request to a model.

    `request.turns` is empty if the store did not keep the messages. `answer` is an assistant's turn with a generation;
    it may contain only an empty `text`. `response_id` is the answer's id, `""` if unknown. `is_rewritten` is True if
    the arguments of calls were parsed and written again: they are not the model's text. `repeats_tools` is True if
    tools are not listed because they are those of the request that this one continues. `results` are results of the
    answer's calls that were stored with the answer.
    """

    request: DecodedRequest
    answer: Turn
    response_id: str = ""
    is_rewritten: bool = False
    repeats_tools: bool = False
    results: tuple[Turn, ...] = ()


class ToolRun(Struct, frozen=True):
    """What a span contains about one run of a tool; what is None was not recorded."""

    name: str
    call_id: str = ""
    arguments: str = ""
    result: str | None = None
    failed: bool | None = None
    recorded: RecordedState | None = None


class TracedSpan(Struct, frozen=True):
    """One span. `id` is unique in its session, `parent_id` is `""` for a root.

    `call` is set for kind MODEL, `run` for kind TOOL; for AGENT, `name` is the agent's name, and `conversation` is what
    it was given and answered, None if the span has no messages. `span_trace` is the id of the trace that the store put
    the span in. `warnings` list what the store left out.
    """

    id: str
    parent_id: str
    kind: OperationKind
    name: str = ""
    started: Instant | None = None
    ended: Instant | None = None
    call: ModelCall | None = None
    run: ToolRun | None = None
    conversation: ModelCall | None = None
    span_trace: str = ""
    warnings: tuple[str, ...] = ()


def moment_of(span: TracedSpan) -> float:
    """When a span began, 0 if unknown: the sort key of spans."""
    return span.started.at_s if span.started is not None else 0.0


def end_of(span: TracedSpan) -> float:
    """When a span ended; not earlier than its start."""
    return max(moment_of(span), span.ended.at_s) if span.ended is not None else moment_of(span)


def merge_duplicates(spans: Sequence[TracedSpan]) -> list[TracedSpan]:
    """The spans of a session with one span for each request to a model; in the given order, in linear time.

    Two spans are merged if they have the same response id, or if one is within the other with neither a tool nor an
    agent between them. A span around several others is merged with the last: the earlier ones are retries. Spans that
    log the phases of one request (`llm.start`, `llm.success`, `llm.finish`) beside each other are merged too.

    A run of a tool within a run of the same tool is the same run, such as the spans of an MCP client and server within
    the framework's; the outer one, which has the call's id, gets what it lacks from the inner ones.
    """
    spans = _with_whole_runs(spans)
    same = _SameRequests()
    outer = _outer_of_same_kind(spans, OperationKind.MODEL)
    innermost: dict[str, TracedSpan] = {}
    for span in spans:
        holder = outer.get(span.id)
        if holder is not None and (holder not in innermost or end_of(span) >= end_of(innermost[holder])):
            innermost[holder] = span
    for holder, span in innermost.items():
        same.put(holder, span.id)
    _put_same_responses(spans, same)
    _put_phases(spans, same)
    filling: dict[str, list[TracedSpan]] = {}
    for span in spans:
        if (target := same.of(span.id)) != span.id:
            filling.setdefault(target, []).append(span)
    return [
        reduce(filled_span, reversed(filling.get(span.id, ())), span) for span in spans if same.of(span.id) == span.id
    ]


class _SameRequests:
    """A union-find structure: which span each span is merged into, directly or indirectly."""

    def __init__(self) -> None:
        self._into: dict[str, str] = {}

    def put(self, id_: str, into: str) -> None:
        """Merge one span into another, unless that would make a cycle."""
        root, into_root = self.of(id_), self.of(into)
        if root != into_root:
            self._into[root] = into_root

    def of(self, id_: str) -> str:
        """The span that a span is merged into in the end; the span itself if there is none."""
        path = []
        while id_ in self._into:
            path.append(id_)
            id_ = self._into[id_]
        for merged in path:
            self._into[merged] = id_
        return id_


def _with_whole_runs(spans: Sequence[TracedSpan]) -> Sequence[TracedSpan]:
    """The spans without those runs of tools that are within a run of the same tool."""
    outer = _outer_of_same_kind(spans, OperationKind.TOOL)
    if not outer:
        return spans
    whole = {span.id: span for span in spans}
    for id_ in _innermost_first(outer):
        inner, around = whole[id_], whole[outer[id_]]
        if inner.run is not None and around.run is not None and _is_same_tool(around.run.name, inner.run.name):
            run = ToolRun(
                around.run.name,
                around.run.call_id or inner.run.call_id,
                around.run.arguments or inner.run.arguments,
                inner.run.result if around.run.result is None else around.run.result,
                inner.run.failed if around.run.failed is None else around.run.failed,
                inner.run.recorded if around.run.recorded is None else around.run.recorded,
            )
            whole[around.id] = structs.replace(around, run=run)
            whole[inner.id] = structs.replace(inner, kind=OperationKind.OTHER, run=None)
    return [whole[span.id] for span in spans]


def _innermost_first(outer: dict[str, str]) -> list[str]:
    """The spans that have a span around them, each before the one around it."""
    waiting = Counter(outer.values())  # how many spans directly within each are not in the list yet
    ready = [id_ for id_ in outer if not waiting[id_]]
    for id_ in ready:
        around = outer[id_]
        waiting[around] -= 1
        if around in outer and not waiting[around]:
            ready.append(around)
    return ready


def _is_same_tool(outer: str, inner: str) -> bool:
    """Whether two names are of one tool; an agent puts the name of the server before that of an MCP tool."""
    return outer == inner or (outer.endswith(inner) and bool(inner) and not outer[-len(inner) - 1].isalnum())


def _outer_of_same_kind(spans: Sequence[TracedSpan], kind: OperationKind) -> dict[str, str]:
    """For each span of a kind that has one the span of that kind around it, with only the kind OTHER between them."""
    above = nearest_outer(spans, kind, (OperationKind.OTHER,))
    return {span.id: above[span.id] for span in spans if span.kind is kind and above[span.id]}


def nearest_outer(
    spans: Iterable[TracedSpan], kind: OperationKind, between: Container[OperationKind] = tuple(OperationKind)
) -> dict[str, str]:
    """For each span the id of the nearest span of a kind around it, `""` for none; between them only other kinds.

    `between` are these kinds. A cycle of parents ends the search. Linear.
    """
    by_id = {span.id: span for span in spans}
    above: dict[str, str] = {}

    def around_children(id_: str) -> str:
        span = by_id.get(id_)
        if span is None or span.kind is kind:
            return "" if span is None else id_
        return above[id_] if span.kind in between else ""

    for id_ in by_id:
        path: list[str] = []
        at = id_
        while at in by_id and at not in above:
            above[at] = ""
            path.append(at)
            at = by_id[at].parent_id
        for inner in reversed(path):
            above[inner] = around_children(at)
            at = inner
    return above


def _put_same_responses(spans: Sequence[TracedSpan], same: _SameRequests) -> None:
    """Merge spans with the same response id, the later into the earlier."""
    first: dict[str, str] = {}
    for span in spans:
        if span.call is not None and span.call.response_id:
            same.put(span.id, first.setdefault(span.call.response_id, span.id))


def _put_phases(spans: Sequence[TracedSpan], same: _SameRequests) -> None:
    """Merge the later phases of a request into its first: same parent, same name except for the word of the phase.

    A request ends when a span repeats a phase or has an earlier one. Spans whose messages or answers differ belong to
    two requests.
    """
    opened: dict[tuple[str, str, str], list[tuple[TracedSpan, int]]] = {}
    for span in sorted((span for span in spans if span.call is not None), key=moment_of):
        match = _PHASE.fullmatch(span.name)
        if match is None:
            continue
        key = span.span_trace, span.parent_id, match["stem"].casefold()
        phase = _PHASES[match["phase"].casefold()]
        before = opened.setdefault(key, [])
        if before and (phase <= before[-1][1] or not _agree(before[0][0], span)):
            before.clear()
        if before:
            same.put(span.id, before[0][0].id)
        before.append((span, phase))


def _agree(first: TracedSpan, later: TracedSpan) -> bool:
    """Whether two spans can describe the same request: facts that both have are equal."""
    call, other = first.call, later.call
    if call is None or other is None:
        return False
    turns, other_turns = call.request.turns, other.request.turns
    if turns and other_turns and list(map(message_digest, turns)) != list(map(message_digest, other_turns)):
        return False
    if call.request.model and other.request.model and call.request.model != other.request.model:
        return False
    if has_no_content(call.answer) or has_no_content(other.answer):
        return True
    return message_digest(call.answer) == message_digest(other.answer)


def filled_span(span: TracedSpan, other: TracedSpan) -> TracedSpan:
    """A span, with what it lacks taken from another."""
    if span.call is None or other.call is None:
        return span
    return structs.replace(
        span,
        call=_filled_call(span.call, other.call),
        warnings=tuple(dict.fromkeys((*span.warnings, *other.warnings))),
    )


def _filled_call(call: ModelCall, other: ModelCall) -> ModelCall:
    first, second = call.request, other.request
    answer, is_rewritten = _filled_answer(call, other)
    request = structs.replace(
        first,
        api=first.api or second.api,
        model=first.model or second.model,
        turns=first.turns or second.turns,
        tools=first.tools or second.tools,
        parameters=first.parameters or second.parameters,
        continues=first.continues or second.continues,
    )
    repeats_tools = call.repeats_tools and not request.tools
    response_id, results = call.response_id or other.response_id, call.results or other.results
    return ModelCall(request, answer, response_id, is_rewritten, repeats_tools, results)


def _filled_answer(call: ModelCall, other: ModelCall) -> tuple[Turn, bool]:
    answer, is_rewritten = call.answer, call.is_rewritten
    if has_no_content(answer):
        reasoning = [part for part in answer.parts if part.text and other.answer.part(part.name) is None]
        answer = structs.replace(other.answer, parts=(*other.answer.parts, *reasoning))
        is_rewritten = other.is_rewritten
    elif message_digest(answer) == message_digest(other.answer):
        mine, its = (call, other) if not is_rewritten or other.is_rewritten else (other, call)
        more = [part for part in its.answer.parts if mine.answer.part(part.name) is None]
        answer = structs.replace(mine.answer, parts=(*mine.answer.parts, *more))
        is_rewritten = mine.is_rewritten
    known, more_known = call.answer.generation or Generation(), other.answer.generation or Generation()
    usage = filled(known.usage, more_known.usage)
    return structs.replace(answer, generation=structs.replace(filled(known, more_known), usage=usage)), is_rewritten


def filled(facts: Facts, other: Facts) -> Facts:
    """The facts, with each that is missing (as in a value without any) taken from another value of the same type."""
    nothing = type(facts)()
    missing = (name for name in facts.__struct_fields__ if getattr(facts, name) == getattr(nothing, name))
    return structs.replace(facts, **{name: getattr(other, name) for name in missing})
