"""Streamlit's theme options: one set for light and one for dark."""

from typing import Any


def theme_options() -> dict[str, Any]:
    """Options of `streamlit.App.run`, by their dotted names."""
    return {
        "theme.light.primaryColor": "#0b5fa5",
        "theme.dark.primaryColor": "#7cc4ff",
        "theme.baseRadius": "small",
    }
