"""The traces before and after one in the list that it was opened from."""

from storage import TraceSummary
from ui.web.navigation import parameter
from ui.web.stores import store


def adjacent_traces(summary: TraceSummary) -> tuple[int | None, int | None]:
    """The ids of the newer and the older trace that match the filter of the address; None at an end."""
    wanted, paging = parameter("filter"), store().paging()
    newer = paging.before(wanted, at=summary.cursor)
    older = paging.page(wanted, limit=1, after=summary.cursor)
    return newer.summary.id if newer else None, older[0].summary.id if older else None
