"""The panes of the dissector, their layouts, and the pane with the tree, whose rows are unfolded on demand."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from weaklink.inspector.diagnostics import Location
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dissector.commands import TREE_COMMANDS
from weaklink.ui.tui.dissector.side_pane import SidePane, SideView
from weaklink.ui.tui.dissector.stream_view import StreamView
from weaklink.ui.tui.line_bar import ClickTarget, LineBar
from weaklink.ui.tui.line_view import LineList, LineView
from weaklink.ui.views.dissect.tree import Tree
from weaklink.ui.views.dissect.tree_rows import TreeRow
from weaklink.ui.views.styled_text import Run, Style

_NARROW, _LOW, _BROAD = 100, 28, 180
_NAMES = ("tree", "stream", "side")
_TITLES = ("1 tree", "2 stream", "3 verdict and more")
_SMALL = ("tabs", "rows", "pair")
_MEDIUM = ("stacked", "rows", "pair", "tabs")
_LARGE = ("columns", "stacked", "pair", "rows", "tabs")


class TreeView(LineView, inherit_bindings=False):
    """Shows a tree; posts `Moved` when another row is under the cursor."""

    ACTIONS: ClassVar[tuple[Command, ...]] = TREE_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(TREE_COMMANDS)]

    class Reading(Message):
        """The content of a row is being read, which takes a while; `done` when it is read."""

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
        """Put the cursor on the innermost row that contains a place, without posting `Moved`; return that row."""
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
        """Unfold the row, or fold it."""
        if self._tree is not None and self.row is not None and self._tree.is_open(self.row):
            self._fold()
        else:
            self._unfold()

    def action_unfold(self) -> None:
        """Unfold the row; if it is unfolded, go to its first child."""
        if self._tree is not None and self.row is not None and self._tree.is_open(self.row):
            self.move_to(self.cursor + 1)
        else:
            self._unfold()

    def action_fold(self) -> None:
        """Fold the row; if it is folded, go to its parent."""
        if self._tree is None or self.row is None:
            return
        if self._tree.is_open(self.row):
            self._fold()
        elif (parent := self._tree.parent(self.cursor)) is not None:
            self.move_to(parent)

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        """Unfold or fold a row on a second click."""
        event.stop()
        self.action_turn_over()

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row; a click on its fold marker also unfolds it."""
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
        """Read the content of a row, which takes a while; runs in a thread."""
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
    """Tree, stream and side views, in one of the layouts `stacked`, `columns`, `pair`, `rows` and `tabs`."""

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
        self._layout_index = 0
        self._zoomed = False
        self._current = "stream"

    def compose(self) -> ComposeResult:
        """The bar of the tabs, and the panes."""
        yield LineBar(id="tabs")
        for pane, title in zip(
            (TreeView(id="tree"), StreamView(id="stream"), SidePane(id="side")), _TITLES, strict=True
        ):
            pane.add_class("pane")
            pane.border_title = title
            yield pane

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
        """The pane that has, or last had, the focus: `tree`, `stream` or `side`."""
        return self._current

    @property
    def layout_name(self) -> str:
        """The name of the current layout."""
        return self._layout_name

    @property
    def is_zoomed(self) -> bool:
        """Whether the user has zoomed one pane."""
        return self._zoomed

    def on_mount(self) -> None:
        """Apply the layout."""
        self._apply_layout()

    def on_resize(self) -> None:
        """Apply the layout again: another size may require another one."""
        self._apply_layout()

    def focus_pane(self, name: str) -> None:
        """Focus a pane; shows it if it is hidden."""
        self._current = name
        if name not in self._shown():
            self._layout_index = self._layouts().index("tabs") if "tabs" in self._layouts() else self._layout_index
        self._apply_layout()
        self._focusable(name).focus()

    def focus_beside(self, by: int) -> None:
        """Focus the next pane, or the previous one."""
        shown = _NAMES if self._layout_name == "tabs" else self._shown()
        index = shown.index(self._current) if self._current in shown else 0
        self.focus_pane(shown[(index + by) % len(shown)])

    def next_layout(self) -> None:
        """Switch to the next layout."""
        self._zoomed = False
        self._layout_index = (self._layout_index + 1) % len(self._layouts())
        self._apply_layout()
        if self._current not in self._shown():
            self._current = "stream"
        self._focusable(self._current).focus()

    def zoom(self) -> None:
        """Show the focused pane alone, or all again."""
        self._zoomed = not self._zoomed
        self._apply_layout()
        self._focusable(self._current).focus()

    def on_descendant_focus(self) -> None:
        """Note which pane has the focus."""
        focused = self.screen.focused
        inside = [name for name in _NAMES if focused is not None and self._focusable(name) is focused]
        if inside and inside[0] != self._current:
            self._current = inside[0]
            self._apply_layout()

    def on_line_bar_pressed(self, event: LineBar.Pressed) -> None:
        """Focus the pane whose tab was clicked."""
        event.stop()
        self.focus_pane(event.name)

    def _focusable(self, name: str) -> Widget:
        return self.query_one(SideView) if name == "side" else self.query_one(f"#{name}")

    def _layouts(self) -> tuple[str, ...]:
        width, height = self.size
        if width < _NARROW or height < _LOW - 4:
            return _SMALL
        return _LARGE if width >= _BROAD else _MEDIUM

    def _shown(self) -> tuple[str, ...]:
        hidden = {"pair": ("side",), "rows": ("tree",)}.get(self._layout_name, ())
        if self._layout_name == "tabs":
            return (self._current,)
        return tuple(name for name in _NAMES if name not in hidden)

    def _apply_layout(self) -> None:
        layouts = self._layouts()
        self._layout_index = min(self._layout_index, len(layouts) - 1)
        self._layout_name = "tabs" if self._zoomed else layouts[self._layout_index]
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
