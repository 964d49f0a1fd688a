"""The pieces by which a slow expression is ruled out: each text that it matches holds one."""

from collections.abc import Iterable
from importlib import import_module
from itertools import product
from typing import Any

import pytest

from weaklink.inspector.chain.failure_words import _SHAPES, SIGNS_WITHIN, _Where, error_line

_ANYTHING = "\0"


def _texts(parsed: Iterable[Any]) -> list[str]:
    """The texts that an expression matches, with a NUL for what is not literal; of a repeat the fewest and one more."""
    texts = [""]
    for operation, argument in parsed:
        texts = ["".join(pair) for pair in product(texts, _texts_of(str(operation), argument))]
    return texts


def _texts_of(operation: str, argument: Any) -> list[str]:
    match operation:
        case "LITERAL":
            return [chr(argument)]
        case "BRANCH":
            return [text for branch in argument[1] for text in _texts(branch)]
        case "SUBPATTERN":
            return _texts(argument[3])
        case "MAX_REPEAT":
            least, _, repeated = argument
            once = _texts(repeated)
            return [*({"" if least == 0 else text * least for text in once}), *(text * (least + 1) for text in once)]
        case "AT":
            return [""]
    return [_ANYTHING]


@pytest.mark.parametrize("expression", [shape.expression for shape in _SHAPES if shape.where is _Where.WITHIN])
def test_what_matches_within_a_line_holds_a_sign(expression: str) -> None:
    parser = import_module("re._parser")  # the standard library's own parser of expressions
    texts = _texts(parser.parse(expression))
    assert texts
    assert [text for text in texts if not any(sign in text for sign in SIGNS_WITHIN)] == []


@pytest.mark.parametrize(
    "line", ["Der Ort wurde NICHT GEFUNDEN", "bash: foo: command not found", "a connectıon refused"]
)
def test_neither_case_nor_a_dotless_i_hides_a_sign(line: str) -> None:
    assert error_line(line) == line
    assert error_line(line[:-4]) is None
