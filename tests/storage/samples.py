"""Small traces for the tests of the store."""

from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    ExternalId,
    Generation,
    Instant,
    Part,
    Provenance,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)

GOOD_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
BAD_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo",}}\n</tool_call>'
TOOLS = (ToolDefinition("get_weather", "The weather", {"type": "object"}), ToolDefinition("get_time"))


def trace(
    session: str = "",
    *answers: str,
    words: str = "what is the weather?",
    model: str = "hermes-4",
    source: str = "openai-messages",
    record: str = "line 1",
    started_s: float | None = None,
) -> Trace:
    """A question and some answers; without a session its content and record identify it."""
    generation = Generation(answered_model=model, tools=TOOLS, usage=Usage(10, 20))
    turns = [Turn(Role.ASSISTANT, (Part("text", answer),), generation=generation) for answer in answers]
    return Trace(
        (Turn(Role.USER, (Part("text", words),)), *turns),
        name=session or record,
        started=None if started_s is None else Instant(started_s),
        external_ids=(ExternalId("session", session),) if session else (),
        provenance=Provenance(source, "log.jsonl", record=record),
    )


def inspected(*traces: Trace) -> list[tuple[Trace, Inspection]]:
    """Traces with their inspections, as `Store.save` takes them."""
    return [(sample, inspect_trace(sample)) for sample in traces]
