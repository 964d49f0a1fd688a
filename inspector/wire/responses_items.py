"""The output items of one of OpenAI's responses, as wire events.

Texts, refusals and reasoning go to the parts of these names, a `function_call` or `custom_tool_call` is a call. What
the server offers itself (`web_search_call`, `mcp_call`, ...) is kept word for word: item N as it began in `content:N`,
what it grew by in `content:N:delta`, and as it ended in `content:N:done`.

A text comes up to four times: in pieces, whole at the end of its piece of content, in the item that is done, and in the
response that is completed. The pieces count; what comes whole is read where no piece came before it, and where it
contradicts the pieces that is told.
"""

from typing import NamedTuple

from inspector.wire.events import CallNamed, PartGrew, WireEvent
from inspector.wire.openai_shapes import TokenLogprob
from inspector.wire.responses_shapes import ContentPiece, Item, ResponseEvent, read_item
from inspector.wire.shapes import raw_text

ANNOTATIONS_PART = "wire:annotations"
"""The part that keeps, as JSON texts, the annotations of a text."""

_CUSTOM = "custom_tool_call"
_CALLS = frozenset({"function_call", _CUSTOM})
_READ = _CALLS | {"message", "reasoning"}


class ItemText(NamedTuple):
    """A text of an item: its key among them, and the part that it goes to.

    The part is `call` for what a call is given, whose own part it is then, and `content` for what is kept as it came.
    """

    key: str
    part: str


class _OpenItem:
    """An item as far as it came, and its texts by the place that they have in it."""

    __slots__ = ("call", "id", "index", "is_done", "is_named", "kind", "texts")

    def __init__(self, index: int, kind: str, id_: str | None) -> None:
        self.index = index
        self.kind = kind
        self.id = id_
        self.call = ""  # the part that holds a call's arguments
        self.is_named = False  # whether the call's name came
        self.is_done = False
        self.texts: dict[str, list[str]] = {}


class ItemsReader:
    """Gives each item its parts. `last_part` is the part that grew last.

    `reused_index` is the index under which the latest item came although another call has it, None where it did not.
    `contradicting` are the places of texts that came whole and differ from their pieces; the reader that has this
    object empties it.
    """

    __slots__ = ("_by_id", "_by_index", "_calls", "_count", "contradicting", "last_part", "reused_index")

    def __init__(self) -> None:
        self._by_index: dict[int, _OpenItem] = {}
        self._by_id: dict[str, _OpenItem] = {}
        self._calls = 0
        self._count = 0
        self.last_part = "text"
        self.reused_index: int | None = None
        self.contradicting: list[str] = []

    def open(self, index: int | None, text: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        """Append what an item, whose JSON text this is, begins with; the paths of what is not known come back."""
        try:
            item, strange = read_item(text)
        except ValueError:
            return ["item"]
        known = self._by_index.get(self._count if index is None else index)
        self.reused_index = index if known and known.id != item.id and known.kind in _CALLS else None
        self._begin(index, item, text, at_s, found)
        return [f"item.{path}" for path in strange]

    def finish(self, index: int | None, text: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        """Append what an item that is done adds to what came of it; the paths of what is not known come back."""
        try:
            item, strange = read_item(text)
        except ValueError:
            return ["item"]
        known = self._known(item.id, index)
        if known is None or known.kind != item.type:
            known = self._begin(index, item, "", at_s, found)
        if known.is_done:
            return []
        known.is_done = True
        if item.type not in _READ:
            found.append(
                PartGrew(f"content:{known.index}:done" if known.texts else f"content:{known.index}", text, at_s)
            )
            return []
        if known.call and not known.is_named and item.name:
            found.append(CallNamed(known.call, item.name, item.call_id or None, item.type == _CUSTOM))
        strange += self._read_texts(known, item, at_s, found)
        if item.encrypted_content:
            found.append(PartGrew(f"wire:encrypted_reasoning:{known.index}", item.encrypted_content, at_s))
        return [f"item.{path}" for path in strange]

    def grow(self, place: ItemText, event: ResponseEvent, at_s: float | None, found: list[WireEvent]) -> list[str]:
        """Append a piece of a text; the path of what says where it belongs comes back if nothing is there."""
        item = self._known(event.item_id, event.output_index)
        strange = []
        if item is None:
            strange = ["output_index"]
            kind = "function_call" if place.part == "call" else "message"
            item = self._begin(event.output_index, Item(kind, event.item_id), "", at_s, found)
        text = event.delta or ""
        item.texts.setdefault(place.key, []).append(text)
        self._grow(_part(item, place), text, at_s, found, logprobs=event.logprobs)
        return strange

    def complete(
        self, place: ItemText, text: str | None, event: ResponseEvent, at_s: float | None, found: list[WireEvent]
    ) -> list[str]:
        """Append a text that is whole where no piece of it came; the path comes back of an item that is not there."""
        item = self._known(event.item_id, event.output_index)
        if item is None:
            return ["output_index"]
        self._complete(item, place, text, at_s, found)
        return []

    def _known(self, id_: str | None, index: int | None) -> _OpenItem | None:
        if id_ and id_ in self._by_id:
            return self._by_id[id_]
        return None if index is None else self._by_index.get(index)

    def _begin(self, index: int | None, item: Item, text: str, at_s: float | None, found: list[WireEvent]) -> _OpenItem:
        """A new item; `text` is its JSON text where it shall be kept, else empty."""
        opened = _OpenItem(self._count if index is None else index, item.type, item.id)
        if opened.index in self._by_index:
            opened.index = self._count
        self._count = max(self._count, opened.index) + 1
        self._by_index[opened.index if index is None else index] = opened
        if item.id:
            self._by_id[item.id] = opened
        if item.type in _CALLS:
            opened.call = self.last_part = f"call:{self._calls}"
            self._calls += 1
            opened.is_named = bool(item.name)
            found.append(CallNamed(opened.call, item.name or None, item.call_id or None, item.type == _CUSTOM))
        elif item.type not in _READ and text:
            opened.texts["item"] = [text]
            found.append(PartGrew(f"content:{opened.index}", text, at_s))
        return opened

    def _read_texts(self, known: _OpenItem, item: Item, at_s: float | None, found: list[WireEvent]) -> list[str]:
        strange = []
        if known.call:
            text = item.arguments if item.type == "function_call" else item.input
            self._complete(known, ItemText("call", "call"), text, at_s, found)
        for at, piece in enumerate(item.summary or ()):
            self._complete(known, ItemText(f"summary[{at}]", "reasoning"), piece.text, at_s, found)
        for at, piece in enumerate(item.content or ()):
            strange += self._read_content(known, at, piece, at_s, found)
        return strange

    def _read_content(
        self, known: _OpenItem, at: int, piece: ContentPiece, at_s: float | None, found: list[WireEvent]
    ) -> list[str]:
        annotations = raw_text(piece.annotations)
        if annotations.strip("[] \t\r\n") and "annotations" not in known.texts:
            found.append(PartGrew(ANNOTATIONS_PART, annotations, at_s))
        key = f"content[{at}]"
        match piece.type:
            case "output_text" | "text":
                self._complete(known, ItemText(key, "text"), piece.text, at_s, found, logprobs=piece.logprobs)
            case "refusal":
                self._complete(known, ItemText(f"refusal[{at}]", "refusal"), piece.refusal, at_s, found)
            case "reasoning_text":
                self._complete(known, ItemText(key, "reasoning"), piece.text, at_s, found)
            case _:
                return [f"{key}.type {piece.type}"]
        return []

    def annotate(self, event: ResponseEvent, at_s: float | None, found: list[WireEvent]) -> None:
        """Append an annotation of a text."""
        item = self._known(event.item_id, event.output_index)
        if item is not None:
            item.texts.setdefault("annotations", [])
        found.append(PartGrew(ANNOTATIONS_PART, raw_text(event.annotation), at_s))

    def _complete(
        self,
        item: _OpenItem,
        place: ItemText,
        text: str | None,
        at_s: float | None,
        found: list[WireEvent],
        *,
        logprobs: list[TokenLogprob] | None = None,
    ) -> None:
        pieces = item.texts.get(place.key)
        if pieces:
            item.texts[place.key] = pieces = ["".join(pieces)]
            if text is not None and pieces[0] != text:
                self.contradicting.append(place.key)
        elif text:
            item.texts[place.key] = [text]
            self._grow(_part(item, place), text, at_s, found, logprobs=logprobs)

    def _grow(
        self,
        part: str,
        text: str,
        at_s: float | None,
        found: list[WireEvent],
        *,
        logprobs: list[TokenLogprob] | None = None,
    ) -> None:
        numbers = tuple(token.logprob for token in logprobs or () if token.logprob is not None) or None
        if text or numbers:
            if not part.startswith("content:"):
                self.last_part = part
            found.append(PartGrew(part, text, at_s, None, numbers))


def _part(item: _OpenItem, place: ItemText) -> str:
    if place.part == "content" or (place.part == "call" and not item.call):
        return f"content:{item.index}:delta"
    return item.call if place.part == "call" else place.part
