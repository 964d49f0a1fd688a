"""The content blocks of one of Anthropic's messages, as wire events.

Text and thoughts go to `text` and `reasoning`, a `tool_use` is a call. Signatures and redacted thoughts, which only the
server reads, are kept in `wire:signature:N` and `wire:redacted_thinking:N`, N the block's index. What the server ran
itself (`server_tool_use`, `web_search_tool_result`, ...) is no call of the agent's: the block is kept word for word in
`content:N`, input that is streamed after it in `content:N:input`, other growth in `content:N:delta`.
"""

from inspector.wire.anthropic_shapes import BlockDelta, ContentBlockShape, read_block, read_kind
from inspector.wire.events import CallNamed, PartGrew, WireEvent
from inspector.wire.shapes import raw_text

CITATIONS_PART = "wire:citations"
"""The part that keeps, as JSON texts, the citations of a text."""

_READ = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_KEPT = frozenset(
    {"container_upload", "image", "document", "search_result", "compaction", "fallback", "mcp_tool_listing"}
)
_KEPT_ENDINGS = ("_tool_use", "_tool_result")


class BlocksReader:
    """Gives each block its parts. A block is opened, grows, and is closed; `last_part` is the part that grew last."""

    __slots__ = ("_count", "_grown", "_inputs", "_parts", "last_part")

    def __init__(self) -> None:
        self._count = 0  # of calls
        self._parts: dict[int, str] = {}  # where a block's input goes, by index
        self._inputs: dict[int, str] = {}  # the input with which an open call began
        self._grown: set[int] = set()  # calls whose input was streamed
        self.last_part = "text"

    def open(self, index: int, text: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        """Append what a block, whose JSON text this is, begins with; the paths of what is not known come back."""
        try:
            kind, _ = read_kind(text)
        except ValueError:
            return [f"content_block[{index}]"]
        if kind.type not in _READ:
            found.append(PartGrew(f"content:{index}", text, at_s))
            self._parts[index] = f"content:{index}:input"
            is_known = kind.type in _KEPT or kind.type.endswith(_KEPT_ENDINGS)
            return [] if is_known else [f"content_block.type {kind.type}"]
        block, strange = read_block(text)
        self._read(index, block, at_s, found)
        return [f"content_block.{path}" for path in strange]

    def grow(self, index: int, delta: BlockDelta, at_s: float | None, found: list[WireEvent]) -> list[str]:
        """Append what a block grew by; the paths of what is not known come back."""
        match delta.type:
            case "text_delta":
                self._grow("text", delta.text, at_s, found)
            case "input_json_delta":
                return self._grow_input(index, delta.partial_json, at_s, found)
            case "thinking_delta":
                self._grow("reasoning", delta.thinking, at_s, found)
            case "signature_delta" if delta.signature:
                found.append(PartGrew(f"wire:signature:{index}", delta.signature, at_s))
            case "citations_delta":
                found.append(PartGrew(CITATIONS_PART, raw_text(delta.citation), at_s))
            case "compaction_delta":
                self._grow(f"content:{index}:delta", delta.content, at_s, found)
                self._grow(f"content:{index}:encrypted", delta.encrypted_content, at_s, found)
            case "signature_delta":
                pass
            case _:
                return [f"delta.type {delta.type}"]
        return []

    def close(self, index: int, at_s: float | None, found: list[WireEvent], *, is_whole: bool = False) -> None:
        """The block is complete: a call whose input was not streamed has the one that it began with.

        An empty object at the head of a stream is a placeholder; in a message that `is_whole` it is the input.
        """
        text = self._inputs.pop(index, "")
        if text and index not in self._grown and (is_whole or text.replace(" ", "") != "{}"):
            self._grow(self._parts[index], text, at_s, found)

    def _read(self, index: int, block: ContentBlockShape, at_s: float | None, found: list[WireEvent]) -> None:
        match block.type:
            case "text":
                self._grow("text", block.text, at_s, found)
            case "thinking":
                self._grow("reasoning", block.thinking, at_s, found)
            case "redacted_thinking" if block.data:
                found.append(PartGrew(f"wire:redacted_thinking:{index}", block.data, at_s))
            case "tool_use":
                self._open_call(index, CallNamed(f"call:{self._count}", block.name, block.id), found)
                self._inputs[index] = raw_text(block.input)
        if block.signature:
            found.append(PartGrew(f"wire:signature:{index}", block.signature, at_s))
        if (citations := raw_text(block.citations)) and citations != "[]":
            found.append(PartGrew(CITATIONS_PART, citations, at_s))

    def _open_call(self, index: int, call: CallNamed, found: list[WireEvent]) -> None:
        self._count += 1
        self._parts[index] = self.last_part = call.part
        self._grown.discard(index)
        found.append(call)

    def _grow_input(self, index: int, text: str | None, at_s: float | None, found: list[WireEvent]) -> list[str]:
        is_known = index in self._parts
        if not is_known:
            self._open_call(index, CallNamed(f"call:{self._count}"), found)
        if text:
            self._grown.add(index)
            self._grow(self._parts[index], text, at_s, found)
        return [] if is_known else ["index"]

    def _grow(self, part: str, text: str | None, at_s: float | None, found: list[WireEvent]) -> None:
        if text:
            if not part.startswith("content:"):
                self.last_part = part
            found.append(PartGrew(part, text, at_s))
