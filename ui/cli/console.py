"""Console output that all commands share: styled lines in colours, notices and progress bars."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import MappingProxyType
from typing import TextIO

from weaklink.inspector.errors import WeaklinkError
from weaklink.ui.views.styled_text import Line, Style, plain, visible_line

# Select Graphic Rendition (ECMA-48): only the sixteen colours, so that the terminal's theme decides how they look.
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

_UNLIMITED = 1 << 20  # cells


def require_extra(extra: str, *, module: str, use: str) -> None:
    """Raise WeaklinkError, with the command that installs it, if `module` of an extra is missing; `use` needs it."""
    if find_spec(module) is None:
        raise WeaklinkError(f"{use} needs `{module}`, which is not installed: pip install 'weaklink[{extra}]'")


def has_colours(stream: TextIO, choice: str = "auto") -> bool:
    """Whether to colour output to `stream`; `choice` is `always`, `never` or `auto`.

    `auto` colours terminals, and respects NO_COLOR (no-color.org), TERM=dumb and FORCE_COLOR.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def screen_width() -> int:
    """The terminal's width in cells, at least 40. COLUMNS overrides it; without a terminal it is 80."""
    return max(shutil.get_terminal_size((80, 24)).columns, 40)


def line_width() -> int:
    """The width that lines are wrapped to: `screen_width` on a terminal or with COLUMNS; in a pipe, no limit."""
    is_limited = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return screen_width() if is_limited else _UNLIMITED


def print_lines(lines: Iterable[Line], *, color: str = "auto", stream: TextIO | None = None) -> None:
    """Write lines to stdout, or to `stream`, without trailing spaces."""
    out = stream or sys.stdout
    render = _coloured if has_colours(out, color) else plain
    for line in lines:
        out.write(render(line).rstrip(" ") + "\n")


def _coloured(line: Line) -> str:
    return "".join(f"\x1b[{_SGR[run.style]}m{run.text}\x1b[0m" if run.style in _SGR else run.text for run in line)


def print_notice(sentence: str) -> None:
    """Write a sentence to stderr, so that it does not mix with the data on stdout."""
    sys.stderr.write(f"weaklink: {visible_line(sentence)}\n")


def interrupt_on_signals(on_signal: Callable[[], object] | None = None) -> None:
    """Let SIGINT and SIGTERM end a command that runs until Ctrl-C: both call `on_signal`, or raise KeyboardInterrupt.

    SIGINT too, since a shell without job control starts `weaklink tail &` with SIGINT ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if on_signal is None else lambda *_: on_signal())


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr if that is a terminal, and remove it at the end.

    Yields a function to call with the number of items done since the last call. `total` is the number of all items, if
    known; if it is 0, there is no bar.
    """
    if total == 0 or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console  # noqa: PLC0415  # Rich takes 50 ms, and only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415  # the same

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)
