"""A request that differs in the definition of a tool names the tool and the characters."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture import scripted_answers as scripted
from tests.capture.chat_client import CHAT_CLIENT
from tests.capture.upstream import running_upstream
from tests.ui.conftest import run_text
from weaklink.inspector.capture.replay_server import difference_text
from weaklink.inspector.model import Json
from weaklink.inspector.replay.canonical import DifferenceKind, differences


def _body(shape: str, *tools: tuple[str, Json]) -> Json:
    """A request with these tools, each with its schema, as an API has them."""
    match shape:
        case "chat":
            listed: list[Json] = [
                {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in tools
            ]
        case "anthropic":
            listed = [{"name": name, "input_schema": schema} for name, schema in tools]
        case "responses":
            listed = [{"type": "function", "name": name, "parameters": schema} for name, schema in tools]
        case _:
            listed = [{"functionDeclarations": [{"name": name, "parameters": schema} for name, schema in tools]}]
    return {"model": "m", "tools": listed}


def _schema(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_SHAPES = ("chat", "anthropic", "responses", "gemini")


@pytest.mark.parametrize("shape", _SHAPES)
def test_a_changed_schema_names_its_tool_and_the_characters(shape: str) -> None:
    search = ("search", _schema(query={"type": "string"}))
    recorded = _body(shape, search, ("weather", _schema(city={"type": "string"}, days={"maximum": 5})))
    live = _body(shape, search, ("weather", _schema(city={"type": "str"}, days={"maximum": 7})))
    word, number = differences(recorded, live)
    assert (word.tool, number.tool) == ("weather", "weather")
    assert difference_text(word).split(", ", 1)[1] == 'tool weather, characters 3 to 3: recorded "string", now "str".'
    definition = _weather(live)
    assert number.live_range is not None
    text = json.dumps(definition, ensure_ascii=False)
    assert text[number.live_range.start : number.live_range.end] == "7"
    assert text[: number.live_range.start].endswith('"days": {"maximum": ')


def _weather(body: Json) -> Any:
    assert isinstance(body, dict)
    tools: Any = body["tools"]
    listed = tools[0].get("functionDeclarations", tools)
    return next(definition for definition in listed if "weather" in json.dumps(definition))


@pytest.mark.parametrize("shape", _SHAPES)
def test_an_added_and_a_missing_tool_are_named(shape: str) -> None:
    single, both = _body(shape, ("a", _schema())), _body(shape, ("a", _schema()), ("b", _schema()))
    (added,) = differences(single, both)
    assert (added.kind, added.tool) == (DifferenceKind.ADDED, "b")
    assert added.live_range is not None
    assert added.live_range.start == 0
    (missing,) = differences(both, single)
    assert (missing.kind, missing.tool, missing.live_range) == (DifferenceKind.MISSING, "b", None)
    assert missing.recorded_range == added.live_range


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(_JSON, _JSON)
def test_every_range_has_the_value_that_it_names(old: Json, new: Json) -> None:
    before: Json = {"name": "f", "parameters": old}
    after: Json = {"name": "f", "parameters": new}
    old_text, text = (json.dumps(body, ensure_ascii=False) for body in (before, after))
    for difference in differences({"tools": [before]}, {"tools": [after]}):
        assert difference.tool == "f"
        if (
            difference.live_range is not None
            and difference.recorded_range is not None
            and not (difference.live and difference.recorded)
        ):
            continue  # two texts, one of which is empty
        if difference.kind is DifferenceKind.ADDED:
            assert difference.live_range is not None
            assert difference.recorded_range is None
            assert text[difference.live_range.start : difference.live_range.end] == difference.live
        if difference.kind is DifferenceKind.MISSING:
            assert difference.recorded_range is not None
            assert old_text[difference.recorded_range.start : difference.recorded_range.end] == difference.recorded


_AGENT = f"""{CHAT_CLIENT}
schema = {{"type": "object", "properties": {{"days": {{"type": sys.argv[1]}}}}}}
tools = [{{"type": "function", "function": {{"name": "get_weather", "parameters": schema}}}}]
try: create(model="m", messages=[{{"role": "user", "content": "Hi"}}], tools=tools)
except OSError: pass
"""


def test_a_replay_names_the_tool(tmp_path: Path) -> None:
    agent = (sys.executable, "-c", _AGENT)
    with running_upstream(scripted.chat_answer("Hi.")) as upstream:
        run_text(tmp_path, "run", "--db", "t.db", "--upstream", upstream.url, "--", *agent, "integer")
    done = run_text(tmp_path, "replay", "latest", "--db", "t.db", "--", *agent, "string")
    assert done.returncode == 3
    place_words = "/tools/0/function/parameters/properties/days/type, tool get_weather, characters 0 to "
    assert place_words in done.stderr
    done = run_text(tmp_path, "replay", "latest", "--db", "t.db", "--json", "--", *agent, "string")
    assert json.loads(done.stderr)["divergences"][0]["differences"][0]["tool"] == "get_weather"
