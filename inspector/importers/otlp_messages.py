"""The messages of a session's requests as turns: each is read once, however many requests repeat it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import TypeAlias

import msgspec

from inspector.importers.rows import parse_json
from inspector.model import Json, Part, Role, Turn
from inspector.text import decode
from inspector.wire.events import UNREAD_PART
from inspector.wire.openai_messages import read_message

_encode = msgspec.msgpack.Encoder().encode

Message: TypeAlias = "Json | msgspec.Raw"
"""A message as a value, or as its JSON text, or a text where it is no JSON any more."""

Shape: TypeAlias = Callable[[Json], list[Json]]
"""What turns a message of a convention into messages of OpenAI's shape."""


@dataclass(slots=True)
class RequestMessages:
    """The messages of a request as a convention has them, and their shape."""

    messages: Sequence[Message] = ()
    shape: Shape = field(default_factory=lambda: as_it_is)

    def __bool__(self) -> bool:
        return bool(self.messages)


class Messages:
    """Messages as turns; one that came before is the same turn again, so that a session holds each only once."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Turn, ...]] = {}

    def read(self, said: RequestMessages) -> tuple[Turn, ...]:
        """The turns of all messages; never raises."""
        return tuple(chain.from_iterable(self._turns(message, said.shape) for message in said.messages))

    def _turns(self, message: Message, shape: Shape) -> tuple[Turn, ...]:
        try:
            packed = bytes(message) if isinstance(message, msgspec.Raw) else _encode(message)
        except (UnicodeEncodeError, OverflowError, RecursionError):
            return _read(message, shape)
        digest = blake2b(packed, digest_size=16, person=shape.__name__.encode()[:16]).digest()
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = _read(message, shape)
        return known


def as_it_is(message: Json) -> list[Json]:
    """The shape of a message that has OpenAI's already."""
    return [message]


def _read(message: Message, shape: Shape) -> tuple[Turn, ...]:
    value = _value(message) if isinstance(message, msgspec.Raw) else message
    if isinstance(value, str):
        return (Turn(Role.USER, (Part(UNREAD_PART, value),)),)
    return tuple(map(read_message, shape(value)))


def _value(text: msgspec.Raw) -> Json:
    try:
        return parse_json(bytes(text))
    except ValueError:  # nested too deeply
        return decode(bytes(text))
