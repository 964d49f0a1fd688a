"""Tables whose columns sort their rows: a click on a title sorts by it, a second one the other way round.

The address holds the order, so that Back, a reload and a copied link keep it: `calls`, or `-calls` the other way round.
Numbers begin with the largest, words with A; rows without a value come last either way.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import streamlit as st

from ui.web.components import ListingColumn, ListingEvent, ListingRow, listing
from ui.web.navigation import parameter, set_parameters

T = TypeVar("T")
SortValue: TypeAlias = float | str | None
_OTHER_WAY = "-"


class SortedColumn(NamedTuple, Generic[T]):
    """A column, and the value of a row that it sorts by; its `order` is how the address names it."""

    column: ListingColumn
    value: Callable[[T], SortValue]


def sorted_items(items: Sequence[T], columns: Sequence[SortedColumn[T]], order: str) -> list[T]:
    """The items by the column of this order (`-` before it: the other way round); as they are where there is none."""
    by = next((one.value for one in columns if one.column.order == order.removeprefix(_OTHER_WAY)), None)
    if by is None:
        return list(items)
    known = [(value, item) for item in items if (value := by(item)) is not None]
    numbers = all(not isinstance(value, str) for value, _ in known)
    is_descending = numbers is not order.startswith(_OTHER_WAY)
    ordered = sorted(known, key=lambda one: _key(one[0]), reverse=is_descending)
    return [*(item for _, item in ordered), *(item for item in items if by(item) is None)]


def _key(value: SortValue) -> tuple[str, float]:
    return (value.casefold(), 0.0) if isinstance(value, str) else ("", value or 0.0)


def sorted_listing(
    columns: Sequence[SortedColumn[T]],
    items: Sequence[T],
    row: Callable[[T], ListingRow],
    *,
    name: str,
    default: str,
    key: str,
    label: str,
    selected: str | None = None,
    is_eager: bool = False,
    most_rem: int = 40,
) -> ListingEvent:
    """Draw a row of each item; `name` is the address's parameter of the order, `default` that without one.

    The default is a column's order; the other arguments are those of `listing`.
    """
    orders = {one.column.order for one in columns}
    wanted = parameter(name)
    order = wanted if wanted.removeprefix(_OTHER_WAY) in orders else default
    shown = sorted_items(items, columns, order)
    done = listing(
        [one.column for one in columns],
        [row(one) for one in shown],
        key=key,
        selected=selected,
        label=label,
        is_eager=is_eager,
        most_rem=most_rem,
        order=order.removeprefix(_OTHER_WAY),
        is_ascending=bool(shown) and _is_ascending(shown[0], columns, order),
    )
    if done.order is not None:
        chosen = f"{_OTHER_WAY}{done.order}" if done.order == order else done.order
        set_parameters(**{name: None if chosen == default else chosen})
        st.rerun()
    return done


def _is_ascending(item: T, columns: Sequence[SortedColumn[T]], order: str) -> bool:
    by = next(one.value for one in columns if one.column.order == order.removeprefix(_OTHER_WAY))
    return isinstance(by(item), str) is not order.startswith(_OTHER_WAY)
