"""The columns of a list of traces, for the command line, the terminal and the web page.

The width and the rows determine the shown columns: `fitted` takes columns in the order of their `priority` as long as
each gets its minimum width, leaves out those that are empty in all rows, and gives the remaining width to the title and
the break.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import TypeAlias, cast

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Status, VerdictCertainty
from weaklink.inspector.model import Liveness, ParentWhy
from weaklink.storage.listing import Order
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.json_types.traces import ListedTraceJson
from weaklink.ui.views import trace_summary
from weaklink.ui.views.status import task_run
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    clipped,
    padded,
    plain,
    right_aligned,
    short_age,
    short_count,
    short_duration,
    short_time,
    visible_line,
    visible_runs,
    width_of,
)

NOTHING: Line = (Run("-", Style.DIM),)
"""The content of an empty cell."""

MARKED, NOTED = Run("●", Style.KEY), Run("✎", Style.KEY)
"""The marks of a trace that the user marked, and of one with a note."""

_GAP = 2
_MAX_CELL_CHARS = 400  # code points of a text that are used


class ListedTrace(Struct, frozen=True):
    """A trace in a list, with data that only some lists have.

    `now_s` is seconds since 1970-01-01 UTC. `ok_calls` is the number of its successful calls, or None if not counted.
    `depth` is the number of its ancestors above it in a list that groups forks.
    """

    summary: TraceSummary
    now_s: float
    ok_calls: int | None = None
    minimap: Line = ()
    has_project_column: bool = False
    depth: int = 0


def forks_grouped(rows: Sequence[ListedTrace]) -> list[ListedTrace]:
    """The rows with each fork below its parent, if the parent is among them; all others keep their order.

    Forks of one parent keep their order too. Parents are found by their external ids.
    """
    place_of = {
        (name, value): index for index, row in enumerate(rows) for name, value in row.summary.external_ids.items()
    }
    place_of |= {("trace", str(row.summary.id)): index for index, row in enumerate(rows)}
    forks: dict[int, list[int]] = {}
    roots: list[int] = []
    for index, row in enumerate(rows):
        parent = row.summary.parent
        parent_row = None
        if parent is not None and parent.why is ParentWhy.FORK:
            parent_row = place_of.get((parent.external_id.name, parent.external_id.value))
        if parent_row is None or parent_row == index:
            roots.append(index)
        else:
            forks.setdefault(parent_row, []).append(index)
    traces: list[ListedTrace] = []
    pending = [(index, 0) for index in reversed(roots)]
    while pending:
        index, depth = pending.pop()
        traces.append(structs.replace(rows[index], depth=depth))
        pending += [(fork, depth + 1) for fork in reversed(forks.get(index, ()))]
    return traces if len(traces) == len(rows) else list(rows)  # traces that are forks of each other


_Cell: TypeAlias = Callable[[ListedTrace, int], Line]


class TraceColumn(Struct, frozen=True):
    """A column: `key` names it in `--columns` and in the JSON of `weaklink list`, `heading` on the screen.

    `value` is the JSON value. `cell` renders it in a number of cells; `least` and `most` bound its width. On a narrow
    screen, the columns with the lowest `priority` numbers are kept; one that `is_whole` grows to its full width or not
    at all, after the others. `order` is the order of a list sorted by this column, and `filter_key` the filter key for
    its value.
    """

    key: str
    value: Callable[[TraceSummary], object]
    heading: str
    cell: _Cell
    least: int
    most: int
    priority: int
    order: Order | None = None
    filter_key: str = ""
    is_number: bool = False
    is_whole: bool = False


def _text(text: str) -> Line:
    return visible_runs(text[:_MAX_CELL_CHARS]) or NOTHING


def _status(trace: ListedTrace, room: int) -> Line:
    summary = trace.summary
    run = trace_summary.listed_status(summary)
    marks = (NOTED,) if summary.note else (MARKED,) if summary.marked else ()
    words = (run, Run(" "), *marks) if marks else (run,)
    return words if width_of(words) <= room else (Run(run.text[0], run.style), *marks)


def _title(trace: ListedTrace, room: int) -> Line:
    branch = f"{'  ' * (trace.depth - 1)}└ " if trace.depth else ""
    return _text(branch + trace_summary.listed_title(trace.summary, with_project=not trace.has_project_column))


def _when(trace: ListedTrace, room: int) -> Line:
    at_s = trace.summary.started_at_s
    if at_s is None:
        age = short_age(max(trace.now_s - trace.summary.imported_at_s, 0))
        return (
            Run(next(text for text in (f"imported {age}", f"imp. {age}", age) if len(text) <= max(room, 4)), Style.DIM),
        )
    text = short_time(at_s, trace.now_s)
    return (Run(text if len(text) <= room else short_time(at_s, trace.now_s, room), Style.DIM),)


def _age(trace: ListedTrace, room: int) -> Line:
    at_s = trace.summary.started_at_s
    return NOTHING if at_s is None else (Run(short_age(max(trace.now_s - at_s, 0)), Style.DIM),)


def _calls(trace: ListedTrace, room: int) -> Line:
    total, ok = trace.summary.tool_calls, trace.ok_calls
    if not total:
        return NOTHING
    if ok is None:
        return (Run(short_count(total)),)
    return (Run(f"{short_count(ok)}/{short_count(total)}", Style.PLAIN if ok >= total else Style.WARNING),)


def _token_count(summary: TraceSummary) -> int | None:
    known = [count for count in (summary.input_tokens, summary.output_tokens) if count is not None]
    return sum(known) if known else None


def _task(trace: ListedTrace, room: int) -> Line:
    run = task_run(trace.summary.outcome)
    return NOTHING if run is None else (run,)


def _break(trace: ListedTrace, room: int) -> Line:
    summary = trace.summary
    if reason := trace_summary.reason_words(summary):
        return reason
    if summary.status is Status.UNKNOWN and not summary.running:
        return (Run("the log has no last answer", Style.DIM),)
    return NOTHING


def _layer(trace: ListedTrace, room: int) -> Line:
    layers = trace.summary.layers
    return (Run(" ".join(layers)[:room], Style.WARNING),) if layers else NOTHING


def _certainty(trace: ListedTrace, room: int) -> Line:
    certainty = trace.summary.certainty
    if certainty is None or trace.summary.status in (Status.OK, Status.UNKNOWN):
        return NOTHING
    return (Run(certainty.value, Style.DIM if certainty is VerdictCertainty.HIGH else Style.WARNING),)


def _started(summary: TraceSummary) -> str | None:
    return trace_summary.moment(summary.started_at_s)


def _outcome(summary: TraceSummary) -> object:
    return trace_summary.outcome_object(summary.outcome)


def _project(summary: TraceSummary) -> str:
    branch = f"({summary.branch})" if summary.branch else ""
    return " ".join(word for word in (summary.project, branch) if word)


def _sure(summary: TraceSummary) -> str | None:
    return summary.certainty.value if summary.certainty is not None else None


def _broken(summary: TraceSummary) -> object:
    return trace_summary.break_object(summary.broken)


def _turns(summary: TraceSummary) -> str:
    return f"{short_count(summary.turns)}{f'+{summary.open_turns}' if summary.open_turns else ''}"


def _words(words: Callable[[TraceSummary], str | None], style: Style = Style.PLAIN) -> _Cell:
    """A cell with these words; it is empty without any."""
    return lambda trace, room: (Run(text, style),) if (text := words(trace.summary)) else NOTHING


def _texts(text: Callable[[TraceSummary], str]) -> _Cell:
    """A cell with a text of the source, whose hostile characters are made visible."""
    return lambda trace, room: _text(text(trace.summary))


_id = _words(lambda row: str(row.id), Style.STRONG)
_errors = _words(lambda row: short_count(row.errors) if row.errors else None, Style.ERROR)
_tokens = _words(lambda row: None if (count := _token_count(row)) is None else short_count(count))
_took = _words(lambda row: None if row.duration_s is None else short_duration(row.duration_s))

# Key, JSON value, heading and cell; the least and the most width of the cell; the column's priority.
_COLUMNS = (
    TraceColumn("status", attrgetter("status.value"), "status", _status, 2, 13, 0, is_whole=True, filter_key="status"),
    TraceColumn("id", attrgetter("id"), "id", _id, 4, 9, 3, is_number=True, filter_key="id"),
    TraceColumn("started_at", _started, "when", _when, 12, 12, 6, Order.TIME, "since"),
    TraceColumn("age", lambda _: None, "age", _age, 4, 4, 9, is_number=True),
    TraceColumn("title", trace_summary.trace_title, "title", _title, 22, 200, 1, filter_key="name"),
    TraceColumn("project", attrgetter("project"), "project", _texts(_project), 10, 24, 10),
    TraceColumn("model", attrgetter("model"), "model", _texts(attrgetter("model")), 9, 28, 5, filter_key="model"),
    TraceColumn("format", attrgetter("format"), "format", _texts(attrgetter("format")), 8, 14, 14, filter_key="format"),
    TraceColumn("source", attrgetter("source"), "source", _texts(attrgetter("source")), 8, 16, 15, filter_key="source"),
    TraceColumn("outcome", _outcome, "task", _task, 6, 12, 7, filter_key="outcome"),
    TraceColumn("turns", attrgetter("turns"), "turns", _words(_turns), 5, 7, 13, is_number=True, filter_key="turns"),
    TraceColumn("tool_calls", attrgetter("tool_calls"), "calls", _calls, 5, 9, 4, is_number=True, filter_key="calls"),
    TraceColumn("errors", attrgetter("errors"), "errors", _errors, 6, 6, 9, Order.ERRORS, "errors", is_number=True),
    TraceColumn("tokens", _token_count, "tokens", _tokens, 6, 6, 11, Order.TOKENS, "tokens", is_number=True),
    TraceColumn(
        "duration_s", attrgetter("duration_s"), "took", _took, 5, 5, 12, Order.DURATION, "duration", is_number=True
    ),
    TraceColumn("layers", lambda row: [*row.layers], "layer", _layer, 8, 20, 17, filter_key="layer"),
    TraceColumn("certainty", _sure, "sure", _certainty, 4, 4, 18, Order.CERTAINTY, "certainty"),
    TraceColumn("map", lambda _: None, "map", lambda row, room: row.minimap or NOTHING, 12, 60, 16),
    TraceColumn("break", _broken, "break", _break, 26, 80, 2, Order.BROKEN, "code"),
)

TRACE_COLUMNS: Mapping[str, TraceColumn] = MappingProxyType({column.key: column for column in _COLUMNS})
"""Every column that a screen can show, by its key, in display order."""

ORDERS_BY_WORD: Mapping[str, Order] = MappingProxyType(
    {
        "newest": Order.TIME,
        "broken": Order.BROKEN,
        "certainty": Order.CERTAINTY,
        "longest": Order.DURATION,
        "errors": Order.ERRORS,
        "tokens": Order.TOKENS,
    }
)
"""The values of `weaklink list --sort` and `:sort`."""

ORDER_WORDS: Mapping[Order, str] = MappingProxyType(
    {
        Order.TIME: "the newest first",
        Order.BROKEN: "the broken first",
        Order.CERTAINTY: "the surest verdicts first",
        Order.DURATION: "the longest first",
        Order.TOKENS: "the most tokens first",
        Order.ERRORS: "the most errors first",
    }
)
"""The orders of a list, with a description."""

_ONLY_IN_JSON: Mapping[str, Callable[[TraceSummary], object]] = MappingProxyType(
    {
        "name": lambda summary: summary.name,
        "file": lambda summary: summary.file,
        "record": lambda summary: summary.record,
        "external_ids": lambda summary: dict(summary.external_ids),
        "warnings": lambda summary: summary.warnings,
        "marked": lambda summary: summary.marked,
        "note": lambda summary: summary.note,
        "running": lambda summary: summary.liveness is Liveness.RUNNING,
        "idle": lambda summary: summary.liveness is Liveness.IDLE,
        "open_turns": lambda summary: summary.open_turns,
        "branch": lambda summary: summary.branch,
        "parent": lambda summary: trace_summary.parent_object(summary.parent),
        "damaged": lambda summary: summary.damaged,
        "abort_message": lambda summary: summary.abort_message or None,
        "codes": lambda summary: [*summary.codes],
    }
)
_DRAWN_ONLY = ("age", "map")


def summary_object(summary: TraceSummary) -> ListedTraceJson:
    """A trace as JSON for `weaklink list --json`; every key is always present.

    `started_at` is ISO 8601 in UTC. While the trace is `running` or `idle`, the other values are the current ones. If
    it is `damaged`, values that cannot be read are empty, and others may be wrong.
    """
    shown = {key: column.value(summary) for key, column in TRACE_COLUMNS.items() if key not in _DRAWN_ONLY}
    return cast("ListedTraceJson", shown | {key: value(summary) for key, value in _ONLY_IN_JSON.items()})


def find_column(name: str) -> TraceColumn | None:
    """The column with this key or heading, or None."""
    return TRACE_COLUMNS.get(name) or next((column for column in _COLUMNS if column.heading == name), None)


class FittedColumns(Struct, frozen=True):
    """Columns with their widths in cells, in display order."""

    widths: Mapping[str, int]

    def head(self, order: Order | None = None) -> Line:
        """The headings of the columns, with an arrow at the one by which the list is sorted."""
        headings = {
            key: f"{TRACE_COLUMNS[key].heading}{'▾' if order and TRACE_COLUMNS[key].order is order else ''}"
            for key in self.widths
        }
        fitting = {key: heading if len(heading) <= self.widths[key] else "" for key, heading in headings.items()}
        return self._line({key: (Run(heading, Style.DIM),) for key, heading in fitting.items()})

    def row(self, listed: ListedTrace) -> Line:
        """The row of one trace."""
        listed = structs.replace(listed, has_project_column="project" in self.widths)
        return self._line({key: drawn(TRACE_COLUMNS[key], listed, room) for key, room in self.widths.items()})

    def _line(self, cells: Mapping[str, Line]) -> Line:
        line: list[Run] = []
        for key, room in self.widths.items():
            line += right_aligned(cells[key], room) if TRACE_COLUMNS[key].is_number else padded(cells[key], room)
            line.append(Run(" " * _GAP))
        return tuple(line[:-1])


def drawn(column: TraceColumn, listed: ListedTrace, room: int) -> Line:
    """A table cell in at most `room` screen cells."""
    return clipped(column.cell(listed, room), room)


def fitted(
    width: int, rows: Sequence[ListedTrace], keys: Sequence[str] = tuple(TRACE_COLUMNS), *, are_chosen: bool = False
) -> FittedColumns:
    """The columns among `keys` that fit into `width` cells, as wide as these rows need.

    The columns of the first `_ESSENTIAL` priorities come first, or all if the user chose them; then these grow, the
    title and the break the most; then the others are added as long as there is room. A break that would be cut gets
    the room of `_GIVE_WAY`, before its tool's name that of `_GIVE_WAY_TO_NAMES` too. A column that is empty in every
    row is left out, except the title.
    """
    columns = [TRACE_COLUMNS[key] for key in keys]
    needed = {
        column.key: 0 if column.key in _left_out(rows, are_chosen=are_chosen) else _needed(column, rows)
        for column in columns
    }
    shown = sorted(
        (column for column in columns if needed[column.key] or column.key == "title"),
        key=lambda column: column.priority,
    )
    widths: dict[str, int] = {}
    left = width + _GAP

    def grow(column: TraceColumn, up_to: int) -> None:
        nonlocal left
        if column.key not in widths:
            return
        wide = min(max(needed[column.key], len(column.heading)), column.most, up_to)
        more = max(wide - widths[column.key], 0)
        if column.is_whole and more > left:
            return
        widths[column.key] += min(more, left)
        left -= min(more, left)

    for is_essential in (True, False):
        for column in shown:
            least = min(column.least, max(needed[column.key], len(column.heading)))
            fits = least + _GAP <= left or not widths
            if fits and (are_chosen or column.priority < _ESSENTIAL) is is_essential:
                widths[column.key] = least
                left -= least + _GAP
        for bound in _COMFORTS if is_essential else (_MAX_CELL_CHARS,):
            for column in sorted(shown, key=lambda column: column.is_whole):
                grow(column, bound)
    if not are_chosen and "break" in widths:
        broken = [row for row in rows if row.summary.broken]
        left += _make_room_for_breaks(widths, _needed(TRACE_COLUMNS["break"], broken), _GIVE_WAY)
        named = (trace_summary.break_words(row.summary.broken) for row in broken if row.summary.broken)
        left += _make_room_for_breaks(widths, max(map(width_of, named), default=0), _GIVE_WAY_TO_NAMES)
        grow(TRACE_COLUMNS["status"], _MAX_CELL_CHARS)
        grow(TRACE_COLUMNS["title"], _MAX_CELL_CHARS)
    return FittedColumns({column.key: widths[column.key] for column in columns if column.key in widths})


def _left_out(rows: Sequence[ListedTrace], *, are_chosen: bool) -> tuple[str, ...]:
    """The columns that tell nothing apart although they are filled: times of import alone say what the order says."""
    has_times = are_chosen or any(row.summary.started_at_s is not None for row in rows)
    return () if has_times else ("started_at",)


def _make_room_for_breaks(widths: dict[str, int], needed: int, giving_way: Sequence[tuple[str, int]]) -> int:
    """Narrow columns to their width in `giving_way`, or leave them out (0), in this order; return the cells left."""
    left = 0
    for key, least in giving_way:
        lacking = min(needed, TRACE_COLUMNS["break"].most) - widths["break"]
        if lacking > 0 and widths.get(key, 0) > least:
            given = min(lacking, widths[key] - least) if least else widths.pop(key) + _GAP
            widths["break"] += min(given, lacking)
            left += max(given - lacking, 0)
            if least:
                widths[key] -= given
    return left


_ESSENTIAL = 9  # columns with a lower priority number are placed before others grow
_GIVE_WAY = (("model", 12), ("title", 36), ("age", 0), ("started_at", 0))
"""What is narrowed to some width, or left out, so that no break is cut."""
_GIVE_WAY_TO_NAMES = (("title", 24), ("model", 9), ("model", 0), ("status", 2), ("title", 12))
"""What else is, so that no break is cut before its tool's name."""
_COMFORTS = (12, 24, 40)  # all columns grow to each of these widths before any grows further


def _needed(column: TraceColumn, rows: Sequence[ListedTrace]) -> int:
    """The cells of a column's widest row; 0 if it is empty in every row."""
    cells = (column.cell(row, column.most) for row in rows)
    return max((width_of(cell) for cell in cells if cell != NOTHING), default=0)


def trace_table(
    rows: Sequence[ListedTrace], *, width: int, keys: Sequence[str], are_chosen: bool = True, order: Order | None = None
) -> Iterator[Line]:
    """One line per trace, under a head; `keys` and `are_chosen` as in `fitted`."""
    columns = fitted(width, rows, keys, are_chosen=are_chosen)
    yield columns.head(order)
    yield from map(columns.row, rows)


def tab_separated(row: ListedTrace, keys: Sequence[str]) -> str:
    """A trace on one line for other programs: full values without line feeds and tabs, separated by tabs."""
    return "\t".join(_plain_value(TRACE_COLUMNS[key], row) for key in keys)


def _plain_value(column: TraceColumn, row: ListedTrace) -> str:
    value = column.value(row.summary)
    if column.key == "status":
        return trace_summary.listed_status(row.summary).text[2:]
    if isinstance(value, dict | list) or column.key in (*_DRAWN_ONLY, "break"):
        cell = column.cell(row, _MAX_CELL_CHARS)
        return "" if cell == NOTHING else plain(cell)
    if isinstance(value, float):
        value = round(value, 3)
    return "" if value is None else visible_line(str(value))


def missing_row(width: int, why: str) -> Line:
    """The row of a trace that does not exist yet, or no longer."""
    return clipped((Run("   "), Run(why, Style.DIM)), width)
