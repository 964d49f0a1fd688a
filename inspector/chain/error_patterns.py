"""How a user's own tools say that they failed: regular expressions, looked for at both ends of a result."""

import re
from collections.abc import Iterable

from inspector.errors import InvalidPatternError

READ = 65_536
"""How much of a result's beginning and of its end is searched, in code points."""
_LONGEST = 400


class ErrorPatterns:
    """Patterns that each mark a result as an error; they are searched in the syntax of Python's `re`."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = tuple(_compiled(pattern) for pattern in dict.fromkeys(patterns))

    def line_in(self, text: str) -> str | None:
        """The line of `text` in which the first pattern that matches does so, at most 400 code points of it."""
        ends = (text,) if len(text) <= 2 * READ else (text[:READ], text[-READ:])
        found = (pattern.search(end) for pattern in self._patterns for end in ends)
        return next((_line(match) for match in found if match is not None), None)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidPatternError(f"the error pattern `{pattern}` is no regular expression: {error}") from error
    if compiled.match(""):
        raise InvalidPatternError(
            f"the error pattern `{pattern}` matches an empty text, so every result would be an error"
        )
    return compiled


def _line(match: re.Match[str]) -> str:
    text = match.string
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _LONGEST // 2)
    end = text.find("\n", match.start())
    return text[start : min(end if end >= 0 else len(text), start + _LONGEST)].strip()
