"""Detects the format of a stream from the model's name, from the text, or from both, with the reason.

It only chooses a format; the chosen format's parser decides what a text contains.

In a name such as `openrouter/nousresearch/hermes-4-70b:free` the leftmost match counts: `Hermes-2-Pro-Mistral-7B` is a
Hermes, since fine-tuners put their own name before that of the base model. Among patterns that match at the same
position the longest wins: `qwen3-coder` before `qwen`.
"""

import re
from fnmatch import translate
from functools import lru_cache

from msgspec import Struct

from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.registry import fallback, formats, registered_formats
from weaklink.inspector.scanning import lazy_pattern

SAMPLE_CHARS = 65_536
"""How much of a text, from its beginning, decides its format: detection searches all of what it gets."""

_PLAIN_CONFIDENCE = 0.8
"""From this confidence on the text contains calls of a format, rather than just resembling it."""

_NAME_CONFIDENCE = 0.7
_VERSION = lazy_pattern(r"(?:_[a-z])?[0-9]")
_SEPARATORS = lazy_pattern(r"[\s_.]+")
_DOTS = lazy_pattern(r"(?<=[0-9])\.(?=[0-9])")


class Detection(Struct, frozen=True):
    """The format that a text or a model's name points to, the confidence (0 to 1), and the reason, in one sentence.

    `fits_model` is False if no format lists the model's name, or if the text contains calls of another format than the
    name suggests.
    """

    format: Format
    confidence: float
    reason: str
    fits_model: bool = True


def detect_format(text: str = "", model: str = "") -> Detection:
    """The format that a model's name or a sample of its text points to.

    Calls that the text clearly contains outweigh the name, except calls of another version of the family whose version
    the name states; the name outweighs a mere resemblance. If both fit, the name chooses among the formats that share a
    syntax. Without any evidence the result is `hermes` with confidence 0.
    """
    return _detected(text, model, registered_formats())


@lru_cache(maxsize=16)
def _detected(text: str, model: str, _: tuple[Format, ...]) -> Detection:
    """`detect_format`, cached while the same formats are registered: one trace's format is often requested twice."""
    by_model = _named_by_model(model, formats())
    if by_model is None:
        return _without_name(*_by_text(text), model)
    named, pattern = by_model.format, by_model.pattern
    name_confidence = named.confidence(text) if text else 0.0
    if name_confidence < _PLAIN_CONFIDENCE:
        by_text, text_confidence = _by_text(text)
        if name_confidence < min(text_confidence, _PLAIN_CONFIDENCE) or not name_confidence:
            return _against_name(by_model, name_confidence, by_text, text_confidence, model)
    reason = f"The model's name `{model}` matches `{pattern}`, and the text contains `{named.name}` markers."
    return Detection(named, max(0.95, name_confidence), reason)


def _against_name(
    by_model: "NamedBy", name_confidence: float, by_text: Format, text_confidence: float, model: str
) -> Detection:
    """The format of a text that does not show what the model's name suggests.

    A name that states the version counts more than calls of another version of its family: a server with the parser of
    the model's own version does not read them.
    """
    named = by_model.format
    name_matches = f"The model's name `{model}` matches `{by_model.pattern}`"
    if text_confidence < _PLAIN_CONFIDENCE:
        return Detection(named, max(_NAME_CONFIDENCE, name_confidence), f"{name_matches}.")
    family, other_family = (_VERSION.split(known.name, 1)[0] for known in (named, by_text))  # `deepseek`
    if family == other_family and _VERSION.search(by_model.pattern):
        reason = f"{name_matches}, although the text contains calls of `{by_text.name}`."
        return Detection(named, text_confidence, reason, fits_model=False)
    reason = (
        f"The text contains calls of `{by_text.name}`, although the model's name `{model}` suggests `{named.name}`."
    )
    return Detection(by_text, text_confidence, reason, fits_model=False)


def _by_text(text: str) -> tuple[Format, float]:
    """The format that the text most resembles (the first of several), and the confidence."""
    known = formats() if text else ()
    matches = (
        row for row in _patterns(known) if any(map(text.__contains__, row.literals)) and row.pattern.search(text)
    )
    first = next(matches, None)
    order, best = (first.order, first.weight) if first is not None else (-1, 0.0)
    for position, candidate in enumerate(known):
        score = 0.0 if isinstance(candidate.confidence, DetectionPatterns) else candidate.confidence(text)
        if score > best or (score == best and score > 0 and position < order):
            order, best = position, score
    return (known[order] if best else fallback()), best


class _WeightedPattern(Struct, frozen=True):
    """One pattern of a format, the weight of a match, and literals, of which every match contains one."""

    weight: float
    order: int
    literals: tuple[str, ...]
    pattern: re.Pattern[str]


@lru_cache(maxsize=4)
def _patterns(known: tuple[Format, ...]) -> list[_WeightedPattern]:
    """The detection patterns of all formats, highest weight first."""
    weighted = (
        _WeightedPattern(weight, order, literals, pattern)
        for order, confidence in enumerate(format_.confidence for format_ in known)
        if isinstance(confidence, DetectionPatterns)
        for weight, literals, pattern in confidence.patterns
    )
    return sorted(weighted, key=lambda row: (-row.weight, row.order))


def _without_name(by_text: Format, text_confidence: float, model: str) -> Detection:
    unknown = f"No format lists the model `{model}`; " if model else ""
    default = f"nothing indicates a format; `{by_text.name}` is the default."
    reason = unknown + (f"the text contains markers of `{by_text.name}`." if text_confidence else default)
    return Detection(by_text, text_confidence, reason[0].upper() + reason[1:], fits_model=not model)


class NamedBy(Struct, frozen=True):
    """The format that a model's name points to, and its pattern that the name matches."""

    format: Format
    pattern: str


@lru_cache(maxsize=64)
def _named_by_model(model: str, known: tuple[Format, ...]) -> NamedBy | None:
    """Which of the `known` formats a model of that name uses, None if no pattern matches; logs have few models."""
    name = bare_name(model)
    if not name:
        return None
    candidates = [
        (position, -len(pattern), order, NamedBy(candidate, pattern))
        for order, candidate in enumerate(known)
        for pattern in candidate.models
        if (position := _match_start(pattern.lower(), name)) is not None
    ]
    return min(candidates, key=lambda candidate: candidate[:3])[3] if candidates else None


def expected_format(model: str) -> Format | None:
    """The format in which a server expects the calls of a model with this name; None if the name points to none."""
    named = _named_by_model(model, formats())
    return None if named is None else named.format


def bare_name(model: str) -> str:
    """A model's name in lower case, without its provider and its tag.

    `openrouter/nousresearch/hermes-4-70b:free` is `hermes-4-70b`, `hf.co/unsloth/Qwen3_8B-GGUF:Q4_K_M` is
    `qwen3-8b-gguf`; a path such as `/models/Mistral/` is `mistral`.
    """
    name = model.strip().lower().replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = name.partition(":")[0].partition("@")[0]
    return _SEPARATORS.sub("-", _DOTS.sub("\x00", name)).replace("\x00", ".")


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.strip("*")).removesuffix(r"\Z").removesuffix(r"\z"))


def _match_start(pattern: str, name: str) -> int | None:
    """The position of the first match of a shell pattern in `name`; None if there is none."""
    core = _expression(pattern)
    match = core.search(name) if pattern.startswith("*") else core.match(name)
    if match is None or not (pattern.endswith("*") or match.end() == len(name)):
        return None
    return match.start()
