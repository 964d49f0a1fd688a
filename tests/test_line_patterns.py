"""Patterns that are searched for in lines with a sign only: each of their alternatives needs one, and they find all."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from weaklink.inspector.chain import check_results
from weaklink.inspector.scanning import LinePattern

_PATTERNS = [pattern for pattern in vars(check_results).values() if isinstance(pattern, LinePattern)]
_PIECES = (
    "2 failed",
    "FAILED a::b",
    "FAIL",
    "error: x",
    "\n",
    "\n\n",
    "a.c:1:2: E501 ",
    "ok",
    "= 1 error",
    " ",
    "Ünit",
)


def _alternatives(pattern: str) -> Iterator[str]:
    """The parts between the bars of a pattern that are in no group and no class."""
    depth, start, is_class = 0, 0, False
    for match in re.finditer(r"\\.|[\[\]()|]", pattern):
        sign = match[0]
        is_class = sign != "]" if is_class else sign == "["
        depth += 0 if is_class else {"(": 1, ")": -1}.get(sign, 0)
        if sign == "|" and not depth and not is_class:
            yield pattern[start : match.start()]
            start = match.end()
    yield pattern[start:]


_ALTERNATIVES = [(pattern, part) for pattern in _PATTERNS for part in _alternatives(pattern.pattern.pattern)]


def test_there_are_such_patterns() -> None:
    assert len(_ALTERNATIVES) > 20


@pytest.mark.parametrize(("pattern", "part"), _ALTERNATIVES, ids=[part for _, part in _ALTERNATIVES])
def test_what_an_alternative_matches_is_found_by_its_signs(pattern: LinePattern, part: str) -> None:
    @in_the_gate(20)
    @given(st.from_regex(re.compile(part, re.MULTILINE)))
    def is_found(text: str) -> None:
        _assert_same(pattern, text)

    is_found()


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_lines_with_signs_have_what_the_text_has(text: str) -> None:
    for pattern in _PATTERNS:
        _assert_same(pattern, text)


def _assert_same(pattern: LinePattern, text: str) -> None:
    match, expected = pattern.search(text), pattern.pattern.search(text)
    assert (match and match.span()) == (expected and expected.span())
