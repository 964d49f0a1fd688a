"""Our own route for a trace's page: small answers for a selection, and deltas for a trace that grows."""

import json
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.ui.scenes import broken_trace
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnStarted
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunk, Json, Part, Role, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store
from weaklink.ui.web import trace_api
from weaklink.ui.web.browser_json import json_delta, with_delta
from weaklink.ui.web.stores import DashboardOptions, set_options, shown_trace
from weaklink.ui.web.stream_data import EXPANDED_TURNS
from weaklink.ui.web.trace_api import VIEWS, browser_data, trace_route, view_data

_DELTA_JS = Path(__file__).parents[3] / "ui" / "web" / "dissector" / "delta.js"
_LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab", "abc", "b😀"])
_VALUES: st.SearchStrategy[Json] = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
_WIDEST_ANSWER = 2_048


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    with open_store(tmp_path / "w.db") as store:
        store.save([broken_trace()])
    set_options(DashboardOptions(str(tmp_path / "w.db")))
    yield tmp_path / "w.db"
    set_options(DashboardOptions())


@pytest.fixture
def client(database: Path) -> TestClient:
    return TestClient(Starlette(routes=[trace_route()]))


def _alike(first: Json, other: Json) -> bool:
    return json.dumps(first, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(before=_VALUES, now=_VALUES)
def test_a_value_and_a_delta_of_it_make_the_later_value(before: Json, now: Json) -> None:
    assert _alike(with_delta(before, json_delta(before, now)), now)


def test_the_browser_applies_deltas_as_python_does(browser: Browser) -> None:
    cases: list[tuple[Json, Json]] = [
        ("a😀", "a😀b"),
        ([1, "a", {"k": [1]}], [1, "ab", {"k": [1, 2], "n": None}, 3]),
        ({"gone": 1, "kept": [True], "grown": "x"}, {"kept": [1], "grown": "xy", "new": {}}),
        ([1, 2, 3], [1]),
        ([5, 9], [5, 9, 12, 11, 2_000_000]),
        (["a"], ["a", 4, 8, 12]),
        ([True], [True, 4, 8, 12]),
        ([None, 1], [None, 1, 4, None, 12]),
        (None, {"a": 1}),
    ]
    page: Page = browser.new_page()
    page.add_script_tag(content=_DELTA_JS.read_text(encoding="utf-8"))
    for before, now in cases:
        made = page.evaluate("([before, delta]) => withDelta(before, delta)", [before, json_delta(before, now)])
        assert made == now
    page.close()


def test_an_answer_holds_what_changed_with_the_selection_alone(client: TestClient) -> None:
    shown = shown_trace(1)
    steps = [step.location for step in shown.inspection.chain.steps]
    views = {name: view_data(name, shown, steps[0]) for name in VIEWS}
    asked: dict[str, str | int | list[str]] = {
        "turn": steps[1].turn,
        "part": steps[1].part,
        "start": steps[1].range.start,
        "end": steps[1].range.end,
    }
    answer = client.get(
        "/weaklink/trace/1", params={**asked, "view": [f"{name}:{view['version']}" for name, view in views.items()]}
    )
    result = answer.json()["views"]
    for name in VIEWS:
        now = view_data(name, shown, steps[1])
        expected = {"selected": now.get("selected")} if now["version"] == views[name]["version"] else now
        assert _alike(result[name], expected), name
    assert all(result[name]["selected"] != views[name]["selected"] for name in ("rail", "flow"))
    seen = {**asked, "view": [f"{name}:{views[name]['version']}" for name in ("ending", "rail")]}
    assert len(client.get("/weaklink/trace/1", params=seen).content) < _WIDEST_ANSWER


def test_a_selected_call_of_another_tool_costs_at_most_two_kilobytes_with_its_schema(database: Path) -> None:
    names = ("city", "country", "days", "units", "language", "hour", "station", "detail", "note", "region")
    fields: dict[str, Json] = {name: {"type": "string", "description": f"The {name}, as {name}s go."} for name in names}
    schema: Json = {"type": "object", "properties": fields, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": schema}}
    tools = Turn(Role.SYSTEM, (Part("text", f"<tools>\n{json.dumps(tool)}\n</tools>"),))
    text = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    turns = (tools, Turn(Role.ASSISTANT, (Part("text", text),)))
    offering = Trace(turns, name="long schema", format="hermes")
    with open_store(database, create=False) as store:
        store.save([(offering, inspect_trace(offering))])
    client = TestClient(Starlette(routes=[trace_route()]))
    params = {"view": "schema:0", "turn": "2", "part": "text", "start": "0", "end": "9"}
    answer = client.get("/weaklink/trace/2", params=params)
    assert "as regions go" in answer.text
    assert len(answer.content) > _WIDEST_ANSWER
    assert answer.num_bytes_downloaded < _WIDEST_ANSWER


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("/weaklink/trace/999", {}, 404),
        ("/weaklink/trace/1", {"view": "nothing:0"}, 404),
        ("/weaklink/trace/x", {}, 404),
        ("/weaklink/trace/1", {"view": "schema:0", "turn": "9" * 40, "start": "-1", "end": "x"}, 200),
        ("/weaklink/trace/1", {"view": "raw:0", "turn": "77", "start": "1", "end": "2"}, 200),
        ("/weaklink/trace/1", {"have": "unknown"}, 200),
    ],
)
def test_strange_requests_are_answered(client: TestClient, path: str, params: dict[str, str], status: int) -> None:
    assert client.get(path, params=params).status_code == status


def test_what_a_running_trace_gained_is_at_most_three_times_its_text(tmp_path: Path) -> None:
    database = tmp_path / "live.db"
    sink = StoreSink(str(database))
    go = Trace((Turn(Role.USER, (Part("text", "go"),)),), name="running")
    sink.accept(TraceStarted("k", go))
    sink.accept(TurnStarted("k", 2, Role.ASSISTANT))
    sink.accept(ChunksArrived("k", 2, tuple(Chunk(index, "text", "many words ", 0.01 * index) for index in range(900))))
    sink.flush()
    set_options(DashboardOptions(str(database)))
    client = TestClient(Starlette(routes=[trace_route()]))
    have: Any = browser_data(shown_trace(1), None)
    for index in range(900, 1_000, 50):
        arrived = tuple(
            Chunk(sequence, "text", f"and <{sequence}> more ", 0.01 * sequence) for sequence in range(index, index + 50)
        )
        sink.accept(ChunksArrived("k", 2, arrived))
        sink.flush()
        answer = client.get("/weaklink/trace/1", params={"have": have["version"]})
        have = with_delta(have, answer.json()["delta"])
        assert _alike(have, browser_data(shown_trace(1), None))
        assert len(answer.content) <= 3 * sum(len(part.text) for part in arrived)
    assert client.get("/weaklink/trace/1", params={"have": have["version"]}).json() == {"views": {}}
    sink.accept(TraceEnded("k"))
    sink.close()
    answer = client.get("/weaklink/trace/1", params={"have": have["version"]})
    assert with_delta(have, answer.json()["delta"])["grows"] is False  # type: ignore[index,call-overload]  # an object
    trace_api.forget_sent()
    assert client.get("/weaklink/trace/1", params={"have": have["version"]}).json()["data"]["grows"] is False
    set_options(DashboardOptions())


@pytest.mark.slow
def test_a_state_that_is_asked_for_again_stays_while_others_come_and_go(tmp_path: Path) -> None:
    turns = tuple(Turn(Role.USER, (Part("text", f"{number}"),)) for number in range(12 * EXPANDED_TURNS))
    with open_store(tmp_path / "w.db") as store:
        store.save([(Trace(turns), inspect_trace(Trace(turns)))])
    set_options(DashboardOptions(str(tmp_path / "w.db")))
    client = TestClient(Starlette(routes=[trace_route()]))
    shown = shown_trace(1)

    def seen(block: int) -> str:
        return str(browser_data(shown, Location(block * EXPANDED_TURNS + 1, "text", Range(0, 0)))["version"])

    first = seen(0)
    for block in range(1, 12):
        assert seen(0) == first
        seen(block)
    assert "delta" in client.get("/weaklink/trace/1", params={"have": first, "turn": 600, "start": 0, "end": 0}).json()
    set_options(DashboardOptions())


_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": %d}}\n</tool_call>\n'
_PIECE = 4  # characters of a chunk, as many as a token has


@pytest.mark.one_in(3)
@pytest.mark.parametrize("gained", [80, 100, 200])
@pytest.mark.parametrize(
    "text",
    ["The quick brown fox jumps over the lazy dog and rests. " * 120, "".join(_CALL % index for index in range(90))],
    ids=["prose", "calls"],
)
def test_many_small_chunks_and_calls_are_at_most_three_times_their_text_on_the_wire(
    tmp_path: Path, text: str, gained: int
) -> None:
    database = tmp_path / "live.db"
    sink = StoreSink(str(database))
    sink.accept(TraceStarted("k", Trace((Turn(Role.USER, (Part("text", "go"),)),), name="r", format="hermes")))
    sink.accept(TurnStarted("k", 2, Role.ASSISTANT))
    uneven = Random(7)
    waits = accumulate(uneven.uniform(0.001, 0.02) for _ in text)  # with all the digits that a clock gives
    pieces = [
        Chunk(index, "text", text[index : index + _PIECE], at_s)
        for index, at_s in zip(range(0, len(text), _PIECE), waits, strict=False)
    ]
    half = len(pieces) // 2
    sink.accept(ChunksArrived("k", 2, tuple(pieces[:half])))
    sink.flush()
    set_options(DashboardOptions(str(database)))
    client = TestClient(Starlette(routes=[trace_route()]))
    have: Any = browser_data(shown_trace(1), None)
    sink.accept(ChunksArrived("k", 2, tuple(pieces[half : half + gained])))
    sink.flush()
    answer = client.get("/weaklink/trace/1", params={"have": have["version"]})
    assert "delta" in answer.json()
    assert answer.num_bytes_downloaded <= 3 * gained * _PIECE
    sink.close()
    set_options(DashboardOptions())


@pytest.mark.parametrize(
    ("took_ms", "is_answered", "wait_ms"),
    [(5, "true", 300), (299, "true", 300), (2_000, "true", 2_000), (5, "false", 1_500)],
)
def test_a_running_trace_is_requested_often_enough_to_be_shown_within_a_second(
    browser: Browser, took_ms: int, is_answered: str, wait_ms: int
) -> None:
    page = browser.new_page()
    page.add_script_tag(content=_DELTA_JS.read_text(encoding="utf-8"))
    assert page.evaluate(f"() => waitAfter({took_ms}, {is_answered})") == wait_ms
    page.close()


def test_the_key_of_layers_goes_round_in_the_layers_of_one_call(browser: Browser) -> None:
    layers = [{"turn": turn, "order": order, "point": 0, "step": step} for turn, order, step in _LAYER_PLACES]
    page = browser.new_page()
    try:
        page.set_content("<html></html>")
        page.add_script_tag(content=(_DELTA_JS.parent / "locations.js").read_text(encoding="utf-8"))
        seen = page.evaluate(
            """(layers) => {
              const seen = [nextLayer(layers, null), nextLayer([], layers[0])];
              let here = { turn: 2, order: 1, point: 5 };
              for (let at = 0; at < 4; at += 1) seen.push((here = nextLayer(layers, here)));
              return seen.map((one) => one && [one.turn, one.order]);
            }""",
            layers,
        )
    finally:
        page.close()
    assert seen == [[2, 0], None, [3, 0], [2, 0], [2, 1], [3, 0]]


_LAYER_PLACES = [(2, 0, 1), (2, 1, 1), (3, 0, 1), (4, 0, 2), (5, 0, 2)]


def test_the_page_knows_where_the_layers_of_a_call_are(database: Path) -> None:
    shown = shown_trace("1")
    data: Any = browser_data(shown, None)
    steps = {row["step"] for row in data["layers"]}
    assert steps == {step.number for step in shown.inspection.chain.steps if step.result_location is not None}
    assert all(len([row for row in data["layers"] if row["step"] == step]) > 1 for step in steps)


def test_a_long_note_is_whole(database: Path, client: TestClient) -> None:
    note = "The customer said so on the phone, twice. " * 9
    with open_store(database, create=False) as store:
        store.marks.put(1, note=note)
    lines = client.get("/weaklink/trace/1", params={"view": "notes:0"}).json()["views"]["notes"]["lines"]
    assert note.strip() in "".join(text for _, text in lines[0]["runs"])
