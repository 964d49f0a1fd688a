"""Samples without their secrets: of the same length, so that every place stays true."""

from msgspec.structs import replace

from inspector.dataset.samples import Sample
from inspector.redaction.redactor import Redactor


def redacted(sample: Sample) -> Sample:
    """The sample with its secrets masked, length for length, in the conversation and in the row's text."""
    redactor = Redactor()
    text = redactor.text(sample.raw_text)
    trace = redactor.trace(sample.trace)
    if text == sample.raw_text and trace == sample.trace:
        return sample
    row = replace(sample.row, raw=text.encode("utf-8", "surrogatepass"))
    return replace(sample, row=row, trace=trace)
