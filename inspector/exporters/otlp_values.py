"""What OTLP's JSON is made of: attributes, times and ids, as the OpenTelemetry protocol has them written.

The OTLP specification (opentelemetry-proto: docs/specification.md, "JSON Protobuf Encoding"): ids are hexadecimal, not
base64 as in protobuf's own mapping; 64-bit integers and times are decimal strings; enumerations are numbers.
"""

from collections.abc import Mapping
from hashlib import sha256
from math import isfinite
from typing import TypeAlias

from inspector.model import Json, Trace
from inspector.text import lone_surrogates

Value: TypeAlias = str | int | float | bool | list[str] | None
"""What an attribute may be; None is none."""

_INT_64 = 1 << 63


def attributes(values: Mapping[str, Value]) -> list[Json]:
    """`KeyValue`s; what is None or an empty text is not there."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None and value != ""]


def nanoseconds(at_s: float) -> str:
    """A moment in seconds since 1970 as nanoseconds; what the protocol cannot hold is its bound."""
    bounded = min(max(at_s, 0.0), 1.8e10) if isfinite(at_s) else 0.0
    return str(round(bounded * 1_000_000) * 1_000)


def trace_id(trace: Trace) -> str:
    """32 hexadecimal digits, the same each time: by the source's ids, or by all that was said where it gives none."""
    ids = sorted((one.name, one.value) for one in trace.external_ids)
    known = [trace.provenance.source, *(side for pair in ids for side in pair)]
    if not ids:
        known += [trace.provenance.record, *(part.text for turn in trace.turns for part in turn.parts)]
    return _digest(known)[:32]


def span_id(trace: str, name: str) -> str:
    """16 hexadecimal digits for the span that bears this name within a trace."""
    return _digest([trace, name])[:16]


def utf_8(text: str) -> str:
    """The text with U+FFFD for what protobuf's strings cannot hold: lone surrogates."""
    if next(iter(lone_surrogates(text)), None) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _value(value: Value) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_INT_64 <= value < _INT_64 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [{"stringValue": utf_8(one)} for one in value]}}
    return {"stringValue": utf_8(value or "")}


def _digest(texts: list[str]) -> str:
    content = sha256()
    for text in texts:
        content.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return content.hexdigest()
