"""Puts views on the terminal: the one place where meanings become colours, and where it is decided whether they do."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TextIO

from ui.views.palette import Style
from ui.views.run import Line, plain

# Select Graphic Rendition, ECMA-48: of the sixteen colours, so that the terminal's own theme decides how they look.
_SGR: Mapping[Style, str] = MappingProxyType(
    {
        Style.STRONG: "1",
        Style.DIM: "2",
        Style.KEY: "36",
        Style.GUTTER: "2;34",
        Style.CONTROL: "7",
        Style.ERROR: "1;31",
        Style.WARNING: "1;33",
        Style.INFO: "1;36",
        Style.HINT: "32",
        Style.OK: "32",
        Style.ADDED: "32",
        Style.REMOVED: "31",
        Style.REASONING: "35",
        Style.TOOL_CALL: "36",
        Style.TOOL_RESULT: "34",
        Style.TOOL_DEFINITIONS: "34",
        Style.MARKUP: "2;36",
    }
)


def has_colours(stream: TextIO, choice: str = "auto") -> bool:
    """Whether to colour what goes to `stream`: `always`, `never`, or `auto`, which asks the stream and the user.

    `auto` heeds NO_COLOR (no-color.org), TERM=dumb and FORCE_COLOR.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def screen_width() -> int:
    """The terminal's width in cells; COLUMNS overrides it, and 80 stands where there is none."""
    return max(shutil.get_terminal_size((80, 24)).columns, 40)


def put(lines: Iterable[Line], *, color: str = "auto", stream: TextIO | None = None) -> None:
    """Write lines to stdout, or to `stream`; blanks at their ends are left out."""
    out = stream or sys.stdout
    render = _coloured if has_colours(out, color) else plain
    for line in lines:
        out.write(render(line).rstrip(" ") + "\n")


def _coloured(line: Line) -> str:
    return "".join(f"\x1b[{_SGR[run.style]}m{run.text}\x1b[0m" if run.style in _SGR else run.text for run in line)
