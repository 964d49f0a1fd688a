"""What `rules` and `formats` print with `--json`."""

from typing import TypedDict


class FormatJson(TypedDict):
    name: str
    aliases: list[str]
    models: list[str]
    summary: str
    reads: list[str]
    writes: list[str]


class RuleJson(TypedDict):
    code: str
    name: str
    severity: str
    summary: str
    explanation: str
    remedy: str
    bad: str
    good: str
    format: str


class DetectionJson(TypedDict):
    format: str
    confidence: float
    reason: str
