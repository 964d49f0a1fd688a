"""What imports what: the contracts in pyproject.toml, and declared dependencies; and that class names are unique."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.sources import ROOT, tree_of

PACKAGES = ("src/weaklink", "inspector", "storage", "ui", "sample_traces")
HOSTS = {"pytest", "ipython"}  # they load what we have for them, so they are there wherever it is used


def test_import_contracts_hold() -> None:
    lint = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run([*lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_import_is_declared() -> None:
    assert _imported() - _declared(with_extras=True) - HOSTS == set()


def test_every_dependency_is_imported() -> None:
    assert _declared() - _imported() == set()


def test_a_class_name_is_unique() -> None:
    """A class inside another is named with its owner (`LineView.Moved`), as Textual's messages are."""
    places: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for name, line in _classes(tree_of(path)):
                places[name].append(f"{path.relative_to(ROOT)}:{line}")
    assert len(places) > 500
    assert {name: locations for name, locations in places.items() if len(locations) > 1} == {}


def _classes(node: ast.AST, owner: str = "") -> Iterator[tuple[str, int]]:
    """The names of the classes below a node, with the names of the classes that they are in; and their lines."""
    for child in _statements(node):
        if isinstance(child, ast.ClassDef):
            yield f"{owner}{child.name}", child.lineno
            yield from _classes(child, f"{owner}{child.name}.")
        else:
            yield from _classes(child, owner)


@cache
def _imported() -> frozenset[str]:
    """The distributions that the packages import, as `pip` spells them."""
    names = {name for package in PACKAGES for path in (ROOT / package).rglob("*.py") for name in _top_names(path)}
    foreign = names - sys.stdlib_module_names - {"compression", "weaklink"}
    owners = packages_distributions()  # `compression` is in the standard library from Python 3.14 on
    return frozenset(_normal(owner) for name in foreign for owner in owners.get(name, [name]))


def _top_names(path: Path) -> set[str]:
    """The first names of all that a file imports."""
    names: set[str] = set()
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        match node := waiting.pop():
            case ast.Import():
                names |= {alias.name.partition(".")[0] for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                names.add(module.partition(".")[0])
            case _:
                waiting += _statements(node)
    return names


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements right below a node, and what holds statements; an expression holds none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child


def _declared(*, with_extras: bool = False) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    if with_extras:
        wanted += [line for lines in project["optional-dependencies"].values() for line in lines]
    return {_normal(re.split(r"[\[<>=;~! ]", line)[0]) for line in wanted}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
