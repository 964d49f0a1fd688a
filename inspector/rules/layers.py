"""L8xx: the layers of a session differ: what the model wrote, what the server parsed, what ran, what the model read.

Each rule names the `layer` at which the difference arose, and its `owner`: who made it.
"""

from inspector.rules.rule import Rule, Severity

_ASK = "@user\nWeather in Oslo?\n"
_CALL = '@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
_RESULT = "@tool id=call_1\n4 degrees and light rain until the evening\n"
_PARSED = f"{_ASK}@assistant\n{_CALL}{_RESULT}"
_END = "@assistant sent=1,2,3\n4 degrees."

CALL_LOST_BY_SERVER = Rule(
    "L801",
    "call-lost-by-server",
    Severity.ERROR,
    "The model's call was right, and the server left it in the content.",
    "The server turns calls into its `tool_calls`, but this one stayed text: the client sees words, no tool runs, and "
    "the model is blamed for what the parser did.",
    "Change the server's tool parser, or update it; `weaklink segment` says what the common parsers return for a text.",
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
    "The server's reply has a call that is not in the model's text.",
    "The content holds the model's whole text, with every call in it, and the structured reply has one call more. A "
    "parser that guesses runs tools that the model never asked for.",
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
    "The server's reply has other arguments than the model wrote.",
    "The parser read a value as another type, cut it, or dropped a duplicate key: the tool gets what the model did not "
    "write. White space, key order and escapes do not count.",
    "Compare the raw text with the parser's output; change the parser, or give the tool's schema the type that the "
    "parser needs.",
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
    "The source recorded other runs of the same tool in the session, so a run of this call would be there too. What "
    "the model read as its result did not come from the tool.",
    "Look in the agent for a cache, a permission that was refused, or an exception between the call and the tool.",
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
    "The agent ran the tool with other arguments than the call has.",
    "Between the reply and the tool somebody changed the arguments: a default was filled in, a value was re-typed, or "
    "another call was run. The model reads the answer to a question that it did not ask.",
    "Look at the code between the reply and the tool: argument defaults, type conversion, permission hooks.",
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
    "A later request shows the model other arguments than it wrote.",
    "The agent put the call back into the history with other values. The model then goes on from a call that it did "
    "not make. White space, key order and escapes do not count.",
    "Send calls back as they came, as text, or write them from the same parsed value.",
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
    "The agent added a call to an answer of the model. The model takes it for its own.",
    "Mark what the agent runs by itself as a message of its own, or as a user's.",
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
    "The model read another result than the tool returned, or than it read before.",
    "A framework rewrote, summarised or cleared the result. What the model does next follows from the text that it "
    "read, not from what the tool said.",
    "Show the model that a result was changed, and keep ids and values that later calls need.",
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
    "The agent cut the result, at once or in a later request. What followed the cut is no longer there for the "
    "model, and tends to be made up.",
    "Raise the agent's limit for results, page long results, or keep ids and values that later calls need.",
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
    "The agent mixed up the results of parallel calls. The model reads the answer to another question.",
    "Collect results by call id, not in the order in which the tools end.",
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
    "A request lacks messages of the one before, has them in other words, or in another order.",
    "The agent changed what was said: it dropped messages to save room, rewrote one, or put them in another order. The "
    "model cannot know what is gone.",
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
    "A request has a summary in place of messages of the one before.",
    "The agent compacted the history and says so. What the summary leaves out is gone for the model.",
    "Read what the summary kept: ids and values that later calls need have to be in it.",
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
    "Later requests leave out the model's reasoning.",
    "Most chat templates and providers do this by design. The model goes on without its own plan. Reported once, at "
    "the first reasoning that was left out.",
    "Nothing, where the provider drops reasoning itself; else send it back if the model was trained with it.",
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
    "Reasoning was left out inside an open tool loop, where the provider requires it back.",
    "The provider's reference says that reasoning goes back with the calls that came with it, until the model has "
    "answered. Without it the request is refused, or the model starts its plan again after each result.",
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
    "A request offers other tools than the one before.",
    "Tools were added, removed, changed or put in another order. Calls of a tool that is gone fail, and a prompt cache "
    "starts again, for tools come before the messages.",
    "Offer the same tools in the same order through a session, where that is possible.",
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
    "The system prompt differs from that of the request before.",
    "A prompt cache holds the longest equal beginning of two requests. A clock or a counter in the system prompt ends "
    "it there, and everything after it is computed and paid for again.",
    "Put what changes at the end of the request, or leave it out.",
    bad="@system\nYou help. It is 10:00.\n@user\nWeather in Oslo?\n@assistant sent=1,2\nIn which country?\n"
    "@user\nNorway.\n@assistant sent=1,2,3,4\n4 degrees.\n@sent:1\nYou help. It is 10:01.\n",
    good="@system\nYou help. It is 10:00.\n@user\nWeather in Oslo?\n@assistant sent=1,2\nIn which country?\n"
    "@user\nNorway.\n@assistant sent=1,2,3,4\n4 degrees.\n",
    layer="read",
    owner="agent",
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
)
