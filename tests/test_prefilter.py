"""The prefilter of word tables excludes no text that a pattern matches (see inspector/prefilter.py)."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from random import Random
from re import _constants, _parser  # type: ignore[attr-defined]  # missing in typeshed
from typing import Any

import pytest

from weaklink import inspector
from weaklink.inspector.prefilter import _Prefilter, required_literals, view
from weaklink.inspector.scanning import _FEW_SEARCHES, _FilteredPattern, lazy_pattern

_SPELLINGS = {"s": "ſ", "k": "\u212a", "i": "İ", "μ": "µ", "β": "ϐ", "σ": "ς", "в": "\u1c80", "θ": "ϑ", "å": "\u212b"}


def _tables() -> Iterator[tuple[str, _FilteredPattern]]:
    for module in pkgutil.walk_packages(inspector.__path__, "weaklink.inspector."):
        if ".chain." in module.name or ".checks." in module.name:
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, _FilteredPattern):
                    yield f"{module.name}.{name}", value


def _written(items: Any, rng: Random) -> str:
    """A text that a parsed pattern would match if it had no look-arounds and no ends of words."""
    text = ""
    for kind, argument in items:
        if kind is _constants.LITERAL:
            text += chr(argument)
        elif kind is _constants.BRANCH:
            text += _written(rng.choice(argument[1]), rng)
        elif kind is _constants.SUBPATTERN:
            text += _written(argument[-1], rng)
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            text += "".join(_written(argument[2], rng) for _ in range(rng.choice((argument[0], argument[0] + 1))))
        elif kind is _constants.IN:
            member, value = rng.choice(argument)
            known = {_constants.LITERAL: chr, _constants.RANGE: lambda pair: chr(rng.randint(*pair))}
            text += known[member](value) if member in known else rng.choice("x \n7_é")
        elif kind is not _constants.ASSERT and kind is not _constants.AT:
            text += rng.choice("x é")
    return text


def _varied(text: str, rng: Random) -> str:
    """A text in other letters that `re.IGNORECASE` takes for the same, and with something beside it."""
    spelled = "".join(rng.choice((c, c, c.upper(), c.lower(), _SPELLINGS.get(c.lower(), c))) for c in text)
    return f"{rng.choice(('', 'x', 'a ', '-', '('))}{spelled}{rng.choice(('', 'x', ' b', '.', 'ş'))}"


def test_no_table_of_the_product_is_excluded_from_a_text_that_it_matches() -> None:
    rng, matched, filtered = Random(1), 0, 0
    for name, table in _tables():
        pattern, flags = table._source
        literals = [literal.encode("utf-8", "surrogatepass") for literal in required_literals(pattern, flags)]
        filtered += bool(literals)
        compiled, parsed = re.compile(pattern, flags), _parser.parse(pattern, flags)
        for _ in range(60):
            text = _varied(_written(parsed, rng), rng)
            if compiled.search(text) is None:
                continue
            matched += 1
            assert not literals or any(literal in view(text) for literal in literals), (name, text)
    assert matched > 2_000
    assert filtered > 100


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"\b(?:no|not)\b", {" no ", " not "}),
        (r"\b(?:\w{2,}less|never)\b", {"less ", " never "}),
        (r"has(?:n['’]t| no)", {"hasn t", "has no"}),
        (r"(?:un)?able to\b", {"able to ", "unable to "}),
        (r"没有|\bfailed", {"没有", " failed"}),
        (r"(?:abc)+x", {"abc"}),
        (r"abc|\d+", set()),
        (r"\w+", set()),
        (r"(?a)\bnot\b", set()),
    ],
)
def test_literals_of_a_pattern(pattern: str, literals: set[str]) -> None:
    assert required_literals(pattern, re.IGNORECASE) == literals


def test_a_pattern_that_is_used_often_is_filtered_and_answers_as_before() -> None:
    pattern, plain = lazy_pattern(r"\b(?:denied|refused)\b", re.IGNORECASE), re.compile(r"(?i)\b(?:denied|refused)\b")
    texts = [f"Attempt {number} was {'Refused' if number % 3 else 'fine'}." for number in range(3 * _FEW_SEARCHES)]
    for text in texts * 3:
        assert (pattern.search(text) is None) == (plain.search(text) is None)
        assert pattern.findall(text) == plain.findall(text)
        assert pattern.sub("x", text) == plain.sub("x", text)
        assert [match.span() for match in pattern.finditer(text)] == [match.span() for match in plain.finditer(text)]
        assert pattern.match(text) is None
    assert pattern.search("was denied", 0, 8) is None
    assert pattern.search("denieds", 0, 6) is not None  # an end of the range is the end of a word


def test_a_pattern_that_is_newer_than_the_automaton_excludes_nothing() -> None:
    prefilter = _Prefilter()
    bit = prefilter.add(r"\bnot\b", re.IGNORECASE)
    assert prefilter.signs("fine") & bit
    for number in range(300):
        prefilter.signs(f"fine {number}")
    newer = prefilter.add(r"\bnever\b", re.IGNORECASE)
    assert prefilter.signs("it is not") & bit
    assert not prefilter.signs("fine") & bit
    assert prefilter.signs("fine") & newer
