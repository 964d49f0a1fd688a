"""`weaklink search`: the traces that hold some words, and where in them."""

import sys

import click

from inspector.json_text import write_json
from storage import Store, open_store
from ui.cli.filtering import FilterType, filter_of
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put, screen_width
from ui.cli.upkeep import PATIENCE_S, fill_text_index, say
from ui.views.search_hits import hit_lines, hit_object
from ui.views.wording import counted


@click.command("search")
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, type=FilterType())
@click.option("--limit", "-n", default=20, show_default=True, type=click.IntRange(min=1), help="At most so many.")
@json_option
@database_option
@color_option
def search(words: tuple[str, ...], limit: int, where: str | None, *, as_json: bool, color: str) -> None:
    """Find the traces that hold all of WORDS, the newest first, and show where the first of them stands.

    Words are found without regard to case and accents, however the stream was cut. `word*` finds what begins so,
    '"two words"' finds both in a row, and what `list --filter` takes may stand beside:

    \b
    weaklink search Oslo status:broken
    weaklink search '"could not parse"' tool:get_weather

    With --json, one line of JSON a hit.
    """  # noqa: D301  # Click wants the backspace itself
    wanted = filter_of(words)
    with open_store(where, create=False, busy_timeout_s=PATIENCE_S) as store:
        fill_text_index(store)
        found = store.search(wanted, limit=limit)
        if found.waiting:
            say(f"{_so_far(store, found.waiting)}; what waits was not searched")
    if as_json:
        sys.stdout.writelines(write_json(hit_object(hit)) + "\n" for hit in found.hits)
    elif found.hits:
        put(hit_lines(found.hits, width=screen_width()), color=color)
    else:
        say("no trace holds these words")
    if len(found.hits) == limit:
        say(f"the newest {limit:,} are shown; --limit shows more")


def _so_far(store: Store, waiting: int) -> str:
    traces = store.stats().traces
    return f"the text index holds {traces - waiting:,} of {counted(traces, 'trace')}"
