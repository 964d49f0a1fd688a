"""Finds the format of a stream: by the model's name, by what the text shows, by both; with the reason.

It only chooses: what a text holds is decided by the chosen format's parser.
"""

from dataclasses import dataclass

from inspector.formats.format import Format
from inspector.formats.model_names import named_by
from inspector.formats.registry import FALLBACK, formats

_PLAIN = 0.8
"""From this confidence on the text shows calls of a format, not only resembles it."""
_NAME_ALONE = 0.7


@dataclass(frozen=True, slots=True)
class Detection:
    """The format that a text or a model's name points to, how sure that is (0 to 1), and why, in one sentence."""

    format: Format
    confidence: float
    reason: str


def detect_format(text: str = "", model: str = "") -> Detection:
    """The format that a model's name or a sample of its text points to.

    Calls that the text plainly shows outweigh the name, and the name outweighs a mere resemblance. Where both fit, the
    name chooses among the formats that share a syntax. With nothing to go by the answer is `hermes`, confidence 0.
    """
    by_text, shown = _by_text(text)
    by_model = named_by(model, formats())
    if by_model is None:
        return _without_name(by_text, shown, model)
    named, pattern = by_model.format, by_model.pattern
    agrees = named.confidence(text) if text else 0.0
    if agrees >= min(shown, _PLAIN) and agrees:
        reason = f"The model's name `{model}` fits `{pattern}`, and the text shows `{named.name}` markers."
        return Detection(named, max(0.95, agrees), reason)
    if shown >= _PLAIN:
        reason = f"The text shows calls of `{by_text.name}`, though the model's name `{model}` suggests `{named.name}`."
        return Detection(by_text, shown, reason)
    return Detection(named, max(_NAME_ALONE, agrees), f"The model's name `{model}` fits `{pattern}`.")


def _by_text(text: str) -> tuple[Format, float]:
    """The format that the text looks most like (the first of several), and how much."""
    weighed = [(one.confidence(text), one) for one in formats()] if text else []
    confidence, found = max(weighed, key=lambda one: one[0], default=(0.0, FALLBACK))
    return (found, confidence) if confidence else (FALLBACK, 0.0)


def _without_name(by_text: Format, shown: float, model: str) -> Detection:
    unknown = f"No format lists the model `{model}`; " if model else ""
    if shown:
        said = f"the text holds markers of `{by_text.name}`."
    else:
        said = f"nothing points to a format, so `{by_text.name}`, the default, is taken."
    reason = unknown + said
    return Detection(by_text, shown, reason[0].upper() + reason[1:])
