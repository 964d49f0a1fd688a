"""Filters on the command line: as words and as an option, completed by the shell, with a caret where they go wrong."""

import sys
from collections.abc import Sequence
from typing import Final

import click
from click.shell_completion import CompletionItem

from inspector.errors import WeaklinkError
from storage import FilterError, open_store
from storage.filter import parse_filter
from ui.views.cells import cell_width
from ui.views.visible import visible_line

_BEFORE, _BEHIND = 60, 20  # code points that are shown around the character at which a filter goes wrong


def filter_of(words: Sequence[str], expression: str = "") -> str:
    """The filter that the words of a command line make, and must hold beside `expression`.

    Where one of the two cannot be read, it is shown with a caret on stderr, and FilterError says why.
    """
    said = [text for text in (" ".join(words), expression) if text.strip()]
    for text in said:
        _check(text)
    return said[0] if len(said) == 1 else " ".join(f"({text})" for text in said)


def _check(text: str) -> None:
    try:
        parse_filter(text)
    except FilterError as error:
        start = max(0, error.position - _BEFORE)
        before = visible_line(text[start : error.position])
        behind = visible_line(text[error.position : error.position + _BEHIND])
        sys.stderr.write(f"  {before}{behind}\n  {' ' * cell_width(before)}^\n")
        raise


class FilterType(click.ParamType[str]):
    """A filter, or one of the words that make one; the shell completes it from the database."""

    name: Final = "filter"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What the language and the database know; nothing where there is no database yet."""
        where = ctx.params.get("where") or None
        try:
            with open_store(where, create=False) as store:
                found = store.complete(incomplete)
        except WeaklinkError:
            return []
        return [CompletionItem(incomplete[: one.start] + one.text, help=one.what) for one in found]


filter_option = click.option(
    "--filter",
    "-f",
    "expression",
    default="",
    metavar="EXPR",
    type=FilterType(),
    help="Only traces that match; see `weaklink list --help`.",
)
