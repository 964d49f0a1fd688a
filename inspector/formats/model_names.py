"""Which format a model's name points to: names as people write them, with providers, tags and quantisations.

A name such as `openrouter/nousresearch/hermes-4-70b:free` is looked at from the left: `Hermes-2-Pro-Mistral-7B` is a
Hermes, since fine-tuners put their own name before that of the base model. Among patterns that match at the same place
the longest wins: `qwen3-coder` before `qwen`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from inspector.formats.format import Format

_SEPARATORS = re.compile(r"[\s_.]+")
_DOTS = re.compile(r"(?<=[0-9])\.(?=[0-9])")


@dataclass(frozen=True, slots=True)
class NamedBy:
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
