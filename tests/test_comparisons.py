"""No chained comparison but a range or an equality of several values: `live != running > 0` is no comparison of flags.

Python reads `a != b > 0` as `a != b and b > 0`. Such a line cannot be told from the comparison of `a` with `b > 0`
that its author meant, so only chains that read the same both ways are allowed: `<` with `<=`, `>` with `>=`, and
`==` or `is` alone.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.sources import ROOT, tree_of

_PACKAGES = ("src", "ui", "storage", "inspector", "benchmarks", "examples")
_PLAIN: tuple[set[type[ast.cmpop]], ...] = ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE}, {ast.Eq}, {ast.Is})


def mixed_chains(tree: ast.Module) -> Iterator[ast.Compare]:
    """The chained comparisons that are neither a range nor an equality of several values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            signs = {type(sign) for sign in node.ops}
            if not any(signs <= plain for plain in _PLAIN):
                yield node


def test_chained_comparisons_are_ranges_or_equalities() -> None:
    mixed = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for package in _PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in mixed_chains(tree_of(path))
    ]
    assert mixed == []


@pytest.mark.parametrize(
    ("expression", "is_refused"),
    [
        ("is_live != running > 0", True),
        ("is_live == running > 0", True),
        ("name in known == wanted", True),
        ("0 < found >= least", True),
        ("first is None is not second", True),
        ("first != second != third", True),
        ("0 < found <= most", False),
        ("most > found >= 0", False),
        ("start == end == position", False),
        ("first is second is None", False),
        ("is_live != (running > 0)", False),
    ],
)
def test_what_is_refused(expression: str, is_refused: bool) -> None:
    assert bool(list(mixed_chains(ast.parse(expression)))) is is_refused
