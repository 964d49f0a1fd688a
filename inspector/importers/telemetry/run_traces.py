"""Traces from spans without a request to a model: agents whose telemetry has only `invoke_agent` and `execute_tool`.

Each run of a tool was called for, so it is shown as an answer with that call, followed by its result. What the model
wrote beside it, and which calls belong to one answer, no span says. Runs belong to the nearest agent around them; an
agent within another is its sub-agent.

    invoke_agent planner          user: what the span has as input
      execute_tool search   ->    assistant: search {...}    tool: ...
      execute_tool open           assistant: open {...}      tool: ...
                                  assistant: what the span has as output
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.importers.telemetry.spans import OperationKind, ToolRun, TracedSpan

_SOURCE = "span"
_NO_REQUESTS = (
    "the source has no requests to a model, only runs of tools: each is shown as a call of its own, and neither words "
    "beside calls nor malformed calls can be seen"
)


def traces_of_runs(
    spans: Iterable[TracedSpan],
    agent_of: Mapping[str, TracedSpan],
    ids: tuple[model.ExternalId, ...],
    recognised_by: model.RecognisedBy,
    warnings: Iterable[str],
) -> Iterator[model.Trace]:
    """The traces of a session's agents, and of the runs outside of any; spans come in the order of their times.

    `agent_of` is the nearest agent around a span, by its id. An agent without a run is a trace only if its span
    has messages.
    """
    agents: dict[str, TracedSpan] = {}
    runs: dict[str, list[TracedSpan]] = {}
    for span in spans:
        if span.kind is OperationKind.AGENT:
            agents[span.id] = span
            runs.setdefault(span.id, [])
        elif span.run is not None:
            runs.setdefault(agent_of[span.id].id if span.id in agent_of else "", []).append(span)
    for agent_id, listed in runs.items():
        agent = agents.get(agent_id)
        turns = tuple(_turns(agent, listed))
        if turns:
            first = agent or listed[0]
            around = agent_of.get(agent.id) if agent is not None else None
            yield model.Trace(
                turns,
                name=agent.name if agent is not None else "",
                model=turns[-1].generation.requested_model if turns[-1].generation else "",
                started=first.started,
                external_ids=(
                    *ids,
                    *([model.ExternalId("trace_id", first.span_trace)] if first.span_trace else []),
                    model.ExternalId("span_id", first.id),
                ),
                recognised_by=recognised_by,
                parent=model.ParentTrace(model.ExternalId("span_id", around.id), model.ParentWhy.SUBAGENT)
                if around is not None and around.id in agents
                else None,
                provenance=model.Provenance(
                    record=f"span {first.id}", warnings=(*dict.fromkeys(warnings), _NO_REQUESTS)
                ),
            )


def recorded_run(span: TracedSpan, run: ToolRun) -> model.RecordedRun:
    """The run of a tool as its span recorded it."""
    times = span.started, span.ended
    return model.RecordedRun(
        _SOURCE, run.name, run.call_id or None, run.arguments or None, run.result, run.failed, *times
    )


def _turns(agent: TracedSpan | None, spans: Iterable[TracedSpan]) -> Iterator[model.Turn]:
    conversation = None if agent is None else agent.conversation
    if conversation is not None:
        yield from conversation.request.turns
    for span in spans:
        if span.run is not None:
            yield from _run(span, span.run)
    if conversation is not None and any(part.text for part in conversation.answer.parts):
        answer = conversation.answer
        yield structs.replace(answer, generation=conversation.request.answered_by(answer.generation))


def _run(span: TracedSpan, run: ToolRun) -> Iterator[model.Turn]:
    call = model.CallHeader("call:0", run.name, run.call_id or None)
    generation = model.Generation(ended=span.started)
    yield model.Turn(
        model.Role.ASSISTANT, (model.Part("call:0", run.arguments),), "assistant", (call,), generation=generation
    )
    if run.result is not None or run.failed is not None:
        header = model.ResultHeader(run.call_id or None, run.name, run.failed, run.recorded)
        result = model.Turn(model.Role.TOOL, (model.Part("text", run.result or ""),), "tool", result=header)
        yield structs.replace(result, run=recorded_run(span, run))
