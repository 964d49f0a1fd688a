"""The values of a JSON text as rows of the tree, each with its exact characters."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inspector.json_scanner import JsonKind, JsonNode, Member
from inspector.text import Range
from ui.views.dissect.bundles import MOST_CHILDREN
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.tree_row import TreeRow, fault_mark
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.visible import visible_line
from ui.views.wording import counted

_LONGEST = 200
_STYLES = {
    JsonKind.STRING: Style.ADDED,
    JsonKind.NUMBER: Style.INFO,
    JsonKind.TRUE: Style.INFO,
    JsonKind.FALSE: Style.INFO,
    JsonKind.NULL: Style.DIM,
    JsonKind.OTHER: Style.WARNING,
}


@dataclass(frozen=True, slots=True)
class JsonRows:
    """Makes rows of JSON values: `text` is what they were read from, `place` turns its ranges into the part's.

    `step` and the beginning of the `pointer` are those of the call whose arguments they are; a result's have none.
    """

    part: DissectedPart
    text: str
    place: Callable[[Range], Range]
    step: int | None = None
    is_argument: bool = True

    def row(self, key: tuple[str | int, ...], name: Line, node: JsonNode, pointer: str, whole: Range) -> TreeRow:
        """A value under its name; `whole` are the characters that select it, its key included where it has one."""
        value = self.place(node.range)
        wrong = self.part.wrong_in(self.place(whole))
        children = node.members or node.items
        return TreeRow(
            key,
            (*name, *fault_mark(wrong), *_value(self.text, node)),
            self.part.location(value),
            self.step,
            pointer if self.is_argument else None,
            (lambda: self.children(key, node, pointer)) if children else None,
            wrong,
            named=self.part.location(self.place(whole)),
        )

    def children(self, key: tuple[str | int, ...], node: JsonNode, pointer: str) -> Iterator[TreeRow]:
        """The members of an object or the elements of an array, in bundles where they are many."""
        children: Sequence[Member | JsonNode] = node.members or node.items
        if len(children) <= MOST_CHILDREN:
            yield from self._some(key, children, 0, pointer)
            return
        for start in range(0, len(children), MOST_CHILDREN):
            yield self._bundle(key, children[start : start + MOST_CHILDREN], start, pointer)

    def _bundle(
        self, key: tuple[str | int, ...], some: Sequence[Member | JsonNode], start: int, pointer: str
    ) -> TreeRow:
        own = (*key, f"{start}…")
        covered = Range(_whole(some[0]).start, _whole(some[-1]).end)
        wrong = self.part.wrong_in(self.place(covered))
        label = (Run(f"{start:,} … {start + len(some) - 1:,}", Style.DIM), Run(" "), *fault_mark(wrong))
        place = self.part.location(self.place(covered))
        return TreeRow(own, label, place, self.step, None, lambda: self._some(own, some, start, pointer), wrong)

    def _some(
        self, key: tuple[str | int, ...], some: Sequence[Member | JsonNode], start: int, pointer: str
    ) -> Iterator[TreeRow]:
        for index, child in enumerate(some, start):
            if isinstance(child, Member):
                name = (Run(visible_line(child.key[:_LONGEST]), Style.KEY), Run("  "))
                below = f"{pointer}/{child.key.replace('~', '~0').replace('/', '~1')}"
                yield self.row((*key, index), name, child.value, below, _whole(child))
            else:
                name = (Run(f"{index}", Style.DIM), Run("  "))
                yield self.row((*key, index), name, child, f"{pointer}/{index}", child.range)


def _whole(child: Member | JsonNode) -> Range:
    return Range(child.key_range.start, child.value.range.end) if isinstance(child, Member) else child.range


def _value(text: str, node: JsonNode) -> Line:
    if node.kind is JsonKind.OBJECT:
        return (Run(f"{{…}} {counted(len(node.members), 'member')}" if node.members else "{}", Style.DIM),)
    if node.kind is JsonKind.ARRAY:
        return (Run(f"[…] {counted(len(node.items), 'element')}" if node.items else "[]", Style.DIM),)
    written = text[node.range.start : min(node.range.end, node.range.start + _LONGEST)]
    more = (Run(f"… {counted(len(node.range), 'character')}", Style.DIM),) if len(node.range) > _LONGEST else ()
    return (Run(visible_line(written), _STYLES[node.kind]), *more)
