"""The dashboard's own route for the page of a trace: views of the selected characters, and what a running trace gained.

The page requests it without a run of Streamlit's script, which would send the whole page. `GET /weaklink/trace/ID`
takes `turn`, `part`, `start` and `end` (the selected characters, in code points; without them, nothing is selected),
and up to 16 `view=NAME:VERSION`: the visible views, each with the version that the browser has. The response contains
`selected` of each view, and the view's data if the version differs. `have=VERSION` requests the changes of the
dissector's data since that version: as a `delta` (`json_delta`), or as `data` if the version is no longer kept.

Responses are compressed if the browser accepts it: rows of values, lines of schemas and steps of chunks are repetitive.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from threading import Lock
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import StoreError
from weaklink.inspector.model import Json, Role
from weaklink.inspector.text import Range
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.diagnostic import break_lines
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import step_at
from weaklink.ui.views.dissect.raw import context, raw, schema
from weaklink.ui.views.dissect.side import SideLine, SideSource, initial_position, notes, origins
from weaklink.ui.views.dissect.timing import timing
from weaklink.ui.views.status import UNNAMED, liveness_run, outcome_words, status_run, task_run
from weaklink.ui.views.styled_text import (
    LineKind,
    Run,
    Style,
    counted,
    quoted,
    short_count,
    short_duration,
    visible_line,
)
from weaklink.ui.views.trace import fault_counts
from weaklink.ui.views.trace_summary import reason_words
from weaklink.ui.web.browser_json import json_delta
from weaklink.ui.web.components import lines_data
from weaklink.ui.web.markup import UNWRAPPED, folds
from weaklink.ui.web.pictures import MAX_BOXES, Picture, flow_picture, rail, rail_boxes, selected_box, timing_picture
from weaklink.ui.web.prices import cost_of, cost_text
from weaklink.ui.web.stores import ShownTrace, current_options, data_flow, shown_trace, store
from weaklink.ui.web.stream_data import EXPANDED_TURNS, short_mark, stream_data, stream_place, value_rows, window_of

PATH = "/weaklink/trace/{id:int}"
_CACHED_ANSWERS = 6  # data of traces that browsers have, each as large as a window
_MAX_VIEWS = 16
_MIN_PACKED_BYTES = 500  # bytes; the headers of a smaller response are as large as its body
_MAX_NUMBER_DIGITS = 15
_SENT: "OrderedDict[str, dict[str, Json]]" = OrderedDict()
_LOCK = Lock()

_MAX_NAME_CHARS = 80
_MAX_MESSAGE_CHARS = 400
_VERDICT_WIDTH = 40  # it is beside the stream
_MAX_LINES = 400
_NO_PICTURE = Picture(0, 0, (), "Nothing to draw")


def browser_data(shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    """The data of the dissector: the window of a trace around a position, or around `default_position` without one.

    `version` identifies this state of the window; `near` are the first and last turn whose values it contains.
    """
    around = location or default_position(shown)
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
        while len(_SENT) > _CACHED_ANSWERS:
            _SENT.popitem(last=False)
    return data


def forget_sent() -> None:
    """Forget the data that browsers have: they receive all of it again."""
    with _LOCK:
        _SENT.clear()


def default_position(shown: ShownTrace) -> Location:
    """The position of a trace without a selection: the end of a running trace, the first turn of any other."""
    turns = shown.trace.turns
    if not shown.summary.is_open or not turns or not turns[-1].parts:
        return Location(1, "text", Range(0, 0))
    last = turns[-1].parts[-1]
    return Location(len(turns), last.name, Range(len(last.text), len(last.text)))


def position_of(turn: str, part: str, start: str, end: str) -> Location | None:
    """The position in an address; None if there is none."""
    numbers = [int(word) for word in (turn, start, end) if _is_number(word)]
    if len(numbers) < 3 or not numbers[0] or numbers[1] > numbers[2]:
        return None
    return Location(numbers[0], part or "text", Range(numbers[1], numbers[2]))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= _MAX_NUMBER_DIGITS


def _answer(request: Request, open_trace: Callable[[int], ShownTrace]) -> Response:
    """Respond to one request of a page; 404 if there is no such trace or view."""
    query = request.query_params
    location = position_of(*(query.get(name, "") for name in ("turn", "part", "start", "end")))
    try:
        shown = open_trace(int(request.path_params["id"]))
        views = {
            name: _changed(name, version, shown, location)
            for name, _, version in (word.partition(":") for word in query.getlist("view")[:_MAX_VIEWS])
        }
    except (StoreError, KeyError) as error:
        return JSONResponse({"error": str(error)}, 404)
    answer: dict[str, Any] = {"views": views}
    if "have" in query:
        answer |= _gained(query["have"], browser_data(shown, location))
    return JSONResponse(answer, headers={"cache-control": "no-store"})


def _changed(name: str, version: str, shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    data = view_data(name, shown, location)
    return {"selected": data.get("selected")} if data["version"] == version else data


def _gained(have: str, data: dict[str, Json]) -> dict[str, Json]:
    if have == data["version"]:
        return {}
    with _LOCK:
        before = _SENT.get(have)
    return {"data": data} if before is None else {"delta": json_delta(before, data)}


def trace_route(open_trace: Callable[[int], ShownTrace] = shown_trace) -> Route:
    """The route of this API; `open_trace` returns the trace with an id, or raises StoreError."""

    def answer(request: Request) -> Response:
        return _answer(request, open_trace)

    return Route(PATH, answer, methods=["GET"], middleware=[Middleware(GZipMiddleware, minimum_size=_MIN_PACKED_BYTES)])


def view_data(name: str, shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    """The data of a view for its component and the selected characters. Raises KeyError if there is no such view.

    `version` changes when anything but `selected` does.
    """
    data = VIEWS[name](shown, location)
    encoded = json.dumps({key: value for key, value in data.items() if key != "selected"}, sort_keys=True)
    version = hashlib.blake2b(encoded.encode(errors="surrogatepass"), digest_size=6).hexdigest()
    return {**data, "view": name, "trace": shown.summary.id, "version": version}


def empty_views(shown: ShownTrace) -> set[str]:
    """The names of the views that have nothing to show, whatever is selected."""
    has_answers = any(turn.generation is not None for turn in shown.trace.turns)
    filled = {
        "flow": bool(shown.inspection.chain.steps),
        "schema": bool(shown.inspection.chain.steps),
        "timing": timing_picture(shown.trace) is not None,
        "raw": has_answers,
        "context": has_answers,
    }
    same = {"origins": "flow", "times": "timing"}
    return {name for name in VIEWS if not filled.get(same.get(name, name), True)}


def _ending(shown: ShownTrace, _at: Location | None) -> dict[str, Json]:
    """How the trace ended, in a sentence that links to the characters."""
    chain, summary = shown.inspection.chain, shown.summary
    broken, state = chain.broken, summary.liveness
    if state is not None:
        status = liveness_run(state, open_turns=summary.open_turns)
    else:
        status = status_run(chain.status, broken)
    facts = [
        *([visible_line(summary.model)[:_MAX_NAME_CHARS]] if summary.model else []),
        counted(len(shown.trace.turns), "turn"),
        counted(len(chain.steps), "step"),
        fault_counts(shown.inspection) or "no faults",
        *_amounts(summary),
    ]
    outcome = task_run(summary.outcome)
    runs = (Run(status.text, status.style), *((Run(" · task: "), outcome) if outcome else ()))
    sentences = [SideLine((*runs, Run(f" · {' · '.join(facts)}", Style.DIM)))]
    recovered = next((step for step in chain.steps if step.recovery is not None), None)
    if broken is not None:
        head = Run(f"step {broken.step}, turn {broken.turn}: ", Style.ERROR)
        short = broken.message[:_MAX_MESSAGE_CHARS]
        message = short if short == broken.message else f"{short}…"
        sentences.append(_shown_line(shown, SideLine((head, *quoted(message)), initial_position(shown.inspection))))
    elif recovered is not None:
        head = Run(f"step {recovered.number}, turn {recovered.location.turn}: ", Style.REASONING)
        words = f"`{visible_line((recovered.call.name or UNNAMED)[:_MAX_NAME_CHARS])}` {outcome_words(recovered)}"
        sentences.append(_shown_line(shown, SideLine((head, *quoted(words)), recovered.location)))
    elif chain.status is Status.ABORTED and (why := reason_words(summary)):
        sentences.append(SideLine(why))
    is_beside = broken is not None  # the verdict beside the stream has the whole sentence
    return lines_data(sentences, label="How the trace ended", wraps=not is_beside, clips=is_beside)


def _amounts(summary: TraceSummary) -> Iterator[str]:
    """How long a trace took, its tokens, and what these cost at most, as far as it is known."""
    if summary.duration_s is not None:
        yield short_duration(summary.duration_s)
    known = [count for count in (summary.input_tokens, summary.output_tokens) if count is not None]
    if known:
        tokens = sum(known)
        yield f"{short_count(tokens)} {'token' if tokens == 1 else 'tokens'}"
    cost = cost_of(summary, current_options().prices)
    if cost is not None:
        yield f"cost {cost_text(cost)}"


def _rail(shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    boxes = rail_boxes(shown.dissection, location)
    locations = {str(index): box.location for index, box in enumerate(boxes)}
    caption = f"The map shows {MAX_BOXES} boxes around the selection." if len(boxes) == MAX_BOXES else ""
    return rail(boxes).data(selected_box(boxes, location), locations, caption)


def _flow(shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    """The chain as a picture, with the step of the selected characters."""
    chain = shown.inspection.chain
    if not chain.steps:
        return _NO_PICTURE.data(None, {}, "This trace has no tool calls, so there is no data flow.")
    step = step_at(shown.dissection, _position(shown, location))
    drawn = flow_picture(chain, data_flow(shown), step.number if step else 1)
    locations = {str(step.number): step.location for step in chain.steps}
    caption = f"{drawn.label}. The thick path is the longest. Click a step to select it."
    return drawn.data(str(step.number) if step else None, locations, caption)


def _origins(shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    if not shown.inspection.chain.steps:
        return lines_data([], label="Where values came from")
    step = step_at(shown.dissection, _position(shown, location))
    return _lines(shown, origins(data_flow(shown), step), "Where values came from")


def _verdict(shown: ShownTrace, _at: Location | None) -> dict[str, Json]:
    location = initial_position(shown.inspection)
    sentences = list(
        break_lines(shown.trace, shown.inspection, UNWRAPPED, quote_width=_VERDICT_WIDTH, gist=shown.dissection.gist)
    )
    lines = [
        _shown_line(shown, SideLine(sentence, location, LineKind.SENTENCE if is_folded else LineKind.COLUMNS))
        for sentence, is_folded in zip(sentences, folds(sentences), strict=True)
    ]
    return lines_data(lines, label="Verdict", wraps=True)


def _schema(shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    return _lines(shown, schema(shown.dissection, _position(shown, location), UNWRAPPED), "Schema")


def _timing(shown: ShownTrace, _at: Location | None) -> dict[str, Json]:
    drawn = timing_picture(shown.trace)
    if drawn is None:
        return _NO_PICTURE.data(None, {}, "")
    parts = ((group.key, shown.dissection.parts_of(int(group.key))) for group in drawn.groups if group.key)
    locations = {key: parts_of_turn[0].location(Range(0, 0)) for key, parts_of_turn in parts if parts_of_turn}
    return drawn.data(None, locations, f"{drawn.label}. A chunk is not a token.")


def _times(shown: ShownTrace, _at: Location | None) -> dict[str, Json]:
    return _lines(shown, timing(shown.dissection), "Times of the answers")


def _raw(shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    return _lines(shown, raw(shown.dissection, _position(shown, location), UNWRAPPED), "Request and answer")


def _context(shown: ShownTrace, location: Location | None) -> dict[str, Json]:
    return _lines(shown, context(shown.dissection, _position(shown, location), UNWRAPPED), "What the model read")


def _notes(shown: ShownTrace, _at: Location | None) -> dict[str, Json]:
    marks = store().marks.of([shown.summary.id]).get(shown.summary.id, ())
    return _lines(shown, notes(shown.dissection, marks, UNWRAPPED), "Notes and facts")


VIEWS: Mapping[str, Callable[[ShownTrace, Location | None], dict[str, Json]]] = {
    "ending": _ending,
    "rail": _rail,
    "flow": _flow,
    "origins": _origins,
    "verdict": _verdict,
    "schema": _schema,
    "timing": _timing,
    "times": _times,
    "raw": _raw,
    "context": _context,
    "notes": _notes,
}
"""The views by their names."""


def _position(shown: ShownTrace, location: Location | None) -> Location:
    """The selected characters; without a selection, the first call, else the start of the model's first turn."""
    dissection: Dissection = shown.dissection
    if location is not None and location.turn <= len(dissection.trace.turns):
        return location
    if dissection.inspection.chain.steps:
        return dissection.inspection.chain.steps[0].location
    turns = enumerate(dissection.trace.turns, 1)
    return Location(next((number for number, turn in turns if turn.role is Role.ASSISTANT), 1), "text", Range(0, 0))


def _lines(shown: ShownTrace, source: SideSource, name: str) -> dict[str, Json]:
    return lines_data([_shown_line(shown, line) for line in _first(source)], label=name)


def _shown_line(shown: ShownTrace, line: SideLine) -> SideLine:
    """The line, linked to where the stream shows its place."""
    location = line.location
    return (
        line
        if location is None
        else line._replace(location=short_mark(shown.trace, stream_place(shown.trace, location)))
    )


def _first(source: SideSource) -> Iterator[SideLine]:
    for index in islice(range(source.count), _MAX_LINES):
        yield SideLine(source.line(index, UNWRAPPED), source.location(index), source.kind(index))
    if source.count > _MAX_LINES:
        yield SideLine((Run(f"… {counted(source.count - _MAX_LINES, 'further line')}", Style.DIM),))
