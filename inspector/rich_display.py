"""Values show themselves in notebooks: Jupyter calls `_repr_html_` of the last value of a cell.

Pages are drawn in `ui`, above this layer, so the functions that draw them come by the entry points `html` and `text` of
`weaklink.notebook`, as the store comes to the logger. Without them a value is shown as Python shows it.
"""

NOTEBOOK_ENTRY_POINT_GROUP = "weaklink.notebook"


def html_of(value: object) -> str | None:
    """A value as HTML for a notebook, None if nothing installed draws it."""
    return _drawn("html", value)


def text_of(value: object) -> str | None:
    """A value as lines of text, None if nothing installed draws it."""
    return _drawn("text", value)


def _drawn(name: str, value: object) -> str | None:
    from importlib.metadata import entry_points  # noqa: PLC0415  # 20 ms, and every value imports this module

    for point in entry_points(group=NOTEBOOK_ENTRY_POINT_GROUP):
        if point.name == name:
            drawn: str = point.load()(value)
            return drawn
    return None
