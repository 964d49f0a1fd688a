"""What the running dashboard was started with; the pages, which Streamlit runs anew for every click, ask here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Serving:
    """The database (as `open_store` takes it), and whether only this machine can reach the page.

    A page waits `patience_s` for figures before it is drawn without them.
    """

    where: str | None = None
    is_local: bool = True
    patience_s: float = 0.15


_NOW: list[Serving] = [Serving()]


def serve_from(serving: Serving) -> None:
    """Say what the pages of this process shall show; once, before they run."""
    _NOW[0] = serving


def current() -> Serving:
    """What the pages of this process show."""
    return _NOW[0]
