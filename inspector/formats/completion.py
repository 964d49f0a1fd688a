r"""Writes a model's whole completion (text, reasoning, calls) as another format's model would emit it.

Sources: llama.cpp:models/templates (Qwen3, NousResearch-Hermes-3, DeepSeek-V3.1, GLM-4.6, Kimi-K2, MiniMax-M2),
vllm:examples/tool_chat_template_llama3.1_json.jinja and tool_chat_template_mistral3.jinja,
mistral-common:tokens/tokenizers/base.py (`[THINK]`), Llama 3.1's and Gemma 3's prompt guides (no reasoning at all).

Source: MeetKai/functionary:tests/prompt_test_v3.llama3.txt (`>>>all\nwords>>>name\n{...}`).

Source: openai/harmony:docs/format.md (analysis, commentary and final; `<|end|>`, `<|call|>` and `<|return|>`).

Sources: langchain's MRKL prompt, QwenLM/Qwen-Agent:qwen_agent/agents/react_chat.py
(`Thought: ...\nAction: ...\nAction Input: ...`, `Thought: ...\nFinal Answer: ...`).

Source: OpenAI's chat completions reference; `reasoning_content` as DeepSeek and vLLM have it.
"""

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.apis.openai.messages import call_object, message_object
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import json_of
from weaklink.inspector.model import Json, ToolCall

_ARROWS = ">>>"
_HEADER = "<|start|>assistant"


class CompletionText(Struct, frozen=True):
    """The model's answer to the user, without the line ends that a format puts around it."""

    text: str


class CompletionReasoning(Struct, frozen=True):
    """The model's reasoning, without the tags of any format."""

    text: str


class CompletionCalls(Struct, frozen=True):
    """Consecutive calls; never empty."""

    calls: tuple[ToolCall, ...]


CompletionPiece: TypeAlias = CompletionText | CompletionReasoning | CompletionCalls


class Completion(Struct, frozen=True):
    """The exact text that a model of a format would emit.

    `prompt` is the end of the prompt that this text continues, if a completion of the format begins inside a header or
    inside reasoning; else "". `dropped` has one sentence for each feature that the format cannot express, and why.
    """

    text: str
    prompt: str = ""
    dropped: tuple[str, ...] = ()


def tidy(pieces: Iterable[CompletionPiece]) -> tuple[CompletionPiece, ...]:
    """The pieces without the white space that a format puts between them, and with neighbours of one kind joined.

    A single text piece keeps all its white space, because the model wrote it.
    """
    joined: list[CompletionPiece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        match last, piece:
            case CompletionText(), CompletionText():
                joined[-1] = CompletionText(last.text + piece.text)
            case CompletionReasoning(), CompletionReasoning():
                joined[-1] = CompletionReasoning(f"{last.text}\n{piece.text}")
            case CompletionCalls(), CompletionCalls():
                joined[-1] = CompletionCalls(last.calls + piece.calls)
            case CompletionCalls(), CompletionText() if not piece.text.strip():
                pass
            case _:
                joined.append(piece)
    if len(joined) == 1 and isinstance(joined[0], CompletionText):
        return tuple(joined) if joined[0].text else ()
    return tuple(stripped for piece in joined if (stripped := _stripped(piece)) is not None)


def _stripped(piece: CompletionPiece) -> CompletionPiece | None:
    if isinstance(piece, CompletionCalls):
        return piece
    text = piece.text.strip()
    return type(piece)(text) if text else None


def calls_of(pieces: Iterable[CompletionPiece]) -> tuple[ToolCall, ...]:
    """All calls, in order."""
    return tuple(call for piece in pieces if isinstance(piece, CompletionCalls) for call in piece.calls)


_NO_REASONING = "The reasoning: `{}` cannot represent it."


def _without(
    pieces: Sequence[CompletionPiece], kind: type[CompletionPiece], sentence: str
) -> tuple[tuple[CompletionPiece, ...], tuple[str, ...]]:
    """The pieces that are not of a kind, and the sentence about what is dropped, if there is any."""
    kept = tuple(piece for piece in pieces if not isinstance(piece, kind))
    return kept, (sentence,) * (len(kept) < len(pieces))


def write_functionary(pieces: Sequence[CompletionPiece], format: Format) -> Completion:
    """See Completion. Reasoning is dropped: it has no recipient."""
    kept, dropped = _without(pieces, CompletionReasoning, _NO_REASONING.format(format.name))
    text = "".join(
        format.write_calls(piece.calls) if isinstance(piece, CompletionCalls) else f"{_ARROWS}all\n{piece.text}"
        for piece in kept
    )
    return Completion(text.removeprefix(_ARROWS), _ARROWS if text.startswith(_ARROWS) else "", dropped)


def write_harmony(pieces: Sequence[CompletionPiece], format: Format) -> Completion:
    """See Completion. Text at the end of the completion is the answer; text before a call goes to `commentary`."""
    messages = [_message(piece, format, is_last=piece is pieces[-1]) for piece in pieces]
    return Completion(_HEADER.join(messages), _HEADER if messages else "")


def _message(piece: CompletionPiece, format: Format, *, is_last: bool) -> str:
    if isinstance(piece, CompletionCalls):
        return format.write_calls(piece.calls).removeprefix(_HEADER)
    if isinstance(piece, CompletionReasoning):
        return f"<|channel|>analysis<|message|>{piece.text}<|end|>"
    if is_last:
        return f"<|channel|>final<|message|>{piece.text}<|return|>"
    return f"<|channel|>commentary<|message|>{piece.text}<|end|>"


def write_react(pieces: Sequence[CompletionPiece], format: Format) -> Completion:
    """See Completion. Text beside an action becomes a thought: ReAct has no other place for it."""
    acts = any(isinstance(piece, CompletionCalls) for piece in pieces)
    lines: list[str] = []
    for piece in pieces:
        if isinstance(piece, CompletionCalls):
            lines.append(format.write_calls(piece.calls))
        else:
            is_thought = acts or isinstance(piece, CompletionReasoning)
            lines.append(f"{'Thought' if is_thought else 'Final Answer'}: {piece.text}")
    spoken = acts and any(isinstance(piece, CompletionText) for piece in pieces)
    sentence = f"The text next to the calls as text: in `{format.name}` it is a thought."
    return Completion("\n".join(lines), dropped=(sentence,) if spoken else ())


def openai_message(pieces: Sequence[CompletionPiece]) -> dict[str, Json]:
    """The message of chat completions; calls without an id get one from their index."""
    calls = [
        call_object(call.name, json_of(call.arguments), call.id or f"call_{index}")
        for index, call in enumerate(calls_of(pieces))
    ]
    return message_object(
        "assistant",
        _joined(pieces, CompletionText) or None,
        reasoning_content=_joined(pieces, CompletionReasoning) or None,
        calls=calls,
    )


def write_openai(pieces: Sequence[CompletionPiece], format: Format) -> Completion:
    """See Completion. A message has one text: text after the calls is joined to the text before them."""
    kinds = [type(piece) for piece in pieces]
    order = [kind for kind in (CompletionReasoning, CompletionText, CompletionCalls) if kind in kinds]
    lost = f"The order of text, reasoning and calls: a message of `{format.name}` has a separate field for each."
    return Completion(json_of(openai_message(pieces)), dropped=(lost,) if kinds != order else ())


def _joined(pieces: Sequence[CompletionPiece], kind: type[CompletionText] | type[CompletionReasoning]) -> str:
    return "\n\n".join(piece.text for piece in pieces if isinstance(piece, kind))


_OWN = MappingProxyType(
    {"functionary": write_functionary, "harmony": write_harmony, "openai": write_openai, "react": write_react}
)


def write_completion(pieces: Sequence[CompletionPiece], format: Format) -> Completion:
    """The exact text that a model of the format would emit for these pieces, and what it cannot express."""
    return _OWN.get(format.name, write_marked)(tidy(pieces), format)


class Layout(Struct, frozen=True):
    """How a family lays out the pieces of a completion.

    `reasoning` is the text before and after reasoning, None if the family has none. `between` separates text and calls.
    `mixes` says that a reply may have both text and calls; if it is False, the template drops the text.
    """

    reasoning: tuple[str, str] | None = ("<think>\n", "\n</think>\n\n")
    between: str = "\n"
    mixes: bool = True


LAYOUTS = MappingProxyType(
    {
        "hermes": Layout(reasoning=("<think>\n", "\n</think>\n")),
        "mistral": Layout(reasoning=("[THINK]", "[/THINK]"), between=""),
        "llama3": Layout(reasoning=None, mixes=False),
        "pythonic": Layout(reasoning=None, between="\n\n"),
        "gemini": Layout(reasoning=None),
        "phi4": Layout(reasoning=None, between=""),
        "claude": Layout(reasoning=("<thinking>\n", "\n</thinking>\n\n"), between="\n\n"),
        "json_schema": Layout(mixes=False),
        "seed_oss": Layout(reasoning=("<seed:think>", "</seed:think>")),
        "minimax_m3": Layout(reasoning=("<mm:think>", "</mm:think>")),
        "deepseek_v3": Layout(reasoning=("<think>\n", "\n</think>\n\n"), between=""),
        "deepseek_v31": Layout(reasoning=("<think>", "</think>"), between=""),
        "kimi_k2": Layout(reasoning=("<think>", "</think>"), between=""),
        "gemma4": Layout(reasoning=("<|channel>thought\n", "<channel|>")),
        "gigachat3": Layout(reasoning=None, between=""),
        "hy_v4": Layout(reasoning=("<think:6124c78e>", "</think:6124c78e>"), between=""),
        "k2_horizon": Layout(reasoning=("<ifm|think>", "</ifm|think>\n")),
        "solar_open2": Layout(reasoning=("<|think:start|>", "<|think:end|>")),
        "solar_open": Layout(reasoning=("<|think|>", "<|end|>"), between=""),
        "plamo3": Layout(reasoning=("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"), between=""),
        "inkling": Layout(reasoning=("<|content_thinking|>", "<|end_message|>"), between="<|end_message|>"),
        "muse": Layout(reasoning=(" to=self<|message|>", "<|eom|>"), between="<|eom|>"),
        "beam": Layout(reasoning=("<|channel|>analysis<|message|>", "<|end|>"), between="<|end|>"),
        "command_r_action": Layout(reasoning=None),
    }
)
"""The layouts of families that differ from most, by their format's name."""


def write_marked(pieces: Sequence[CompletionPiece], format: Format) -> Completion:
    """The pieces in order, in the layout of the format's family."""
    layout = LAYOUTS.get(format.name, Layout())
    no_reasoning = () if layout.reasoning else _without(pieces, CompletionReasoning, _NO_REASONING.format(format.name))
    kept, dropped = no_reasoning or (tuple(pieces), ())
    if not layout.mixes and any(isinstance(piece, CompletionCalls) for piece in kept):
        sentence = f"The text next to the calls: a reply of `{format.name}` is either text or calls."
        kept, more = _without(kept, CompletionText, sentence)
        reasoning, _ = _without(kept, CompletionCalls, "")
        kept, dropped = ((*reasoning, CompletionCalls(calls_of(kept))) if more else kept), (*dropped, *more)
    return Completion("".join(_written(kept, layout, format)), dropped=dropped)


def _written(pieces: Sequence[CompletionPiece], layout: Layout, format: Format) -> list[str]:
    written: list[str] = []
    last: CompletionPiece | None = None
    for piece in pieces:
        if last is not None and not isinstance(last, CompletionReasoning):
            written.append(layout.between)
        match piece:
            case CompletionText():
                written.append(piece.text)
            case CompletionCalls():
                written.append(format.write_calls(piece.calls))
            case CompletionReasoning():
                before, after = layout.reasoning or ("", "")
                written.append(f"{before}{piece.text}{after}")
        last = piece
    if isinstance(last, CompletionReasoning):  # nothing follows, so no line ends are needed
        written[-1] = written[-1].rstrip()
    return written
