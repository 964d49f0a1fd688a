"""All that a trace says, text by text, so that one look tells whether there is anything to redact."""

from collections.abc import Iterator

from inspector.model import Generation, Json, ToolDefinition, Trace, Turn


def texts_of(trace: Trace) -> Iterator[str]:
    """Every text of a trace that `Redactor.trace` would redact; tools that several turns offer come once."""
    yield from (trace.name, trace.model, trace.format)
    for one in trace.external_ids:
        yield from (one.name, one.value)
    if trace.parent is not None:
        yield from (trace.parent.external_id.name, trace.parent.external_id.value)
    if trace.outcome is not None:
        yield trace.outcome.exit_status or ""
    yield from (trace.provenance.file, trace.provenance.source_version, trace.provenance.record)
    yield from trace.provenance.warnings
    seen: set[int] = set()
    for turn in trace.turns:
        yield from _of_turn(turn)
        if turn.generation is not None:
            yield from _of_generation(turn.generation, seen)


def _of_turn(turn: Turn) -> Iterator[str]:
    yield turn.source_role
    for part in turn.parts:
        yield from (part.name, part.text)
    for header in turn.calls:
        yield from (header.part, header.name or "")
        yield header.id or ""
    if turn.result is not None:
        yield turn.result.call_id or ""
        yield turn.result.name or ""


def _of_generation(generation: Generation, seen: set[int]) -> Iterator[str]:
    yield from (generation.api, generation.requested_model, generation.answered_model, generation.parameters)
    yield from (generation.retry_of or "", generation.finish_reason or "")
    if generation.error is not None:
        yield from (generation.error.message, generation.error.code or "")
    for tool in generation.tools:
        if id(tool) not in seen:
            seen.add(id(tool))
            yield from _of_tool(tool)


def _of_tool(tool: ToolDefinition) -> Iterator[str]:
    yield tool.name
    yield tool.description
    yield tool.raw
    yield from _of_json(tool.parameters)


def _of_json(value: Json) -> Iterator[str]:
    open_ = [value]
    while open_:
        one = open_.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            open_ += one
        elif isinstance(one, dict):
            yield from one
            open_ += one.values()
