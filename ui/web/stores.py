"""The store behind the pages, opened once for all of them, and the trace that a page shows, read once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from msgspec import Struct

from inspector.chain.data_flow import DataFlow
from inspector.errors import StoreError, WeaklinkError
from inspector.inspected import Inspection
from inspector.inspection import data_flow_of
from inspector.model import Trace
from storage import Store, TraceSummary, open_store, place_of
from storage.access_tokens import TokenRole
from ui.views.dissect.dissection import Dissection
from ui.views.styled_text import visible_line
from ui.views.turn import continued
from ui.web.guard import Access

_KEPT = 8  # traces; each may be large
_FRESH_S = 600
_LONGEST_NAME = 80
ICON = Path(__file__).parent / "icon.png"
"""The picture in the browser's tab."""

_LONGEST_VISITOR = 80
READS_ONLY = "Your token can only read."
"""Why a control is disabled."""


class ShownTrace(Struct, frozen=True):
    """A trace with what lists say of it; `version` changes when anything about it does."""

    summary: TraceSummary
    dissection: Dissection
    version: str

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.dissection.trace

    @property
    def inspection(self) -> Inspection:
        """What was found in it."""
        return self.dissection.inspection


def shown_trace(id_: int | str) -> ShownTrace:
    """The trace of that id, as it is now. StoreError where there is none."""
    summary = store().summary(id_)
    version = f"{summary.id}.{summary.turns}.{summary.characters}.{summary.status}.{summary.liveness}"
    dissection = _read(current_options().where, summary.id, version)
    begun = store().open_turns(summary.id) if summary.open_turns else {}
    if begun:
        version += f".{sum(len(part.text) for turn in begun.values() for part in turn.parts)}"
        dissection = Dissection(*continued(dissection.trace, dissection.inspection, begun))
    return ShownTrace(summary, dissection, f"{version}.{dissection.inspection.version}")


def data_flow(shown: ShownTrace) -> DataFlow:
    """Where the values of its calls came from: found once, for a long chain takes a while."""
    return _flow(current_options().where, shown.version, shown.dissection)


@st.cache_resource(show_spinner="Reading the trace …", max_entries=_KEPT, ttl=_FRESH_S)
def _read(where: str | None, id_: int, version: str) -> Dissection:
    return Dissection(*store().inspected(id_))


@st.cache_resource(show_spinner="Looking where values came from …", max_entries=_KEPT, ttl=_FRESH_S)
def _flow(where: str | None, version: str, _dissection: Dissection) -> DataFlow:
    return data_flow_of(_dissection.trace, _dissection.inspection)


WHOLE_TEXTS: dict[str | type[Any], Callable[[Any], Any]] = {str: lambda text: text.encode("utf-8", "surrogatepass")}
"""`hash_funcs` of a cache that texts of traces are asked of: they may hold lone surrogates."""


def store() -> Store:
    """The open store of this process, which only reads. StoreError where it cannot be opened, anew at each call."""
    opened = _opened(current_options().where)
    if opened.is_gone():
        _opened.clear()
        opened.close()
        opened = _opened(current_options().where)
    return opened


def database_name() -> str:
    """What the database is called in titles: the name of its file, or its URL without the password."""
    if current_options().results:
        return current_options().results.rstrip("/").rpartition("/")[2]
    place = place_of(current_options().where)
    return place.path.name if place.path is not None else str(place)


def put_page_name(*names: str) -> None:
    """Give the browser's tab a title: these names, the database and the product."""
    shown = (visible_line(name[:_LONGEST_NAME]) for name in (*names, database_name()))
    st.set_page_config(page_title=f"{' · '.join(shown)} · weaklink", page_icon=str(ICON), layout="wide")


def writable() -> Store:
    """A store of a moment, for marks and notes; whoever asks closes it. StoreError where it cannot be opened."""
    return open_store(current_options().where, create=False)


@st.cache_resource(show_spinner=False)
def _opened(where: str | None) -> Store:
    return open_store(where, read_only=True)


class DashboardOptions(Struct, frozen=True):
    """The database (as `open_store` takes it), and whether only this machine can reach the page.

    A page waits `patience_s` for figures before it is drawn without them. `access` is what the guard checks requests
    by; a page looks there for the name of its visitor. Where `results` names a folder of results in Parquet, the pages
    show these, and no database.
    """

    where: str | None = None
    is_local: bool = True
    patience_s: float = 0.15
    access: Access = Access("127.0.0.1", 8789)
    results: str = ""


_OPTIONS: list[DashboardOptions] = [DashboardOptions()]


def set_options(serving: DashboardOptions) -> None:
    """Say what the pages of this process shall show; once, before they run."""
    _OPTIONS[0] = serving


def current_options() -> DashboardOptions:
    """What the pages of this process show."""
    return _OPTIONS[0]


class Visitor(Struct, frozen=True):
    """Who looks at a page: the name ("" where it is not known), and whether changes are allowed."""

    name: str = ""
    may_write: bool = True


def visitor() -> Visitor:
    """Who the page of this run is drawn for. WeaklinkError where the token was revoked since the page was opened."""
    access = current_options().access
    header = st.context.headers.get(access.user_header) if access.user_header else ""
    named = visible_line((header or "")[:_LONGEST_VISITOR])
    word = st.context.cookies.get(access.cookie, "")
    if not access.stored_tokens or access.is_token(word):
        return Visitor(named)
    held = store().tokens.holder(word)
    if held is None:
        raise WeaklinkError("Your token was revoked or has ended. Ask for another one, and open its address.")
    return Visitor(named or held.name, held.role is TokenRole.WRITE)


def require_write() -> Visitor:
    """Who is about to change something. StoreError where that is not allowed."""
    known = visitor()
    if not known.may_write:
        raise StoreError(READS_ONLY)
    return known
