"""Compare: two to six runs step by step, or whole groups of traces measure by measure."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from weaklink.inspector.chain.alignment import Sameness, run_label
from weaklink.inspector.chain.metrics import BY_NAME, FEWEST, MeasureKind, estimate
from weaklink.inspector.chain.metrics_groups import COMPARED, GroupFigures, GroupKey, MeasureComparison, compared_groups
from weaklink.storage.statistics import Prompt
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.context import request_pair_lines
from weaklink.ui.views.layers import Layer
from weaklink.ui.views.run_diff import (
    ComparedRun,
    RunDiff,
    compare,
    first_difference_lines,
    not_recorded,
    row_diff_lines,
)
from weaklink.ui.views.run_diff_overview import LEGEND, step_cell
from weaklink.ui.views.stats import Statistics, comparison_sentence, p_text
from weaklink.ui.views.status import status_run, task_run
from weaklink.ui.views.styled_text import Line, Run, Style, counted, quoted, visible_line
from weaklink.ui.views.trace import ending, model_of
from weaklink.ui.views.trace_columns import NOTHING
from weaklink.ui.views.trace_summary import trace_title
from weaklink.ui.views.triage import key_title, page_difference_text, page_number_text, page_value_text
from weaklink.ui.web.charts import HIGH
from weaklink.ui.web.components import BarCell, LinkCell, ListingCell, ListingColumn, ListingRow, MinimumWidth, listing
from weaklink.ui.web.filter_bar import field, filter_bar, narrowed, nothing_found
from weaklink.ui.web.markup import page_head, put_laid_out, put_prose, put_summary
from weaklink.ui.web.navigation import (
    address_choice,
    address_toggle,
    go_to_page,
    number_parameter,
    parameter,
    set_parameters,
)
from weaklink.ui.web.queries import grouped, page_results, prompts_of, put_placeholder, put_progress, wait_for
from weaklink.ui.web.stores import ShownTrace, shown_trace, store
from weaklink.ui.web.trace_listing import MAX_RUNS, filled_columns, title_of, trace_list, trace_rows

_WHAT = "what"
_RUNS, _GROUPS = "runs", "groups"
_TITLES = {_RUNS: "Runs", _GROUPS: "Groups of traces"}
_KEYS = (GroupKey.MODEL, GroupKey.PROMPT, GroupKey.REASONING, GroupKey.FORMAT, GroupKey.SOURCE)
_KEY_TITLES = {GroupKey.PROMPT: "prompt version"}
_MAX_GROUPS = 40
_ALL = "(all others)"
_UNKNOWN = "?"
_MAX_NAME_CHARS = 100
_SHOWN = ("broken", "well_formed", "schema_compliance", "error_recovery")
_KEY = "weaklink_runs"
_MORE = "--full shows all"
_WIDTH = 120  # characters on a line of a laptop's window
_CELL_CHARS = 80
_MAX_ROWS, _BEFORE = 200, 20
_RUN_COLUMNS = (
    *(ListingColumn(title) for title in ("run", "trace", "ended")),
    *(ListingColumn(title, room=MinimumWidth.MEDIUM) for title in ("task", "model")),
    ListingColumn("title", is_elastic=True, is_link=True),
)
_MAX_CANDIDATES = 50


def show() -> None:
    """Draw the comparison that the address selects."""
    head = page_head("Compare")
    selected = parameter(_WHAT) if parameter(_WHAT) in _TITLES else _RUNS
    chosen = st.segmented_control(
        "What is compared",
        list(_TITLES),
        default=selected,
        format_func=lambda what: _TITLES[what],
        key=f"weaklink_compare_{selected}",
        label_visibility="collapsed",
    )
    if chosen is not None and chosen != selected:
        set_parameters(what=None if chosen == _RUNS else chosen)
        st.rerun()
    if selected == _GROUPS:
        _groups_page(head)
    else:
        compare_runs()


def _groups_page(head: DeltaGenerator) -> None:
    """Draw the groups that the address selects, and their differences from the baseline."""
    filter_text = filter_bar("compare")
    if filter_text is None:
        return
    first, *others = st.columns(3)
    by = _selected_key(first)
    query = grouped(filter_text, by)
    results = page_results(query)
    with head:
        put_progress(results)
    if query not in results:
        put_placeholder(HIGH)
        return
    groups = results[query][:_MAX_GROUPS]
    if not groups:
        nothing_found(filter_text)
        return
    with head:
        prompts = wait_for(prompts_of([group.keys[0] for group in groups])) if by is GroupKey.PROMPT else {}
    sides = _sides(by, groups, prompts, others)
    if len(sides) > 1:
        _differences(
            Statistics(
                None, (by,), sides, comparisons=compared_groups(sides, sides[0]), baseline=sides[0], prompts=prompts
            )
        )
    else:
        st.info("There is only one group: nothing to compare.")
    _groups(by, groups, prompts, filter_text)


def _selected_key(container: DeltaGenerator) -> GroupKey:
    named = next((key for key in _KEYS if key.value == parameter("by")), _KEYS[0])
    chosen = container.selectbox("Group by", _KEYS, index=_KEYS.index(named), format_func=_title)
    if chosen is not named:
        set_parameters(by=chosen.value, base=None, other=None)
        st.rerun()
    return named


def _title(key: GroupKey) -> str:
    return _KEY_TITLES.get(key) or key.value


def _sides(
    by: GroupKey, groups: tuple[GroupFigures, ...], prompts: dict[str, Prompt], containers: Sequence[DeltaGenerator]
) -> list[GroupFigures]:
    """The baseline, and the group or groups that are compared with it."""

    def titled(group: GroupFigures) -> str:
        return f"{key_title(by, group.keys[0], prompts)[:_MAX_NAME_CHARS]} ({counted(group.traces, 'trace')})"

    left, right = containers
    base = next((index for index, group in enumerate(groups) if _in_address(group) == parameter("base")), 0)
    chosen = left.selectbox(
        "Baseline",
        range(len(groups)),
        index=base,
        format_func=lambda index: titled(groups[index]),
        key=f"weaklink_base_{by}_{base}",
    )
    others = [group for index, group in enumerate(groups) if index != chosen]
    other = next((index for index, group in enumerate(others, 1) if _in_address(group) == parameter("other")), 0)
    against = right.selectbox(
        "Against",
        range(len(others) + 1),
        index=other,
        format_func=lambda index: titled(others[index - 1]) if index else _ALL,
        key=f"weaklink_other_{by}_{chosen}_{other}",
    )
    set_parameters(
        base=_in_address(groups[chosen]) if chosen else None,
        other=_in_address(others[against - 1]) if against else None,
    )
    if (chosen, against) != (base, other):
        st.rerun()
    return [groups[chosen], *([others[against - 1]] if against else others)]


def _in_address(group: GroupFigures) -> str:
    """The name of a group in the address."""
    return group.keys[0] or _UNKNOWN


def _differences(statistics: Statistics) -> None:
    put_summary(comparison_sentence(statistics, page_number_text))
    judged = [comparison for comparison in statistics.comparisons if comparison.difference is not None]
    rows = [
        _difference(str(index), statistics, comparison)
        for index, comparison in enumerate(
            sorted(judged, key=lambda comparison: 1.0 if comparison.adjusted_p is None else comparison.adjusted_p)
        )
    ]
    if rows:
        heads = (
            ListingColumn("group"),
            ListingColumn("measure"),
            ListingColumn("verdict"),
            ListingColumn("baseline value", "end", room=MinimumWidth.MEDIUM),
            ListingColumn("group value", "end", room=MinimumWidth.MEDIUM),
        )
        tail = (
            ListingColumn("difference (95 %)", "end", room=MinimumWidth.MEDIUM),
            ListingColumn("p", "end", room=MinimumWidth.MEDIUM),
        )
        listing((*heads, *tail), rows, key="weaklink_differences", label="Differences", is_stacked=True)


def _difference(key: str, statistics: Statistics, comparison: MeasureComparison) -> ListingRow:
    group_tally, base_tally = (
        group.tally(comparison.measure.name) for group in (comparison.group, comparison.baseline)
    )
    difference = comparison.difference
    assert difference is not None  # `_differences` selects only these
    value, low, high = (
        page_difference_text(comparison.measure, bound)
        for bound in (difference.value, difference.interval.low, difference.interval.high)
    )
    unit = "" if comparison.measure.kind is MeasureKind.MEAN else " points"
    verdict = Run("more than noise", Style.WARNING) if comparison.is_more_than_noise else Run("may be noise", Style.DIM)
    cells: tuple[Line, ...] = (
        (Run(key_title(statistics.by[0], comparison.group.keys[0], statistics.prompts), Style.STRONG),),
        (Run(comparison.measure.title),),
        (verdict,),
        (Run(page_number_text(comparison.measure, base_tally.hits / base_tally.trials)),),
        (Run(page_number_text(comparison.measure, group_tally.hits / group_tally.trials)),),
        (Run(f"{value}{unit} ({low} to {high})"),),
        (Run(p_text(comparison.adjusted_p)),),
    )
    return ListingRow(key, cells)


def _groups(by: GroupKey, groups: tuple[GroupFigures, ...], prompts: dict[str, Prompt], filter_text: str) -> None:
    """Draw every group with its figures; Enter opens its traces."""
    st.subheader("The groups", anchor=False)
    measures = [BY_NAME[name] for name in _SHOWN if name in COMPARED]
    rows = []
    for group in groups:
        cells: list[ListingCell] = [
            (Run(key_title(by, group.keys[0], prompts), Style.STRONG),),
            LinkCell(group.keys[0], (Run(f"{group.traces:,}"),)),
        ]
        for measure in measures:
            figure = estimate(measure, group.tally(measure.name))
            share = figure.value if measure.kind is not MeasureKind.MEAN else None
            cells.append(BarCell(share, (Run(page_value_text(figure, FEWEST)),)))
        rows.append(ListingRow(group.keys[0], cells))
    heads = [
        ListingColumn(
            measure.title, room=(MinimumWidth.ANY, MinimumWidth.MEDIUM, MinimumWidth.MEDIUM, MinimumWidth.WIDE)[index]
        )
        for index, measure in enumerate(measures)
    ]
    columns = (ListingColumn(_title(by)), ListingColumn("traces", "end"), *heads)
    done = listing(columns, rows, key=f"weaklink_groups_{by}", label="Groups", is_stacked=True)
    st.caption("Click a group's number of traces, or press Enter, to list them.")
    if done.opened is not None:
        go_to_page("traces", filter=narrowed(filter_text, field(by.value, done.opened)))


def compare_runs() -> None:
    """Draw the runs in the address, and traces that can be compared with the first."""
    if st.session_state.get(_KEY) != parameter("runs"):
        st.session_state[_KEY] = parameter("runs")
    ids_place, layer_place = st.columns((3, 1))
    ids_place.text_input("Trace ids; the other traces are compared with the first", key=_KEY, on_change=_changed)
    words = parameter("runs").replace(",", " ").split()
    runs = list({run.summary.id: run for run in map(shown_trace, words[:MAX_RUNS])}.values())
    if len(words) > MAX_RUNS:
        st.caption(f"Only the first {MAX_RUNS} of {len(words):,} traces are compared.")
    if len(runs) > 1:
        layers = ("", *(layer.value for layer in Layer))
        with layer_place:
            hint = "The layer whose version is compared"
            named = address_choice("Calls and results", layers, "layer", "", titles=_layer_title, hint=hint)
        layer = Layer(named) if named else None
        compared = (ComparedRun(str(run.summary.id), run.trace, run.inspection) for run in runs)
        _diff(compare([run.at(layer) for run in compared]), [title_of(run.summary) for run in runs])
    elif not runs:
        _begin()
    if runs and len(runs) < MAX_RUNS:
        _candidates(runs)


def _layer_title(layer: str) -> str:
    return layer or "as in the chain"


def _changed() -> None:
    set_parameters(runs=st.session_state[_KEY], row=None)


def _diff(diff: RunDiff, titles: Sequence[str]) -> None:
    divergence = diff.alignment.divergence
    put_prose([quoted(diff.verdict, Style.STRONG)])
    if diff.input_differences:
        differences = ((Run("▲ ", Style.WARNING), *quoted(each.message)) for each in diff.input_differences)
        put_prose([(Run("The requests of the runs differ:", Style.WARNING),), *differences])
    columns, rows = filled_columns(_RUN_COLUMNS, [_run_row(diff, index, title) for index, title in enumerate(titles)])
    done = listing(columns, rows, key="weaklink_compared", label="Runs", is_eager=True, is_stacked=True)
    where = " at the step where it diverges" if divergence is not None else ""
    st.caption(f"Click a run to open it{where}.")
    if done.opened is not None:
        go_to_page("trace", **_place_in(diff, int(done.opened)))
    row = _steps(diff)
    lines = first_difference_lines if row is None else partial(_row_lines, row=row)
    put_laid_out(lambda width: _with_command(lines(diff, width)), _WIDTH)
    if st.button("Move the first run to the end", key="weaklink_rotate", icon=":material/sync:"):
        set_parameters(runs=" ".join([*(run.called for run in diff.runs[1:]), diff.runs[0].called]), row=None)
        st.rerun()
    if address_toggle(
        "Requests side by side",
        "requests",
        "shown",
        key="weaklink_requests",
        hint="The requests that both models received",
    ):
        steps = divergence.steps[:2] if divergence is not None else (None, None)
        sides = [(run.trace, step.location.turn if step else 0) for run, step in zip(diff.runs, steps, strict=False)]
        put_laid_out(partial(request_pair_lines, sides[0], sides[1]), _WIDTH)


def _run_row(diff: RunDiff, index: int, title: str) -> ListingRow:
    run = diff.runs[index]
    chain = run.inspection.chain
    ended: Line = (
        status_run(chain.status, chain.broken),
        Run(f" {ending(chain)}" if chain.steps else " no tool was called"),
        Run(not_recorded(run), Style.WARNING),
    )
    cells: tuple[Line, ...] = (
        (Run(run_label(index), Style.STRONG),),
        (Run(visible_line(run.called)),),
        ended,
        (task,) if (task := task_run(run.trace.outcome)) else NOTHING,
        (Run(visible_line(model[:_MAX_NAME_CHARS])),) if (model := model_of(run.trace)) else NOTHING,
        (Run(title),),
    )
    return ListingRow(str(index), cells, f"trace?{urlencode(_place_in(diff, index))}")


def _place_in(diff: RunDiff, index: int) -> dict[str, object]:
    """The address of a run, at its step where the runs diverge."""
    divergence, called = diff.alignment.divergence, {"trace": diff.runs[index].called}
    step = divergence.steps[index] if divergence is not None else None
    if step is None:
        return {**called}
    where = step.location
    return {**called, "turn": where.turn, "part": where.part, "start": where.range.start, "end": where.range.end}


def _steps(diff: RunDiff) -> int | None:
    """Draw the aligned steps, those around the first divergence of many; the selected row, None for that divergence."""
    aligned, divergence = diff.alignment.rows, diff.alignment.divergence
    if not aligned:
        return None
    first = divergence.row if divergence is not None else 0
    start = max(min(first - _BEFORE, len(aligned) - _MAX_ROWS), 0)
    shown = range(start, min(start + _MAX_ROWS, len(aligned)))
    named = number_parameter("row")
    row = named - 1 if named is not None and 0 < named <= len(aligned) else first
    runs = range(len(diff.runs))
    columns = [ListingColumn("row", "end"), *(ListingColumn(run_label(run), is_elastic=True) for run in runs)]
    rows = [
        ListingRow(
            str(index + 1), [(Run(f"{index + 1:,}"),), *(step_cell(aligned[index], run, _CELL_CHARS) for run in runs)]
        )
        for index in shown
    ]
    done = listing(
        columns, rows, key="weaklink_steps", label="Steps", selected=str(row + 1), is_eager=True, is_stacked=True
    )
    left_out = f" Rows {shown.start + 1:,} to {shown.stop:,} of {len(aligned):,} are shown." * (
        len(shown) < len(aligned)
    )
    st.caption(f"{LEGEND}. Click a row to see what differs in it.{left_out}")
    if done.opened is not None and done.opened != str(row + 1):
        set_parameters(row=done.opened)
        st.rerun()
    return None if row == first else row


def _row_lines(diff: RunDiff, width: int, *, row: int) -> Iterator[Line]:
    """What differs in a row between the first run that has its step and the first that differs from it."""
    sameness, steps = diff.alignment.rows[row].sameness, diff.alignment.rows[row].steps
    stem = next(index for index, step in enumerate(steps) if step is not None)
    others = [index for index in range(len(sameness)) if index != stem]
    other = next((index for index in others if sameness[index] is not Sameness.SAME), others[0])
    return row_diff_lines(diff, row, (min(stem, other), max(stem, other)), width, more=_MORE)


def _with_command(lines: Iterable[Line]) -> Iterator[Line]:
    """Lines of `weaklink diff`; a hint at the option `--full` names the command too."""
    for line in lines:
        last = line[-1] if line else None
        if last is not None and last.style is Style.DIM and last.text.endswith(_MORE):
            yield (*line[:-1], Run(f"{last.text.removesuffix(_MORE)}weaklink diff {_MORE}", last.style))
        else:
            yield line


def _begin() -> None:
    summaries = store().traces(limit=_MAX_CANDIDATES)
    if not summaries:
        nothing_found("")
        return
    st.info("Enter two to six trace ids, choose traces in the list of traces, or start with one of these.")
    _choices(summaries, [])


def _candidates(runs: list[ShownTrace]) -> None:
    """Draw runs like the first: with the same name, else from the same source, which the caption calls a guess."""
    first = runs[0].summary
    title = trace_title(first)
    known = {run.summary.id for run in runs}
    named = store().traces(field("name", title), limit=_MAX_CANDIDATES) if title else []
    by_name = [summary for summary in named if summary.id not in known]
    of_source = field("source", first.source) if first.source else ""
    summaries = by_name or [
        trace for trace in store().traces(of_source, limit=_MAX_CANDIDATES) if trace.id not in known
    ]
    if not summaries:
        return
    guessed = "from the same source" if of_source else "in this database"
    why = "with the same name" if by_name else f"{guessed}; their task may be a different one"
    st.caption(f"Other traces {why}. Click one to add it.")
    _choices(summaries, [str(run.summary.id) for run in runs])


def _choices(traces: list[TraceSummary], chosen: list[str]) -> None:
    rows = trace_rows(traces)
    opened = trace_list(rows, "", key=f"weaklink_alike_{len(chosen)}", label="Traces to add", most_rem=24)
    if opened is not None:
        set_parameters(runs=" ".join([*chosen, opened]))
        st.rerun()
