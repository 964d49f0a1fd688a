"""The dashboard's own route for the page of a trace: views of the selected characters, and what a running trace gained.

The page requests it without a run of Streamlit's script, which would send the whole page. `GET /weaklink/trace/ID`
takes `turn`, `part`, `start` and `end` (the selected characters, in code points; none are selected where they are
missing), and any number of `view=NAME:VERSION`: the views that are seen, with the version that the browser has. The
answer holds each view's `selected`, and its data where the version is another. `have=VERSION` requests what the data of
the dissector became since: as a `delta` of it (`json_delta`), or as `data` where that version is no longer kept.

Answers are compressed where the browser takes that: rows of values, lines of schemas and steps of chunks look alike.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from inspector.diagnostics import Location
from inspector.errors import StoreError
from inspector.model import Json
from inspector.text import Range
from ui.web.browser_json import json_delta
from ui.web.stores import ShownTrace, shown_trace
from ui.web.stream_data import EXPANDED_TURNS, stream_data, value_rows, window_of
from ui.web.trace_views import view_data

PATH = "/weaklink/trace/{id:int}"
_KEPT = 6  # what browsers were given of traces, each as large as a window
_MOST_VIEWS = 16
_LEAST_PACKED = 500  # bytes; below, the head of the answer is as large
_LONGEST_NUMBER = 15
_SENT: "OrderedDict[str, dict[str, Json]]" = OrderedDict()
_LOCK = Lock()


def browser_data(shown: ShownTrace, at: Location | None) -> dict[str, Json]:
    """The data of the dissector: the window of a trace around a position, or around where it is shown from without one.

    `version` names this state of the window; `near` are the turns whose values it holds.
    """
    around = at or default_position(shown)
    window = window_of(shown.trace, around.turn, around.part, around.range.start)
    block = around.turn // EXPANDED_TURNS * EXPANDED_TURNS
    version = f"{shown.version}.{window.first}.{window.last}.{window.cuts}.{block}"
    with _LOCK:
        if version in _SENT:
            _SENT.move_to_end(version)
            return _SENT[version]
    data: dict[str, Json] = {
        **stream_data(shown.trace, shown.inspection, window),
        "values": value_rows(shown.dissection, window, block + EXPANDED_TURNS // 2),
        "version": version,
        "grows": shown.summary.is_open,
        "trace": shown.summary.id,
        "near": [block, block + EXPANDED_TURNS - 1],
    }
    with _LOCK:
        _SENT[version] = data
        while len(_SENT) > _KEPT:
            _SENT.popitem(last=False)
    return data


def forget_sent() -> None:
    """Keep nothing of what browsers were given: they are given it whole again."""
    with _LOCK:
        _SENT.clear()


def default_position(shown: ShownTrace) -> Location:
    """Where a trace is shown from while nothing is selected: a running one at its end, others at the first turn."""
    turns = shown.trace.turns
    if not shown.summary.is_open or not turns or not turns[-1].parts:
        return Location(1, "text", Range(0, 0))
    last = turns[-1].parts[-1]
    return Location(len(turns), last.name, Range(len(last.text), len(last.text)))


def position_of(turn: str, part: str, start: str, end: str) -> Location | None:
    """The position that an address names; None where it names none."""
    numbers = [int(word) for word in (turn, start, end) if _is_number(word)]
    if len(numbers) < 3 or not numbers[0] or numbers[1] > numbers[2]:
        return None
    return Location(numbers[0], part or "text", Range(numbers[1], numbers[2]))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= _LONGEST_NUMBER


def _answer(request: Request, open_trace: Callable[[int], ShownTrace]) -> Response:
    """One request of a page; 404 where there is no such trace or view."""
    query = request.query_params
    at = position_of(*(query.get(name, "") for name in ("turn", "part", "start", "end")))
    try:
        shown = open_trace(int(request.path_params["id"]))
        views = {
            name: _changed(name, version, shown, at)
            for name, _, version in (word.partition(":") for word in query.getlist("view")[:_MOST_VIEWS])
        }
    except (StoreError, KeyError) as error:
        return JSONResponse({"error": str(error)}, 404)
    answer: dict[str, Any] = {"views": views}
    if "have" in query:
        answer |= _gained(query["have"], browser_data(shown, at))
    return JSONResponse(answer, headers={"cache-control": "no-store"})


def _changed(name: str, version: str, shown: ShownTrace, at: Location | None) -> dict[str, Json]:
    data = view_data(name, shown, at)
    return {"selected": data.get("selected")} if data["version"] == version else data


def _gained(have: str, data: dict[str, Json]) -> dict[str, Json]:
    if have == data["version"]:
        return {}
    with _LOCK:
        before = _SENT.get(have)
    return {"data": data} if before is None else {"delta": json_delta(before, data)}


def trace_route(open_trace: Callable[[int], ShownTrace] = shown_trace) -> Route:
    """The route, for the server; `open_trace` gives the trace of a number, or raises StoreError."""

    def answer(request: Request) -> Response:
        return _answer(request, open_trace)

    return Route(PATH, answer, methods=["GET"], middleware=[Middleware(GZipMiddleware, minimum_size=_LEAST_PACKED)])
