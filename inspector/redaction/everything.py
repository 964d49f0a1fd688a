"""All that a trace says, text by text, so that one look tells whether there is anything to redact."""

from collections.abc import Iterator

from inspector.model import Generation, Json, ToolDefinition, Trace, Turn


def texts_of(trace: Trace) -> Iterator[str]:
    """Every text of a trace that `Redactor.trace` would redact; tools that several turns offer come once."""
    yield trace.name
    yield from (one.value for one in trace.external_ids)
    if trace.parent is not None:
        yield trace.parent.external_id.value
    yield trace.provenance.file
    yield from trace.provenance.warnings
    seen: set[int] = set()
    for turn in trace.turns:
        yield from _of_turn(turn)
        if turn.generation is not None:
            yield from _of_generation(turn.generation, seen)


def _of_turn(turn: Turn) -> Iterator[str]:
    yield from (part.text for part in turn.parts)
    for header in turn.calls:
        yield header.name or ""
        yield header.id or ""
    if turn.result is not None:
        yield turn.result.call_id or ""
        yield turn.result.name or ""


def _of_generation(generation: Generation, seen: set[int]) -> Iterator[str]:
    yield generation.parameters
    if generation.error is not None:
        yield generation.error.message
    for tool in generation.tools:
        if id(tool) not in seen:
            seen.add(id(tool))
            yield from _of_tool(tool)


def _of_tool(tool: ToolDefinition) -> Iterator[str]:
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
            open_ += one.values()
