"""The dissector as a component of Streamlit: inline, without a build step, its files beside this module."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from inspector.model import Json
from ui.web.theme import colour_rules

_FILES = Path(__file__).parent / "dissector"
_SCRIPTS = ("offsets.js", "visible.js", "layout.js", "list.js", "drawing.js", "facts.js", "main.js")


def dissector(data: dict[str, Json], *, key: str) -> dict[str, Any] | None:
    """Draw it; the place that was clicked in this run as `{"turn", "part", "start", "end"}`, None where none was."""
    drawn = _component()(key=key, data=data, on_picked_change=_nothing)
    picked = drawn.picked
    return dict(picked) if picked else None


@cache
def _component() -> Callable[..., Any]:
    script = "\n".join((_FILES / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return st.components.v2.component(
        "weaklink_dissector",
        html=(_FILES / "frame.html").read_text(encoding="utf-8"),
        css=colour_rules() + (_FILES / "style.css").read_text(encoding="utf-8"),
        js=script,
    )


def _nothing() -> None:
    """Streamlit offers a trigger's value only where somebody listens."""
