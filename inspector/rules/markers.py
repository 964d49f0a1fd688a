"""F3xx: markers and spans, the layer that a server's parser processes first."""

from weaklink.inspector.rules.rule import Rule, Severity

_TOOLS = (
    '<|im_start|>system\n<tools>[{"name": "get_weather", "parameters": {"type": "object", "properties": '
    '{"city": {"type": "string"}}, "required": ["city"]}}]</tools><|im_end|>\n'
)

UNTERMINATED_SPAN = Rule(
    "F301",
    "unterminated-span",
    Severity.ERROR,
    "A span has no closing marker.",
    "Servers that wait for the closing marker return the whole text as content, and the call is lost; an open "
    "`<think>` turns the whole answer into reasoning. Real models forget the marker, or repeat the opening one "
    "instead of the closing one.",
    "Check the finish reason: with `length` the text was truncated, otherwise look for a stop word that is the marker "
    "itself (servers then remove it; where the request is recorded, such an answer counts as whole). Closing the span "
    "is safe if the payload is complete.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
STRAY_END_MARKER = Rule(
    "F302",
    "stray-end-marker",
    Severity.WARNING,
    "A closing marker closes nothing.",
    "Either the opening marker was in the prompt, or the model closed twice, or an earlier fault ended the span too "
    "soon. A server that does not know the prompt reads the reasoning before a lone `</think>` as the answer.",
    "If the template opens the span, pass the end of the prompt with `--prompt`. Otherwise check the earlier faults: "
    "they are often the cause.",
    bad="<think>2+2</think>The answer is 4.</think>",
    good="<think>2+2</think>The answer is 4.",
)
REASONING_OPENED_BY_PROMPT = Rule(
    "F319",
    "reasoning-opened-by-prompt",
    Severity.INFO,
    "A closing marker ends reasoning that the prompt opened.",
    "Templates of reasoning models end the prompt with the opening marker, so the answer contains only the closing "
    "one, and logs rarely include the prompt. The text before the marker is read as reasoning. A server without the "
    "model's reasoning parser returns it as part of the answer.",
    "Do nothing if the server has a reasoning parser. Pass the end of the prompt with `--prompt` if you know it.",
    bad="2+2 is 4.</think>The answer is 4.",
    good="<think>2+2 is 4.</think>The answer is 4.",
)
NESTED_SPAN = Rule(
    "F303",
    "nested-span",
    Severity.WARNING,
    "An opening marker is inside a span of the same kind.",
    "Markers do not nest: the first closing marker ends the span, and the rest leaks into the answer, or into the "
    "call.",
    "Check whether the prompt contains the marker; a model repeats what it has just read. The repair deletes the "
    "inner marker.",
    bad="<think>first <think>second</think> The answer is 4.",
    good="<think>first second</think> The answer is 4.",
)
MARKER_INSIDE_ARGUMENT = Rule(
    "F304",
    "marker-inside-argument",
    Severity.WARNING,
    "A marker is inside a string argument, as data.",
    "weaklink parses strings, so it reads the whole call. Servers that split by regular expression truncate it there "
    "and lose the call (vLLM and SGLang both had this bug).",
    "If the client did not receive the call, this is the cause: update the server. Agents that work on prompts and "
    "templates often write such markers; they can escape the marker as `\\u003c`.",
    bad='<tool_call>\n{"name": "f", "arguments": {"text": "write </tool_call> here"}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {"text": "write it here"}}\n</tool_call>',
)
CALL_INSIDE_REASONING = Rule(
    "F305",
    "call-inside-reasoning",
    Severity.WARNING,
    "A call is drafted inside reasoning.",
    "Inside closed reasoning it is a draft, not a call; in reasoning that never closes, a complete call counts as a "
    "call, since the model meant it, and F301 reports it. What a server does depends on its reasoning parser: vLLM "
    "0.33.0's `qwen3` ends the reasoning at the call and returns it, also a draft, and then loses the answer; its "
    "`deepseek_r1` keeps everything as reasoning. Without a reasoning parser, a server executes drafts too.",
    "Check what the server's reasoning parser does, and whether the real call follows. If the reasoning never closes, "
    "make the model close it before it calls.",
    bad='<think>I will send <tool_call>{"name": "f", "arguments": {}}</tool_call></think>',
    good='<think>I will call f.</think><tool_call>{"name": "f", "arguments": {}}</tool_call>',
)
EMPTY_CALL = Rule(
    "F306",
    "empty-call",
    Severity.ERROR,
    "A call span is empty.",
    "The model opened a call and wrote none, so there is nothing to run; a server reports an error or ignores it. If "
    "the marker follows a complete call, it was meant to close that call.",
    "Add the slash if the marker should close a call. Otherwise check what the model should call: an empty call often "
    "means that the model found no suitable tool.",
    bad="<tool_call>\n</tool_call>",
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
TEXT_AFTER_CALL = Rule(
    "F307",
    "text-after-call",
    Severity.INFO,
    "Text follows the last call of a turn.",
    "Many servers and agents drop it. Often the model continues by inventing the result that it should wait for, and "
    "then relies on it.",
    "Stop the generation at the call's closing marker, if the model should not make parallel calls. Text for the user "
    "should come before the call.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\nIt is sunny.',
    good='Let me look.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
WRONG_BRACKET_VARIANT = Rule(
    "F308",
    "wrong-bracket-variant",
    Severity.ERROR,
    "A span is opened with one spelling and closed with the other.",
    "`<tool_call>` and `[tool_call]` are two spellings of one marker; a server knows only one of them and never finds "
    "the end, so the call is lost.",
    "Use one spelling throughout the prompt and the training data: models learn this from mixed data.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n[/tool_call]',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
FOREIGN_FORMAT = Rule(
    "F309",
    "foreign-format",
    Severity.ERROR,
    "A call is written in another format's syntax.",
    "The server looks for calls in the model's own syntax, so this one stays in the answer and no tool runs. Models "
    "fall back to the syntax of their training data when the prompt shows them another one.",
    "Configure the server with the parser for the model's syntax (`weaklink formats --detect` names it), or use the "
    "chat template that the model was trained on.",
    bad='functools[{"name": "f", "arguments": {}}]',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
SPECIAL_TOKEN_LEAK = Rule(
    "F310",
    "special-token-leak",
    Severity.ERROR,
    "A special token of the chat template is in the wrong place.",
    "Models write `<|im_start|>` instead of `<tool_call>`, or begin a turn of another role. The server's template "
    "treats the token as structure, so what follows is lost or read as another role's message.",
    "Let the server stop at its end-of-turn tokens, and remove special tokens from user messages and tool results "
    "before they become part of a prompt: they also allow prompt injection.",
    bad='<|im_start|>\n{"name": "f", "arguments": {}}\n</tool_call>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
CALL_LEFT_IN_CONTENT = Rule(
    "F311",
    "call-left-in-content",
    Severity.ERROR,
    "The server's parser missed a malformed call and left it in the content.",
    "The request offered the tools and the server parses calls into `tool_calls`, but it did not recognise this one: "
    "the client sees text, and no tool runs. Often the server uses the wrong parser for the model, or one malformed "
    "call made the parser discard all of them.",
    "Fix the faults marked on this call; L801 reports a call without faults that was left in the content.",
    bad='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    "@tool id=call_1\n4 degrees\n@assistant\n<tool_call>\n"
    '{"name": "get_weather", "arguments": {"city": "Bergen"}\n</tool_call>',
    good='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@tool id=call_1\n4 degrees\n@assistant\n@call:0 name=get_weather id=call_2\n{"city": "Bergen"}\n'
    "@tool id=call_2\n7 degrees\n@assistant\n4 and 7 degrees.",
)
INVENTED_RESULT = Rule(
    "F312",
    "invented-result",
    Severity.ERROR,
    "The model writes a tool's result itself.",
    "Results come from the caller, never from the model: this result is invented, and the agent continues as if it "
    "were real.",
    "Stop the generation at the call's closing marker. Do not use anything that follows in this turn, and keep it out "
    "of the history.",
    bad='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n<tool_response>\n{"ok": true}\n</tool_response>',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
MALFORMED_HEADER = Rule(
    "F313",
    "malformed-header",
    Severity.WARNING,
    "The header of a message or call lacks a part, or contains something else.",
    "Formats that name the recipient before the content (harmony, functionary, DeepSeek) depend on each part of that "
    "header. Models drop one or write text between them; strict parsers then raise an error for the whole reply, and "
    "the agent gets nothing.",
    "Check whether the template can end with the header, so that the model does not have to write it. Use a server "
    "with a lenient parser; weaklink reads what is certain.",
    bad="@user\nHello.\n@assistant\nGood morning.\n@wire:prompt\n>>>",
    good="@user\nHello.\n@assistant\nall\nGood morning.\n@wire:prompt\n>>>",
    format="functionary",
)

NEAR_MARKER = Rule(
    "F314",
    "near-marker",
    Severity.WARNING,
    "A text is nearly, but not exactly, the marker of a call.",
    "Most servers search for the exact marker. They read a misspelt marker, or one truncated by the end of the "
    "stream, as text: the user sees the call that follows, and no tool runs. Some know more spellings than the "
    "model's template has.",
    "Check the prompt for the same misspelling. A high temperature or a strong quantisation garbles markers too; if "
    "they are single tokens, garbled ones mean that the tokenizer's special tokens were not set up.",
    bad='<tool_cal> {"name": "f", "arguments": {}}',
    good='<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
)
WRONG_OPENER = Rule(
    "F315",
    "wrong-opener",
    Severity.WARNING,
    "A call begins with a marker of another format, or without one.",
    "Models leave out the marker around a call (Qwen3-Coder often begins with `<function=`), drop a prefix, or use "
    "the wrapper of another family. Servers search for the format's own marker and read such a call as text, so it is "
    "lost. weaklink reads it. Of a recorded request without tools nothing is said: its agent alone reads the answer.",
    "Use a server whose parser accepts this form, or end the prompt with the marker when a call must follow.",
    bad="<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    good="<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    format="qwen3_coder",
)
UNTERMINATED_WRAPPER = Rule(
    "F316",
    "unterminated-wrapper",
    Severity.WARNING,
    "A wrapper around calls is never closed.",
    "A server that searches for the whole wrapper loses every call in it, and calls may be missing after the last "
    "one. If the request stops the generation at the closing tag (as prompts for Claude do), the tag is missing on "
    "purpose.",
    "If that tag is a stop word of the request, ignore this rule. Otherwise check the finish reason for a truncation.",
    bad='<dots_function_call>\n<invoke name="get_time">\n</invoke>\n',
    good='<dots_function_call>\n<invoke name="get_time">\n</invoke>\n</dots_function_call>',
    format="dots",
)
ATTEMPTED_CALL = Rule(
    "F317",
    "attempted-call",
    Severity.ERROR,
    "A call of an offered tool is written in a syntax that the format does not read.",
    "The model tried to call a tool, but wrote the call in a code fence, in prose, as JSON although the format needs "
    "Python's syntax (or the reverse), with escaped underscores, inside a string, as a name with labels, tags or "
    "YAML, without its special tokens (which some servers remove), or in another way that is not this format's. "
    "The user sees the reply as text, no tool runs, and the agent stops.",
    "Apply the fix to see the call as the format expects it. In the prompt, show one call exactly as the server reads "
    "it, without a code fence; for models that always use another syntax, use a server with a parser for that syntax.",
    bad=f'{_TOOLS}<|im_start|>assistant\nI will look.\n```python\nget_weather(city="Oslo")\n```<|im_end|>\n',
    good=f'{_TOOLS}<|im_start|>assistant\n<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Oslo"}}}}\n'
    "</tool_call><|im_end|>\n",
)
TEXT_AROUND_CALLS = Rule(
    "F318",
    "text-around-calls",
    Severity.WARNING,
    "A reply has text next to calls, but servers of its format accept only replies with nothing but calls.",
    "Calls without markers (`[f(a=1)]`, a bare JSON object) are recognised only in the whole reply: vLLM's pythonic "
    "parser must match all of it, and one sentence before or after the calls turns everything into content. Servers "
    "that search for the call inside the text are rarer, and drop the text.",
    "Tell the model to answer with nothing but the calls, or use a format with markers around calls if it should also "
    "write text.",
    bad="I will look.\n[get_weather(city='Oslo')]",
    good="[get_weather(city='Oslo')]",
    format="pythonic",
)
MARKER_IN_PROSE = Rule(
    "F320",
    "marker-in-prose",
    Severity.INFO,
    "An opening marker is mentioned in prose and does not open a span.",
    "An answer that explains a format quotes its markers. weaklink reads such a marker as text. Servers search for "
    "the marker alone: many read what follows it as a call or as reasoning, and the user never sees it.",
    "If users do not see the end of such answers, write the marker differently in the prompt and in the documents "
    "that the model quotes, such as `&lt;tool_call>`.",
    bad="The model writes `<tool_call>` before each call.",
    good="The model writes an opening tag before each call.",
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
    ATTEMPTED_CALL,
    TEXT_AROUND_CALLS,
    REASONING_OPENED_BY_PROMPT,
    MARKER_IN_PROSE,
)
