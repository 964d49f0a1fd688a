"""The grammar of filters, parsed with Lark: terms combined with `and`, `or`, `not` and parentheses."""

from collections.abc import Iterator
from functools import cache

import lark

from weaklink.storage.filter.reading import read_field, read_phrase, read_word
from weaklink.storage.filter.terms import AllTerms, AnyTerm, Filter, FilterError, NotTerm, Term

MAX_TERMS, MAX_DEPTH = 200, 50
"""Maximum number of terms in a filter, and maximum nesting of parentheses."""

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_BARE = r'(?:[^\s"()]|\([^\s"()]*\))'
_PIECE = rf"(?:{_QUOTED}(?=[\s(),\]=!~<>]|$)|{_BARE})"
GRAMMAR = rf"""
start: alternatives?
?alternatives: together | alternatives _OR together -> any_of
?together: single | together _AND? single -> all_of
?single: (_NOT | _MINUS) single -> negated
    | _OPEN alternatives _CLOSE
    | FIELD -> field
    | PHRASE -> phrase
    | WORD -> word

_AND.4: /and(?=[\s()]|$)/i
_OR.4: /or(?=[\s()]|$)/i
_NOT.4: /not(?=[\s()]|$)/i
_MINUS.4: /-(?=[^\s)-])/
_OPEN: "("
_CLOSE: ")"
FIELD.3: /[A-Za-z_][\w.]*:(?:{_PIECE})*/s
PHRASE.2: /{_QUOTED}/s
WORD.1: /[^\s"()]{_BARE}*/
%ignore /\s+/
"""
_TERMS = ("FIELD", "PHRASE", "WORD")
_TOKENS = {
    **dict.fromkeys(_TERMS, 'a word, a "phrase" or `key:value`'),
    "_OPEN": "`(`",
    "_CLOSE": "`)`",
    "_NOT": "`not`",
    "_AND": "`and`",
    "_OR": "`or`",
}


def read(text: str) -> Filter:
    """Parse a filter; FilterError if it is invalid."""
    try:
        tree = _parser().parse(text)
    except lark.UnexpectedCharacters as error:
        position: int = error.pos_in_stream  # type: ignore[assignment]  # lark declares it None
        raise FilterError(_QUOTE if text[position] == '"' else _NOTHING, position) from None
    except lark.UnexpectedToken as error:
        position = len(text) if error.token.type == "$END" else error.token.start_pos or 0
        raise FilterError(_unexpected(error, text), position) from None
    assert isinstance(tree, tuple)  # the transformer builds it from `start`
    return tree


_QUOTE = 'unclosed quote, or quote inside a word; write `key:"two words"`'
_NOTHING = "unexpected character"


def _unexpected(error: lark.UnexpectedToken, text: str) -> str:
    expected = list(dict.fromkeys(_TOKENS[name] for name in _TOKENS if name in error.accepts | error.expected))
    hint = f"expected {', '.join(expected)}" if expected else "expected the end of the filter"
    if error.token.type == "$END":
        return "unclosed `(`; expected `)` here" if "`)`" in expected else f"unexpected end of filter; {hint}"
    if (
        error.token.type == "_CLOSE"
        and "_CLOSE" not in error.accepts
        and not _is_open(text, error.token.start_pos or 0)
    ):
        return "unmatched `)`; put text that contains `)` in quotes"
    return f"`{error.token}` is not valid here; {hint}. Put text to search for in quotes"


def _is_open(text: str, position: int) -> bool:
    return text.count("(", 0, position) > text.count(")", 0, position)


class _TokenLimits:
    """Checks the tokens from the lexer: the number of terms, their nesting, and that terms are separated."""

    always_accept = ()

    def process(self, stream: Iterator[lark.Token]) -> Iterator[lark.Token]:
        """The same tokens; FilterError at the first that exceeds a limit."""
        terms = depth = 0
        ended: int | None = None
        for token in stream:
            start = token.start_pos or 0
            if token.type in _TERMS:
                terms += 1
                if ended == start:
                    raise FilterError(_QUOTE, start)
                ended = token.end_pos
            depth += (token.type == "_OPEN") - (token.type == "_CLOSE")
            if terms > MAX_TERMS:
                raise FilterError(f"a filter has at most {MAX_TERMS} terms", start)
            if depth > MAX_DEPTH:
                raise FilterError(f"parentheses can be nested at most {MAX_DEPTH} deep", start)
            yield token


class _TermBuilder(lark.Transformer[lark.Token, Filter]):
    """Builds the terms, from the inside out, while the parser runs."""

    def start(self, children: list[Term]) -> Filter:
        if not children:
            return ()
        (term,) = children
        return term.terms if isinstance(term, AllTerms) else (term,)

    def any_of(self, children: list[Term]) -> Term:
        return AnyTerm(_flat(children, AnyTerm))

    def all_of(self, children: list[Term]) -> Term:
        return AllTerms(_flat(children, AllTerms))

    def negated(self, children: list[Term]) -> Term:
        (term,) = children
        return term.term if isinstance(term, NotTerm) else NotTerm(term)

    def field(self, children: list[lark.Token]) -> Term:
        return read_field(str(children[0]), children[0].start_pos or 0)

    def phrase(self, children: list[lark.Token]) -> Term:
        return read_phrase(str(children[0]))

    def word(self, children: list[lark.Token]) -> Term:
        return read_word(str(children[0]))


def _flat(terms: list[Term], kind: type[AllTerms] | type[AnyTerm]) -> tuple[Term, ...]:
    return tuple(inner for term in terms for inner in (term.terms if isinstance(term, kind) else (term,)))


@cache
def _parser() -> lark.Lark:
    return lark.Lark(
        GRAMMAR,
        parser="lalr",
        lexer="basic",
        postlex=_TokenLimits(),
        transformer=_TermBuilder(),
        propagate_positions=False,
    )
