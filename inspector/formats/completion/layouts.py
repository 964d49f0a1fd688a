"""How the families that mark their calls lay a completion out: reasoning tags, line ends, what may stand together.

Sources: llama.cpp:models/templates (Qwen3, NousResearch-Hermes-3, DeepSeek-V3.1, GLM-4.6, Kimi-K2, MiniMax-M2),
vllm:examples/tool_chat_template_llama3.1_json.jinja and tool_chat_template_mistral3.jinja,
mistral-common:tokens/tokenizers/base.py (`[THINK]`), Llama 3.1's and Gemma 3's prompt guides (no reasoning at all).
"""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Layout:
    """How pieces follow each other.

    `reasoning` holds the text before and behind it, None where the family has none. `between` stands between words and
    calls. `mixes` says that words may stand beside calls: where not, the template drops them.
    """

    reasoning: tuple[str, str] | None = ("<think>\n", "\n</think>\n\n")
    between: str = "\n"
    mixes: bool = True


USUAL = Layout()
"""What most families do, and so what a format that is not in the table is taken to do."""

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
    }
)
"""The families that do otherwise, by their format's name."""
