"""Tools that a provider or a client runs, searches for tools, deferred tools and calls by programs: read and paired."""

import json

import pytest

from tests.sessions.tools_of_providers import (
    Item,
    called,
    codes,
    inspected,
    messages_session,
    messages_tool,
    responses_session,
    responses_tool,
    returned,
    said,
    steps,
)
from weaklink.inspector.replay.answers import rebuilt_answer

SEARCH = {"type": "tool_search_call", "id": "ts_1", "call_id": "call_s", "arguments": {"goal": "orders"}}
FOUND = {"type": "tool_search_output", "call_id": "call_s", "status": "completed", "tools": [responses_tool("late")]}
BY_CLIENT = {"execution": "client", "status": "completed"}
BY_SERVER = {"execution": "server", "status": "completed"}
TOOLS: list[Item] = [
    {"type": "tool_search", "execution": "client"},
    {"type": "namespace", "name": "crm", "description": "", "tools": [responses_tool("orders", defer_loading=True)]},
    responses_tool("rows", allowed_callers=["programmatic"]),
    {"type": "programmatic_tool_calling"},
    {"type": "shell"},
]
END: tuple[list[Item], list[Item]] = ([said("Done.")], [])


@pytest.mark.parametrize("stored", [False, True])
def test_a_search_by_the_client_loads_tools_that_the_request_does_not_have(*, stored: bool) -> None:
    rounds = [
        ([{**SEARCH, **BY_CLIENT}], [{**FOUND, **BY_CLIENT}]),
        ([called("late", "1"), called("orders", "2", namespace="crm")], [returned("1"), returned("2")]),
        END,
    ]
    _, inspection = inspected(responses_session(rounds, TOOLS, stored=stored))
    assert steps(inspection) == [("tool_search", "ok"), ("late", "ok"), ("orders", "ok")]
    assert codes(inspection) == []


def test_a_tool_that_no_search_found_is_unknown() -> None:
    rounds = [
        ([{**SEARCH, **BY_CLIENT}], [{**FOUND, **BY_CLIENT}]),
        ([called("other", "1")], [returned("1")]),
        END,
    ]
    _, inspection = inspected(responses_session(rounds, TOOLS, stored=False))
    assert "T401" in codes(inspection)


def test_arguments_of_a_tool_within_a_namespace_are_checked() -> None:
    rounds = [([called("orders", "1", namespace="crm", arguments="{}")], [returned("1")]), END]
    _, inspection = inspected(responses_session(rounds, TOOLS, stored=False))
    assert codes(inspection) == ["S201"]


def test_a_name_that_two_namespaces_share_has_no_schema() -> None:
    other = responses_tool("orders", parameters={"type": "object", "required": ["page"]})
    tools = [*TOOLS, {"type": "namespace", "name": "shop", "description": "", "tools": [other]}]
    rounds = [([called("orders", "1", namespace="shop", arguments='{"page":1}')], [returned("1")]), END]
    _, inspection = inspected(responses_session(rounds, tools, stored=False))
    assert codes(inspection) == []


def test_more_tools_may_come_as_an_item() -> None:
    added: Item = {"type": "additional_tools", "role": "developer", "tools": [responses_tool("late")]}
    rounds = [
        ([said("What for?")], [added, {"role": "user", "content": "Try."}]),
        ([called("late", "1")], [returned("1")]),
        END,
    ]
    _, inspection = inspected(responses_session(rounds, TOOLS, stored=False))
    assert codes(inspection) == []


def test_what_the_provider_ran_stays_in_its_answer() -> None:
    environment = {"type": "container_reference", "container_id": "c"}
    shell: Item = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": ["ls"]}}
    output: Item = {"type": "shell_call_output", "id": "so_1", "call_id": "call_1", "output": []}
    search_output: Item = {**FOUND, **BY_SERVER, "id": "to_1", "call_id": None}
    answer: list[Item] = [
        {**SEARCH, **BY_SERVER, "call_id": None},
        search_output,
        {**shell, "environment": environment},
        output,
    ]
    user = {"role": "user", "content": "And now?"}
    trace, inspection = inspected(responses_session([([*answer, said("A.")], [user]), END], TOOLS, stored=False))
    assert [turn.role.value for turn in trace.turns] == ["user", "assistant", "user", "assistant"]
    assert steps(inspection) == []
    assert codes(inspection) == []


CLIENT_TOOLS = [
    ("shell", {"type": "shell_call", "action": {"commands": ["ls"]}}, {"output": []}, "ok"),
    (
        "shell",
        {"type": "shell_call", "action": {"commands": ["a", "b"]}},
        {"output": [{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}]},
        "error-result",
    ),
    (
        "shell",
        {"type": "shell_call", "action": {"commands": ["a"]}},
        {"output": [{"stdout": "x", "stderr": "", "outcome": {"type": "timeout"}}]},
        "error-result",
    ),
    (
        "apply_patch",
        {"type": "apply_patch_call", "operation": {}},
        {"status": "failed", "output": "no"},
        "error-result",
    ),
    ("apply_patch", {"type": "apply_patch_call", "operation": {}}, {"status": "completed"}, "ok"),
    ("local_shell", {"type": "local_shell_call", "action": {"type": "exec"}}, {"output": "{}"}, "ok"),
    (
        "computer",
        {"type": "computer_call", "action": {"type": "screenshot"}},
        {"output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}},
        "ok",
    ),
]


@pytest.mark.parametrize(("name", "call", "result", "outcome"), CLIENT_TOOLS)
@pytest.mark.parametrize("stored", [False, True])
def test_a_tool_of_openais_that_the_client_runs_is_a_step(
    name: str, call: Item, result: Item, outcome: str, *, stored: bool
) -> None:
    tools: list[Item] = [{"type": kind} for kind in ("shell", "local_shell", "apply_patch", "computer_use_preview")]
    answered = {"type": f"{call['type']}_output", "call_id": "call_1", **result}
    if name == "local_shell":
        answered["id"] = answered.pop("call_id")
    made = {**call, "id": "it_1", "call_id": "call_1", "status": "completed"}
    _, inspection = inspected(responses_session([([made], [answered]), END], tools, stored=stored))
    assert steps(inspection) == [(name, outcome)]
    assert "T401" not in codes(inspection)
    assert "C507" not in codes(inspection)


def test_a_rebuilt_answer_calls_such_a_tool_by_its_own_item() -> None:
    made = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": ["ls"]}}
    trace, _ = inspected(
        responses_session([([{**made, "status": "completed"}], [])], [{"type": "shell"}], stored=False)
    )
    _, body = rebuilt_answer(trace.turns[1], "/v1/responses", b'{"model": "m", "input": "a"}')
    (item,) = json.loads(body)["output"]
    assert (item["type"], item["call_id"], item["action"]) == ("shell_call", "call_1", {"commands": ["ls"]})


def test_the_calls_of_a_program_name_it() -> None:
    program = {"type": "program", "id": "pg_1", "call_id": "call_p", "code": "tools.rows({})", "fingerprint": "f"}
    caller = {"type": "program", "caller_id": "call_p"}
    output = {"type": "program_output", "id": "po_1", "call_id": "call_p", "result": "1", "status": "completed"}
    rounds = [
        ([program, called("rows", "1", caller=caller)], [{**returned("1"), "caller": caller}]),
        ([output, said("One.")], []),
    ]
    trace, inspection = inspected(responses_session(rounds, TOOLS, stored=False))
    assert [call.caller for turn in trace.turns for call in turn.calls] == ["call_p"]
    assert steps(inspection) == [("rows", "ok")]
    assert codes(inspection) == []


def test_calls_by_code_execution_and_after_a_tool_search_are_read() -> None:
    tools: list[Item] = [
        {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        messages_tool("weather", defer_loading=True),
        {"type": "code_execution_20260120", "name": "code_execution"},
        messages_tool("rows", allowed_callers=["code_execution_20260120"]),
    ]
    direct = {"type": "direct"}
    references = [{"type": "tool_reference", "tool_name": "weather"}]
    search_result = {"type": "tool_search_tool_search_result", "tool_references": references}
    search: Item = {"type": "server_tool_use", "id": "srv_1", "name": "tool_search_tool_regex", "caller": direct}
    code: Item = {"type": "server_tool_use", "id": "srv_2", "name": "code_execution", "input": {"code": "rows('a')"}}
    program = {"type": "code_execution_20260120", "tool_id": "srv_2"}
    ran = {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []}
    use: Item = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"q": "Oslo"}, "caller": direct}
    by_code: Item = {"type": "tool_use", "id": "toolu_2", "name": "rows", "input": {"q": "a"}, "caller": program}
    searched = {"type": "tool_search_tool_result", "tool_use_id": "srv_1", "content": search_result}
    executed = {"type": "code_execution_tool_result", "tool_use_id": "srv_2", "content": ran}
    rounds: list[tuple[list[Item], list[Item]]] = [
        ([{**search, "input": {"pattern": "weather"}}, searched, use], [_result("toolu_1", "Rain")]),
        ([{"type": "text", "text": "Now code."}, code, by_code], [_result("toolu_2", "[1]")]),
        ([executed, {"type": "text", "text": "One."}], []),
    ]
    trace, inspection = inspected(messages_session(rounds, tools))
    assert steps(inspection) == [("weather", "ok"), ("rows", "ok")]
    assert [call.caller for turn in trace.turns for call in turn.calls] == [None, "srv_2"]
    assert codes(inspection) == []


def test_a_result_without_text_answers_its_call() -> None:
    tools: list[Item] = [messages_tool("find"), messages_tool("weather", defer_loading=True)]
    tools.append({"type": "computer_toolset_20260801"})
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    click: Item = {"type": "tool_use", "id": "toolu_3", "name": "left_click", "input": {"coordinate": [1, 2]}}
    find: Item = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"q": "weather"}}
    use: Item = {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"q": "Oslo"}}
    rounds: list[tuple[list[Item], list[Item]]] = [
        ([find], [_result("toolu_1", [{"type": "tool_reference", "tool_name": "weather"}])]),
        ([use, {**click, "toolset_name": "computer"}], [_result("toolu_2", "Rain"), _result("toolu_3", [image])]),
        ([{"type": "text", "text": "Done."}], []),
    ]
    _, inspection = inspected(messages_session(rounds, tools))
    assert steps(inspection) == [("find", "ok"), ("weather", "ok"), ("left_click", "ok")]
    assert codes(inspection) == []


def _result(call_id: str, content: object) -> Item:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}
