"""The schema of weaklink.toml accepts what weaklink reads, and refuses what it refuses."""

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs installed
import pytest

from weaklink.ui.cli.check_settings import ConfigError, read_config
from weaklink.ui.cli.reference import schema_of

DOCS = Path(__file__).parents[3] / "docs"
VALIDATOR = jsonschema.Draft202012Validator(schema_of("weaklink.toml"))


def tables_on_pages() -> list[dict[str, Any]]:
    """What the pages show of weaklink.toml, or of the same keys in pyproject.toml."""
    pages = [(DOCS / name).read_text(encoding="utf-8") for name in ("ci.md", "formats.md", "screens.md")]
    tables = [tomllib.loads(block) for page in pages for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    return [table.get("tool", {}).get("weaklink", table) for table in tables]


def test_what_the_pages_show_is_valid() -> None:
    tables = tables_on_pages()
    assert {key for table in tables for key in table} >= {"check", "formats", "prices", "error-patterns"}
    for table in tables:
        VALIDATOR.validate(table)


@pytest.mark.parametrize(
    "line",
    [
        *('select = ["J1"]', 'ignore = ["trailing-comma"]', "ignore = 3", 'fail-on = "warning"', 'fail-on = "often"'),
        *('format = "hermes"', "format = 1", 'source = "codex"', 'source = "nothing"', 'baseline = "b.json"'),
        *('error-patterns = ["^panic"]', 'error-patterns = "^panic"', "reasoning-budget = 1", "reasoning-budget = 0"),
        *("context-window = 9", "context-window = 9.5", "allow-skipped = true", "strict = 1", "fail_on = 'error'"),
    ],
)
@pytest.mark.parametrize("head", ["", "[check]\n"])
def test_the_schema_accepts_what_is_read(head: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "weaklink.toml"
    path.write_text(f"{head}{line}\n", encoding="utf-8")
    try:
        read_config(path)
        is_read = True
    except ConfigError:
        is_read = False
    assert VALIDATOR.is_valid(tomllib.loads(path.read_text(encoding="utf-8"))) == is_read
