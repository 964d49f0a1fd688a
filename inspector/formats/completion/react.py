r"""Writes completions of ReAct text: thoughts, then actions or the final answer.

Sources: langchain's MRKL prompt, QwenLM/Qwen-Agent:qwen_agent/agents/react_chat.py
(`Thought: ...\nAction: ...\nAction Input: ...`, `Thought: ...\nFinal Answer: ...`).
"""

from collections.abc import Sequence

from inspector.formats.completion.pieces import Calls, Completion, Piece, Reasoning
from inspector.formats.format import Format


def write_react(pieces: Sequence[Piece], format: Format) -> Completion:
    """See Completion. Words beside an action become a thought: ReAct has no other place for them."""
    acts = any(isinstance(piece, Calls) for piece in pieces)
    lines = [_line(piece, format, acts=acts) for piece in pieces]
    spoken = acts and any(not isinstance(piece, Calls | Reasoning) for piece in pieces)
    sentence = f"The words beside the calls as words: in `{format.name}` they stand as a thought."
    return Completion("\n".join(lines), dropped=(sentence,) if spoken else ())


def _line(piece: Piece, format: Format, *, acts: bool) -> str:
    if isinstance(piece, Calls):
        return format.write_calls(piece.calls)
    return f"Thought: {piece.text}" if acts or isinstance(piece, Reasoning) else f"Final Answer: {piece.text}"
