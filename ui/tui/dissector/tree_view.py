"""The pane with the tree: a row a thing, unfolded where one wants to look into it."""

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.worker import get_current_worker

from inspector.diagnostics import Location
from ui.tui.commands import Command, bindings
from ui.tui.dissector.commands import TREE_COMMANDS
from ui.tui.line_view import LineList, LineView
from ui.views.dissect.tree import Tree
from ui.views.dissect.tree_rows import TreeRow


class TreeView(LineView, inherit_bindings=False):
    """Shows a tree; `Moved` is posted where another row is under the cursor."""

    ACTIONS: ClassVar[tuple[Command, ...]] = TREE_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(TREE_COMMANDS)]

    class Reading(Message):
        """What lies in a row is being read, which takes a while; `done` when it is there."""

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
        """Show what lies in the row, or hide it."""
        if self._tree is not None and self.row is not None and self._tree.is_open(self.row):
            self._fold()
        else:
            self._unfold()

    def action_unfold(self) -> None:
        """Show what lies in the row; where that is shown, go to the first of it."""
        if self._tree is not None and self.row is not None and self._tree.is_open(self.row):
            self.move_to(self.cursor + 1)
        else:
            self._unfold()

    def action_fold(self) -> None:
        """Hide what lies in the row; where that is hidden, go to the row around it."""
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
