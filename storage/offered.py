"""Sets of tools as turns offer them: packed and hashed once, however many turns offer the same."""

from functools import lru_cache
from hashlib import sha256

from inspector.model import ToolDefinition
from storage.packing.escapes import key
from storage.packing.records import tool_facts
from storage.packing.values import pack
from storage.rows import Toolset


def packed_tools(tools: tuple[ToolDefinition, ...]) -> tuple[bytes, Toolset]:
    """The hash of a set of tools, 32 bytes, and its packed bodies."""
    return _packed(_ToolsIdentity(tools))


class _ToolsIdentity:
    """A set of tools as a cache key by identity: most turns, and most traces of a file, offer the very same tuple."""

    __slots__ = ("tools",)

    def __init__(self, tools: tuple[ToolDefinition, ...]) -> None:
        self.tools = tools

    def __hash__(self) -> int:
        return id(self.tools)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ToolsIdentity) and other.tools is self.tools


@lru_cache(maxsize=32)
def _packed(offered: _ToolsIdentity) -> tuple[bytes, Toolset]:
    packed = tuple((key(tool.name), pack(tool_facts(tool))) for tool in offered.tools)
    return sha256(pack([body for _, body in packed])).digest(), packed
