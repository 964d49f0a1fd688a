"""Rewrites rows of training data from one format into another: raw outputs and whole conversations."""

from inspector.dataset.conversation import ConversationConverter
from inspector.dataset.converted_text import convert_text
from inspector.dataset.messages import LISTS, role_of, shape_of, text_of, with_text
from inspector.dataset.system_turn import ToolsTold, find_told, retold
from inspector.formats.detection import detect_format
from inspector.formats.format import Format
from inspector.formats.template import Template
from inspector.formats.templates.registry import find_template
from inspector.model import Json, Role, ToolDefinition
from inspector.wire.openai_messages import read_tools

_SAMPLE = 65_536


def convert_row(
    row: dict[str, Json], source: Format | None, target: Format, *, tools: tuple[ToolDefinition, ...] = ()
) -> dict[str, Json]:
    """One row with its `text`, or its `messages` or `conversations`, as the target has them, and `dropped`.

    `source` is None where the row's own text is to say its format. `tools` are offered where the row names none.
    `prompt` is there where the target's completion begins inside a header. Everything else is kept as it is.
    Raises ValueError, in words, for a row that holds neither, or both, or anything that cannot be read as it.
    """
    listed = [key for key in LISTS if isinstance(row.get(key), list)]
    if "text" in row and listed:
        raise ValueError(f"both `text` and `{listed[0]}` are given; one of them says it all")
    if listed:
        return _conversation(row, listed[0], source, target, tools)
    text = row.get("text")
    if text is None:
        raise ValueError("neither `text` nor a list `messages` or `conversations` is given")
    if not isinstance(text, str):
        raise ValueError("`text` must be a string")
    return _text(row, text, source, target, tools)


def _text(
    row: dict[str, Json], text: str, source: Format | None, target: Format, tools: tuple[ToolDefinition, ...]
) -> dict[str, Json]:
    prompt = row.get("prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise ValueError("`prompt` must be a string")
    known = source or _detected(text, row)
    completion = convert_text(text, known, target, prompt=prompt or "", tools=_offered(row) or tools)
    converted: dict[str, Json] = {}
    for key, value in row.items():
        if key == "text":
            converted["text"] = completion.text
            if completion.prompt:
                converted["prompt"] = completion.prompt
        elif key != "prompt":
            converted[key] = value
    return {**converted, "dropped": list(completion.dropped)}


def _conversation(
    row: dict[str, Json], key: str, source: Format | None, target: Format, tools: tuple[ToolDefinition, ...]
) -> dict[str, Json]:
    messages = row[key]
    assert isinstance(messages, list)
    if not any(isinstance(message, dict) for message in messages):
        raise ValueError(f"`{key}` holds no messages")
    said = (text_of(one) for one in messages if isinstance(one, dict) and role_of(one) is Role.ASSISTANT)
    known = source or _detected("\n".join(text for text in said if text), row)
    told = _told(messages, known)
    offered = _offered(row) or (told.tools if told is not None else ()) or tools
    converter = ConversationConverter(known, target, offered)
    converted: dict[str, Json] = {**row, key: converter.convert(messages)}
    template = find_template(target)
    is_told = told is not None and known is target
    if template is None:
        converter.dropped += _untold(told, target)
    elif not is_told:
        _tell(converted, key, told, offered, template)
        if told is not None and not told.is_whole:
            converter.dropped.append(
                f"How `{known.name}` writes calls, in the system turn: only the list of tools was recognised and "
                "rewritten, the words around it are as they were."
            )
    return {**converted, "dropped": list(converter.dropped)}


def _told(messages: list[Json], source: Format) -> ToolsTold | None:
    text = next((text_of(one) for one in messages if isinstance(one, dict) and role_of(one) is Role.SYSTEM), None)
    return find_told(text, source) if text else None


def _tell(
    row: dict[str, Json], key: str, told: ToolsTold | None, tools: tuple[ToolDefinition, ...], template: Template
) -> None:
    """Tell the tools in the row as the template does: in its system turn, a new one if need be, or in its `tools`."""
    if template.offered is not None and tools:
        row["tools"] = template.offered(tools)
    messages = row[key]
    assert isinstance(messages, list)
    at = next((at for at, one in enumerate(messages) if isinstance(one, dict) and role_of(one) is Role.SYSTEM), None)
    system = messages[at] if at is not None else None
    if isinstance(system, dict) and at is not None:
        messages[at] = with_text(system, retold(text_of(system) or "", told, tools, template))
    elif isinstance(row.get("system"), str):
        row["system"] = retold(str(row["system"]), None, tools, template)
    elif tools and template.offered is None:
        shape = shape_of(next(one for one in messages if isinstance(one, dict)))
        messages.insert(0, {shape.role_key: shape.system, shape.text_key: retold("", None, tools, template)})


def _untold(told: ToolsTold | None, target: Format) -> list[str]:
    if told is None:
        return []
    return [f"How `{target.name}` presents tools: weaklink does not know; the system turn is as it was."]


def _detected(text: str, row: dict[str, Json]) -> Format:
    model = row.get("model")
    return detect_format(text[:_SAMPLE], model if isinstance(model, str) else "").format


def _offered(row: dict[str, Json]) -> tuple[ToolDefinition, ...]:
    """The tools that the row names, in a list or in its JSON text."""
    return tuple(tool for tool in read_tools(row.get("tools"), row.get("functions")) if tool.name)
