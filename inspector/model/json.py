"""The type of JSON values, for borders between modules."""

from decimal import Decimal
from typing import TypeAlias, Union

Json: TypeAlias = Union[None, bool, int, float, str, Decimal, list["Json"], dict[str, "Json"]]
"""A decoded JSON value. An integer of more than 4,300 digits is a Decimal, which reads and writes it in linear time."""
