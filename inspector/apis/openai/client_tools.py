"""Calls of OpenAI's own tools that the client runs (Responses API), and their results.

    item of the call      called as       arguments            item of the result
    function_call         its `name`      `arguments`          function_call_output
    custom_tool_call      its `name`      `input`              custom_tool_call_output
    tool_search_call      `tool_search`   `arguments`          tool_search_output, the tools that were found
    shell_call            `shell`         `action`             shell_call_output
    local_shell_call      `local_shell`   `action`             local_shell_call_output, whose `id` is that of the call
    apply_patch_call      `apply_patch`   `operation`          apply_patch_call_output, `status` is `failed` or not
    computer_call         `computer`      `actions`, `action`  computer_call_output

A search with `"execution": "server"` and a shell in OpenAI's container are run by OpenAI: both items are in the answer,
and nobody else has to answer. Calls that a program makes (programmatic tool calling) have a `caller` with the call id
of the item `program`. Source: the types of openai-python 3.54.0, types/responses (read on 2026-11-29).
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.apis.openai.tool_lists import SEARCH_OUTPUT
from weaklink.inspector.json_text import compact_json, list_of, object_of, word_of
from weaklink.inspector.model import Json, Part, RecordedState, ResultHeader, Role, RunState, ToolDefinition, Turn
from weaklink.inspector.wire.provider_json import NOTHING, StructReader, raw_text, try_parse_json

FUNCTION = "function_call"

CALL_MEMBERS = {FUNCTION: "arguments", "custom_tool_call": "input"}
"""The types of items that call one of the client's own tools, and the member that has the arguments."""

TEXT_ITEMS = frozenset(kind for kind, key in CALL_MEMBERS.items() if key != "arguments")
"""Those of them whose arguments are free text, not JSON."""

OWN_CALLS = {
    "tool_search_call": "tool_search",
    "shell_call": "shell",
    "local_shell_call": "local_shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
}
"""The types of items that call a tool of OpenAI's, and the name of that tool."""

OWN_RESULTS = frozenset({SEARCH_OUTPUT, *(f"{kind}_output" for kind in OWN_CALLS if kind != "tool_search_call")})
"""The types of items that answer such a call."""

RESULT_ITEMS = frozenset(f"{kind}_output" for kind in CALL_MEMBERS)
"""The types of items that return the result of one of the client's own tools."""

_WRITTEN_AS = {"tool_search_call": "arguments", "apply_patch_call": "operation"}  # the others: `action`
ARGUMENTS = ("arguments", "actions", "action", "operation")
"""The members of such calls that may have their arguments; the first one counts."""

_APPLY_PATCH_RESULT, _SHELL_RESULT = "apply_patch_call_output", "shell_call_output"


class OwnItem(msgspec.Struct):
    """A call of a tool of OpenAI's, or its result; `arguments` is the first of the members that calls have."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    execution: str | None = None
    environment: Any = None
    caller: Any = None
    arguments: msgspec.Raw = NOTHING
    actions: msgspec.Raw = NOTHING
    action: msgspec.Raw = NOTHING
    operation: msgspec.Raw = NOTHING

    def arguments_text(self) -> str:
        """The arguments as they were on the wire, `""` if there are none yet."""
        texts = (raw_text(getattr(self, name)) for name in ARGUMENTS)
        return next((text for text in texts if text), "")


read_own_item = StructReader(OwnItem)


def is_run_by_client(kind: str, execution: Json, environment: Json) -> bool:
    """Whether an item of this type is a call of a tool of OpenAI's that the client runs."""
    return kind in OWN_CALLS and execution != "server" and object_of(environment).get("type") != "container_reference"


def ids_of_provider(items: list[Json]) -> frozenset[str]:
    """The ids of those calls of OpenAI's tools among the items that OpenAI ran itself."""
    own = (item for item in map(object_of, items) if word_of(item.get("type")) in OWN_CALLS)
    return frozenset(
        word_of(item.get("call_id"))
        for item in own
        if not is_run_by_client(word_of(item.get("type")), item.get("execution"), item.get("environment"))
    )


def is_result(item: dict[str, Json], kind: str, ids: frozenset[str]) -> bool:
    """Whether an item is the client's answer to a call; `ids` are those of the calls that OpenAI ran."""
    if kind in RESULT_ITEMS:
        return True
    return (
        kind in OWN_RESULTS and item.get("execution") != "server" and word_of(item.get("call_id")) not in (ids - {""})
    )


def own_arguments(item: dict[str, Json]) -> str:
    """The arguments of such a call in a request, as JSON text."""
    return next((compact_json(item[name]) for name in ARGUMENTS if item.get(name) is not None), "")


def caller_id(caller: Json) -> str | None:
    """The id of the program that made a call; None if the model itself made it, or if nothing says so."""
    return word_of(object_of(caller).get("caller_id")) or None


def read_result(item: dict[str, Json], kind: str) -> Turn:
    """The tool turn of an item that answers a call."""
    call_id = word_of(item.get("call_id")) or (word_of(item.get("id")) if kind in OWN_RESULTS else "")
    header = ResultHeader(call_id or None)
    if kind == SEARCH_OUTPUT:
        parts: tuple[Part, ...] = (Part("text", compact_json(list_of(item.get("tools")))),)
        return Turn(Role.TOOL, parts, kind, result=header)
    output = item.get("output", "")
    if kind == _APPLY_PATCH_RESULT and item.get("status") in ("completed", "failed"):
        header = ResultHeader(header.call_id, None, item["status"] == "failed")
        output = output or ""
    if kind == _SHELL_RESULT and not isinstance(output, str):
        header = ResultHeader(header.call_id, recorded=_shell_state(output))
        output = compact_json(output)
    return Turn(Role.TOOL, read_message({"role": "tool", "content": output}).parts, kind, result=header)


def _shell_state(output: Json) -> RecordedState | None:
    """How the commands of a shell call ended: a timeout, else the first exit code that is not 0, else 0."""
    outcomes = [object_of(object_of(result).get("outcome")) for result in list_of(output)]
    if any(outcome.get("type") == "timeout" for outcome in outcomes):
        return RecordedState(state=RunState.TIMED_OUT, field="output.outcome.type")
    codes = [code for outcome in outcomes if isinstance(code := outcome.get("exit_code"), int)]
    return RecordedState(next(filter(None, codes), 0), field="output.outcome.exit_code") if codes else None


def rebuilt_call(number: int, call_id: str, name: str, arguments: str, tools: Iterable[ToolDefinition]) -> Json:
    """The item of a call; `tools` are those of the request, which show whether the name is one of OpenAI's tools."""
    own = next((kind for kind, called in OWN_CALLS.items() if called == name and _offers(tools, name)), None)
    call: dict[str, Json] = {"id": f"fc_{number}", "call_id": call_id, "status": "completed"}
    if own is None:
        return {"type": FUNCTION, **call, "name": name, "arguments": arguments}
    execution: dict[str, Json] = {"execution": "client"} if own == "tool_search_call" else {}
    return {"type": own, **call, **execution, _WRITTEN_AS.get(own, "action"): try_parse_json(arguments, arguments)}


def _offers(tools: Iterable[ToolDefinition], name: str) -> bool:
    own = (object_of(try_parse_json(tool.raw)) for tool in tools if tool.name.startswith(name))
    return any("name" not in tool and word_of(tool.get("type")).startswith(name) for tool in own)
