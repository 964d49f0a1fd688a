"""What the pages share: the open store, a cache of traces, the options of the dashboard, and the user's rights."""

from pathlib import Path

import streamlit as st
from msgspec import Struct

from weaklink.inspector.chain.data_flow import DataFlow
from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import data_flow_of
from weaklink.inspector.model import Trace
from weaklink.storage.access_tokens import TokenRole
from weaklink.storage.engine import file_identity, location_of
from weaklink.storage.schema import DatabaseGoneError, NoDatabaseYetError
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.styled_text import visible_line
from weaklink.ui.views.turn import continued
from weaklink.ui.web.guard import Access
from weaklink.ui.web.prices import ModelPrice

_CACHED_TRACES = 8  # traces; each may be large
_FRESH_S = 600
_MAX_NAME_CHARS = 80
ICON = Path(__file__).parent / "icon.png"
"""The icon in the browser's tab."""

_WERE_OPEN: set[str | None] = set()  # databases that this process has opened
_MAX_VISITOR_CHARS = 80
READS_ONLY = "Your token is read-only."
"""Why a control is disabled."""


class ShownTrace(Struct, frozen=True):
    """A trace with its summary and inspection; `version` changes when any of them does."""

    summary: TraceSummary
    dissection: Dissection
    version: str

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.dissection.trace

    @property
    def inspection(self) -> Inspection:
        """The inspection of the trace."""
        return self.dissection.inspection


def shown_trace(id_: int | str) -> ShownTrace:
    """The trace with this id, as it is now. Raises StoreError if there is none."""
    summary = store().summary(id_)
    version = f"{summary.id}.{summary.turns}.{summary.characters}.{summary.status}.{summary.liveness}"
    dissection = _read(current_options().where, summary.id, version)
    open_turns = store().open_turns(summary.id) if summary.open_turns else {}
    if open_turns:
        version += f".{sum(len(part.text) for turn in open_turns.values() for part in turn.parts)}"
        dissection = Dissection(*continued(dissection.trace, dissection.inspection, open_turns))
    return ShownTrace(summary, dissection, f"{version}.{dissection.inspection.version}")


def data_flow(shown: ShownTrace) -> DataFlow:
    """The origins of the values in its calls; cached, since a long chain takes a while."""
    return _flow(current_options().where, shown.version, shown.dissection)


@st.cache_resource(show_spinner="Reading the trace …", max_entries=_CACHED_TRACES, ttl=_FRESH_S)
def _read(where: str | None, id_: int, version: str) -> Dissection:
    return Dissection(*store().inspected(id_))


@st.cache_resource(show_spinner="Finding the origins of values …", max_entries=_CACHED_TRACES, ttl=_FRESH_S)
def _flow(where: str | None, version: str, _dissection: Dissection) -> DataFlow:
    return data_flow_of(_dissection.trace, _dissection.inspection)


def store() -> Store:
    """The open read-only store of this process. Raises StoreError if it cannot be opened; each call tries again."""
    where = current_options().where
    try:
        opened = _opened(where)
        if opened.is_gone():
            _opened.clear()
            opened.close()
            opened = _opened(where)
    except NoDatabaseYetError as error:
        if where in _WERE_OPEN and file_identity(location_of(where)) is None:
            raise DatabaseGoneError(location_of(where)) from error
        raise
    _WERE_OPEN.add(where)
    return opened


def database_name() -> str:
    """The name for titles: the file name of the database, its URL without the password, or the folder of results."""
    if current_options().results:
        return current_options().results.rstrip("/").rpartition("/")[2]
    location = location_of(current_options().where)
    return location.path.name if location.path is not None else str(location)


def put_page_name(*names: str) -> None:
    """Set the title of the browser's tab: these names, the database and the product."""
    shown = (visible_line(name[:_MAX_NAME_CHARS]) for name in (*names, database_name()))
    st.set_page_config(page_title=f"{' · '.join(shown)} · weaklink", page_icon=str(ICON), layout="wide")


def writable() -> Store:
    """A new writable store, for marks and notes; the caller closes it. Raises StoreError if it cannot be opened."""
    store()  # raises if its file was removed
    return open_store(current_options().where, create=False)


@st.cache_resource(show_spinner=False)
def _opened(where: str | None) -> Store:
    return open_store(where, read_only=True)


class DashboardOptions(Struct, frozen=True):
    """The database (as `open_store` takes it), and whether only this machine can reach the page.

    A page waits `patience_s` for figures before it is drawn without them. `access` has the options of the guard; they
    name the header and the cookie that identify a visitor. If `results` is a folder of results in Parquet, the pages
    show these instead of a database. `prices` are those of models (`find_prices`).
    """

    where: str | None = None
    is_local: bool = True
    patience_s: float = 0.15
    access: Access = Access("127.0.0.1", 8789)
    results: str = ""
    prices: dict[str, ModelPrice] = {}


_OPTIONS: list[DashboardOptions] = [DashboardOptions()]


def set_options(options: DashboardOptions) -> None:
    """Set the options of this process; call once, before its pages run."""
    _OPTIONS[0] = options


def current_options() -> DashboardOptions:
    """The options of this process."""
    return _OPTIONS[0]


class Visitor(Struct, frozen=True):
    """The user of a page: the name ("" if it is not known), and whether changes are allowed."""

    name: str = ""
    may_write: bool = True


def visitor() -> Visitor:
    """The user of this run. Raises WeaklinkError if the token was revoked after the page was opened."""
    access = current_options().access
    header = st.context.headers.get(access.user_header) if access.user_header else ""
    named = visible_line((header or "")[:_MAX_VISITOR_CHARS])
    word = st.context.cookies.get(access.cookie, "")
    if not access.stored_tokens or access.is_token(word):
        return Visitor(named)
    holder = store().tokens.holder(word)
    if holder is None:
        raise WeaklinkError("Your token was revoked or has expired. Request a new one, and open its address.")
    return Visitor(named or holder.name, holder.role is TokenRole.WRITE)


def require_write() -> Visitor:
    """The user of this run. Raises StoreError if changes are not allowed."""
    user = visitor()
    if not user.may_write:
        raise StoreError(READS_ONLY)
    return user
