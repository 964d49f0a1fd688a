"""Prompts of raw completions: the template's turns in them, and what is said once the template's tokens are gone."""

import re
from dataclasses import replace

from inspector.formats.transcript import split_turns
from inspector.memory import RECORD_MEMORY, transcript_memory
from inspector.model import Part, Role, Turn
from inspector.wire import ollama, openai_completions
from inspector.wire.request import DecodedRequest

PROMPT_TAIL_PART = "wire:prompt_tail"
"""The part that keeps what a prompt had already opened for the answer: its header, `<think>`, its first words."""

_RAW_APIS = frozenset({openai_completions.API, ollama.GENERATE})
_TOKEN = re.compile(r"<\|[^|<>\n]{1,60}\|>|<｜[^｜<>\n]{1,60}｜>|<(?:start|end)_of_turn>|</?s>|<bos>|<eos>")


def is_raw(request: DecodedRequest) -> bool:
    """Whether a request's words are one raw text that the model continues."""
    return request.api in _RAW_APIS


def raw_prompt(request: DecodedRequest) -> str | None:
    """The text that the model continues; None where the prompt is several, or token ids, or there is none."""
    prompts = [turn for turn in request.turns if turn.role is Role.USER]
    part = prompts[0].part("text") if len(prompts) == 1 else None
    return None if part is None else part.text


def split_prompt(request: DecodedRequest) -> tuple[Turn, ...]:
    """The turns of a raw prompt, as its chat template tells them; the request's own turn where there is no template.

    The texts of the turns' parts, joined, are the prompt. What stands behind the last header of the assistant belongs
    to the answer that comes; it is kept in the part `wire:prompt_tail` of the last turn. A prompt whose turns would
    take more than `RECORD_MEMORY` is one turn.
    """
    prompt = raw_prompt(request)
    found = split_turns(prompt) if prompt and transcript_memory(prompt) <= RECORD_MEMORY else ()
    if prompt is None or not any(turn.source_role for turn in found):
        return request.turns
    own = next(turn for turn in request.turns if turn.role is Role.USER)
    turns = [Turn(one.role, (Part("text", one.range.of(prompt)),), one.source_role) for one in found]
    if turns[-1].role is Role.ASSISTANT and len(turns) > 1:
        tail = Part(PROMPT_TAIL_PART, turns.pop().parts[0].text)
        turns[-1] = replace(turns[-1], parts=(*turns[-1].parts, tail))
    others = tuple(part for part in own.parts if part.name != "text")
    turns[-1] = replace(turns[-1], parts=(*turns[-1].parts, *others))
    return (*(turn for turn in request.turns if turn is not own), *turns)


def said_in(turn: Turn, text: str) -> str:
    """What a turn of a raw prompt says: its text without the template's tokens and the name of its role."""
    bare = _TOKEN.sub("", text).strip()
    return bare.removeprefix(turn.source_role).strip() if turn.source_role else bare
