"""A module binds each of its names once: `_FEW = 4_000` is no bound where `_FEW = 400` follows further down.

Functions read the names of their module when they run, so the last binding counts for all of them.
"""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.sources import ROOT, tree_of

_PACKAGES = ("src", "ui", "storage", "inspector", "benchmarks", "examples", "tests")


def bound_names(tree: ast.Module) -> Iterator[str]:
    """The names that the statements of a module bind, one for each binding; those in its conditions do not count."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets):
                nodes = (node for target in targets for node in ast.walk(target))
                yield from (node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if not _is_overload(statement):
                yield statement.name


def _is_overload(statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in statement.decorator_list)


def rebound(tree: ast.Module) -> list[str]:
    return [name for name, times in Counter(bound_names(tree)).items() if times > 1 and name != "_"]


def test_each_name_of_a_module_is_bound_once() -> None:
    assert {
        str(path.relative_to(ROOT)): names
        for package in _PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if (names := rebound(tree_of(path)))
    } == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = 1\na = 2", ["a"]),
        ("a, b = 1, 2\nb: int = 3", ["b"]),
        ("def f(): pass\nf = 1", ["f"]),
        ("a: int\na = 1", []),
        ("def f():\n    a = 1\n    a = 2", []),
    ],
)
def test_a_second_binding_is_seen(source: str, names: list[str]) -> None:
    assert rebound(ast.parse(source)) == names
