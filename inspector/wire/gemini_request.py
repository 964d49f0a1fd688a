"""The request of Gemini's `generateContent`."""

from collections.abc import Iterator

from inspector.model import CallHeader, Json, Part, ResultHeader, Role, ToolDefinition, Turn
from inspector.wire.gemini import API
from inspector.wire.gemini_shapes import camel_case
from inspector.wire.json_text import compact_json
from inspector.wire.request import DecodedRequest, parameters_of, text_of

_NO_SETTINGS = frozenset({"model", "contents", "systemInstruction", "tools"})


def read_gemini_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for generated content; never raises.

    Names in snake_case are read too, and the wrapper of Code Assist (`{"model", "request": {...}}`). A content with
    function responses gives one tool turn for each, in order, and a turn for what else it says. The model and
    whether a stream is wanted stand in the path, as a rule: see `inspector.wire.providers.read_request`.
    """
    inner = request.get("request")
    wrapped = isinstance(inner, dict) and "contents" in inner
    body = {
        camel_case(key): value for key, value in (inner if wrapped and isinstance(inner, dict) else request).items()
    }
    contents = body.get("contents", [])
    return DecodedRequest(
        API,
        text_of(request.get("model")).removeprefix("models/"),
        (
            *_system(body.get("systemInstruction")),
            *(turn for content in _listed(contents) for turn in _turns(content)),
        ),
        tuple(_tools(body.get("tools"))),
        parameters_of(body, without=_NO_SETTINGS),
    )


def _system(content: Json) -> Iterator[Turn]:
    if content:
        for turn in _turns(content):
            yield Turn(Role.SYSTEM, turn.parts, "system")


def _turns(content: Json) -> Iterator[Turn]:
    if isinstance(content, str):
        yield Turn(Role.USER, (Part("text", content),), "user")
        return
    held = content if isinstance(content, dict) else {}
    source_role = text_of(held.get("role"))
    said: list[tuple[int, dict[str, Json]]] = []
    for at, part in enumerate(_listed(held.get("parts", [] if held else content))):
        members: dict[str, Json] = {"": part}
        if isinstance(part, dict):
            members = {camel_case(key): value for key, value in part.items()}
        if isinstance(response := members.get("functionResponse"), dict):
            yield from _said(said, source_role)
            said = []
            yield _result(response, source_role)
        else:
            said.append((at, members))
    yield from _said(said, source_role)


def _said(parts: list[tuple[int, dict[str, Json]]], source_role: str) -> Iterator[Turn]:
    if not parts:
        return
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    for at, members in parts:
        match members:
            case {"text": str(words)}:
                texts.setdefault("reasoning" if members.get("thought") is True else "text", []).append(words)
            case {"functionCall": dict(call)}:
                part = f"call:{len(calls)}"
                calls.append(CallHeader(part, text_of(call.get("name")) or None, text_of(call.get("id")) or None))
                texts[part] = [compact_json(call["args"]) if "args" in call else ""]
            case _:
                texts[f"content:{at}"] = [compact_json(members.get("", members))]
        if signature := text_of(members.get("thoughtSignature")):
            texts[f"wire:signature:{at}"] = [signature]
    role = Role.ASSISTANT if source_role == "model" else Role.SYSTEM if source_role == "system" else Role.USER
    yield Turn(role, tuple(Part(name, "".join(all_)) for name, all_ in texts.items()), source_role, tuple(calls))


def _result(response: dict[str, Json], source_role: str) -> Turn:
    header = ResultHeader(text_of(response.get("id")) or None, text_of(response.get("name")) or None)
    return Turn(Role.TOOL, (Part("text", compact_json(response.get("response"))),), source_role, result=header)


def _tools(tools: Json) -> Iterator[ToolDefinition]:
    """The functions of each tool; a tool of the server's own is kept in `raw`, with its member's name as the name."""
    for tool in _listed(tools):
        members = {camel_case(key): value for key, value in tool.items()} if isinstance(tool, dict) else {}
        for key, value in members.items():
            if key != "functionDeclarations":
                yield ToolDefinition(key, raw=compact_json({key: value}))
                continue
            for declared in _listed(value):
                yield _definition(declared)


def _definition(declared: Json) -> ToolDefinition:
    members = {camel_case(key): value for key, value in declared.items()} if isinstance(declared, dict) else {}
    return ToolDefinition(
        text_of(members.get("name")),
        text_of(members.get("description")),
        members.get("parametersJsonSchema", members.get("parameters")),
        compact_json(declared),
    )


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [] if value is None else [value]
