"""Which call a streamed piece belongs to: OpenAI keys pieces by `index`, and not every server keeps to it."""

from inspector.wire.openai_shapes import FunctionPiece, ToolCallDelta

LEGACY_INDEX = -1
"""The index under which the one call of the legacy `function_call` stands."""


class StreamedCall:
    """A call as far as it has come: its part, its header, and whether its arguments may be complete."""

    __slots__ = ("id", "looks_complete", "name", "part")

    def __init__(self, part: str) -> None:
        self.part = part
        self.name = ""
        self.id = ""
        self.looks_complete = False

    def learn(self, piece: ToolCallDelta, function: FunctionPiece) -> bool:
        """Take the header that comes with a piece; whether it said anything new. The first id and name stay."""
        new = bool((piece.id and not self.id) or (function.name and not self.name))
        self.id = self.id or piece.id or ""
        self.name = self.name or function.name or ""
        return new

    def contradicts(self, piece: ToolCallDelta, function: FunctionPiece) -> bool:
        """Whether the piece names another id or name than this call has."""
        return bool((piece.id and piece.id != self.id) or (function.name and function.name != self.name))


class CallParts:
    """Gives each call of an answer its part `call:N`, N in order of appearance.

    A piece opens a new call where its index is new. Servers that send every call with index 0 are told by the name,
    which only a first piece bears: such a piece opens a new call where its id is not known yet; or, without an id,
    where the call under this index has another name, or ends like a complete object while the piece begins one.
    A piece without an index goes by its id, or belongs to the latest call. `reused_index` is the index under which
    the latest piece opened a call although another has it, None where it did not.
    """

    __slots__ = ("_by_id", "_by_index", "_count", "_latest", "_prefix", "reused_index")

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._by_index: dict[int, StreamedCall] = {}
        self._by_id: dict[str, StreamedCall] = {}
        self._latest: StreamedCall | None = None
        self._count = 0
        self.reused_index: int | None = None

    def place(self, piece: ToolCallDelta, function: FunctionPiece, *, whole: bool = False) -> StreamedCall:
        """The call that the piece belongs to; a new one for each piece where the message came whole."""
        call = None if whole else self._known(piece, function)
        self.reused_index = piece.index if call is None and not whole and piece.index in self._by_index else None
        if call is None:
            call = StreamedCall(f"{self._prefix}call:{self._count}")
            self._count += 1
        if piece.index is not None:
            self._by_index[piece.index] = call
        if piece.id:
            self._by_id[piece.id] = call
        self._latest = call
        _note_end(call, function.arguments)
        return call

    def _known(self, piece: ToolCallDelta, function: FunctionPiece) -> StreamedCall | None:
        if piece.index is None and piece.id:
            return self._by_id.get(piece.id)
        call = self._latest if piece.index is None else self._by_index.get(piece.index)
        if call is None or not call.contradicts(piece, function) or not function.name:
            return None if call and _begins_again(call, piece, function) else call
        if piece.id:
            return self._by_id.get(piece.id) if call.id else call
        return call if not call.name else None


def _begins_again(call: StreamedCall, piece: ToolCallDelta, function: FunctionPiece) -> bool:
    begins = (function.arguments or "").lstrip().startswith("{")
    return bool(function.name) and not piece.id and call.looks_complete and begins


def _note_end(call: StreamedCall, arguments: str | None) -> None:
    ending = arguments.rstrip() if arguments else ""
    if ending:
        call.looks_complete = ending[-1] == "}"
