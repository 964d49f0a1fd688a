"""R6xx: the model's reasoning, and how much of its context window is used."""

from inspector.rules.rule import Rule, Severity

REASONING_OVER_BUDGET = Rule(
    "R601",
    "reasoning-over-budget",
    Severity.WARNING,
    "A turn's reasoning is longer than its budget of tokens.",
    "An agent that thinks for 30,000 tokens about one step is mostly lost: it repeats itself, costs minutes, and "
    "leaves no room for the call. The tokens are counted where the recording holds their ids, else the server's own "
    "count is taken, else they are estimated from the text (four bytes each), and the message says which. The mark "
    "begins where the budget ran out, or covers the longest reasoning where that is not known.",
    "Read the end of the reasoning. A loop of the same sentences calls for another temperature or a limit on "
    "thinking, a real puzzle for smaller steps.",
    bad="@user\nWhich of the two is older?\n@assistant reasoning_tokens=41250\n<think>\nLet me compare them again. "
    "Let me compare them again.\n</think>\nThe first.",
    good="@user\nWhich of the two is older?\n@assistant reasoning_tokens=310\n<think>\nThe first is from 1890.\n"
    "</think>\nThe first.",
)
REASONING_MISSING = Rule(
    "R602",
    "reasoning-missing",
    Severity.WARNING,
    "A turn has no reasoning, although the request asked for it or the other turns have some.",
    "A model that skips its reasoning once tends to call the wrong tool, or to invent a value, right there. Two cases "
    "are reported: the request turned thinking on (`enable_thinking`, `thinking`) and an answer to the user has none; "
    "or nearly every turn of the trace has some and this one has not. Answers to the user and answers to a tool's "
    "result are compared among themselves, since many models think only after the user's words. Services that keep "
    "their reasoning to themselves are not meant.",
    "Look whether the chat template opens the reasoning, and whether a parser on the server threw it away. Where only "
    "this turn lacks it, look at what comes just before: a long result, or words that ask for a short answer.",
    bad='@user\nWeather in Oslo?\n@assistant parameters={"enable_thinking":true}\nIt is sunny.',
    good='@user\nWeather in Oslo?\n@assistant parameters={"enable_thinking":true}\n'
    "<think>\nI have no tool for that.\n</think>\nI cannot look that up.",
)
CONTEXT_NEARLY_FULL = Rule(
    "R603",
    "context-nearly-full",
    Severity.WARNING,
    "The conversation fills nine tenths or more of the context window.",
    "Beyond the window the server refuses the request, or cuts off the oldest turns without a word, the system prompt "
    "and its tools first: calls that were valid become unknown tools. Well before that, models forget what is in "
    "the middle. The count is the server's own (input and output) where it gave one, else an estimate from the text, "
    "and the message says which. The first turn that comes near the window is marked; those after it are not, until "
    "the conversation has been shortened.",
    "Shorten tool results, drop what is answered, or sum up. Where neither the source nor the request (Ollama's "
    "`num_ctx`) states the window, weaklink assumes 131,072 tokens; say so if the model's own is another.",
    bad="@user\nGo on.\n@assistant input_tokens=128400 output_tokens=900\nThe next file is main.c.",
    good="@user\nGo on.\n@assistant input_tokens=52400 output_tokens=900\nThe next file is main.c.",
)
EMPTY_REASONING = Rule(
    "R604",
    "empty-reasoning",
    Severity.INFO,
    "Reasoning was opened and closed with nothing in it.",
    "Qwen3 and its kin write an empty block on purpose when thinking is switched off, so this is no fault by itself; "
    "it is worth knowing where you pay for a model that reasons. Where no turn of a trace has any reasoning, the "
    "first empty block is marked and the others are counted. Nothing is said where the request itself switched it off.",
    "If you did not want that, look for `/no_think` in a prompt, `enable_thinking: false`, or a template that closes "
    "the block itself.",
    bad="@user\nWeather in Oslo?\n@assistant\n<think>\n\n</think>\n\nI cannot look that up.",
    good="@user\nWeather in Oslo?\n@assistant\n<think>\nI have no tool for that.\n</think>\n\nI cannot look that up.",
)
SCRATCH_PAD_INCOMPLETE = Rule(
    "R605",
    "scratch-pad-incomplete",
    Severity.INFO,
    "A scratch pad lacks one of its parts: goal, actions, observation, reflection.",
    "The Hermes prompt asks for `Goal:`, `Actions:`, `Observation:` and `Reflection:`, each at the beginning of a "
    "line. Agents that read their plan from there, and graders that score it, miss the part; a model that leaves out "
    "the reflection tends to call with arguments that it does not have. A scratch pad with none of the four is free "
    "thought and is left alone.",
    "Show a scratch pad with all four parts in the prompt, with `none yet` where there is nothing to say.",
    bad="@user\nWeather in Oslo?\n@assistant\n<scratch_pad>\nGoal: the weather\nActions: get_weather\n</scratch_pad>\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    good="@user\nWeather in Oslo?\n@assistant\n<scratch_pad>\nGoal: the weather\nActions: get_weather\nObservation: "
    "none yet\nReflection: the city is known\n</scratch_pad>\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
)

RULES = (
    REASONING_OVER_BUDGET,
    REASONING_MISSING,
    CONTEXT_NEARLY_FULL,
    EMPTY_REASONING,
    SCRATCH_PAD_INCOMPLETE,
)
