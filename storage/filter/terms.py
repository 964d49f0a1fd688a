"""What a filter says, once it is read."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Key(StrEnum):
    """What a filter can ask of a trace."""

    STATUS = "status"
    MODEL = "model"
    SOURCE = "source"
    FORMAT = "format"
    TOOL = "tool"
    CODE = "code"


KEYS = tuple(key.value for key in Key)


@dataclass(frozen=True, slots=True)
class Words:
    """Words that the text holds one behind the other; `prefix` lets the last word go on."""

    phrase: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """What a key must be, without regard to case; `*` in it stands for anything. A code may be cut short: `J1`."""

    key: Key
    value: str


Filter: TypeAlias = tuple[Words | Field, ...]
"""All of these hold."""
