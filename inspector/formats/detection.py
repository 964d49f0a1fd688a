"""Detects the format of a stream from the model's name, from the text, or from both, with the reason.

It only chooses: what a text holds is decided by the chosen format's parser.

A name such as `openrouter/nousresearch/hermes-4-70b:free` is looked at from the left: `Hermes-2-Pro-Mistral-7B` is a
Hermes, since fine-tuners put their own name before that of the base model. Among patterns that match at the same place
the longest wins: `qwen3-coder` before `qwen`.
"""

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

from msgspec import Struct

from inspector.formats.format import DetectionPatterns, Format
from inspector.formats.registry import fallback, formats, registered_formats
from inspector.scanning import lazy_pattern

_PLAIN = 0.8
"""From this confidence on the text shows calls of a format, not only resembles it."""

_NAME_ALONE = 0.7
_SEPARATORS = lazy_pattern(r"[\s_.]+")
_DOTS = lazy_pattern(r"(?<=[0-9])\.(?=[0-9])")


class Detection(Struct, frozen=True):
    """The format that a text or a model's name points to, how sure that is (0 to 1), and why, in one sentence."""

    format: Format
    confidence: float
    reason: str


def detect_format(text: str = "", model: str = "") -> Detection:
    """The format that a model's name or a sample of its text points to.

    Calls that the text plainly shows outweigh the name, and the name outweighs a mere resemblance. Where both fit, the
    name chooses among the formats that share a syntax. With nothing to go by the answer is `hermes`, confidence 0.
    """
    return _detected(text, model, registered_formats())


@lru_cache(maxsize=16)
def _detected(text: str, model: str, _: tuple[Format, ...]) -> Detection:
    """What `detect_format` says while these formats are registered; one trace's is often asked for twice."""
    by_model = _named_by_model(model, formats())
    if by_model is None:
        return _without_name(*_by_text(text), model)
    named, pattern = by_model.format, by_model.pattern
    agrees = named.confidence(text) if text else 0.0
    if agrees < _PLAIN:
        by_text, shown = _by_text(text)
        if agrees < min(shown, _PLAIN) or not agrees:
            return _against_name(by_model, agrees, by_text, shown, model)
    reason = f"The model's name `{model}` fits `{pattern}`, and the text shows `{named.name}` markers."
    return Detection(named, max(0.95, agrees), reason)


def _against_name(by_model: "NamedBy", agrees: float, by_text: Format, shown: float, model: str) -> Detection:
    """The format of a text that does not show what the model's name suggests."""
    named = by_model.format
    if shown >= _PLAIN:
        reason = f"The text shows calls of `{by_text.name}`, though the model's name `{model}` suggests `{named.name}`."
        return Detection(by_text, shown, reason)
    return Detection(named, max(_NAME_ALONE, agrees), f"The model's name `{model}` fits `{by_model.pattern}`.")


def _by_text(text: str) -> tuple[Format, float]:
    """The format that the text looks most like (the first of several), and how much."""
    return _signs_of(formats()).most_like(text) if text else (fallback(), 0.0)


class _Sign(Struct, frozen=True):
    """One pattern of a format: the weight that it gives where found, and literals of which every match holds one."""

    weight: float
    order: int
    format: Format
    literals: tuple[str, ...]
    pattern: re.Pattern[str]


class _FormatSigns:
    """The detection patterns of all formats, those of most weight first.

    The first two characters of their literals are shared by many: a text is searched for these, and then only for the
    patterns that they leave.
    """

    def __init__(self, known: tuple[Format, ...]) -> None:
        patterns = [(order, one, one.confidence) for order, one in enumerate(known)]
        self._signs = sorted(
            (
                _Sign(weight, order, one, literals, pattern)
                for order, one, of in patterns
                if isinstance(of, DetectionPatterns)
                for weight, literals, pattern in of.signs
            ),
            key=lambda sign: (-sign.weight, sign.order),
        )
        self._others = [(order, one, of) for order, one, of in patterns if not isinstance(of, DetectionPatterns)]
        self._by_beginning: dict[str, set[int]] = {}
        for number, sign in enumerate(self._signs):
            for literal in sign.literals:
                self._by_beginning.setdefault(literal[:2], set()).add(number)

    def most_like(self, text: str) -> tuple[Format, float]:
        """The format that the text looks most like (the first of several), and how much."""
        near = set[int]().union(*[those for beginning, those in self._by_beginning.items() if beginning in text])
        order, found, best = len(self._signs), fallback(), 0.0
        for sign in map(self._signs.__getitem__, sorted(near)):
            if any(literal in text for literal in sign.literals) and sign.pattern.search(text):
                order, found, best = sign.order, sign.format, sign.weight
                break
        for place, one, confidence in self._others:
            sure = confidence(text)
            if sure > best or (sure == best > 0 and place < order):
                order, found, best = place, one, sure
        return found, best


@lru_cache(maxsize=4)
def _signs_of(known: tuple[Format, ...]) -> _FormatSigns:
    return _FormatSigns(known)


def _without_name(by_text: Format, shown: float, model: str) -> Detection:
    unknown = f"No format lists the model `{model}`; " if model else ""
    if shown:
        said = f"the text holds markers of `{by_text.name}`."
    else:
        said = f"nothing points to a format, so `{by_text.name}`, the default, is taken."
    reason = unknown + said
    return Detection(by_text, shown, reason[0].upper() + reason[1:])


class NamedBy(Struct, frozen=True):
    """The format that a model's name points to, and the pattern of it that the name matches."""

    format: Format
    pattern: str


def named_by(model: str, known: Iterable[Format]) -> NamedBy | None:
    """Which of the `known` formats a model of that name uses; None where no pattern matches."""
    name = bare_name(model)
    if not name:
        return None
    found = [
        (place, -len(pattern), order, NamedBy(one, pattern))
        for order, one in enumerate(known)
        for pattern in one.models
        if (place := _place(pattern.lower(), name)) is not None
    ]
    return min(found, key=lambda one: one[:3])[3] if found else None


@lru_cache(maxsize=64)
def _named_by_model(model: str, known: tuple[Format, ...]) -> NamedBy | None:
    """What `named_by` says: the traces of one log are of few models."""
    return named_by(model, known)


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


def _place(pattern: str, name: str) -> int | None:
    """Where in `name` a shell pattern matches first; None where it does not."""
    core = _expression(pattern)
    match = core.search(name) if pattern.startswith("*") else core.match(name)
    if match is None or not (pattern.endswith("*") or match.end() == len(name)):
        return None
    return match.start()
