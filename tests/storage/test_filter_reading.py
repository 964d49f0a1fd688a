"""Filters are read as their cases say; any text is a filter or an error at one of its characters."""

import json
import re
from pathlib import Path
from typing import Any as AnyValue
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.storage.filter import Filter, FilterError, check_filter, parse_filter
from weaklink.storage.filter.grammar import MAX_DEPTH, MAX_TERMS
from weaklink.storage.filter.parsing import MAX_FILTER_CHARS
from weaklink.storage.filter.terms import (
    KEYS,
    AllTerms,
    AnyTerm,
    ArgumentTerm,
    Field,
    NotTerm,
    NumberTerm,
    PhraseTerm,
    Term,
    TimeTerm,
    required_words,
    words_in,
)

_CASES = Path(__file__).parents[1] / "cases" / "filter" / "read.jsonl"
_DOCS = Path(__file__).parents[2] / "docs" / "commands.md"


def _shown(term: Term) -> str:
    match term:
        case PhraseTerm(phrase, prefix):
            return json.dumps(phrase) + "*" * prefix
        case Field(key, values):
            return f"{key.value}:{'|'.join(values)}"
        case NumberTerm(key, comparison, number):
            return f"{key.value}{comparison.value}{number:g}"
        case ArgumentTerm(path, comparison, values, number):
            sign = "" if comparison is None else comparison.value
            return f"arg {path} {sign} {'|'.join(values) if values else f'{number:g}' * bool(sign)}".rstrip()
        case TimeTerm(key, at_s, is_ago):
            return f"{key.value} {at_s:g}s ago" if is_ago else f"{key.value} {at_s:.0f}"
        case NotTerm(inner):
            return f"not({_shown(inner)})"
        case AllTerms(terms):
            return f"all({', '.join(map(_shown, terms))})"
        case AnyTerm(terms):
            return f"any({', '.join(map(_shown, terms))})"
        case _:
            assert_never(term)


def _read(text: str) -> dict[str, AnyValue]:
    try:
        return {"filter": text, "means": [_shown(term) for term in parse_filter(text)]}
    except FilterError as error:
        return {"filter": text, "position": error.position, "error": str(error)}


def test_filters_are_read_as_their_cases_say(update_goldens: bool) -> None:
    cases = [json.loads(line) for line in _CASES.read_text(encoding="utf-8").splitlines()]
    read = [_read(case["filter"]) for case in cases]
    if update_goldens:
        _CASES.write_text("".join(json.dumps(case, ensure_ascii=False) + "\n" for case in read), encoding="utf-8")
        return
    for case, got in zip(cases, read, strict=True):
        assert got == case, f"{case['filter']!r}; `pytest --update-goldens` rewrites {_CASES.name}"


_PIECES = st.sampled_from(
    (
        *(f"{key}:" for key in (*KEYS, "ttft", "zz")),
        *(
            "and",
            "or",
            "not",
            "(",
            ")",
            "-",
            '"',
            "\\",
            " ",
            "\n",
            ",",
            "*",
            ">",
            ">=",
            "=",
            "!=",
            "~",
            "$.",
            "$[",
            "]",
        ),
        *("ok", "broken", "4k", "2h", "2s", "J104", "city", "1970-01-01", "\0", "\ud800", "é", "9" * 30, "\x1b[31m"),
    )
)


@given(st.lists(_PIECES | st.text(max_size=3), max_size=14).map("".join))
def test_any_text_is_a_filter_or_an_error_at_one_of_its_characters(text: str) -> None:
    error = check_filter(text)
    if error is not None:
        assert 0 <= error.position <= len(text)
        return
    terms = parse_filter(text)
    required, excluded = set(required_words(terms)), set(required_words(terms, negated=True))
    assert required | excluded == set(words_in(terms))


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("(" * 10_000, MAX_DEPTH, "at most 50 deep"),
        ("-(" * 5_000, 2 * MAX_DEPTH + 1, "at most 50 deep"),
        ("a " * 5_000, 2 * MAX_TERMS, "at most 200 terms"),
        ("a" * 100_000, MAX_FILTER_CHARS, "at most 10,000 characters"),
        ('"' * 9_999, 2, "unclosed quote"),
    ],
)
def test_a_filter_without_end_is_refused(text: str, position: int, words: str) -> None:
    error = check_filter(text)
    assert error is not None
    assert error.position == position
    assert words in str(error)


def test_many_nots_are_one_or_none() -> None:
    assert _meant("not " * 2_000 + "a") == ['"a"']
    assert _meant("not " * 2_001 + "a") == ['not("a")']


def _meant(text: str) -> list[str]:
    wanted: Filter = parse_filter(text)
    return [_shown(term) for term in wanted]


def test_every_example_of_the_readme_is_a_filter() -> None:
    text = _DOCS.read_text(encoding="utf-8")
    section = text.partition("<!-- filter-examples -->")[2].partition("<!-- /filter-examples -->")[0]
    examples = re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE)
    assert len(examples) >= 12
    assert [str(error) for example in examples if (error := check_filter(example)) is not None] == []
