"""T4xx: calls and results across turns."""

from weaklink.inspector.rules.rule import Rule, Severity

_WEATHER = '<|im_start|>system\n<tools>\n[{"name": "get_weather"}]\n</tools><|im_end|>\n<|im_start|>assistant\n'

UNKNOWN_TOOL = Rule(
    "T401",
    "unknown-tool",
    Severity.ERROR,
    "A call names a tool that was not offered.",
    "The model invented the tool, misspelled it, or remembers it from another conversation. Servers answer with an "
    "error or drop the call. The message suggests the closest name among the tools of the same request. If no tools "
    "are known, nothing is reported.",
    "Offer the tool if it exists, under the name that the model expects. If the tools changed in the middle of the "
    "conversation, the history still shows the old tools: tell the model about the change, or drop that history.",
    bad=_WEATHER + '<tool_call>\n{"name": "get_wether", "arguments": {}}\n</tool_call>',
    good=_WEATHER + '<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>',
)
DUPLICATE_CALL_ID = Rule(
    "T402",
    "duplicate-call-id",
    Severity.WARNING,
    "A call has the id of an earlier call that still waits for its result.",
    "A result under this id could answer either call. Some providers reject such a history, others mix up the "
    "results, and the agent reads the answer to another question. Reusing an id after its call was answered is "
    "allowed: real logs do so.",
    "Make ids unique in the server or agent that creates them; a counter that restarts with every request is the "
    "usual cause.",
    bad='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_1\n{"city": "Bergen"}\n@tool id=call_1\n4 degrees\n@tool id=call_1\n'
    "7 degrees\n@assistant\n4 and 7 degrees.",
    good='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}\n@tool id=call_1\n4 degrees\n@tool id=call_2\n'
    "7 degrees\n@assistant\n4 and 7 degrees.",
)
RESULT_WITHOUT_CALL = Rule(
    "T403",
    "result-without-call",
    Severity.WARNING,
    "A tool result does not answer an open call.",
    "Its call was lost by a parser, never made, or made under another id. The model reads a result without seeing its "
    "call.",
    "Check the previous turn for a call that stayed in the text, or a call with a different id. If the agent "
    "shortened the history, remove calls and results together.",
    bad="@user\nWeather in Oslo?\n@assistant\nLet me look.\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n"
    "@assistant\n4 degrees.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
CALL_WITHOUT_RESULT = Rule(
    "T404",
    "call-without-result",
    Severity.WARNING,
    "The conversation continued or the session ended, but this call never got a result.",
    "The client did not see the call (its parser missed it), or dropped the answer. The model continues without the "
    "result and tends to make it up.",
    "Check the call for faults that hide it from a server, then check the client's log for a tool that crashed or "
    "timed out: such a tool should return an error.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@user\nAre you there?\n@assistant\nIt is sunny.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
RESULT_OUT_OF_ORDER = Rule(
    "T405",
    "result-out-of-order",
    Severity.INFO,
    "A result comes after the result of a call that was made later.",
    "With ids nothing is lost. Templates and clients that pair by order give the model the wrong result for each call.",
    "If your template writes results without ids, sort them in the order of the calls before you send them.",
    bad='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}\n@tool id=call_2\n7 degrees\n@tool id=call_1\n'
    "4 degrees\n@assistant\n4 and 7 degrees.",
    good='@user\nWeather in Oslo and Bergen?\n@assistant\n@call:0 name=get_weather id=call_1\n{"city": "Oslo"}\n'
    '@call:1 name=get_weather id=call_2\n{"city": "Bergen"}\n@tool id=call_1\n4 degrees\n@tool id=call_2\n'
    "7 degrees\n@assistant\n4 and 7 degrees.",
)
ERROR_RESULT = Rule(
    "T406",
    "error-result",
    Severity.WARNING,
    "A tool answered with an error.",
    "A flag, an exit code, an error object or only the result's text shows it; the step's certainty states which. The "
    "chain broke here if no later call did the work. Recorded exit codes and states decide before words. Failing tests "
    "and linters are error results of the kind `finding`. Not reported: the negative answer to a question (`grep`, "
    "`diff`, a read of a file that may not be there), what the user, a rule or a hook refused, what never ran, and an "
    "exception in a log that the tool only reads (docs/verdicts.md).",
    "Check whether the error states what to change: agents recover from `unknown city, use ISO codes` and loop on "
    "`error 500`. Then see in the chain which step recovered it.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\nError: no such city\n</tool_response>\n@assistant\n"
    "I could not find that city.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
EMPTY_RESULT = Rule(
    "T407",
    "empty-result",
    Severity.WARNING,
    "A tool answered with an empty result.",
    "The model cannot distinguish an empty result from success, and tends to fill the gap with a made-up value. Three "
    "kinds of empty results are not reported: shell commands that print nothing (`mkdir`, `cd`), a tool whose results "
    "are empty for most calls in the same trace, and an empty list from a search, unless the next call uses a value "
    "that was not found earlier.",
    "Let the tool report what it did, or that it found nothing.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n\n</tool_response>\n@assistant\nI do not know.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\nNo station in Oslo reports today.\n</tool_response>\n@assistant\n"
    "I do not know.",
)
REPEATED_CALL = Rule(
    "T408",
    "repeated-call",
    Severity.WARNING,
    "The same call is repeated, although it failed or gave the same result before.",
    "The agent loops: the most common form of a broken chain, which ends at the step limit and wastes all tokens "
    "until then. Reading again after a call that may have changed something is not a loop.",
    "Let the error state what to change. Stop the agent after the second identical failure, or tell the model that it "
    "already made this call.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\nError: no such city\n</tool_response>\n@assistant\n<tool_call>\n"
    '{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n@tool\n<tool_response>\n'
    "Error: no such city\n</tool_response>\n@assistant\nI could not find that city.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)
MISSING_CALL_ID = Rule(
    "T409",
    "missing-call-id",
    Severity.WARNING,
    "A call in an API's message has no id.",
    "The result of a call refers to its id. Without one the client cannot answer the call, or pairs by order and "
    "mixes up results; the provider rejects a history with such a call.",
    "Servers that parse a model's text must generate one: update the server, or let the client add one before it "
    "stores the message.",
    bad='{"role": "assistant", "content": null, "tool_calls": [{"type": "function", "function": {"name": '
    '"get_time", "arguments": "{}"}}]}',
    good='{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": '
    '{"name": "get_time", "arguments": "{}"}}]}',
    format="openai",
)
MALFORMED_CALL_ID = Rule(
    "T410",
    "malformed-call-id",
    Severity.WARNING,
    "A call's id is not valid in its format.",
    "Mistral's ids are nine letters or digits, and its own request validation rejects a conversation with any other "
    "id: the call runs, and the next request fails. Ids copied from another provider (`call_...`) are the usual cause.",
    "Generate ids of nine letters or digits, and translate the ids of a history from another provider.",
    bad="[TOOL_CALLS]get_time[CALL_ID]call_12[ARGS]{}",
    good="[TOOL_CALLS]get_time[CALL_ID]a1b2c3d4e[ARGS]{}",
    format="mistral",
)
PLACEHOLDER_ARGUMENT = Rule(
    "T411",
    "placeholder-argument",
    Severity.WARNING,
    "An argument is a placeholder instead of a value.",
    "The model planned several calls at once and wrote `<previous_result>`, `{{user_id}}` or `$results[0].id` in "
    "place of a value that was not known yet. Nothing fills it in: the tool gets the placeholder itself, and answers "
    "for something that does not exist. Text that the user or a tool wrote is not a placeholder.",
    "State in the prompt that calls which need each other's results must be made one after the other, or turn "
    "parallel calls off.",
    bad="@user\nCancel my last order.\n@assistant\n<tool_call>\n"
    '{"name": "find_orders", "arguments": {"customer": "me"}}\n</tool_call>\n<tool_call>\n'
    '{"name": "cancel_order", "arguments": {"order_id": "<previous_result>"}}\n</tool_call>',
    good="@user\nCancel my last order.\n@assistant\n<tool_call>\n"
    '{"name": "find_orders", "arguments": {"customer": "me"}}\n</tool_call>',
)
UNSUPPORTED_ARGUMENT = Rule(
    "T412",
    "unsupported-argument",
    Severity.WARNING,
    "An argument names something by an id that does not appear earlier.",
    "An order's number, an account or an address must come from the user, the system prompt or a tool's result; an id "
    "that is in none of them was invented, and the call reads or changes another user's data. The rule checks only "
    "ids, only if the whole conversation is known, and not in calls that create something. The model may choose "
    "dates, numbers and words freely.",
    "Check the previous calls for a lookup that failed or was never made. Let the tool validate ids against the "
    "session, and state in the prompt that the agent must ask for an unknown id.",
    bad="@user\nRefund my last order, please.\n@assistant\n<tool_call>\n"
    '{"name": "refund", "arguments": {"order_id": "W7731902"}}\n</tool_call>',
    good="@user\nRefund order W7731902, please.\n@assistant\n<tool_call>\n"
    '{"name": "refund", "arguments": {"order_id": "W7731902"}}\n</tool_call>',
)
UNRECOVERED_ERROR = Rule(
    "T413",
    "unrecovered-error",
    Severity.ERROR,
    "A tool answered with an error, and the agent claims the opposite or continues with a made-up value.",
    "No later call did the work of the one that failed, and the agent conceals it: its final statement says that it "
    "was done (`committed`, `all tests pass`, `parser.c is fixed`), or it continues with a value that no result "
    "contains. The mark is at that sentence or value; the message names the turn of the error. Not reported: an agent "
    "that reports the failure, one that says nothing of it, and one that is still trying when the recording ends.",
    "Check whether the model could recognise the error: a flag that the template drops, or a stack trace without a "
    "sentence, looks like data. Then state in the prompt that the agent must report a failed call.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool error\n<tool_response>\nError: the service is down\n</tool_response>\n@assistant\n"
    "It is 24 degrees in Oslo, so leave the coat at home.",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool error\n<tool_response>\nError: the service is down\n</tool_response>\n@assistant\n"
    "The weather service is down; I cannot say.",
)
NO_FINAL_ANSWER = Rule(
    "T414",
    "no-final-answer",
    Severity.WARNING,
    "The conversation ends with a tool's result, or with an empty turn: the agent never answered.",
    "The user waits for an answer that never comes. Agents stop like this at a silent step limit, when the last "
    "result is too long for the context, when a model ends its turn after its reasoning, or when a server's parser "
    "drops the call that the model wrote: the answer is empty, and its tokens were counted. Not reported: a recording "
    "that states why it ended (a truncation, an error, a limit), a recording that its source counts as a success, "
    "tools that end the work themselves (`finish`, `submit`), and calls that still wait for their result.",
    "Check the client's step limit and the size of the last result. If the turn has only reasoning, send the request "
    "again, or check the template for an end-of-turn token after `</think>`. If it has nothing, `weaklink probe URL` "
    "shows what the server's parser loses.",
    bad='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>",
    good='@user\nWeather in Oslo?\n@assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    "</tool_call>\n@tool\n<tool_response>\n4 degrees\n</tool_response>\n@assistant\n4 degrees.",
)

RULES = (
    UNKNOWN_TOOL,
    DUPLICATE_CALL_ID,
    RESULT_WITHOUT_CALL,
    CALL_WITHOUT_RESULT,
    RESULT_OUT_OF_ORDER,
    ERROR_RESULT,
    EMPTY_RESULT,
    REPEATED_CALL,
    MISSING_CALL_ID,
    MALFORMED_CALL_ID,
    PLACEHOLDER_ARGUMENT,
    UNSUPPORTED_ARGUMENT,
    UNRECOVERED_ERROR,
    NO_FINAL_ANSWER,
)
