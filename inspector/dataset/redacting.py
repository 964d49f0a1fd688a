"""Samples without their secrets: of the same length, so that every place stays true."""

from msgspec.structs import replace

from inspector.dataset.samples import Sample
from inspector.importers.records import NotJsonError, parse_json_bytes
from inspector.importers.source import JsonObject
from inspector.redaction.redactor import Redactor


def redacted(sample: Sample, redactor: Redactor | None = None) -> Sample:
    """The sample with its secrets masked, length for length, in the conversation and in the row's text and values.

    `redactor` remembers texts without secrets, such as system prompts that many samples have.
    """
    redactor = redactor or Redactor()
    text = redactor.text(sample.raw_text)
    trace = redactor.trace(sample.trace)
    if text == sample.raw_text and trace == sample.trace:
        return sample
    raw = text.encode("utf-8", "surrogatepass")
    return replace(sample, row=replace(sample.row, raw=raw, value=_value(raw) or sample.row.value), trace=trace)


def _value(raw: bytes) -> JsonObject | None:
    try:
        value = parse_json_bytes(raw)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None
