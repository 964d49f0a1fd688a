"""Whole groups of traces held against one of them: what sets them apart, and whether that is more than noise."""

import streamlit as st

from inspector.chain.metrics import FEWEST, estimate
from inspector.chain.metrics_comparing import COMPARED, MeasureComparison, compared
from inspector.chain.metrics_groups import GroupFigures, GroupKey
from inspector.chain.metrics_measures import BY_NAME, MeasureKind
from storage import Prompt
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.stats_comparison import comparison_sentence, p_text
from ui.views.stats_report import Statistics
from ui.views.stats_wording import key_title, number_text, value_text
from ui.views.wording import counted
from ui.web.charts import HIGH
from ui.web.components import Cell, ListingColumn, ListingRow, Measured, MinimumWidth, listing
from ui.web.figures import grouped, prompts_of
from ui.web.filter_bar import filter_bar, nothing_found
from ui.web.filters import field, narrowed
from ui.web.markup import put_sentence
from ui.web.places import asked, go, keep
from ui.web.sheets import sheet_of
from ui.web.waiting import answer_to, put_room, put_waiting

_KEYS = (GroupKey.MODEL, GroupKey.PROMPT, GroupKey.REASONING, GroupKey.FORMAT, GroupKey.SOURCE)
_TITLES = {GroupKey.PROMPT: "prompt version"}
_MOST = 40
_ALL = "(all others)"
_UNKNOWN = "?"
_LONGEST = 100
_SHOWN = ("broken", "well_formed", "schema_compliance", "error_recovery")


def compare_groups() -> None:
    """Draw the groups that the address asks for, and what sets them apart from the baseline."""
    wanted = filter_bar("compare")
    if wanted is None:
        return
    by = _asked_key()
    question = grouped(wanted, by)
    sheet = sheet_of(question)
    put_waiting(sheet)
    if question not in sheet:
        put_room(HIGH)
        return
    groups = sheet[question][:_MOST]
    if not groups:
        nothing_found(wanted)
        return
    prompts = answer_to(prompts_of([group.keys[0] for group in groups])) if by is GroupKey.PROMPT else {}
    sides = _sides(by, groups, prompts)
    if len(sides) > 1:
        _differences(
            Statistics(None, (by,), sides, comparisons=compared(sides, sides[0]), baseline=sides[0], prompts=prompts)
        )
    else:
        st.info("There is one group alone: nothing to compare.")
    _groups(by, groups, prompts, wanted)


def _asked_key() -> GroupKey:
    named = next((key for key in _KEYS if key.value == asked("by")), _KEYS[0])
    chosen = st.selectbox("Groups by", _KEYS, index=_KEYS.index(named), format_func=_title)
    if chosen is not named:
        keep(by=chosen.value, base=None, other=None)
        st.rerun()
    return named


def _title(key: GroupKey) -> str:
    return _TITLES.get(key) or key.value


def _sides(by: GroupKey, groups: tuple[GroupFigures, ...], prompts: dict[str, Prompt]) -> list[GroupFigures]:
    """The baseline, and the group or groups that are held against it."""

    def titled(group: GroupFigures) -> str:
        return f"{key_title(by, group.keys[0], prompts)[:_LONGEST]} ({counted(group.traces, 'trace')})"

    left, right = st.columns(2)
    base = next((at for at, group in enumerate(groups) if _in_address(group) == asked("base")), 0)
    chosen = left.selectbox(
        "Baseline", range(len(groups)), index=base, format_func=lambda at: titled(groups[at]), key=f"weaklink_base_{by}"
    )
    others = [group for at, group in enumerate(groups) if at != chosen]
    other = next((at for at, group in enumerate(others, 1) if _in_address(group) == asked("other")), 0)
    against = right.selectbox(
        "Against",
        range(len(others) + 1),
        index=other,
        format_func=lambda at: titled(others[at - 1]) if at else _ALL,
        key=f"weaklink_other_{by}_{chosen}",
    )
    keep(
        base=_in_address(groups[chosen]) if chosen else None,
        other=_in_address(others[against - 1]) if against else None,
    )
    return [groups[chosen], *([others[against - 1]] if against else others)]


def _in_address(group: GroupFigures) -> str:
    """A group as the address names it."""
    return group.keys[0] or _UNKNOWN


def _differences(found: Statistics) -> None:
    put_sentence(comparison_sentence(found), is_strong=True)
    judged = [one for one in found.comparisons if one.difference is not None]
    rows = [_difference(str(index), found, one) for index, one in enumerate(sorted(judged, key=_certainty))]
    if rows:
        heads = (
            ListingColumn("group"),
            ListingColumn("measure"),
            ListingColumn("verdict"),
            ListingColumn("baseline", "end", room=MinimumWidth.MEDIUM),
            ListingColumn("group's", "end", room=MinimumWidth.MEDIUM),
        )
        tail = (
            ListingColumn("difference (95 %)", "end", room=MinimumWidth.MEDIUM),
            ListingColumn("p", "end", room=MinimumWidth.MEDIUM),
        )
        listing((*heads, *tail), rows, key="weaklink_differences", label="Differences")


def _certainty(one: MeasureComparison) -> float:
    return 1.0 if one.adjusted_p is None else one.adjusted_p


def _difference(key: str, found: Statistics, one: MeasureComparison) -> ListingRow:
    mine, theirs = (group.tally(one.measure.name) for group in (one.group, one.baseline))
    apart = one.difference
    assert apart is not None  # only such are shown
    said = f"{apart.value:+.2f} ({apart.interval.low:+.2f} to {apart.interval.high:+.2f})".replace("-", "−")
    verdict = Run("more than noise", Style.WARNING) if one.is_more_than_noise else Run("may be noise", Style.DIM)
    cells: tuple[Line, ...] = (
        (Run(key_title(found.by[0], one.group.keys[0], found.prompts), Style.STRONG),),
        (Run(one.measure.title),),
        (verdict,),
        (Run(number_text(one.measure, theirs.hits / theirs.trials)),),
        (Run(number_text(one.measure, mine.hits / mine.trials)),),
        (Run(said),),
        (Run(p_text(one.adjusted_p)),),
    )
    return ListingRow(key, cells)


def _groups(by: GroupKey, groups: tuple[GroupFigures, ...], prompts: dict[str, Prompt], wanted: str) -> None:
    """Every group with what it comes to; Enter shows its traces."""
    st.subheader("The groups", anchor=False)
    measures = [BY_NAME[name] for name in _SHOWN if name in COMPARED]
    rows = []
    for group in groups:
        cells: list[Cell] = [
            (Run(key_title(by, group.keys[0], prompts), Style.STRONG),),
            (Run(f"{group.traces:,}"),),
        ]
        for measure in measures:
            one = estimate(measure, group.tally(measure.name))
            share = one.value if measure.kind is not MeasureKind.MEAN else None
            cells.append(Measured(share, (Run(value_text(one, FEWEST)),)))
        rows.append(ListingRow(group.keys[0], cells))
    heads = [
        ListingColumn(
            measure.title, room=(MinimumWidth.ANY, MinimumWidth.MEDIUM, MinimumWidth.MEDIUM, MinimumWidth.WIDE)[index]
        )
        for index, measure in enumerate(measures)
    ]
    columns = (ListingColumn(_title(by)), ListingColumn("traces", "end"), *heads)
    done = listing(columns, rows, key=f"weaklink_groups_{by}", label="Groups")
    st.caption("Enter or a double click shows a group's traces.")
    if done.opened:
        go("traces", filter=narrowed(wanted, field(by.value, done.opened)))
