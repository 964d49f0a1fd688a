"""Where the parts of a call's arguments stand in its text."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from inspector.json_scanner import JsonKind, JsonNode, read_json
from inspector.model import ToolCall
from inspector.text import Range


@dataclass
class ArgumentPlaces:
    """Where the parts of a call's arguments stand in its text; read when first asked."""

    call: ToolCall
    _root: JsonNode | None = None
    _is_read: bool = False

    def of(self, path: Sequence[str | int]) -> Range:
        """The characters of the value at `path`, or the nearest value around it."""
        return self._node(path, key=False)

    def key(self, path: Sequence[str | int]) -> Range:
        """The characters of the key at the end of `path`."""
        return self._node(path, key=True)

    @property
    def are_exact(self) -> bool:
        """Whether values have characters of their own, and are JSON, so that an edit of them can be told."""
        if self.call.parameters:
            return False
        return self.call.arguments_range is not None and self.call.decoded is None and self._read() is not None

    def _node(self, path: Sequence[str | int], *, key: bool) -> Range:
        whole = self.call.arguments_range or self.call.range
        if self.call.parameters:
            return self._in_parameter(str(path[0]), path[1:], key=key) if path else whole
        node = self._read()
        if node is None or self.call.arguments_range is None:
            return whole if len(whole) else self.call.range
        place = node.range
        for step in path:
            member = node.member(step) if isinstance(step, str) else None
            found = member.value if member else node.at(f"/{step}") if isinstance(step, int) else None
            if found is None:
                break
            place = member.key_range if member and key else found.range
            node = found
        return self.call.place(place)

    def _in_parameter(self, name: str, path: Sequence[str | int], *, key: bool) -> Range:
        """The characters of a value that stands in a parameter of its own; those of its name where it is empty."""
        found = next((one for one in reversed(self.call.parameters) if one.name == name), None)
        if found is None:
            return self.call.arguments_range or self.call.range
        named = found.name_range or self.call.range
        if not path:
            return named if key or not len(found.range) else found.range
        inner = msgspec.structs.replace(
            self.call, raw_arguments=found.text, arguments_range=found.range, arguments=None, parameters=()
        )
        places = ArgumentPlaces(inner)
        return places.key(path) if key else places.of(path)

    def _read(self) -> JsonNode | None:
        if not self._is_read:
            nodes = read_json(self.call.raw_arguments).nodes
            root = nodes[0] if nodes else None
            is_same = root is not None and (root.kind is not JsonKind.STRING or isinstance(self.call.arguments, str))
            self._root, self._is_read = root if is_same else None, True
        return self._root
