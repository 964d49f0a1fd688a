"""Whether a place in a text is quoted as code: then it shows something, and does not do it."""

_FENCE = "```"


def is_quoted(text: str, at: int) -> bool:
    """Whether the place `at` stands in a code fence that it does not open itself, or behind a backtick."""
    return bool(text.count(_FENCE, 0, at) & 1) or text[at - 1 : at] == "`"
