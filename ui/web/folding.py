"""Which lines of a view may be folded where a page is narrow: sentences may, what stands in columns may not."""

import re
from collections.abc import Sequence

from ui.views.run import Line

_IN_COLUMNS = re.compile(
    r"\S  +\S"  # words set apart by more than one space
    r"|^ *\d* *[|│]"  # the gutter of quoted text
    r"|^[\s·.-]*$"  # rules and gaps
)
_MARKS = re.compile(r" *[\^~][\s^~·.-]*")  # they stand below characters of the line before


def folds(lines: Sequence[Line]) -> list[bool]:
    """Of each of these lines, below each other, whether it means the same when it goes on below its beginning."""
    texts = ["".join(run.text for run in line) for line in lines]
    are_marks = [_MARKS.fullmatch(text) is not None for text in texts]
    are_marked = [*are_marks[1:], False]
    return [
        not marks and not marked and _IN_COLUMNS.search(text) is None
        for text, marks, marked in zip(texts, are_marks, are_marked, strict=True)
    ]
