"""Those who read closed spans: what a span's text turned out to hold, and who says so."""

from collections.abc import Callable
from typing import TypeAlias

from inspector.segmenter.events import SpanClosed
from inspector.segmenter.reading import Reading

__all__ = ["Reading", "SpanReader"]

SpanReader: TypeAlias = Callable[[SpanClosed], Reading]
"""Reads a closed span; ranges in what it gives are offsets in the whole text. It never raises."""
