"""The views of the dissector as text: each scene at two widths, compared with the file under tests/cases/dissect."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.ui.views.dissect import scenes
from weaklink.inspector.inspection import data_flow_of
from weaklink.inspector.text import Range
from weaklink.storage.marks import Mark
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import step_at
from weaklink.ui.views.dissect.raw import raw, schema
from weaklink.ui.views.dissect.side import (
    SideSource,
    diagnostic_list,
    initial_position,
    notes,
    origins,
    step_list,
    verdict,
)
from weaklink.ui.views.dissect.stream import StreamLayout
from weaklink.ui.views.dissect.timing import StreamOptions, timing
from weaklink.ui.views.dissect.tree import Tree
from weaklink.ui.views.styled_text import Line, Run, plain, width_of

CASES = Path(__file__).parents[3] / "cases" / "dissect"
WIDTHS = (60, 110)


def _stream(dissection: Dissection, width: int, options: StreamOptions) -> Iterable[Line]:
    layout = StreamLayout(dissection, width, options)
    return (row.line for _, row in layout.below(layout.first()))


def _tree(dissection: Dissection, width: int) -> Iterator[Line]:
    tree = Tree(dissection)
    index = 0
    while index < tree.count:
        tree.expand(index)
        index += 1
    return (tree.line(index, width) for index in range(tree.count))


def _side(source: SideSource, dissection: Dissection, width: int) -> Iterator[Line]:
    """Each line, and below it the beginning of what it leads to where that is another place than before."""
    before = None
    for index in range(source.count):
        yield source.line(index, width)
        location = source.location(index)
        if location is not None and location != before:
            yield (Run(f"      -> {dissection.text_of(location)[:30]!r}"),)
        before = location


def stream_of_a_broken_trace(width: int) -> Iterable[Line]:
    return _stream(scenes.broken(), width, StreamOptions())


def stream_with_all_lanes(width: int) -> Iterable[Line]:
    options = StreamOptions(white_space=True, chunks=True, ids=True, logprobs=True)
    return _stream(scenes.streamed(), width, options)


def stream_of_a_hostile_trace(width: int) -> Iterable[Line]:
    return _stream(scenes.hostile(), width, StreamOptions(white_space=True))


def tree_of_a_broken_trace(width: int) -> Iterable[Line]:
    return _tree(scenes.broken(), width)


def tree_of_a_streamed_trace(width: int) -> Iterable[Line]:
    return _tree(scenes.streamed(), width)


def tree_of_a_hostile_trace(width: int) -> Iterable[Line]:
    return _tree(scenes.hostile(), width)


def sides_of_a_streamed_trace(width: int) -> Iterator[Line]:
    return _sides(scenes.streamed(), width)


def sides_of_a_broken_trace(width: int) -> Iterator[Line]:
    return _sides(scenes.broken(), width)


def sides_of_a_hostile_trace(width: int) -> Iterator[Line]:
    return _sides(scenes.hostile(), width)


def sides_of_nothing(width: int) -> Iterator[Line]:
    return _sides(scenes.of_text(""), width)


def _sides(dissection: Dissection, width: int) -> Iterator[Line]:
    initial = initial_position(dissection.inspection) or dissection.parts[-1].location(Range(0, 0))
    flow = data_flow_of(dissection.trace, dissection.inspection)
    views = {
        "verdict": verdict(dissection, width),
        "diagnostics": diagnostic_list(dissection),
        "steps": step_list(dissection),
        "schema": schema(dissection, initial, width),
        "origins": origins(flow, step_at(dissection, initial)),
        "timing": timing(dissection),
        "raw": raw(dissection, initial, width),
        "notes": notes(dissection, [Mark(1, step=1, note="Look at the unit."), Mark(1, turn=1), Mark(1)], width),
    }
    for name, view in views.items():
        yield (Run(f"== {name}"),)
        yield from _side(view, dissection, width)


SCENES: tuple[Callable[[int], Iterable[Line]], ...] = (
    stream_of_a_broken_trace,
    stream_with_all_lanes,
    stream_of_a_hostile_trace,
    tree_of_a_broken_trace,
    tree_of_a_streamed_trace,
    tree_of_a_hostile_trace,
    sides_of_a_streamed_trace,
    sides_of_a_broken_trace,
    sides_of_a_hostile_trace,
    sides_of_nothing,
)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_scene_looks_as_agreed(scene: Callable[[int], Iterable[Line]], width: int, update_goldens: bool) -> None:
    path = CASES / f"{scene.__name__}.{width}.txt"
    lines = list(scene(width))
    assert [plain(line) for line in lines if width_of(line) > width] == []
    shown = "".join(plain(line).rstrip(" ") + "\n" for line in lines)
    assert [
        character for character in shown if unicodedata.category(character)[0] == "C" and character not in "\n\u200d"
    ] == []
    if update_goldens:
        path.write_text(shown, encoding="utf-8")
    else:
        mend = "`make test ARGS='tests/ui/views/dissect --update-goldens'` mends it; read what it writes"
        assert shown == path.read_text(encoding="utf-8"), mend


def test_every_file_belongs_to_a_scene() -> None:
    wanted = {f"{scene.__name__}.{width}.txt" for scene in SCENES for width in WIDTHS}
    assert {path.name for path in CASES.iterdir()} == wanted
