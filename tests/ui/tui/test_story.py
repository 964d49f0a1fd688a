"""What an engineer does at night, in a real terminal, on the demo's database: from the list to the broken link."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.conftest import START, environment
from tests.ui.tui.terminals import Terminal, needs_tmux, terminal


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Terminal]:
    """`weaklink tui` on the demo's database."""
    variables = environment(tmp_path, LANG="C.UTF-8")
    demo = [*START, "demo", "--db", "demo.db"]
    subprocess.run(demo, check=True, capture_output=True, cwd=tmp_path, env=variables, timeout=120)
    with terminal(tmp_path, [*START, "tui", "--db", "demo.db"], variables) as shown:
        yield shown


def under(screen: str, word: str) -> tuple[str, str]:
    """The line that holds a word, and the one below it."""
    lines = screen.splitlines()
    position = next(index for index, line in enumerate(lines) if word in line)
    return lines[position], lines[position + 1]


def filter_by(screen: Terminal, words: str, *shows: str, instead_of: str = "") -> None:
    """Filter the list, and wait until it is that of the filter and has the keys again."""
    screen.press("f")
    screen.shows("tab Complete")
    if instead_of:
        screen.shows(f"filter {instead_of}")
        screen.press("C-u")
    screen.shows("code:J104 words")  # what stands in an empty line: letters would overtake a key that empties it
    screen.type(words)
    screen.shows(words)
    screen.press("Enter")
    screen.shows(f"f: {words}", "⏎ Open", *shows)


@needs_tmux
def test_from_the_list_to_the_broken_link_and_what_it_came_from(screen: Terminal) -> None:
    screen.shows("✖ 25 broken", "e Next break")

    filter_by(screen, "model:sample-model-8b", "3 of 51 traces", "J121 missing-quote")

    screen.press("e")
    result = screen.shows("verdict", "error[J121]", "broken at step 1")
    line, carets = under(result, '"rye bread recipe "without yeast""')
    assert line.index('"rye bread recipe "') + len('"rye bread recipe "') - 1 <= carets.rindex("^")

    screen.press("Escape")
    screen.shows("3 of 51 traces")
    filter_by(screen, "code:S204", "1 of 51 traces", "S204 value-not-in", instead_of="model:sample-model-8b")
    screen.press("Enter")
    screen.shows("error[S204]", "[verdict]")
    screen.press("4")
    screen.shows("[diagnostics 1]")
    screen.press("4")
    screen.shows("[steps 1]")
    screen.press("4")
    screen.shows("[schema]", "S204")

    screen.press("Escape")
    screen.shows("1 of 51 traces")
    filter_by(screen, "tool:track_shipment calls:3", "1 of 51 traces", "Order SO-10423", instead_of="code:S204")
    screen.press("Enter")
    screen.shows("steps 3", "✔ ok")
    screen.press("2")
    screen.shows("] Next step")
    screen.press("g")
    screen.shows("turn 1/9")
    screen.press("]")
    screen.shows("step 1/3")
    screen.press("]")
    screen.shows("step 2/3")
    screen.press("1")
    screen.shows("⏎ Unfold")
    screen.press("Enter")
    screen.shows("▸ arguments")
    screen.press("j", "j", "Enter")
    screen.shows('tracking_number  "ZX')
    screen.press("j")
    screen.shows("/tracking_number")
    screen.press("o")
    screen.shows("came from the result of step 1")
    screen.press("m")
    screen.shows("is marked")

    screen.press("Escape")
    screen.shows("e Next break")
    before = "tool:track_shipment calls:3"
    filter_by(screen, "code:S204", "1 of 51 traces", "S204 value-not-in", instead_of=before)
    screen.press("Enter")
    screen.shows("error[S204]")
    screen.press("d")
    screen.shows("traces ▸ diff", "Runs differ first at step 1", "▸", "Only A makes this call")

    screen.press("Escape")
    screen.shows("error[S204]")
    screen.press("y")
    screen.shows("link to here")
    screen.press("G", "Enter")
    screen.shows("Copied:", "weaklink://trace/34?turn=3")
    screen.press("C-q")
    screen.ends()
