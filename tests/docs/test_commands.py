"""Every command on every page is one that there is; sessions print what the pages show."""

import re
import shlex
import textwrap
from pathlib import Path

import click
import pytest

from tests.docs.commands import (
    COLUMNS,
    Block,
    blocks,
    parse,
    played,
    sentence_commands,
    weaklink_commands,
    without_blocks,
    without_folder,
)
from tests.docs.site import DOCS, README, ROOT
from weaklink.ui.cli.group import COMMANDS

PAGES = [
    *(README, ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"),
    *(ROOT / "sample_traces" / "README.md", *sorted(DOCS.rglob("*.md"))),
]
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def with_sessions() -> list[Path]:
    return [page for page in PAGES if any(block.is_session for block in blocks(page.read_text(encoding="utf-8")))]


@EACH_PAGE
def test_every_command_on_a_page_is_one_that_there_is(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        for words in weaklink_commands(block) if block.is_shell else ():
            try:
                parse(words)
            except click.UsageError as error:
                raise AssertionError(f"weaklink {' '.join(words)}: {error.format_message()}") from error


@EACH_PAGE
def test_every_command_in_a_sentence_is_one_that_there_is(page: Path) -> None:
    """With its options; words in capitals, dots and brackets stand for what a user gives."""
    for line in sentence_commands(page.read_text(encoding="utf-8")):
        try:
            parse(shlex.split(line))
        except click.UsageError as error:
            raise AssertionError(f"weaklink {line}: {error.format_message()}") from error


def test_the_page_on_the_command_names_every_command() -> None:
    named = {shlex.split(line)[0] for line in sentence_commands((DOCS / "commands.md").read_text(encoding="utf-8"))}
    assert set(COMMANDS) - named == set()


@EACH_PAGE
def test_a_table_has_a_head(page: Path) -> None:
    """A row that an empty line cuts off from its table is shown as text."""
    lines = without_blocks(page.read_text(encoding="utf-8")).splitlines()
    first_rows = [
        number
        for number, line in enumerate(lines)
        if line.startswith("|") and not (number and lines[number - 1].startswith("|"))
    ]
    assert [lines[number] for number in first_rows if not re.fullmatch(r"\|[ :|-]+\|", lines[number + 1])] == []


@EACH_PAGE
def test_the_python_on_a_page_is_python(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python":
            compile(block.body, page.name, "exec")


@EACH_PAGE
def test_a_block_of_commands_is_a_session_or_says_what_it_needs(page: Path) -> None:
    """Nothing between the two: the output of a marked one is not compared."""
    unmarked = [
        block.body
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.is_session and not block.body.startswith("$ ")
    ]
    assert unmarked == []


@pytest.mark.parametrize("page", with_sessions(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_sessions_print_what_the_page_shows(page: Path, tmp_path: Path, update_goldens: bool) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    text = page.read_text(encoding="utf-8")
    today = played(text, folder)
    if update_goldens:
        page.write_text(today, encoding="utf-8")
    else:
        assert text == today


@pytest.mark.parametrize(
    "line",
    [
        "weaklink nothing",
        "weaklink list --no-such-option",
        "A=1 weaklink show 1 --turns",
        "echo x | weaklink check --output yaml -",
        "weaklink data lint x.jsonl --nope",
    ],
)
def test_a_command_that_there_is_not_is_found(line: str) -> None:
    block = Block("console", "", f"# needs nothing\n{line}\n", 0)
    (words,) = weaklink_commands(block)
    with pytest.raises(click.UsageError):
        parse(words)


@pytest.mark.parametrize("length", range(1, 37))  # a path that has a line to itself
def test_a_page_does_not_depend_on_where_the_samples_lie(length: int) -> None:
    line = f"source   sharegpt, /{'a' * length}/sample_traces/schema-wrong-type.jsonl line 1"
    folded = "\n".join(textwrap.wrap(line, COLUMNS, subsequent_indent=" " * 9, break_on_hyphens=False))
    shown = without_folder(f"{folded}\nids      line=1").splitlines()
    assert shown == ["source   sharegpt, …/sample_traces/schema-wrong-type.jsonl line 1", "ids      line=1"]
