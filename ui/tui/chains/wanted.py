"""Filters as the home screen changes them: narrowed by one term, and looked into for words."""

import re

from storage import FilterError
from storage.filter import Filter, PhraseTerm, parse_filter
from storage.filter.terms import All, Any, Not

_STATUS_TERM = re.compile(r"(?<!\S)status:[\w*]+(?!\S)")
_OR = re.compile(r"\bor\b", re.IGNORECASE)


def toggled(wanted: str, term: str) -> str:
    """A filter with a `status:` term in the place of the one it has, or without it where it is the same."""
    if _OR.search(wanted):
        return narrowed(wanted, term)
    found = _STATUS_TERM.findall(wanted)
    rest = " ".join(_STATUS_TERM.sub(" ", wanted).split())
    return rest if term in found else narrowed(rest, term)


def narrowed(wanted: str, term: str) -> str:
    """A filter that lets through what fulfils `term` besides; where there is a choice in it, that is bracketed."""
    return f"({wanted}) {term}" if _OR.search(wanted) else f"{wanted} {term}".strip()


def has_words(wanted: str) -> bool:
    """Whether a filter asks the text index; False for one that cannot be read."""
    try:
        return _has_words(parse_filter(wanted))
    except FilterError:
        return False


def _has_words(terms: Filter) -> bool:
    for term in terms:
        match term:
            case PhraseTerm():
                return True
            case All(inner) | Any(inner):
                if _has_words(inner):
                    return True
            case Not(inner):
                if _has_words((inner,)):
                    return True
            case _:
                continue
    return False
