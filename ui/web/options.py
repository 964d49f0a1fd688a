"""The options of the running dashboard; Streamlit runs the pages again for every click, and they read them here."""

from msgspec import Struct

from ui.web.guard import Access


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
