"""A result that is called a plain success is one by all rules of facts and words."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain import outcomes
from weaklink.inspector.chain.outcomes import is_plain_success, judged_result
from weaklink.inspector.chain.pairing import LocatedCall
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.model import ToolCall, ToolResult
from weaklink.inspector.text import Range

PLACE = Range(0, 1)
TOOLS = (
    *("get_weather", "find_orders", "update_order", "cancel_flight", "bash", "run_tests", "read_file", "write_file"),
    *("grep", "python", "sql_query", "submit", "functions.lookup", "think"),
)
WORDS = (
    *("error", "Error: no", "not found", "failed", "timed out", "exit code 1", "Traceback (most recent call last):"),
    *("denied", "no such file or directory", "status", "ok", "success", "content", "result", "metadata", "rc", "code"),
    *("fehlgeschlagen", "introuvable", "не найден", "失败", "ません", "is running in background with ID: 7", "404"),
    *("user rejected this", "no matches found", "city", "Oslo", "nothing", "Command: x", "cannot", "İs a directory"),
    *("accepted", "reason", "rejected", "exito", "mensaje", "state"),
)
KEYS = ("path", "command", "query", "city", "sql", "input")
VALUES = st.sampled_from(WORDS) | st.integers(-2, 600) | st.booleans() | st.none()
OBJECTS = st.dictionaries(st.sampled_from(WORDS), st.recursive(VALUES, lambda some: st.lists(some, max_size=2)))


@given(
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from((*WORDS, "ls", "drop table x", "echo $?")), max_size=2),
    OBJECTS | st.lists(OBJECTS, max_size=1),
    st.sampled_from((None, 1)),
    st.sampled_from((None, False, True)),
)
def test_a_plain_success_is_judged_as_one(
    tool: str, arguments: dict[str, Any], result: object, indent: int | None, is_error: bool | None
) -> None:
    call = ToolCall(tool, arguments, json.dumps(arguments), valid=True, range=PLACE)
    text = json.dumps(result, indent=indent, ensure_ascii=False)
    tool_result = ToolResult(text, Range(0, len(text)), is_error=is_error)
    if is_plain_success(call, tool_result):
        with patch.object(outcomes, "is_plain_success", lambda *_: False):
            assert judged_result(LocatedCall(call, Location(1, "text", PLACE)), tool_result) is None


@pytest.mark.parametrize(
    ("result", "is_plain"),
    [
        ('{"city": "Oslo", "degrees": 17}', True),
        ('{"found": [{"name": "a red mug"}]}', True),
        ('{"error": "no such city"}', False),
        ('{"answer": "permission denied"}', False),
        ('{"state": "rejected", "reason": "too late"}', False),
        ('{"content": "all is well"}', False),
        ("17 degrees", False),
    ],
)
def test_the_usual_result_of_a_function_is_plain(result: str, is_plain: bool) -> None:
    call = ToolCall("get_weather", {"city": "Oslo"}, '{"city": "Oslo"}', valid=True, range=PLACE)
    assert is_plain_success(call, ToolResult(result, PLACE)) is is_plain
