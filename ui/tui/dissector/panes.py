"""The panes of the dissector, how they are placed, and the one with the tree: a row a thing, unfolded on demand."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from inspector.diagnostics import Location
from ui.tui.commands import Command, bindings
from ui.tui.dissector.commands import TREE_COMMANDS
from ui.tui.dissector.side_pane import SidePane, SideView
from ui.tui.dissector.stream_view import StreamView
from ui.tui.line_bar import ClickTarget, LineBar
from ui.tui.line_view import LineList, LineView
from ui.views.dissect.tree import Tree
from ui.views.dissect.tree_rows import TreeRow
from ui.views.styled_text import Run, Style

_NARROW, _LOW, _BROAD = 100, 28, 180
_NAMES = ("tree", "stream", "side")
_TITLES = ("1 tree", "2 stream", "3 verdict and more")
_SMALL = ("tabs", "rows", "pair")
_MEDIUM = ("stacked", "rows", "pair", "tabs")
_LARGE = ("columns", "stacked", "pair", "rows", "tabs")


class TreeView(LineView, inherit_bindings=False):
    """Shows a tree; `Moved` is posted where another row is under the cursor."""

    ACTIONS: ClassVar[tuple[Command, ...]] = TREE_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(TREE_COMMANDS)]

    class Reading(Message):
        """What is in a row is being read, which takes a while; `done` when it is there."""

        def __init__(self, *, done: bool) -> None:
            super().__init__()
            self.done = done

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tree: Tree | None = None

    @property
    def row(self) -> TreeRow | None:
        """The row under the cursor."""
        return self._tree.row(self.cursor) if self._tree is not None and self._tree.count else None

    def show_tree(self, tree: Tree) -> None:
        """Show a tree, from its beginning."""
        self._tree = tree
        self.show(tree)

    def show_nothing(self) -> None:
        """Show no tree."""
        self._tree = None
        self.show(LineList())

    def reveal_place(self, location: Location) -> TreeRow | None:
        """Put the cursor on the innermost row that holds a place, without telling; that row."""
        if self._tree is None:
            return None
        count = self._tree.count
        index = self._tree.reveal(location)
        if index is None:
            return None
        if self._tree.count != count:
            self.renew()
        with self.prevent(LineView.Moved):
            self.move_to(index, centred=True)
        return self._tree.row(index)

    def action_turn_over(self) -> None:
        """Show what is in the row, or hide it."""
        if self._tree is not None and self.row is not None and self._tree.is_open(self.row):
            self._fold()
        else:
            self._unfold()

    def action_unfold(self) -> None:
        """Show what is in the row; where that is shown, go to the first of it."""
        if self._tree is not None and self.row is not None and self._tree.is_open(self.row):
            self.move_to(self.cursor + 1)
        else:
            self._unfold()

    def action_fold(self) -> None:
        """Hide what is in the row; where that is hidden, go to the row around it."""
        if self._tree is None or self.row is None:
            return
        if self._tree.is_open(self.row):
            self._fold()
        elif (parent := self._tree.parent(self.cursor)) is not None:
            self.move_to(parent)

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        """A second click on a row unfolds it, or folds it."""
        event.stop()
        self.action_turn_over()

    def on_click(self, event: events.Click) -> None:
        """A click selects the row; one on its sign unfolds it."""
        before = self.cursor
        super().on_click(event)
        row, cell = self.row, event.get_content_offset_capture(self).x
        if row is not None and row.expandable and self.cursor != before and 0 <= cell - 2 * min(row.depth, 12) < 2:
            self.action_turn_over()

    def _fold(self) -> None:
        if self._tree is not None and self._tree.collapse(self.cursor):
            self.renew()

    def _unfold(self) -> None:
        row = self.row
        if self._tree is None or row is None or not row.expandable:
            return
        if self._tree.is_heavy(row):
            self.run_worker(lambda: self._read(row), thread=True, group="tree", exclusive=True)
        elif self._tree.expand(self.cursor):
            self.renew()

    def _read(self, row: TreeRow) -> None:
        """Read what takes a while; runs in a thread."""
        tree = self._tree
        if tree is None:
            return
        worker = get_current_worker()
        self.post_message(self.Reading(done=False))
        tree.grow(row)
        self.post_message(self.Reading(done=True))
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_read, tree, row)

    def _show_read(self, tree: Tree, row: TreeRow) -> None:
        index = tree.find(row.key)
        if tree is self._tree and index is not None and tree.expand(index):
            self.renew()


class Panes(Container):
    """Tree, stream and side views. `layout` is one of `stacked`, `columns`, `pair`, `rows` and `tabs`."""

    DEFAULT_CSS = """
    Panes { height: 1fr; layout: grid; grid-gutter: 0; background: $background; }
    Panes > .pane { border: round $edge; border-title-color: $dim; height: 100%; width: 100%; }
    Panes > .pane:focus, Panes > .pane:focus-within { border: round $border; border-title-style: bold; }
    Panes > #tabs { display: none; }
    Panes.-stacked { grid-size: 2 2; grid-columns: 1fr 2fr; grid-rows: 1fr 12; }
    Panes.-stacked > #side { column-span: 2; }
    Panes.-columns { grid-size: 3 1; grid-columns: 4fr 8fr 6fr; grid-rows: 1fr; }
    Panes.-pair { grid-size: 2 1; grid-columns: 1fr 2fr; grid-rows: 1fr; }
    Panes.-pair > #side { display: none; }
    Panes.-rows { grid-size: 1 2; grid-columns: 1fr; grid-rows: 2fr 1fr; }
    Panes.-rows > #tree { display: none; }
    Panes.-tabs { grid-size: 1 2; grid-columns: 1fr; grid-rows: 1 1fr; }
    Panes.-tabs > #tabs { display: block; }
    Panes.-tabs > .pane { display: none; border: none; }
    Panes.-tabs > .pane.-current { display: block; border: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._layout_name = ""
        self._wanted = 0
        self._zoomed = False
        self._current = "stream"

    def compose(self) -> ComposeResult:
        """The bar of the tabs, and the panes."""
        yield LineBar(id="tabs")
        for made, title in zip(
            (TreeView(id="tree"), StreamView(id="stream"), SidePane(id="side")), _TITLES, strict=True
        ):
            made.add_class("pane")
            made.border_title = title
            yield made

    @property
    def branches(self) -> TreeView:
        """The tree."""
        return self.query_one(TreeView)

    @property
    def stream(self) -> StreamView:
        """The stream."""
        return self.query_one(StreamView)

    @property
    def side(self) -> SidePane:
        """The side views."""
        return self.query_one(SidePane)

    @property
    def current(self) -> str:
        """The pane that has, or had, the keys: `tree`, `stream` or `side`."""
        return self._current

    @property
    def placing(self) -> str:
        """How the panes are placed now."""
        return self._layout_name

    @property
    def is_zoomed(self) -> bool:
        """Whether one pane is shown alone because somebody wanted that."""
        return self._zoomed

    def on_mount(self) -> None:
        """Place them."""
        self._place()

    def on_resize(self) -> None:
        """Another size may want another way."""
        self._place()

    def focus_pane(self, name: str) -> None:
        """Give the keys to a pane, which is shown for it."""
        self._current = name
        if name not in self._shown():
            self._wanted = self._ways().index("tabs") if "tabs" in self._ways() else self._wanted
        self._place()
        self._focusable(name).focus()

    def focus_beside(self, by: int) -> None:
        """Give the keys to the next pane, or the one before."""
        shown = _NAMES if self._layout_name == "tabs" else self._shown()
        at = shown.index(self._current) if self._current in shown else 0
        self.focus_pane(shown[(at + by) % len(shown)])

    def next_placing(self) -> None:
        """Place the panes in the next way."""
        self._zoomed = False
        self._wanted = (self._wanted + 1) % len(self._ways())
        self._place()
        if self._current not in self._shown():
            self._current = "stream"
        self._focusable(self._current).focus()

    def zoom(self) -> None:
        """Show the focused pane alone, or all again."""
        self._zoomed = not self._zoomed
        self._place()
        self._focusable(self._current).focus()

    def on_descendant_focus(self) -> None:
        """Remember who has the keys."""
        focused = self.screen.focused
        inside = [name for name in _NAMES if focused is not None and self._focusable(name) is focused]
        if inside and inside[0] != self._current:
            self._current = inside[0]
            self._place()

    def on_line_bar_pressed(self, event: LineBar.Pressed) -> None:
        """A tab was clicked."""
        event.stop()
        self.focus_pane(event.name)

    def _focusable(self, name: str) -> Widget:
        return self.query_one(SideView) if name == "side" else self.query_one(f"#{name}")

    def _ways(self) -> tuple[str, ...]:
        width, height = self.size
        if width < _NARROW or height < _LOW - 4:
            return _SMALL
        return _LARGE if width >= _BROAD else _MEDIUM

    def _shown(self) -> tuple[str, ...]:
        hidden = {"pair": ("side",), "rows": ("tree",)}.get(self._layout_name, ())
        if self._layout_name == "tabs":
            return (self._current,)
        return tuple(name for name in _NAMES if name not in hidden)

    def _place(self) -> None:
        ways = self._ways()
        self._wanted = min(self._wanted, len(ways) - 1)
        self._layout_name = "tabs" if self._zoomed else ways[self._wanted]
        for name in {*_SMALL, *_MEDIUM, *_LARGE}:
            self.set_class(name == self._layout_name, f"-{name}")
        for name in _NAMES:
            self.query_one(f"#{name}").set_class(name == self._current, "-current")
        spots = []
        for name, title in zip(_NAMES, _TITLES, strict=True):
            is_here = name == self._current
            spots.append(
                ClickTarget(name, (Run(f"[{title}]" if is_here else title, Style.STRONG if is_here else Style.DIM),))
            )
        self.query_one("#tabs", LineBar).offer(spots)
