"""`weaklink.show`: a trace, log, raw text or list of messages with its verdict, inline in a notebook, or as text."""

import sys

from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.pytest_plugin.assertions import MessageList, TraceInput, inspected
from weaklink.inspector.rich_display import html_of, text_of
from weaklink.inspector.segmentation import Segmentation

MAX_SHOWN = 20


def show(shown: TraceInput | Segmentation | Inspection, format: str = "", tools: MessageList = ()) -> None:
    """Show a value in the output of a notebook's cell; elsewhere print it as `weaklink show` does.

    Of a file with more than 20 traces, the first 20 are shown, and a sentence says how many there are. `format` and
    `tools` are those of the fixture `weaklink`. Raises UnreadableFileError, UnknownFormatError, TypeError, and
    WeaklinkError if weaklink's screens are not installed.
    """
    if isinstance(shown, Segmentation | Inspection):
        _put(shown)
        return
    count = 0
    for count, traced in enumerate(inspected(shown, format, tools), 1):
        if count <= MAX_SHOWN:
            _put(traced.trace)
    if count > MAX_SHOWN:
        sys.stdout.write(f"{count:,} traces; the first {MAX_SHOWN} are shown.\n")


def _put(value: object) -> None:
    drawn = html_of(value) if _is_notebook() else text_of(value)
    if drawn is None:
        raise WeaklinkError("weaklink's reports are not installed here; `pip install weaklink` installs them")
    if _is_notebook():
        from IPython.display import HTML, display  # type: ignore[import-not-found]  # noqa: PLC0415  # only in Jupyter

        display(HTML(drawn))
    else:
        sys.stdout.write(f"{drawn}\n")


def _is_notebook() -> bool:
    """Whether a Jupyter kernel runs this process."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
