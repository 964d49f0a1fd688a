"""F3xx: markers and spans, the layer that a server's parser reads first."""

from inspector.rules.rule import Rule, Severity

UNTERMINATED_SPAN = Rule(
    "F301",
    "unterminated-span",
    Severity.ERROR,
    "A span has no closing marker.",
    "Servers that wait for the closing marker return the whole text as content, and the call is lost. Real models "
    "forget it, or repeat the opening marker where the closing one belongs.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
STRAY_END_MARKER = Rule(
    "F302",
    "stray-end-marker",
    Severity.WARNING,
    "A closing marker closes nothing.",
    "Either the opening marker stood in the prompt (give its tail with `--prompt`), or the model closed twice, or an "
    "earlier fault ended the span too soon.",
    bad="The answer is 4.</think>",
    good="<think>2+2</think>The answer is 4.",
)
NESTED_SPAN = Rule(
    "F303",
    "nested-span",
    Severity.WARNING,
    "An opening marker stands inside a span of its own kind.",
    "Markers do not nest: the first closing marker ends the span, and the rest leaks into the answer.",
    bad="<think>first <think>second</think> rest</think>",
    good="<think>first second rest</think>",
)
MARKER_INSIDE_ARGUMENT = Rule(
    "F304",
    "marker-inside-argument",
    Severity.WARNING,
    "A marker stands inside a string argument, as data.",
    "weaklink reads the payload string-aware, so the call is whole. Servers that split by regular expression cut "
    "it there and lose the call (vLLM and SGLang both had this bug).",
    bad='<tool_call>\n{"name": "f", "arguments": {"text": "write </tool_call> here"}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"text": "write it here"}}\n</tool_call>',
)
CALL_INSIDE_REASONING = Rule(
    "F305",
    "call-inside-reasoning",
    Severity.WARNING,
    "A call is drafted inside reasoning.",
    "It is reasoning and not a call. A server without a reasoning parser executes it all the same, and one whose "
    "parser reads calls first loses the real one.",
    bad='<think>I will send <tool_call>{"name": "f", "arguments": {}}</tool_call></think>',
    good='<think>I will call f.</think><tool_call>{"name": "f", "arguments": {}}</tool_call>',
)
EMPTY_CALL = Rule(
    "F306",
    "empty-call",
    Severity.ERROR,
    "A call span holds nothing.",
    "The model opened a call and wrote none. Where the marker stands behind a complete call it was meant to close it.",
    bad="<tool_call>\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
TEXT_AFTER_CALL = Rule(
    "F307",
    "text-after-call",
    Severity.INFO,
    "Text follows the last call of a turn.",
    "Many servers and agents drop it. Often the model goes on to invent the result it should wait for.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\nIt is sunny.',
    good='Let me look.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
WRONG_BRACKET_VARIANT = Rule(
    "F308",
    "wrong-bracket-variant",
    Severity.ERROR,
    "A span is opened in one spelling and closed in the other.",
    "`<tool_call>` and `[tool_call]` are two spellings of one marker; a server knows one and never sees the end.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n[/tool_call]',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
FOREIGN_FORMAT = Rule(
    "F309",
    "foreign-format",
    Severity.ERROR,
    "A call stands in the text in another format's syntax.",
    "The server looks for calls in the model's own syntax, so this one stays in the answer and no tool runs. Models "
    "fall back to the syntax of their training data when the prompt shows them another one.",
    bad='functools[{"name": "f", "arguments": {}}]',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
SPECIAL_TOKEN_LEAK = Rule(
    "F310",
    "special-token-leak",
    Severity.ERROR,
    "A special token of the chat template stands where it does not belong.",
    "Models write `<|im_start|>` for `<tool_call>`, or begin a turn of somebody else. The server's template treats the "
    "token as structure, so what follows is lost or read as another role's words.",
    bad='<|im_start|>\n{"name": "f", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
CALL_LEFT_IN_CONTENT = Rule(
    "F311",
    "call-left-in-content",
    Severity.ERROR,
    "The server's parser missed a call and left it in the content.",
    "The tools went with the request and the server turns calls into its `tool_calls`, but this one it did not "
    "recognise: the client sees words, and no tool runs. Often the parser is the wrong one for the model, or one "
    "malformed call made it give up on all.",
)
INVENTED_RESULT = Rule(
    "F312",
    "invented-result",
    Severity.ERROR,
    "The model writes a tool's result itself.",
    "Results come from the caller, never from the model: what stands here is invented, and the agent goes on with it.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n<tool_response>\n{"ok": true}\n</tool_response>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
MALFORMED_HEADER = Rule(
    "F313",
    "malformed-header",
    Severity.WARNING,
    "The header of a message or call lacks a part, or holds something else.",
    "Formats that name the recipient before the content (harmony, functionary, DeepSeek) depend on each part of that "
    "header. Models drop one or write words between them; strict parsers then raise an error for the whole reply.",
)

NEAR_MARKER = Rule(
    "F314",
    "near-marker",
    Severity.WARNING,
    "Something is nearly the marker of a call.",
    "A server looks for the exact marker. What is nearly one, or was cut off by the end of the stream, is text to it: "
    "the call that follows is shown to the user and never made.",
    bad='<tool_cal> {"name": "f", "arguments": {}}',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
WRONG_OPENER = Rule(
    "F315",
    "wrong-opener",
    Severity.WARNING,
    "A call begins with another marker than its format's own, or without one.",
    "Models leave out the marker around a call (Qwen3-Coder often begins with `<function=`), drop a prefix, or take "
    "the wrapper of another family. Servers look for the format's own marker, take such a call for text, and it is "
    "lost. weaklink reads it.",
)
UNTERMINATED_WRAPPER = Rule(
    "F316",
    "unterminated-wrapper",
    Severity.WARNING,
    "A wrapper around calls is never closed.",
    "Where the request stops the generation at the closing tag (as prompts for Claude do), it is left out on purpose. "
    "Else the model forgot it or the stream was cut: a server that looks for the whole wrapper loses every call in it, "
    "and calls may be missing behind the last one.",
)

RULES = (
    UNTERMINATED_SPAN,
    STRAY_END_MARKER,
    NESTED_SPAN,
    MARKER_INSIDE_ARGUMENT,
    CALL_INSIDE_REASONING,
    EMPTY_CALL,
    TEXT_AFTER_CALL,
    WRONG_BRACKET_VARIANT,
    FOREIGN_FORMAT,
    SPECIAL_TOKEN_LEAK,
    CALL_LEFT_IN_CONTENT,
    INVENTED_RESULT,
    MALFORMED_HEADER,
    NEAR_MARKER,
    WRONG_OPENER,
    UNTERMINATED_WRAPPER,
)
