"""L8xx: the layers of a session differ: what the model wrote, what the server parsed, what ran, what the model read.

Each rule names the `layer` at which the difference arose, and its `owner`: who made it.
"""

from weaklink.inspector.rules.rule import Rule, Severity

_ASK = "@user\nWeather in Oslo?\n"
_CALL = '@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
_RESULT = "@tool id=call_1\n4 degrees and light rain until the evening\n"
_PARSED = f"{_ASK}@assistant\n{_CALL}{_RESULT}"
_END = "@assistant sent=1,2,3\n4 degrees."

CALL_LOST_BY_SERVER = Rule(
    "L801",
    "call-lost-by-server",
    Severity.ERROR,
    "The model's call was correct, but the server left it in the content.",
    "The server parses calls into `tool_calls`, but this one stayed text: the client sees text, no tool runs, and the "
    "model seems to be at fault although the parser is.",
    "Change the server's tool parser, or update it; `weaklink segment` shows what the common parsers return for a "
    "text.",
    bad=f'{_PARSED}@assistant\n<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Bergen"}}}}\n</tool_call>',
    good=f'{_PARSED}@assistant\n@call:0 name=get_weather id=call_2\n{{"city": "Bergen"}}\n@tool id=call_2\n'
    "7 degrees\n@assistant\n4 and 7 degrees.",
    layer="parsed",
    owner="server",
)
CALL_INVENTED_BY_SERVER = Rule(
    "L802",
    "call-invented-by-server",
    Severity.ERROR,
    "The server's reply has a call that the model did not make.",
    "The content contains the model's whole text with every call, but the structured reply has an extra call. A "
    "parser that guesses, or that takes calls from closed reasoning, runs tools that the model never called.",
    "Compare the raw text with the parser's output, and report it to the server's maintainers.",
    bad=f'{_ASK}@assistant\n<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Oslo"}}}}\n</tool_call>\n'
    f"{_CALL}@call:1 name=get_time id=call_2\n{{}}\n{_RESULT}@tool id=call_2\nnoon\n@assistant\n4 degrees.",
    good=f"{_PARSED}@assistant\n4 degrees.",
    layer="parsed",
    owner="server",
)
ARGUMENTS_CHANGED_BY_SERVER = Rule(
    "L803",
    "arguments-changed-by-server",
    Severity.ERROR,
    "The server's reply has different arguments than the model wrote.",
    "The parser read a value as another type, truncated it, or dropped a duplicate key: the tool gets arguments that "
    "the model did not write. Differences in white space, key order and escapes are ignored.",
    "Compare the raw text with the parser's output; change the parser, or use the type that the parser needs in the "
    "tool's schema.",
    bad=f'{_ASK}@assistant\n<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Oslo", "days": "05"}}}}\n'
    '</tool_call>\n@call:0 name=get_weather id=call_1\n{"city": "Oslo", "days": 5}\n'
    f"{_RESULT}@assistant\n4 degrees.",
    good=f"{_PARSED}@assistant\n4 degrees.",
    layer="parsed",
    owner="server",
)
CALL_NOT_EXECUTED = Rule(
    "L804",
    "call-not-executed",
    Severity.WARNING,
    "No run of this call is recorded, though the source records runs of this tool.",
    "The source recorded other runs of the same tool in the session, so a run of this call should be recorded too. "
    "The result that the model read did not come from the tool.",
    "Check the agent for a cache, a denied permission, or an exception between the call and the tool.",
    bad=f"{_ASK}@assistant\n{_CALL}{_RESULT}@run name=get_weather id=call_1\n"
    "4 degrees and light rain until the evening\n"
    '@assistant\n@call:0 name=get_weather id=call_2\n{"city": "Bergen"}\n@tool id=call_2\n7 degrees\n'
    "@assistant\n4 and 7 degrees.",
    good=f"{_ASK}@assistant\n{_CALL}{_RESULT}@run name=get_weather id=call_1\n"
    "4 degrees and light rain until the evening\n@assistant\n4 degrees.",
    layer="executed",
    owner="agent",
)
EXECUTED_OTHER_ARGUMENTS = Rule(
    "L805",
    "executed-other-arguments",
    Severity.ERROR,
    "The agent ran the tool with different arguments than the call has.",
    "The agent changed the arguments between the reply and the tool: it filled in a default, converted a value, or "
    "ran another call. The model reads the result of a call that it did not make.",
    "Check the code between the reply and the tool: argument defaults, type conversion, permission hooks.",
    bad=f"{_ASK}@assistant\n{_CALL}{_RESULT}@run name=get_weather id=call_1\n"
    "4 degrees and light rain until the evening\n@run:arguments\n"
    '{"city": "Bergen"}\n@assistant\n4 degrees.',
    good=f"{_ASK}@assistant\n{_CALL}{_RESULT}@run name=get_weather id=call_1\n"
    '4 degrees and light rain until the evening\n@run:arguments\n{"city":"Oslo"}\n@assistant\n4 degrees.',
    layer="executed",
    owner="agent",
)
ARGUMENTS_CHANGED_BEFORE_READ = Rule(
    "L806",
    "arguments-changed-before-read",
    Severity.WARNING,
    "A later request shows the model different arguments than it wrote.",
    "The agent put the call back into the history with other values. The model then continues from a call that it did "
    "not make. Differences in white space, key order and escapes are ignored.",
    "Send calls back as the unchanged text, or write them from the same parsed value.",
    bad=f'{_PARSED}{_END}\n@sent:2/call:0 name=get_weather id=call_1\n{{"city": "Bergen"}}\n',
    good=f'{_PARSED}{_END}\n@sent:2/call:0 name=get_weather id=call_1\n{{"city":"Oslo"}}\n',
    layer="read",
    owner="agent",
)
CALL_INVENTED_IN_HISTORY = Rule(
    "L807",
    "call-invented-in-history",
    Severity.ERROR,
    "A later request shows the model a call that it did not make.",
    "The agent added a call to an answer of the model. The model reads it as its own call.",
    "Put calls that the agent makes itself into a separate message, or into a user message.",
    bad=f"{_PARSED}@assistant sent=1,2,3\n4 degrees.\n@sent:2/call:0 name=get_weather id=call_1\n"
    '{"city": "Oslo"}\n@sent:2/call:1 name=get_time id=call_9\n{}\n',
    good=f"{_PARSED}{_END}",
    layer="read",
    owner="agent",
)
RESULT_CHANGED_BEFORE_READ = Rule(
    "L808",
    "result-changed-before-read",
    Severity.WARNING,
    "The model read a different result than the tool returned, or than it read before.",
    "A framework rewrote, summarised or cleared the result. The model's next step is based on the text that it read, "
    "not on what the tool returned.",
    "Tell the model that a result was changed, and keep ids and values that later calls need.",
    bad=f"{_PARSED}@run name=get_weather id=call_1\n-4 degrees\n@assistant\n4 degrees.",
    good=f"{_PARSED}@run name=get_weather id=call_1\n"
    "4 degrees and light rain until the evening\n@assistant\n4 degrees.",
    layer="read",
    owner="agent",
)
RESULT_TRUNCATED_BEFORE_READ = Rule(
    "L809",
    "result-truncated-before-read",
    Severity.WARNING,
    "The model read only a part of the result.",
    "The agent truncated the result, immediately or in a later request. The model does not see the rest and tends to "
    "make it up.",
    "Raise the agent's limit for results, paginate long results, or keep ids and values that later calls need.",
    bad=f"{_PARSED}@assistant sent=1,2,3\n4 degrees.\n@sent:3\n4 degrees and light rain […]\n",
    good=f"{_PARSED}{_END}",
    layer="read",
    owner="agent",
)
RESULT_ATTACHED_TO_OTHER_CALL = Rule(
    "L810",
    "result-attached-to-other-call",
    Severity.ERROR,
    "A call's result is shown to the model under another call's id.",
    "The agent mixed up the results of parallel calls. The model reads the result of another call.",
    "Collect results by call id, not in the order in which the tools finish.",
    bad=f'{_ASK}@assistant\n{_CALL}@call:1 name=get_weather id=call_2\n{{"city": "Bergen"}}\n'
    "@tool id=call_1\n7 degrees in Bergen\n@run name=get_weather id=call_1\n4 degrees in Oslo\n"
    "@tool id=call_2\n4 degrees in Oslo\n@run name=get_weather id=call_2\n7 degrees in Bergen\n"
    "@assistant\n4 and 7 degrees.",
    good=f"{_PARSED}{_END}",
    layer="read",
    owner="agent",
)
HISTORY_REWRITTEN = Rule(
    "L811",
    "history-rewritten",
    Severity.WARNING,
    "A request lacks, rewrites or reorders messages of the previous request.",
    "The agent changed the history: it dropped messages to save space, rewrote one, or reordered them. The model "
    "cannot know what is missing.",
    "Announce a compaction in the history, and keep what later calls need.",
    bad=f"{_PARSED}@assistant sent=1,2,3\n4 degrees.\n@user\nAnd Bergen?\n@assistant sent=1,4,5\n7 degrees.",
    good=f"{_PARSED}@assistant sent=1,2,3\n4 degrees.\n@user\nAnd Bergen?\n@assistant sent=1,2,3,4,5\n7 degrees.",
    layer="read",
    owner="agent",
)
HISTORY_COMPACTED = Rule(
    "L812",
    "history-compacted",
    Severity.INFO,
    "A request has a summary in place of messages of the previous request.",
    "The agent compacted the history and marked it as a summary. The model no longer sees what the summary omits. In "
    "logs of agents that mark their summaries, the message names the values of earlier results that later calls have "
    "and the summary lacks.",
    "Check the summary: it must contain ids and values that later calls need.",
    bad=f"{_PARSED}@assistant sent=1,2,3\n4 degrees.\n@user\n"
    "Summary of the conversation so far: 4 degrees in Oslo.\n@user\nAnd Bergen?\n@assistant sent=1,5,6\n7 degrees.",
    good=f"{_PARSED}@assistant sent=1,2,3\n4 degrees.\n@user\nAnd Bergen?\n@assistant sent=1,2,3,4,5\n7 degrees.",
    layer="read",
    owner="agent",
)
REASONING_DROPPED_FROM_HISTORY = Rule(
    "L813",
    "reasoning-dropped-from-history",
    Severity.INFO,
    "Later requests omit the model's reasoning.",
    "Most chat templates and providers do this by design. The model continues without its own plan. Reported once, at "
    "the first omitted reasoning.",
    "Do nothing if the provider drops reasoning itself; otherwise send it back if the model was trained with it.",
    bad=f"{_ASK}@assistant\n@reasoning\nI look it up.\n{_CALL}{_RESULT}"
    "@assistant sent=1,2,3\n4 degrees.\n@sent:2/call:0 name=get_weather id=call_1\n"
    '{"city": "Oslo"}',
    good=f"{_ASK}@assistant\n@reasoning\nI look it up.\n{_CALL}{_RESULT}{_END}",
    layer="read",
    owner="agent",
)
REQUIRED_REASONING_DROPPED = Rule(
    "L814",
    "required-reasoning-dropped",
    Severity.WARNING,
    "Reasoning was omitted inside an open tool loop, although the provider requires it.",
    "The provider's reference requires clients to send reasoning back with its calls until the model has answered. "
    "Without it the provider rejects the request, or the model restarts its plan after each result.",
    "Send the blocks or items of reasoning back unchanged, together with the calls.",
    bad=f"{_ASK}@assistant api=messages\n@reasoning\nI look it up.\n{_CALL}{_RESULT}"
    "@assistant sent=1,2,3 api=messages\n4 degrees.\n@sent:2/call:0 name=get_weather id=call_1\n"
    '{"city": "Oslo"}',
    good=f"{_ASK}@assistant api=messages\n@reasoning\nI look it up.\n{_CALL}{_RESULT}"
    "@assistant sent=1,2,3 api=messages\n4 degrees.",
    layer="read",
    owner="agent",
)
TOOLS_CHANGED = Rule(
    "L815",
    "tools-changed",
    Severity.INFO,
    "A request offers different tools than the previous request.",
    "The agent added, removed, changed or reordered tools. Calls of a removed tool fail, and the prompt cache is "
    "invalidated, because tools come before the messages.",
    "If possible, offer the same tools in the same order throughout a session.",
    bad=f"{_ASK}@assistant tools=get_weather\n{_CALL}{_RESULT}@assistant sent=1,2,3 tools=get_time,get_weather\n"
    "4 degrees.",
    good=f"{_ASK}@assistant tools=get_weather\n{_CALL}{_RESULT}@assistant sent=1,2,3 tools=get_weather\n4 degrees.",
    layer="read",
    owner="agent",
)
CACHE_PREFIX_BROKEN = Rule(
    "L816",
    "cache-prefix-broken",
    Severity.INFO,
    "The system prompt differs from that of the previous request.",
    "A prompt cache covers the longest common prefix of two requests. A clock or a counter in the system prompt ends "
    "that prefix, and everything after it is computed and billed again.",
    "Move what changes to the end of the request, or remove it.",
    bad="@system\nYou help. It is 10:00.\n@user\nWeather in Oslo?\n@assistant sent=1,2\nIn which country?\n"
    "@user\nNorway.\n@assistant sent=1,2,3,4\n4 degrees.\n@sent:1\nYou help. It is 10:01.\n",
    good="@system\nYou help. It is 10:00.\n@user\nWeather in Oslo?\n@assistant sent=1,2\nIn which country?\n"
    "@user\nNorway.\n@assistant sent=1,2,3,4\n4 degrees.\n",
    layer="read",
    owner="agent",
)
CALL_DELIVERED_TWICE = Rule(
    "L817",
    "call-delivered-twice",
    Severity.WARNING,
    "The server's reply has the same call in its content and in its calls.",
    "The server parsed the call but did not take it out of the content. The user sees the call's markup, the model "
    "reads its call twice in the next request and copies that, and a client that reads the content may run the tool "
    "twice.",
    "Update the server's tool parser; until then, drop the call from the content before you send the answer back.",
    bad=f'{_ASK}@assistant\n<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Oslo"}}}}\n</tool_call>\n'
    f"{_CALL}{_RESULT}@assistant\n4 degrees.",
    good=f"{_PARSED}@assistant\n4 degrees.",
    layer="parsed",
    owner="server",
)

RULES = (
    CALL_LOST_BY_SERVER,
    CALL_INVENTED_BY_SERVER,
    ARGUMENTS_CHANGED_BY_SERVER,
    CALL_NOT_EXECUTED,
    EXECUTED_OTHER_ARGUMENTS,
    ARGUMENTS_CHANGED_BEFORE_READ,
    CALL_INVENTED_IN_HISTORY,
    RESULT_CHANGED_BEFORE_READ,
    RESULT_TRUNCATED_BEFORE_READ,
    RESULT_ATTACHED_TO_OTHER_CALL,
    HISTORY_REWRITTEN,
    HISTORY_COMPACTED,
    REASONING_DROPPED_FROM_HISTORY,
    REQUIRED_REASONING_DROPPED,
    TOOLS_CHANGED,
    CACHE_PREFIX_BROKEN,
    CALL_DELIVERED_TWICE,
)
