"""ToolAlpaca's rows: one API with several conversations, each read as a row of OpenAI's messages.

A row has `Instances`, each with `input`, `intermediate_steps` (pairs of an action and its result) and `output`. An
action is a name, the JSON text of its arguments, and the model's words. The tools are the operations of the OpenAPI
document in `Documentation`; where it cannot be read, those of `Function_Description`, whose parameters are described in
words (`"Required. Integer. ..."`). An instance without steps is a conversation without calls.
"""

from collections.abc import Iterator

from weaklink.inspector.apis.openai.messages import call_object, message_object
from weaklink.inspector.importers.data.tool_definitions import openai_tools
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import list_of, member_at, object_of, objects_of, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern

_METHODS = ("get", "put", "post", "delete", "patch")
_COMMON = ("Name", "Description", "Category")
_PARAMETERS = "Parameters: "
_TYPE = lazy_pattern(r"(?i)\b(string|integer|number|boolean|array|object)\b")


def instance_rows(row: JsonObject) -> list[JsonObject]:
    """The conversations of a row of ToolAlpaca, as rows; empty for any other row."""
    if not {"Documentation", "Function_Description"} & row.keys():
        return []
    tools = openai_tools([*_tools(row)])
    shared = {key: row[key] for key in _COMMON if key in row}
    return [
        {**shared, "messages": list(_messages(instance)), "tools": tools}
        for instance in objects_of(json_within(row.get("Instances")))
        if isinstance(instance.get("input"), str)
    ]


def _messages(instance: JsonObject) -> Iterator[JsonObject]:
    yield message_object("user", instance["input"])
    for number, step in enumerate(list_of(instance.get("intermediate_steps"))):
        match step:
            case [[name, arguments, *_], result]:
                call = call_object(name, _text(arguments), f"call_{number}")
                yield message_object("assistant", None, calls=[call])
                yield message_object("tool", _text(result), tool_call_id=f"call_{number}")
    if isinstance(instance.get("output"), str):
        yield message_object("assistant", instance["output"])


def _text(value: Json) -> str:
    return value if isinstance(value, str) else write_json(value, ascii_only=False)


def _tools(row: JsonObject) -> Iterator[JsonObject]:
    operations = [*_operations(object_of(json_within(row.get("Documentation"))))]
    yield from operations or _described(row.get("Function_Description"))


def _operations(document: JsonObject) -> Iterator[JsonObject]:
    for path in object_of(document.get("paths")).values():
        for method, operation in object_of(path).items():
            if method in _METHODS and isinstance(operation, dict) and isinstance(operation.get("operationId"), str):
                description = operation.get("summary") or operation.get("description") or ""
                yield _tool(operation["operationId"], description, _schema(operation, document))


def _schema(operation: JsonObject, document: JsonObject) -> JsonObject:
    properties: JsonObject = {}
    required: list[Json] = []
    for parameter in objects_of(operation.get("parameters")):
        if isinstance(name := parameter.get("name"), str):
            described = {"description": parameter["description"]} if "description" in parameter else {}
            properties[name] = {**object_of(parameter.get("schema")), **described}
            required += [name] if parameter.get("required") is True else []
    body = object_of(member_at(operation, "requestBody.content.application/json.schema"))
    if isinstance(body.get("properties"), dict):
        properties.update(object_of(body["properties"]))
        required += list_of(body.get("required"))
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    is_open = "$ref" in write_json(properties)
    return {**schema, "components": document.get("components")} if is_open else schema


def _described(functions: Json) -> Iterator[JsonObject]:
    for name, text in object_of(functions).items():
        if not isinstance(text, str) or name == "components":
            continue
        description, _, rest = text.partition(_PARAMETERS)
        listed = object_of(json_within(rest.partition("\nOutput:")[0].strip()))
        words = {key: one for key, one in listed.items() if isinstance(one, str)}
        properties: JsonObject = {key: {**_typed(one), "description": one} for key, one in words.items()}
        required: list[Json] = [key for key, one in words.items() if one.lower().startswith("required")]
        yield _tool(name, description.strip(), {"type": "object", "properties": properties, "required": required})


def _typed(words: str) -> JsonObject:
    match = _TYPE.search(words.partition(". One of")[0])
    return {"type": match[1].lower()} if match is not None else {}


def _tool(name: Json, description: Json, parameters: JsonObject) -> JsonObject:
    return {"name": name, "description": description, "parameters": parameters}
