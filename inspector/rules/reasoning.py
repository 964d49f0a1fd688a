"""R6xx: the model's reasoning, and how much of its context window is used."""

from weaklink.inspector.rules.rule import Rule, Severity

REASONING_OVER_BUDGET = Rule(
    "R601",
    "reasoning-over-budget",
    Severity.WARNING,
    "A turn's reasoning is longer than its budget of tokens.",
    "An agent that reasons for 30,000 tokens about one step is usually stuck: it repeats itself, takes minutes, and "
    "leaves no room for the call. If the recording contains token ids, the tokens are counted; otherwise the rule "
    "uses the server's own count, or an estimate from the text (four bytes each), and the message states which. The "
    "mark begins where the budget ran out, or covers the longest reasoning if that position is not known.",
    "Read the end of the reasoning. If it repeats the same sentences, change the temperature or limit thinking; if "
    "the problem is hard, use smaller steps.",
    bad="@user\nWhich of the two is older?\n@assistant reasoning_tokens=41250\n<think>\nLet me compare them again. "
    "Let me compare them again.\n</think>\nThe first.",
    good="@user\nWhich of the two is older?\n@assistant reasoning_tokens=310\n<think>\nThe first is from 1890.\n"
    "</think>\nThe first.",
)
REASONING_MISSING = Rule(
    "R602",
    "reasoning-missing",
    Severity.WARNING,
    "A turn has no reasoning, although the request enabled it or the other turns have some.",
    "A model that skips its reasoning once tends to call the wrong tool or invent a value in that turn. Two cases are "
    "reported: the request turned thinking on (`enable_thinking`, `thinking`) and an answer to the user has no "
    "reasoning; or nearly every turn of the trace has reasoning and this one has none. Answers to the user and "
    "answers to a tool's result are compared separately, since many models reason only after a user message. Services "
    "that hide their reasoning are not reported.",
    "Check whether the chat template opens the reasoning, and whether a parser on the server drops it. If only this "
    "turn lacks it, check what comes just before: a long result, or a request for a short answer.",
    bad='@user\nWeather in Oslo?\n@assistant parameters={"enable_thinking":true}\nIt is sunny.',
    good='@user\nWeather in Oslo?\n@assistant parameters={"enable_thinking":true}\n'
    "<think>\nI have no tool for that.\n</think>\nI cannot look that up.",
)
CONTEXT_NEARLY_FULL = Rule(
    "R603",
    "context-nearly-full",
    Severity.WARNING,
    "The conversation fills nine tenths or more of the context window.",
    "Beyond the window the server rejects the request, or silently drops the oldest turns, the system prompt and its "
    "tools first: valid calls then name unknown tools. Well before that, models forget what is in the middle. The "
    "count is the server's own (input and output) if it reports one, otherwise an estimate from the text, and the "
    "message states which. The rule marks the first turn near the window, and none after it until the conversation "
    "has been shortened.",
    "Shorten tool results, drop answered messages, or summarise. If neither the source nor the request (Ollama's "
    "`num_ctx`) states the window, weaklink assumes 131,072 tokens; set the window if the model has a different one.",
    bad="@user\nGo on.\n@assistant input_tokens=128400 output_tokens=900\nThe next file is main.c.",
    good="@user\nGo on.\n@assistant input_tokens=52400 output_tokens=900\nThe next file is main.c.",
)
EMPTY_REASONING = Rule(
    "R604",
    "empty-reasoning",
    Severity.INFO,
    "Reasoning was opened and closed without content.",
    "Qwen3 and similar models write an empty block on purpose when thinking is turned off, so this is not a fault by "
    "itself; it matters if you pay for a model that reasons. If no turn of a trace has any reasoning, the rule marks "
    "the first empty block and counts the others. Nothing is reported if the request itself turned thinking off.",
    "If that was not intended, look for `/no_think` in a prompt, `enable_thinking: false`, or a template that closes "
    "the block itself.",
    bad="@user\nWeather in Oslo?\n@assistant\n<think>\n\n</think>\n\nI cannot look that up.",
    good="@user\nWeather in Oslo?\n@assistant\n<think>\nI have no tool for that.\n</think>\n\nI cannot look that up.",
)
SCRATCH_PAD_INCOMPLETE = Rule(
    "R605",
    "scratch-pad-incomplete",
    Severity.INFO,
    "A scratch pad lacks one of its parts: goal, actions, observation, reflection.",
    "The Hermes prompt requires `Goal:`, `Actions:`, `Observation:` and `Reflection:`, each at the beginning of a "
    "line. Agents that read their plan from there, and graders that score it, miss the part; a model that omits the "
    "reflection tends to call tools with made-up arguments. A scratch pad with none of the four parts is free text "
    "and is not reported.",
    "Show a scratch pad with all four parts in the prompt, with `none yet` for an empty part.",
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
