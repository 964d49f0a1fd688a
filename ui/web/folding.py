"""Which lines of a view may be folded where a page is narrow: sentences may, what stands in columns may not."""

import re

from ui.views.run import Line

_IN_COLUMNS = re.compile(
    r"\S  +\S"  # words set apart by more than one space
    r"|^ *\d* *[|│]"  # the gutter of quoted text
    r"|^[\s^~·.-]*$"  # marks below such text
)


def folds(line: Line) -> bool:
    """Whether a line means the same when it goes on below its beginning."""
    return _IN_COLUMNS.search("".join(run.text for run in line)) is None
