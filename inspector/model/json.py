"""The type of JSON values, for borders between modules."""

from decimal import Decimal
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Decimal | list[Json] | dict[str, Json] | None"
"""A decoded JSON value. An integer of more than 4,300 digits is a Decimal, which reads and writes it in linear time."""
