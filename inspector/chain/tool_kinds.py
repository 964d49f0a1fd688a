"""Whether a tool looks something up or changes something, and what it is about, by the words of its name."""

from enum import Enum

from inspector.chain.terminal_tools import bare_name

_READS_TABLE = (
    "get list search find read fetch lookup look track check show open view query describe browse retrieve load "
    "download scan stat inspect count calculate convert compute translate grep glob cat web"
)
_READS = frozenset(_READS_TABLE.split())
_WRITES_TABLE = (
    "create add book make send post put update set write edit delete remove cancel refund pay transfer submit "
    "order buy sell modify change exchange return move rename upload save insert replace apply patch reset "
    "schedule"
)
_WRITES = frozenset(_WRITES_TABLE.split())


_SEARCHES_TABLE = "search find list query lookup grep glob browse scan filter match select discover"
_SEARCHES = frozenset(_SEARCHES_TABLE.split())


class ToolKind(Enum):
    """What a call of a tool does to the world."""

    READS = "reads"
    WRITES = "writes"
    UNKNOWN = "unknown"


def kind_of(tool: str) -> ToolKind:
    """The kind of a tool by the first word of its name that tells."""
    for word in bare_name(tool).split("_"):
        if word in _READS:
            return ToolKind.READS
        if word in _WRITES:
            return ToolKind.WRITES
    return ToolKind.UNKNOWN


def is_search(tool: str) -> bool:
    """Whether a tool looks for things of which there may be none, by the words of its name."""
    return not _SEARCHES.isdisjoint(bare_name(tool).split("_"))


def subjects_of(tool: str) -> tuple[str, ...]:
    """The words of a tool's name but for the verb before them, without a plural's end: `get_orders`: `order`."""
    first, *others = bare_name(tool).split("_")
    words = others if first in _READS | _WRITES else [first, *others]
    return tuple(word.removesuffix("s") for word in words if len(word) > 2)
