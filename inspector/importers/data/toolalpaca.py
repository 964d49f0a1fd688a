"""ToolAlpaca's rows: one API with several conversations, each read as a row of OpenAI's messages.

A row has `Instances`, each with `input`, `intermediate_steps` (pairs of an action and its result) and `output`. An
action is a name, the JSON text of its arguments, and the model's words. The tools are the operations of the OpenAPI
document in `Documentation`; where it cannot be read, those of `Function_Description`, whose parameters are described in
words (`"Required. Integer. ..."`). An instance without steps is a conversation without calls.
"""

from collections.abc import Iterator

from weaklink.inspector.importers.data.public_shapes import openai_tools
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import member_at, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern

_METHODS = ("get", "put", "post", "delete", "patch")
_COMMON = ("Name", "Description", "Category")
_PARAMETERS = "Parameters: "
_TYPE = lazy_pattern(r"(?i)\b(string|integer|number|boolean|array|object)\b")


def instance_rows(row: JsonObject) -> list[JsonObject]:
    """The conversations of a row of ToolAlpaca, as rows; empty for any other row."""
    instances = json_within(row.get("Instances"))
    if not isinstance(instances, list) or not ({"Documentation", "Function_Description"} & row.keys()):
        return []
    tools = openai_tools([*_tools(row)])
    shared = {key: row[key] for key in _COMMON if key in row}
    return [
        {**shared, "messages": list(_messages(instance)), "tools": tools}
        for instance in instances
        if isinstance(instance, dict) and isinstance(instance.get("input"), str)
    ]


def _messages(instance: JsonObject) -> Iterator[JsonObject]:
    yield {"role": "user", "content": instance["input"]}
    steps = instance.get("intermediate_steps")
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        action, result = (step[0], step[1]) if isinstance(step, list) and len(step) == 2 else (None, None)
        if not isinstance(action, list) or len(action) < 2:
            continue
        arguments = action[1] if isinstance(action[1], str) else write_json(action[1], ascii_only=False)
        call: JsonObject = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": action[0], "arguments": arguments},
        }
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        text = result if isinstance(result, str) else write_json(result, ascii_only=False)
        yield {"role": "tool", "tool_call_id": f"call_{number}", "content": text}
    if isinstance(instance.get("output"), str):
        yield {"role": "assistant", "content": instance["output"]}


def _tools(row: JsonObject) -> Iterator[JsonObject]:
    document = json_within(row.get("Documentation"))
    operations = [*_operations(document)] if isinstance(document, dict) else []
    yield from operations or _described(row.get("Function_Description"))


def _operations(document: JsonObject) -> Iterator[JsonObject]:
    paths = document.get("paths")
    for path in paths.values() if isinstance(paths, dict) else ():
        for method, operation in path.items() if isinstance(path, dict) else ():
            if method in _METHODS and isinstance(operation, dict) and isinstance(operation.get("operationId"), str):
                description = operation.get("summary") or operation.get("description") or ""
                yield _tool(operation["operationId"], description, _schema(operation, document))


def _schema(operation: JsonObject, document: JsonObject) -> JsonObject:
    properties: JsonObject = {}
    required: list[Json] = []
    parameters = operation.get("parameters")
    for parameter in parameters if isinstance(parameters, list) else ():
        name = parameter.get("name") if isinstance(parameter, dict) else None
        if isinstance(parameter, dict) and isinstance(name, str):
            schema, described = (
                parameter.get("schema"),
                {key: parameter[key] for key in ("description",) if key in parameter},
            )
            properties[name] = {**(schema if isinstance(schema, dict) else {}), **described}
            required += [name] if parameter.get("required") is True else []
    body = member_at(operation, "requestBody.content.application/json.schema")
    inner = body.get("properties") if isinstance(body, dict) else None
    if isinstance(body, dict) and isinstance(inner, dict):
        properties.update(inner)
        listed = body.get("required")
        required += listed if isinstance(listed, list) else []
    schema_of_all: JsonObject = {"type": "object", "properties": properties, "required": required}
    components = document.get("components")
    return {**schema_of_all, "components": components} if "$ref" in write_json(properties) else schema_of_all


def _described(functions: Json) -> Iterator[JsonObject]:
    for name, text in functions.items() if isinstance(functions, dict) else ():
        if not isinstance(text, str) or name == "components":
            continue
        description, _, rest = text.partition(_PARAMETERS)
        listed = json_within(rest.partition("\nOutput:")[0].strip())
        words = {key: one for key, one in listed.items() if isinstance(one, str)} if isinstance(listed, dict) else {}
        properties: JsonObject = {key: {**_typed(one), "description": one} for key, one in words.items()}
        required: list[Json] = [key for key, one in words.items() if one.lower().startswith("required")]
        yield _tool(name, description.strip(), {"type": "object", "properties": properties, "required": required})


def _typed(words: str) -> JsonObject:
    match = _TYPE.search(words.partition(". One of")[0])
    return {"type": match[1].lower()} if match is not None else {}


def _tool(name: Json, description: Json, parameters: JsonObject) -> JsonObject:
    return {"name": name, "description": description, "parameters": parameters}
