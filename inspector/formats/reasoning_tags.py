"""How model families spell reasoning: a prompt that ends in any of these openers starts a stream inside reasoning.

Sources: the chat templates and reasoning parsers of the families (vllm:vllm/reasoning, llama.cpp:models/templates).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReasoningTag:
    """One spelling: the span's label, the opening and the closing marker.

    `instead_of` is the opener that the family's template writes, where this spelling is a slip of its models;
    `other_closers` close it as well.
    """

    label: str
    opener: str
    closer: str
    instead_of: str = ""
    other_closers: tuple[str, ...] = ()


HERMES_TAGS = (
    ReasoningTag("think", "<think>", "</think>"),
    ReasoningTag("thinking", "<thinking>", "</thinking>"),
    ReasoningTag("scratch_pad", "<scratch_pad>", "</scratch_pad>"),
    ReasoningTag("inner_monologue", "[inner_monologue]", "[/inner_monologue]"),
    ReasoningTag("inner_monologue", "<inner_monologue>", "</inner_monologue>"),
)
"""Those that Hermes models and Hermes training data use."""

THINK_TAGS = (ReasoningTag("think", "<think>", "</think>"),)
"""What most families use."""

OTHER_TAGS = (
    ReasoningTag("think", "<think>", "</think>"),
    ReasoningTag("think", "[THINK]", "[/THINK]"),
    ReasoningTag("think", "<seed:think>", "</seed:think>"),
    ReasoningTag("think", "<mm:think>", "</mm:think>"),
    ReasoningTag("think", "<|START_THINKING|>", "<|END_THINKING|>"),
    ReasoningTag("think", "<|channel>thought", "<channel|>"),
    ReasoningTag("think", "<|channel|>analysis<|message|>", "<|end|>"),
    ReasoningTag("think", "◁think▷", "◁/think▷"),
)
"""Those of single families; in the tables of others they matter only when a prompt ends in one."""
