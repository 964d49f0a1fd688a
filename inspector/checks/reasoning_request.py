"""What a request's own settings say about reasoning: asked for, left to the model, or switched off."""

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

import msgspec

from inspector.model import Json

_LONGEST = 65_536  # settings are short; what is longer holds something else (Ollama's `context`)
_NESTED = ("chat_template_kwargs", "extra_body", "options", "generationConfig", "generation_config", "thinkingConfig")
_OFF_WORDS = frozenset(("none", "disabled", "off", "false"))


class ReasoningSwitch(StrEnum):
    """How a request set reasoning: `on` (the model shall think), `free` (as much as it likes, or hidden), `off`."""

    ON = "on"
    FREE = "free"
    OFF = "off"


@lru_cache(maxsize=256)
def requested_reasoning(parameters: str) -> ReasoningSwitch | None:
    """What a generation's `parameters` (compact JSON) say; None where they are silent or too long to be settings.

    Known words: `enable_thinking` and `thinking` of chat templates (vLLM, SGLang), Ollama's `think`, Anthropic's
    `thinking`, OpenAI's `reasoning_effort` and `reasoning`, which OpenRouter shares, Gemini's `thinkingBudget`.
    """
    if not parameters or len(parameters) > _LONGEST:
        return None
    try:
        settings: Json = msgspec.json.decode(parameters)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    said = list(_said(settings, 0))
    order = (ReasoningSwitch.OFF, ReasoningSwitch.ON, ReasoningSwitch.FREE)
    return next((switch for switch in order if switch in said), None)


def _said(settings: Json, depth: int) -> Iterator[ReasoningSwitch]:
    if not isinstance(settings, dict):
        return
    for key in ("enable_thinking", "thinking", "think"):
        if settings.get(key) is not None:
            yield _switch(settings[key])
    for key in ("reasoning_effort", "reasoning"):
        if settings.get(key) is not None:
            yield _effort(settings[key])
    if isinstance(budget := settings.get("thinkingBudget", settings.get("thinking_budget")), int):
        yield ReasoningSwitch.FREE if budget else ReasoningSwitch.OFF
    for key in _NESTED if depth < len(_NESTED) else ():
        yield from _said(settings.get(key), depth + 1)


def _switch(value: Json) -> ReasoningSwitch:
    """A switch: a truth value, a word, or Anthropic's object, whose type `adaptive` leaves it to the model."""
    word = value.get("type") if isinstance(value, dict) else value
    if word is False or (isinstance(word, str) and word.lower() in _OFF_WORDS):
        return ReasoningSwitch.OFF
    is_on = word is True or word == "enabled"
    return ReasoningSwitch.ON if is_on else ReasoningSwitch.FREE


def _effort(value: Json) -> ReasoningSwitch:
    """An effort: services that take one keep the reasoning to themselves, or spend none on an easy question."""
    word = value.get("effort", value.get("enabled")) if isinstance(value, dict) else value
    is_off = word is False or (isinstance(word, str) and word.lower() in _OFF_WORDS)
    return ReasoningSwitch.OFF if is_off else ReasoningSwitch.FREE
