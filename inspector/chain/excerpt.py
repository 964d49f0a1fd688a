"""Pieces of a stream as a message quotes them: one line, short, in backticks."""

_LONGEST = 80


def quoted(text: str, longest: int = _LONGEST) -> str:
    """`text` in backticks: white space drawn together, backticks made apostrophes, cut at `longest` code points."""
    line = " ".join(text[: 8 * longest].split()).replace("`", "'")
    short = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return f"`{short}`"


def tool_named(name: str | None) -> str:
    """A tool as a message names it."""
    return quoted(name) if name else "a tool without a readable name"
