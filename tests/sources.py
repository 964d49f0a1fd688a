"""The source files of the packages, each parsed once for all tests that look through them."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a source file, which nobody changes."""
    return ast.parse(path.read_text(encoding="utf-8"))
