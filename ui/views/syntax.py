"""Syntax colours of payloads, by Pygments: which characters are keys, numbers, words of the language, comments."""

from collections.abc import Iterator
from functools import cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, is_token_subtype
from pygments.token import _TokenType as TokenType

from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.visible import visible_runs

LONGEST = 100_000
"""How many characters are looked at; a longer text is shown plain from there on."""

# The first that holds the token's type counts.
_STYLES: tuple[tuple[TokenType, Style], ...] = (
    (Comment, Style.DIM),
    (Name.Tag, Style.KEY),
    (Name.Attribute, Style.KEY),
    (Name.Function, Style.TOOL_CALL),
    (Name.Class, Style.TOOL_CALL),
    (Name.Builtin, Style.TOOL_CALL),
    (Keyword, Style.REASONING),
    (Operator.Word, Style.REASONING),
    (Number, Style.INFO),
    (String, Style.OK),
)


def syntax_line(text: str, language: str) -> Line:
    """A text on one line in the colours of a language that Pygments knows by this name, hostile characters visible."""
    return tuple(run for piece, style in _pieces(text, language) for run in visible_runs(piece, style))


def syntax_lines(text: str, language: str) -> Iterator[Line]:
    """The lines of a text in the colours of its language."""
    line: list[Run] = []
    for piece, style in _pieces(text, language):
        first, *rest = piece.split("\n")
        line += visible_runs(first, style)
        for following in rest:
            yield tuple(line)
            line = list(visible_runs(following, style))
    if line:
        yield tuple(line)


def _pieces(text: str, language: str) -> Iterator[tuple[str, Style]]:
    """The text piece by piece; they add up to it."""
    for _, kind, piece in _lexer(language).get_tokens_unprocessed(text[:LONGEST]):
        yield piece, next((style for type_, style in _STYLES if is_token_subtype(kind, type_)), Style.PLAIN)
    if len(text) > LONGEST:
        yield text[LONGEST:], Style.PLAIN


@cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language)
