"""One scripted answer: its head, its framing, and its pieces; what each means appears in `tests.capture.upstream`."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias


class Framing(Enum):
    """How the end of a body is told."""

    CHUNKED = auto()
    LENGTH = auto()
    CLOSE = auto()


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent until `name` is released; without a name, nothing ever."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Nothing is sent for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes outside of the framing."""

    raw: bytes


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection ends here, by a reset or by a FIN."""

    reset: bool = True


Piece: TypeAlias = bytes | Pause | Gap | Raw | Drop


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its head, and its pieces in their order. `length` is the Content-Length, where it shall be wrong."""

    pieces: tuple[Piece, ...] = ()
    status: int = 200
    reason: str = "OK"
    headers: tuple[tuple[str, str], ...] = ()
    framing: Framing = Framing.CHUNKED
    length: int | None = None
    early: bool = False
    bare: bool = False

    @property
    def body(self) -> bytes:
        """What the client must have received in the end, without the framing."""
        return b"".join(self.chunks)

    @property
    def chunks(self) -> list[bytes]:
        """The pieces that are bytes."""
        return [piece for piece in self.pieces if isinstance(piece, bytes)]

    def head(self) -> bytes:
        """Status line and headers as they are sent."""
        lines = [f"HTTP/1.1 {self.status} {self.reason}", *(f"{name}: {value}" for name, value in self.headers)]
        match self.framing:
            case Framing.CHUNKED:
                lines.append("Transfer-Encoding: chunked")
            case Framing.LENGTH:
                lines.append(f"Content-Length: {len(self.body) if self.length is None else self.length}")
            case Framing.CLOSE:
                lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def framed(self, piece: bytes) -> bytes:
        """One piece of the body as it is sent."""
        return b"%x\r\n%b\r\n" % (len(piece), piece) if self.framing is Framing.CHUNKED else piece
