"""What traces cost, at the prices of the nearest weaklink.toml.

    [prices."claude-*"]   # the name of a model, or a pattern of names
    input = 3.0           # for a million tokens, in whatever currency
    output = 15.0

The first table whose pattern matches a model counts. A trace has the sums of its tokens, not how many of them came from
the provider's cache: those count as input, so the sum is what it cost at most. Without a price of its model, or without
counted tokens, a trace has no cost.
"""

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import Struct

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.summaries import TraceSummary

_FILE = "weaklink.toml"
_MILLION = 1_000_000


class PriceError(WeaklinkError):
    """The prices in a configuration file cannot be read; the message names the file and why."""


class ModelPrice(Struct, frozen=True, forbid_unknown_fields=True):
    """The price of a million tokens of a model, as `input` and as `output`."""

    input: float
    output: float


class _Configuration(Struct, frozen=True):
    prices: dict[str, ModelPrice] = {}


def find_prices(folder: Path) -> dict[str, ModelPrice]:
    """The prices in the nearest weaklink.toml, from `folder` upwards, by pattern; empty if there are none.

    Raises PriceError if they cannot be read.
    """
    for parent in (folder, *folder.parents):
        path = parent / _FILE
        if path.is_file():
            try:
                return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Configuration).prices
            except (OSError, ValueError, RecursionError) as error:
                raise PriceError(f"{path}: the prices cannot be read: {error}") from error
    return {}


def cost_of(trace: TraceSummary, prices: dict[str, ModelPrice]) -> float | None:
    """What a trace cost at most; None if the price of its model or its tokens are not known."""
    if trace.input_tokens is None or trace.output_tokens is None:
        return None
    price = next((price for pattern, price in prices.items() if fnmatchcase(trace.model, pattern)), None)
    return None if price is None else (trace.input_tokens * price.input + trace.output_tokens * price.output) / _MILLION


def cost_text(cost: float) -> str:
    """A cost with four decimals, two from 10 on; less than the smallest is said to be less."""
    if 0 < cost < 0.00005:
        return "<0.0001"
    return f"{cost:,.2f}" if cost >= 10 else f"{cost:.4f}"
