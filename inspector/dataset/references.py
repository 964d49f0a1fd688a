"""The reference of a row: the calls that its task needs. `verify`, `score` and rewards read it here.

It is the first of these that the row has: the fields `CALLS`, verl's `reward_model.ground_truth`, or else the statement
that no call is needed (`type: no_tool_call`, `should_call_tool: false`). A text that is not JSON must be an answer with
calls in some wire format, such as ToolRL's `<tool_call>` lines.
"""

from collections.abc import Iterator, Mapping

from weaklink.inspector.chain.expected_calls import CALLS, ExpectedCall, expected_calls
from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.model import Json
from weaklink.inspector.segmentation import segment

_OTHER_USES = frozenset({"actions", "answers", "tool_calls"})  # also names of texts and of a row's own messages
_MAX_SHOWN = 60


def reference_of(row: Mapping[str, Json]) -> tuple[ExpectedCall, ...] | None:
    """The calls that the row expects: empty if none is needed, None if it has no reference.

    Raises ValueError, with the reason, for a reference that cannot be read as calls: without one, a wrong answer would
    pass.
    """
    for name, value in _columns(row):
        try:
            return _calls(name, value)
        except ValueError:
            if name not in _OTHER_USES:
                raise
    annotation = row.get("annotation")
    should_call = annotation.get("should_call_tool") if isinstance(annotation, dict) else row.get("should_call_tool")
    return () if row.get("type") == "no_tool_call" or should_call is False else None


def without_expected_calls(row: Mapping[str, Json]) -> dict[str, Json]:
    """The members of a row with its references to calls, each as the statement that no call is needed."""
    fields: dict[str, Json] = {}
    for name, value in _columns(row):
        if not _has_calls(name, value):
            continue
        none: Json = "[]" if isinstance(value, str) else []
        if name in row:
            fields[name] = none
        elif isinstance(model := row.get("reward_model"), dict):
            fields["reward_model"] = {**model, "ground_truth": none}
    return fields


def _has_calls(name: str, value: Json) -> bool:
    try:
        return bool(_calls(name, value))
    except ValueError:
        return False


def _columns(row: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    yield from ((name, value) for name in CALLS if (value := row.get(name)) is not None)
    model = row.get("reward_model")
    if isinstance(model, dict) and model.get("ground_truth") is not None:
        yield "reward_model.ground_truth", model["ground_truth"]


def _calls(name: str, value: Json) -> tuple[ExpectedCall, ...]:
    if isinstance(value, str) and not _is_json(value):
        return _calls_in_text(name, value)
    return expected_calls(value, name)


def _is_json(text: str) -> bool:
    try:
        parse_json_bytes(text.encode("utf-8", "surrogatepass"))
    except NotJsonError:
        return False
    return True


def _calls_in_text(name: str, text: str) -> tuple[ExpectedCall, ...]:
    calls = segment(text).calls
    expected = [(call.name, call.arguments) for call in calls if call.name is not None]
    if not calls or len(expected) < len(calls) or not all(isinstance(call, dict) for _, call in expected):
        shown = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
        raise ValueError(f"`{name}` is neither a list of calls nor a text with calls: {shown!r}")
    return expected_calls([{"name": tool, "arguments": arguments} for tool, arguments in expected], name)
